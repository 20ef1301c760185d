//! Connected graphs: ports, numbered from 0, lead to the neighbours in the order of their positions.
//!
//! Shared code is in `flood` (the announcement), `wave` (waves that come back, with or without extinction) and
//! `diffusion` (a computation that spreads, gathers a value and spreads the result). Specified in
//! `docs/model.md#graphs`.

mod aefa;
pub mod diffusion;
pub mod echo;
mod echo_extinction;
pub(crate) mod flood;
mod preference;
mod tree;
pub mod two_tier;
pub(crate) mod wave;

pub use aefa::{Aefa, AefaParams};
pub use echo_extinction::EchoExtinction;
pub use preference::Preference;
pub use tree::Tree;
pub use two_tier::TwoTier;
