//! The simulator: elections of any size, message by message, with delays and faults.
//!
//! ```
//! use hustings_algorithms::{NoParams, ring::ChangRoberts};
//! use hustings_sim::simulate::{ElectionSpec, Field, expected, simulate, simulate_traced};
//! use hustings_sim::trace::Format;
//!
//! // An election is described, and then checked and built for an algorithm.
//! let mut spec = ElectionSpec { ids: Some("3,1,4,0,2".parse()?), ..ElectionSpec::default() };
//! let scenario = spec.build::<ChangRoberts>(&NoParams)?.scenario;
//!
//! // It runs, and takes as many messages as the algorithm's formula says.
//! let outcome = simulate::<ChangRoberts>(&NoParams, &scenario);
//! assert_eq!((outcome.leader, outcome.agreement), (Some(2), true));
//! assert_eq!(expected::<ChangRoberts>(&NoParams, &scenario), Some(outcome.by_kind));
//!
//! // Faults have the syntax of the command line. A trace shows every event.
//! spec.set(Field::Crashes, "2@0")?;
//! let scenario = spec.build::<ChangRoberts>(&NoParams)?.scenario;
//! let mut trace = Vec::new();
//! let outcome = simulate_traced::<ChangRoberts>(&NoParams, &scenario, Format::Text, &mut trace)?;
//! assert_eq!((outcome.leader, outcome.live), (Some(0), 4));
//! assert!(String::from_utf8(trace)?.contains("node 2 (id 4)"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The entry points:
//!
//! - [`ElectionSpec`](simulate::ElectionSpec) describes an election; [`build`](simulate::ElectionSpec::build) makes a
//!   [`Scenario`](scenario::Scenario) of it.
//! - [`simulate`](simulate::simulate) runs a scenario and returns an [`Outcome`](outcome::Outcome).
//!   [`simulate_observed`](simulate::simulate_observed) shows every event to an observer, and
//!   [`simulate_traced`](simulate::simulate_traced) writes them down.
//! - [`TraceFile`](trace::TraceFile) reads what was written, and [`replayed`](simulate::replayed) checks that it is a
//!   run of the algorithm.
//! - [`Topology`](topology::Topology) builds networks by name.
//!
//! | module | contents |
//! |---|---|
//! | [`simulate`] | describing, building and running an election |
//! | [`scenario`], [`outcome`] | an election that is ready to run, and its result |
//! | [`topology`] | topologies by name, and the networks built from them |
//! | [`trace`] | every event of a run: observing, writing, reading |
//! | [`replay`] | the records of a run, checked against the protocol and looked into |
//! | [`erased`] | protocols whose types are hidden: for programs that drive protocols themselves, such as the checker |
//! | [`memory`] | the memory of this process and of the host |
//! | [`engine`] | the fast engine, to be compiled together with a protocol: for the benchmark |

pub mod engine;
pub mod erased;
pub mod memory;
pub mod outcome;
mod parse;
pub mod replay;
mod rng;
pub mod scenario;
pub mod simulate;
pub mod topology;
pub mod trace;
