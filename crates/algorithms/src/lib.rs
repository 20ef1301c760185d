//! Election algorithms as [`Protocol`](hustings_protocol::Protocol)s, one file or folder each, and the [`catalogue`]
//! that lists them.
//!
//! To add one, write a file and add a line to the catalogue: commands, docs and tests take everything else from its
//! description, [`About`]. An algorithm in a crate of its own implements [`Algorithm`] in the same way and needs no
//! line here: `hustings::cli::with` makes it known to every command. `docs/model.md` specifies the
//! rules and the counts of each algorithm.
#![no_std]

// For the macros: crates that use them need not name it.
#[doc(hidden)]
pub extern crate alloc;

mod about;
mod algorithm;
pub mod anonymous;
pub mod catalogue;
pub mod complete;
mod cost;
pub mod graph;
pub mod hierarchy;
pub mod inner_context;
mod instance;
mod overlay;
mod params;
pub mod ring;
pub mod runs;

pub use about::CheckCase;
pub use algorithm::{
    About, Algorithm, Assumptions, Certainty, Cheat, DefaultIds, Direction, Family, Goal, Identity, Initiators, Inputs,
    Knowledge, NetworkKind, ParamConflict, Setting, Source, Synchrony, Tolerates, Winner,
};
pub use cost::{Case, Cost, CostDelays};
pub use instance::{Instance, Neighbours};
pub use params::{NoParams, ParamError, ParamValue, Parameter, Params};
