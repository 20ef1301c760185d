//! The key of an election: a hash of its candidates.

use hustings_protocol::SplitMix64;

use crate::member::MemberRank;

/// The key of the election among these candidates. Nodes with the same candidates, with the same ranks and in the same
/// order, compute the same key on every host and in every version. Different lists have different keys, except with
/// probability 2⁻⁶⁴.
///
/// The key is computed as follows, with the constants and functions of [`SplitMix64`] and wrapping arithmetic. Let
/// h = mix(number of candidates). Then, for each candidate in order and for each of its id, priority and health:
/// h = mix((h xor value) + GAMMA).
pub(crate) fn key(candidates: &[MemberRank]) -> u64 {
    let numbers = candidates.iter().flat_map(|one| [one.id.0, one.priority.into(), one.health.into()]);
    numbers.fold(SplitMix64::mix(candidates.len() as u64), |hash, number| {
        SplitMix64::mix((hash ^ number).wrapping_add(SplitMix64::GAMMA))
    })
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
}
