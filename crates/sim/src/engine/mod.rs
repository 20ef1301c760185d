//! The fast engine, for programs that compile it together with a protocol of their own, as the benchmark does.
//!
//! There are two engines: a fast one for unit delays without faults other than crashes, and a general one for
//! everything. Where both apply, they give the same outcome, event for event. [`simulate`](crate::simulate::simulate)
//! chooses between them; only those who measure the fast one need this module.
//!
//! A [`Driver`] prepares a run on one kind of network. Its parameter `FULL` says whether bytes, load and collisions are
//! measured, too: a counter per node is too expensive for the largest runs.

pub(crate) mod accounting;
mod directory;
pub(crate) mod fast;
pub(crate) mod general;

use std::any::Any;

use hustings_protocol::Message;

use crate::erased::DynMessage;

pub use self::fast::{Driver, EngineInput, Prepared, on_complete, on_graph, on_mapped_ring, on_ring, run_with};

/// The maximum number of message kinds of an algorithm.
pub(crate) const MAX_KINDS: usize = 24;

/// The length of an encoded message, without framing.
#[inline(always)]
pub(crate) fn encoded_len<M: Message>(message: &M) -> u64 {
    // Decided at compile time: an erased message measures the one that it hides.
    if let Some(erased) = (message as &dyn Any).downcast_ref::<DynMessage>() {
        return erased.encoded_len();
    }
    // A message that cannot be encoded has no length. It could not travel on a network either.
    postcard::experimental::serialized_size(message).map_or(0, |length| length as u64)
}
