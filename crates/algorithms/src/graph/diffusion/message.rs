//! What the nodes of a diffusing computation say to each other.

use hustings_protocol::{Id, Rank};
use serde::{Deserialize, Serialize, de::DeserializeOwned};

use super::state::Computation;
use super::{Gathered, Purpose};

/// What nodes say. `V` is what is gathered.
///
/// 16 bytes for plain ids and a value of 8. An index is ⟨counter, source⟩; of a `leader` the source is the leader
/// itself. An answer names the computation by its counter and by the *turn* of the node it goes to: the number of the
/// computation among all that this node ever took part in, which it sent along with its question. That says as much as
/// the source would, and leaves room for the value.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(
    bound(serialize = "R: Rank, V: Serialize", deserialize = "R: Rank, V: DeserializeOwned"),
    rename_all = "kebab-case"
)]
pub enum Message<R, V> {
    /// There is an election: take part.
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
        /// The turn of the receiver, as it gave it.
        turn: u16,
        /// The counter of the election.
        counter: u32,
        /// What the sender and all behind it put in.
        gathered: V,
    },
    /// From the source to the winner, directly: you lead. The source is the sender.
    Notify {
        /// The counter of the election.
        counter: u32,
        /// What was gathered.
        gathered: V,
    },
    /// This one leads.
    Leader {
        /// The sender's turn.
        turn: u16,
        /// The first half of the index.
        counter: u32,
        /// Who leads; its id is the second half.
        leader: R,
    },
    /// The answer to `Leader`.
    LeaderAck {
        /// The turn of the receiver, as it gave it.
        turn: u16,
        /// The counter of the announcement.
        counter: u32,
    },
    /// Are you still there, and in this computation?
    Probe {
        /// Who asks, and about what.
        by: Prober,
        /// The sender's turn.
        turn: u16,
        /// The first half of the index.
        counter: u32,
        /// The second half.
        source: Id,
    },
    /// I am there; and this is the computation I am in.
    Reply {
        /// Whether it announces, or has announced, a leader.
        leads: bool,
        /// The first half of the index.
        counter: u32,
        /// The second half.
        source: Id,
    },
    /// The leader lives.
    Beacon {
        /// It was heard some time ago, and is said once more for those who missed it.
        again: bool,
        /// Counts the beacons of a leader; comes round again.
        number: u16,
        /// The counter of its announcement.
        counter: u32,
        /// Who leads.
        leader: R,
    },
}

/// Who asks whether a neighbour is still there.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Prober {
    /// One that awaits an `Ack`.
    AwaitsAck,
    /// One that awaits a `LeaderAck`.
    AwaitsLeaderAck,
    /// One that has sent its `Ack`, and awaits the leader.
    AwaitsLeader,
}

impl Prober {
    /// Whether it asks about a computation that announces a leader.
    pub(super) fn leads(self) -> bool {
        self == Prober::AwaitsLeaderAck
    }
}

// Written out because `kinds!` knows of one parameter only.
impl<R: Rank, V: Gathered> hustings_protocol::Message for Message<R, V> {
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
    /// The message that draws a neighbour in.
    #[inline(always)]
    pub(super) fn call(Computation { purpose, counter }: Computation<R>, turn: u16) -> Self {
        match purpose {
            Purpose::Elect(source) => Message::Election { turn, counter, source },
            Purpose::Lead(leader) => Message::Leader { turn, counter, leader },
        }
    }

    /// The answer to that message.
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
