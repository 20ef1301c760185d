//! What is known to be wrong is shown to be wrong, by an execution that the checker finds and the simulator replays;
//! and the mended version beside it passes. The executions are in `docs/checking.md`.

mod anonymous;
mod rings;
#[path = "../support/mod.rs"]
#[allow(dead_code, reason = "every test uses some of it")]
mod support;
mod terms;
mod time;
mod two_tier;
