//! The storage that the raft library reads from.

use std::cell::RefCell;
use std::rc::Rc;

use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Storage, StorageError};

use super::KnownDisks;
use super::StoreError;
#[cfg(test)]
use super::Write;
use super::blobs::Blobs;
use super::state::State;

/// The persistent state in memory, including writes that are not on disk yet, as a [`raft::Storage`]. Clones share the
/// same state. The default is the state of a new store.
#[derive(Clone, Default)]
pub(crate) struct RaftStorage {
    inner: Rc<RefCell<Inner>>,
}

#[derive(Default)]
struct Inner {
    state: State,
    conf_state: ConfState,
}

impl RaftStorage {
    pub(super) fn new(state: State) -> Self {
        let conf_state = state.snapshot.get_metadata().get_conf_state().clone();
        RaftStorage { inner: Rc::new(RefCell::new(Inner { state, conf_state })) }
    }

    /// The state of a new store.
    #[cfg(test)]
    pub(crate) fn empty() -> Self {
        RaftStorage::new(State::default())
    }

    /// Applies a write that was made before, as a restart does.
    #[cfg(test)]
    pub(crate) fn apply(&self, write: &Write) -> Result<(), StoreError> {
        self.change(|state| state.apply(write))?;
        if let Some(snapshot) = &write.snapshot {
            self.set_conf_state(snapshot.get_metadata().get_conf_state().clone());
        }
        Ok(())
    }

    /// Appends entries; they replace all existing entries from their first index on.
    pub(crate) fn append(&self, entries: &[Entry]) -> Result<(), StoreError> {
        self.change(|state| state.append(entries))
    }

    /// Sets term, vote and commit index.
    pub(crate) fn set_hard_state(&self, hard_state: HardState) {
        self.inner.borrow_mut().state.hard_state = hard_state;
    }

    /// Sets the voters as of the last applied entry. This is not stored: after a restart the snapshot's voters apply,
    /// and the entries after it are applied again.
    pub(crate) fn set_conf_state(&self, conf_state: ConfState) {
        self.inner.borrow_mut().conf_state = conf_state;
    }

    /// Installs a snapshot of another node, which replaces the whole log.
    pub(crate) fn install(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        let conf_state = snapshot.get_metadata().get_conf_state().clone();
        self.change(|state| state.install(snapshot))?;
        self.set_conf_state(conf_state);
        Ok(())
    }

    /// Takes this node's own snapshot, and keeps only the entries after `upto`, which is at or before it.
    pub(crate) fn compact(&self, upto: u64, snapshot: Snapshot) -> Result<(), StoreError> {
        self.change(|state| state.compact(upto, snapshot))
    }

    /// Up to where the log may be compacted for a snapshot at `index`: so that at most this many entries and bytes are
    /// left before it.
    pub(crate) fn compaction_point(&self, index: u64, max_entries: u64, max_bytes: usize) -> u64 {
        let state = &self.inner.borrow().state;
        let (mut point, mut bytes) = (index, 0);
        while point > state.compacted.0 && index - point < max_entries {
            let place = (point - state.first_index()) as usize;
            bytes += state.entries.get(place).map_or(0, |entry| entry.data.len());
            if bytes > max_bytes {
                break;
            }
            point -= 1;
        }
        point
    }

    /// Takes the blobs that were on disk at the start.
    pub(crate) fn take_blobs(&self) -> Blobs {
        std::mem::take(&mut self.inner.borrow_mut().state.blobs)
    }

    /// What is known of other members' disks.
    pub(crate) fn known_disks(&self) -> KnownDisks {
        self.inner.borrow().state.disks.clone()
    }

    /// Sets what is known of other members' disks.
    pub(crate) fn set_known_disks(&self, disks: KnownDisks) {
        self.inner.borrow_mut().state.disks = disks;
    }

    /// If a member has refused this disk as an older copy: the first process that was refused with it.
    pub(crate) fn refused_as(&self) -> Option<u64> {
        self.inner.borrow().state.refused_as
    }

    /// A member has refused this disk, in this process.
    pub(crate) fn set_refused_as(&self, incarnation: u64) {
        self.inner.borrow_mut().state.refused_as = Some(incarnation);
    }

    /// A copy that does not change with this one.
    #[cfg(test)]
    pub(crate) fn copy(&self) -> RaftStorage {
        RaftStorage::new(self.state())
    }

    /// The number of entries.
    #[cfg(test)]
    pub(crate) fn len(&self) -> usize {
        self.inner.borrow().state.entries.len()
    }

    /// Whether there are no entries.
    #[cfg(test)]
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The approximate memory that the entries take.
    #[cfg(test)]
    pub(crate) fn bytes(&self) -> usize {
        self.inner.borrow().state.bytes
    }

    /// The latest snapshot; its index is 0 if there is none.
    pub(crate) fn latest_snapshot(&self) -> Snapshot {
        self.inner.borrow().state.snapshot.clone()
    }

    /// Every change checks before it modifies the state, so a failed one changes nothing.
    fn change(&self, change: impl FnOnce(&mut State) -> Result<(), StoreError>) -> Result<(), StoreError> {
        change(&mut self.inner.borrow_mut().state)
    }

    #[cfg(any(test, feature = "testkit"))]
    pub(super) fn state(&self) -> State {
        self.inner.borrow().state.clone()
    }
}

impl Storage for RaftStorage {
    fn initial_state(&self) -> raft::Result<RaftState> {
        let inner = self.inner.borrow();
        Ok(RaftState::new(inner.state.hard_state.clone(), inner.conf_state.clone()))
    }

    fn entries(
        &self,
        low: u64,
        high: u64,
        max_size: impl Into<Option<u64>>,
        _: GetEntriesContext,
    ) -> raft::Result<Vec<Entry>> {
        let state = &self.inner.borrow().state;
        let first = state.first_index();
        if low < first {
            return Err(Error::Store(StorageError::Compacted));
        }
        if high > state.last_index() + 1 || low > high {
            return Err(Error::Store(StorageError::Unavailable));
        }
        let mut entries: Vec<Entry> =
            state.entries.range((low - first) as usize..(high - first) as usize).cloned().collect();
        raft::util::limit_size(&mut entries, max_size.into());
        Ok(entries)
    }

    fn term(&self, index: u64) -> raft::Result<u64> {
        let state = &self.inner.borrow().state;
        let missing = if index < state.first_index() { StorageError::Compacted } else { StorageError::Unavailable };
        state.term(index).ok_or(Error::Store(missing))
    }

    fn first_index(&self) -> raft::Result<u64> {
        Ok(self.inner.borrow().state.first_index())
    }

    fn last_index(&self) -> raft::Result<u64> {
        Ok(self.inner.borrow().state.last_index())
    }

    fn snapshot(&self, request_index: u64, _: u64) -> raft::Result<Snapshot> {
        let state = &self.inner.borrow().state;
        let index = state.snapshot.get_metadata().index;
        // The raft library panics on an empty snapshot.
        if index == 0 || index < request_index {
            return Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        Ok(state.snapshot.clone())
    }
}
