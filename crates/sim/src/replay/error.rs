//! Why a recorded run does not replay.

use std::fmt::Debug;

use hustings_protocol::{Port, Timer};

/// A recorded run that is none of this protocol, with the number of the record at which that shows.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReplayError {
    /// Not one rank for each position.
    #[error("{ranks} ranks for {size} positions; each needs one")]
    Ranks {
        /// How many ranks there are.
        ranks: usize,
        /// How many positions.
        size: u32,
    },
    /// A position that should join and is none.
    #[error("position {at} is to join, but there are only {size}")]
    Absent {
        /// Which position.
        at: u32,
        /// How many there are.
        size: u32,
    },
    /// A record is missing, or one too many.
    #[error("record {found} where record {expected} should be: records are numbered one by one from 0")]
    Number {
        /// The number that was due.
        expected: u64,
        /// The number that came.
        found: u64,
    },
    /// Time goes backwards.
    #[error("record {number} is of tick {tick}, the one before it of tick {last}")]
    Tick {
        /// Which record.
        number: u64,
        /// Its tick.
        tick: u64,
        /// The tick before.
        last: u64,
    },
    /// A position beyond the last.
    #[error("record {number} names position {at}, but there are only {size}")]
    Position {
        /// Which record.
        number: u64,
        /// Which position.
        at: u32,
        /// How many there are.
        size: u32,
    },
    /// A node that is down does something.
    #[error("record {number}: node {at} handles an event, but it is down")]
    Down {
        /// Which record.
        number: u64,
        /// Which node.
        at: u32,
    },
    /// A node that is up does not get its mail.
    #[error("record {number}: a message is lost because node {at} is down, but it is up")]
    ReceiverUp {
        /// Which record.
        number: u64,
        /// Which node.
        at: u32,
    },
    /// A node goes down or comes up twice.
    #[error("record {number}: node {at} {what}, but it is {state} already")]
    Turnabout {
        /// Which record.
        number: u64,
        /// Which node.
        at: u32,
        /// What it does.
        what: &'static str,
        /// What it is.
        state: &'static str,
    },
    /// A message that nobody sent, or that has arrived already.
    #[error("record {number}: {message} from {from} to node {at}, sent in {cause}, is not under way")]
    NotUnderWay {
        /// Which record.
        number: u64,
        /// The receiver.
        at: u32,
        /// The sender, as recorded.
        from: String,
        /// The record that sent it, as recorded.
        cause: String,
        /// What it says.
        message: String,
    },
    /// A message comes back that was not lost, or not by this node, or that went to somebody else since.
    #[error(
        "record {number}: {message} comes back to node {at} from {to}, but no such message, sent in {cause}, was lost there"
    )]
    NotLost {
        /// Which record.
        number: u64,
        /// The sender.
        at: u32,
        /// The receiver, as recorded.
        to: String,
        /// The record that sent it, as recorded.
        cause: String,
        /// What it says.
        message: String,
    },
    /// A timer that is not set.
    #[error(
        "record {number}: timer {kind}/{token} of node {at} is due, but {cause} did not set it, or it has been due already"
    )]
    Timer {
        /// Which record.
        number: u64,
        /// Which node.
        at: u32,
        /// The timer's kind.
        kind: u8,
        /// The timer's token.
        token: u32,
        /// The record that set it, as recorded.
        cause: String,
    },
    /// The protocol draws another coin than it did then.
    #[error("record {number}: the protocol draws a number below {bound}; recorded (bound, number): {recorded:?}")]
    Coin {
        /// Which record.
        number: u64,
        /// What was recorded.
        recorded: Option<(u64, u64)>,
        /// What is drawn now.
        bound: u64,
    },
    /// The protocol draws fewer coins than it did then.
    #[error("record {number}: {left} of the recorded coins are not drawn")]
    CoinsLeft {
        /// Which record.
        number: u64,
        /// How many are left.
        left: usize,
    },
    /// The protocol does something else than it did then.
    #[error("record {number}, effect {index}: recorded was {recorded}, the protocol does {now}")]
    Effect {
        /// Which record.
        number: u64,
        /// The first effect that differs, from 0.
        index: usize,
        /// What was recorded.
        recorded: String,
        /// What the protocol does.
        now: String,
    },
    /// A port that the node does not have.
    #[error("record {number}: node {at} has {degree} ports, and there is no port {port}")]
    Port {
        /// Which record.
        number: u64,
        /// Which node.
        at: u32,
        /// Which port.
        port: Port,
        /// How many it has.
        degree: u32,
    },
}

impl ReplayError {
    pub(super) fn not_under_way(
        number: u64,
        at: u32,
        from: Option<u32>,
        cause: Option<u64>,
        message: &impl Debug,
    ) -> Self {
        let (from, cause, message) = (node(from), record(cause), format!("{message:?}"));
        ReplayError::NotUnderWay { number, at, from, cause, message }
    }

    pub(super) fn not_lost(number: u64, at: u32, to: Option<u32>, cause: Option<u64>, message: &impl Debug) -> Self {
        let (to, cause, message) = (node(to), record(cause), format!("{message:?}"));
        ReplayError::NotLost { number, at, to, cause, message }
    }

    pub(super) fn timer(number: u64, at: u32, timer: Timer, cause: Option<u64>) -> Self {
        ReplayError::Timer { number, at, kind: timer.kind, token: timer.token, cause: record(cause) }
    }
}

fn node(at: Option<u32>) -> String {
    at.map_or("a node that is not named".into(), |at| format!("node {at}"))
}

fn record(number: Option<u64>) -> String {
    number.map_or("a record that is not named".into(), |number| format!("record {number}"))
}
