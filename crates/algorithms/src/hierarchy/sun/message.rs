//! The messages of sun.

use alloc::sync::Arc;

use hustings_protocol::Rank;
use serde::{Deserialize, Serialize};

use crate::hierarchy::run::RunNumber;
use crate::hierarchy::segments::Kind;
use crate::ring::token_ring;

/// The messages. `run` is the run number, `informer` the informer's place in the order of all ranks. The variants have
/// no nested structs, so that a message takes 16 bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Message<R: Rank> {
    /// A starter looks for the top level.
    Climb { run: RunNumber },
    /// A token on a level; `number` is the greatest so far.
    Election { run: RunNumber, informer: u32, level: u8, number: R },
    /// Gathers the results of segments.
    MCoordinator { run: RunNumber, informer: u32, level: u8, number: R },
    /// The new leader, announced on a level.
    Coordinator { run: RunNumber, informer: u32, level: u8, leader: R },
    /// The token of the fallback.
    Token { run: RunNumber, token: Arc<token_ring::Token<R>> },
    /// The announcement of the fallback; `by` is the announcer's place on the map.
    Lap { run: RunNumber, by: u32, leader: R },
}

impl<R: Rank> Message<R> {
    /// A message on a level.
    #[inline(always)]
    pub(super) fn on_level(run: RunNumber, informer: u32, kind: Kind, level: u32, number: R) -> Self {
        let level = level as u8;
        match kind {
            Kind::Election => Message::Election { run, informer, level, number },
            Kind::Gather => Message::MCoordinator { run, informer, level, number },
            Kind::Coordinator => Message::Coordinator { run, informer, level, leader: number },
        }
    }

    /// Wraps a message of the fallback.
    pub(super) fn of_ring(run: RunNumber, message: token_ring::Message<R>) -> Self {
        match message {
            token_ring::Message::Election(token) => Message::Token { run, token },
            token_ring::Message::Coordinator { leader, by } => Message::Lap { run, by, leader },
        }
    }

    /// The run number.
    pub(super) fn run(&self) -> RunNumber {
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

/// Messages of the fallback are counted under the same kinds.
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
