//! The messages of the diffusing computation and of the clique.

use alloc::sync::Arc;

use hustings_protocol::Rank;
use serde::{Deserialize, Serialize};

use super::Diffused;
use super::membership::{CliqueNumber, Membership};

/// The messages; 16 bytes for plain ids.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// A message of the diffusing computation.
    Diffused(Diffused<R>),
    /// From the leader: the receiver is a subordinate in this clique.
    Invite(Arc<Membership<R>>),
    /// Asks for a `Pong`.
    Ping(CliqueNumber),
    /// The answer to `Ping`.
    Pong(CliqueNumber),
    /// To the leader: the sender has verified its pairs and stores what the leader knows.
    Confirm(CliqueNumber),
    /// The answer to `Invite` from a node that has another leader.
    Decline(CliqueNumber),
    /// To the other subordinates: the leader failed, and the sender claims to succeed it.
    Failed(CliqueNumber),
    /// The answer to `Failed`: the sender agrees.
    Agree(CliqueNumber),
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
    fn a_message_takes_16_bytes_and_its_kinds_start_with_those_of_the_computation() {
        assert_eq!(size_of::<Message<Id>>(), 16);
        let (all, inner) = (Message::<Id>::KINDS, <Diffused<Id> as hustings_protocol::Message>::KINDS);
        assert_eq!(all[..DIFFUSED], *inner);
        assert_eq!(all[Message::<Id>::Decline(CliqueNumber::default()).kind()], "decline");
    }
}
