//! Networks with numbered links.

use std::ops::Range;

use hustings_protocol::Port;

use super::mailbox::Link;
use crate::topology::Graph;

/// A network whose directed links are numbered by receiver, then by sender. The number of a link is its slot.
pub(super) trait Links: Copy + Send + Sync {
    /// Whether a node knows the ranks of its peers.
    const PEERS_ARE_KNOWN: bool;
    /// Whether it is a ring. Its nodes may remove peers, and it may have an outside informer.
    const IS_RING: bool = false;
    /// The number of positions, including an outside informer.
    fn size(&self) -> u32;
    /// The number of positions that take part in the election, without an outside informer.
    fn members(&self) -> u32 {
        self.size()
    }
    /// The first slot of a receiver. For `size` it is the number of slots.
    fn first(&self, receiver: u32) -> usize;
    /// The position behind a port. `first` is the node's own first slot.
    fn receiver(&self, node: u32, first: usize, port: u32) -> u32;
    /// The slot of the link behind a port. `first` is the node's own first slot.
    fn slot(&self, node: u32, first: usize, port: u32) -> usize;
    /// The links behind a range of ports.
    #[inline(always)]
    fn links_of(&self, node: u32, first: usize, ports: Range<u32>) -> impl Iterator<Item = Link> {
        ports.map(move |port| Link {
            sender: node,
            receiver: self.receiver(node, first, port),
            slot: self.slot(node, first, port),
        })
    }
}

impl Links for &Graph {
    const PEERS_ARE_KNOWN: bool = true;

    fn size(&self) -> u32 {
        Graph::size(self)
    }
    #[inline(always)]
    fn first(&self, receiver: u32) -> usize {
        Graph::first(self)[receiver as usize] as usize
    }
    #[inline(always)]
    fn receiver(&self, _: u32, first: usize, port: u32) -> u32 {
        self.slots()[first + port as usize]
    }
    #[inline(always)]
    fn slot(&self, _: u32, first: usize, port: u32) -> usize {
        self.reverse()[first + port as usize] as usize
    }
    #[inline(always)]
    fn links_of(&self, node: u32, first: usize, ports: Range<u32>) -> impl Iterator<Item = Link> {
        let places = first + ports.start as usize..first + ports.end as usize;
        let (receivers, slots) = (&self.slots()[places.clone()], &self.reverse()[places]);
        receivers.iter().zip(slots).map(move |(&receiver, &slot)| Link { sender: node, receiver, slot: slot as usize })
    }
}

/// A complete network.
#[derive(Clone, Copy)]
pub(super) struct Complete {
    pub(super) size: u32,
}

impl Links for Complete {
    const PEERS_ARE_KNOWN: bool = true;

    fn size(&self) -> u32 {
        self.size
    }
    #[inline(always)]
    fn first(&self, receiver: u32) -> usize {
        receiver as usize * (self.size as usize - 1)
    }
    #[inline(always)]
    fn receiver(&self, node: u32, _: usize, port: u32) -> u32 {
        port + u32::from(port >= node)
    }
    #[inline(always)]
    fn slot(&self, node: u32, first: usize, port: u32) -> usize {
        let receiver = self.receiver(node, first, port);
        Links::first(self, receiver) + (node - u32::from(node > receiver)) as usize
    }
}

/// A ring whose members can send to each other by index, with or without an outside informer.
#[derive(Clone, Copy)]
pub(super) struct MappedRing {
    /// The number of members.
    pub(super) size: u32,
    pub(super) has_informer: bool,
}

impl Links for MappedRing {
    const PEERS_ARE_KNOWN: bool = false;
    const IS_RING: bool = true;

    fn size(&self) -> u32 {
        self.size + u32::from(self.has_informer)
    }
    fn members(&self) -> u32 {
        self.size
    }
    #[inline(always)]
    fn first(&self, receiver: u32) -> usize {
        2 * receiver.min(self.size) as usize
    }
    #[inline(always)]
    fn receiver(&self, node: u32, _: usize, port: u32) -> u32 {
        match Port(port) {
            Port::NEXT if node + 1 < self.size => node + 1,
            Port::NEXT => 0,
            _ if node > 0 => node - 1,
            _ => self.size - 1,
        }
    }
    #[inline(always)]
    fn slot(&self, node: u32, first: usize, port: u32) -> usize {
        let into = if Port(port) == Port::NEXT { Port::PREVIOUS } else { Port::NEXT };
        Links::first(self, self.receiver(node, first, port)) + into.index()
    }
}
