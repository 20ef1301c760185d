//! Cut links and partitions: what stops a message.
//!
//! A message along a link is stopped if the link is barred when it arrives, or was barred anew while it was under route.
//! One that was sent while the link was barred gets through if it is mended before it arrives. What is sent by id is
//! stopped if there is no path of links that are not barred when it arrives: see `reach`. A new partition takes the
//! place of the one before.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use crate::scenario::FaultKind;
use crate::topology::Network;

/// What is cut and parted.
#[derive(Clone, Debug, Default)]
pub(crate) struct LinkFaults {
    /// Every link that was ever cut, lower end first.
    cuts: BTreeMap<(u32, u32), Cut>,
    /// Every partition there was, with its tick; ascending.
    partitions: Vec<(u64, Arc<[u32]>)>,
    /// Whether the last partition is still there.
    parted: bool,
    /// Links that were mended although a partition goes through them.
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

fn apart(groups: &[u32], a: u32, b: u32) -> bool {
    groups.get(a as usize) != groups.get(b as usize)
}

impl LinkFaults {
    /// Something happens to the links. Faults of nodes change nothing.
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
                self.parted = false;
                self.bridges.clear();
            }
            FaultKind::Partition(groups) => {
                self.partitions.push((tick, groups.as_slice().into()));
                self.parted = true;
                self.bridges.clear();
            }
            FaultKind::Crash(_) | FaultKind::Recover(_) | FaultKind::Join(_) | FaultKind::Retire(_) => {}
        }
    }

    /// Whether a partition now stands between two nodes.
    pub(crate) fn part(&self, a: u32, b: u32) -> bool {
        let Some((_, groups)) = self.partitions.last().filter(|_| self.parted) else { return false };
        apart(groups, a, b) && !self.bridges.contains(&link(a, b))
    }

    /// Whether nothing now passes along a link.
    pub(crate) fn bar(&self, a: u32, b: u32) -> bool {
        self.part(a, b) || self.cuts.get(&link(a, b)).is_some_and(|cut| cut.is_cut)
    }

    /// Whether nothing was ever cut or parted.
    #[inline]
    pub(crate) fn are_none(&self) -> bool {
        self.cuts.is_empty() && self.partitions.is_empty()
    }

    /// Whether something is cut or parted now.
    pub(crate) fn bar_anything(&self) -> bool {
        self.parted || self.cuts.values().any(|cut| cut.is_cut)
    }

    /// Whether a message along a link that arrives now and was sent at `sent` is stopped.
    #[inline]
    pub(crate) fn stop(&self, from: u32, to: u32, sent: u64) -> bool {
        if self.are_none() {
            return false;
        }
        let cut = self.cuts.get(&link(from, to)).is_some_and(|cut| cut.is_cut || cut.last > sent);
        let meanwhile = || self.partitions.iter().rev().take_while(|(tick, _)| *tick > sent);
        cut || self.part(from, to) || meanwhile().any(|(_, groups)| apart(groups, from, to))
    }

    /// The links of the network, from both ends and by position, whose state differs between two moments: those that a
    /// fault has changed.
    pub(crate) fn changes(&self, before: &LinkFaults, fault: &FaultKind, network: &Network) -> Vec<(u32, u32)> {
        let differs = |&(a, b): &(u32, u32)| self.bar(a, b) != before.bar(a, b);
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
                // The two sides of a ring of two lead to the same node.
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
    use crate::topology::Ring;

    #[test]
    fn a_cut_stops_what_is_under_way_and_what_arrives_before_the_heal() {
        let mut link_faults = LinkFaults::default();
        link_faults.apply(&FaultKind::Cut(4, 3), 10);
        assert!(link_faults.stop(3, 4, 9) && link_faults.stop(4, 3, 12) && !link_faults.stop(3, 5, 9));
        link_faults.apply(&FaultKind::Heal(3, 4), 20);
        assert!(link_faults.stop(3, 4, 9), "it was under route when the link was cut");
        assert!(!link_faults.stop(3, 4, 10), "it was sent after the cut and arrives after the heal");
    }

    #[test]
    fn a_partition_takes_the_place_of_the_one_before_and_a_link_can_bridge_it() {
        let mut link_faults = LinkFaults::default();
        link_faults.apply(&FaultKind::Partition(vec![0, 0, 1, 1]), 5);
        assert!(link_faults.stop(1, 2, 7) && !link_faults.stop(0, 1, 7));
        link_faults.apply(&FaultKind::Heal(2, 1), 8);
        assert!(!link_faults.stop(1, 2, 7) && link_faults.stop(0, 3, 7));
        link_faults.apply(&FaultKind::Partition(vec![0, 1, 1, 0]), 9);
        assert!(!link_faults.stop(0, 3, 9) && link_faults.stop(0, 1, 9));
        assert!(link_faults.stop(0, 3, 4), "the first partition came while it was under route");
        link_faults.apply(&FaultKind::HealAll, 12);
        assert!(!link_faults.stop(0, 1, 9) && link_faults.stop(0, 1, 8));
    }

    #[test]
    fn changes_are_told_to_both_ends() {
        let network = Network::Ring(Ring { size: 4 });
        let before = LinkFaults::default();
        let mut after = before.clone();
        let parted = FaultKind::Partition(vec![0, 0, 1, 1]);
        after.apply(&parted, 1);
        assert_eq!(after.changes(&before, &parted, &network), [(0, 3), (1, 2), (2, 1), (3, 0)]);
        let cut = FaultKind::Cut(3, 0);
        let mut cut_too = after.clone();
        cut_too.apply(&cut, 2);
        assert_eq!(cut_too.changes(&after, &cut, &network), [], "it did not work before");
    }
}
