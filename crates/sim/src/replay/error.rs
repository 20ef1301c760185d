//! Why a recorded run does not replay.

use std::fmt::Debug;

use hustings_protocol::{Port, Timer};

use super::in_flight::{NoSuchMessage, Search};

/// Why a trace is not a run of this protocol, with the number of the record that fails.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ReplayError {
    /// The number of ranks is not the number of positions.
    #[error("{ranks} ranks for {size} positions; each needs one")]
    Ranks {
        /// The number of ranks.
        ranks: usize,
        /// The number of positions.
        size: u32,
    },
    /// A position that joins later does not exist.
    #[error("position {at} is to join, but there are only {size}")]
    Absent {
        /// The position.
        at: u32,
        /// The number of positions.
        size: u32,
    },
    /// The numbers of records are not consecutive.
    #[error("record {found} where record {expected} should be: records are numbered one by one from 0")]
    Number {
        /// The next number.
        expected: u64,
        /// The number of the record.
        found: u64,
    },
    /// A record is older than the one before it.
    #[error("record {number} is of tick {tick}, the one before it of tick {last}")]
    Tick {
        /// The record.
        number: u64,
        /// Its tick.
        tick: u64,
        /// The tick of the record before it.
        last: u64,
    },
    /// A position does not exist.
    #[error("record {number} names position {at}, but there are only {size}")]
    Position {
        /// The record.
        number: u64,
        /// The position.
        at: u32,
        /// The number of positions.
        size: u32,
    },
    /// A node handles an event while it is down.
    #[error("record {number}: node {at} handles an event, but it is down")]
    Down {
        /// The record.
        number: u64,
        /// The node.
        at: u32,
    },
    /// A message is lost because its receiver is down, but the receiver is up.
    #[error("record {number}: a message is lost because node {at} is down, but it is up")]
    ReceiverUp {
        /// The record.
        number: u64,
        /// The node.
        at: u32,
    },
    /// A node goes down while it is down, or comes up while it is up.
    #[error("record {number}: node {at} {what}, but it is {state} already")]
    NoTransition {
        /// The record.
        number: u64,
        /// The node.
        at: u32,
        /// The transition.
        what: &'static str,
        /// The state of the node.
        state: &'static str,
    },
    /// A message was not sent, or has already arrived.
    #[error("record {number}: {message} from {} to node {at}, {cause}, is not in flight{}", node(*from), hint(*would_fit))]
    NotInFlight {
        /// The record.
        number: u64,
        /// The receiver.
        at: u32,
        /// The sender, as recorded.
        from: Option<u32>,
        /// The message and the record that sent it, as recorded.
        cause: String,
        /// The message.
        message: String,
        /// Another message of that record that fits.
        would_fit: Option<u32>,
    },
    /// A message is returned that was not lost, was not sent by this node, or was sent again to another node.
    #[error(
        "record {number}: {message} comes back to node {at} from {}, but no such message, {cause}, was lost there{}", node(*to), hint(*would_fit)
    )]
    NotLost {
        /// The record.
        number: u64,
        /// The sender.
        at: u32,
        /// The receiver, as recorded.
        to: Option<u32>,
        /// The message and the record that sent it, as recorded.
        cause: String,
        /// The message.
        message: String,
        /// Another message of that record that fits.
        would_fit: Option<u32>,
    },
    /// A reachability update is invalid.
    #[error("record {number}: node {at} gets a reachability update, but {problem}")]
    Reachability {
        /// The record.
        number: u64,
        /// The node.
        at: u32,
        /// The problem.
        problem: &'static str,
    },
    /// A timer fires that is not set.
    #[error(
        "record {number}: timer {kind}/{token} of node {at} fires, but {cause} did not set it, or it has already fired"
    )]
    Timer {
        /// The record.
        number: u64,
        /// The node.
        at: u32,
        /// The kind of the timer.
        kind: u8,
        /// The token of the timer.
        token: u32,
        /// The record that set it, as recorded.
        cause: String,
    },
    /// The protocol draws a different random number.
    #[error("record {number}: the protocol draws a number below {bound}; recorded (bound, number): {recorded:?}")]
    Coin {
        /// The record.
        number: u64,
        /// The recorded bound and number.
        recorded: Option<(u64, u64)>,
        /// The bound of the protocol.
        bound: u64,
    },
    /// The protocol draws fewer random numbers.
    #[error("record {number}: {left} of the recorded random numbers are not drawn")]
    CoinsLeft {
        /// The record.
        number: u64,
        /// The number of unused draws.
        left: usize,
    },
    /// The protocol has a different effect.
    #[error("record {number}, effect {index}: recorded {recorded}, but the protocol does {now}")]
    Effect {
        /// The record.
        number: u64,
        /// The first effect that differs, from 0.
        index: usize,
        /// The recorded effect.
        recorded: String,
        /// The effect of the protocol.
        now: String,
    },
    /// The number of failure-detection messages is impossible.
    #[error("record {number}: messages `{kind}` about node {at}: {count} recorded, {allowed} possible")]
    Notice {
        /// The record.
        number: u64,
        /// The leader.
        at: u32,
        /// Their kind.
        kind: &'static str,
        /// The recorded number.
        count: u64,
        /// The possible numbers.
        allowed: String,
    },
    /// A port does not exist.
    #[error("record {number}: node {at} has {degree} ports, and there is no port {port}")]
    Port {
        /// The record.
        number: u64,
        /// The node.
        at: u32,
        /// The port.
        port: Port,
        /// The number of ports.
        degree: u32,
    },
}

impl ReplayError {
    pub(super) fn not_in_flight<M: Debug>(
        number: u64,
        at: u32,
        search: &Search<'_, M>,
        missing: NoSuchMessage,
    ) -> Self {
        let (cause, message) = (cause(search), format!("{:?}", search.message));
        ReplayError::NotInFlight { number, at, from: search.from, cause, message, would_fit: missing.would_fit }
    }

    pub(super) fn not_lost<M: Debug>(number: u64, at: u32, search: &Search<'_, M>, missing: NoSuchMessage) -> Self {
        let (cause, message) = (cause(search), format!("{:?}", search.message));
        ReplayError::NotLost { number, at, to: search.to, cause, message, would_fit: missing.would_fit }
    }

    pub(super) fn timer(number: u64, at: u32, timer: Timer, cause: Option<u64>) -> Self {
        ReplayError::Timer { number, at, kind: timer.kind, token: timer.token, cause: record(cause) }
    }
}

fn node(at: Option<u32>) -> String {
    at.map_or("an unnamed node".into(), |at| format!("node {at}"))
}

fn record(number: Option<u64>) -> String {
    number.map_or("an unnamed record".into(), |number| format!("record {number}"))
}

fn cause<M>(search: &Search<'_, M>) -> String {
    let copy = if search.copy { "the copy of " } else { "" };
    format!("{copy}message {} of {}", search.nth, record(search.cause))
}

fn hint(would_fit: Option<u32>) -> String {
    would_fit.map_or(String::new(), |nth| format!("; message {nth} of that record fits"))
}
