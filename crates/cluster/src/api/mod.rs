//! The API of a node for programs on the same host: one JSON object per line, over a Unix socket.
//!
//! [`Client`] is a blocking client:
//!
//! ```no_run
//! use std::time::Duration;
//!
//! use hustings_cluster::api::{Client, Reply, Request};
//!
//! let timeout = Duration::from_secs(5);
//! let mut client = Client::connect("/run/hustings/hustings.sock", timeout)?;
//! let request = Request::Leader { office: "leader".to_string() };
//! if let Reply::Office(office) = client.call(&request, Some(timeout))? {
//!     println!("{:?} holds the office with token {}", office.holder, office.token);
//! }
//! # Ok::<(), hustings_cluster::api::ClientError>(())
//! ```

mod base64;
mod change_reason;
mod client;
mod guard;
mod metrics;
mod nanoseconds;
mod prometheus;
mod protocol;
mod reason;
mod right;
mod state;
mod status;
mod trace;

pub use base64::Base64;
pub use change_reason::ChangeReason;
pub use client::{Client, ClientError};
pub use guard::{Guard, NODE_KILL_MARGIN};
pub(crate) use metrics::{
    CertificateExpiry, Histogram, MessageCount, OfficeMetrics, OtherOffices, ProcessMetrics, RefusedConnections,
};
pub use metrics::{MemberMetrics, Metrics};
pub use protocol::{Completion, Lease, MAX_LINE_BYTES, MAX_PUT_PART_BYTES, OfficeTerms, Reply, Request, RequestError};
pub(crate) use protocol::{Effort, MAX_STATE_PART_BYTES};
pub use right::Right;
pub(crate) use right::{NOT_PERMITTED, Rights};
pub use state::{StateInfo, StatePart, StoredState};
pub use status::{
    CertificateStatus, Change, DiskFailure, HostDelay, MemberStatus, OfficeStatus, RealtimeStatus, Status,
};
pub use trace::{PeerClock, Trace, TraceEvent, TraceRecord, TracedMessage};
