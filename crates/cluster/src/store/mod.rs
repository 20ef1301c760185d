//! The persistent state of a node: its vote, its log, its snapshot, and the states of offices.
//!
//! A `Store` owns a folder with three files and the blobs. `lock` keeps a second process out. `header` identifies the
//! store and never changes. `log` contains everything else, except for large values, which are files of their own
//! (`blobs`). A `DiskWriter` is a store on a thread of its own. A [`RaftStorage`]
//! is the same state in memory, from which the raft library reads.
//!
//! # The log
//!
//! A log file begins with everything that was known when it was created: the snapshot, the entries after it and the
//! hard state. Every later write, or all writes that waited for the disk together, is appended as a batch. The log is
//! rewritten when a snapshot is taken, when the file is long, after every failure and at every start. The new content
//! goes to `log.new`, which is made durable and then renamed.
//!
//! # The order of writes
//!
//! What is acknowledged is what a re-read of the files would find after a crash. Each step waits until the one before
//! it is durable:
//!
//! 1. **Blobs before the snapshot that refers to them**: contents, then their names. Until then the pieces are entries
//!    of the log.
//! 2. **The new log before its name**: contents, then the name `log.new`, then the name `log`. Names may become durable
//!    in any order, and an earlier attempt may have left another `log.new`. Whichever file has the name `log` after a
//!    crash, it is complete, and holds everything that was acknowledged until then. It is the same with a blob that is
//!    written again.
//! 3. **The name before the acknowledgement**, and before anything is appended: else the batch would be in a file
//!    that a crash removes.
//! 4. **The acknowledgement before what became superfluous is removed**: blobs to which only older snapshots refer.
//! 5. **The header gets its name last**, when a log exists that belongs to it. A start writes it again: the name may be
//!    in the kernel's cache alone, if the folder's sync failed in an earlier process.
//!
//! # Failures
//!
//! A failed operation leaves nothing believed. Writes that failed are part of the state in memory already, and the
//! files may hold any part of them; after a failed sync the kernel may have dropped the data, and the next sync would
//! report success. So no file is written to again, and no sync is repeated: the log, and all blobs that were not
//! durable, are written to new files, made durable, renamed and read back from the disk. Only then are writes
//! acknowledged. If other bytes are read than were written, the disk is broken and the node stops.
//!
//! What is written ahead of need (room for later batches, a shorter log) may fail without a write failing: on a full
//! disk the log may have room for many more batches. Then it is reopened and stays in use, if a re-read shows that it
//! holds everything.
//!
//! # Torn writes and damage
//!
//! A write that a crash interrupts (a torn write) was never acknowledged. It is removed, and `Recovered::torn_at`
//! says where it was. A durable write that is damaged later may be a lost vote, so the store refuses to open. Both can
//! be at the end of the file. They are told apart as follows:
//!
//! - The file grows in steps, durably and before anything is written there. What was never written is zero.
//! - A batch takes whole blocks of 512 bytes, the unit that disks write atomically, and no block is written twice.
//!   After a crash every block of a torn batch is therefore either correct or zero. Every block has its own checksum,
//!   so a block that is neither correct nor zero is *damaged*, wherever it is.
//! - Writes without `sync` may reach the disk in any order. Every block records up to where the file was durable when
//!   the block was written. A batch before that position cannot be torn: if one of its blocks is zero, it is *damaged*.
//! - Every block records the durable length of the file. A shorter file was truncated and is *damaged*.
//!
//! So every flipped bit is detected, and every file that is shorter than its blocks say. Two kinds of damage still look
//! like a crash: whole blocks that turn into zeros, together with all later blocks that were written when they were
//! durable; and a file truncated to exactly a length that it once had, a multiple of 1 MiB. Both require a disk that
//! loses acknowledged data, or intent. A checksum cannot detect a folder that was restored from an old backup; the
//! other members do (`core::arbiter::raft::disks`).
//!
//! In one case a crash looks like damage: the host loses power while the kernel copies a write into a block that is
//! being written to the disk at that moment. Then the node does not start although it could, which is the safe choice.
//!
//! # The initial voters
//!
//! A snapshot contains the voters. A new node writes a snapshot with index 0 for the initial members of the cluster.

mod backup;
mod blobs;
mod block;
mod disk_writer;
mod error;
mod files;
#[cfg(feature = "testkit")]
pub(crate) mod fuzzing;
mod header;
mod known_disks;
mod latency;
mod log;
mod offline;
mod open;
mod raft_storage;
mod record;
mod state;
#[cfg(test)]
pub(crate) mod tests;

use hustings_protocol::Id;
use raft::eraftpb::{Entry, HardState, Snapshot};

pub(crate) use backup::{read_running, write_backup};
pub(crate) use blobs::BlobWrite;
pub(crate) use blobs::Blobs;
pub(crate) use disk_writer::{DiskWriter, SubmitError};
pub(crate) use error::StoreError;
pub(crate) use header::Identity;
pub(crate) use known_disks::{DiskPosition, DiskState, KnownDisk, KnownDisks};
pub(crate) use log::Store;
pub(crate) use offline::OfflineStore;
pub(crate) use raft_storage::RaftStorage;

/// The node that a store must belong to.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct StoreOwner {
    /// The name of the cluster.
    pub cluster: String,
    /// The node's id.
    pub id: Id,
}

/// The content of an opened store.
pub(crate) struct Recovered {
    /// The raft state, in memory.
    pub storage: RaftStorage,
    /// The identity of the store.
    pub identity: Identity,
    /// Whether the folder was empty: the node has never run with it.
    pub is_new: bool,
    /// Where in the log a crash interrupted a write. The write was never acknowledged, and has been removed.
    pub torn_at: Option<u64>,
}

/// One batch for the disk, applied in this order: blobs, snapshot, entries, hard state.
#[derive(Clone, PartialEq, Default, Debug)]
pub(crate) struct Write {
    /// The number of the write. Numbers start at 1 and increase.
    pub number: u64,
    /// Changes of blobs. They are durable before a snapshot is, and not necessarily earlier.
    pub blobs: Vec<BlobWrite>,
    /// Term, vote and commit index.
    pub hard_state: Option<HardState>,
    /// Entries. They replace all existing entries from the first of them on.
    pub entries: Vec<Entry>,
    /// A snapshot, which replaces everything before it. It is always made durable, with everything before it.
    pub snapshot: Option<Snapshot>,
    /// For a snapshot that this node took: entries after this index are kept. `None` means that the snapshot came from
    /// another node, and no entry is kept.
    pub keep_after: Option<u64>,
    /// What is known of other members' disks, if it changed. It replaces everything that was known before.
    pub disks: Option<KnownDisks>,
    /// A member has refused this disk as an older copy: in which process.
    pub refused_as: Option<u64>,
    /// Whether the write must be durable before it is acknowledged.
    pub sync: bool,
}
