//! What nodes say to each other, as bytes: postcard, with a version byte that the frame carries.
//!
//! Everything is bounded: by the size of a frame, and by the checks of [`Message::decode`]. What the raft library says
//! is carried in structures of our own ([`RaftMessage`]), so that the library's parser never sees a peer's bytes.

mod message;
mod raft_message;

pub(crate) use message::MAX_LIST_LEN;
pub use message::{
    Candidacy, Claim, DecodeError, FollowerHeartbeat, ForwardedRequest, Heartbeat, LeaderHeartbeat, Message,
};
pub use raft_message::{LogEntry, LogSnapshot, MAX_INDEX, RaftMessage};
