//! What the nodes of invitation say.

use hustings_protocol::Rank;
use serde::{Deserialize, Serialize};

/// What nodes say.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
pub enum Message<R: Rank> {
    /// Do you lead?
    AreYouCoordinator {
        /// What for.
        call: Call,
        /// Whether it is one of the calls that never end.
        periodic: bool,
    },
    /// I do.
    Yes {
        /// As in the question.
        periodic: bool,
    },
    /// Join this leader's group with this number.
    Invitation {
        /// Who leads it.
        leader: R,
        /// Its number.
        group: u32,
    },
    /// I have joined the group with this number.
    Accept(u32),
    /// The group with this number is complete.
    Ready(u32),
}

/// What a call is for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Call {
    /// To find other leaders.
    Others {
        /// Whether the caller has lost its own.
        lost: bool,
    },
    /// To find out whether one's own is there, in the group with this number.
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
