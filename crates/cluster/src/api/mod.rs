//! What programs on the same host say to a node, over its Unix socket: one JSON object a line, both ways.

mod client;
mod protocol;

pub use client::{Client, ClientError};
pub use protocol::{
    Cause, Change, Holding, MAX_BYTES_A_LINE, MemberStatus, OfficeStatus, Refusal, Reply, Request, Status,
};
