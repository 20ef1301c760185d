//! When the log is replaced by a snapshot, and which members are sent one.

use hustings_protocol::Id;
use raft::{ProgressState, eraftpb};

use super::{Consensus, Ready};
use crate::store::{BlobWrite, Write};

/// How many entries are kept behind a snapshot, for followers that lag a little.
const RETAINED_ENTRIES: u64 = 200;
/// After how many applied entries a new snapshot is made.
const SNAPSHOT_INTERVAL: u64 = 2_000;
/// After how many bytes of applied entries a new snapshot is made, and how many are kept behind it.
const SNAPSHOT_BYTES: usize = 8 << 20;
const RETAINED_BYTES: usize = 2 << 20;

impl Consensus {
    /// The members that were sent a snapshot and have not installed it.
    pub(crate) fn awaiting_snapshot(&self) -> Vec<Id> {
        if !self.is_leader() {
            return Vec::new();
        }
        let progress = self.node.raft.prs().iter();
        progress.filter(|(_, progress)| progress.state == ProgressState::Snapshot).map(|(id, _)| Id(*id)).collect()
    }

    /// A snapshot may be lost: the library sends one again.
    pub(crate) fn report_snapshot_lost(&mut self, id: Id) {
        self.node.report_snapshot(id.0, raft::SnapshotStatus::Failure);
    }

    /// Whether it is time for a snapshot.
    pub(crate) fn wants_snapshot(&self) -> bool {
        self.applied >= self.snapshot_index + SNAPSHOT_INTERVAL || self.applied_bytes >= SNAPSHOT_BYTES
    }

    /// Makes a snapshot of `state` and discards the log before it, except for some recent entries unless `discards_all`
    /// is set. `blobs` removes those that the snapshot does not refer to.
    pub(crate) fn compact(&mut self, state: Vec<u8>, blobs: BlobWrite, discards_all: bool, ready: &mut Ready) {
        let Ok(term) = self.node.raft.raft_log.term(self.applied) else { return };
        let mut snapshot = eraftpb::Snapshot { data: state.into(), ..Default::default() };
        snapshot.mut_metadata().index = self.applied;
        snapshot.mut_metadata().term = term;
        snapshot.mut_metadata().set_conf_state(self.conf.clone());
        (self.snapshot_index, self.applied_bytes) = (self.applied, 0);
        let retained = if discards_all { 0 } else { RETAINED_ENTRIES };
        let keep_after = self.storage.compaction_point(self.applied, retained, RETAINED_BYTES);
        let _ = self.storage.compact(keep_after, snapshot.clone());
        self.last_write += 1;
        ready.writes.push(Write {
            number: self.last_write,
            blobs: vec![blobs],
            hard_state: Some(self.node.raft.hard_state()),
            snapshot: Some(snapshot),
            keep_after: Some(keep_after),
            sync: true,
            ..Write::default()
        });
    }
}
