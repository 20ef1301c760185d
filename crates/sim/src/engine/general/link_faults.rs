//! Cut links and partitions.
//!
//! A message along a link is lost if the link is blocked when it arrives, or became blocked while it was in flight. A
//! message sent while the link was blocked arrives if the link heals in time. A message sent by id is lost if no path
//! of unblocked links leads to its receiver when it arrives: see `reachability`. A new partition replaces the previous
//! one.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::scenario::FaultKind;
use crate::topology::Network;

/// The links that are cut and the partitions.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkFaults {
    /// Every link that was ever cut, lower end first.
    cuts: BTreeMap<(u32, u32), Cut>,
    /// Every partition so far, with its tick, ascending.
    partitions: Vec<(u64, Arc<[u32]>)>,
    /// Whether the last partition still exists.
    is_partitioned: bool,
    /// Links that were healed although the partition separates their ends.
    bridges: BTreeSet<(u32, u32)>,
}

#[derive(Clone, Copy, Debug)]
struct Cut {
    is_cut: bool,
    last: u64,
}

fn link(a: u32, b: u32) -> (u32, u32) {
    (a.min(b), a.max(b))
}

fn in_different_groups(groups: &[u32], a: u32, b: u32) -> bool {
    groups.get(a as usize) != groups.get(b as usize)
}

impl LinkFaults {
    /// Applies a fault of links. Faults of nodes change nothing.
    pub(crate) fn apply(&mut self, fault: &FaultKind, tick: u64) {
        match fault {
            FaultKind::Cut(a, b) => {
                self.cuts.insert(link(*a, *b), Cut { is_cut: true, last: tick });
                self.bridges.remove(&link(*a, *b));
            }
            FaultKind::Heal(a, b) => {
                if let Some(cut) = self.cuts.get_mut(&link(*a, *b)) {
                    cut.is_cut = false;
                }
                self.bridges.insert(link(*a, *b));
            }
            FaultKind::HealAll => {
                self.cuts.values_mut().for_each(|cut| cut.is_cut = false);
                self.is_partitioned = false;
                self.bridges.clear();
            }
            FaultKind::Partition(groups) => {
                self.partitions.push((tick, groups.as_slice().into()));
                self.is_partitioned = true;
                self.bridges.clear();
            }
            FaultKind::Crash(_) | FaultKind::Recover(_) | FaultKind::Join(_) | FaultKind::Retire(_) => {}
        }
    }

    /// Whether a partition separates two nodes now.
    pub(crate) fn separates(&self, a: u32, b: u32) -> bool {
        let Some((_, groups)) = self.partitions.last().filter(|_| self.is_partitioned) else { return false };
        in_different_groups(groups, a, b) && !self.bridges.contains(&link(a, b))
    }

    /// Whether a link is blocked now.
    pub(crate) fn is_blocked(&self, a: u32, b: u32) -> bool {
        self.separates(a, b) || self.cuts.get(&link(a, b)).is_some_and(|cut| cut.is_cut)
    }

    /// Whether there was never any cut or partition.
    #[inline]
    pub(crate) fn never_used(&self) -> bool {
        self.cuts.is_empty() && self.partitions.is_empty()
    }

    /// Whether any cut or partition exists now.
    pub(crate) fn has_any(&self) -> bool {
        self.is_partitioned || self.cuts.values().any(|cut| cut.is_cut)
    }

    /// Whether a message along a link, sent at `sent` and arriving now, is lost.
    #[inline]
    pub(crate) fn blocks(&self, from: u32, to: u32, sent: u64) -> bool {
        if self.never_used() {
            return false;
        }
        let cut = self.cuts.get(&link(from, to)).is_some_and(|cut| cut.is_cut || cut.last > sent);
        let meanwhile = || self.partitions.iter().rev().take_while(|(tick, _)| *tick > sent);
        cut || self.separates(from, to) || meanwhile().any(|(_, groups)| in_different_groups(groups, from, to))
    }

    /// The links that a fault has blocked or unblocked, from both ends and by position.
    pub(crate) fn changes(&self, before: &LinkFaults, fault: &FaultKind, network: &Network) -> Vec<(u32, u32)> {
        let differs = |&(a, b): &(u32, u32)| self.is_blocked(a, b) != before.is_blocked(a, b);
        match fault {
            FaultKind::Cut(a, b) | FaultKind::Heal(a, b) => {
                let (low, high) = link(*a, *b);
                [(low, high), (high, low)].into_iter().filter(differs).collect()
            }
            FaultKind::Partition(_) | FaultKind::HealAll => {
                let mut changed: Vec<(u32, u32)> = (0..network.size())
                    .flat_map(|at| (0..network.degree(at)).map(move |port| (at, port)))
                    .map(|(at, port)| (at, network.peer(at, hustings_protocol::Port(port)).0))
                    .filter(differs)
                    .collect();
                changed.sort_unstable();
                // In a ring of two, both sides lead to the same node.
                changed.dedup();
                changed
            }
            FaultKind::Crash(_) | FaultKind::Recover(_) | FaultKind::Join(_) | FaultKind::Retire(_) => Vec::new(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cut_blocks_messages_in_flight_and_arrivals_before_the_heal() {
        let mut link_faults = LinkFaults::default();
        link_faults.apply(&FaultKind::Cut(4, 3), 10);
        assert!(link_faults.blocks(3, 4, 9) && link_faults.blocks(4, 3, 12) && !link_faults.blocks(3, 5, 9));
        link_faults.apply(&FaultKind::Heal(3, 4), 20);
        assert!(link_faults.blocks(3, 4, 9), "it was in flight when the link was cut");
        assert!(!link_faults.blocks(3, 4, 10), "it was sent after the cut and arrives after the heal");
    }

    #[test]
    fn a_partition_replaces_the_previous_one_and_a_healed_link_bridges_it() {
        let mut link_faults = LinkFaults::default();
        link_faults.apply(&FaultKind::Partition(vec![0, 0, 1, 1]), 5);
        assert!(link_faults.blocks(1, 2, 7) && !link_faults.blocks(0, 1, 7));
        link_faults.apply(&FaultKind::Heal(2, 1), 8);
        assert!(!link_faults.blocks(1, 2, 7) && link_faults.blocks(0, 3, 7));
        link_faults.apply(&FaultKind::Partition(vec![0, 1, 1, 0]), 9);
        assert!(!link_faults.blocks(0, 3, 9) && link_faults.blocks(0, 1, 9));
        assert!(link_faults.blocks(0, 3, 4), "the first partition came while it was in flight");
        link_faults.apply(&FaultKind::HealAll, 12);
        assert!(!link_faults.blocks(0, 1, 9) && link_faults.blocks(0, 1, 8));
    }

    #[test]
    fn changes_are_listed_from_both_ends() {
        let network = Network::Ring(4);
        let before = LinkFaults::default();
        let mut after = before.clone();
        let is_partitioned = FaultKind::Partition(vec![0, 0, 1, 1]);
        after.apply(&is_partitioned, 1);
        assert_eq!(after.changes(&before, &is_partitioned, &network), [(0, 3), (1, 2), (2, 1), (3, 0)]);
        let cut = FaultKind::Cut(3, 0);
        let mut cut_too = after.clone();
        cut_too.apply(&cut, 2);
        assert_eq!(cut_too.changes(&after, &cut, &network), [], "it did not work before");
    }
}
