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
    /// Whether it can be seen in which order one node's messages of one tick leave.
    is_ordered: bool,
}

impl<R: Rank> Roster<R> {
    pub(super) fn new(ranks: &[R], bandwidth: Option<u64>) -> Self {
        Roster { ranks: ranks.into(), is_ordered: bandwidth.is_some() }
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

/// A node that belongs to no clique keeps no longer list than this: with a network in two halves, everybody would keep
/// half of it.
const MOST_KEPT: usize = 256;

impl Gone {
    /// After a word that these, ascending, can be reached.
    pub(super) fn after<R: Rank>(reachable: &[Id], roster: &Roster<R>, is_member: bool) -> Self {
        let ids = roster.ranks.iter().map(|rank| rank.id());
        let mut gone: Vec<Id> = ids.filter(|id| reachable.binary_search(id).is_err()).collect();
        if gone.is_empty() || gone.len() > MOST_KEPT && !is_member {
            return Gone(None);
        }
        gone.sort_unstable();
        Gone(Some(Arc::new(gone)))
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
