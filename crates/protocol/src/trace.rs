//! The records of a trace.
//!
//! In JSON a record is one flat object. This one is the arrival of the third message that record 7 sent:
//!
//! ```json
//! {"number":9,"tick":4,"node":2,"cause":7,"nth":2,"what":"handled",
//!  "event":{"message":{"from":1,"message":{"candidate":5}}},"peer":1,"effects":["lead"]}
//! ```
//!
//! The fields `nth`, `copy`, `coins` and all that are null may be omitted.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::{Effect, Event};

/// One entry of a trace.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record<M> {
    /// The number of the record, from 0.
    pub number: u64,
    /// The tick.
    pub tick: u64,
    /// The position of the node.
    pub node: u32,
    /// The record whose effects caused it: the one that sent the message, or set the timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// The number of the message, from 0, among all messages that the cause sent, if a message arrives, is lost or
    /// returns. Effects count in their order. A send to several ports is a message for each, by ascending port, even if
    /// it is one broadcast. A skip counts the messages that it sends again. 0 for everything else.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nth: u32,
    /// Whether the second delivery of a duplicated message arrives.
    #[serde(default, skip_serializing_if = "is_false")]
    pub copy: bool,
    /// What happened.
    #[serde(flatten)]
    pub what: TraceEvent<M>,
}

fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_false(flag: &bool) -> bool {
    !flag
}

/// What can happen to a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum TraceEvent<M> {
    /// It handled an event.
    Handled {
        /// The event.
        event: Event<M>,
        /// The position that sent the message, or that could not be reached if the message returned.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer: Option<u32>,
        /// The coins it drew: bound and result.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        coins: Vec<(u64, u64)>,
        /// Its effects, in order.
        effects: Vec<Effect<M>>,
    },
    /// A message to it did not arrive.
    Lost {
        /// The sender.
        peer: u32,
        /// The content.
        message: M,
        /// The reason.
        why: Loss,
    },
    /// It crashed.
    Crashed,
    /// It recovered, with its initial state.
    Recovered,
    /// It joined.
    Joined,
    /// It left gracefully.
    Retired,
    /// Its link to a neighbour was cut.
    LinkCut {
        /// The neighbour.
        peer: u32,
    },
    /// Its link to a neighbour works again.
    LinkHealed {
        /// The neighbour.
        peer: u32,
    },
    /// Messages of the failure detector were sent that concern it as a leader. They do not belong to the algorithm and
    /// come last in their tick.
    Notice {
        /// Their kind.
        kind: NoticeKind,
        /// Their number in this tick.
        count: u64,
    },
}

/// The messages of failure detectors.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeKind {
    /// Asks a leader whether it is alive.
    Poll,
    /// A leader's answer to a poll.
    Alive,
    /// A leader's periodic sign of life.
    Heartbeat,
}

impl NoticeKind {
    /// The name in reports.
    pub const fn name(self) -> &'static str {
        match self {
            NoticeKind::Poll => "poll",
            NoticeKind::Alive => "alive",
            NoticeKind::Heartbeat => "heartbeat",
        }
    }
}

/// Why a message did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The receiver was down.
    ReceiverDown,
    /// By chance.
    Chance,
    /// The link was cut.
    Cut,
    /// Somebody removed it from the link by hand.
    Dropped,
}
