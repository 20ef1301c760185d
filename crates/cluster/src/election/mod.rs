//! Runs an algorithm of the catalogue among the members that are up: who *should* lead.
//!
//! An [`Election`] is one node's part in an election among a fixed list of candidates. It runs the same code as the
//! simulator and the checker, wrapped in [`Runs`](hustings_algorithms::runs::Runs). Here its types are erased and its
//! messages are bytes. It has no clock, no socket and no random number generator: its owner passes events in and
//! carries out its [`Action`]s.
//!
//! The owner's duties:
//!
//! 1. When the reachable candidates or their ranks change, it starts a new election and drops the old one. It does so
//!    also if the candidates are the same but the connection to one of them has ended in between. Before that, it
//!    reports the end of the connection with [`SharedState::handle_disconnect`]; [`Election::is_interrupted`] then
//!    tells which elections are affected. Both ends of a connection must notice its end. Only a node with a connection
//!    may be a candidate.
//! 2. A message carries the `key` of its election. It goes to the running election with that key, or else to
//!    [`SharedState::buffer`]. The messages of one node arrive in the order in which it sent them, and none arrives
//!    over a new connection before the end of the old one was reported.
//! 3. It fires timers when they are due. Timers of dropped elections may be fired or not.
//!
//! Under these conditions, once nothing changes any more, all participants of an election name the same leader. Before
//! that, two nodes may name different leaders: the arbiter decides who *may* lead.
//!
//! An algorithm that relies on a bound on message delays (improved-bully and campaigner, by `T`) must include the time
//! between the first and the last node that starts the election. If that takes longer, the algorithm may end with two
//! leaders. Bully recovers from this. Messages of a faulty peer may prevent an algorithm from terminating until the
//! next election.
//!
//! Every node starts the election, because every node has itself noticed that one is due. A single candidate leads at
//! once, whatever the algorithm.

pub(crate) mod algorithm_config;
mod erased;
mod key;
mod participant;
mod shared_state;
#[cfg(test)]
mod tests;

use std::fmt;

use hustings_algorithms::ParamError;
use hustings_protocol::{Id, Timer};

pub(crate) use self::algorithm_config::{AlgorithmConfig, Algorithms};
pub(crate) use self::key::key;
use self::participant::{ActionSink, Participant};
pub(crate) use self::shared_state::SharedState;
use crate::member::MemberRank;

/// The maximum size of a message.
pub(crate) const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// One node's part in the election among a list of candidates.
#[derive(Clone, PartialEq, Eq, Hash)]
pub(crate) struct Election {
    key: u64,
    serial: u64,
    own: Id,
    candidates: Vec<Id>,
    /// `None` if there is only one candidate.
    participant: Option<Box<Participant>>,
}

/// Something that the owner of an election must do. Actions are carried out in order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(crate) enum Action {
    /// Send a message to another candidate, with the key of the election.
    Send {
        /// The receiver.
        to: Id,
        /// The message, at most [`MAX_MESSAGE_BYTES`] long.
        bytes: Vec<u8>,
    },
    /// Call [`Election::handle_timer`] after this many ticks.
    SetTimer {
        /// At least 1.
        ticks: u64,
        /// Identifies the timer.
        token: TimerToken,
    },
}

/// Identifies a timer of an election.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct TimerToken {
    election: u64,
    timer: Timer,
}

/// Why an election cannot be started.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum ElectionError {
    /// No algorithm has this name.
    #[error("there is no algorithm `{name}`; choose one of {known}")]
    UnknownAlgorithm {
        /// The name that was given.
        name: String,
        /// The names of the suitable algorithms.
        known: String,
    },
    /// The algorithm has another goal than electing a leader.
    #[error("`{name}` does not elect a leader")]
    NotAnElection {
        /// The algorithm.
        name: &'static str,
    },
    /// The algorithm is for anonymous nodes, so it cannot name the winner.
    #[error("`{name}` is for anonymous nodes, but the members of a cluster have ids")]
    Anonymous {
        /// The algorithm.
        name: &'static str,
    },
    /// A parameter is not of the form `name=value`.
    #[error("`{text}` is not of the form `name=value`")]
    MalformedParameter {
        /// The parameter that was given.
        text: String,
    },
    /// A parameter is given twice.
    #[error("parameter `{name}` is given twice")]
    DuplicateParameter {
        /// The parameter.
        name: String,
    },
    /// The algorithm rejected a parameter.
    #[error(transparent)]
    Parameter(#[from] ParamError),
    /// The candidates are not in order, or do not include the node itself.
    #[error("the candidates must be unique, in ascending order of their ids, and include node {own}")]
    InvalidCandidates {
        /// The node that tried to start the election.
        own: Id,
    },
}

/// Why a message was rejected. A rejected message has no effect.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum MessageError {
    /// It exceeds [`MAX_MESSAGE_BYTES`].
    #[error("a message of {0} bytes is too long for an election")]
    TooLong(usize),
    /// It cannot be decoded as a message of this algorithm.
    #[error("not a message of this algorithm")]
    Malformed,
    /// There are bytes after the message.
    #[error("{0} trailing bytes after the message")]
    TrailingBytes(usize),
    /// Its counter differs from that of its view.
    #[error("the message's counter differs from its view's")]
    CounterMismatch,
    /// Its counter is implausibly far ahead of all counters seen so far.
    #[error("the counter {0} is implausibly high")]
    CounterTooHigh(u64),
    /// Its sender is not another candidate.
    #[error("the sender, node {0}, is not a candidate of this election")]
    UnknownSender(Id),
}

impl Election {
    /// Checks that the algorithm can elect the leader of a cluster, and that its parameters are valid.
    pub(crate) fn check(choice: &AlgorithmConfig) -> Result<(), ElectionError> {
        choice.check()
    }

    /// Starts the election among these candidates, which must be in ascending order of their ids, assumed up, and
    /// include `own`.
    pub(crate) fn start(
        choice: &AlgorithmConfig,
        own: Id,
        candidates: &[MemberRank],
        shared: &mut SharedState,
        actions: &mut Vec<Action>,
    ) -> Result<Election, ElectionError> {
        let is_ascending = candidates.is_sorted_by(|one, next| one.id < next.id);
        let index = candidates.binary_search_by_key(&own, |one| one.id).ok();
        let Some(index) = index.filter(|_| is_ascending) else {
            return Err(ElectionError::InvalidCandidates { own });
        };
        Election::check(choice)?;
        let key = key(candidates);
        let serial = shared.next_serial();
        let ids: Vec<Id> = candidates.iter().map(|one| one.id).collect();
        let mut election = Election { key, serial, own, candidates: ids, participant: None };
        if candidates.len() > 1 {
            election.participant = Some(choice.participant(candidates, index, shared)?);
            // Buffered messages come first: if another node has already begun a view, this one adopts it.
            for (from, bytes) in shared.take_buffered(key) {
                // An invalid message is dropped, as it would be if it arrived now.
                _ = election.handle_message(from, &bytes, shared, actions);
            }
            election.drive(shared, actions, |participant, sink| participant.start(sink));
        }
        Ok(election)
    }

    /// A message of this election arrived.
    pub(crate) fn handle_message(
        &mut self,
        from: Id,
        bytes: &[u8],
        shared: &mut SharedState,
        actions: &mut Vec<Action>,
    ) -> Result<(), MessageError> {
        if bytes.len() > MAX_MESSAGE_BYTES {
            return Err(MessageError::TooLong(bytes.len()));
        }
        if from == self.own || self.candidates.binary_search(&from).is_err() {
            return Err(MessageError::UnknownSender(from));
        }
        let counter = shared.peek_counter(bytes)?;
        self.drive(shared, actions, |participant, sink| participant.handle_message(from, bytes, sink))
            .unwrap_or(Ok(()))?;
        shared.record_view(self.key, counter);
        Ok(())
    }

    /// A timer is due. A timer of another election has no effect.
    pub(crate) fn handle_timer(&mut self, token: TimerToken, shared: &mut SharedState, actions: &mut Vec<Action>) {
        if token.election == self.serial {
            self.drive(shared, actions, |participant, sink| participant.handle_timer(token.timer, sink));
        }
    }

    /// The leader that this node names now.
    pub(crate) fn leader(&self) -> Option<Id> {
        self.participant.as_ref().map_or(Some(self.own), |participant| participant.leader())
    }

    /// The key of this election.
    #[cfg(test)]
    pub(crate) fn key(&self) -> u64 {
        self.key
    }

    /// The counter of the node's current view. It grows with every election, and is for display.
    #[cfg(any(test, feature = "testkit"))]
    pub(crate) fn view(&self) -> u64 {
        self.participant.as_ref().map_or(0, |participant| participant.view())
    }

    /// Whether the connection to a candidate has ended since this election started. Messages may then be lost, and the
    /// node must start a new election, even among the same candidates.
    pub(crate) fn is_interrupted(&self, shared: &SharedState) -> bool {
        self.candidates.iter().any(|candidate| shared.has_disconnected_since(*candidate, self.serial))
    }

    fn drive<T>(
        &mut self,
        shared: &mut SharedState,
        actions: &mut Vec<Action>,
        handle: impl FnOnce(&mut Participant, &mut ActionSink<'_>) -> T,
    ) -> Option<T> {
        let participant = self.participant.as_deref_mut()?;
        let done = handle(participant, &mut ActionSink { election: self.serial, rng: &mut shared.rng, actions });
        shared.record_view(self.key, participant.view());
        Some(done)
    }
}

impl fmt::Debug for Election {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Election { key, own, candidates, .. } = self;
        f.debug_struct("Election")
            .field("key", key)
            .field("own", own)
            .field("candidates", candidates)
            .finish_non_exhaustive()
    }
}
