//! What a node must not forget.

mod block;
mod disk;
mod error;
mod files;
mod header;
mod log;
mod mirror;
mod open;
mod record;
mod state;
#[cfg(test)]
mod tests;

use hustings_protocol::Id;
use raft::eraftpb::{Entry, HardState, Snapshot};

pub use disk::{Disk, Refused};
pub use error::StoreError;
pub use header::Identity;
pub use log::Store;
pub use mirror::Mirror;

/// Whose state is to be opened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Who {
    /// The name of the cluster.
    pub cluster: String,
    /// The node.
    pub id: Id,
}

/// What was found in a folder.
pub struct Recovered {
    /// All that was written, for the raft library to read.
    pub mirror: Mirror,
    /// Whose store it is.
    pub identity: Identity,
    /// Whether the folder was empty: this node has never run with it.
    pub was_new: bool,
    /// Where in the log a write began that a crash cut short. It had not been acknowledged, and is gone.
    pub torn_at: Option<u64>,
}

/// One batch for the disk: the snapshot comes first, then the entries, then the vote.
#[derive(Clone, PartialEq, Default, Debug)]
pub struct Write {
    /// Grows from write to write, from 1.
    pub number: u64,
    /// Term, vote and commit index.
    pub hard_state: Option<HardState>,
    /// They replace everything from the first of them on.
    pub entries: Vec<Entry>,
    /// Replaces everything before it. It is always made durable, with everything before it.
    pub snapshot: Option<Snapshot>,
    /// Of a snapshot of one's own: entries after this index stay. Without it, the snapshot comes from somebody else, and
    /// no entry stays.
    pub keep_after: Option<u64>,
    /// Whether it has to be durable before it is acknowledged.
    pub sync: bool,
}
