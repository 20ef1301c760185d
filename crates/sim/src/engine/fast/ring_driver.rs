//! The driver for rings.
//!
//! Nodes act in the order of their positions, and the links of a ring lead to neighbours. So messages are sent in the
//! order in which they are read, and two [`RingQueue`]s, one in each direction, need no sorting. Only messages between
//! the last position and the first are out of order; they wait in separate queues. A tick that has only messages in the
//! ring queues is a tight loop.

use std::collections::VecDeque;

use hustings_protocol::{Port, Protocol, StartReason};

use super::EngineInput;
use super::calendar::{Destination, ReturnedMessage, TickEvents};
use super::large_pages::filled;
use super::leader_index::ElectionTimes;
use super::range_accounting::{Counts, RangeAccounting, outcome};
use super::ring_context::RingContext;
use super::ring_queue::RingQueue;
use crate::outcome::Outcome;

/// All messages of a ring. Drivers move the parts to local variables, which are held in registers.
struct RingMessages<M> {
    clockwise: RingQueue<M>,
    counter: RingQueue<M>,
    wraparound: Wraparound<M>,
}

/// Messages between the last position and the first.
pub(super) struct Wraparound<M> {
    /// From the last live position to the first.
    pub(super) clockwise: VecDeque<(u32, M)>,
    /// From the first live position to the last.
    pub(super) counter: VecDeque<(u32, M)>,
}

impl<M> Wraparound<M> {
    fn new() -> Self {
        Wraparound { clockwise: VecDeque::new(), counter: VecDeque::new() }
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.clockwise.is_empty() && self.counter.is_empty()
    }
}

impl<M> RingMessages<M> {
    fn is_empty(&self) -> bool {
        self.clockwise.is_empty() && self.counter.is_empty() && self.wraparound.is_empty()
    }
}

/// The state of a ring beside the accounting that all drivers have.
pub(super) struct RingState<'a, P: Protocol> {
    pub(super) accounting: RangeAccounting<'a, P>,
    pub(super) size: u32,
    /// The current neighbour on each side of each node. Empty until a peer is removed.
    targets: [Vec<u32>; 2],
    /// The peer and the message of the `unreachable` event that is being handled.
    returning: Option<(u32, P::Message)>,
    /// Messages that return to their senders in this tick and were not handled yet.
    due_returns: VecDeque<ReturnedMessage<P::Message>>,
}

/// Whether the driver supports a ring of this size. It identifies neighbours by their side, which needs three live
/// nodes.
pub(super) fn supports(size: u32, crashes: usize) -> bool {
    size as usize >= 3 + crashes
}

/// A run on a ring, ready to start: all memory is allocated and touched.
pub(super) struct RingRun<'a, P: Protocol, const FULL: bool> {
    ring: RingState<'a, P>,
    states: Vec<P::State>,
    messages: RingMessages<P::Message>,
    until: u64,
}

impl<'a, P: Protocol, const FULL: bool> RingRun<'a, P, FULL> {
    pub(super) fn new(protocol: &'a P, ranks: &'a [P::Rank], size: u32, input: &EngineInput) -> Self {
        let room = if input.starts.is_none() { size as usize + 1 } else { 64 };
        RingRun {
            ring: RingState {
                accounting: RangeAccounting::new::<FULL>(protocol, ranks, input, 0..size, size),
                size,
                targets: [Vec::new(), Vec::new()],
                returning: None,
                due_returns: VecDeque::new(),
            },
            states: filled(size as usize, protocol.init()),
            messages: RingMessages {
                clockwise: RingQueue::with_capacity(room),
                counter: RingQueue::with_capacity(64),
                wraparound: Wraparound::new(),
            },
            until: input.until,
        }
    }

    pub(super) fn memory(&self) -> usize {
        let states = self.states.len() * size_of::<P::State>();
        states + self.ring.accounting.memory() + self.messages.clockwise.memory() + self.messages.counter.memory()
    }

    /// Runs it; `None` if the protocol turns out to need the general engine.
    pub(super) fn run(self) -> Option<Outcome> {
        let RingRun { mut ring, mut states, mut messages, until, .. } = self;
        let mut times = ElectionTimes::default();
        loop {
            if messages.is_empty() {
                ring.accounting.tick = ring.accounting.tick.max(ring.accounting.calendar.next());
            }
            let is_over = ring.accounting.unsupported || ring.accounting.is_out_of_memory(&Counts::default());
            if ring.accounting.tick > until || is_over {
                break;
            }
            if ring.accounting.calendar.next() <= ring.accounting.tick || !messages.wraparound.is_empty() {
                messages = eventful_tick::<P, FULL>(&mut ring, &mut states, messages, &mut times);
            } else {
                messages = message_ticks::<P, FULL>(&mut ring, &mut states, messages, &mut times, until);
            }
        }
        if ring.accounting.unsupported {
            return None;
        }
        Some(outcome(&[ring.accounting], &times, until, !messages.is_empty()))
    }
}

/// Runs ticks that have only messages in the ring queues, until a tick with something else.
#[inline(never)]
fn message_ticks<P: Protocol, const FULL: bool>(
    ring: &mut RingState<'_, P>,
    states: &mut [P::State],
    messages: RingMessages<P::Message>,
    times: &mut ElectionTimes,
    until: u64,
) -> RingMessages<P::Message> {
    let RingMessages { mut clockwise, mut counter, mut wraparound } = messages;
    let (protocol, mut counts) = (ring.accounting.protocol, Counts::default());
    loop {
        if counter.is_empty() {
            for _ in 0..clockwise.len() {
                // SAFETY: the queue held this many messages when the loop began, and nothing else takes messages out.
                let (node, message) = unsafe { clockwise.pop_unchecked() };
                ring.accounting.delivered::<FULL>(node);
                let mut cx =
                    RingContext::<P, FULL>::new(node, ring, &mut counts, &mut clockwise, &mut counter, &mut wraparound);
                protocol.handle_message(&mut states[node as usize], Port::PREVIOUS, message, &mut cx);
            }
        } else {
            let mut left = (clockwise.len(), counter.len());
            while let Some((node, from, message)) = next_in_lanes(&mut clockwise, &mut counter, &mut left, u32::MAX) {
                ring.accounting.delivered::<FULL>(node);
                let mut cx =
                    RingContext::<P, FULL>::new(node, ring, &mut counts, &mut clockwise, &mut counter, &mut wraparound);
                protocol.handle_message(&mut states[node as usize], from, message, &mut cx);
            }
        }
        let tick = ring.accounting.tick;
        ring.accounting.end_of_tick::<FULL>(times);
        ring.accounting.tick = tick + 1;
        let lanes_are_empty = clockwise.is_empty() && counter.is_empty();
        if lanes_are_empty || !wraparound.is_empty() || ring.accounting.calendar.next() <= tick + 1 || tick + 1 > until
        {
            times.quiescent = Some(tick);
            ring.accounting.counts.add(&counts);
            return RingMessages { clockwise, counter, wraparound };
        }
    }
}

/// The next message in the ring queues for a position below `bound`, and the port at which it arrives.
#[inline(always)]
fn next_in_lanes<M>(
    clockwise: &mut RingQueue<M>,
    counter: &mut RingQueue<M>,
    left: &mut (usize, usize),
    bound: u32,
) -> Option<(u32, Port, M)> {
    // At one receiver the clockwise message is first, because its sender has the lower position.
    if left.0 > 0 && (left.1 == 0 || clockwise.first_receiver() <= counter.first_receiver()) {
        if clockwise.first_receiver() >= bound {
            return None;
        }
        left.0 -= 1;
        let (node, message) = clockwise.pop()?;
        Some((node, Port::PREVIOUS, message))
    } else if left.1 > 0 {
        if counter.first_receiver() >= bound {
            return None;
        }
        left.1 -= 1;
        let (node, message) = counter.pop()?;
        Some((node, Port::NEXT, message))
    } else {
        None
    }
}

/// The next message for one node, by sender: from the first position around the ring, from below, from above, from the
/// last position around the ring.
fn next_of<M>(
    node: u32,
    clockwise: &mut RingQueue<M>,
    counter: &mut RingQueue<M>,
    left: &mut (usize, usize),
    wraparound: &mut Wraparound<M>,
    left_in_wraparound: &mut (usize, usize),
) -> Option<(Port, M)> {
    if first_of(&wraparound.counter, left_in_wraparound.1) == Some(node) {
        left_in_wraparound.1 -= 1;
        return wraparound.counter.pop_front().map(|(_, message)| (Port::NEXT, message));
    }
    if let Some((_, from, message)) = next_in_lanes(clockwise, counter, left, node + 1) {
        return Some((from, message));
    }
    if first_of(&wraparound.clockwise, left_in_wraparound.0) == Some(node) {
        left_in_wraparound.0 -= 1;
        return wraparound.clockwise.pop_front().map(|(_, message)| (Port::PREVIOUS, message));
    }
    None
}

/// The first receiver among this tick's remaining messages. Messages sent in this tick follow them.
fn first_of<M>(messages: &VecDeque<(u32, M)>, left: usize) -> Option<u32> {
    messages.front().filter(|_| left > 0).map(|first| first.0)
}

/// Runs one tick with all kinds of events, node by node.
#[inline(never)]
fn eventful_tick<P: Protocol, const FULL: bool>(
    ring: &mut RingState<'_, P>,
    states: &mut [P::State],
    messages: RingMessages<P::Message>,
    times: &mut ElectionTimes,
) -> RingMessages<P::Message> {
    let RingMessages { mut clockwise, mut counter, mut wraparound } = messages;
    let (protocol, tick, mut counts) = (ring.accounting.protocol, ring.accounting.tick, Counts::default());
    let TickEvents { all_start, mut starts, mut crashes, returns, mut timers } = ring.accounting.calendar.open(tick);
    ring.due_returns = returns;
    let mut left = (clockwise.len(), counter.len());
    let mut left_in_wraparound = (wraparound.clockwise.len(), wraparound.counter.len());
    let mut next_to_start = if all_start { 0 } else { ring.size };
    let mut active = false;
    macro_rules! cx {
        ($node:expr) => {
            RingContext::<P, FULL>::new($node, ring, &mut counts, &mut clockwise, &mut counter, &mut wraparound)
        };
    }
    loop {
        let heads = [
            starts.front().copied(),
            crashes.front().copied(),
            first_of(&wraparound.clockwise, left_in_wraparound.0),
            first_of(&wraparound.counter, left_in_wraparound.1),
            ring.due_returns.front().map(|head| head.sender),
            timers.front().map(|head| head.0),
        ];
        let special = heads.into_iter().flatten().min();
        // Nodes before the next one with other events only start (then nobody has messages) or only have messages.
        let bound = special.unwrap_or(ring.size);
        while next_to_start < bound {
            protocol.handle_start(&mut states[next_to_start as usize], StartReason::Start, &mut cx!(next_to_start));
            next_to_start += 1;
        }
        while let Some((node, from, message)) = next_in_lanes(&mut clockwise, &mut counter, &mut left, bound) {
            active = true;
            ring.accounting.delivered::<FULL>(node);
            protocol.handle_message(&mut states[node as usize], from, message, &mut cx!(node));
        }
        let Some(node) = special else { break };
        if crashes.pop_front_if(|first| *first == node).is_some() {
            ring.accounting.crash(node);
        }
        let mut starts_now = starts.pop_front_if(|first| *first == node).is_some();
        if next_to_start == node {
            (starts_now, next_to_start) = (true, node + 1);
        }
        let state = &mut states[node as usize];
        if starts_now && ring.accounting.calendar.is_up(node, tick) {
            let reason = ring.accounting.reason(node);
            protocol.handle_start(state, reason, &mut cx!(node));
        }
        // Messages to nodes that are down on arrival were never queued, so all of these are delivered.
        while let Some((from, message)) =
            next_of(node, &mut clockwise, &mut counter, &mut left, &mut wraparound, &mut left_in_wraparound)
        {
            active = true;
            ring.accounting.delivered::<FULL>(node);
            protocol.handle_message(state, from, message, &mut cx!(node));
        }
        while let Some(lost) = ring.due_returns.pop_front_if(|first| first.sender == node) {
            if let Destination::Port(port, peer) = lost.to
                && ring.accounting.calendar.is_up(node, tick)
            {
                ring.returning = Some((peer, lost.message.clone()));
                protocol.handle_unreachable(state, port, lost.message, &mut cx!(node));
                ring.returning = None;
            }
        }
        while let Some((_, timer)) = timers.pop_front_if(|first| first.0 == node) {
            if ring.accounting.calendar.is_up(node, tick) {
                let before = state.clone();
                let mut cx = cx!(node);
                protocol.handle_timer(state, timer, &mut cx);
                active |= cx.acted || protocol.is_progress(&before, state);
            }
        }
    }
    ring.accounting.end_of_tick::<FULL>(times);
    if active {
        times.quiescent = Some(tick);
    }
    ring.accounting.counts.add(&counts);
    ring.accounting.tick = tick + 1;
    RingMessages { clockwise, counter, wraparound }
}

impl<P: Protocol> RingState<'_, P> {
    /// The neighbour on one side of a node. Removed peers are skipped.
    fn neighbour(&self, node: u32, port: Port) -> u32 {
        let plain = if port == Port::NEXT { (node + 1) % self.size } else { (node + self.size - 1) % self.size };
        self.targets[port.index()].get(node as usize).copied().unwrap_or(plain)
    }

    /// Where a message goes if nodes crash: to a neighbour that will be up, or back to the sender.
    #[cold]
    #[inline(never)]
    pub(super) fn route(&mut self, node: u32, port: Port, message: &P::Message) -> Option<u32> {
        let to = self.neighbour(node, port);
        if self.accounting.calendar.is_up(to, self.accounting.tick + 1) {
            return Some(to);
        }
        self.return_to_sender(node, port, to, message.clone());
        None
    }

    /// Counts a message whose receiver will be down when it arrives, and schedules its return.
    fn return_to_sender(&mut self, sender: u32, port: Port, peer: u32, message: P::Message) {
        self.accounting.count_lost();
        self.accounting.calendar.return_to_sender(
            self.accounting.tick,
            ReturnedMessage { sender, to: Destination::Port(port, peer), message },
        );
    }

    /// Removes the peer from this node's ring and returns the messages to send again.
    #[cold]
    #[inline(never)]
    pub(super) fn remove_peer(&mut self, node: u32, port: Port) -> Vec<P::Message> {
        let Some((peer, message)) = self.returning.clone() else { return Vec::new() };
        if self.neighbour(node, port) != peer {
            return Vec::new(); // the peer is removed already, and the lost messages were sent again
        }
        if self.targets[port.index()].is_empty() {
            let all = (0..self.size).map(|at| self.neighbour(at, port)).collect();
            self.targets[port.index()] = all;
        }
        let step = if port == Port::NEXT { 1 } else { self.size - 1 };
        self.targets[port.index()][node as usize] = (peer + step) % self.size;
        let mut again = vec![message];
        let (mine, others) = std::mem::take(&mut self.due_returns)
            .into_iter()
            .partition(|back| (back.sender, back.to) == (node, Destination::Port(port, peer)));
        self.due_returns = others;
        again.extend(VecDeque::<ReturnedMessage<P::Message>>::into_iter(mine).map(|back| back.message));
        again.extend(self.accounting.calendar.take_returned(node, Destination::Port(port, peer)));
        again
    }
}
