//! Random graphs of many nodes, made range by range.
//!
//! How: MAX/2 random permutations each put all nodes in a ring, a *layer*; for an odd MAX one more layer has only every
//! second link of its ring. A permutation can be asked both ways without memory, so a node knows its links in each
//! layer from the seed alone. Together everybody has MAX links.
//!
//! A few links come up in two layers, about MAX²/4 in all, however many nodes there are. A scan finds them. Each is
//! switched with a random link of its layer: u–v and x–y become x–u and y–v, which keeps the degrees. These exceptions
//! are the only thing that the whole graph has to know; ranges can be scanned apart ([`Layers::doubles`]) and the finds
//! put together ([`Layers::repaired`]).
//!
//! Then it is thinned out. Layer 0 stays whole: it connects the graph. MAX-MIN is dealt out to the other layers, 2 to
//! those in which any link may drop, 1 to one where only every second may, so that no node can lose more. Every node
//! has a random number from 0 to 1, and a link that may drop does so if the sum over its two ends exceeds 1. A node
//! with number b so loses each of its MAX-MIN links with probability b, and as b is even over 0..1, its degree is even
//! over MIN..=MAX.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::rng::{Purpose, Stream, hash};
use crate::topology::{
    generator::{Generator, links_from},
    permutation::Permutation,
};

/// How many random partners are tried for a switch before all are.
const TRIES: u32 = 256;

/// Fewer nodes than this are not worth a thread.
const MIN_SHARE: u32 = 1 << 16;

/// All layers, and what differs from them.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(in crate::topology) struct Layers {
    size: u32,
    seed: u64,
    /// Decides the nodes' numbers.
    greed: u64,
    layers: Vec<Layer>,
    /// Links that were switched away: the node they start from, and the layer. Ascending.
    removed: Vec<(u32, u32)>,
    /// Links that came instead; ascending.
    added: Vec<(u32, u32)>,
}

/// All nodes in a ring, in random order.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Layer {
    size: u32,
    order: Permutation,
    /// Whether only every second link is there.
    half: bool,
    /// How many links of a node may drop.
    droppable: u32,
}

impl Layer {
    /// The start of a pair of places, if pairs are dealt out from the first place on.
    fn starts_pair(&self, place: u32) -> bool {
        place.is_multiple_of(2) && place + 1 < self.size
    }

    /// Who follows the node at this place, if anybody is linked there.
    #[inline]
    fn after(&self, place: u32) -> Option<u32> {
        if self.half && !self.starts_pair(place) {
            return None;
        }
        Some(self.order.apply(if place + 1 < self.size { place + 1 } else { 0 }))
    }

    /// Who precedes the node at this place, if anybody is linked there.
    #[inline]
    fn before(&self, place: u32) -> Option<u32> {
        if self.half && place.is_multiple_of(2) {
            return None;
        }
        Some(self.order.apply(if place > 0 { place - 1 } else { self.size - 1 }))
    }

    /// Whether the link after this place may drop.
    fn may_drop(&self, place: u32) -> bool {
        match self.droppable {
            0 => false,
            1 => self.starts_pair(place),
            _ => true,
        }
    }
}

impl Layers {
    /// A graph with all degrees from `min` to `max`; 2 ≤ min ≤ max, at least 8(max+1) nodes, size·min even if min =
    /// max.
    pub(super) fn new(size: u32, min: u32, max: u32, seed: u64) -> Self {
        // A switch finds no partner only if doubles are far more than can be expected. Then other permutations will do.
        (0..)
            .find_map(|attempt| {
                let unrepaired = Layers::unrepaired(size, min, max, hash(seed, Purpose::Topology as u64, attempt));
                let doubles = unrepaired.all_doubles();
                unrepaired.repaired(doubles)
            })
            .expect("the attempts do not end")
    }

    /// The layers before any switch.
    fn unrepaired(size: u32, min: u32, max: u32, seed: u64) -> Self {
        let half = max % 2;
        let full = max / 2;
        let mut left = max - min;
        // The half layer comes first: with an odd number of nodes one has no link there, which must count as dropped.
        let mut layers: Vec<Layer> = (0..full + half)
            .rev()
            .map(|number| {
                let most = if number == 0 { 0 } else { 2 - u32::from(number == full) };
                let droppable = left.min(most);
                left -= droppable;
                let order = Permutation::new(size, Stream::new(seed, Purpose::Topology, number.into()));
                Layer { size, order, half: number == full, droppable }
            })
            .collect();
        layers.reverse();
        let greed = Stream::new(seed, Purpose::Topology, u64::MAX).next_u64();
        Layers { size, seed, greed, layers, removed: Vec::new(), added: Vec::new() }
    }

    /// The doubles of all nodes, each processor looking through a range of its own.
    fn all_doubles(&self) -> Vec<(u32, u32)> {
        let threads =
            std::thread::available_parallelism().map_or(1, |threads| u32::try_from(threads.get()).unwrap_or(1));
        let share = self.size.div_ceil(threads).max(MIN_SHARE);
        let ranges =
            (0..self.size).step_by(share as usize).map(|start| start..self.size.min(start.saturating_add(share)));
        std::thread::scope(|scope| {
            let workers: Vec<_> = ranges.map(|own| scope.spawn(|| self.doubles(own))).collect();
            let joined = workers.into_iter().map(|worker| worker.join());
            joined.flat_map(|found| found.unwrap_or_else(|panic| std::panic::resume_unwind(panic))).collect()
        })
    }

    /// The links of a range that are also in a lower layer: the nodes they start from, and their layers.
    fn doubles(&self, own: Range<u32>) -> Vec<(u32, u32)> {
        let mut found = Vec::new();
        // Neighbour, layer, and whether the link starts here, in one number: sorted, doubles are next to each other.
        let mut links: Vec<u64> = Vec::with_capacity(2 * self.layers.len());
        for at in own {
            links.clear();
            for (number, layer) in (0u64..).zip(&self.layers) {
                let place = layer.order.invert(at);
                links.extend(layer.before(place).map(|to| u64::from(to) << 32 | number << 1));
                links.extend(layer.after(place).map(|to| u64::from(to) << 32 | number << 1 | 1));
            }
            // Most nodes have no doubles, and most of those can be told without sorting.
            let mut seen = [0u64; 16];
            let mut suspicious = false;
            for link in &links {
                let (word, bit) = ((link >> 38) % 16, (link >> 32) % 64);
                suspicious |= seen[word as usize] >> bit & 1 == 1;
                seen[word as usize] |= 1 << bit;
            }
            if !suspicious {
                continue;
            }
            links.sort_unstable();
            for pair in links.windows(2) {
                if pair[0] >> 32 == pair[1] >> 32 && pair[1] & 1 == 1 {
                    found.push((at, pair[1] as u32 >> 1));
                }
            }
        }
        found
    }

    /// The graph with all doubles switched away, or nothing if that is impossible.
    fn repaired(mut self, doubles: Vec<(u32, u32)>) -> Option<Self> {
        let mut repair = Repair {
            layers: &self.layers,
            removed: BTreeSet::new(),
            added: BTreeSet::new(),
            stream: Stream::new(self.seed, Purpose::Topology, u64::MAX - 1),
        };
        for (at, number) in doubles {
            // It may have gone already, as another one's partner.
            if !repair.removed.contains(&(at, number)) && !repair.switch(at, number) {
                return None;
            }
        }
        self.removed = repair.removed.iter().copied().collect();
        self.added = repair.added.iter().copied().collect();
        Some(self)
    }

    /// A node's number, as a share of 2³².
    #[inline]
    fn number(&self, at: u32) -> u64 {
        hash(self.greed, at.into(), 0) >> 32
    }
}

impl Generator for Layers {
    fn size(&self) -> u32 {
        self.size
    }

    fn links(&self, own: Range<u32>, emit: &mut dyn FnMut(u32, u32)) {
        let mut removed = links_from(&self.removed, own.clone());
        let mut added = links_from(&self.added, own.clone());
        for at in own {
            let own_number = self.number(at);
            for (number, layer) in (0u32..).zip(&self.layers) {
                let place = layer.order.invert(at);
                let Some(to) = layer.after(place) else { continue };
                if removed.first() == Some(&(at, number)) {
                    removed = &removed[1..];
                } else if !layer.may_drop(place) || own_number + self.number(to) < 1 << 32 {
                    emit(at, to);
                }
            }
            while let Some(&(from, to)) = added.first()
                && from == at
            {
                emit(from, to);
                added = &added[1..];
            }
        }
    }
}

/// The switches that make a simple graph of layers that overlap.
struct Repair<'a> {
    layers: &'a [Layer],
    removed: BTreeSet<(u32, u32)>,
    added: BTreeSet<(u32, u32)>,
    stream: Stream,
}

impl Repair<'_> {
    /// Switches the link that starts at a node with some other link of its layer; false if there is none.
    fn switch(&mut self, from: u32, number: u32) -> bool {
        let layer = &self.layers[number as usize];
        let Some(to) = layer.after(layer.order.invert(from)) else { return false };
        for _ in 0..TRIES {
            let place = self.stream.below(layer.size.into()) as u32;
            if self.switch_with(from, to, number, place) {
                return true;
            }
        }
        (0..layer.size).any(|place| self.switch_with(from, to, number, place))
    }

    /// Does it, if the link after this place will do.
    fn switch_with(&mut self, from: u32, to: u32, number: u32, place: u32) -> bool {
        let layer = &self.layers[number as usize];
        let Some(other_to) = layer.after(place) else { return false };
        let other_from = layer.order.apply(place);
        let known = [from, to].contains(&other_from) || [from, to].contains(&other_to);
        if known
            || self.removed.contains(&(other_from, number))
            || self.linked(other_from, from)
            || self.linked(other_to, to)
        {
            return false;
        }
        self.removed.extend([(from, number), (other_from, number)]);
        let ascending = |a: u32, b: u32| (a.min(b), a.max(b));
        self.added.extend([ascending(other_from, from), ascending(other_to, to)]);
        true
    }

    /// Whether two nodes are linked as things stand.
    fn linked(&self, a: u32, b: u32) -> bool {
        self.added.contains(&(a.min(b), a.max(b)))
            || (0u32..).zip(self.layers).any(|(number, layer)| {
                let leads = |from, to| {
                    layer.after(layer.order.invert(from)) == Some(to) && !self.removed.contains(&(from, number))
                };
                leads(a, b) || leads(b, a)
            })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_links_come_up_twice_and_ranges_find_them_apart() {
        for size in [1_000, 30_000] {
            let layers = Layers::unrepaired(size, 10, 10, 3);
            let doubles = layers.doubles(0..size);
            // About 20 are expected.
            assert!((5..45).contains(&doubles.len()), "{doubles:?}");
            let apart = [0..size / 3, size / 3..size / 2, size / 2..size].map(|own| layers.doubles(own));
            assert_eq!(apart.concat(), doubles);
            let repaired = layers.repaired(doubles).expect("partners are plenty");
            assert_eq!(repaired.removed.len(), repaired.added.len());
        }
    }
}
