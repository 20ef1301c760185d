//! From a topology and a size to a network.

use super::{
    BuildError, Generator, Graph, MAX_LINKS, Network, Topology, file,
    fixed::Fixed,
    generator::Listed,
    geometric::Geometric,
    random::{self, RandomGraph},
    scale_free::ScaleFree,
    small_world::SmallWorld,
};

impl Topology {
    /// The number of nodes that the topology itself dictates.
    pub fn size(&self) -> Option<u64> {
        match *self {
            Topology::Grid(rows, columns) | Topology::Torus(rows, columns) => {
                Some(u64::from(rows) * u64::from(columns))
            }
            Topology::Hypercube(dimension) => 1u64.checked_shl(dimension),
            Topology::Links(ref links) => links.iter().map(|&(_, to)| u64::from(to) + 1).max(),
            _ => None,
        }
    }

    /// The network of this topology with `size` nodes. The seed decides random topologies.
    pub fn build(&self, size: u32, seed: u64) -> Result<Network, BuildError> {
        self.build_in(Some(size), seed)
    }

    /// The network in the size that the topology dictates; that of a file is its greatest position + 1. Fails for
    /// topologies that come in any size.
    pub(crate) fn build_in_own_size(&self, seed: u64) -> Result<Network, BuildError> {
        self.build_in(None, seed)
    }

    fn build_in(&self, size: Option<u32>, seed: u64) -> Result<Network, BuildError> {
        match (self, size) {
            (Topology::Ring, Some(size @ 1..)) => return Ok(Network::Ring(size)),
            (Topology::Complete, Some(size @ 1..)) => return Ok(Network::Complete(size)),
            (&Topology::Random { min, max }, Some(size @ 1..)) if min <= max && random::is_complete(size, min) => {
                self.check(&self.to_string())?;
                return Ok(Network::Complete(size));
            }
            _ => {}
        }
        let graph = Graph::generate(&*self.generator(size, seed)?)?;
        if let Topology::Links(_) = self {
            graph.check_connected()?;
        }
        Ok(Network::Graph(graph))
    }

    /// What yields the links of this topology, range by range; without a size, in the topology's own.
    pub(crate) fn generator(&self, size: Option<u32>, seed: u64) -> Result<Box<dyn Generator>, BuildError> {
        self.check(&self.to_string())?;
        if size == Some(0) {
            return Err(BuildError::NoNodes);
        }
        if let Topology::File(path) = self {
            return Ok(Box::new(file::read(path, size)?));
        }
        let size = match (size, self.size()) {
            (Some(size), Some(allowed)) if u64::from(size) != allowed => {
                return Err(BuildError::OtherSize { topology: self.to_string(), size: size.into(), allowed });
            }
            (Some(size), _) => size,
            (None, Some(own)) => u32::try_from(own).expect("a checked topology has a size of 32 bits"),
            (None, None) => return Err(BuildError::NoSize { topology: self.to_string() }),
        };
        self.check_size(size)?;
        Ok(match *self {
            Topology::Ring => Box::new(Fixed::Ring(size)),
            Topology::Complete => Box::new(Fixed::Complete(size)),
            Topology::Line => Box::new(Fixed::Line(size)),
            Topology::Star => Box::new(Fixed::Star(size)),
            Topology::Tree(children) => Box::new(Fixed::Tree { size, children }),
            Topology::Grid(rows, columns) => Box::new(Fixed::Grid { rows, columns }),
            Topology::Torus(rows, columns) => Box::new(Fixed::Torus { rows, columns }),
            Topology::Hypercube(dimension) => Box::new(Fixed::Hypercube { dimension }),
            Topology::Random { min, max } => Box::new(RandomGraph::new(size, min, max, seed)),
            Topology::SmallWorld { neighbours, rewire } => Box::new(SmallWorld::new(size, neighbours, rewire, seed)),
            Topology::ScaleFree(links) => Box::new(ScaleFree::new(size, links, seed)),
            Topology::Geometric(radius) => Box::new(Geometric::new(size, radius, seed)),
            Topology::Links(ref links) => Box::new(Listed::new(size, links.clone())),
            Topology::File(_) => unreachable!("a file was read above"),
        })
    }

    /// Fails if a topology whose own numbers are right does not exist in this size.
    fn check_size(&self, size: u32) -> Result<(), BuildError> {
        let impossible = |problem: &'static str, nearest: String| {
            Err(BuildError::Impossible { topology: self.to_string(), size, problem, nearest })
        };
        match *self {
            Topology::SmallWorld { neighbours, rewire } if neighbours >= size => {
                let mut nearest = format!("{} nodes", u64::from(neighbours) + 1);
                if size >= 3 {
                    let fewer = Topology::SmallWorld { neighbours: (size - 1) & !1, rewire };
                    nearest = format!("`{fewer}`, or {nearest}");
                }
                impossible("a node has fewer than K others around it", nearest)
            }
            Topology::ScaleFree(links) if links >= size => {
                let mut nearest = format!("{} nodes", u64::from(links) + 1);
                if size >= 2 {
                    nearest = format!("`{}`, or {nearest}", Topology::ScaleFree(size - 1));
                }
                impossible("a node has fewer than M others to link to", nearest)
            }
            Topology::Random { min, max } if !RandomGraph::exists(size, min, max) => {
                if max < 2 {
                    let nearest = format!("`{}`, or 2 nodes", Topology::Random { min, max: 2 });
                    return impossible("with one link each only two nodes are connected", nearest);
                }
                let wider = Topology::Random { min, max: max.saturating_add(1) };
                let nearest = format!("`{wider}`, or {} or {} nodes", size - 1, u64::from(size) + 1);
                impossible("an odd number of nodes cannot all have the same odd number of links", nearest)
            }
            _ => self.check_links(size),
        }
    }

    /// Fails if there would be more links than can be numbered.
    fn check_links(&self, size: u32) -> Result<(), BuildError> {
        let links = self.expected_links(size);
        if links <= MAX_LINKS {
            return Ok(());
        }
        let (mut fits, mut too_many) = (1, size);
        while too_many - fits > 1 {
            let middle = fits + (too_many - fits) / 2;
            if self.expected_links(middle) <= MAX_LINKS { fits = middle } else { too_many = middle }
        }
        let topology = self.to_string();
        Err(BuildError::TooManyLinks { topology, size, links, max: MAX_LINKS, nearest: fits })
    }

    /// About how many links there will be.
    fn expected_links(&self, size: u32) -> u64 {
        let (nodes, others) = (u64::from(size), u64::from(size.saturating_sub(1)));
        let per_node = |twice: u64| (u128::from(nodes) * u128::from(twice.min(2 * others)) / 2) as u64;
        match *self {
            Topology::Ring | Topology::Line | Topology::Star | Topology::Tree(_) | Topology::File(_) => nodes,
            Topology::Links(ref links) => links.len() as u64,
            Topology::Complete => per_node(others),
            Topology::Grid(..) | Topology::Torus(..) => 2 * nodes,
            Topology::Hypercube(dimension) => per_node(dimension.into()),
            Topology::Random { min, max } => {
                per_node((u64::from(min).min(others) + u64::from(max).min(others)).div_ceil(2))
            }
            Topology::SmallWorld { neighbours, .. } => per_node(neighbours.into()),
            Topology::ScaleFree(links) => per_node(2 * u64::from(links)),
            Topology::Geometric(radius) => {
                let within = (std::f64::consts::PI * radius * radius).min(1.0);
                per_node((others as f64 * within) as u64 + 2)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refused(topology: &str, size: u32) -> String {
        topology.parse::<Topology>().unwrap().build(size, 0).unwrap_err().to_string()
    }

    #[test]
    fn impossible_sizes_are_refused_with_the_nearest() {
        for (topology, size, message) in [
            ("ring", 0, "a network needs nodes: at least 1, not 0"),
            ("random:1-2", 0, "a network needs nodes: at least 1, not 0"),
            ("grid:3x4", 10, "topology `grid:3x4` has 12 nodes, not 10"),
            ("torus:3x4", 10, "topology `torus:3x4` has 12 nodes, not 10"),
            ("hypercube:3", 10, "topology `hypercube:3` has 8 nodes, not 10"),
        ] {
            assert_eq!(refused(topology, size), message);
        }
        for (topology, size, end) in [
            ("random:3-3", 7, "nearest: `random:3-4`, or 6 or 8 nodes"),
            ("random:1-1", 3, "nearest: `random:1-2`, or 2 nodes"),
            ("small-world:4,0.5", 4, "nearest: `small-world:2,0.5`, or 5 nodes"),
            ("small-world:4,0.5", 2, "nearest: 5 nodes"),
            ("scale-free:5", 5, "nearest: `scale-free:4`, or 6 nodes"),
            ("scale-free:5", 1, "nearest: 6 nodes"),
            ("geometric:1", 100_000, "at most 2147483647 are possible, with 65535 nodes"),
            ("random:1000-1000", 10_000_000, "at most 2147483647 are possible, with 4294967 nodes"),
        ] {
            assert!(refused(topology, size).ends_with(end), "{}", refused(topology, size));
        }
    }

    #[test]
    fn shapes_that_were_not_read_are_checked_too() {
        for topology in [
            Topology::Tree(0),
            Topology::Random { min: 3, max: 0 },
            Topology::Geometric(f64::NAN),
            Topology::Grid(0, 5),
        ] {
            assert!(matches!(topology.build(5, 0), Err(BuildError::Topology(_))), "{topology}");
        }
        assert_eq!(Topology::Hypercube(99).size(), None);
        assert!(matches!(Topology::Hypercube(99).build(5, 0), Err(BuildError::Topology(_))));
    }

    #[test]
    fn some_shapes_know_their_size() {
        assert_eq!(Topology::Torus(3, 4).build_in_own_size(0).unwrap().size(), 12);
        assert_eq!(Topology::Hypercube(5).build_in_own_size(0).unwrap().size(), 32);
        let error = Topology::Line.build_in_own_size(0).unwrap_err().to_string();
        assert_eq!(error, "topology `line` comes in any size: the number of nodes must be given");
    }

    #[test]
    fn networks_that_need_no_memory_take_none() {
        assert_eq!(Topology::Ring.build(1, 0), Ok(Network::Ring(1)));
        assert_eq!(Topology::Complete.build(9, 0), Ok(Network::Complete(9)));
        assert_eq!(Topology::Random { min: 5, max: 10 }.build(6, 0), Ok(Network::Complete(6)));
        assert!(matches!(Topology::Random { min: 5, max: 10 }.build(7, 0), Ok(Network::Graph(_))));
    }
}
