//! Which members can reach each other, and the updates that nodes get about it.
//!
//! Two members reach each other if a path of links without cuts and partitions connects them. Nodes on the path may be
//! down: their links still carry messages. A message sent by id arrives if there is such a path when it is due.
//!
//! A protocol that observes reachability gets updates. After a tick in which a node crashed, came up or retired, or
//! links were cut or healed, every live member whose set of reachable live members has changed gets the new set, as it
//! was at the end of that tick, [`UPDATE_DELAY`] ticks later. So does every node that came up in that tick. Initially
//! every member counts as reachable, and those that join later count as lost from tick 0 on. A set that changes and
//! changes back in the next tick makes two updates, because messages were lost in between.

use std::collections::VecDeque;
use std::sync::Arc;

use hustings_protocol::{Id, Port};

use super::link_faults::LinkFaults;
use crate::engine::accounting::Accounting;
use crate::topology::Network;

/// The delay of an update.
pub(crate) const UPDATE_DELAY: u64 = 2;

/// The connected components of a network.
#[derive(Clone, Debug)]
pub(crate) struct Components {
    /// The component of each member.
    of: Vec<u32>,
    count: u32,
}

impl Components {
    pub(crate) fn new(network: &Network, link_faults: &LinkFaults) -> Self {
        let members = network.members();
        if !link_faults.has_any() {
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
                let mut visit = |peer: u32| {
                    let is_new = components.of[peer as usize] == NONE && !link_faults.is_blocked(at, peer);
                    if is_new {
                        components.of[peer as usize] = components.count;
                        found.push(peer);
                    }
                    is_new
                };
                if let Network::Complete(_) = network {
                    // Every node is found once, so the rest shrinks, and only blocked pairs are checked in vain.
                    rest.retain(|&peer| !visit(peer));
                } else {
                    (0..network.degree(at)).for_each(|port| {
                        visit(network.peer(at, Port(port)).0);
                    });
                }
            }
            components.count += 1;
        }
        components
    }

    /// Whether two positions are in the same component. `None` if one of them is not a member.
    #[inline]
    pub(crate) fn same_component(&self, a: u32, b: u32) -> Option<bool> {
        Some(self.of.get(a as usize)? == self.of.get(b as usize)?)
    }
}

/// The ids of the reachable members, ascending.
type ReachableSet = Arc<[Id]>;

/// Sends reachability updates.
#[derive(Debug)]
pub(crate) struct ReachabilityNotifier {
    /// The members that each member reached at the last check.
    before: Vec<ReachableSet>,
    /// The tick of a change that has not been evaluated yet.
    changed: Option<u64>,
    came_up: Vec<u32>,
    /// The updates to deliver, ascending by tick, then position.
    scheduled: VecDeque<(u64, Vec<ReachabilityUpdate>)>,
}

/// A reachability update for one node.
#[derive(Debug)]
pub(crate) struct ReachabilityUpdate {
    pub(crate) at: u32,
    /// The incarnation of the node. A later one does not get it.
    pub(crate) incarnation: u32,
    pub(crate) reach: ReachableSet,
}

impl ReachabilityNotifier {
    /// Everybody reaches all members, some of which may not have joined yet.
    pub(crate) fn new(ids: impl Iterator<Item = Id>, is_anybody_absent: bool) -> Self {
        let mut ids: Vec<Id> = ids.collect();
        ids.sort_unstable();
        let all: ReachableSet = ids.into();
        ReachabilityNotifier {
            before: vec![all.clone(); all.len()],
            changed: is_anybody_absent.then_some(0),
            came_up: Vec::new(),
            scheduled: VecDeque::new(),
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

    /// The next tick with an update to deliver or a change to evaluate.
    pub(crate) fn next(&self) -> Option<u64> {
        let told = self.scheduled.front().map(|(tick, _)| *tick);
        [self.changed, told].into_iter().flatten().min()
    }

    /// The updates to deliver in this tick.
    pub(crate) fn take(&mut self, tick: u64) -> Vec<ReachabilityUpdate> {
        self.scheduled.pop_front_if(|(due, _)| *due <= tick).map_or_else(Vec::new, |(_, updates)| updates)
    }

    /// Ends a tick: evaluates who reaches whom, if anything changed. `id_of` and `incarnations` are by position.
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
            self.scheduled.push_back((tick + UPDATE_DELAY, updates));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::FaultKind::{self, Cut, Heal, Partition};
    use crate::topology::Graph;

    fn components(network: &Network, faults: &[FaultKind]) -> Vec<u32> {
        let mut link_faults = LinkFaults::default();
        faults.iter().for_each(|fault| link_faults.apply(fault, 1));
        Components::new(network, &link_faults).of
    }

    #[test]
    fn two_cuts_split_a_ring() {
        let ring = Network::Ring(5);
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
    fn a_complete_network_routes_around_a_cut() {
        let complete = Network::Complete(4);
        assert_eq!(components(&complete, &[Cut(0, 1), Cut(0, 2)]), [0; 4]);
        assert_eq!(components(&complete, &[Cut(0, 1), Cut(0, 2), Cut(3, 0)]), [0, 1, 1, 1]);
        let is_partitioned = Partition(vec![0, 0, 1, 1]);
        assert_eq!(components(&complete, std::slice::from_ref(&is_partitioned)), [0, 0, 1, 1]);
        assert_eq!(components(&complete, &[is_partitioned, Heal(1, 2)]), [0; 4], "a healed link bridges a partition");
    }

    #[test]
    fn cutting_a_bridge_splits_a_graph() {
        let graph = Graph::new(4, |link| [(0, 1), (1, 2), (2, 3), (3, 1)].iter().for_each(|&(a, b)| link(a, b)));
        let graph = Network::Graph(graph.expect("the links are a graph"));
        assert_eq!(components(&graph, &[Cut(1, 2)]), [0; 4]);
        assert_eq!(components(&graph, &[Cut(0, 1)]), [0, 1, 1, 1]);
    }

    #[test]
    fn an_outside_informer_is_in_no_component() {
        let link_faults = LinkFaults::default();
        let components = Components::new(&Network::InformedRing(3), &link_faults);
        assert_eq!((components.same_component(0, 2), components.same_component(0, 3)), (Some(true), None));
    }
}
