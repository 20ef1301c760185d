//! Numbers made of other numbers: the key of a election, and coins.

use hustings_protocol::Coins;

use crate::member::MemberRank;

/// 2⁶⁴ divided by the golden ratio, made odd: steps of this size visit all numbers, evenly.
const STEP: u64 = 0x9E37_79B9_7F4A_7C15;

/// The finaliser of SplitMix64: every bit of the input changes about half of the bits of the output.
const fn mix(mut bits: u64) -> u64 {
    bits = (bits ^ (bits >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
    bits = (bits ^ (bits >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
    bits ^ (bits >> 31)
}

/// The key of the election among these candidates. Nodes with the same candidates, of the same worth and in the same order,
/// have the same key, on every host and in every version; others have other keys but for a chance of one in 2⁶⁴.
///
/// It is made so: h = mix(number of candidates); then for every candidate and each of its id, its priority and its
/// health, h = mix((h xor that) + STEP), where sums and products wrap round.
pub fn key(candidates: &[MemberRank]) -> u64 {
    let numbers = candidates.iter().flat_map(|one| [one.id.0, one.priority.into(), one.health.into()]);
    numbers.fold(mix(candidates.len() as u64), |hash, number| mix((hash ^ number).wrapping_add(STEP)))
}

/// Coins from a seed: SplitMix64.
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
        // Off by less than bound in 2⁶⁴ from all equally likely, which nobody will ever notice.
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
    fn keys_never_change() {
        assert_eq!(key(&[]), 0);
        assert_eq!(key(&[rank(1, 100, 1), rank(1, 100, 2)]), PINNED);
    }

    const PINNED: u64 = 12383618223959709570;

    #[test]
    fn everything_counts() {
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
    fn coins_are_below_their_bound_and_differ() {
        let mut rng = SplitMix64::new(7);
        let drawn: Vec<u64> = (0..1000).map(|_| (&mut rng).draw(6)).collect();
        assert!((0..6).all(|side| drawn.iter().filter(|one| **one == side).count() > 100));
        assert!(drawn.iter().all(|one| *one < 6));
        assert_eq!((&mut rng).draw(1), 0);
    }
}
