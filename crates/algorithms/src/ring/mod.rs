//! Plain rings: port [`NEXT`](hustings_protocol::Port::NEXT) leads to the clockwise neighbour, which receives at
//! [`PREVIOUS`](hustings_protocol::Port::PREVIOUS). All of them skip dead neighbours with
//! [`Context::skip`](hustings_protocol::Context::skip).
//!
//! Shared code is in `election` (active and passive nodes, the announcement), `candidate` and `pairs` (messages), and
//! `oracle` (expected counts). Specified in `docs/model.md#rings`.

mod candidate;
mod chang_roberts;
mod dolev_klawe_rodeh;
pub(crate) mod election;
mod franklin;
mod hirschberg_sinclair;
mod le_lann;
mod oracle;
mod pairs;
mod peterson;
pub(crate) mod token_ring;

pub use chang_roberts::ChangRoberts;
pub use dolev_klawe_rodeh::DolevKlaweRodeh;
pub(crate) use election::set_leader;
pub use franklin::Franklin;
pub use hirschberg_sinclair::HirschbergSinclair;
pub use le_lann::LeLann;
pub use peterson::Peterson;
pub use token_ring::{TokenContents, TokenRing, TokenRingParams};
