//! The two engines: [`fast`] for unit delays without faults other than crashes, `general` for everything. Where both
//! apply, they give the same outcome, event for event.

pub(crate) mod accounting;
mod directory;
pub mod fast;
pub(crate) mod general;

use std::any::Any;

use hustings_protocol::Message;

use crate::erased::DynMessage;

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
