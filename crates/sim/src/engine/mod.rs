//! The engines.

pub mod fast;
