//! Plain rings: port [`NEXT`](hustings_protocol::Port::NEXT) is the clockwise neighbour, messages sent there come in at
//! [`PREVIOUS`](hustings_protocol::Port::PREVIOUS). All of them close the ring over dead neighbours with
//! [`Context::skip`](hustings_protocol::Context::skip).

mod chang_roberts;

pub use chang_roberts::ChangRoberts;
