//! The two engines: [`fast`] for delays of one tick and crashes at most, [`general`] for everything. Where both serve,
//! they give the same outcome, event for event.

pub(crate) mod accounting;
pub mod fast;
pub mod general;

/// The most kinds of messages that an algorithm may have.
pub(crate) const MAX_KINDS: usize = 24;
