//! An algorithm of the catalogue among the members who are up: who *should* lead.
//!
//! A [`Election`] is one node's part in an election among a fixed list of candidates. It is the very code that the
//! simulator and the checker run, in [`Runs`](hustings_algorithms::runs::Runs); here its types are hidden and its
//! messages are bytes. It has no clock, no socket and no generator: its owner tells it what happens and carries out its
//! [`Act`]s.
//!
//! The owner's duties:
//!
//! 1. When the set of candidates that it reaches changes, or the worth of one of them, it enters a new election and drops
//!    the old one; also if the set is the same again but the connection with a candidate has ended in between, of which
//!    it tells the [`Memory`] first ([`Memory::lost`], [`Election::is_shaken`]). Both sides of a connection must see its
//!    end. A candidate is only one with whom there is a connection.
//! 2. Mail carries the [`key`] of its election. It goes to the election of that key if the node is in it, else to
//!    [`Memory::keep`]. Mail of one node arrives in the order in which it was sent, and nothing of a new connection
//!    before the end of the old one was told.
//! 3. It rings alarms when they are due. Those of dropped elections may be rung or not.
//!
//! Then, when nothing changes any more, everybody in a election names the same leader. Before that two may name two: who
//! *may* lead is the arbiter's business.
//!
//! An algorithm that trusts a bound on how long mail travels (improved-bully and campaigner by `T`) counts the time
//! between the first and the last who enters: where that is longer, it may end with two leaders named. Bully gets over
//! it. Mail of a peer that is out of its mind may keep an algorithm from ever ending, until the next election.
//!
//! Everybody starts the election, because everybody has seen by itself that one is due. One candidate alone leads at
//! once, whatever the algorithm.

mod choice;
mod key;
mod participant;
mod shared_state;
#[cfg(test)]
mod tests;

use std::fmt;

use hustings_algorithms::ParamError;
use hustings_protocol::{Id, Timer};

pub use self::choice::{Algorithms, Choice};
pub use self::key::key;
use self::participant::{ActionSink, Participant};
pub use self::shared_state::SharedState;
use crate::member::MemberRank;

/// Mail that is longer is garbled.
pub const MAX_MESSAGE_BYTES: usize = 4 << 20;

/// One node's part in the election among a list of candidates.
pub struct Election {
    key: u64,
    serial: u64,
    own: Id,
    candidates: Vec<Id>,
    /// None for a candidate alone.
    participant: Option<Box<dyn Participant>>,
}

/// What a election asks its owner to do, in this order.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Action {
    /// To send mail to another candidate, with the key of the election.
    Send {
        /// To whom.
        to: Id,
        /// At most [`MAX_BYTES`].
        bytes: Vec<u8>,
    },
    /// To ring in so many ticks.
    SetTimer {
        /// At least 1.
        ticks: u64,
        /// With this.
        token: TimerToken,
    },
}

/// What a election asked to be rung with.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub struct TimerToken {
    election: u64,
    timer: Timer,
}

/// Why there is no such election.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum ElectionError {
    /// No algorithm has this name.
    #[error("there is no algorithm `{name}`; there are {known}")]
    UnknownAlgorithm {
        /// What was asked for.
        name: String,
        /// The names that would do.
        known: String,
    },
    /// The algorithm does not elect.
    #[error("`{name}` does not elect a leader")]
    NotAnElection {
        /// Which.
        name: &'static str,
    },
    /// The algorithm does not know who won.
    #[error("`{name}` is for nodes without ids; the members of a cluster have ids")]
    Anonymous {
        /// Which.
        name: &'static str,
    },
    /// A parameter is not `name=value`.
    #[error("`{text}` is not `name=value`")]
    MalformedParameter {
        /// What was given.
        text: String,
    },
    /// A parameter is given twice.
    #[error("parameter `{name}` is given twice")]
    DuplicateParameter {
        /// Which.
        name: String,
    },
    /// A parameter was refused.
    #[error(transparent)]
    Parameter(#[from] ParamError),
    /// The list is not what it should be.
    #[error("candidates must be listed once each, ascending by id, with node {own} among them")]
    InvalidCandidates {
        /// Who wanted to enter.
        own: Id,
    },
}

/// Mail that makes no sense. It has changed nothing.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum MessageError {
    /// It is too long.
    #[error("{0} bytes are more than any message of an election has")]
    TooLong(usize),
    /// It is no message of this algorithm.
    #[error("not a message of this algorithm")]
    Malformed,
    /// There is something behind it.
    #[error("{0} bytes behind the message")]
    TrailingBytes(usize),
    /// It states another counter than its view has.
    #[error("a counter that is not the view's")]
    CounterMismatch,
    /// Its counter is far ahead of all others.
    #[error("a counter out of all proportion: {0}")]
    CounterTooHigh(u64),
    /// Its sender is no candidate.
    #[error("mail from node {0}, which is not in this election")]
    UnknownSender(Id),
}

/// Something that a test may take away, to see that it is missed.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Flaw {
    /// Mail of later views is not held.
    NotHeld,
    /// That a connection ended is not heeded.
    NoLosses,
    /// Views in mail of elections that the node is not in do not count.
    NotCounted,
    /// Mail is kept also if other mail of the same view is gone.
    NoFloors,
    /// Mail of older views is taken for mail of this one.
    NotDropped,
}

impl Election {
    /// Fails if this algorithm cannot elect the leader of a cluster, or if its parameters are wrong.
    pub fn check(choice: &Choice) -> Result<(), ElectionError> {
        choice.check()
    }

    /// Enters the election among these candidates, ascending by id, all of them believed up, and `own` among them.
    pub fn start(
        choice: &Choice,
        own: Id,
        candidates: &[MemberRank],
        shared: &mut SharedState,
        actions: &mut Vec<Action>,
    ) -> Result<Election, ElectionError> {
        let is_ascending = candidates.is_sorted_by(|one, next| one.id < next.id);
        let place = candidates.binary_search_by_key(&own, |one| one.id).ok();
        let Some(index) = place.filter(|_| is_ascending) else {
            return Err(ElectionError::InvalidCandidates { own });
        };
        Election::check(choice)?;
        let key = key(candidates);
        let serial = shared.next_serial();
        let ids: Vec<Id> = candidates.iter().map(|one| one.id).collect();
        let mut election = Election { key, serial, own, candidates: ids, participant: None };
        if candidates.len() > 1 {
            election.participant = Some(choice.participant(candidates, index, shared)?);
            // A view that somebody else has taken a number for will do, so what is there comes first.
            for (from, bytes) in shared.take_buffered(key) {
                // What is garbled is dropped, as it would be if it came now.
                _ = election.handle_message(from, &bytes, shared, actions);
            }
            election.drive(shared, actions, |participant, sink| participant.start(sink));
        }
        Ok(election)
    }

    /// Mail of this election came.
    pub fn handle_message(
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

    /// An alarm is due. One of another election is not heard.
    pub fn handle_timer(&mut self, token: TimerToken, shared: &mut SharedState, actions: &mut Vec<Action>) {
        if token.election == self.serial {
            self.drive(shared, actions, |participant, sink| participant.handle_timer(token.timer, sink));
        }
    }

    /// Whom this node names now.
    pub fn leader(&self) -> Option<Id> {
        self.participant.as_ref().map_or(Some(self.own), |participant| participant.leader())
    }

    /// The key of this election.
    pub fn key(&self) -> u64 {
        self.key
    }

    /// The counter of the view that the node is in: it grows with every election. For people.
    pub fn view(&self) -> u64 {
        self.participant.as_ref().map_or(0, |participant| participant.view())
    }

    /// Whether the connection with a candidate has ended since this election was entered, so that mail may be lost: then
    /// the node must enter a new one, also if the candidates are the same.
    pub fn is_interrupted(&self, shared: &SharedState) -> bool {
        self.candidates.iter().any(|candidate| shared.has_disconnected_since(*candidate, self.serial))
    }

    fn drive<T>(
        &mut self,
        shared: &mut SharedState,
        actions: &mut Vec<Action>,
        handle: impl FnOnce(&mut dyn Participant, &mut ActionSink<'_>) -> T,
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
