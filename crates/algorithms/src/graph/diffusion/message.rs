//! The messages of a diffusing computation.

use hustings_protocol::{Id, Rank};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::state::Computation;
use super::{AggregateValue, Purpose};

/// The messages; `V` is the gathered value.
///
/// A message takes 16 bytes for plain ids and a value of 8. An index is ⟨counter, source⟩; the source of a `leader` is
/// the leader. An answer names the computation by its counter and by the receiver's *turn*: the number of the
/// computation among all that the receiver took part in, which it sent with its question. That identifies the
/// computation as well as the source would, and leaves room for the value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(
    bound(serialize = "R: Rank, V: Serialize", deserialize = "R: Rank, V: DeserializeOwned"),
    rename_all = "kebab-case"
)]
pub enum Message<R, V> {
    /// Asks the receiver to take part in an election.
    Election {
        /// The sender's turn.
        turn: u16,
        /// The first half of the index.
        counter: u32,
        /// The second half.
        source: Id,
    },
    /// The answer to `Election`.
    Ack {
        /// The receiver's turn, as in its question.
        turn: u16,
        /// The counter of the election.
        counter: u32,
        /// The merged contributions of the sender and its subtree.
        gathered: V,
    },
    /// From the source directly to the winner: the receiver leads. The sender is the source.
    Notify {
        /// The counter of the election.
        counter: u32,
        /// The gathered value.
        gathered: V,
    },
    /// Announces a leader.
    Leader {
        /// The sender's turn.
        turn: u16,
        /// The first half of the index.
        counter: u32,
        /// The leader; its id is the second half of the index.
        leader: R,
    },
    /// The answer to `Leader`.
    LeaderAck {
        /// The receiver's turn, as in its question.
        turn: u16,
        /// The counter of the announcement.
        counter: u32,
    },
    /// Asks whether the receiver is up and in this computation.
    Probe {
        /// What the sender is waiting for.
        by: Prober,
        /// The sender's turn.
        turn: u16,
        /// The first half of the index.
        counter: u32,
        /// The second half.
        source: Id,
    },
    /// The sender is up, and in this computation.
    Reply {
        /// Whether that computation announces a leader.
        leads: bool,
        /// The first half of the index.
        counter: u32,
        /// The second half.
        source: Id,
    },
    /// The leader is up.
    Beacon {
        /// Whether this is a repetition for neighbours that missed it.
        again: bool,
        /// Counts the beacons of a leader; wraps around.
        number: u16,
        /// The counter of its announcement.
        counter: u32,
        /// The leader.
        leader: R,
    },
}

/// What the sender of a probe is waiting for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prober {
    /// An `Ack`.
    AwaitsAck,
    /// A `LeaderAck`.
    AwaitsLeaderAck,
    /// The leader; it has sent its own `Ack`.
    AwaitsLeader,
}

impl Prober {
    /// Whether the probe is about a computation that announces a leader.
    pub(super) fn leads(self) -> bool {
        self == Prober::AwaitsLeaderAck
    }
}

// `kinds!` supports one type parameter only.
impl<R: Rank, V: AggregateValue> hustings_protocol::Message for Message<R, V> {
    const KINDS: &'static [&'static str] =
        &["election", "ack", "notify", "leader", "leader-ack", "probe", "reply", "beacon"];

    #[inline(always)]
    fn kind(&self) -> usize {
        match self {
            Message::Election { .. } => 0,
            Message::Ack { .. } => 1,
            Message::Notify { .. } => 2,
            Message::Leader { .. } => 3,
            Message::LeaderAck { .. } => 4,
            Message::Probe { .. } => 5,
            Message::Reply { .. } => 6,
            Message::Beacon { .. } => 7,
        }
    }

    #[inline(always)]
    fn is_periodic(&self) -> bool {
        matches!(self, Message::Beacon { .. })
    }
}

impl<R: Rank, V> Message<R, V> {
    /// The message that asks a neighbour to take part.
    #[inline(always)]
    pub(super) fn call(Computation { purpose, counter }: Computation<R>, turn: u16) -> Self {
        match purpose {
            Purpose::Elect(source) => Message::Election { turn, counter, source },
            Purpose::Lead(leader) => Message::Leader { turn, counter, leader },
        }
    }

    /// The answer to [`Message::call`].
    #[inline(always)]
    pub(super) fn answer(
        Computation { purpose, counter }: Computation<R>,
        turn: u16,
        gathered: impl FnOnce() -> V,
    ) -> Self {
        match purpose {
            Purpose::Elect(_) => Message::Ack { turn, counter, gathered: gathered() },
            Purpose::Lead(_) => Message::LeaderAck { turn, counter },
        }
    }
}
