//! Known errors of algorithms: the checker finds a counterexample, the simulator replays it, and the corrected version
//! passes. The counterexamples are in `docs/checking.md`.

mod anonymous;
mod rings;
mod terms;
mod time;
mod two_tier;
