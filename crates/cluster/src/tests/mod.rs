//! Tests of the core, in clusters that one thread simulates. `README.md` says what they watch.

mod cluster;
mod conformance;
mod election;
mod faults;
mod guards;
mod lease_checker;
mod simulation;
