//! What members remember of each other's disks.

use std::collections::BTreeMap;

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

/// Where a disk is: a term that it knows, and an entry that its log holds.
///
/// Two positions of a disk never become smaller. Its term is durable before anything that is sent in it, and an entry
/// that is durable and known to be committed is never replaced.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct DiskPosition {
    /// The term of its hard state.
    pub term: u64,
    /// The term of the entry.
    pub log_term: u64,
    /// The index of the entry.
    pub index: u64,
}

impl DiskPosition {
    /// Whether a disk whose log ends here may hold everything that it held when it was at `reached`.
    pub(crate) fn includes(self, reached: DiskPosition) -> bool {
        self.term >= reached.term && self.log_term >= reached.log_term && self.index >= reached.index
    }

    /// The later one in each of the three numbers.
    pub(crate) fn max(self, other: DiskPosition) -> DiskPosition {
        DiskPosition {
            term: self.term.max(other.term),
            log_term: self.log_term.max(other.log_term),
            index: self.index.max(other.index),
        }
    }
}

/// What a process says of its disk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct DiskState {
    /// Where its log ends now.
    pub now: DiskPosition,
    /// Where it ended when the process started.
    pub started_at: DiskPosition,
    /// If it was refused as an older copy: the first process that was refused with it.
    pub refused_as: Option<u64>,
}

/// What a member remembers of another member's disk.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct KnownDisk {
    /// Identifies the disk.
    pub store_id: u64,
    /// The process that last said how far it was.
    pub incarnation: u64,
    /// How far it certainly was.
    pub reached: DiskPosition,
    /// If this member has refused an older copy of it: the first process that was refused with that copy.
    pub refused_as: Option<u64>,
}

/// The disks of other members.
pub(crate) type KnownDisks = BTreeMap<Id, KnownDisk>;
