//! All integration tests of the algorithms in one program.

mod papers;
mod rings;
mod runs;
mod runs_rules;
mod shape;
mod support;
mod token_ring;
