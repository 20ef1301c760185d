//! The messages of invitation.

use hustings_protocol::Rank;
use serde::{Deserialize, Serialize};

/// The messages.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// Asks whether the receiver leads.
    AreYouCoordinator {
        /// The purpose of the call.
        call: Call,
        /// Whether this is periodic traffic.
        periodic: bool,
    },
    /// The sender leads.
    Yes {
        /// As in the question.
        periodic: bool,
    },
    /// Asks the receiver to join a group.
    Invitation {
        /// The leader of the group.
        leader: R,
        /// The number of the group.
        group: u32,
    },
    /// The sender has joined the group with this number.
    Accept(u32),
    /// The group with this number is complete.
    Ready(u32),
}

/// The purpose of a call.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// To find other leaders.
    Others {
        /// Whether the caller has lost its own leader.
        lost: bool,
    },
    /// To check the caller's own leader, in the group with this number.
    Own(u32),
}

impl<R: Rank> hustings_protocol::Message for Message<R> {
    const KINDS: &'static [&'static str] = &["areyoucoordinator", "yes", "invitation", "accept", "ready"];

    fn kind(&self) -> usize {
        match self {
            Message::AreYouCoordinator { .. } => 0,
            Message::Yes { .. } => 1,
            Message::Invitation { .. } => 2,
            Message::Accept(_) => 3,
            Message::Ready(_) => 4,
        }
    }

    fn is_periodic(&self) -> bool {
        matches!(self, Message::AreYouCoordinator { periodic: true, .. } | Message::Yes { periodic: true })
    }
}
