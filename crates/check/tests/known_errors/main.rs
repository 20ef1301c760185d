//! Known errors of algorithms: the checker finds a counterexample, the simulator replays it, and the corrected version
//! passes. The counterexamples are in `docs/checking.md`.

mod anonymous;
mod rings;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "every test uses some of it")]
mod support;
mod terms;
mod time;
mod two_tier;
