//! Shared by Dolev–Klawe–Rodeh and Peterson: on a directed ring a node receives nothing from its successor, so each
//! active node compares on behalf of its active predecessor. `first` brings the id to compare, `second` the id that it
//! has to beat.
//!
//! Links must be FIFO. Messages then arrive as first, second, first, second, …, each pair from one round, and a node
//! needs no queue.

use hustings_protocol::{Context, Port, Rank, kinds};
use serde::{Deserialize, Serialize};

use super::election::{RingElection, RingProtocol, announces};

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// The current id of the active node before this one.
    First(R),
    /// The id of the one before that (Dolev–Klawe–Rodeh), or the greater of the two (Peterson).
    Second(R),
    /// The announcement: the winner's rank.
    Elected(R),
}
kinds!(Message<R>: First = "first", Second = "second", Elected = "elected");
announces!(Message);

/// The state of an active node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Active<R> {
    /// The id that the node stands for in this round.
    pub(super) current: R,
    /// The id received in `first`.
    pub(super) before: Option<R>,
}

impl<R: Rank> Active<R> {
    /// Starts a round with this id.
    #[inline(always)]
    pub(super) fn play<T, C>(current: R, cx: &mut C) -> Self
    where
        T: RingElection<Rank = R, Message = Message<R>>,
        C: Context<RingProtocol<T>>,
    {
        cx.send(Port::NEXT, Message::First(current));
        Active { current, before: None }
    }
}
