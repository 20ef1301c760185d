//! The driver for rings.
//!
//! Nodes act in the order of their positions and a ring's links lead to neighbours, so mail is sent in the order in
//! which it will be read: one [`RingQueue`] clockwise, one counter-clockwise, nothing is ever sorted. Only what crosses the
//! seam between the last position and the first is out of order, and waits apart. A tick without anything special (a
//! start, a crash, mail over the seam, …) is a tight loop over the lanes.

use std::collections::VecDeque;
use std::marker::PhantomData;

use hustings_protocol::{Port, Protocol, StartReason};

use super::calendar::{Day, Return, To};
use super::core::{Core, Counts, Plan, outcome};
use super::large_pages::filled;
use super::ledger::Clockwork;
use super::meter::Meter;
use super::ring_queue::RingQueue;
use super::side::Side;
use crate::outcome::Outcome;
use crate::topology::Ring;

/// All mail of a ring. Drivers take it apart into local variables, which live in registers.
struct Mail<M> {
    clockwise: RingQueue<M>,
    counter: RingQueue<M>,
    seam: Seam<M>,
}

/// Mail between the last position and the first.
pub(super) struct Seam<M> {
    /// From the last live position to the first.
    pub(super) clockwise: VecDeque<(u32, M)>,
    /// From the first live position to the last.
    pub(super) counter: VecDeque<(u32, M)>,
}

impl<M> Seam<M> {
    fn new() -> Self {
        Seam { clockwise: VecDeque::new(), counter: VecDeque::new() }
    }

    #[inline(always)]
    fn is_empty(&self) -> bool {
        self.clockwise.is_empty() && self.counter.is_empty()
    }
}

impl<M> Mail<M> {
    fn is_empty(&self) -> bool {
        self.clockwise.is_empty() && self.counter.is_empty() && self.seam.is_empty()
    }
}

/// What a ring needs beside the books of every driver.
pub(super) struct RingCore<'a, P: Protocol> {
    pub(super) books: Core<'a, P>,
    pub(super) size: u32,
    /// Where each side of each node leads, once anybody was struck off; empty before.
    targets: [Vec<u32>; 2],
    /// The peer and the message of the `unreachable` that is being handled.
    returning: Option<(u32, P::Message)>,
    /// Mail that comes back in this very tick and was not handled yet.
    today: VecDeque<Return<P::Message>>,
}

/// Whether the ring driver serves this: it tells neighbours apart by their side, which needs three live nodes.
pub(super) fn suits(ring: Ring, crashes: usize) -> bool {
    ring.size as usize >= 3 + crashes
}

/// A run on a ring, ready to start: everything it will need is allocated and touched.
pub(super) struct Prepared<'a, P: Protocol, Mt> {
    core: RingCore<'a, P>,
    states: Vec<P::State>,
    mail: Mail<P::Message>,
    until: u64,
    meter: PhantomData<Mt>,
}

impl<'a, P: Protocol, Mt: Meter> Prepared<'a, P, Mt> {
    pub(super) fn new(protocol: &'a P, ranks: &'a [P::Rank], ring: Ring, plan: &Plan) -> Self {
        let room = if plan.starts == super::Starts::All { ring.size as usize + 1 } else { 64 };
        Prepared {
            core: RingCore {
                books: Core::new::<Mt>(protocol, ranks, plan, 0..ring.size, ring.size),
                size: ring.size,
                targets: [Vec::new(), Vec::new()],
                returning: None,
                today: VecDeque::new(),
            },
            states: filled(ring.size as usize, protocol.init()),
            mail: Mail {
                clockwise: RingQueue::with_capacity(room),
                counter: RingQueue::with_capacity(64),
                seam: Seam::new(),
            },
            until: plan.until,
            meter: PhantomData,
        }
    }

    pub(super) fn memory(&self) -> usize {
        let states = self.states.len() * size_of::<P::State>();
        states + self.core.books.memory() + self.mail.clockwise.memory() + self.mail.counter.memory()
    }

    /// Runs it; `None` if the protocol turns out to need the general engine.
    pub(super) fn run(self) -> Option<Outcome> {
        let Prepared { mut core, mut states, mut mail, until, .. } = self;
        let mut clock = Clockwork::default();
        loop {
            if mail.is_empty() {
                core.books.tick = core.books.tick.max(core.books.calendar.next());
            }
            if core.books.tick > until || core.books.unsuited {
                break;
            }
            if core.books.calendar.next() <= core.books.tick || !mail.seam.is_empty() {
                mail = special_tick::<P, Mt>(&mut core, &mut states, mail, &mut clock);
            } else {
                mail = plain_ticks::<P, Mt>(&mut core, &mut states, mail, &mut clock, until);
            }
        }
        if core.books.unsuited {
            return None;
        }
        Some(outcome(&[core.books], &clock, until, !mail.is_empty()))
    }
}

/// Runs ticks that hold nothing but mail within the lanes, until one that does.
#[inline(never)]
fn plain_ticks<P: Protocol, Mt: Meter>(
    core: &mut RingCore<'_, P>,
    states: &mut [P::State],
    mail: Mail<P::Message>,
    clock: &mut Clockwork,
    until: u64,
) -> Mail<P::Message> {
    let Mail { mut clockwise, mut counter, mut seam } = mail;
    let (protocol, mut counts) = (core.books.protocol, Counts::default());
    loop {
        if counter.is_empty() {
            for _ in 0..clockwise.len() {
                // SAFETY: the queue held this many messages when the loop began, and nothing else takes messages out.
                let (node, message) = unsafe { clockwise.pop_unchecked() };
                core.books.delivered::<Mt>(node);
                let mut cx = Side::<P, Mt>::new(node, core, &mut counts, &mut clockwise, &mut counter, &mut seam);
                protocol.handle_message(&mut states[node as usize], Port::PREVIOUS, message, &mut cx);
            }
        } else {
            let mut left = (clockwise.len(), counter.len());
            while let Some((node, from, message)) = next_in_lanes(&mut clockwise, &mut counter, &mut left, u32::MAX) {
                core.books.delivered::<Mt>(node);
                let mut cx = Side::<P, Mt>::new(node, core, &mut counts, &mut clockwise, &mut counter, &mut seam);
                protocol.handle_message(&mut states[node as usize], from, message, &mut cx);
            }
        }
        let tick = core.books.tick;
        core.books.end_of_tick::<Mt>(clock);
        core.books.tick = tick + 1;
        let lanes_are_empty = clockwise.is_empty() && counter.is_empty();
        if lanes_are_empty || !seam.is_empty() || core.books.calendar.next() <= tick + 1 || tick + 1 > until {
            clock.quiescent = Some(tick);
            core.books.counts.add(&counts);
            return Mail { clockwise, counter, seam };
        }
    }
}

/// The next message in the lanes for a position below `bound`, and the port it comes in at.
#[inline(always)]
fn next_in_lanes<M>(
    clockwise: &mut RingQueue<M>,
    counter: &mut RingQueue<M>,
    left: &mut (usize, usize),
    bound: u32,
) -> Option<(u32, Port, M)> {
    // At one receiver the clockwise message is first: it comes from the lower position.
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

/// The next message for one node, by sender: over the seam from the first position, from below, from above, over the
/// seam from the last position.
fn next_of<M>(
    node: u32,
    clockwise: &mut RingQueue<M>,
    counter: &mut RingQueue<M>,
    left: &mut (usize, usize),
    seam: &mut Seam<M>,
    left_at_seam: &mut (usize, usize),
) -> Option<(Port, M)> {
    if first_of(&seam.counter, left_at_seam.1) == Some(node) {
        left_at_seam.1 -= 1;
        return seam.counter.pop_front().map(|(_, message)| (Port::NEXT, message));
    }
    if let Some((_, from, message)) = next_in_lanes(clockwise, counter, left, node + 1) {
        return Some((from, message));
    }
    if first_of(&seam.clockwise, left_at_seam.0) == Some(node) {
        left_at_seam.0 -= 1;
        return seam.clockwise.pop_front().map(|(_, message)| (Port::PREVIOUS, message));
    }
    None
}

/// The first receiver of the mail that is left of this tick's; behind it is what is sent in this tick.
fn first_of<M>(mail: &VecDeque<(u32, M)>, left: usize) -> Option<u32> {
    mail.front().filter(|_| left > 0).map(|first| first.0)
}

/// One tick with everything that a tick may hold, node by node.
#[inline(never)]
fn special_tick<P: Protocol, Mt: Meter>(
    core: &mut RingCore<'_, P>,
    states: &mut [P::State],
    mail: Mail<P::Message>,
    clock: &mut Clockwork,
) -> Mail<P::Message> {
    let Mail { mut clockwise, mut counter, mut seam } = mail;
    let (protocol, tick, mut counts) = (core.books.protocol, core.books.tick, Counts::default());
    let Day { everybody_starts, mut starts, mut crashes, returns, mut timers } = core.books.calendar.open(tick);
    core.today = returns;
    let mut left = (clockwise.len(), counter.len());
    let mut left_at_seam = (seam.clockwise.len(), seam.counter.len());
    let mut next_to_start = if everybody_starts { 0 } else { core.size };
    let mut active = false;
    macro_rules! cx {
        ($node:expr) => {
            Side::<P, Mt>::new($node, core, &mut counts, &mut clockwise, &mut counter, &mut seam)
        };
    }
    loop {
        let heads = [
            starts.front().copied(),
            crashes.front().copied(),
            first_of(&seam.clockwise, left_at_seam.0),
            first_of(&seam.counter, left_at_seam.1),
            core.today.front().map(|head| head.sender),
            timers.front().map(|head| head.0),
        ];
        let special = heads.into_iter().flatten().min();
        // Before the next node with something special: nodes that only start (nobody has mail then), or only have mail.
        let bound = special.unwrap_or(core.size);
        while next_to_start < bound {
            protocol.handle_start(&mut states[next_to_start as usize], StartReason::Start, &mut cx!(next_to_start));
            next_to_start += 1;
        }
        while let Some((node, from, message)) = next_in_lanes(&mut clockwise, &mut counter, &mut left, bound) {
            active = true;
            core.books.delivered::<Mt>(node);
            protocol.handle_message(&mut states[node as usize], from, message, &mut cx!(node));
        }
        let Some(node) = special else { break };
        if crashes.pop_front_if(|first| *first == node).is_some() {
            core.books.crash(node);
        }
        let mut starts_now = starts.pop_front_if(|first| *first == node).is_some();
        if next_to_start == node {
            (starts_now, next_to_start) = (true, node + 1);
        }
        let state = &mut states[node as usize];
        if starts_now && core.books.calendar.is_up(node, tick) {
            let reason = core.books.reason(node);
            protocol.handle_start(state, reason, &mut cx!(node));
        }
        // Mail for nodes that are down at arrival was never put in: all of this is delivered.
        while let Some((from, message)) =
            next_of(node, &mut clockwise, &mut counter, &mut left, &mut seam, &mut left_at_seam)
        {
            active = true;
            core.books.delivered::<Mt>(node);
            protocol.handle_message(state, from, message, &mut cx!(node));
        }
        while let Some(lost) = core.today.pop_front_if(|first| first.sender == node) {
            if let To::Port(port, peer) = lost.to
                && core.books.calendar.is_up(node, tick)
            {
                core.returning = Some((peer, lost.message.clone()));
                protocol.handle_unreachable(state, port, lost.message, &mut cx!(node));
                core.returning = None;
            }
        }
        while let Some((_, timer)) = timers.pop_front_if(|first| first.0 == node) {
            if core.books.calendar.is_up(node, tick) {
                let before = state.clone();
                let mut cx = cx!(node);
                protocol.handle_timer(state, timer, &mut cx);
                active |= cx.acted || protocol.is_progress(&before, state);
            }
        }
    }
    core.books.end_of_tick::<Mt>(clock);
    if active {
        clock.quiescent = Some(tick);
    }
    core.books.counts.add(&counts);
    core.books.tick = tick + 1;
    Mail { clockwise, counter, seam }
}

impl<P: Protocol> RingCore<'_, P> {
    /// Where a side of a node leads, with those struck off left out.
    fn neighbour(&self, node: u32, port: Port) -> u32 {
        let plain = if port == Port::NEXT { (node + 1) % self.size } else { (node + self.size - 1) % self.size };
        self.targets[port.index()].get(node as usize).copied().unwrap_or(plain)
    }

    /// Where a message goes when nodes go down: to a neighbour that will be up, or nowhere and back.
    #[cold]
    #[inline(never)]
    pub(super) fn route(&mut self, node: u32, port: Port, message: &P::Message) -> Option<u32> {
        let to = self.neighbour(node, port);
        if self.books.calendar.is_up(to, self.books.tick + 1) {
            return Some(to);
        }
        self.bring_back(node, port, to, message.clone());
        None
    }

    /// Books a message whose receiver will be down when it arrives.
    fn bring_back(&mut self, sender: u32, port: Port, peer: u32, message: P::Message) {
        self.books.lose();
        self.books.calendar.bring_back(self.books.tick, Return { sender, to: To::Port(port, peer), message });
    }

    /// Strikes the peer off and hands out what is to be sent again.
    #[cold]
    #[inline(never)]
    pub(super) fn strike(&mut self, node: u32, port: Port) -> Vec<P::Message> {
        let Some((peer, message)) = self.returning.clone() else { return Vec::new() };
        if self.neighbour(node, port) != peer {
            return Vec::new(); // struck off already, and what was lost is on its way again
        }
        if self.targets[port.index()].is_empty() {
            let all = (0..self.size).map(|at| self.neighbour(at, port)).collect();
            self.targets[port.index()] = all;
        }
        let step = if port == Port::NEXT { 1 } else { self.size - 1 };
        self.targets[port.index()][node as usize] = (peer + step) % self.size;
        let mut again = vec![message];
        let (mine, others) = std::mem::take(&mut self.today)
            .into_iter()
            .partition(|back| (back.sender, back.to) == (node, To::Port(port, peer)));
        self.today = others;
        again.extend(VecDeque::<Return<P::Message>>::into_iter(mine).map(|back| back.message));
        again.extend(self.books.calendar.take_returns(node, To::Port(port, peer)));
        again
    }
}
