//! The simulator: elections of any size, message by message, with delays and faults.
//!
//! Begin with [`simulate`]: an [`ElectionSpec`](simulate::ElectionSpec) describes an election,
//! [`build`](simulate::ElectionSpec::build) checks it and makes a [`Scenario`](scenario::Scenario), and
//! [`simulate()`](simulate::simulate) runs that and returns an [`Outcome`](outcome::Outcome).
//!
//! | module | contents |
//! |---|---|
//! | [`simulate`] | describing, building and running an election |
//! | [`scenario`], [`outcome`] | an election that is ready to run, and its result |
//! | [`topology`] | topologies by name, and the networks built from them |
//! | [`parse`] | the types of fields that have a syntax of their own, such as `3@10` or `0-3/4-7@10` |
//! | [`trace`], [`replay`] | every event of a run: observing, writing, reading, and checking it against the protocol |
//!
//! These modules are for programs that drive protocols themselves, such as the checker and the benchmark:
//!
//! | module | contents |
//! |---|---|
//! | [`engine`] | the fast engine, to be compiled together with a protocol |
//! | [`erased`] | protocols whose types are hidden, so that large code is compiled once |
//! | [`rng`] | the random numbers of a seed |

pub mod engine;
pub mod erased;
pub mod outcome;
mod parse;
pub mod replay;
mod rng;
pub mod scenario;
pub mod simulate;
pub mod topology;
pub mod trace;
