//! A small random number generator, pinned so that a seed always means the same.

use hustings_protocol::SplitMix64;

/// A stream of pseudorandom numbers (SplitMix64).
#[derive(Clone, Debug)]
pub(crate) struct Rng(SplitMix64);

impl Rng {
    /// The stream of a seed.
    pub(crate) fn new(seed: u64) -> Self {
        Rng(SplitMix64::new(seed))
    }

    /// The stream of a seed and a purpose. Streams of different purposes are independent.
    pub(crate) fn for_purpose(seed: u64, purpose: u64) -> Self {
        let mut rng = Rng::new(seed ^ purpose.wrapping_mul(0xd6e8_feb8_6659_fd93));
        rng.next();
        rng
    }

    /// The next number.
    pub(crate) fn next(&mut self) -> u64 {
        self.0.next_u64()
    }

    /// A number below `end`; 0 if `end` is 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        self.0.below(end)
    }

    /// A number from `first` to `last`, both included.
    pub(crate) fn range(&mut self, first: u64, last: u64) -> u64 {
        first + self.below(last.saturating_sub(first).saturating_add(1))
    }

    /// A number from `first` to `last` whose logarithm is uniform: every order of magnitude is equally likely.
    pub(crate) fn log_uniform(&mut self, first: u64, last: u64) -> u64 {
        let first = first.max(1);
        let doublings = (last.max(first) / first).ilog2();
        let low = first << self.below(u64::from(doublings) + 1);
        self.range(low, (low * 2 - 1).min(last.max(low)))
    }

    /// True in `chance` of 100 cases.
    pub(crate) fn percent(&mut self, chance: u64) -> bool {
        self.below(100) < chance
    }

    /// An index, drawn by weight; `None` if all weights are 0.
    pub(crate) fn weighted(&mut self, weights: &[u64]) -> Option<usize> {
        let total = weights.iter().sum();
        let mut left = self.below(total);
        weights.iter().position(|&weight| {
            let found = left < weight;
            left = left.saturating_sub(weight);
            found
        })
    }

    /// Shuffles the items.
    pub(crate) fn shuffle<T>(&mut self, items: &mut [T]) {
        for last in (1..items.len()).rev() {
            items.swap(last, self.below(last as u64 + 1) as usize);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_numbers_of_a_seed_are_pinned() {
        let mut rng = Rng::new(1);
        // The first numbers of SplitMix64 with this seed.
        assert_eq!([rng.next(), rng.next()], [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67]);
        assert_ne!(Rng::for_purpose(1, 1).next(), Rng::for_purpose(1, 2).next());
    }

    #[test]
    fn numbers_stay_within_their_bounds_and_reach_them() {
        let mut rng = Rng::new(7);
        let drawn: Vec<u64> = (0..1000).map(|_| rng.range(3, 5)).collect();
        assert!((3..=5).all(|number| drawn.contains(&number)) && drawn.iter().all(|number| (3..=5).contains(number)));
        let sizes: Vec<u64> = (0..4000).map(|_| rng.log_uniform(20, 4000)).collect();
        assert!(sizes.iter().all(|size| (20..=4000).contains(size)));
        assert!(sizes.iter().any(|&size| size < 40) && sizes.iter().any(|&size| size > 2560));
        assert_eq!(rng.log_uniform(5, 5), 5);
        assert_eq!(rng.below(0), 0);
    }

    #[test]
    fn indices_are_drawn_by_weight() {
        let mut rng = Rng::new(9);
        let drawn: Vec<_> = (0..500).map(|_| rng.weighted(&[0, 1, 0, 3])).collect();
        assert!(drawn.iter().all(|index| matches!(index, Some(1 | 3))));
        assert!(drawn.iter().filter(|index| **index == Some(3)).count() > 250);
        assert_eq!(rng.weighted(&[0, 0]), None);
        let mut items = [1, 2, 3, 4, 5];
        rng.shuffle(&mut items);
        items.sort_unstable();
        assert_eq!(items, [1, 2, 3, 4, 5]);
    }
}
