//! Who holds which office, according to what programs were told.

use std::collections::{BTreeMap, BTreeSet};

use hustings_cluster::clock::Timestamp;

/// Something that a program was told about an office.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Told {
    /// It holds the office.
    Held,
    /// It hands the office over to a better candidate.
    HandsOver,
    /// It no longer holds the office, or must stop for another reason.
    Lost,
}

/// Who holds which office.
#[derive(Clone, Debug, Default)]
pub(super) struct Tally {
    /// The node of the program that holds each office.
    holders: BTreeMap<usize, usize>,
    /// How often a program lost an office.
    lapsed: usize,
    /// A node that was killed: the node, when, and the offices that nobody has taken over yet.
    loss: Option<(usize, Timestamp, BTreeSet<usize>)>,
    takeover_times: Vec<u64>,
}

impl Tally {
    /// A program on a node was told something about an office.
    pub(super) fn update(&mut self, office: usize, node: usize, told: Told, at: Timestamp) {
        let is_killed = self.loss.as_ref().is_some_and(|(killed, ..)| *killed == node);
        match told {
            // What a killed node said before its end does not count.
            _ if is_killed => {}
            Told::Held => {
                self.holders.insert(office, node);
                if let Some((_, since, waiting)) = &mut self.loss
                    && waiting.remove(&office)
                {
                    self.takeover_times.push(at.0.saturating_sub(since.0));
                }
            }
            Told::HandsOver | Told::Lost => {
                if self.holders.get(&office) == Some(&node) {
                    self.holders.remove(&office);
                    self.lapsed += usize::from(told == Told::Lost);
                }
            }
        }
    }

    /// The programs of a node were disconnected: their offices are lost, unless the node was killed on purpose.
    pub(super) fn disconnect(&mut self, node: usize, offices: &[usize]) {
        offices.iter().for_each(|office| self.update(*office, node, Told::Lost, Timestamp::ZERO));
    }

    /// The node with the most offices, apart from the arbiter's leader if others hold any.
    pub(super) fn node_to_kill(&self, nodes: usize, leader: Option<usize>) -> usize {
        let count = |node: usize| self.holders.values().filter(|holder| **holder == node).count();
        let rank = |node: &usize| (count(*node) > 0, Some(*node) != leader, count(*node));
        (0..nodes).max_by_key(rank).unwrap_or(0)
    }

    /// A node was killed. Returns how many offices its programs held.
    pub(super) fn lose_node(&mut self, node: usize, at: Timestamp) -> usize {
        let own = self.holders.iter().filter(|(_, holder)| **holder == node);
        let lost: BTreeSet<usize> = own.map(|(office, _)| *office).collect();
        self.holders.retain(|_, holder| *holder != node);
        let count = lost.len();
        self.loss = Some((node, at, lost));
        self.takeover_times.clear();
        count
    }

    /// How many offices are held.
    pub(super) fn held(&self) -> usize {
        self.holders.len()
    }

    /// How many offices of a killed node have another holder.
    pub(super) fn taken_over(&self) -> usize {
        self.takeover_times.len()
    }

    /// How long that took for each of them, in nanoseconds.
    pub(super) fn takeover_times(&self) -> Vec<u64> {
        self.takeover_times.clone()
    }

    /// How often programs lost offices since the last call.
    pub(super) fn take_lapsed(&mut self) -> usize {
        std::mem::take(&mut self.lapsed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tally(held: &[(usize, usize)]) -> Tally {
        let mut tally = Tally::default();
        held.iter().for_each(|&(office, node)| tally.update(office, node, Told::Held, Timestamp(1)));
        tally
    }

    #[test]
    fn counts_offices_that_are_held_and_those_that_are_lost() {
        let mut tally = tally(&[(1, 0), (2, 1), (3, 1), (3, 1)]);
        assert_eq!((tally.held(), tally.take_lapsed()), (3, 0));
        tally.update(2, 1, Told::Lost, Timestamp(2));
        tally.update(2, 1, Told::Lost, Timestamp(3));
        tally.update(1, 2, Told::Lost, Timestamp(3));
        assert_eq!((tally.held(), tally.take_lapsed(), tally.take_lapsed()), (2, 1, 0), "only what was held is lost");
        tally.disconnect(1, &[2, 3]);
        assert_eq!((tally.held(), tally.take_lapsed()), (1, 1));
    }

    #[test]
    fn an_office_that_moved_is_not_lost_by_its_former_holder() {
        let mut tally = tally(&[(1, 0), (1, 2)]);
        tally.update(1, 0, Told::Lost, Timestamp(9));
        assert_eq!((tally.held(), tally.take_lapsed()), (1, 0));
    }

    #[test]
    fn an_office_that_is_handed_over_has_not_lapsed() {
        let mut tally = tally(&[(1, 0)]);
        tally.update(1, 0, Told::HandsOver, Timestamp(2));
        tally.update(1, 0, Told::Lost, Timestamp(3));
        assert_eq!((tally.held(), tally.take_lapsed()), (0, 0));
        tally.update(1, 2, Told::Held, Timestamp(4));
        assert_eq!((tally.held(), tally.take_lapsed()), (1, 0));
    }

    #[test]
    fn kills_a_node_that_holds_offices_and_rather_not_the_leader_of_the_arbiter() {
        let tally = tally(&[(1, 0), (2, 0), (3, 1)]);
        assert_eq!(tally.node_to_kill(3, None), 0);
        assert_eq!(tally.node_to_kill(3, Some(0)), 1);
        assert_eq!(tally.node_to_kill(3, Some(2)), 0);
        let concentrated = self::tally(&[(1, 2), (2, 2)]);
        assert_eq!(concentrated.node_to_kill(3, Some(2)), 2, "the others hold nothing");
    }

    #[test]
    fn measures_each_office_of_a_killed_node_until_its_next_holder() {
        let mut tally = tally(&[(1, 0), (2, 0), (3, 1)]);
        assert_eq!(tally.lose_node(0, Timestamp(100)), 2);
        assert_eq!((tally.held(), tally.taken_over()), (1, 0));
        tally.update(1, 0, Told::Held, Timestamp(101));
        assert_eq!(tally.taken_over(), 0, "the killed node itself");
        tally.update(1, 2, Told::Held, Timestamp(150));
        tally.update(1, 2, Told::Held, Timestamp(160));
        tally.update(3, 2, Told::Held, Timestamp(170));
        assert_eq!(
            (tally.taken_over(), tally.takeover_times()),
            (1, vec![50]),
            "each once, and only those of the node"
        );
        tally.disconnect(0, &[1, 2]);
        tally.update(2, 1, Told::Held, Timestamp(400));
        assert_eq!((tally.takeover_times(), tally.take_lapsed()), (vec![50, 300], 0));
    }
}
