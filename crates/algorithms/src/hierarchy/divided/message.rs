//! What the nodes of divided and sun-divided say to each other.

use alloc::sync::Arc;

use hustings_protocol::Rank;
use serde::{Deserialize, Serialize};

use crate::hierarchy::run::Run;
use crate::hierarchy::wheel::Word;
use crate::ring::token_ring;

/// What nodes say; `SUN`: with the kinds of sun-divided. `run` is the number of the election. (No structs inside, so
/// that a message takes 16 bytes.)
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Message<R: Rank, const SUN: bool> {
    /// A detector's token. `start` is the place of the detector on the map; `told`: a top point has told the informer.
    Token { run: Run, start: u32, told: bool, token: Arc<token_ring::Token<R>> },
    /// The announcement of a detector whose token came home; `by` is its place on the map.
    Lap { run: Run, by: u32, leader: R },
    /// The token of a part, started by the point at `start`; `number` is the greatest so far.
    Part { run: Run, level: u8, start: u32, number: R },
    /// What gathers the results of segments.
    MCoordinator { run: Run, level: u8, number: R },
    /// The new leader, told through a part.
    Tell { run: Run, level: u8, leader: R },
    /// To the informer: the leader is missed.
    Crash { run: Run },
    /// From the informer: who is there?
    Probe { run: Run },
    /// To the informer: this point is.
    Reply { run: Run, point: u32 },
    /// From the informer: the part that ends here starts at that position; gather your own.
    Divide { run: Run, previous: u32 },
    /// To the informer: the greatest number of what ended at this point and those below it.
    Info { run: Run, point: u32, number: R },
    /// From the informer: who leads.
    Appoint { run: Run, leader: R },
}

impl<R: Rank, const SUN: bool> Message<R, SUN> {
    /// A word on a level of a part that starts at that position.
    #[inline(always)]
    pub(super) fn wheeled(run: Run, start: u32, word: Word, level: u32, number: R) -> Self {
        let level = level as u8;
        match word {
            Word::Election => Message::Part { run, level, start, number },
            Word::Gather => Message::MCoordinator { run, level, number },
            Word::Coordinator => Message::Tell { run, level, leader: number },
        }
    }

    /// The number of its election.
    #[inline(always)]
    pub(super) fn run(&self) -> Run {
        match *self {
            Message::Token { run, .. }
            | Message::Lap { run, .. }
            | Message::Part { run, .. }
            | Message::MCoordinator { run, .. }
            | Message::Tell { run, .. }
            | Message::Crash { run }
            | Message::Probe { run }
            | Message::Reply { run, .. }
            | Message::Divide { run, .. }
            | Message::Info { run, .. }
            | Message::Appoint { run, .. } => run,
        }
    }
}

/// Those of divided come first.
const KINDS: &[&str] =
    &["election", "coordinator", "crash", "probe", "reply", "divide", "info", "appoint", "m-coordinator"];

impl<R: Rank, const SUN: bool> hustings_protocol::Message for Message<R, SUN> {
    const KINDS: &'static [&'static str] = if SUN { KINDS } else { KINDS.split_at(KINDS.len() - 1).0 };

    #[inline(always)]
    fn kind(&self) -> usize {
        match self {
            Message::Token { .. } | Message::Part { .. } => 0,
            Message::Lap { .. } | Message::Tell { .. } => 1,
            Message::Crash { .. } => 2,
            Message::Probe { .. } => 3,
            Message::Reply { .. } => 4,
            Message::Divide { .. } => 5,
            Message::Info { .. } => 6,
            Message::Appoint { .. } => 7,
            Message::MCoordinator { .. } => 8,
        }
    }
}
