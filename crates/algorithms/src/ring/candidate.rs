//! The messages of algorithms whose nodes send only their ranks: Chang–Roberts, Le Lann, Franklin.

use hustings_protocol::{Rank, kinds};
use serde::{Deserialize, Serialize};

use super::election::announces;

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// The rank of a candidate.
    Candidate(R),
    /// The announcement: the winner's rank.
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
