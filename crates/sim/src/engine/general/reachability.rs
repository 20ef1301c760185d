//! Who reaches whom, and the update that is given of it.
//!
//! Two members reach each other if a path of links leads from one to the other on which nothing is cut or parted. It
//! does not matter whether those on the route are up: their links carry transmission all the same. What is sent by id arrives if
//! there is such a path when it is due.
//!
//! A protocol that watches gets update of it. In a tick in which somebody crashed, came up or retired, or links were cut
//! or mended, every live member whose set of live members in reach is another one than before is told the new set, as
//! it was at the end of that tick, [`UPDATE_DELAY`] ticks later; so is everybody who came up in that tick. Before the first
//! tick everybody is taken to reach all members: those who are to join are missed from tick 0 on. A set that changes
//! and changes back in the next tick is two updates, because transmission was lost in between.

use std::collections::VecDeque;
use std::sync::Arc;

use hustings_protocol::{Id, Port};

use super::link_faults::LinkFaults;
use crate::engine::accounting::Accounting;
use crate::topology::Network;

/// How long update takes.
pub(crate) const UPDATE_DELAY: u64 = 2;

/// The components of a network between which nothing gets through.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    /// The part that each member is in.
    of: Vec<u32>,
    count: u32,
}

impl Components {
    pub(crate) fn new(network: &Network, link_faults: &LinkFaults) -> Self {
        let members = network.members();
        if !link_faults.bar_anything() {
            return Components { of: vec![0; members as usize], count: 1 };
        }
        const NONE: u32 = u32::MAX;
        let mut components = Components { of: vec![NONE; members as usize], count: 0 };
        let mut rest: Vec<u32> = (0..members).rev().collect();
        while let Some(first) = rest.pop() {
            if components.of[first as usize] != NONE {
                continue;
            }
            components.of[first as usize] = components.count;
            let mut found = vec![first];
            while let Some(at) = found.pop() {
                let mut meet = |peer: u32| {
                    let is_new = components.of[peer as usize] == NONE && !link_faults.bar(at, peer);
                    if is_new {
                        components.of[peer as usize] = components.count;
                        found.push(peer);
                    }
                    is_new
                };
                if let Network::Complete(_) = network {
                    // Whoever is met is met once: the rest shrinks, and only barred pairs are looked at in vain.
                    rest.retain(|&peer| !meet(peer));
                } else {
                    (0..network.degree(at)).for_each(|port| {
                        meet(network.peer(at, Port(port)).0);
                    });
                }
            }
            components.count += 1;
        }
        components
    }

    /// Whether two positions are in the same part. For one that is no member there is no answer.
    #[inline]
    pub(crate) fn join(&self, a: u32, b: u32) -> Option<bool> {
        Some(self.of.get(a as usize)? == self.of.get(b as usize)?)
    }
}

/// The ids of those in reach, ascending.
type ReachableSet = Arc<[Id]>;

/// Gives update of who is in reach.
#[derive(Debug)]
pub(crate) struct ReachabilityNotifier {
    /// What each member reached when this was last looked at.
    before: Vec<ReachableSet>,
    /// Something changed in this tick.
    changed: Option<u64>,
    came_up: Vec<u32>,
    /// What is to be told: when, to whom in which of its incarnations, what. Ascending by tick, then position.
    under_way: VecDeque<(u64, Vec<ReachabilityUpdate>)>,
}

/// Who is told what.
#[derive(Debug)]
pub(crate) struct ReachabilityUpdate {
    pub(crate) at: u32,
    /// In which of its incarnations.
    pub(crate) incarnation: u32,
    pub(crate) reach: ReachableSet,
}

impl ReachabilityNotifier {
    /// Everybody reaches all members, some of which are not there yet.
    pub(crate) fn new(ids: impl Iterator<Item = Id>, is_anybody_absent: bool) -> Self {
        let mut ids: Vec<Id> = ids.collect();
        ids.sort_unstable();
        let all: ReachableSet = ids.into();
        ReachabilityNotifier {
            before: vec![all.clone(); all.len()],
            changed: is_anybody_absent.then_some(0),
            came_up: Vec::new(),
            under_way: VecDeque::new(),
        }
    }

    /// A node crashed or retired, or links changed.
    pub(crate) fn changes(&mut self, tick: u64) {
        self.changed = Some(tick);
    }

    /// A node recovered or joined.
    pub(crate) fn comes_up(&mut self, at: u32, tick: u64) {
        self.changed = Some(tick);
        self.came_up.push(at);
    }

    /// The next tick with something to tell or to look at.
    pub(crate) fn next(&self) -> Option<u64> {
        let told = self.under_way.front().map(|(tick, _)| *tick);
        [self.changed, told].into_iter().flatten().min()
    }

    /// What is to be told in this tick.
    pub(crate) fn take(&mut self, tick: u64) -> Vec<ReachabilityUpdate> {
        self.under_way.pop_front_if(|(due, _)| *due <= tick).map_or_else(Vec::new, |(_, updates)| updates)
    }

    /// The tick is over: looks who reaches whom now, if anything changed. `id_of` and `incarnations` are by position.
    pub(crate) fn end_tick(
        &mut self,
        tick: u64,
        components: impl FnOnce() -> Components,
        accounting: &Accounting,
        incarnations: &[u32],
        id_of: impl Fn(u32) -> Id,
    ) {
        if self.changed.take().is_none() {
            return;
        }
        let components = components();
        let members = 0..self.before.len() as u32;
        let mut sets = vec![Vec::new(); components.count as usize];
        members
            .clone()
            .filter(|&at| accounting.is_live(at))
            .for_each(|at| sets[components.of[at as usize] as usize].push(at));
        let reach = |set: Vec<u32>| -> ReachableSet {
            let mut ids: Vec<Id> = set.into_iter().map(&id_of).collect();
            ids.sort_unstable();
            ids.into()
        };
        let sets: Vec<ReachableSet> = sets.into_iter().map(reach).collect();
        let mut updates = Vec::new();
        for at in members {
            let reach = &sets[components.of[at as usize] as usize];
            let before = std::mem::replace(&mut self.before[at as usize], reach.clone());
            if accounting.is_live(at) && (before != *reach || self.came_up.contains(&at)) {
                updates.push(ReachabilityUpdate { at, incarnation: incarnations[at as usize], reach: reach.clone() });
            }
        }
        self.came_up.clear();
        if !updates.is_empty() {
            self.under_way.push_back((tick + UPDATE_DELAY, updates));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::FaultKind::{self, Cut, Heal, Partition};
    use crate::topology::{Complete, Graph, Ring};

    fn components(network: &Network, faults: &[FaultKind]) -> Vec<u32> {
        let mut link_faults = LinkFaults::default();
        faults.iter().for_each(|fault| link_faults.apply(fault, 1));
        Components::new(network, &link_faults).of
    }

    #[test]
    fn a_ring_falls_apart_at_its_second_cut() {
        let ring = Network::Ring(Ring { size: 5 });
        assert_eq!(components(&ring, &[]), [0; 5]);
        assert_eq!(components(&ring, &[Cut(4, 0)]), [0; 5]);
        assert_eq!(components(&ring, &[Cut(4, 0), Cut(2, 1)]), [0, 0, 1, 1, 1]);
        assert_eq!(components(&ring, &[Cut(4, 0), Cut(2, 1), Heal(0, 4)]), [0; 5]);
        assert_eq!(
            components(&ring, &[Partition(vec![0, 1, 0, 1, 0])]),
            [0, 1, 2, 3, 0],
            "0 and 4 are neighbours, 2 is not"
        );
    }

    #[test]
    fn in_a_complete_network_one_goes_round_a_cut() {
        let complete = Network::Complete(Complete { size: 4 });
        assert_eq!(components(&complete, &[Cut(0, 1), Cut(0, 2)]), [0; 4]);
        assert_eq!(components(&complete, &[Cut(0, 1), Cut(0, 2), Cut(3, 0)]), [0, 1, 1, 1]);
        let parted = Partition(vec![0, 0, 1, 1]);
        assert_eq!(components(&complete, std::slice::from_ref(&parted)), [0, 0, 1, 1]);
        assert_eq!(components(&complete, &[parted, Heal(1, 2)]), [0; 4], "a mended link bridges a partition");
    }

    #[test]
    fn a_graph_falls_apart_where_its_bridges_are_cut() {
        let graph = Graph::new(4, |link| [(0, 1), (1, 2), (2, 3), (3, 1)].iter().for_each(|&(a, b)| link(a, b)));
        let graph = Network::Graph(graph.expect("the links are a graph"));
        assert_eq!(components(&graph, &[Cut(1, 2)]), [0; 4]);
        assert_eq!(components(&graph, &[Cut(0, 1)]), [0, 1, 1, 1]);
    }

    #[test]
    fn an_informer_outside_is_in_no_part() {
        let link_faults = LinkFaults::default();
        let components = Components::new(&Network::InformedRing(Ring { size: 3 }), &link_faults);
        assert_eq!((components.join(0, 2), components.join(0, 3)), (Some(true), None));
    }
}
