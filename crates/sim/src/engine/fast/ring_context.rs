//! The [`Context`] of nodes in [`super::ring_driver`].

use hustings_protocol::{Context, Effect, Port, Protocol, Rank};

use super::range_accounting::Counts;
use super::ring_driver::{RingState, Wraparound};
use super::ring_queue::RingQueue;

/// The context of the node that handles an event.
pub(super) struct RingContext<'a, 'b, P: Protocol, const FULL: bool> {
    node: u32,
    size: u32,
    rough: bool,
    ranks: &'a [P::Rank],
    ring: &'a mut RingState<'b, P>,
    counts: &'a mut Counts,
    clockwise: &'a mut RingQueue<P::Message>,
    counter: &'a mut RingQueue<P::Message>,
    wraparound: &'a mut Wraparound<P::Message>,
    /// Whether the handler had any effect. Only read after timers; elsewhere the compiler removes it.
    pub(super) acted: bool,
}

impl<'a, 'b, P: Protocol, const FULL: bool> RingContext<'a, 'b, P, FULL> {
    #[inline(always)]
    pub(super) fn new(
        node: u32,
        ring: &'a mut RingState<'b, P>,
        counts: &'a mut Counts,
        clockwise: &'a mut RingQueue<P::Message>,
        counter: &'a mut RingQueue<P::Message>,
        wraparound: &'a mut Wraparound<P::Message>,
    ) -> Self {
        let (size, rough, ranks) = (ring.size, ring.accounting.calendar.has_crashes(), ring.accounting.ranks);
        RingContext { node, size, rough, ranks, ring, counts, clockwise, counter, wraparound, acted: false }
    }

    #[inline(always)]
    fn send_to_side(&mut self, port: Port, message: P::Message) {
        self.ring.accounting.note_periodic(&message);
        self.counts.sent(&message, 1);
        if FULL {
            self.ring.accounting.load_meter.sent(&message, 1);
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
            match self.ring.route(self.node, port, &message) {
                Some(neighbour) => to = neighbour,
                None => return,
            }
        }
        if port == Port::NEXT {
            if to > self.node {
                self.clockwise.push(to, message)
            } else {
                self.wraparound.clockwise.push_back((to, message))
            }
        } else if to < self.node {
            self.counter.push(to, message);
        } else {
            self.wraparound.counter.push_back((to, message));
        }
    }
}

impl<P: Protocol, const FULL: bool> Context<P> for RingContext<'_, '_, P, FULL> {
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
        self.ring.accounting.draw(self.node, bound)
    }
    #[inline(always)]
    fn emit(&mut self, effect: Effect<P::Message>) {
        self.acted = true;
        match effect {
            Effect::Send(port, message) => self.send_to_side(port, message),
            Effect::SendAllBut(..) | Effect::SendRange(..) => {
                effect.for_each_port(2, |effect| {
                    if let Effect::Send(port, message) = effect {
                        self.send_to_side(port, message);
                    }
                });
            }
            Effect::SendDirect(..) | Effect::SendTo(..) => self.ring.accounting.unsupported = true,
            Effect::SetTimer(after, timer) => self.ring.accounting.set_timer(self.node, after, timer),
            Effect::Lead => {
                let id = self.ranks[self.node as usize].id();
                self.ring.accounting.leader_index.lead(self.node, id, self.ring.accounting.tick);
            }
            Effect::Follow(leader) => self.ring.accounting.leader_index.follow(self.node, leader),
            Effect::Forget => self.ring.accounting.leader_index.forget(self.node),
            Effect::Learn(fact) => self.ring.accounting.learn(fact),
            Effect::Skip(port) => {
                for message in self.ring.remove_peer(self.node, port) {
                    self.send_to_side(port, message);
                }
            }
        }
    }
}
