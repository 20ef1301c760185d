//! All integration tests of the simulator in one program, so that the engines are compiled and linked once.

mod anonymous;
mod common;
mod complete;
mod engines_agree;
mod general;
mod graphs;
mod hierarchy;
mod naive;
mod reachability;
mod runs;
mod sweeps;
mod threads;
