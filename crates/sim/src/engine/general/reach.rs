//! Who reaches whom, and the word that is given of it.
//!
//! Two members reach each other if a path of links leads from one to the other on which nothing is cut or parted. It
//! does not matter whether those on the way are up: their links carry mail all the same. What is sent by id arrives if
//! there is such a path when it is due.
//!
//! A protocol that watches gets word of it. In a tick in which somebody crashed, came up or retired, or links were cut
//! or mended, every live member whose set of live members in reach is another one than before is told the new set, as
//! it was at the end of that tick, [`LATER`] ticks later; so is everybody who came up in that tick. Before the first
//! tick everybody is taken to reach all members: those who are to join are missed from tick 0 on. A set that changes
//! and changes back in the next tick is two words, because mail was lost in between.

use std::collections::VecDeque;
use std::sync::Arc;

use hustings_protocol::{Id, Port};

use super::barriers::Barriers;
use crate::engine::books::Books;
use crate::topology::Network;

/// How long word takes.
pub(crate) const LATER: u64 = 2;

/// The parts of a network between which nothing gets through.
#[derive(Clone, Debug)]
pub(crate) struct Parts {
    /// The part that each member is in.
    of: Vec<u32>,
    count: u32,
}

impl Parts {
    pub(crate) fn new(network: &Network, barriers: &Barriers) -> Self {
        let members = network.members();
        if !barriers.bar_anything() {
            return Parts { of: vec![0; members as usize], count: 1 };
        }
        const NONE: u32 = u32::MAX;
        let mut parts = Parts { of: vec![NONE; members as usize], count: 0 };
        let mut rest: Vec<u32> = (0..members).rev().collect();
        while let Some(first) = rest.pop() {
            if parts.of[first as usize] != NONE {
                continue;
            }
            parts.of[first as usize] = parts.count;
            let mut found = vec![first];
            while let Some(at) = found.pop() {
                let mut meet = |peer: u32| {
                    let is_new = parts.of[peer as usize] == NONE && !barriers.bar(at, peer);
                    if is_new {
                        parts.of[peer as usize] = parts.count;
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
            parts.count += 1;
        }
        parts
    }

    /// Whether two positions are in the same part. For one that is no member there is no answer.
    #[inline]
    pub(crate) fn join(&self, a: u32, b: u32) -> Option<bool> {
        Some(self.of.get(a as usize)? == self.of.get(b as usize)?)
    }
}

/// The ids of those in reach, ascending.
type Reach = Arc<[Id]>;

/// Gives word of who is in reach.
#[derive(Debug)]
pub(crate) struct Herald {
    /// What each member reached when this was last looked at.
    before: Vec<Reach>,
    /// Something changed in this tick.
    changed: Option<u64>,
    came_up: Vec<u32>,
    /// What is to be told: when, to whom in which of its lives, what. Ascending by tick, then position.
    under_way: VecDeque<(u64, Vec<Word>)>,
}

/// Who is told what.
#[derive(Debug)]
pub(crate) struct Word {
    pub(crate) at: u32,
    /// In which of its lives.
    pub(crate) life: u32,
    pub(crate) reach: Reach,
}

impl Herald {
    /// Everybody reaches all members, some of which are not there yet.
    pub(crate) fn new(ids: impl Iterator<Item = Id>, is_anybody_absent: bool) -> Self {
        let mut ids: Vec<Id> = ids.collect();
        ids.sort_unstable();
        let all: Reach = ids.into();
        Herald {
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
    pub(crate) fn take(&mut self, tick: u64) -> Vec<Word> {
        self.under_way.pop_front_if(|(due, _)| *due <= tick).map_or_else(Vec::new, |(_, words)| words)
    }

    /// The tick is over: looks who reaches whom now, if anything changed. `id_of` and `lives` are by position.
    pub(crate) fn end_tick(
        &mut self,
        tick: u64,
        parts: impl FnOnce() -> Parts,
        books: &Books,
        lives: &[u32],
        id_of: impl Fn(u32) -> Id,
    ) {
        if self.changed.take().is_none() {
            return;
        }
        let parts = parts();
        let members = 0..self.before.len() as u32;
        let mut sets = vec![Vec::new(); parts.count as usize];
        members.clone().filter(|&at| books.is_live(at)).for_each(|at| sets[parts.of[at as usize] as usize].push(at));
        let reach = |set: Vec<u32>| -> Reach {
            let mut ids: Vec<Id> = set.into_iter().map(&id_of).collect();
            ids.sort_unstable();
            ids.into()
        };
        let sets: Vec<Reach> = sets.into_iter().map(reach).collect();
        let mut words = Vec::new();
        for at in members {
            let reach = &sets[parts.of[at as usize] as usize];
            let before = std::mem::replace(&mut self.before[at as usize], reach.clone());
            if books.is_live(at) && (before != *reach || self.came_up.contains(&at)) {
                words.push(Word { at, life: lives[at as usize], reach: reach.clone() });
            }
        }
        self.came_up.clear();
        if !words.is_empty() {
            self.under_way.push_back((tick + LATER, words));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::FaultKind::{self, Cut, Heal, Partition};
    use crate::topology::{Complete, Graph, Ring};

    fn parts(network: &Network, faults: &[FaultKind]) -> Vec<u32> {
        let mut barriers = Barriers::default();
        faults.iter().for_each(|fault| barriers.apply(fault, 1));
        Parts::new(network, &barriers).of
    }

    #[test]
    fn a_ring_falls_apart_at_its_second_cut() {
        let ring = Network::Ring(Ring { size: 5 });
        assert_eq!(parts(&ring, &[]), [0; 5]);
        assert_eq!(parts(&ring, &[Cut(4, 0)]), [0; 5]);
        assert_eq!(parts(&ring, &[Cut(4, 0), Cut(2, 1)]), [0, 0, 1, 1, 1]);
        assert_eq!(parts(&ring, &[Cut(4, 0), Cut(2, 1), Heal(0, 4)]), [0; 5]);
        assert_eq!(
            parts(&ring, &[Partition(vec![0, 1, 0, 1, 0])]),
            [0, 1, 2, 3, 0],
            "0 and 4 are neighbours, 2 is not"
        );
    }

    #[test]
    fn in_a_complete_network_one_goes_round_a_cut() {
        let complete = Network::Complete(Complete { size: 4 });
        assert_eq!(parts(&complete, &[Cut(0, 1), Cut(0, 2)]), [0; 4]);
        assert_eq!(parts(&complete, &[Cut(0, 1), Cut(0, 2), Cut(3, 0)]), [0, 1, 1, 1]);
        let parted = Partition(vec![0, 0, 1, 1]);
        assert_eq!(parts(&complete, std::slice::from_ref(&parted)), [0, 0, 1, 1]);
        assert_eq!(parts(&complete, &[parted, Heal(1, 2)]), [0; 4], "a mended link bridges a partition");
    }

    #[test]
    fn a_graph_falls_apart_where_its_bridges_are_cut() {
        let graph = Graph::new(4, |link| [(0, 1), (1, 2), (2, 3), (3, 1)].iter().for_each(|&(a, b)| link(a, b)));
        let graph = Network::Graph(graph.expect("the links are a graph"));
        assert_eq!(parts(&graph, &[Cut(1, 2)]), [0; 4]);
        assert_eq!(parts(&graph, &[Cut(0, 1)]), [0, 1, 1, 1]);
    }

    #[test]
    fn an_informer_outside_is_in_no_part() {
        let barriers = Barriers::default();
        let parts = Parts::new(&Network::InformedRing(Ring { size: 3 }), &barriers);
        assert_eq!((parts.join(0, 2), parts.join(0, 3)), (Some(true), None));
    }
}
