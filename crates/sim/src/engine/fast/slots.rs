//! The driver for graphs and complete networks: mail lies on [`Board`]s.
//!
//! Positions are split in contiguous ranges. Each range has its own books and states, and writes a board for every
//! range; at the end of a tick the boards change hands. Nothing else is shared, so the result does not depend on how
//! many ranges there are or which thread runs which.

use std::collections::VecDeque;
use std::marker::PhantomData;
use std::ops::Range;
use std::sync::Arc;

use hustings_protocol::{Port, Protocol, Timer};

use super::board::{Board, DirectMail, Reader, wipe};
use super::calendar::{Day, Return, To};
use super::core::{Core, Counts, Plan, outcome};
use super::ledger::{Clockwork, Ledger};
use super::links::{Links, receiver_of};
use super::meter::Meter;
use super::pages::filled;
use super::spot::Spot;
use crate::outcome::Outcome;

/// Below so many messages a tick is run by one thread: waking another costs more than it helps.
const WORTH_A_THREAD: usize = 50_000;

/// Every range has a board for every range, so there are not too many.
const MOST_RANGES: usize = 16;

/// Boards of a complete network grow with the square of its size: beyond this many slots the general engine takes less.
const MOST_SLOTS: usize = 1 << 30;

/// Whether this driver serves a network.
pub(super) fn suits(links: &impl Links) -> bool {
    links.size() >= 1 && links.first(links.size()) <= MOST_SLOTS
}

/// One range of positions.
struct Worker<'a, P: Protocol, L> {
    links: &'a L,
    books: Core<'a, P>,
    range: Range<u32>,
    states: Vec<P::State>,
    /// Mail to this range, from each range.
    inbox: Vec<Board<P::Message>>,
    /// Mail from this range, to each range.
    outbox: Vec<Board<P::Message>>,
    /// Where the ranges begin, in positions and in slots; one more entry than ranges.
    borders: Arc<[(u32, usize)]>,
    /// Whether this tick held a delivery, or a timer that did something.
    active: bool,
}

/// A run that is ready to start.
pub(super) struct Prepared<'a, P: Protocol, L, Mt> {
    workers: Vec<Worker<'a, P, L>>,
    until: u64,
    meter: PhantomData<Mt>,
}

impl<'a, P: Protocol, L: Links, Mt: Meter> Prepared<'a, P, L, Mt> {
    pub(super) fn new(protocol: &'a P, ranks: &'a [P::Rank], links: &'a L, plan: &Plan) -> Self {
        let borders: Arc<[(u32, usize)]> = borders(links, plan.threads).into();
        let ranges = borders.len() - 1;
        let boards = |lengths: &[(u32, usize)]| Board::new(lengths[1].1 - lengths[0].1);
        let worker = |pair: &[(u32, usize)]| {
            let range = pair[0].0..pair[1].0;
            Worker {
                links,
                books: Core::new::<Mt>(protocol, ranks, plan, range.clone()),
                states: filled(range.len(), protocol.init()),
                range,
                inbox: (0..ranges).map(|_| boards(pair)).collect(),
                outbox: borders.windows(2).map(boards).collect(),
                borders: Arc::clone(&borders),
                active: false,
            }
        };
        Prepared { workers: borders.windows(2).map(worker).collect(), until: plan.until, meter: PhantomData }
    }

    pub(super) fn memory(&self) -> usize {
        let worker = |worker: &Worker<'_, P, L>| {
            let boards = worker.inbox.iter().chain(&worker.outbox).map(Board::memory).sum::<usize>();
            boards + worker.books.memory() + worker.states.len() * size_of::<P::State>()
        };
        self.workers.iter().map(worker).sum()
    }

    /// Runs it; `None` if the protocol turns out to need the general engine.
    pub(super) fn run(mut self) -> Option<Outcome> {
        let mut clock = Clockwork::default();
        let mail_is_left = run_ticks::<P, L, Mt>(&mut self.workers, &mut clock, self.until);
        let books: Vec<Core<'_, P>> = self.workers.into_iter().map(|worker| worker.books).collect();
        if books.iter().any(|books| books.unsuited) {
            return None;
        }
        Some(outcome(&books, &clock, self.until, mail_is_left))
    }
}

/// Where the ranges begin, in positions and in slots, so that each has about as many slots; one more entry than ranges.
fn borders(links: &impl Links, threads: usize) -> Vec<(u32, usize)> {
    let size = links.size();
    let ranges = threads.clamp(1, MOST_RANGES).min(size.max(1) as usize);
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

/// Runs tick after tick; whether mail is left at the end.
fn run_ticks<P: Protocol, L: Links, Mt: Meter>(
    workers: &mut [Worker<'_, P, L>],
    clock: &mut Clockwork,
    until: u64,
) -> bool {
    let mut tick = 0;
    loop {
        let mail = waiting(workers);
        if mail == 0 {
            match workers.iter().map(|worker| worker.books.calendar.next()).min() {
                Some(next) if next <= until => tick = tick.max(next),
                _ => return false,
            }
        }
        if tick > until {
            return mail > 0;
        }
        let (first, others) = workers.split_at_mut(1);
        if others.is_empty() || mail < WORTH_A_THREAD {
            first.iter_mut().chain(others).for_each(|worker| worker.tick::<Mt>(tick));
        } else {
            std::thread::scope(|scope| {
                for worker in others {
                    scope.spawn(|| worker.tick::<Mt>(tick));
                }
                first[0].tick::<Mt>(tick);
            });
        }
        exchange(workers);
        if workers.iter_mut().fold(false, |any, worker| any | std::mem::take(&mut worker.active)) {
            clock.quiescent = Some(tick);
        }
        if workers.iter_mut().fold(false, |any, worker| any | worker.books.ledger.take_changed()) {
            let ledgers: Vec<&Ledger> = workers.iter().map(|worker| &worker.books.ledger).collect();
            clock.end_of_tick(tick, &ledgers, workers[0].books.ranks);
        }
        tick += 1;
    }
}

/// How many messages are in the inboxes.
fn waiting<P: Protocol, L>(workers: &[Worker<'_, P, L>]) -> usize {
    let boards = workers.iter().flat_map(|worker| &worker.inbox);
    boards.map(|board| board.count() + board.direct.len()).sum()
}

/// The end of a tick: what every range wrote for a range becomes its inbox, and the empty boards go back.
fn exchange<P: Protocol, L>(workers: &mut [Worker<'_, P, L>]) {
    for to in 0..workers.len() {
        for from in 0..workers.len() {
            let mut written = std::mem::replace(&mut workers[from].outbox[to], Board::new(0));
            std::mem::swap(&mut written, &mut workers[to].inbox[from]);
            workers[from].outbox[to] = written;
        }
    }
}

impl<P: Protocol, L: Links> Worker<'_, P, L> {
    #[inline(never)]
    fn tick<Mt: Meter>(&mut self, tick: u64) {
        self.books.tick = tick;
        let mut boards = std::mem::take(&mut self.inbox);
        let mut mail = Incoming::new(&mut boards, self.range.start);
        let has_direct = mail.boards.iter().any(|board| !board.direct.is_empty());
        let mut counts = Counts::default();
        if has_direct || self.books.calendar.next() <= tick {
            self.special::<Mt>(&mut mail, &mut counts);
        } else {
            self.deliver::<Mt>(&mut mail, self.range.end, &mut counts);
        }
        self.books.counts.add(&counts);
        wipe(mail.boards);
        self.inbox = boards;
        if Mt::FULL {
            self.books.gauge.end_of_tick();
        }
    }

    /// Delivers all mail on the boards for positions below `bound`.
    #[inline(always)]
    fn deliver<Mt: Meter>(&mut self, mail: &mut Incoming<'_, P::Message>, bound: u32, counts: &mut Counts) {
        let (base, start) = (self.borders_of_range(), self.range.start);
        let bound = self.links.first(bound) - base;
        let mut reader = mail.reader;
        let (mut node, mut first) = (mail.node, self.links.first(mail.node) - base);
        let mut end = self.links.first(node + 1) - base;
        while let Some(slot) = reader.next_below(mail.boards, bound) {
            let message = reader.take(mail.boards, slot);
            if slot >= end {
                node = receiver_of(self.links, slot + base, node + 1);
                (first, end) = (self.links.first(node) - base, self.links.first(node + 1) - base);
            }
            self.active = true;
            self.books.delivered::<Mt>(node);
            let port = Port((slot - first) as u32);
            let mut cx = Spot::<P, L, Mt> {
                node,
                first: first + base,
                degree: (end - first) as u32,
                links: self.links,
                books: &mut self.books,
                outbox: &mut self.outbox,
                borders: &self.borders,
                counts,
                acted: false,
                meter: PhantomData,
            };
            cx.books.protocol.receive(&mut self.states[(node - start) as usize], port, message, &mut cx);
        }
        (mail.reader, mail.node) = (reader, node);
    }

    fn borders_of_range(&self) -> usize {
        self.links.first(self.range.start)
    }

    /// A tick with everything that it may hold, node by node.
    #[inline(never)]
    fn special<Mt: Meter>(&mut self, mail: &mut Incoming<'_, P::Message>, counts: &mut Counts) {
        let tick = self.books.tick;
        let day = self.books.calendar.open(tick);
        let Day { everybody_starts, mut starts, mut crashes, mut returns, mut timers } = day;
        let mut direct = mail.take_direct();
        let mut next_to_start = if everybody_starts { self.range.start } else { self.range.end };
        loop {
            let heads = [
                starts.front().copied(),
                crashes.front().copied(),
                direct.front().map(|head| head.receiver),
                returns.front().map(|head| head.sender),
                timers.front().map(|head| head.0),
            ];
            let special = heads.into_iter().flatten().min();
            let bound = special.unwrap_or(self.range.end);
            while next_to_start < bound {
                self.start::<Mt>(next_to_start, counts);
                next_to_start += 1;
            }
            self.deliver::<Mt>(mail, bound, counts);
            let Some(node) = special else { break };
            if crashes.pop_front_if(|first| *first == node).is_some() {
                self.books.ledger.crash(node);
            }
            let mut starts_now = starts.pop_front_if(|first| *first == node).is_some();
            if next_to_start == node {
                (starts_now, next_to_start) = (true, node + 1);
            }
            if starts_now && self.books.calendar.is_up(node, tick) {
                self.start::<Mt>(node, counts);
            }
            self.deliver_to::<Mt>(node, mail, &mut direct, counts);
            while let Some(lost) = returns.pop_front_if(|first| first.sender == node) {
                if self.books.calendar.is_up(node, tick) {
                    self.hand_back::<Mt>(lost, counts);
                }
            }
            while let Some((_, timer)) = timers.pop_front_if(|first| first.0 == node) {
                if self.books.calendar.is_up(node, tick) {
                    self.active |= self.fire::<Mt>(node, timer, counts);
                }
            }
        }
    }

    /// Delivers a node's mail and what came to it directly, by sender.
    fn deliver_to<Mt: Meter>(
        &mut self,
        node: u32,
        mail: &mut Incoming<'_, P::Message>,
        direct: &mut VecDeque<DirectMail<P::Message>>,
        counts: &mut Counts,
    ) {
        let (base, first) = (self.borders_of_range(), self.links.first(node));
        let end = self.links.first(node + 1);
        loop {
            let slot = mail.reader.next_below(mail.boards, end - base);
            let sender = slot.map(|slot| self.links.receiver(node, (slot + base - first) as u32));
            // Of one sender's mail, what was sent directly comes in the order of sending only among itself; a protocol
            // that sends a neighbour both in one tick is for the general engine.
            let direct_first = direct
                .front()
                .is_some_and(|head| head.receiver == node && sender.is_none_or(|sender| head.sender < sender));
            if direct_first {
                if let Some(letter) = direct.pop_front() {
                    self.at::<Mt, _>(node, counts, |protocol, state, cx| {
                        protocol.receive_direct(state, letter.from, letter.message, cx);
                    });
                }
            } else if let Some(slot) = slot {
                if direct.front().is_some_and(|head| head.receiver == node && Some(head.sender) == sender) {
                    self.books.unsuited = true;
                }
                let message = mail.reader.take(mail.boards, slot);
                let port = Port((slot + base - first) as u32);
                self.at::<Mt, _>(node, counts, |protocol, state, cx| protocol.receive(state, port, message, cx));
            } else {
                return;
            }
            self.active = true;
            self.books.delivered::<Mt>(node);
        }
    }

    fn start<Mt: Meter>(&mut self, node: u32, counts: &mut Counts) {
        let summons = self.books.summons(node);
        self.at::<Mt, _>(node, counts, |protocol, state, cx| protocol.start(state, summons, cx));
    }

    fn hand_back<Mt: Meter>(&mut self, lost: Return<P::Message>, counts: &mut Counts) {
        self.at::<Mt, _>(lost.sender, counts, |protocol, state, cx| match lost.to {
            To::Port(port, _) => protocol.unreachable(state, port, lost.message, cx),
            To::Direct(to) => protocol.unreachable_direct(state, to, lost.message, cx),
        });
    }

    /// Whether the timer did something.
    fn fire<Mt: Meter>(&mut self, node: u32, timer: Timer, counts: &mut Counts) -> bool {
        let before = self.states[(node - self.range.start) as usize].clone();
        let acted = self.at::<Mt, _>(node, counts, |protocol, state, cx| {
            protocol.timer(state, timer, cx);
            cx.acted
        });
        acted || self.states[(node - self.range.start) as usize] != before
    }

    #[inline(always)]
    fn at<Mt: Meter, T>(
        &mut self,
        node: u32,
        counts: &mut Counts,
        act: impl FnOnce(&P, &mut P::State, &mut Spot<'_, '_, P, L, Mt>) -> T,
    ) -> T {
        let first = self.links.first(node);
        let degree = (self.links.first(node + 1) - first) as u32;
        let state = &mut self.states[(node - self.range.start) as usize];
        let mut cx = Spot::<P, L, Mt> {
            node,
            first,
            degree,
            links: self.links,
            books: &mut self.books,
            outbox: &mut self.outbox,
            borders: &self.borders,
            counts,
            acted: false,
            meter: PhantomData,
        };
        act(cx.books.protocol, state, &mut cx)
    }
}

/// The mail of this tick, as far as it was read.
struct Incoming<'a, M> {
    boards: &'a mut [Board<M>],
    reader: Reader,
    /// The last node that had mail.
    node: u32,
}

impl<'a, M> Incoming<'a, M> {
    fn new(boards: &'a mut [Board<M>], node: u32) -> Self {
        let reader = Reader::new(boards);
        Incoming { boards, reader, node }
    }

    /// What was sent by id, by receiver, then sender, then in sending order.
    fn take_direct(&mut self) -> VecDeque<DirectMail<M>> {
        let mut all: Vec<_> = self.boards.iter_mut().flat_map(|board| std::mem::take(&mut board.direct)).collect();
        all.sort_by_key(|letter| (letter.receiver, letter.sender));
        all.into()
    }
}
