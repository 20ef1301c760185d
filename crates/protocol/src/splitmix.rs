//! SplitMix64, the generator behind every seeded number in the workspace.

use crate::Coins;

/// A small generator of pseudo-random numbers: Steele, Lea and Flood, "Fast splittable pseudorandom number
/// generators", OOPSLA 2014.
///
/// The same seed gives the same numbers on every platform and in every version: seeds of simulations, of keys and of
/// fault schedules depend on it. It is not suited for cryptography.
///
/// ```
/// use hustings_protocol::SplitMix64;
///
/// let mut rng = SplitMix64::new(1);
/// assert_eq!(rng.next_u64(), 0x910a_2dec_8902_5cc1);
/// assert!(rng.below(6) < 6);
/// ```
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct SplitMix64 {
    state: u64,
}

impl SplitMix64 {
    /// The step between two states: 2⁶⁴ divided by the golden ratio, made odd, so that the state visits every number.
    pub const GAMMA: u64 = 0x9E37_79B9_7F4A_7C15;

    /// A generator with this seed.
    pub const fn new(seed: u64) -> Self {
        SplitMix64 { state: seed }
    }

    /// The output function: a bijection in which every bit of the input changes about half of the bits of the output.
    #[inline]
    pub const fn mix(mut bits: u64) -> u64 {
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        bits ^ (bits >> 31)
    }

    /// Hashes a seed and two more numbers: a seed of its own for every purpose, node or run.
    #[inline]
    pub const fn hash(seed: u64, a: u64, b: u64) -> u64 {
        let key = Self::mix(seed.wrapping_add(Self::GAMMA));
        let key = Self::mix(key ^ a.wrapping_mul(0xD6E8_FEB8_6659_FD93).wrapping_add(Self::GAMMA));
        Self::mix(key.wrapping_add(b.wrapping_mul(Self::GAMMA)).wrapping_add(Self::GAMMA))
    }

    /// The next 64 bits.
    #[inline]
    pub const fn next_u64(&mut self) -> u64 {
        self.state = self.state.wrapping_add(Self::GAMMA);
        Self::mix(self.state)
    }

    /// A number below `bound`, or 0 if `bound` is 0.
    ///
    /// It is the upper half of a 128-bit product: the probabilities of two numbers differ by at most 2⁻⁶⁴.
    #[inline]
    pub const fn below(&mut self, bound: u64) -> u64 {
        ((self.next_u64() as u128 * bound as u128) >> 64) as u64
    }
}

impl Coins for &mut SplitMix64 {
    fn draw(&mut self, bound: u64) -> u64 {
        self.below(bound)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn produces_the_published_numbers() {
        // The first outputs of the reference implementation for the seeds 0 and 1.
        let [mut zero, mut one] = [0, 1].map(SplitMix64::new);
        assert_eq!([zero.next_u64(), zero.next_u64()], [0xe220_a839_7b1d_cdaf, 0x6e78_9e6a_a1b9_65f4]);
        assert_eq!([one.next_u64(), one.next_u64()], [0x910a_2dec_8902_5cc1, 0xbeeb_8da1_658e_ec67]);
        assert_eq!(SplitMix64::mix(0), 0);
    }

    #[test]
    fn hashes_are_pinned() {
        assert_eq!(SplitMix64::hash(1, 2, 3), 8737550765629041463);
    }

    #[test]
    fn draws_every_number_below_the_bound() {
        let mut rng = SplitMix64::new(7);
        let mut seen = [0; 6];
        (0..6_000).for_each(|_| seen[rng.below(6) as usize] += 1);
        assert!(seen.iter().all(|&count| (800..1_200).contains(&count)), "{seen:?}");
        assert_eq!((rng.below(1), rng.below(0)), (0, 0));
    }
}
