//! Connected graphs: neighbours by position behind ports from 0.
//!
//! What they share is in `plain` (the announcement), `wave` (waves that come back, with or without extinction) and
//! `diffusion` (a computation that spreads, gathers an answer and spreads the result).

mod aefa;
pub mod diffusion;
pub mod echo;
mod echo_extinction;
pub(crate) mod plain;
mod preference;
mod tree;
pub mod two_tier;
pub mod wave;

pub use aefa::{Aefa, AefaParams};
pub use echo_extinction::EchoExtinction;
pub use preference::Preference;
pub use tree::Tree;
pub use two_tier::TwoTier;
