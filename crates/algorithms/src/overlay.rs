//! Overlays: the links among the members of a view, for each kind of network and any number of members.
//!
//! - **Ring, ring with an informer**: port 0 leads to the next member, port 1 to the previous one; a single member is
//!   its own neighbour. There is no informer inside a view: messages to it are lost, as if it were down.
//! - **Complete**: port p of member i leads to member p, or to p+1 from i on.
//! - **Tree**: member i > 0 is linked to member (i-1)/2.
//! - **Graph**: complete up to [`MAX_COMPLETE`] members. Beyond that a ring with chords: member i is linked to those 1,
//!   2 and ⌊√m⌋+1 places away on either side, with m members in all. Each member then has six links, no two are more
//!   than about √m/2 links apart, and a few slow members do not disconnect the graph.
//!
//! On trees and graphs the ports lead to the neighbours in ascending order.

use hustings_protocol::Port;

use crate::NetworkKind;

/// A graph of up to this many members is complete.
pub(crate) const MAX_COMPLETE: u32 = 10;

/// The links among so many members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Overlay {
    kind: NetworkKind,
    size: u32,
}

impl Overlay {
    /// The links of this kind among `size` members.
    pub(crate) const fn new(kind: NetworkKind, size: u32) -> Self {
        Overlay { kind, size }
    }

    /// The number of ports of a member.
    pub(crate) fn degree(self, at: u32) -> u32 {
        match self.links() {
            Links::Ring => 2,
            Links::Complete => self.size.saturating_sub(1),
            Links::Listed(neighbours) => neighbours(self.size, at).count,
        }
    }

    /// The member behind a port, and the port at which it receives messages sent there. `None` if there is no such port
    /// or member.
    pub(crate) fn peer(self, at: u32, port: Port) -> Option<(u32, Port)> {
        if at >= self.size || port.0 >= self.degree(at) {
            return None;
        }
        Some(match self.links() {
            Links::Ring => match port {
                Port::NEXT => (around(at, 1, self.size), Port::PREVIOUS),
                _ => (around(at, self.size - 1, self.size), Port::NEXT),
            },
            Links::Complete => {
                let peer = port.0 + u32::from(port.0 >= at);
                (peer, Port(at - u32::from(at > peer)))
            }
            Links::Listed(neighbours) => {
                let peer = neighbours(self.size, at).as_slice()[port.index()];
                let back = neighbours(self.size, peer).as_slice().iter().position(|&other| other == at)?;
                (peer, Port(back as u32))
            }
        })
    }

    /// Whether members know the ranks of their neighbours: on all networks but rings.
    pub(crate) fn shows_ranks(self) -> bool {
        !matches!(self.links(), Links::Ring)
    }

    fn links(self) -> Links {
        match self.kind {
            NetworkKind::Ring | NetworkKind::InformedRing => Links::Ring,
            NetworkKind::Complete => Links::Complete,
            NetworkKind::Graph if self.size <= MAX_COMPLETE => Links::Complete,
            NetworkKind::Graph => Links::Listed(chords),
            NetworkKind::Tree => Links::Listed(branches),
        }
    }
}

enum Links {
    Ring,
    Complete,
    /// Lists the neighbours of a member, given the size and its place.
    Listed(fn(u32, u32) -> NeighbourList),
}

/// A short list of neighbours, ascending.
struct NeighbourList {
    count: u32,
    places: [u32; 6],
}

impl NeighbourList {
    fn of(neighbours: impl Iterator<Item = u32>) -> Self {
        let mut list = NeighbourList { count: 0, places: [0; 6] };
        for (place, neighbour) in list.places.iter_mut().zip(neighbours) {
            *place = neighbour;
            list.count += 1;
        }
        list.places[..list.count as usize].sort_unstable();
        list
    }

    fn as_slice(&self) -> &[u32] {
        &self.places[..self.count as usize]
    }
}

/// The place `steps` further on a circle of `size` places, without overflow.
fn around(at: u32, steps: u32, size: u32) -> u32 {
    ((u64::from(at) + u64::from(steps)) % u64::from(size)) as u32
}

fn chords(size: u32, at: u32) -> NeighbourList {
    let long = size.isqrt() + 1;
    NeighbourList::of([1, 2, long].into_iter().flat_map(|step| [around(at, step, size), around(at, size - step, size)]))
}

fn branches(size: u32, at: u32) -> NeighbourList {
    let parent = at.checked_sub(1).map(|before| before / 2);
    let children = [1, 2].into_iter().filter_map(|side| at.checked_mul(2)?.checked_add(side));
    NeighbourList::of(parent.into_iter().chain(children.filter(|&child| child < size)))
}

#[cfg(test)]
mod tests {
    use alloc::collections::BTreeSet;
    use alloc::vec::Vec;

    use super::*;

    const KINDS: [NetworkKind; 5] =
        [NetworkKind::Ring, NetworkKind::InformedRing, NetworkKind::Complete, NetworkKind::Graph, NetworkKind::Tree];

    fn neighbours(overlay: Overlay, at: u32) -> Vec<u32> {
        (0..overlay.degree(at)).filter_map(|port| overlay.peer(at, Port(port))).map(|(peer, _)| peer).collect()
    }

    #[test]
    fn links_are_symmetric_and_connect_all_members() {
        for kind in KINDS {
            for size in 1..60 {
                let overlay = Overlay::new(kind, size);
                let mut met = BTreeSet::from([0]);
                let mut rest = Vec::from([0]);
                while let Some(at) = rest.pop() {
                    for port in (0..overlay.degree(at)).map(Port) {
                        let (peer, into) = overlay.peer(at, port).expect("every port has a peer");
                        assert!(peer < size);
                        assert_eq!(overlay.peer(peer, into), Some((at, port)), "{kind:?} of {size}: {at} {port}");
                        if met.insert(peer) {
                            rest.push(peer);
                        }
                    }
                    assert_eq!(overlay.peer(at, Port(overlay.degree(at))), None);
                }
                assert_eq!(met.len() as u32, size, "{kind:?} of {size}");
                assert_eq!(overlay.peer(size, Port(0)), None);
            }
        }
    }

    #[test]
    fn builds_the_expected_networks() {
        let of = |kind, size, at| neighbours(Overlay::new(kind, size), at);
        assert_eq!(of(NetworkKind::Ring, 1, 0), [0, 0], "alone, a node is its own neighbour");
        assert_eq!(of(NetworkKind::InformedRing, 5, 4), [0, 3]);
        assert_eq!(of(NetworkKind::Complete, 4, 2), [0, 1, 3]);
        assert_eq!(of(NetworkKind::Tree, 6, 1), [0, 3, 4]);
        assert_eq!(of(NetworkKind::Tree, 6, 2), [0, 5]);
        assert_eq!(of(NetworkKind::Graph, 10, 3).len(), 9);
        assert_eq!(of(NetworkKind::Graph, 11, 0), [1, 2, 4, 7, 9, 10]);
        assert!((11..200).all(|size| (0..size).all(|at| of(NetworkKind::Graph, size, at).len() == 6)));
    }
}
