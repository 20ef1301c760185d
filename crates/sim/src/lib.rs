//! The simulator.

pub mod engine;
pub mod outcome;
pub mod reference;
pub mod rng;
pub mod scenario;
pub mod topology;
pub mod trace;
