//! Election algorithms as [`Protocol`](hustings_protocol::Protocol)s, one file each, a folder per family, and the
//! [`catalogue`] that lists them all.
//!
//! Adding one is a new file and a line in the catalogue: it then appears in the command line, the docs and the tests.
//! An algorithm in a crate of its own implements [`Algorithm`] just so, and needs no line here.
#![no_std]

extern crate alloc;

mod algorithm;
pub mod anonymous;
pub mod catalogue;
pub mod complete;
pub mod graph;
pub mod hierarchy;
mod instance;
pub mod overlay;
mod params;
pub mod ring;
pub mod runs;
pub mod within;

pub use algorithm::{
    About, Algorithm, Assumptions, Case, Certainty, Cheat, Cost, DefaultIds, Direction, Family, Goal, Identity,
    Initiators, Inputs, Knowledge, NetworkKind, ParamConflict, Setting, Source, Synchrony, Tolerates, Winner,
};
pub use instance::{Instance, Neighbours};
pub use params::{NoParams, ParamError, ParamValue, Parameter, Params};
