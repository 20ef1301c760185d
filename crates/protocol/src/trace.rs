//! The trace's types: what happened to whom, when, and because of what.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

use crate::{Effect, Event};

/// One thing that happened.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Record<M> {
    /// Counts the records from 0.
    pub number: u64,
    /// When.
    pub tick: u64,
    /// To which position.
    pub node: u32,
    /// The record whose effects caused it: the sending of a message, the setting of a timer.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cause: Option<u64>,
    /// What.
    #[serde(flatten)]
    pub what: Happening<M>,
}

/// What can happen to a node.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "what")]
pub enum Happening<M> {
    /// It handled an event.
    Handled {
        /// Which.
        event: Event<M>,
        /// For messages: the position that sent it. For returned ones: the position that could not be reached.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        peer: Option<u32>,
        /// The coins it drew: bound and result.
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        coins: Vec<(u64, u64)>,
        /// What it did, in order.
        effects: Vec<Effect<M>>,
    },
    /// A message for it did not arrive.
    Lost {
        /// Who sent it.
        peer: u32,
        /// What it said.
        message: M,
        /// Why.
        why: Loss,
    },
    /// It stopped.
    Crashed,
    /// It came back with fresh state.
    Recovered,
    /// It entered.
    Joined,
    /// It left in good order.
    Retired,
    /// Its link to a neighbour was cut.
    LinkCut {
        /// Which neighbour.
        peer: u32,
    },
    /// Its link to a neighbour works again.
    LinkHealed {
        /// Which neighbour.
        peer: u32,
    },
}

/// Why a message did not arrive.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Loss {
    /// The receiver was down.
    ReceiverDown,
    /// By chance.
    Chance,
    /// The link was cut.
    Cut,
}
