//! Who is linked to whom among the members of a view: an algorithm's own kind of network, over any number of members.
//!
//! - **Ring, ring with an informer**: port 0 leads to the next member, port 1 to the one before; alone, a member is its
//!   own neighbour. There is no informer inside a view: what is sent to it goes nowhere, as if it were down.
//! - **Complete**: port p of member i leads to member p, or p+1 from i on.
//! - **Tree**: member i > 0 hangs on member (i-1)/2.
//! - **Graph**: complete up to [`SMALL`] members. Beyond that a ring with chords: member i is linked to those 1, 2 and
//!   ⌊√m⌋+1 places away on either side, m members in all. So everybody has six links, nobody is more than about √m/2
//!   links away, and the graph does not fall apart where a few are slow.
//!
//! On trees and graphs a member's neighbours are behind its ports in ascending order.

use hustings_protocol::Port;

use crate::NetworkKind;

/// Up to so many members a graph is complete.
pub const SMALL: u32 = 10;

/// The links among so many members.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Overlay {
    kind: NetworkKind,
    size: u32,
}

impl Overlay {
    /// The links of that kind among so many.
    pub const fn new(kind: NetworkKind, size: u32) -> Self {
        Overlay { kind, size }
    }

    /// How many ports a member has.
    pub fn degree(self, at: u32) -> u32 {
        match self.form() {
            Form::Ring => 2,
            Form::Complete => self.size.saturating_sub(1),
            Form::Listed(neighbours) => neighbours(self.size, at).count,
        }
    }

    /// Who is behind a port, and the port at which a message that is sent there comes in. `None` if there is no such
    /// port, or no such member.
    pub fn peer(self, at: u32, port: Port) -> Option<(u32, Port)> {
        if at >= self.size || port.0 >= self.degree(at) {
            return None;
        }
        Some(match self.form() {
            Form::Ring => match port {
                Port::NEXT => (around(at, 1, self.size), Port::PREVIOUS),
                _ => (around(at, self.size - 1, self.size), Port::NEXT),
            },
            Form::Complete => {
                let peer = port.0 + u32::from(port.0 >= at);
                (peer, Port(at - u32::from(at > peer)))
            }
            Form::Listed(neighbours) => {
                let peer = neighbours(self.size, at).as_slice()[port.index()];
                let back = neighbours(self.size, peer).as_slice().iter().position(|&other| other == at)?;
                (peer, Port(back as u32))
            }
        })
    }

    /// Whether a member knows the ranks of its neighbours: everywhere but on a ring.
    pub fn shows_ranks(self) -> bool {
        !matches!(self.form(), Form::Ring)
    }

    fn form(self) -> Form {
        match self.kind {
            NetworkKind::Ring | NetworkKind::InformedRing => Form::Ring,
            NetworkKind::Complete => Form::Complete,
            NetworkKind::Graph if self.size <= SMALL => Form::Complete,
            NetworkKind::Graph => Form::Listed(chords),
            NetworkKind::Tree => Form::Listed(branches),
        }
    }
}

enum Form {
    Ring,
    Complete,
    /// The neighbours of a member, given the size and its place.
    Listed(fn(u32, u32) -> Few),
}

/// A few neighbours, ascending.
struct Few {
    count: u32,
    places: [u32; 6],
}

impl Few {
    fn of(neighbours: impl Iterator<Item = u32>) -> Self {
        let mut few = Few { count: 0, places: [0; 6] };
        for (place, neighbour) in few.places.iter_mut().zip(neighbours) {
            *place = neighbour;
            few.count += 1;
        }
        few.places[..few.count as usize].sort_unstable();
        few
    }

    fn as_slice(&self) -> &[u32] {
        &self.places[..self.count as usize]
    }
}

/// The place so many steps further, on a circle of `size` places. No sum is too great for it.
fn around(at: u32, steps: u32, size: u32) -> u32 {
    ((u64::from(at) + u64::from(steps)) % u64::from(size)) as u32
}

fn chords(size: u32, at: u32) -> Few {
    let long = size.isqrt() + 1;
    Few::of([1, 2, long].into_iter().flat_map(|step| [around(at, step, size), around(at, size - step, size)]))
}

fn branches(size: u32, at: u32) -> Few {
    let parent = at.checked_sub(1).map(|before| before / 2);
    let children = [1, 2].into_iter().filter_map(|side| at.checked_mul(2)?.checked_add(side));
    Few::of(parent.into_iter().chain(children.filter(|&child| child < size)))
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
    fn every_link_leads_back_and_everybody_is_connected() {
        for kind in KINDS {
            for size in 1..60 {
                let overlay = Overlay::new(kind, size);
                let mut met = BTreeSet::from([0]);
                let mut rest = Vec::from([0]);
                while let Some(at) = rest.pop() {
                    for port in (0..overlay.degree(at)).map(Port) {
                        let (peer, into) = overlay.peer(at, port).expect("a port leads somewhere");
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
    fn the_networks_are_those_that_the_algorithms_know() {
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
