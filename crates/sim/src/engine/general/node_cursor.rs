//! What the acting node knows of itself and its neighbours.

use hustings_protocol::{Id, NodeInfo, Peers, Port, Rank};

use crate::topology::Network;

/// The [`NodeInfo`] of the acting node, moved from node to node. (One for each would take n² ranks on a complete
/// network.)
///
/// On complete networks and graphs a node knows the ranks of its neighbours, on a ring it does not.
#[derive(Debug)]
pub(crate) struct NodeCursor<'a, R> {
    network: &'a Network,
    ranks: &'a [R],
    info: NodeInfo<R>,
}

impl<'a, R: Rank> NodeCursor<'a, R> {
    /// A cursor at position 0. There is at least one position, and a rank for each.
    pub(crate) fn new(network: &'a Network, ranks: &'a [R]) -> Self {
        let peers = match network {
            Network::Ring(_) | Network::InformedRing(_) => Peers::Unknown(2),
            Network::Complete(_) => Peers::Known(ranks[1..].to_vec()),
            Network::Graph(_) => Peers::Known(neighbours(network, ranks, 0).collect()),
        };
        let info = NodeInfo { rank: ranks[0], index: 0, size: network.members(), peers };
        NodeCursor { network, ranks, info }
    }

    /// Moves to a node.
    #[inline]
    pub(crate) fn of(&mut self, at: u32) -> &NodeInfo<R> {
        if self.info.index != at {
            self.move_to(at);
        }
        &self.info
    }

    /// The id of a node.
    pub(crate) fn id_of(&self, at: u32) -> Id {
        self.ranks[at as usize].id()
    }

    fn move_to(&mut self, at: u32) {
        let before = self.info.index as usize;
        self.info.index = at;
        self.info.rank = self.ranks[at as usize];
        if let Peers::Unknown(degree) = &mut self.info.peers {
            *degree = self.network.degree(at);
        }
        let Peers::Known(peers) = &mut self.info.peers else { return };
        let now = at as usize;
        if let Network::Complete(_) = self.network {
            // A node's peers are all ranks but its own: only those between the two positions shift by one.
            if before < now {
                peers[before..now].copy_from_slice(&self.ranks[before..now]);
            } else {
                peers[now..before].copy_from_slice(&self.ranks[now + 1..=before]);
            }
        } else {
            peers.clear();
            peers.extend(neighbours(self.network, self.ranks, at));
        }
    }
}

fn neighbours<R: Rank>(network: &Network, ranks: &[R], at: u32) -> impl Iterator<Item = R> {
    (0..network.degree(at)).map(move |port| ranks[network.peer(at, Port(port)).0 as usize])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Graph;

    #[test]
    fn the_info_does_not_depend_on_the_previous_position() {
        let ranks: Vec<Id> = [40, 10, 30, 20, 50].into_iter().map(Id).collect();
        let graph =
            Graph::new(5, |link| [(0, 1), (1, 2), (2, 3), (3, 4), (4, 1)].iter().for_each(|&(a, b)| link(a, b)));
        for network in [Network::Complete(5), Network::Graph(graph.unwrap())] {
            let mut cursor = NodeCursor::new(&network, &ranks);
            for at in [0, 3, 1, 4, 4, 0, 2] {
                let expected = Peers::Known(neighbours(&network, &ranks, at).collect());
                let info = NodeInfo { rank: ranks[at as usize], index: at, size: 5, peers: expected };
                assert_eq!(*cursor.of(at), info);
            }
        }
        let ring = Network::Ring(5);
        assert_eq!(NodeCursor::new(&ring, &ranks).of(3).peers, Peers::Unknown(2));
    }
}
