//! The simulator: topologies, a fast engine for delays of one tick, a general one for everything else, traces, and what
//! the options of the command line mean. [`simulate`] is the place to begin.

pub mod engine;
pub mod erased;
pub mod outcome;
pub mod parse;
pub mod reference;
pub mod replay;
pub mod rng;
pub mod scenario;
pub mod simulate;
pub mod topology;
pub mod trace;
