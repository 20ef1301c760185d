//! Text for people, shared by the crates that print something.
//!
//! - [`nearest`]: "did you mean", the known name that is most similar to a mistyped one.
//! - [`quote`]: text of a user, made fit for an error message.
//! - [`svg`]: writes pictures. Traces and charts are drawn with it.

mod nearest;
mod quote;
pub mod svg;

pub use nearest::nearest;
pub use quote::quote;
