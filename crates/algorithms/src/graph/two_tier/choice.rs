//! Whom a leader takes for a subordinate.

use alloc::sync::Arc;
use alloc::vec::Vec;

use hustings_protocol::{Context, Id, Port, Rank};

use super::Rules;

crate::choices! {
    /// By what subordinates are chosen.
    pub enum Choice {
        /// The leader's neighbours by position, then the others by position.
        Neighbours = "neighbours",
        /// The greatest ranks; better newcomers take the places of worse ones.
        Best = "best",
        /// Anybody.
        Random = "random",
    }
}

/// All members that there can be, by position. It does not say who is up.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Roster<R> {
    ranks: Arc<[R]>,
    /// Their ids, ascending.
    ids: Arc<[Id]>,
    /// Whether it can be seen in which order one node's messages of one tick leave.
    is_ordered: bool,
}

impl<R: Rank> Roster<R> {
    pub(super) fn new(ranks: &[R], bandwidth: Option<u64>) -> Self {
        let mut ids: Vec<Id> = ranks.iter().map(|rank| rank.id()).collect();
        ids.sort_unstable();
        Roster { ranks: ranks.into(), ids: ids.into(), is_ordered: bandwidth.is_some() }
    }

    /// Puts receivers in the order in which messages are to leave: by position. Where nobody can tell, they stay as
    /// they are, because it takes a look at all members.
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

    /// Up to `wanted` members that are neither taken nor gone.
    pub(super) fn pick<C: Context<Rules<R>>>(
        &self,
        choice: Choice,
        wanted: usize,
        taken: &[R],
        gone: &Gone,
        cx: &mut C,
    ) -> Vec<R> {
        let own = cx.rank();
        let is_free = |rank: &R| *rank != own && !taken.contains(rank) && !gone.contains(rank.id());
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

/// Which members a node believes to be out of reach.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Gone(Option<Arc<Vec<Id>>>);

/// How many members all nodes together keep in their lists, if they belong to no clique. With a network in two halves
/// everybody would keep half of it, which is too much where there are very many.
const ALL_KEPT: usize = 1 << 23;
/// What each of them may keep all the same.
const MAX_KEPT: usize = 256;

impl Gone {
    /// After a word that these, ascending, can be reached. Everybody gets the word, so it is read once, side by side
    /// with the list of members.
    pub(super) fn after<R: Rank>(reachable: &[Id], roster: &Roster<R>, is_member: bool) -> Self {
        let mut there = reachable.iter().peekable();
        let is_gone = |id: &&Id| {
            while there.next_if(|other| other < id).is_some() {}
            there.next_if_eq(id).is_none()
        };
        let gone: Vec<Id> = roster.ids.iter().filter(is_gone).copied().collect();
        let most = MAX_KEPT.max(ALL_KEPT / roster.ids.len().max(1));
        if gone.is_empty() || gone.len() > most && !is_member { Gone(None) } else { Gone(Some(Arc::new(gone))) }
    }

    pub(super) fn contains(&self, id: Id) -> bool {
        self.0.as_ref().is_some_and(|gone| gone.binary_search(&id).is_ok())
    }

    pub(super) fn insert(&mut self, id: Id) {
        let gone = Arc::make_mut(self.0.get_or_insert_default());
        if let Err(place) = gone.binary_search(&id) {
            gone.insert(place, id);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whoever_is_not_in_the_word_is_gone() {
        let roster = Roster::new(&[Id(5), Id(2), Id(9), Id(7)], None);
        let gone = |ids: &[u64]| {
            let there: Vec<Id> = ids.iter().copied().map(Id).collect();
            Gone::after(&there, &roster, false).0.map(|gone| gone.to_vec())
        };
        assert_eq!(gone(&[2, 5, 7, 9]), None);
        assert_eq!(gone(&[5, 7]), Some(alloc::vec![Id(2), Id(9)]));
        assert_eq!(gone(&[1, 2, 6, 9, 11]), Some(alloc::vec![Id(5), Id(7)]), "strangers count for nothing");
        assert_eq!(gone(&[]), Some(alloc::vec![Id(2), Id(5), Id(7), Id(9)]));
    }

    #[test]
    fn a_list_that_is_too_long_is_kept_in_a_clique_only() {
        let ranks: Vec<Id> = (0..1 << 16).map(Id).collect();
        let (roster, few) = (Roster::new(&ranks, None), &ranks[..ranks.len() - 300]);
        assert_eq!(Gone::after(few, &roster, false), Gone(None));
        assert!(Gone::after(few, &roster, true).contains(Id((1 << 16) - 1)));
        let small = Roster::new(&ranks[..2000], None);
        assert!(Gone::after(&ranks[..1000], &small, false).contains(Id(1999)), "everybody has room for that");
    }
}
