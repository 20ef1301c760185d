//! `random:MIN-MAX`: a random connected graph in which every node has from MIN to MAX links.
//!
//! How, for n nodes (MAX counts as n-1 where it is more):
//! - n-1 ≤ MIN: everybody knows everybody, the most that n allows.
//! - MIN = 1, MAX ≥ 3: every MAX-th position is a leaf on the one before it; the others form a `random:2-(MAX-1)`.
//! - few nodes (below 64 or 8(MAX+1)): gathered in one place, see [`gather`].
//! - many nodes: random Hamiltonian cycles laid over each other and thinned out, see [`layers`].
//!
//! Guarantee: simple, connected, every degree within the bounds. Degrees are spread over all of MIN..=MAX, evenly for
//! many nodes from MIN = 2 on, so that their mean is in the middle. Regular graphs (MIN = MAX) exist if n·MIN is even;
//! 1-2 is a ring.

use std::ops::Range;

use self::layers::Layers;
use super::{
    fixed::Fixed,
    generator::{Generator, Listed},
};

pub(super) mod gather;
pub(super) mod layers;

/// A random graph in the making.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) enum RandomGraph {
    /// There are so few nodes that all are linked.
    Complete(Fixed),
    /// A core with leaves on it.
    Leaves {
        /// How many nodes, core and leaves.
        size: u32,
        /// Every so many-th position is a leaf.
        every: u32,
        /// The rest.
        core: Box<RandomGraph>,
    },
    /// Gathered in one place.
    Gathered(Listed),
    /// Made range by range.
    Layered(Layers),
}

impl RandomGraph {
    /// Whether such a graph exists; `min` is from 1 to `max`.
    pub(super) fn exists(size: u32, min: u32, max: u32) -> bool {
        is_complete(size, min) || max >= 2 && (min < max || u64::from(size) * u64::from(min) % 2 == 0)
    }

    /// Makes ready for a graph that exists.
    pub(super) fn new(size: u32, min: u32, max: u32, seed: u64) -> Self {
        if is_complete(size, min) {
            return RandomGraph::Complete(Fixed::Complete(size));
        }
        let max = max.min(size - 1);
        if min == 1 && max >= 3 {
            let core = RandomGraph::new(size - size / max, 2, max - 1, seed);
            return RandomGraph::Leaves { size, every: max, core: Box::new(core) };
        }
        let min = min.max(2);
        if size < 64 || u64::from(size) < 8 * (u64::from(max) + 1) {
            RandomGraph::Gathered(gather::gather(size, min, max, seed))
        } else {
            RandomGraph::Layered(Layers::new(size, min, max, seed))
        }
    }
}

/// Whether so few nodes have to be linked with each other all.
pub(super) fn is_complete(size: u32, min: u32) -> bool {
    size.saturating_sub(1) <= min
}

impl Generator for RandomGraph {
    fn size(&self) -> u32 {
        match self {
            RandomGraph::Complete(complete) => complete.size(),
            RandomGraph::Leaves { size, .. } => *size,
            RandomGraph::Gathered(list) => list.size(),
            RandomGraph::Layered(layers) => layers.size(),
        }
    }

    fn links(&self, own: Range<u32>, emit: &mut dyn FnMut(u32, u32)) {
        match self {
            RandomGraph::Complete(complete) => complete.links(own, emit),
            RandomGraph::Gathered(list) => list.links(own, emit),
            RandomGraph::Layered(layers) => layers.links(own, emit),
            RandomGraph::Leaves { every, core, .. } => {
                // Between two leaves lie every-1 nodes of the core.
                let outside = |inner: u32| inner + inner / (every - 1);
                let inside = |outer: u32| outer - outer / every;
                let mut leaf = own.start + (every - 1 - own.start % every);
                let mut leaves_below = |at: u32, emit: &mut dyn FnMut(u32, u32)| {
                    while leaf < at {
                        emit(leaf, leaf - 1);
                        leaf += every;
                    }
                };
                core.links(inside(own.start)..inside(own.end), &mut |from, to| {
                    leaves_below(outside(from), emit);
                    emit(outside(from), outside(to));
                });
                leaves_below(own.end, emit);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::topology::Graph;
    use proptest::prelude::*;

    fn graph(size: u32, min: u32, max: u32, seed: u64) -> Graph {
        let made = RandomGraph::new(size, min, max, seed);
        Graph::new(size, |emit| made.links(0..size, emit)).expect("a simple graph")
    }

    fn degrees(graph: &Graph) -> Vec<u32> {
        (0..graph.size()).map(|at| graph.neighbours(at).len() as u32).collect()
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 400, failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn degrees_are_within_the_bounds(size in 1u32..400, min in 1u32..13, more in 0u32..12, seed: u64) {
            let max = min + more;
            prop_assume!(RandomGraph::exists(size, min, max));
            let graph = graph(size, min, max, seed);
            graph.check_connected().unwrap();
            for degree in degrees(&graph) {
                prop_assert!(degree >= min.min(size - 1) && degree <= max, "{degree}");
            }
        }

        #[test]
        fn regular_graphs_are_regular(half in 2u32..500, degree in 2u32..20, seed: u64) {
            let size = 2 * half;
            let graph = graph(size, degree, degree, seed);
            graph.check_connected().unwrap();
            prop_assert!(degrees(&graph).iter().all(|&found| found == degree.min(size - 1)));
        }
    }

    #[test]
    fn degrees_are_spread_evenly() {
        for (min, max) in [(5, 10), (2, 3), (1, 3), (4, 9), (3, 4), (2, 20), (7, 8)] {
            let degrees = degrees(&graph(20_001, min, max, 9));
            let share = 20_001.0 / f64::from(max - min + 1);
            for degree in min..=max {
                let count = degrees.iter().filter(|&&found| found == degree).count() as f64;
                assert!(
                    (count / share - 1.0).abs() < 0.25,
                    "{min}-{max}: {count} nodes have {degree} links, not {share}"
                );
            }
        }
    }

    #[test]
    fn leaves_are_as_many_as_others() {
        let degrees = degrees(&graph(20_001, 1, 6, 9));
        let counts: Vec<usize> =
            (1..=6).map(|degree| degrees.iter().filter(|&&found| found == degree).count()).collect();
        assert_eq!(counts[0], 20_001 / 6);
        assert!(counts.iter().all(|&count| count > 500), "{counts:?}");
        let mean = f64::from(degrees.iter().sum::<u32>()) / 20_001.0;
        assert!((mean - 3.5).abs() < 0.3, "{mean}");
    }

    #[test]
    fn degrees_of_few_nodes_vary_too() {
        for (size, min, max) in [(40, 5, 10), (60, 2, 6), (30, 4, 20), (63, 1, 5)] {
            let degrees = degrees(&graph(size, min, max, 4));
            let mean = f64::from(degrees.iter().sum::<u32>()) / f64::from(size);
            let middle = f64::from(min + max) / 2.0;
            assert!((mean / middle - 1.0).abs() < 0.2, "{size} nodes, {min}-{max}: mean {mean}");
            assert!(degrees.contains(&min) && degrees.iter().any(|&degree| degree + 1 >= max), "{degrees:?}");
        }
    }
}
