//! The messages between nodes, and their encoding: postcard. The Hello of a connection carries their version.
//!
//! All sizes are bounded, by the frame and by the checks of [`Message::decode`]. Messages of the raft library are
//! carried in types of this crate ([`RaftMessage`]), so that the library's protobuf parser never sees a peer's bytes.

#[cfg(test)]
mod golden;
mod kind;
mod message;
mod raft_message;
mod relay;
mod subject;

#[cfg(test)]
pub(crate) use kind::examples;
pub(crate) use kind::{MessageKind, Sender};
pub(crate) use message::MAX_LIST_LEN;
pub(crate) use message::{
    Candidacy, Claim, Claims, FollowerHeartbeat, ForwardedRequest, Heartbeat, LeaderHeartbeat, Message,
};
pub(crate) use raft_message::MAX_INDEX;
pub(crate) use raft_message::RaftMessage;
pub(crate) use relay::{Relay, Seal};
pub(crate) use subject::Subject;
