//! The trace's types: what happened to whom, when, and because of what.
//!
//! As JSON a record is one flat object. This is the third message that record 7 sent, when it arrives:
//!
//! ```json
//! {"number":9,"tick":4,"node":2,"cause":7,"nth":2,"what":"handled",
//!  "event":{"message":{"from":1,"message":{"candidate":5}}},"peer":1,"effects":["lead"]}
//! ```
//!
//! Whoever writes one by hand may leave out `nth`, `copy`, `coins` and whatever is null.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::{Effect, Event};

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record<M> {
    /// Counts the records from 0.
    pub number: u64,
    /// When.
    pub tick: u64,
    /// To which position.
    pub node: u32,
    /// The record whose effects caused it: the sending of a message, the setting of a timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// Which message it is, where a message arrives, is lost or comes back: its place, from 0, among all that the cause
    /// sent. The effects count in their order; a send to several ports is a message for each, by ascending port, also
    /// where it is one broadcast; a skip is as many messages as it sends again. 0 for everything else.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub nth: u32,
    /// Whether it is the copy of that message that arrives, where messages come twice.
    #[serde(default, skip_serializing_if = "is_false")]
    pub copy: bool,
    /// What.
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
        /// Which.
        event: Event<M>,
        /// For messages: the position that sent it. For returned ones: the position that could not be reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer: Option<u32>,
        /// The coins it drew: bound and result.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        coins: Vec<(u64, u64)>,
        /// What it did, in order.
        effects: Vec<Effect<M>>,
    },
    /// A message for it did not arrive.
    Lost {
        /// Who sent it.
        peer: u32,
        /// What it said.
        message: M,
        /// Why.
        why: Loss,
    },
    /// It stopped.
    Crashed,
    /// It came back with fresh state.
    Recovered,
    /// It entered.
    Joined,
    /// It left in good order.
    Retired,
    /// Its link to a neighbour was cut.
    LinkCut {
        /// Which neighbour.
        peer: u32,
    },
    /// Its link to a neighbour works again.
    LinkHealed {
        /// Which neighbour.
        peer: u32,
    },
    /// Messages were sent that concern it as a leader and are none of the algorithm's. They come last in their tick.
    Notice {
        /// What they say.
        kind: NoticeKind,
        /// How many, in this tick.
        count: u64,
    },
}

/// The messages by which nodes notice that their leader is gone.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NoticeKind {
    /// Others ask it whether it lives.
    Poll,
    /// It answers them.
    Alive,
    /// It tells everybody that it lives.
    Heartbeat,
}

impl NoticeKind {
    /// Its name.
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
}
