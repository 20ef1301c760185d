//! A random order of 0..n that needs no memory and can be asked both ways: who stands at place p, and at which place
//! stands x.
//!
//! It is a Feistel network: a number is split in two digits, and each round moves one digit on by a hash of the other,
//! which is undone by moving it back. The digits span slightly more than n numbers; those beyond n are sent through
//! again until they fall below n ("cycle walking"), which keeps it one-to-one.

use crate::rng::Stream;

const ROUNDS: usize = 6;

/// Digits with few values reach few of the permutations there are, so even the smallest have so many numbers to walk
/// over.
const MIN_SPAN: u64 = 256;

/// A seeded bijection of 0..size.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Permutation {
    size: u64,
    /// How many values the high digit has.
    high: u64,
    /// How many bits the low digit has.
    low_bits: u32,
    keys: [u64; ROUNDS],
}

impl Permutation {
    /// The permutation that a stream of random numbers decides; only its first numbers are drawn.
    pub(super) fn new(size: u32, mut stream: Stream) -> Self {
        let size = u64::from(size.max(1));
        let span = size.max(MIN_SPAN);
        let low_bits = (span.ilog2() + 1).div_ceil(2);
        let high = span.div_ceil(1 << low_bits);
        Permutation { size, high, low_bits, keys: std::array::from_fn(|_| stream.next_u64()) }
    }

    /// Where x goes.
    #[inline]
    pub(super) fn apply(&self, x: u32) -> u32 {
        let mut x = u64::from(x);
        loop {
            let (mut high, mut low) = (x >> self.low_bits, x & self.low_mask());
            for keys in self.keys.chunks_exact(2) {
                low = (low + scramble(high, keys[0])) & self.low_mask();
                high += self.below_high(scramble(low, keys[1]));
                high -= if high >= self.high { self.high } else { 0 };
            }
            x = high << self.low_bits | low;
            if x < self.size {
                return x as u32;
            }
        }
    }

    /// Where y came from.
    #[inline]
    pub(super) fn invert(&self, y: u32) -> u32 {
        let mut y = u64::from(y);
        loop {
            let (mut high, mut low) = (y >> self.low_bits, y & self.low_mask());
            for keys in self.keys.chunks_exact(2).rev() {
                let moved = self.below_high(scramble(low, keys[1]));
                high = if high >= moved { high - moved } else { high + self.high - moved };
                low = low.wrapping_sub(scramble(high, keys[0])) & self.low_mask();
            }
            y = high << self.low_bits | low;
            if y < self.size {
                return y as u32;
            }
        }
    }

    #[inline]
    fn low_mask(&self) -> u64 {
        (1 << self.low_bits) - 1
    }

    /// A 32-bit number scaled down to a step of the high digit.
    #[inline]
    fn below_high(&self, number: u64) -> u64 {
        (number * self.high) >> 32
    }
}

/// 32 well-mixed bits of a digit under a key: lighter than the full hash, since several rounds follow each other.
#[inline]
fn scramble(digit: u64, key: u64) -> u64 {
    let z = (digit ^ key).wrapping_mul(0xD6E8_FEB8_6659_FD93);
    (z ^ (z >> 32)).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rng::Purpose;

    fn permutation(size: u32, number: u64) -> Permutation {
        Permutation::new(size, Stream::new(3, Purpose::Topology, number))
    }

    #[test]
    fn every_number_is_hit_once_and_found_again() {
        for size in 1..=300 {
            let order = permutation(size, size.into());
            let mut hit = vec![false; size as usize];
            for x in 0..size {
                let y = order.apply(x);
                assert!(!std::mem::replace(&mut hit[y as usize], true), "{y} of {size} is hit twice");
                assert_eq!(order.invert(y), x);
            }
        }
    }

    #[test]
    fn the_largest_sizes_work() {
        for size in [u32::MAX, u32::MAX - 1, 1 << 31, (1 << 31) + 1, 1 << 30] {
            let order = permutation(size, 1);
            for x in [0, 1, size / 2, size - 2, size - 1] {
                assert!(order.apply(x) < size);
                assert_eq!(order.invert(order.apply(x)), x);
            }
        }
    }

    #[test]
    fn neighbours_land_anywhere() {
        // How far apart two neighbours land is even over all distances; so is where each number goes.
        for size in [5u32, 12, 100] {
            let (mut places, mut steps) = (vec![0u32; size as usize], vec![0u32; size as usize]);
            let rounds = 2_000 * size;
            for number in 0..rounds {
                let order = permutation(size, number.into());
                places[order.apply(1) as usize] += 1;
                steps[((order.apply(2) + size - order.apply(1)) % size) as usize] += 1;
            }
            // Six standard deviations of a count with mean 2000 are under 270; steps never are 0.
            assert!(places.iter().all(|&count| count.abs_diff(2_000) < 270), "{places:?}");
            let mean = rounds / (size - 1);
            assert!(steps[1..].iter().all(|&count| count.abs_diff(mean) < 320), "{steps:?}");
        }
    }
}
