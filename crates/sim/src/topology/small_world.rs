//! `small-world:K,P`: a ring on which each node knows the K/2 nearest on either side, with some links led elsewhere.
//!
//! How: node x links forward to x+1 … x+K/2. The link to x+1 always stays. Each other one is, with probability P,
//! redirected to the node that a random permutation of its offset gives for x. A redirected link that would lead to x
//! itself or double another link is dropped; of two redirected ones between the same nodes that with the lower offset,
//! then the lower start, stays. Both ends can tell all this from the seed.
//!
//! Guarantee: simple, connected (the ring stays whole), nK/2 links less the few dropped: at most about P·K² of them,
//! whatever n is. Unlike Watts and Strogatz's, no node receives more than K/2 redirected links.

use std::ops::Range;

use super::{generator::Generator, permutation::Permutation};
use crate::rng::{Purpose, Stream, hash};

/// A small world in the making.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct SmallWorld {
    size: u32,
    rewire: f64,
    coins: u64,
    /// Where redirected links lead, for the offsets of at least 2.
    orders: Vec<Permutation>,
}

impl SmallWorld {
    /// `neighbours` is even and below `size`.
    pub(super) fn new(size: u32, neighbours: u32, rewire: f64, seed: u64) -> Self {
        let orders = (2..=neighbours / 2)
            .map(|offset| Permutation::new(size, Stream::new(seed, Purpose::Topology, offset.into())))
            .collect();
        let coins = Stream::new(seed, Purpose::Topology, 0).next_u64();
        SmallWorld { size, rewire, coins, orders }
    }

    /// Every offset whose links may be redirected.
    fn offsets(&self) -> Range<u32> {
        2..self.orders.len() as u32 + 2
    }

    /// Where the link of x with this offset is redirected to, if it is.
    fn redirected(&self, x: u32, offset: u32) -> Option<u32> {
        let coin = (hash(self.coins, x.into(), offset.into()) >> 11) as f64 / (1u64 << 53) as f64;
        (coin < self.rewire).then(|| self.orders[offset as usize - 2].apply(x))
    }

    /// Whether the link that was redirected from x to `to` is neither a loop nor a second one.
    fn stays(&self, x: u32, offset: u32, to: u32) -> bool {
        let ahead = if to >= x { to - x } else { to + (self.size - x) };
        let (start, gap) = if ahead <= self.size - ahead { (x, ahead) } else { (to, self.size - ahead) };
        if gap < 2 || self.offsets().contains(&gap) && self.redirected(start, gap).is_none() {
            return false;
        }
        (2..offset).all(|lower| self.redirected(x, lower) != Some(to) && self.redirected(to, lower) != Some(x))
            && (x < to || self.redirected(to, offset) != Some(x))
    }
}

impl Generator for SmallWorld {
    fn size(&self) -> u32 {
        self.size
    }

    fn links(&self, own: Range<u32>, emit: &mut dyn FnMut(u32, u32)) {
        let onward = |x: u32, offset: u32| if self.size - x > offset { x + offset } else { offset - (self.size - x) };
        for x in own {
            emit(x, onward(x, 1));
            for offset in self.offsets() {
                match self.redirected(x, offset) {
                    None => emit(x, onward(x, offset)),
                    Some(to) if self.stays(x, offset, to) => emit(x, to),
                    Some(_) => {}
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn links(size: u32, neighbours: u32, rewire: f64) -> Vec<(u32, u32)> {
        let mut links = Vec::new();
        SmallWorld::new(size, neighbours, rewire, 5).links(0..size, &mut |from, to| links.push((from, to)));
        links
    }

    #[test]
    fn without_chance_it_is_a_lattice() {
        assert_eq!(links(5, 4, 0.0), (0..5).flat_map(|x| [(x, (x + 1) % 5), (x, (x + 2) % 5)]).collect::<Vec<_>>());
    }

    #[test]
    fn so_many_links_are_led_elsewhere() {
        let far = |rewire| {
            links(10_000, 6, rewire).iter().filter(|(x, to)| (to + 10_000 - x) % 10_000 > 3).count() as f64 / 20_000.0
        };
        assert!(far(0.0) == 0.0);
        // The standard deviation is at most 0.0035; a few links are dropped.
        assert!((far(0.3) - 0.3).abs() < 0.02, "{}", far(0.3));
        assert!(far(1.0) > 0.99, "{}", far(1.0));
    }

    #[test]
    fn few_links_are_dropped() {
        for rewire in [0.1, 0.5, 1.0] {
            let dropped = 40_000 - links(10_000, 8, rewire).len();
            assert!(dropped <= 64, "{dropped} dropped at {rewire}");
        }
    }
}
