//! Why a recorded run does not replay.

use std::fmt::Debug;

use hustings_protocol::{Port, Timer};

use super::letters::{NoLetter, Search};

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
    #[error("record {number}: {message} from {} to node {at}, {cause}, is not under way{}", node(*from), hint(*would_do))]
    NotUnderWay {
        /// Which record.
        number: u64,
        /// The receiver.
        at: u32,
        /// The sender, as recorded.
        from: Option<u32>,
        /// Which message of which record it is, as recorded.
        cause: String,
        /// What it says.
        message: String,
        /// Which message of that record would do, if one would.
        would_do: Option<u32>,
    },
    /// A message comes back that was not lost, or not by this node, or that went to somebody else since.
    #[error(
        "record {number}: {message} comes back to node {at} from {}, but no such message, {cause}, was lost there{}", node(*to), hint(*would_do)
    )]
    NotLost {
        /// Which record.
        number: u64,
        /// The sender.
        at: u32,
        /// The receiver, as recorded.
        to: Option<u32>,
        /// Which message of which record it is, as recorded.
        cause: String,
        /// What it says.
        message: String,
        /// Which message of that record would do, if one would.
        would_do: Option<u32>,
    },
    /// Word of who is in reach that cannot be.
    #[error("record {number}: node {at} is told whom it can reach, but {problem}")]
    Word {
        /// Which record.
        number: u64,
        /// Who is told.
        at: u32,
        /// What is wrong with it.
        problem: &'static str,
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
    /// More or fewer messages of a notice than there can be.
    #[error("record {number}: messages `{kind}` about node {at}: {count} recorded, {allowed} possible")]
    Notice {
        /// Which record.
        number: u64,
        /// The leader that they concern.
        at: u32,
        /// What they say.
        kind: &'static str,
        /// How many were recorded.
        count: u64,
        /// How many there can be.
        allowed: String,
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
    pub(super) fn not_under_way<M: Debug>(number: u64, at: u32, search: &Search<'_, M>, none: NoLetter) -> Self {
        let (cause, message) = (cause(search), format!("{:?}", search.message));
        ReplayError::NotUnderWay { number, at, from: search.from, cause, message, would_do: none.would_do }
    }

    pub(super) fn not_lost<M: Debug>(number: u64, at: u32, search: &Search<'_, M>, none: NoLetter) -> Self {
        let (cause, message) = (cause(search), format!("{:?}", search.message));
        ReplayError::NotLost { number, at, to: search.to, cause, message, would_do: none.would_do }
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

fn cause<M>(search: &Search<'_, M>) -> String {
    let copy = if search.copy { "the copy of " } else { "" };
    format!("{copy}message {} of {}", search.nth, record(search.cause))
}

fn hint(would_do: Option<u32>) -> String {
    would_do.map_or(String::new(), |nth| format!("; message {nth} of that record would do"))
}
