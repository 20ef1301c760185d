//! The two engines: [`fast`] for unit delays without faults other than crashes, [`general`] for everything. Where both
//! apply, they give the same outcome, event for event.

pub(crate) mod accounting;
mod directory;
pub mod fast;
pub mod general;

/// The maximum number of message kinds of an algorithm.
pub(crate) const MAX_KINDS: usize = 24;
