//! What a node must not forget: its vote, its log, its snapshot.
//!
//! A [`Store`] owns a folder with three files: `lock`, so that no two processes open it; `header`, whose store it is,
//! written once; and `log`, everything else. A [`Disk`] is a store on a thread of its own. A [`Mirror`] is what the
//! raft library reads: everything is also in memory.
//!
//! # The log
//!
//! It begins with all that was known when the file was made: the snapshot, the entries after it, the vote. Behind that,
//! every write (or all those that waited for the disk together) is a batch. In between it is written anew: into
//! `log.new`, which is made durable and then takes the name. So it is when a snapshot comes, when the file is long, and
//! after every error and at every start, since what is read then may be in the memory of the kernel only. A failed sync
//! in particular leaves nothing to build on: the kernel may have dropped what it could not write, and the next sync
//! reports success.
//!
//! # A torn write or a damaged one
//!
//! A write that a crash cut short was never acknowledged: it is cut off, and [`Recovered::torn_at`] says where. One
//! that was made durable and is damaged later is a forgotten vote: then the store is not opened. How are they told
//! apart, when both are at the end of the file?
//!
//! - The file is made longer in steps, durably and before anything is written there: what was never written is zero.
//! - A batch takes whole blocks of 512 bytes, the unit that disks write wholly or not at all, and no block is written
//!   twice. So after a crash, each block of an unfinished batch is either right or zero. Every block has a checksum of
//!   its own, so each can be judged alone: one that is neither right nor zero was *damaged*, wherever it is.
//! - Writes without `sync` may reach the disk in any order. So every block says up to where the file was durable when
//!   it was written: a batch before that place cannot be torn, and is *damaged* if a block of it is zero.
//! - Every block says how long the file was, durably: a shorter one was cut by somebody else, and is *damaged*.
//!
//! So every flipped bit is noticed, and every file that is shorter than its blocks say. What remains and looks like a
//! crash: blocks that turn into zeros, all 512 bytes of each, together with every later block that was written when
//! they were durable; or a file cut to exactly a length that it once had, a multiple of 1 MiB. Both take a disk that
//! acknowledges a sync and then forgets it, or somebody who does it on purpose. And a folder that is put back as it
//! once was, whole, looks like what it once was: no checksum helps against an old backup.
//!
//! The other way round there is one case where a crash looks like damage: the host loses its power while the kernel
//! copies a write into a block that it is writing out at that very moment. The node does not start then, although it
//! could: the error is on the safe side.
//!
//! # The first voters
//!
//! Who votes is part of a snapshot. For the members a cluster starts with, a new node writes a snapshot of index 0.

mod block;
mod disk;
mod error;
mod files;
#[cfg(feature = "testkit")]
pub(crate) mod fuzzing;
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
    /// Of a snapshot of one's own: entries after this index stay. Without it, the snapshot comes from somebody else,
    /// and no entry stays.
    pub keep_after: Option<u64>,
    /// Whether it has to be durable before it is acknowledged.
    pub sync: bool,
}
