//! The [`Context`] of nodes in [`super::graph_driver`].

use std::ops::Range;

use hustings_protocol::{Context, Effect, Port, Protocol, Rank};

use super::calendar::{Destination, ReturnedMessage};
use super::links::Links;
use super::mailbox::{Link, Mailbox};
use super::range_accounting::{Counts, RangeAccounting};

/// From this many neighbouring receivers on, adding a span is faster than adding single messages.
const MIN_SPAN: usize = 16;

/// The context of the node that handles an event.
pub(super) struct GraphContext<'a, 'b, P: Protocol, L, B: Mailbox<P::Message>, const FULL: bool> {
    pub(super) node: u32,
    pub(super) first: usize,
    pub(super) degree: u32,
    pub(super) links: L,
    pub(super) accounting: &'a mut RangeAccounting<'b, P>,
    pub(super) outbox: &'a mut [B],
    pub(super) pool: &'a mut B::Pool,
    pub(super) borders: &'a [(u32, usize)],
    pub(super) counts: &'a mut Counts,
    /// Whether the handler had any effect. Only read after timers; elsewhere the compiler removes it.
    pub(super) acted: bool,
}

impl<P: Protocol, L: Links, B: Mailbox<P::Message>, const FULL: bool> GraphContext<'_, '_, P, L, B, FULL> {
    #[inline(always)]
    fn count(&mut self, message: &P::Message, copies: u64) {
        self.accounting.note_periodic(message);
        self.counts.sent(message, copies);
        if FULL {
            self.accounting.load_meter.sent(message, copies);
        }
    }

    #[inline(always)]
    fn put(&mut self, port: u32, message: P::Message) {
        let receiver = self.links.receiver(self.node, self.first, port);
        if !self.accounting.calendar.is_up(receiver, self.accounting.tick + 1) {
            // Clone the message. Passing its address to a cold function would make the compiler build it in memory, and
            // reading it back in one piece would stall.
            return self.return_to_sender(port, receiver, message.clone());
        }
        let slot = self.links.slot(self.node, self.first, port);
        let to = if self.outbox.len() == 1 { 0 } else { self.range_of(slot) };
        self.outbox[to].put(self.pool, Link { sender: self.node, receiver, slot }, message);
    }

    /// The range that a slot belongs to. It is counted without branches, because on a random graph a search would
    /// mispredict them.
    #[inline(always)]
    fn range_of(&self, slot: usize) -> usize {
        let inner = &self.borders[1..self.borders.len() - 1];
        inner.iter().map(|border| usize::from(slot >= border.1)).sum()
    }

    /// Sends the same message to a range of ports.
    #[inline(always)]
    fn put_range(&mut self, ports: Range<u32>, message: P::Message) {
        if B::ACCEPTS_SPANS && ports.len() >= MIN_SPAN {
            // Ports are in the order of positions, and only the node itself has none.
            self.put_span(ports.start.min(self.node)..ports.end.min(self.node), message.clone());
            self.put_span(ports.start.max(self.node) + 1..ports.end.max(self.node) + 1, message);
        } else if let [outbox] = &mut *self.outbox
            && !self.accounting.calendar.has_crashes()
        {
            for link in self.links.links_of(self.node, self.first, ports) {
                outbox.put(self.pool, link, message.clone());
            }
        } else {
            for port in ports {
                self.put(port, message.clone());
            }
        }
    }

    /// Sends the same message to a span of receivers. Messages to nodes that will be down return to the sender.
    fn put_span(&mut self, mut receivers: Range<u32>, message: P::Message) {
        while !receivers.is_empty() {
            let due = self.accounting.tick + 1;
            let up = receivers.clone().take_while(|&to| self.accounting.calendar.is_up(to, due)).count() as u32;
            let end = receivers.start + up;
            for (to, borders) in self.borders.windows(2).enumerate() {
                let part = receivers.start.max(borders[0].0)..end.min(borders[1].0);
                if !part.is_empty() {
                    self.outbox[to].put_span(self.node, part, message.clone());
                }
            }
            if end < receivers.end {
                self.return_to_sender(end - u32::from(end > self.node), end, message.clone());
            }
            receivers.start = end + 1;
        }
    }

    /// Sends by id or by index. Without a receiver the message is lost.
    fn put_direct(&mut self, receiver: Option<u32>, message: P::Message) {
        self.count(&message, 1);
        let Some((receiver, to)) =
            receiver.and_then(|receiver| Some((receiver, self.accounting.ranks.get(receiver as usize)?.id())))
        else {
            self.accounting.count_lost();
            return;
        };
        if !self.accounting.calendar.is_up(receiver, self.accounting.tick + 1) {
            self.accounting.count_lost();
            let message = ReturnedMessage { sender: self.node, to: Destination::Id(to), message };
            self.accounting.calendar.return_to_sender(self.accounting.tick, message);
            return;
        }
        let range = self.borders[1..].partition_point(|border| border.0 <= receiver);
        self.outbox[range].put_direct(self.pool, self.node, receiver, message);
    }

    /// An outside informer does not take part in the election.
    #[inline(always)]
    fn is_member(&self) -> bool {
        !L::IS_RING || self.node < self.links.members()
    }

    /// Counts a message whose receiver will be down when it arrives, and schedules its return.
    #[cold]
    #[inline(never)]
    fn return_to_sender(&mut self, port: u32, receiver: u32, message: P::Message) {
        self.accounting.count_lost();
        let message = ReturnedMessage { sender: self.node, to: Destination::Port(Port(port), receiver), message };
        self.accounting.calendar.return_to_sender(self.accounting.tick, message);
    }
}

impl<P: Protocol, L: Links, B: Mailbox<P::Message>, const FULL: bool> Context<P>
    for GraphContext<'_, '_, P, L, B, FULL>
{
    #[inline(always)]
    fn rank(&self) -> P::Rank {
        self.accounting.ranks[self.node as usize]
    }
    #[inline(always)]
    fn index(&self) -> u32 {
        self.node
    }
    #[inline(always)]
    fn size(&self) -> u32 {
        self.links.members()
    }
    #[inline(always)]
    fn degree(&self) -> u32 {
        self.degree
    }
    #[inline(always)]
    fn peer_rank(&self, port: Port) -> Option<P::Rank> {
        (L::PEERS_ARE_KNOWN && port.0 < self.degree)
            .then(|| self.accounting.ranks[self.links.receiver(self.node, self.first, port.0) as usize])
    }
    fn draw(&mut self, bound: u64) -> u64 {
        self.accounting.draw(self.node, bound)
    }
    #[inline(always)]
    fn emit(&mut self, effect: Effect<P::Message>) {
        self.acted = true;
        match effect {
            Effect::Send(port, message) => {
                self.count(&message, 1);
                self.put(port.0, message);
            }
            Effect::SendAllBut(Some(except), message) if except.0 < self.degree => {
                self.count(&message, u64::from(self.degree) - 1);
                self.put_range(0..except.0, message.clone());
                self.put_range(except.0 + 1..self.degree, message);
            }
            Effect::SendAllBut(_, message) => {
                self.count(&message, u64::from(self.degree));
                self.put_range(0..self.degree, message);
            }
            Effect::SendRange(ports, message) => {
                self.count(&message, ports.len() as u64);
                self.put_range(ports, message);
            }
            Effect::SendDirect(to, message) => {
                let receiver = self.accounting.position(to);
                self.put_direct(receiver, message);
            }
            Effect::SendTo(receiver, message) => self.put_direct(Some(receiver), message),
            Effect::SetTimer(after, timer) => self.accounting.set_timer(self.node, after, timer),
            Effect::Lead if self.is_member() => {
                let id = self.accounting.ranks[self.node as usize].id();
                self.accounting.leader_index.lead(self.node, id, self.accounting.tick);
            }
            Effect::Follow(leader) if self.is_member() => self.accounting.leader_index.follow(self.node, leader),
            Effect::Forget if self.is_member() => self.accounting.leader_index.forget(self.node),
            Effect::Lead | Effect::Follow(_) | Effect::Forget => {}
            Effect::Learn(fact) => self.accounting.learn(fact),
            Effect::Skip(_) => self.accounting.unsupported |= L::IS_RING,
        }
    }
}
