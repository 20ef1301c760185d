//! The networks that engines run on. Rings and complete networks need no memory, a [`Graph`] is a flat list of
//! neighbours.

use hustings_algorithms::Neighbours;
use hustings_protocol::Port;

use super::{
    BuildError, Generator,
    assemble::{Lists, assemble},
    generator::Listed,
};

/// An undirected graph without loops and double links: neighbours of each position in ascending order.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Graph {
    /// Where each position's neighbours begin; one more entry than positions.
    first: Vec<u32>,
    /// All neighbours. An index into this list is a *slot*: a directed link, named by its receiver's end.
    neighbours: Vec<u32>,
    /// For each slot, the slot of the same link in the other direction.
    reverse: Vec<u32>,
}

/// The maximum number of links of a [`Graph`]: each has two slots, numbered with 32 bits.
pub(crate) const MAX_LINKS: u64 = (u32::MAX / 2) as u64;

impl Graph {
    /// A graph of `size` positions from its links, each given once, in any order and direction.
    pub fn new(size: u32, links: impl FnOnce(&mut dyn FnMut(u32, u32))) -> Result<Self, BuildError> {
        let (mut list, mut error) = (Vec::new(), None);
        links(&mut |from, to| {
            if from >= size || to >= size {
                let last = u64::from(size).saturating_sub(1);
                error.get_or_insert(BuildError::Beyond { from: from.into(), to: to.into(), last });
            } else {
                list.push((from, to));
            }
        });
        error.map_or_else(|| Graph::generate_with(&Listed::new(size, list), 1), Err)
    }

    /// The graph that a generator makes, with all processors.
    pub(crate) fn generate(generator: &dyn Generator) -> Result<Self, BuildError> {
        Graph::generate_with(generator, std::thread::available_parallelism().map_or(1, usize::from))
    }

    /// The graph that a generator makes, with up to `threads` threads; it is the same for any number.
    pub(crate) fn generate_with(generator: &dyn Generator, threads: usize) -> Result<Self, BuildError> {
        let Lists { first, neighbours, reverse } = assemble(generator, threads)?;
        Ok(Graph { first, neighbours, reverse })
    }

    /// Fails if some position cannot reach another.
    pub(crate) fn check_connected(&self) -> Result<(), BuildError> {
        let size = self.size() as usize;
        let mut seen = vec![false; size];
        let mut waiting = vec![0u32];
        if size > 0 {
            seen[0] = true;
        } else {
            waiting.clear();
        }
        while let Some(at) = waiting.pop() {
            for &other in self.neighbours(at) {
                if !std::mem::replace(&mut seen[other as usize], true) {
                    waiting.push(other);
                }
            }
        }
        match seen.iter().position(|seen| !seen) {
            Some(to) => Err(BuildError::Disconnected { from: 0, to: to as u64 }),
            None => Ok(()),
        }
    }

    /// The number of positions.
    #[inline(always)]
    pub(crate) fn size(&self) -> u32 {
        self.first.len() as u32 - 1
    }

    /// The number of links.
    pub(crate) fn links(&self) -> u64 {
        self.neighbours.len() as u64 / 2
    }

    /// Where each position's slots begin; one more entry than positions.
    #[inline(always)]
    pub fn first(&self) -> &[u32] {
        &self.first
    }

    /// The neighbours of all positions, by slot.
    #[inline(always)]
    pub fn slots(&self) -> &[u32] {
        &self.neighbours
    }

    /// The slot of each link in the other direction.
    #[inline(always)]
    pub(crate) fn reverse(&self) -> &[u32] {
        &self.reverse
    }

    /// A position's neighbours, ascending.
    #[inline(always)]
    pub(crate) fn neighbours(&self, at: u32) -> &[u32] {
        &self.neighbours[self.first[at as usize] as usize..self.first[at as usize + 1] as usize]
    }

    /// Whether the graph has no cycle (and is connected).
    pub(crate) fn is_tree(&self) -> bool {
        self.links() + 1 == u64::from(self.size()) && self.check_connected().is_ok()
    }
}

/// Any network, for the parts that are not built for speed.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Network {
    /// A ring of this many positions: port 0 leads clockwise, port 1 counter-clockwise. Alone, a node is its own
    /// neighbour.
    Ring(u32),
    /// The same, and an informer outside it at the position after the last, reached by the map only.
    InformedRing(u32),
    /// A complete network of this many positions: port p of position i leads to position p, or p+1 from i on.
    Complete(u32),
    /// A graph.
    Graph(Graph),
}

impl Neighbours for Network {
    fn each(&self, at: u32, call: &mut dyn FnMut(u32)) {
        (0..self.degree(at)).for_each(|port| call(self.peer(at, Port(port)).0));
    }
}

impl Network {
    /// How many positions, an informer outside included.
    pub fn size(&self) -> u32 {
        match self {
            Network::Ring(size) | Network::Complete(size) => *size,
            Network::InformedRing(size) => size + 1,
            Network::Graph(graph) => graph.size(),
        }
    }

    /// How many positions take part in the election: all but an informer outside.
    pub fn members(&self) -> u32 {
        match self {
            Network::InformedRing(size) => *size,
            _ => self.size(),
        }
    }

    /// Whether members are on a ring.
    pub fn is_ring(&self) -> bool {
        matches!(self, Network::Ring(_) | Network::InformedRing(_))
    }

    /// How many undirected links (a ring of two has one, a ring of one none).
    pub fn links(&self) -> u64 {
        match self {
            Network::Ring(size) | Network::InformedRing(size) => match u64::from(*size) {
                0 | 1 => 0,
                2 => 1,
                n => n,
            },
            Network::Complete(size) => u64::from(*size) * u64::from(size.saturating_sub(1)) / 2,
            Network::Graph(graph) => graph.links(),
        }
    }

    /// How many ports a position has.
    pub fn degree(&self, at: u32) -> u32 {
        match self {
            Network::Ring(_) => 2,
            Network::InformedRing(size) => {
                if at < *size {
                    2
                } else {
                    0
                }
            }
            Network::Complete(size) => size - 1,
            Network::Graph(graph) => graph.neighbours(at).len() as u32,
        }
    }

    /// Who is behind a port, and the port at which a message sent there comes in.
    pub fn peer(&self, at: u32, port: Port) -> (u32, Port) {
        match self {
            Network::Ring(size) | Network::InformedRing(size) => match port {
                Port::NEXT => ((at + 1) % size, Port::PREVIOUS),
                _ => ((at + size - 1) % size, Port::NEXT),
            },
            Network::Complete(_) => {
                let to = if port.0 < at { port.0 } else { port.0 + 1 };
                (to, Port(if at < to { at } else { at - 1 }))
            }
            Network::Graph(graph) => {
                let slot = graph.first[at as usize] + port.0;
                let to = graph.neighbours[slot as usize];
                (to, Port(graph.reverse[slot as usize] - graph.first[to as usize]))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_port_leads_there_and_back() {
        let graph =
            Graph::new(5, |link| [(3, 1), (0, 1), (1, 4), (4, 0)].iter().for_each(|&(a, b)| link(a, b))).unwrap();
        assert_eq!(graph.check_connected(), Err(BuildError::Disconnected { from: 0, to: 2 }));
        let networks = [Network::Ring(5), Network::Complete(5), Network::Graph(graph)];
        for network in &networks {
            for at in 0..5 {
                for port in (0..network.degree(at)).map(Port) {
                    let (peer, back) = network.peer(at, port);
                    assert_eq!(network.peer(peer, back), (at, port));
                }
            }
        }
    }

    #[test]
    fn what_is_no_graph_is_refused() {
        let graph =
            |links: &'static [(u32, u32)]| Graph::new(3, move |link| links.iter().for_each(|&(a, b)| link(a, b)));
        assert_eq!(graph(&[(1, 1)]), Err(BuildError::Loop { at: 1 }));
        assert_eq!(graph(&[(0, 3)]), Err(BuildError::Beyond { from: 0, to: 3, last: 2 }));
        assert_eq!(graph(&[(0, 1), (1, 0)]), Err(BuildError::Twice { from: 0, to: 1 }));
    }
}
