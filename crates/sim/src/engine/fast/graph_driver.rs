//! The driver for all networks but plain rings. Messages are in [`Mailbox`]es.
//!
//! Positions are split into contiguous ranges. Each range has its own accounting and states, and writes a mailbox for
//! every range. At the end of a tick the mailboxes are exchanged. Ranges share nothing else, so the result does not
//! depend on the number of ranges or threads.

use std::ops::Range;
use std::sync::Arc;

use hustings_protocol::{Protocol, Rank, Timer};

use super::EngineInput;
use super::calendar::{Destination, ReturnedMessage, TickEvents};
use super::graph_context::GraphContext;
use super::large_pages::filled;
use super::leader_index::{ElectionTimes, LeaderIndex};
use super::links::Links;
use super::mailbox::{Arrival, Mailbox, Origin};
use super::range_accounting::{Counts, RangeAccounting, outcome};
use crate::outcome::Outcome;

/// Ticks with fewer messages run on one thread: waking another one costs more than it saves.
const MIN_MESSAGES_FOR_THREADS: usize = 50_000;

/// Every range has a mailbox for every range, so their number is limited.
const MAX_RANGES: usize = 16;

/// The links of a complete network grow with the square of its size. Beyond this many, the general engine needs less
/// memory.
const MAX_SLOTS: usize = 1 << 30;

/// About as many messages are handled before the memory is looked at again, if it is limited.
const SLOTS_BETWEEN_LOOKS: usize = 1 << 18;

/// Whether this driver supports a network.
pub(super) fn supports(links: impl Links) -> bool {
    links.size() >= 1 && links.first(links.size()) <= MAX_SLOTS
}

/// One range of positions.
struct Worker<'a, P: Protocol, L, B: Mailbox<P::Message>> {
    links: L,
    accounting: RangeAccounting<'a, P>,
    range: Range<u32>,
    states: Vec<P::State>,
    /// Messages to this range, from each range.
    inbox: Vec<B>,
    /// Messages from this range, to each range.
    outbox: Vec<B>,
    pool: B::Pool,
    /// Where the ranges begin, in positions and in slots; one more entry than ranges.
    borders: Arc<[(u32, usize)]>,
    /// Whether this tick had a delivery, or a timer that made progress.
    active: bool,
}

/// A run that is ready to start.
pub(super) struct GraphRun<'a, P: Protocol, L, B: Mailbox<P::Message>, const FULL: bool> {
    workers: Vec<Worker<'a, P, L, B>>,
    until: u64,
}

impl<'a, P: Protocol, L: Links, B: Mailbox<P::Message>, const FULL: bool> GraphRun<'a, P, L, B, FULL> {
    pub(super) fn new(protocol: &'a P, ranks: &'a [P::Rank], links: L, input: &EngineInput) -> Self {
        let borders: Arc<[(u32, usize)]> = borders(links, input.threads).into();
        let ranges = || borders.windows(2).map(|pair| pair[0].0..pair[1].0);
        let worker = |range: Range<u32>| Worker {
            links,
            accounting: RangeAccounting::new::<FULL>(protocol, ranks, input, range.clone(), links.members()),
            states: filled(range.len(), protocol.init()),
            inbox: ranges().map(|from| B::new(links, from, range.clone())).collect(),
            outbox: ranges().map(|to| B::new(links, range.clone(), to)).collect(),
            pool: B::pool(links, range.clone()),
            range,
            borders: Arc::clone(&borders),
            active: false,
        };
        GraphRun { workers: ranges().map(worker).collect(), until: input.until }
    }

    pub(super) fn memory(&self) -> usize {
        let worker = |worker: &Worker<'_, P, L, B>| {
            let mailboxes = worker.inbox.iter().chain(&worker.outbox).map(B::memory).sum::<usize>();
            mailboxes
                + B::pool_memory(&worker.pool)
                + worker.accounting.memory()
                + worker.states.len() * size_of::<P::State>()
        };
        self.workers.iter().map(worker).sum()
    }

    /// Runs it; `None` if the protocol turns out to need the general engine.
    pub(super) fn run(mut self) -> Option<Outcome> {
        let mut times = ElectionTimes::default();
        let messages_are_left = run_ticks::<P, L, B, FULL>(&mut self.workers, &mut times, self.until);
        let accounting: Vec<RangeAccounting<'_, P>> =
            self.workers.into_iter().map(|worker| worker.accounting).collect();
        let is_out_of_memory = accounting.iter().any(|accounting| accounting.memory_watch.is_exceeded());
        if !is_out_of_memory && accounting.iter().any(|accounting| accounting.unsupported) {
            return None;
        }
        Some(outcome(&accounting, &times, self.until, messages_are_left))
    }
}

/// Where the ranges begin, in positions and in slots, with about the same number of slots in each; one more entry than
/// ranges.
fn borders(links: impl Links, threads: usize) -> Vec<(u32, usize)> {
    let size = links.size();
    let ranges = threads.clamp(1, MAX_RANGES).min(size.max(1) as usize);
    let slots = links.first(size);
    let mut borders = vec![(0, 0)];
    for range in 1..ranges {
        let wanted = slots / ranges * range;
        let (mut low, mut high) = (borders[range - 1].0, size);
        while low < high {
            let middle = low + (high - low) / 2;
            if links.first(middle) < wanted { low = middle + 1 } else { high = middle }
        }
        borders.push((low, links.first(low)));
    }
    borders.push((size, slots));
    borders
}

/// Runs tick after tick. Returns whether messages are in flight at the end.
fn run_ticks<P: Protocol, L: Links, B: Mailbox<P::Message>, const FULL: bool>(
    workers: &mut [Worker<'_, P, L, B>],
    times: &mut ElectionTimes,
    until: u64,
) -> bool {
    let mut tick = 0;
    loop {
        let waiting_messages = waiting(workers);
        if waiting_messages == 0 {
            match workers.iter().map(|worker| worker.accounting.calendar.next()).min() {
                Some(next) if next <= until => tick = tick.max(next),
                _ => return false,
            }
        }
        if tick > until {
            return waiting_messages > 0;
        }
        let (first, others) = workers.split_at_mut(1);
        if others.is_empty() || waiting_messages < MIN_MESSAGES_FOR_THREADS {
            first.iter_mut().chain(others).for_each(|worker| worker.tick::<FULL>(tick));
        } else {
            std::thread::scope(|scope| {
                for worker in others {
                    scope.spawn(|| worker.tick::<FULL>(tick));
                }
                first[0].tick::<FULL>(tick);
            });
        }
        if workers.iter().any(|worker| worker.accounting.memory_watch.is_exceeded()) {
            return true;
        }
        exchange(workers);
        if workers.iter_mut().fold(false, |any, worker| any | std::mem::take(&mut worker.active)) {
            times.quiescent = Some(tick);
        }
        if workers.iter_mut().fold(false, |any, worker| any | worker.accounting.leader_index.take_changed()) {
            let leader_indices: Vec<&LeaderIndex> =
                workers.iter().map(|worker| &worker.accounting.leader_index).collect();
            times.end_of_tick(tick, &leader_indices, workers[0].accounting.ranks);
        }
        tick += 1;
    }
}

/// The number of messages in the inboxes.
fn waiting<P: Protocol, L, B: Mailbox<P::Message>>(workers: &[Worker<'_, P, L, B>]) -> usize {
    workers.iter().flat_map(|worker| &worker.inbox).map(B::len).sum()
}

/// Ends a tick: the mailboxes that were written become inboxes, and the empty ones become outboxes.
fn exchange<P: Protocol, L, B: Mailbox<P::Message>>(workers: &mut [Worker<'_, P, L, B>]) {
    for to in 0..workers.len() {
        for from in 0..to {
            if let Ok([from_there, to_there]) = workers.get_disjoint_mut([from, to]) {
                std::mem::swap(&mut from_there.outbox[to], &mut to_there.inbox[from]);
                std::mem::swap(&mut to_there.outbox[from], &mut from_there.inbox[to]);
            }
        }
        let Worker { inbox, outbox, .. } = &mut workers[to];
        std::mem::swap(&mut outbox[to], &mut inbox[to]);
    }
}

impl<P: Protocol, L: Links, B: Mailbox<P::Message>> Worker<'_, P, L, B> {
    #[inline(never)]
    fn tick<const FULL: bool>(&mut self, tick: u64) {
        self.accounting.tick = tick;
        let mut inbox = std::mem::take(&mut self.inbox);
        let mut reader = B::open(&mut inbox);
        let mut counts = Counts::default();
        if self.accounting.calendar.next() <= tick {
            self.special::<FULL>(&mut inbox, &mut reader, &mut counts);
        } else {
            self.deliver_in_portions::<FULL>(&mut inbox, &mut reader, self.range.clone(), &mut counts);
        }
        self.accounting.counts.add(&counts);
        if !B::close(&mut inbox) {
            self.accounting.unsupported = true;
        }
        self.inbox = inbox;
        if FULL {
            self.accounting.load_meter.end_of_tick();
        }
    }

    /// Delivers all messages for these positions, and looks at the memory now and then, if it must.
    fn deliver_in_portions<const FULL: bool>(
        &mut self,
        inbox: &mut [B],
        reader: &mut B::Reader,
        positions: Range<u32>,
        counts: &mut Counts,
    ) {
        let slots = self.links.first(self.range.end) - self.links.first(self.range.start);
        let slots_per_node = (slots / self.range.len().max(1)).max(1);
        let portion = match self.accounting.memory_watch.is_on() {
            true => (SLOTS_BETWEEN_LOOKS / slots_per_node).clamp(1, self.range.len().max(1)) as u32,
            false => self.range.len() as u32,
        };
        let mut at = positions.start;
        while at < positions.end && !self.accounting.is_out_of_memory(counts) {
            at = at.saturating_add(portion).min(positions.end);
            self.deliver::<FULL>(inbox, reader, at, counts);
        }
    }

    /// Delivers all messages for positions below `bound`. It is not inlined, so that the handlers are inlined here and
    /// only here.
    #[inline(never)]
    fn deliver<const FULL: bool>(&mut self, inbox: &mut [B], reader: &mut B::Reader, bound: u32, counts: &mut Counts) {
        let (start, mut local) = (self.range.start, *reader);
        // One context for all messages. It has an address, so setting a field costs a write, and only the fields that
        // change are set.
        let mut cx = GraphContext::<P, L, B, FULL> {
            node: 0,
            first: 0,
            degree: 0,
            links: self.links,
            accounting: &mut self.accounting,
            outbox: &mut self.outbox,
            pool: &mut self.pool,
            borders: &self.borders,
            counts,
            acted: false,
        };
        while let Some(Arrival { node, first, degree, origin }) = B::next(inbox, cx.pool, &mut local, self.links, bound)
        {
            let message = B::message(inbox, &mut local);
            self.active = true;
            cx.accounting.delivered::<FULL>(node);
            (cx.node, cx.first, cx.degree) = (node, first, degree);
            let (protocol, state) = (cx.accounting.protocol, &mut self.states[(node - start) as usize]);
            match origin {
                Origin::Port(port) => protocol.handle_message(state, port, message, &mut cx),
                Origin::Position(sender) => {
                    let from = cx.accounting.ranks[sender as usize].id();
                    protocol.handle_direct(state, from, message, &mut cx);
                }
            }
        }
        *reader = local;
    }

    /// Runs one tick with all kinds of events, node by node.
    #[inline(never)]
    fn special<const FULL: bool>(&mut self, inbox: &mut [B], reader: &mut B::Reader, counts: &mut Counts) {
        let tick = self.accounting.tick;
        let events = self.accounting.calendar.open(tick);
        let TickEvents { all_start, mut starts, mut crashes, mut returns, mut timers } = events;
        let mut next_to_start = if all_start { self.range.start } else { self.range.end };
        let mut next_to_deliver = self.range.start;
        while !self.accounting.is_out_of_memory(counts) {
            let heads = [
                starts.front().copied(),
                crashes.front().copied(),
                returns.front().map(|head| head.sender),
                timers.front().map(|head| head.0),
            ];
            let special = heads.into_iter().flatten().min();
            let bound = special.unwrap_or(self.range.end);
            // Nodes before the next one with other events only start (then nobody has messages) or only have messages.
            while next_to_start < bound && !self.accounting.is_out_of_memory(counts) {
                self.start::<FULL>(next_to_start, counts);
                next_to_start += 1;
            }
            self.deliver_in_portions::<FULL>(inbox, reader, next_to_deliver..bound, counts);
            next_to_deliver = bound;
            let Some(node) = special else { break };
            if crashes.pop_front_if(|first| *first == node).is_some() {
                self.accounting.crash(node);
            }
            let mut starts_now = starts.pop_front_if(|first| *first == node).is_some();
            if next_to_start == node {
                (starts_now, next_to_start) = (true, node + 1);
            }
            if starts_now && self.accounting.calendar.is_up(node, tick) {
                self.start::<FULL>(node, counts);
            }
            // Messages to nodes that are down on arrival were never queued, so all of these are delivered.
            self.deliver::<FULL>(inbox, reader, node + 1, counts);
            while let Some(lost) = returns.pop_front_if(|first| first.sender == node) {
                if self.accounting.calendar.is_up(node, tick) {
                    self.deliver_returned::<FULL>(lost, counts);
                }
            }
            while let Some((_, timer)) = timers.pop_front_if(|first| first.0 == node) {
                if self.accounting.calendar.is_up(node, tick) {
                    self.active |= self.fire::<FULL>(node, timer, counts);
                }
            }
        }
    }

    fn start<const FULL: bool>(&mut self, node: u32, counts: &mut Counts) {
        let reason = self.accounting.reason(node);
        self.at::<FULL, _>(node, counts, |protocol, state, cx| protocol.handle_start(state, reason, cx));
    }

    fn deliver_returned<const FULL: bool>(&mut self, lost: ReturnedMessage<P::Message>, counts: &mut Counts) {
        self.at::<FULL, _>(lost.sender, counts, |protocol, state, cx| match lost.to {
            Destination::Port(port, _) => protocol.handle_unreachable(state, port, lost.message, cx),
            Destination::Id(to) => protocol.handle_unreachable_direct(state, to, lost.message, cx),
        });
    }

    /// Fires a timer. Returns whether it made progress.
    fn fire<const FULL: bool>(&mut self, node: u32, timer: Timer, counts: &mut Counts) -> bool {
        let before = self.states[(node - self.range.start) as usize].clone();
        let acted = self.at::<FULL, _>(node, counts, |protocol, state, cx| {
            protocol.handle_timer(state, timer, cx);
            cx.acted
        });
        acted || self.accounting.protocol.is_progress(&before, &self.states[(node - self.range.start) as usize])
    }

    #[inline(always)]
    fn at<const FULL: bool, T>(
        &mut self,
        node: u32,
        counts: &mut Counts,
        act: impl FnOnce(&P, &mut P::State, &mut GraphContext<'_, '_, P, L, B, FULL>) -> T,
    ) -> T {
        let first = self.links.first(node);
        let degree = (self.links.first(node + 1) - first) as u32;
        let state = &mut self.states[(node - self.range.start) as usize];
        let mut cx = GraphContext::<P, L, B, FULL> {
            node,
            first,
            degree,
            links: self.links,
            accounting: &mut self.accounting,
            outbox: &mut self.outbox,
            pool: &mut self.pool,
            borders: &self.borders,
            counts,
            acted: false,
        };
        act(cx.accounting.protocol, state, &mut cx)
    }
}
