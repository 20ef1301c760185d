//! What the nodes of sun say to each other.

use alloc::sync::Arc;

use hustings_protocol::Rank;
use serde::{Deserialize, Serialize};

use crate::hierarchy::run::Run;
use crate::hierarchy::wheel::Word;
use crate::ring::token_ring;

/// What nodes say. `run` is the number of the election, `informer` the informer's place in the order of all ranks. (No
/// structs inside, so that a message takes 16 bytes.)
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Message<R: Rank> {
    /// A starter looks for the top.
    Climb { run: Run },
    /// A token on a level; `number` is the greatest so far.
    Election { run: Run, informer: u32, level: u8, number: R },
    /// What gathers the results of segments.
    MCoordinator { run: Run, informer: u32, level: u8, number: R },
    /// The new leader, told on a level.
    Coordinator { run: Run, informer: u32, level: u8, leader: R },
    /// The token of the last resort.
    Token { run: Run, token: Arc<token_ring::Token<R>> },
    /// The announcement of the last resort; `by` is the place of the announcer on the map.
    Lap { run: Run, by: u32, leader: R },
}

impl<R: Rank> Message<R> {
    /// A word on a level.
    #[inline(always)]
    pub(super) fn wheeled(run: Run, informer: u32, word: Word, level: u32, number: R) -> Self {
        let level = level as u8;
        match word {
            Word::Election => Message::Election { run, informer, level, number },
            Word::Gather => Message::MCoordinator { run, informer, level, number },
            Word::Coordinator => Message::Coordinator { run, informer, level, leader: number },
        }
    }

    /// A message of the last resort.
    pub(super) fn of_ring(run: Run, message: token_ring::Message<R>) -> Self {
        match message {
            token_ring::Message::Election(token) => Message::Token { run, token },
            token_ring::Message::Coordinator { leader, by } => Message::Lap { run, by, leader },
        }
    }

    /// The number of its election.
    pub(super) fn run(&self) -> Run {
        match *self {
            Message::Climb { run }
            | Message::Election { run, .. }
            | Message::MCoordinator { run, .. }
            | Message::Coordinator { run, .. }
            | Message::Token { run, .. }
            | Message::Lap { run, .. } => run,
        }
    }
}

/// The last resort's messages are counted with those they are like.
impl<R: Rank> hustings_protocol::Message for Message<R> {
    const KINDS: &'static [&'static str] = &["climb", "election", "m-coordinator", "coordinator"];

    #[inline(always)]
    fn kind(&self) -> usize {
        match self {
            Message::Climb { .. } => 0,
            Message::Election { .. } | Message::Token { .. } => 1,
            Message::MCoordinator { .. } => 2,
            Message::Coordinator { .. } | Message::Lap { .. } => 3,
        }
    }
}
