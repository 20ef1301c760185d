//! How a leader chooses its subordinates.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hustings_protocol::{Context, Id, Port, Rank};

use super::Rules;

crate::choices! {
    /// The order in which subordinates are chosen.
    pub enum Choice {
        /// The leader's neighbours by position, then the others by position.
        Neighbours = "neighbours",
        /// The greatest ranks; better newcomers replace worse subordinates.
        Best = "best",
        /// A random order.
        Random = "random",
    }
}

/// All possible members by position. It does not say which are up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Roster<R> {
    ranks: Arc<[R]>,
    /// Their ids, ascending.
    ids: Arc<[Id]>,
    /// Whether the sending order within a tick is visible.
    is_ordered: bool,
}

impl<R: Rank> Roster<R> {
    pub(super) fn new(ranks: &[R], bandwidth: Option<u64>) -> Self {
        let mut ids: Vec<Id> = ranks.iter().map(|rank| rank.id()).collect();
        ids.sort_unstable();
        Roster { ranks: ranks.into(), ids: ids.into(), is_ordered: bandwidth.is_some() }
    }

    /// Orders receivers by position, the order of sending. Skipped where the order is invisible, because it visits all
    /// members.
    pub(super) fn in_order(&self, ids: Vec<Id>) -> Vec<Id> {
        if !self.is_ordered {
            return ids;
        }
        self.ranks.iter().map(|rank| rank.id()).filter(|id| ids.contains(id)).collect()
    }

    /// The rank of a member.
    pub(super) fn rank(&self, id: Id) -> Option<R> {
        self.ranks.iter().copied().find(|rank| rank.id() == id)
    }

    /// Up to `wanted` members that are neither taken nor unreachable.
    pub(super) fn pick<C: Context<Rules<R>>>(
        &self,
        choice: Choice,
        wanted: usize,
        taken: &[R],
        unreachable: &UnreachableMembers,
        cx: &mut C,
    ) -> Vec<R> {
        let own = cx.rank();
        let is_free = |rank: &R| *rank != own && !taken.contains(rank) && !unreachable.contains(rank.id());
        let mut picked: Vec<R> = Vec::new();
        if wanted == 0 {
            return picked;
        }
        match choice {
            Choice::Neighbours => {
                let neighbours = (0..cx.degree()).filter_map(|port| cx.peer_rank(Port(port)));
                picked.extend(neighbours.filter(is_free).take(wanted));
                let missing = wanted - picked.len();
                if missing > 0 {
                    let others = self.ranks.iter().copied().filter(is_free).filter(|rank| !picked.contains(rank));
                    let others: Vec<R> = others.take(missing).collect();
                    picked.extend(others);
                }
            }
            Choice::Best => {
                for rank in self.ranks.iter().copied().filter(is_free) {
                    let place = picked.partition_point(|better| *better > rank);
                    if place < wanted {
                        picked.truncate(wanted - 1);
                        picked.insert(place, rank);
                    }
                }
            }
            Choice::Random => {
                picked.extend(self.ranks.iter().copied().filter(is_free));
                let wanted = wanted.min(picked.len());
                for place in 0..wanted {
                    let left = (picked.len() - place) as u64;
                    picked.swap(place, place + cx.draw(left) as usize);
                }
                picked.truncate(wanted);
            }
        }
        picked
    }
}

/// The members that a node believes to be unreachable.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct UnreachableMembers(Option<Arc<Vec<Id>>>);

/// The number of entries that nodes outside cliques keep in all lists together. In a network split in two halves each
/// node would keep half of the members, which is too much in large networks.
const ALL_KEPT: usize = 1 << 23;
/// The number of entries that each list may have in any case.
const MAX_KEPT: usize = 256;

impl UnreachableMembers {
    /// The list after an update that these nodes, ascending, are reachable. Every node gets the update, so it is read
    /// once, in parallel with the member list.
    pub(super) fn after<R: Rank>(reachable: &[Id], roster: &Roster<R>, is_member: bool) -> Self {
        let mut there = reachable.iter().peekable();
        let is_gone = |id: &&Id| {
            while there.next_if(|other| other < id).is_some() {}
            there.next_if_eq(id).is_none()
        };
        let unreachable: Vec<Id> = roster.ids.iter().filter(is_gone).copied().collect();
        let most = MAX_KEPT.max(ALL_KEPT / roster.ids.len().max(1));
        if unreachable.is_empty() || unreachable.len() > most && !is_member {
            UnreachableMembers(None)
        } else {
            UnreachableMembers(Some(Arc::new(unreachable)))
        }
    }

    pub(super) fn contains(&self, id: Id) -> bool {
        self.0.as_ref().is_some_and(|list| list.binary_search(&id).is_ok())
    }

    pub(super) fn insert(&mut self, id: Id) {
        let unreachable = Arc::make_mut(self.0.get_or_insert_default());
        if let Err(place) = unreachable.binary_search(&id) {
            unreachable.insert(place, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_missing_from_the_update_are_unreachable() {
        let roster = Roster::new(&[Id(5), Id(2), Id(9), Id(7)], None);
        let unreachable = |ids: &[u64]| {
            let there: Vec<Id> = ids.iter().copied().map(Id).collect();
            UnreachableMembers::after(&there, &roster, false).0.map(|list| list.to_vec())
        };
        assert_eq!(unreachable(&[2, 5, 7, 9]), None);
        assert_eq!(unreachable(&[5, 7]), Some(alloc::vec![Id(2), Id(9)]));
        assert_eq!(
            unreachable(&[1, 2, 6, 9, 11]),
            Some(alloc::vec![Id(5), Id(7)]),
            "ids outside the roster are ignored"
        );
        assert_eq!(unreachable(&[]), Some(alloc::vec![Id(2), Id(5), Id(7), Id(9)]));
    }

    #[test]
    fn only_clique_members_keep_a_very_long_list() {
        let ranks: Vec<Id> = (0..1 << 16).map(Id).collect();
        let (roster, few) = (Roster::new(&ranks, None), &ranks[..ranks.len() - 300]);
        assert_eq!(UnreachableMembers::after(few, &roster, false), UnreachableMembers(None));
        assert!(UnreachableMembers::after(few, &roster, true).contains(Id((1 << 16) - 1)));
        let small = Roster::new(&ranks[..2000], None);
        assert!(
            UnreachableMembers::after(&ranks[..1000], &small, false).contains(Id(1999)),
            "a short list is kept by every node"
        );
    }
}
