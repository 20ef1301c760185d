//! Elections of the catalogue for the checker.

pub mod cases;
pub mod explore;
