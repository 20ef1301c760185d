//! Where ports lead: the network, without the peers that a node on a ring has removed.

use hustings_protocol::Port;

use crate::topology::Network;

/// The network as the nodes see it now.
#[derive(Clone, Debug)]
pub(crate) struct RoutingTable<'a> {
    network: &'a Network,
    /// On a ring: the distance to the neighbour on each side. Empty until a peer is removed.
    reach: Vec<[u32; 2]>,
}

impl<'a> RoutingTable<'a> {
    /// The table of a network. No peer is removed.
    pub(crate) fn new(network: &'a Network) -> Self {
        RoutingTable { network, reach: Vec::new() }
    }

    /// Whether the network is a ring.
    pub(crate) fn is_ring(&self) -> bool {
        self.network.is_ring()
    }

    /// The number of a node's ports.
    #[inline]
    pub(crate) fn degree(&self, at: u32) -> u32 {
        self.network.degree(at)
    }

    /// The position behind a port, and the port at which a message arrives there. `None` if there is no such port.
    #[inline]
    pub(crate) fn target(&self, at: u32, port: Port) -> Option<(u32, Port)> {
        if port.0 >= self.network.degree(at) {
            return None;
        }
        let Some(&reach) = self.reach.get(at as usize) else {
            return Some(self.network.peer(at, port));
        };
        let size = u64::from(self.network.members());
        // Both sides are one ring: when they have met, all peers are removed.
        let have_met = u64::from(reach[0]) + u64::from(reach[1]) > size;
        let away = if have_met { size } else { u64::from(reach[port.index()]) };
        let (steps, into) = match port {
            Port::NEXT => (away, Port::PREVIOUS),
            _ => (size - away, Port::NEXT),
        };
        Some((((u64::from(at) + steps) % size) as u32, into))
    }

    /// The number of directed links.
    pub(crate) fn link_count(&self) -> u64 {
        match self.network {
            Network::Ring(size) | Network::InformedRing(size) => 2 * u64::from(*size),
            network => 2 * network.links(),
        }
    }

    /// The number of the directed link behind a port, below [`RoutingTable::link_count`].
    pub(crate) fn link(&self, at: u32, port: Port) -> u64 {
        let before = match self.network {
            Network::Ring(_) | Network::InformedRing(_) => 2 * u64::from(at),
            Network::Complete(size) => u64::from(at) * u64::from(size - 1),
            Network::Graph(graph) => u64::from(graph.first()[at as usize]),
        };
        before + u64::from(port.0)
    }

    /// On a ring: removes `peer` if it is the neighbour behind that port. If all peers are removed, a node is its own
    /// neighbour on both sides, and is never removed. Returns whether a peer was removed.
    pub(crate) fn remove_peer(&mut self, at: u32, port: Port, peer: u32) -> bool {
        let is_neighbour = self.target(at, port).is_some_and(|(neighbour, _)| neighbour == peer);
        if !self.is_ring() || !is_neighbour || peer == at {
            return false;
        }
        if self.reach.is_empty() {
            self.reach = vec![[1, 1]; self.network.size() as usize];
        }
        self.reach[at as usize][port.index()] += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn removing_peers_leaves_the_node_itself_in_the_end() {
        let network = Network::Ring(4);
        let mut routing = RoutingTable::new(&network);
        let mut seen = Vec::new();
        for _ in 0..5 {
            let (peer, into) = routing.target(1, Port::NEXT).unwrap();
            assert_eq!(into, Port::PREVIOUS);
            seen.push(peer);
            routing.remove_peer(1, Port::NEXT, peer);
        }
        assert_eq!(seen, [2, 3, 0, 1, 1]);
        assert_eq!(routing.target(1, Port::PREVIOUS), Some((1, Port::NEXT)), "the other side has no peer left either");
        assert_eq!(routing.target(1, Port(2)), None);
    }

    #[test]
    fn removals_on_both_sides_add_up() {
        let network = Network::Ring(5);
        let mut routing = RoutingTable::new(&network);
        let mut remove_peer = |port, peer, next, previous| {
            routing.remove_peer(0, port, peer);
            assert_eq!(routing.target(0, Port::NEXT), Some((next, Port::PREVIOUS)));
            assert_eq!(routing.target(0, Port::PREVIOUS), Some((previous, Port::NEXT)));
        };
        remove_peer(Port::PREVIOUS, 4, 1, 3);
        remove_peer(Port::PREVIOUS, 4, 1, 3); // removed once only
        remove_peer(Port::NEXT, 1, 2, 3);
        remove_peer(Port::NEXT, 2, 3, 3);
        remove_peer(Port::PREVIOUS, 3, 0, 0);
    }

    #[test]
    fn other_networks_remove_no_peers() {
        let network = Network::Complete(3);
        let mut routing = RoutingTable::new(&network);
        routing.remove_peer(0, Port(0), 1);
        assert_eq!(routing.target(0, Port(0)), Some((1, Port(0))));
    }
}
