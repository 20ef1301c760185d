//! The messages of divided and sun-divided.

use alloc::sync::Arc;

use hustings_protocol::Rank;
use serde::{Deserialize, Serialize};

use crate::hierarchy::run::RunNumber;
use crate::hierarchy::segments::Kind;
use crate::ring::token_ring;

/// The messages; with `SUN`, the kinds of sun-divided. `run` is the run number. The variants have no nested structs, so
/// that a message takes 16 bytes.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "", rename_all = "kebab-case")]
#[allow(missing_docs)]
pub enum Message<R: Rank, const SUN: bool> {
    /// A detector's token. `start` is the place of the first live point that passed it on, before that the detector's;
    /// `told`: a top point has told the informer.
    Token { run: RunNumber, start: u32, told: bool, token: Arc<token_ring::Token<R>> },
    /// The announcement of a detector whose token came home; `by` is the detector's place on the map.
    Lap { run: RunNumber, by: u32, leader: R },
    /// The token of a part, started by the point at `start`; `number` is the greatest so far.
    Part { run: RunNumber, level: u8, start: u32, number: R },
    /// Gathers the results of segments.
    MCoordinator { run: RunNumber, level: u8, number: R },
    /// The new leader, announced in a part.
    Tell { run: RunNumber, level: u8, leader: R },
    /// To the informer: a detector misses the leader.
    Crash { run: RunNumber },
    /// From the informer: asks whether the point is up.
    Probe { run: RunNumber },
    /// To the informer: this point is up.
    Reply { run: RunNumber, point: u32 },
    /// From the informer: the part that ends at the receiver starts at `previous`, or before it if the point there is
    /// dead; start a token for your own part.
    Divide { run: RunNumber, previous: u32 },
    /// To the informer: the greatest number of the parts that end at this point and its sub-points.
    Info { run: RunNumber, point: u32, number: R },
    /// From the informer: the new leader.
    Appoint { run: RunNumber, leader: R },
    /// A `divide` from the point at `above`, because the point between is dead: the result goes to `above`.
    DivideFor { run: RunNumber, previous: u32, above: u32 },
}

impl<R: Rank, const SUN: bool> Message<R, SUN> {
    /// A message on a level of the part that starts at `start`.
    #[inline(always)]
    pub(super) fn on_level(run: RunNumber, start: u32, kind: Kind, level: u32, number: R) -> Self {
        let level = level as u8;
        match kind {
            Kind::Election => Message::Part { run, level, start, number },
            Kind::Gather => Message::MCoordinator { run, level, number },
            Kind::Coordinator => Message::Tell { run, level, leader: number },
        }
    }

    /// The level of a part that it travels on, if it does.
    pub(super) fn level(&self) -> Option<u32> {
        match *self {
            Message::Part { level, .. } | Message::MCoordinator { level, .. } | Message::Tell { level, .. } => {
                Some(level.into())
            }
            _ => None,
        }
    }

    /// The run number.
    #[inline(always)]
    pub(super) fn run(&self) -> RunNumber {
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
            | Message::DivideFor { run, .. }
            | Message::Info { run, .. }
            | Message::Appoint { run, .. } => run,
        }
    }
}

/// The kinds of divided come first.
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
            Message::Divide { .. } | Message::DivideFor { .. } => 5,
            Message::Info { .. } => 6,
            Message::Appoint { .. } => 7,
            Message::MCoordinator { .. } => 8,
        }
    }
}
