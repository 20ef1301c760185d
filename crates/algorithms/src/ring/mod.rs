//! Plain rings: port [`NEXT`](hustings_protocol::Port::NEXT) is the clockwise neighbour, messages sent there come in at
//! [`PREVIOUS`](hustings_protocol::Port::PREVIOUS). All of them close the ring over dead neighbours with
//! [`Context::skip`](hustings_protocol::Context::skip).
//!
//! What they share is in `plain` (who passes on, the lap of the announcement), `candidate` and `pairs` (messages), and
//! `oracle` (counts that follow from the order of ids).

mod candidate;
mod chang_roberts;
mod dolev_klawe_rodeh;
mod franklin;
mod hirschberg_sinclair;
mod le_lann;
mod oracle;
mod pairs;
mod peterson;
pub(crate) mod plain;
pub(crate) mod token_ring;

pub use chang_roberts::ChangRoberts;
pub use dolev_klawe_rodeh::DolevKlaweRodeh;
pub use franklin::Franklin;
pub use hirschberg_sinclair::HirschbergSinclair;
pub use le_lann::LeLann;
pub use peterson::Peterson;
pub(crate) use plain::name;
pub use token_ring::{Gather, TokenRing, TokenRingParams};
