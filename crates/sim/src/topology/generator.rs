//! The contract of graph generators.

use std::ops::Range;

/// Yields the links of a graph, part by part: threads or machines can each build their own positions apart, from the
/// shape and the seed alone.
pub(crate) trait Generator: Send + Sync {
    /// The number of positions.
    fn size(&self) -> u32;

    /// Emits every link that belongs to the positions of `own`, each as `(from, to)` with `from` in `own` and `from`
    /// never falling. Over any partition of all positions into ranges, each link of the graph is emitted exactly once,
    /// in one direction.
    fn links(&self, own: Range<u32>, emit: &mut dyn FnMut(u32, u32));
}

/// Links held in a list, for the few graphs that have to be made in one place.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Listed {
    size: u32,
    links: Vec<(u32, u32)>,
}

impl Listed {
    pub(super) fn new(size: u32, mut links: Vec<(u32, u32)>) -> Self {
        for link in &mut links {
            *link = (link.0.min(link.1), link.0.max(link.1));
        }
        links.sort_unstable();
        Listed { size, links }
    }
}

impl Generator for Listed {
    fn size(&self) -> u32 {
        self.size
    }

    fn links(&self, own: Range<u32>, emit: &mut dyn FnMut(u32, u32)) {
        links_from(&self.links, own).iter().for_each(|&(from, to)| emit(from, to));
    }
}

/// The part of a sorted list whose first ends lie in a range.
pub(super) fn links_from(sorted: &[(u32, u32)], own: Range<u32>) -> &[(u32, u32)] {
    let start = sorted.partition_point(|link| link.0 < own.start);
    let end = sorted.partition_point(|link| link.0 < own.end);
    &sorted[start..end.max(start)]
}
