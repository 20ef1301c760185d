//! Nodes that are all alike: no ids to compare, only coins.
//!
//! Which node leads is known to itself and to everybody who watches. The announcement carries the leader's id all the
//! same, so that a run can be told from another and agreement be measured as everywhere; no node ever decides anything
//! by it.
//!
//! What a leader can do for nodes without names is in [`sequel`].

mod anonymous_echo;
mod itai_rodeh;
mod ring_size;
pub mod sequel;

pub use anonymous_echo::{AnonymousEcho, AnonymousEchoParams};
pub use itai_rodeh::{IdRange, ItaiRodeh, ItaiRodehParams, Rounds};
pub use ring_size::{RingSize, RingSizeParams};
