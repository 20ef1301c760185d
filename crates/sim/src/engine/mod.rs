//! The two engines: [`fast`] for delays of one tick and crashes at most, [`general`] for everything. Where both serve,
//! they give the same outcome, event for event.

pub(crate) mod books;
pub mod fast;
pub mod general;
