//! Anonymous networks: nodes have no ids to compare, only random numbers.
//!
//! The announcement carries the leader's id so that agreement can be measured as in other algorithms. No node decides
//! anything by it. What a leader can do for anonymous nodes is in [`follow_up`]. Specified in
//! `docs/model.md#anonymous-networks`.

mod anonymous_echo;
pub mod follow_up;
mod itai_rodeh;
mod ring_size;

pub use anonymous_echo::{AnonymousEcho, AnonymousEchoParams};
pub use itai_rodeh::{IdRange, ItaiRodeh, ItaiRodehParams, Rounds};
pub use ring_size::{RingSize, RingSizeParams};
