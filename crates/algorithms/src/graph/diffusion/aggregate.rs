//! What a diffusing computation gathers: the [`Aggregate`] trait and its implementations.
//!
//! Each node contributes once, when it is first reached. Values from its children are merged into its own. A node that
//! is reached a second time answers with an empty value.

use alloc::collections::BTreeMap;
use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt::Debug;
use core::hash::Hash;

use hustings_protocol::{Context, Id, Port, Protocol, Rank};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// A value that can be gathered.
pub trait AggregateValue: Clone + Eq + Hash + Debug + Serialize + DeserializeOwned + Send + Sync + 'static {}

impl<V: Clone + Eq + Hash + Debug + Serialize + DeserializeOwned + Send + Sync + 'static> AggregateValue for V {}

/// A way to gather a value over a whole network and to determine the winner from it.
///
/// Merging must be commutative, and merging `nothing` must change nothing.
pub trait Aggregate<R: Rank>: Debug + Send + Sync + 'static {
    /// The gathered value. Keep it at 8 bytes for plain ids: every `ack` carries it.
    type Value: AggregateValue;

    /// The contribution of a node.
    fn own<P: Protocol<Rank = R>, C: Context<P>>(&self, cx: &C) -> Self::Value;

    /// The answer of a node whose contribution is counted elsewhere.
    fn nothing(&self, own: R) -> Self::Value;

    /// Merges the value of a child.
    fn merge(&self, gathered: &mut Self::Value, more: Self::Value);

    /// The winner according to the gathered value; `source` is the node that gathered it.
    fn winner(&self, gathered: &Self::Value, source: R) -> R;

    /// Whether this node cheats by answering before the nodes behind it have.
    #[inline(always)]
    fn acks_early(&self, own: R) -> bool {
        let _ = own;
        false
    }
}

/// The greatest rank.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Greatest;

impl<R: Rank> Aggregate<R> for Greatest {
    type Value = R;

    #[inline(always)]
    fn own<P: Protocol<Rank = R>, C: Context<P>>(&self, cx: &C) -> R {
        cx.rank()
    }

    #[inline(always)]
    fn nothing(&self, own: R) -> R {
        own
    }

    #[inline(always)]
    fn merge(&self, gathered: &mut R, more: R) {
        *gathered = more.max(*gathered);
    }

    #[inline(always)]
    fn winner(&self, gathered: &R, _: R) -> R {
        *gathered
    }
}

/// The greatest ranks, greatest first.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Top {
    /// The number of ranks to keep.
    pub max: u32,
}

impl<R: Rank> Aggregate<R> for Top {
    type Value = Option<Arc<Vec<R>>>;

    fn own<P: Protocol<Rank = R>, C: Context<P>>(&self, cx: &C) -> Self::Value {
        (self.max > 0).then(|| Arc::new(alloc::vec![cx.rank()]))
    }

    fn nothing(&self, _: R) -> Self::Value {
        None
    }

    fn merge(&self, gathered: &mut Self::Value, more: Self::Value) {
        let Some(more) = more else { return };
        let Some(gathered) = gathered else {
            *gathered = Some(more);
            return;
        };
        let gathered = Arc::make_mut(gathered);
        gathered.extend_from_slice(&more);
        gathered.sort_unstable_by(|one, other| other.cmp(one));
        // A contribution may arrive twice if a message is duplicated.
        gathered.dedup();
        gathered.truncate(self.max as usize);
    }

    fn winner(&self, gathered: &Self::Value, source: R) -> R {
        gathered.as_ref().and_then(|ranks| ranks.first().copied()).unwrap_or(source)
    }
}

/// The number of nodes. The source itself leads.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Size;

impl<R: Rank> Aggregate<R> for Size {
    type Value = u64;

    fn own<P: Protocol<Rank = R>, C: Context<P>>(&self, _: &C) -> u64 {
        1
    }

    fn nothing(&self, _: R) -> u64 {
        0
    }

    fn merge(&self, gathered: &mut u64, more: u64) {
        // Only a faulty sender can exceed the range.
        *gathered = gathered.saturating_add(more);
    }

    fn winner(&self, _: &u64, source: R) -> R {
        source
    }
}

/// The votes of all nodes. Most votes win, ties go to the greater rank. Only nodes that took part can win, so a vote
/// for a dead node is lost.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Votes<R: Rank> {
    /// The given votes. Every other node votes for the greatest among itself and its neighbours.
    pub given: BTreeMap<Id, R>,
}

/// The votes for one candidate.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub struct Tally<R: Rank> {
    /// The candidate.
    pub candidate: R,
    /// The number of votes.
    pub votes: u32,
    /// Whether the candidate itself took part.
    pub present: bool,
}

impl<R: Rank> Votes<R> {
    fn vote<P: Protocol<Rank = R>, C: Context<P>>(&self, cx: &C) -> R {
        let own = cx.rank();
        let neighbours = (0..cx.degree()).filter_map(|port| cx.peer_rank(Port(port)));
        self.given.get(&own.id()).copied().unwrap_or_else(|| neighbours.fold(own, R::max))
    }
}

impl<R: Rank> Aggregate<R> for Votes<R> {
    /// Ascending by candidate.
    type Value = Option<Arc<Vec<Tally<R>>>>;

    fn own<P: Protocol<Rank = R>, C: Context<P>>(&self, cx: &C) -> Self::Value {
        let (own, choice) = (cx.rank(), self.vote(cx));
        let mut tallies = alloc::vec![Tally { candidate: own, votes: u32::from(choice == own), present: true }];
        if choice != own {
            tallies.push(Tally { candidate: choice, votes: 1, present: false });
            tallies.sort_unstable_by_key(|tally| tally.candidate);
        }
        Some(Arc::new(tallies))
    }

    fn nothing(&self, _: R) -> Self::Value {
        None
    }

    fn merge(&self, gathered: &mut Self::Value, more: Self::Value) {
        let Some(more) = more else { return };
        let Some(gathered) = gathered else {
            *gathered = Some(more);
            return;
        };
        let gathered = Arc::make_mut(gathered);
        gathered.extend_from_slice(&more);
        gathered.sort_by_key(|tally| tally.candidate);
        gathered.dedup_by(|later, first| {
            let is_same = later.candidate == first.candidate;
            if is_same {
                first.votes = first.votes.saturating_add(later.votes);
                first.present |= later.present;
            }
            is_same
        });
    }

    fn winner(&self, gathered: &Self::Value, source: R) -> R {
        let tallies = gathered.iter().flat_map(|tallies| tallies.iter());
        let best = tallies.filter(|tally| tally.present).max_by_key(|tally| (tally.votes, tally.candidate));
        best.map_or(source, |tally| tally.candidate)
    }
}

#[cfg(test)]
mod tests {
    use alloc::vec;

    use super::*;

    #[test]
    fn sums_do_not_overflow() {
        let votes = Votes { given: BTreeMap::new() };
        let many = || Some(Arc::new(vec![Tally { candidate: Id(1), votes: u32::MAX, present: true }]));
        let mut gathered = many();
        votes.merge(&mut gathered, many());
        assert_eq!(gathered, many());
        let mut size = u64::MAX;
        Aggregate::<Id>::merge(&Size, &mut size, 1);
        assert_eq!(size, u64::MAX);
    }
}
