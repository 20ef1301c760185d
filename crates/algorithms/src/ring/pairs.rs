//! What Dolev–Klawe–Rodeh and Peterson share: on a directed ring a node cannot see its right neighbour, so each active
//! node plays the part of its left one. `first` brings it the id whose part it plays, `second` what that id has to
//! beat.
//!
//! Links must be FIFO: then messages come in as first, second, first, second, …, each pair from one round, and a node
//! needs no queue however far its neighbours are ahead.

use hustings_protocol::{Context, Port, Rank, kinds};
use serde::{Deserialize, Serialize};

use super::plain::{Plain, Race, announces};

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// The current id of the active node before this one.
    First(R),
    /// Of the one before that (Dolev–Klawe–Rodeh), or the greater of the two (Peterson).
    Second(R),
    /// The winner's.
    Elected(R),
}
kinds!(Message<R>: First = "first", Second = "second", Elected = "elected");
announces!(Message);

/// What an active node remembers.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Active<R> {
    /// The id whose part it plays in this round.
    pub(super) current: R,
    /// The one before it, as `first` told.
    pub(super) before: Option<R>,
}

impl<R: Rank> Active<R> {
    /// Starts a round in which the node plays the part of this id.
    #[inline(always)]
    pub(super) fn play<T, C>(current: R, cx: &mut C) -> Self
    where
        T: Race<Rank = R, Message = Message<R>>,
        C: Context<Plain<T>>,
    {
        cx.send(Port::NEXT, Message::First(current));
        Active { current, before: None }
    }
}
