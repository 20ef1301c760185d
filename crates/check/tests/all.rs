//! All integration tests of the checker in one program.

mod fairness;
mod known_errors;
mod pinned;
mod published;
mod rounds;
mod runs_rules;
mod seeded_bugs;
mod support;
