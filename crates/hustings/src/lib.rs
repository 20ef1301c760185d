//! Hustings elects leaders: this crate is the entry point.
//!
//! - [`protocol`]: what an election algorithm is made of; write your own against it.
//! - [`algorithms`]: those that were published, and their catalogue.
//! - `sim`: the simulator (feature `sim`).
//! - `Elector`: leadership for a program, from the node on its host (feature `cluster`).
//! - `cluster`: what a node is made of (feature `cluster`).
//! - `bench`: the engine's speed against plain loops (feature `cli`).
//! - `cli`: the command line, to which `cli::with` adds algorithms of your own (feature `cli`, on by default; without
//!   it nothing of it is compiled in).
//!
#![cfg_attr(feature = "sim", doc = "```")]
#![cfg_attr(not(feature = "sim"), doc = "```ignore")]
//! use hustings::algorithms::{NoParams, ring::ChangRoberts};
//! use hustings::sim::simulate::{ElectionSpec, simulate};
//!
//! let built = ElectionSpec { nodes: Some(5), ..ElectionSpec::default() }.build::<ChangRoberts>(&NoParams)?;
//! assert_eq!(simulate::<ChangRoberts>(&NoParams, &built.scenario).leader, Some(4));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use hustings_algorithms as algorithms;
#[cfg(feature = "cluster")]
pub use hustings_cluster as cluster;
pub use hustings_protocol as protocol;
#[cfg(feature = "sim")]
pub use hustings_sim as sim;

#[cfg(feature = "cli")]
pub mod bench;
#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "cluster")]
pub mod elector;

#[cfg(feature = "cluster")]
pub use elector::{Elector, LeaderView, Leadership, Observer};
