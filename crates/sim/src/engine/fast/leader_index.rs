//! Which leader each node names, which nodes lead, and since when. Every change takes constant time.

use std::collections::{BTreeMap, HashMap};

use hustings_protocol::{Id, Rank};

use super::large_pages::filled;
use crate::outcome::Times;

/// The entry of nodes that name no leader.
const NOBODY: u32 = 0;

/// Which leader each node of a range of positions names.
pub(super) struct LeaderIndex {
    /// The leader that each node names, as an index into `named`.
    names: Vec<u32>,
    /// Every id that was ever named, and how many live nodes name it now. Entry 0 stands for no leader.
    named: Vec<(Option<Id>, u64)>,
    /// The entry that was used last. It is almost always the next one to be used, too.
    latest: u32,
    /// The entry of each id. Never iterated.
    entries: HashMap<Id, u32>,
    /// Live leaders, and since when they lead.
    leaders: BTreeMap<u32, u64>,
    /// A bit for each leader, for a fast check in `depose`; empty before the first leader.
    leading: Vec<u64>,
    live: u64,
    changed: bool,
    first: u32,
}

impl LeaderIndex {
    pub(super) fn new(range: std::ops::Range<u32>) -> Self {
        let size = range.len();
        LeaderIndex {
            names: filled(size, NOBODY),
            named: vec![(None, size as u64)],
            latest: NOBODY,
            entries: HashMap::new(),
            leaders: BTreeMap::new(),
            leading: Vec::new(),
            live: size as u64,
            changed: false,
            first: range.start,
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.names.len() * size_of::<u32>()
    }

    #[inline(always)]
    fn place(&self, node: u32) -> usize {
        (node - self.first) as usize
    }

    #[inline(always)]
    fn set(&mut self, node: u32, entry: u32) {
        let place = self.place(node);
        let old = self.names[place];
        if old != entry {
            self.names[place] = entry;
            self.named[old as usize].1 -= 1;
            self.named[entry as usize].1 += 1;
            self.changed = true;
        }
    }

    #[inline(always)]
    fn entry(&mut self, id: Id) -> u32 {
        if self.named[self.latest as usize].0 == Some(id) {
            return self.latest;
        }
        self.latest = self.look_up(id);
        self.latest
    }

    #[cold]
    #[inline(never)]
    fn look_up(&mut self, id: Id) -> u32 {
        let next = self.named.len() as u32;
        let entry = *self.entries.entry(id).or_insert(next);
        if entry == next {
            self.named.push((Some(id), 0));
        }
        entry
    }

    #[inline(always)]
    pub(super) fn follow(&mut self, node: u32, leader: Id) {
        let entry = self.entry(leader);
        self.set(node, entry);
        self.depose(node);
    }

    #[inline(always)]
    fn depose(&mut self, node: u32) {
        let place = self.place(node);
        if self.leading.get(place / 64).is_some_and(|word| word >> (place % 64) & 1 != 0) {
            self.no_longer_leads(node);
        }
    }

    #[cold]
    #[inline(never)]
    fn no_longer_leads(&mut self, node: u32) {
        let place = self.place(node);
        self.leading[place / 64] &= !(1 << (place % 64));
        self.leaders.remove(&node);
        self.changed = true;
    }

    #[cold]
    #[inline(never)]
    pub(super) fn lead(&mut self, node: u32, id: Id, tick: u64) {
        let entry = self.entry(id);
        self.set(node, entry);
        self.leading.resize(self.names.len().div_ceil(64), 0);
        let place = self.place(node);
        self.leading[place / 64] |= 1 << (place % 64);
        self.changed |= !self.leaders.contains_key(&node);
        self.leaders.entry(node).or_insert(tick);
    }

    #[cold]
    #[inline(never)]
    pub(super) fn forget(&mut self, node: u32) {
        self.set(node, NOBODY);
        self.depose(node);
    }

    /// A node goes down: it no longer names a leader or leads.
    pub(super) fn crash(&mut self, node: u32) {
        self.set(node, NOBODY);
        self.depose(node);
        self.named[NOBODY as usize].1 -= 1;
        self.live -= 1;
        self.changed = true;
        let most = (0..self.named.len()).max_by_key(|&entry| self.named[entry].1);
        self.latest = most.expect("entry 0 is always there") as u32;
    }

    /// Whether all live nodes name the same leader. If so, it is the latest entry, because the last node to name a
    /// leader, or the last crash, completed the agreement.
    #[inline(always)]
    fn is_unanimous(&self) -> bool {
        self.named[self.latest as usize].1 == self.live
    }

    /// The leader that a node names.
    pub(super) fn names(&self, node: u32) -> Option<Id> {
        self.named[self.names[self.place(node)] as usize].0
    }

    /// Whether anything changed since the last call.
    #[inline(always)]
    pub(super) fn take_changed(&mut self) -> bool {
        std::mem::take(&mut self.changed)
    }

    pub(super) fn live(&self) -> u64 {
        self.live
    }

    pub(super) fn leaders(&self) -> impl Iterator<Item = (u32, u64)> {
        self.leaders.iter().map(|(&node, &since)| (node, since))
    }

    /// The number of live nodes that name this id.
    pub(super) fn supporters(&self, id: Id) -> u64 {
        if self.named[self.latest as usize].0 == Some(id) {
            return self.named[self.latest as usize].1;
        }
        self.entries.get(&id).map_or(0, |&entry| self.named[entry as usize].1)
    }
}

/// The times of the election so far, over the leader indices of all ranges.
#[derive(Default)]
pub(super) struct ElectionTimes {
    /// The leader that all live nodes name, and since when.
    agreed: Option<(u32, u64)>,
    pub(super) quiescent: Option<u64>,
}

impl ElectionTimes {
    /// Called at the end of every tick in which a leader index changed.
    #[inline]
    pub(super) fn end_of_tick<R: Rank>(&mut self, tick: u64, leader_indices: &[&LeaderIndex], ranks: &[R]) {
        let agreed = agreement(leader_indices, ranks);
        if agreed != self.agreed.map(|(leader, _)| leader) {
            self.agreed = agreed.map(|leader| (leader, tick));
        }
    }

    pub(super) fn times<R: Rank>(&self, leader_indices: &[&LeaderIndex], ranks: &[R]) -> Times {
        let elected = final_leader(leader_indices, ranks).map(|(_, since)| since);
        Times { elected, agreed: self.agreed.map(|(_, since)| since), quiescent: self.quiescent }
    }
}

/// The live leader with the greatest rank, and since when it leads.
pub(super) fn final_leader<R: Rank>(leader_indices: &[&LeaderIndex], ranks: &[R]) -> Option<(u32, u64)> {
    leader_indices.iter().flat_map(|leader_index| leader_index.leaders()).max_by_key(|&(node, _)| ranks[node as usize])
}

/// The live leader that every live node names.
#[inline(always)]
pub(super) fn agreement<R: Rank>(leader_indices: &[&LeaderIndex], ranks: &[R]) -> Option<u32> {
    // Almost always they disagree, which this check finds out quickly.
    if leader_indices.iter().all(|leader_index| leader_index.is_unanimous()) {
        common_leader(leader_indices, ranks)
    } else {
        None
    }
}

/// The live leader that every live node names, given that all nodes of each range name the same leader.
#[inline(never)]
fn common_leader<R: Rank>(leader_indices: &[&LeaderIndex], ranks: &[R]) -> Option<u32> {
    let (leader, _) = final_leader(leader_indices, ranks)?;
    let id = ranks[leader as usize].id();
    leader_indices.iter().all(|leader_index| leader_index.supporters(id) == leader_index.live()).then_some(leader)
}
