//! The key of an election, and the random numbers of its algorithm.

use hustings_protocol::Coins;

use crate::member::MemberRank;

/// 2⁶⁴ divided by the golden ratio, made odd: SplitMix64's increment.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// SplitMix64's finalizer: a change of one input bit changes about half of the output bits.
const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// The key of the election among these candidates. Nodes with the same candidates, with the same ranks and in the same
/// order, compute the same key on every host and in every version. Different lists have different keys, except with
/// probability 2⁻⁶⁴.
///
/// The key is computed as follows. Let h = mix(number of candidates). Then, for each candidate in order and for each of
/// its id, priority and health: h = mix((h xor value) + STEP), with wrapping arithmetic.
pub fn key(candidates: &[MemberRank]) -> u64 {
    let numbers = candidates.iter().flat_map(|one| [one.id.0, one.priority.into(), one.health.into()]);
    numbers.fold(mix(candidates.len() as u64), |hash, number| mix((hash ^ number).wrapping_add(STEP)))
}

/// SplitMix64, as a source of coins.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SplitMix64(u64);

impl SplitMix64 {
    pub(super) fn new(seed: u64) -> Self {
        SplitMix64(mix(seed))
    }
}

impl Coins for &mut SplitMix64 {
    fn draw(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(STEP);
        // The bias is less than bound / 2⁶⁴, which is negligible.
        ((u128::from(mix(self.0)) * u128::from(bound)) >> 64) as u64
    }
}

#[cfg(test)]
mod tests {
    use hustings_protocol::Id;

    use super::*;

    fn rank(priority: u32, health: u8, id: u64) -> MemberRank {
        MemberRank { priority, health, id: Id(id) }
    }

    #[test]
    fn keys_are_pinned() {
        assert_eq!(key(&[]), 0);
        assert_eq!(key(&[rank(1, 100, 1), rank(1, 100, 2)]), PINNED);
    }

    const PINNED: u64 = 12383618223959709570;

    #[test]
    fn the_key_depends_on_every_field_and_on_the_order() {
        let lists = [
            vec![rank(0, 0, 1)],
            vec![rank(1, 0, 0)],
            vec![rank(0, 1, 0)],
            vec![rank(0, 0, 1), rank(0, 0, 2)],
            vec![rank(0, 0, 2), rank(0, 0, 1)],
            vec![rank(0, 0, 1), rank(0, 1, 2)],
        ];
        for (at, list) in lists.iter().enumerate() {
            assert!(lists[..at].iter().all(|other| key(other) != key(list)), "{list:?}");
        }
    }

    #[test]
    fn random_numbers_are_below_their_bound_and_spread() {
        let mut rng = SplitMix64::new(7);
        let drawn: Vec<u64> = (0..1000).map(|_| (&mut rng).draw(6)).collect();
        assert!((0..6).all(|side| drawn.iter().filter(|one| **one == side).count() > 100));
        assert!(drawn.iter().all(|one| *one < 6));
        assert_eq!((&mut rng).draw(1), 0);
    }
}
