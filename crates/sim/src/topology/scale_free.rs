//! `scale-free:M`: Barabási and Albert's growing graph: newcomers link to M nodes, likelier to those with many links.
//!
//! How: the first M+1 nodes all know each other. Each later node draws M targets from the list of all ends of links
//! before it: a random end is a random node weighted by its links. The list is never stored. Drawing an end that is
//! itself some node's target leads to the draw that decided it, and so on back, two steps on average, so that a node's
//! targets follow from the seed and its number alone. A target that the node has already is drawn again with the next
//! attempt number; the way back follows first attempts, a deviation that fades as 1/n.
//!
//! Guarantee: simple, connected, every degree at least M, exactly M(M+1)/2 + M(n-M-1) links; the degrees fall off as a
//! power law with exponent 3.

use std::ops::Range;

use super::generator::Generator;
use crate::rng::{Purpose, Stream, hash};

/// After so many draws that all hit known targets, the next free node is taken.
const MAX_ATTEMPTS: u64 = 1_000;

/// A growing graph in the making.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct ScaleFree {
    size: u32,
    links: u32,
    key: u64,
}

impl ScaleFree {
    /// `links` is from 1 to `size` - 1.
    pub(super) fn new(size: u32, links: u32, seed: u64) -> Self {
        ScaleFree { size, links, key: Stream::new(seed, Purpose::Topology, 0).next_u64() }
    }

    /// How many ends of links the founders have.
    fn founders_ends(&self) -> u64 {
        u64::from(self.links) * (u64::from(self.links) + 1)
    }

    /// A random end among those before the given newcomer's.
    fn draw(&self, newcomer: u64, which: u64, attempt: u64) -> u64 {
        let links = u64::from(self.links);
        let ends = self.founders_ends() + 2 * links * (newcomer - links - 1);
        ((u128::from(hash(self.key, newcomer * links + which, attempt)) * u128::from(ends)) >> 64) as u64
    }

    /// The node that a newcomer's draw leads to.
    fn target(&self, newcomer: u32, which: u32, attempt: u64) -> u32 {
        let links = u64::from(self.links);
        let mut end = self.draw(newcomer.into(), which.into(), attempt);
        loop {
            // Each founder has M ends, one after the other; then the two ends of each newcomer's links alternate.
            if end < self.founders_ends() {
                return (end / links) as u32;
            }
            let link = (end - self.founders_ends()) / 2;
            let owner = links + 1 + link / links;
            if (end - self.founders_ends()).is_multiple_of(2) {
                return owner as u32;
            }
            end = self.draw(owner, link % links, 0);
        }
    }

    /// All targets of a newcomer.
    fn targets(&self, newcomer: u32, targets: &mut Vec<u32>) {
        targets.clear();
        for which in 0..self.links {
            let drawn = (0..MAX_ATTEMPTS).map(|attempt| self.target(newcomer, which, attempt));
            let free = drawn.chain(0..newcomer).find_map(|target| match targets.binary_search(&target) {
                Ok(_) => None,
                Err(place) => Some((place, target)),
            });
            let (place, target) = free.expect("a newcomer has more nodes before it than targets");
            targets.insert(place, target);
        }
    }
}

impl Generator for ScaleFree {
    fn size(&self) -> u32 {
        self.size
    }

    fn links(&self, own: Range<u32>, emit: &mut dyn FnMut(u32, u32)) {
        let mut targets = Vec::with_capacity(self.links as usize);
        for at in own {
            if at <= self.links {
                (0..at).for_each(|to| emit(at, to));
            } else {
                self.targets(at, &mut targets);
                targets.iter().for_each(|&to| emit(at, to));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn degrees(size: u32, links: u32) -> Vec<u32> {
        let mut degrees = vec![0; size as usize];
        ScaleFree::new(size, links, 1).links(0..size, &mut |from, to| {
            degrees[from as usize] += 1;
            degrees[to as usize] += 1;
        });
        degrees
    }

    #[test]
    fn everybody_has_so_many_links_and_the_old_many() {
        let degrees = degrees(20_000, 3);
        assert!(degrees.iter().all(|&degree| degree >= 3));
        assert_eq!(degrees.iter().sum::<u32>(), 2 * (6 + 3 * (20_000 - 4)));
        assert!(degrees[..4].iter().max() > Some(&100), "{:?}", &degrees[..4]);
    }

    #[test]
    fn degrees_follow_the_power_law() {
        // Bollobás and others: the share of nodes with k links goes to 2M(M+1) / (k(k+1)(k+2)).
        let (size, links) = (50_000, 2);
        let degrees = degrees(size, links);
        for k in 2..8u32 {
            let share = degrees.iter().filter(|&&degree| degree == k).count() as f64 / f64::from(size);
            let law = f64::from(2 * links * (links + 1)) / f64::from(k * (k + 1) * (k + 2));
            assert!((share - law).abs() < 0.01, "{k}: {share} instead of {law}");
        }
    }

    #[test]
    fn the_narrowest_sizes_end() {
        for links in 1..40 {
            for size in links + 1..links + 4 {
                degrees(size, links);
            }
        }
    }
}
