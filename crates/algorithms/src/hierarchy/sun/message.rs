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
    /// A starter looks for the top level: along a level, which it entered at a place of the map, with the greatest
    /// number so far.
    Climb { run: RunNumber, level: u8, entered: u32, number: R },
    /// The token of a segment of a level; `number` is the greatest so far.
    Election { run: RunNumber, informer: u32, level: u8, number: R },
    /// Gathers the results of a segment of a middle level.
    MCoordinator { run: RunNumber, informer: u32, level: u8, number: R },
    /// The new leader, announced on a level.
    Coordinator { run: RunNumber, informer: u32, level: u8, leader: R },
    /// The token of the fallback.
    Token { run: RunNumber, token: Arc<token_ring::Token<R>> },
    /// The announcement of the fallback; `by` is the announcer's place on the map.
    Lap { run: RunNumber, by: u32, leader: R },
    /// The token that goes round the top level, which is the highest level with a live node.
    TopElection { run: RunNumber, informer: u32, level: u8, number: R },
    /// Gathers the results of all segments, round the top level.
    TopMCoordinator { run: RunNumber, informer: u32, level: u8, number: R },
}

impl<R: Rank> Message<R> {
    /// A message on a level; `is_top`: on the top level.
    #[inline(always)]
    pub(super) fn on_level(
        (run, informer): (RunNumber, u32),
        kind: Kind,
        (level, is_top): (u32, bool),
        number: R,
    ) -> Self {
        let level = level as u8;
        match (kind, is_top) {
            (Kind::Election, false) => Message::Election { run, informer, level, number },
            (Kind::Election, true) => Message::TopElection { run, informer, level, number },
            (Kind::Gather, false) => Message::MCoordinator { run, informer, level, number },
            (Kind::Gather, true) => Message::TopMCoordinator { run, informer, level, number },
            (Kind::Coordinator, _) => Message::Coordinator { run, informer, level, leader: number },
        }
    }

    /// The level that it travels on; messages of the fallback are on the ring.
    pub(super) fn level(&self) -> u32 {
        match *self {
            Message::Climb { level, .. }
            | Message::Election { level, .. }
            | Message::TopElection { level, .. }
            | Message::MCoordinator { level, .. }
            | Message::TopMCoordinator { level, .. }
            | Message::Coordinator { level, .. } => level.into(),
            Message::Token { .. } | Message::Lap { .. } => 1,
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
            Message::Climb { run, .. }
            | Message::Election { run, .. }
            | Message::TopElection { run, .. }
            | Message::MCoordinator { run, .. }
            | Message::TopMCoordinator { run, .. }
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
            Message::Election { .. } | Message::TopElection { .. } | Message::Token { .. } => 1,
            Message::MCoordinator { .. } | Message::TopMCoordinator { .. } => 2,
            Message::Coordinator { .. } | Message::Lap { .. } => 3,
        }
    }
}
