//! What nodes say: the words of the diffusing computation, and those of the clique.

use alloc::sync::Arc;

use hustings_protocol::Rank;
use serde::{Deserialize, Serialize};

use super::Diffused;
use super::roll::{Number, Roll};

/// What nodes say. 16 bytes for plain ids: the clique's words have their place in that of the others.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// A word of the election, or of the announcement.
    Diffused(Diffused<R>),
    /// From the leader: you stand by in this clique.
    Invite(Arc<Roll<R>>),
    /// Do you hear me?
    Ping(Number),
    /// I do.
    Pong(Number),
    /// To the leader: all that I had to verify hear me, and I keep what you know.
    Confirm(Number),
    /// To one that invites: I have another leader.
    Decline(Number),
    /// To the other subordinates: the leader is gone, and I want to follow it.
    Failed(Number),
    /// The answer to that: so it is.
    Agree(Number),
}

const DIFFUSED: usize = 8;

impl<R: Rank> hustings_protocol::Message for Message<R> {
    const KINDS: &'static [&'static str] = &[
        "election",
        "ack",
        "notify",
        "leader",
        "leader-ack",
        "probe",
        "reply",
        "beacon",
        "invite",
        "ping",
        "pong",
        "confirm",
        "failed",
        "agree",
        "decline",
    ];

    #[inline(always)]
    fn kind(&self) -> usize {
        match self {
            Message::Diffused(message) => message.kind(),
            Message::Invite(_) => DIFFUSED,
            Message::Ping(_) => DIFFUSED + 1,
            Message::Pong(_) => DIFFUSED + 2,
            Message::Confirm(_) => DIFFUSED + 3,
            Message::Failed(_) => DIFFUSED + 4,
            Message::Agree(_) => DIFFUSED + 5,
            Message::Decline(_) => DIFFUSED + 6,
        }
    }

    #[inline(always)]
    fn is_periodic(&self) -> bool {
        matches!(self, Message::Diffused(message) if message.is_periodic())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use hustings_protocol::{Id, Message as _};

    #[test]
    fn a_message_has_sixteen_bytes_and_its_kinds_begin_with_those_of_the_computation() {
        assert_eq!(size_of::<Message<Id>>(), 16);
        let (all, inner) = (Message::<Id>::KINDS, <Diffused<Id> as hustings_protocol::Message>::KINDS);
        assert_eq!(all[..DIFFUSED], *inner);
        assert_eq!(all[Message::<Id>::Decline(Number::default()).kind()], "decline");
    }
}
