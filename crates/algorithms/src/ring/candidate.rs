//! The messages of the algorithms in which nodes send nothing but their ranks: Chang–Roberts, Le Lann, Franklin.

use hustings_protocol::{Rank, kinds};
use serde::{Deserialize, Serialize};

use super::plain::announces;

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// The rank of somebody in the race.
    Candidate(R),
    /// The winner's.
    Elected(R),
}
kinds!(Message<R>: Candidate = "candidate", Elected = "elected");
announces!(Message);

impl<R: Rank> Message<R> {
    /// The rank in the message, whichever it is.
    #[inline(always)]
    pub(super) fn rank(self) -> R {
        match self {
            Message::Candidate(rank) | Message::Elected(rank) => rank,
        }
    }
}
