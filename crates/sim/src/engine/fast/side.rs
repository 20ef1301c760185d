//! What a node of a ring sees and does: the context of [`super::ring`].

use std::marker::PhantomData;

use hustings_protocol::{Context, Fact, Id, Port, Protocol, Rank, Timer};

use super::core::Counts;
use super::meter::Meter;
use super::ring::{RingCore, Seam};
use super::ring_queue::RingQueue;

/// What a node on a ring sees while it handles an event.
pub(super) struct Side<'a, 'b, P: Protocol, Mt> {
    node: u32,
    size: u32,
    rough: bool,
    ranks: &'a [P::Rank],
    core: &'a mut RingCore<'b, P>,
    counts: &'a mut Counts,
    clockwise: &'a mut RingQueue<P::Message>,
    counter: &'a mut RingQueue<P::Message>,
    seam: &'a mut Seam<P::Message>,
    /// Whether the handler had any effect. Read after timers only; elsewhere the compiler leaves it out.
    pub(super) acted: bool,
    meter: PhantomData<Mt>,
}

impl<'a, 'b, P: Protocol, Mt: Meter> Side<'a, 'b, P, Mt> {
    #[inline(always)]
    pub(super) fn new(
        node: u32,
        core: &'a mut RingCore<'b, P>,
        counts: &'a mut Counts,
        clockwise: &'a mut RingQueue<P::Message>,
        counter: &'a mut RingQueue<P::Message>,
        seam: &'a mut Seam<P::Message>,
    ) -> Self {
        let (size, rough, ranks) = (core.size, core.books.calendar.is_rough(), core.books.ranks);
        Side { node, size, rough, ranks, core, counts, clockwise, counter, seam, acted: false, meter: PhantomData }
    }
}

impl<P: Protocol, Mt: Meter> Context<P> for Side<'_, '_, P, Mt> {
    #[inline(always)]
    fn rank(&self) -> P::Rank {
        self.ranks[self.node as usize]
    }
    #[inline(always)]
    fn index(&self) -> u32 {
        self.node
    }
    #[inline(always)]
    fn size(&self) -> u32 {
        self.size
    }
    #[inline(always)]
    fn degree(&self) -> u32 {
        2
    }
    #[inline(always)]
    fn peer_rank(&self, _: Port) -> Option<P::Rank> {
        None
    }
    fn draw(&mut self, bound: u64) -> u64 {
        self.core.books.draw(self.node, bound)
    }
    #[inline(always)]
    fn send(&mut self, port: Port, message: P::Message) {
        self.acted = true;
        self.core.books.note_periodic(&message);
        self.counts.sent(&message, 1);
        if Mt::FULL {
            self.core.books.gauge.sent(&message, 1);
        }
        let plain = if port == Port::NEXT { self.node + 1 } else { self.node.wrapping_sub(1) };
        let mut to = if plain < self.size {
            plain
        } else if port == Port::NEXT {
            0
        } else {
            self.size - 1
        };
        if self.rough {
            match self.core.route(self.node, port, &message) {
                Some(neighbour) => to = neighbour,
                None => return,
            }
        }
        if port == Port::NEXT {
            if to > self.node { self.clockwise.push(to, message) } else { self.seam.clockwise.push_back((to, message)) }
        } else if to < self.node {
            self.counter.push(to, message);
        } else {
            self.seam.counter.push_back((to, message));
        }
    }
    fn send_direct(&mut self, _: Id, _: P::Message) {
        self.core.books.unsuited = true;
    }
    fn send_to(&mut self, _: u32, _: P::Message) {
        self.core.books.unsuited = true;
    }
    fn set_timer(&mut self, after: u64, timer: Timer) {
        self.acted = true;
        self.core.books.set_timer(self.node, after, timer);
    }
    #[inline(always)]
    fn lead(&mut self) {
        self.acted = true;
        let id = self.rank().id();
        self.core.books.ledger.lead(self.node, id, self.core.books.tick);
    }
    #[inline(always)]
    fn follow(&mut self, leader: Id) {
        self.acted = true;
        self.core.books.ledger.follow(self.node, leader);
    }
    fn forget(&mut self) {
        self.acted = true;
        self.core.books.ledger.forget(self.node);
    }
    fn learn(&mut self, fact: Fact) {
        self.acted = true;
        self.core.books.learn(fact);
    }
    #[inline(always)]
    fn skip(&mut self, port: Port) {
        self.acted = true;
        for message in self.core.strike(self.node, port) {
            self.send(port, message);
        }
    }
}
