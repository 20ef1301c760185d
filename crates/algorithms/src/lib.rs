//! Election algorithms as [`Protocol`](hustings_protocol::Protocol)s, one file or folder each, and the [`catalogue`]
//! that lists them.
//!
//! To add one, write a file and a line in the catalogue: it then appears in the command line, the docs and the tests.
//! An algorithm in another crate implements [`Algorithm`] in the same way and needs no line here. `docs/model.md`
//! specifies the rules and the counts of each algorithm.
#![no_std]

extern crate alloc;

mod algorithm;
pub mod anonymous;
pub mod catalogue;
pub mod complete;
pub mod graph;
pub mod hierarchy;
pub mod inner_context;
mod instance;
pub mod overlay;
mod params;
pub mod ring;
pub mod runs;

pub use algorithm::{
    About, Algorithm, Assumptions, Case, Certainty, Cheat, Cost, DefaultIds, Direction, Family, Goal, Identity,
    Initiators, Inputs, Knowledge, NetworkKind, ParamConflict, Setting, Source, Synchrony, Tolerates, Winner,
};
pub use instance::{Instance, Neighbours};
pub use params::{NoParams, ParamError, ParamValue, Parameter, Params};
