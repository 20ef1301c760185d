//! Election algorithms as [`Protocol`](hustings_protocol::Protocol)s, one file each, a folder per family, and the
//! [`catalogue`] that lists them all.
//!
//! Adding one is a new file and a line in the catalogue: it then appears in the command line, the docs and the tests.
//! An algorithm in a crate of its own implements [`Algorithm`] just so, and needs no line here.
#![no_std]

extern crate alloc;

mod algorithm;
pub mod catalogue;
pub mod graph;
mod params;
pub mod ring;

pub use algorithm::{
    About, Algorithm, Assumptions, Case, Certainty, Cost, DefaultIds, Direction, Family, Identity, Initiators,
    Instance, NetworkKind, Source, Synchrony,
};
pub use params::{NoParams, ParamError, ParamValue, Parameter, Params};
