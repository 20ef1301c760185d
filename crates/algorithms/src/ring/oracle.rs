//! Message counts of ring algorithms that follow from the order of ids, without running an election.

use alloc::{vec, vec::Vec};

use crate::Instance;

/// For each initiator, in the order of positions, the number of clockwise hops to the next greater one; for the
/// greatest a whole lap.
pub(super) fn hops_to_greater(instance: &Instance<'_>) -> Vec<u64> {
    let size = instance.size();
    hops(size, instance.initiators, |at| instance.order[at as usize])
}

/// The same counter-clockwise.
pub(super) fn hops_back_to_greater(instance: &Instance<'_>) -> Vec<u64> {
    let size = instance.size();
    let mirror = |at: u32| (size - 1 - u64::from(at)) as u32;
    let mirrored: Vec<u32> = instance.initiators.iter().rev().map(|&at| mirror(at)).collect();
    let mut hops = hops(size, &mirrored, |at| instance.order[mirror(at) as usize]);
    hops.reverse();
    hops
}

fn hops(size: u64, starters: &[u32], rank: impl Fn(u32) -> u32) -> Vec<u64> {
    let mut result = vec![size; starters.len()];
    let Some(greatest) = (0..starters.len()).max_by_key(|&index| rank(starters[index])) else { return result };
    // Once round, backwards from the greatest, with a stack of initiators that may be the next greater one of another.
    let mut greater: Vec<(u32, u32)> = Vec::with_capacity(starters.len());
    greater.push((rank(starters[greatest]), starters[greatest]));
    for step in 1..starters.len() {
        let index = if step <= greatest { greatest - step } else { greatest + starters.len() - step };
        let (own, at) = (rank(starters[index]), starters[index]);
        while greater.last().is_some_and(|&(other, _)| other < own) {
            greater.pop();
        }
        if let Some(&(_, other)) = greater.last() {
            let (here, there) = (u64::from(at), u64::from(other));
            result[index] = if there > here { there - here } else { there + size - here };
        }
        greater.push((own, at));
    }
    result
}

/// The number of rounds if in each round only nodes greater than their nearest active neighbours on both sides stay
/// active. The last round, in which the only one left receives its own id, is included.
pub(super) fn rounds(instance: &Instance<'_>) -> u64 {
    let mut left: Vec<u32> = instance.initiators.iter().map(|&at| instance.order[at as usize]).collect();
    let mut rounds = u64::from(!left.is_empty());
    while left.len() > 1 {
        let count = left.len();
        let stays = |i: &usize| left[*i] > left[(i + 1) % count] && left[*i] > left[(i + count - 1) % count];
        left = (0..count).filter(stays).map(|i| left[i]).collect();
        rounds += 1;
    }
    rounds
}

/// ⌊log₂ n⌋ + 1: no ring of n takes more [`rounds`], because at most one of two neighbours stays active; some rings
/// take as many.
pub(super) fn max_rounds(n: u64) -> u64 {
    u64::from(n.max(1).ilog2()) + 1
}

/// The fewest [`rounds`] if all start: one to beat the others, one to receive its own id.
pub(super) fn min_rounds(n: u64) -> u64 {
    n.min(2)
}

/// The number of `elected` messages: none if nobody starts.
pub(super) fn announcements(instance: &Instance<'_>) -> u64 {
    if instance.initiators.is_empty() { 0 } else { instance.size() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_hops_on_a_small_ring() {
        let instance = Instance::of(&[2, 0, 3, 1, 4], &[0, 1, 3]);
        // 2 . 1: position 1 (rank 0) meets 3 after two hops, 3 (rank 1) meets 0 after two, 0 is the greatest.
        assert_eq!(hops_to_greater(&instance), [5, 2, 2]);
        assert_eq!(hops_back_to_greater(&instance), [5, 1, 3]);
        assert_eq!(rounds(&instance), 2);
    }

    #[test]
    fn hops_equal_a_naive_count() {
        // All orders of a stride; every node, or every second one, starts.
        for (size, stride) in [(7u32, 3u32), (8, 5), (11, 4), (13, 12), (1, 1)] {
            let order: Vec<u32> = (0..size).map(|at| at * stride % size).collect();
            for step in [1, 2] {
                let initiators: Vec<u32> = (0..size).step_by(step).collect();
                let instance = Instance::of(&order, &initiators);
                let counted = initiators.iter().map(|&at| {
                    let is_met = |hops: &u64| {
                        let there = ((u64::from(at) + hops) % u64::from(size)) as u32;
                        initiators.contains(&there) && order[there as usize] > order[at as usize]
                    };
                    (1..u64::from(size)).find(is_met).unwrap_or(u64::from(size))
                });
                assert_eq!(hops_to_greater(&instance), counted.collect::<Vec<_>>(), "{size} {stride} {step}");
            }
        }
    }

    #[test]
    fn no_initiator_takes_no_rounds_and_one_takes_one() {
        assert_eq!(rounds(&Instance::of(&[0, 1], &[])), 0);
        assert_eq!(rounds(&Instance::of(&[0, 1], &[0])), 1);
        assert_eq!(hops_to_greater(&Instance::of(&[0], &[0])), [1]);
    }
}
