//! What the raft library reads.

use std::cell::RefCell;
use std::rc::Rc;

use raft::eraftpb::{ConfState, Entry, HardState, Snapshot};
use raft::{Error, GetEntriesContext, RaftState, Storage, StorageError};

use super::state::State;
use super::{StoreError, Write};

/// An in-memory mirror of what is on disk or on its way there. Clones show the same thing. The default is what a new
/// store has: nothing.
#[derive(Clone, Default)]
pub struct Mirror {
    inner: Rc<RefCell<Inner>>,
}

#[derive(Default)]
struct Inner {
    state: State,
    conf_state: ConfState,
}

impl Mirror {
    pub(super) fn new(state: State) -> Self {
        let conf_state = state.snapshot.get_metadata().get_conf_state().clone();
        Mirror { inner: Rc::new(RefCell::new(Inner { state, conf_state })) }
    }

    /// Of a store that nothing was ever written to.
    pub fn empty() -> Self {
        Mirror::new(State::default())
    }

    /// Takes over what was once written.
    pub fn redo(&self, write: &Write) -> Result<(), StoreError> {
        self.change(|state| state.apply(write))?;
        if let Some(snapshot) = &write.snapshot {
            self.set_conf_state(snapshot.get_metadata().get_conf_state().clone());
        }
        Ok(())
    }

    /// Takes entries over; they replace everything from their first index on.
    pub fn append(&self, entries: &[Entry]) -> Result<(), StoreError> {
        self.change(|state| state.append(entries))
    }

    /// Takes over term, vote and commit index.
    pub fn set_hard_state(&self, hard_state: HardState) {
        self.inner.borrow_mut().state.hard_state = hard_state;
    }

    /// Takes over who votes, as of the last entry applied. It is not on disk: after a restart, the one of the snapshot
    /// holds, and the entries after it are applied again.
    pub fn set_conf_state(&self, conf_state: ConfState) {
        self.inner.borrow_mut().conf_state = conf_state;
    }

    /// Takes over a snapshot from somebody else: whatever was in the log is void.
    pub fn install(&self, snapshot: Snapshot) -> Result<(), StoreError> {
        let conf_state = snapshot.get_metadata().get_conf_state().clone();
        self.change(|state| state.install(snapshot))?;
        self.set_conf_state(conf_state);
        Ok(())
    }

    /// Takes over a snapshot of one's own, and keeps only the entries after `upto`, which is at or before it.
    pub fn compact(&self, upto: u64, snapshot: Snapshot) -> Result<(), StoreError> {
        self.change(|state| state.compact(upto, snapshot))
    }

    /// How many entries there are.
    pub fn len(&self) -> usize {
        self.inner.borrow().state.entries.len()
    }

    /// Whether there are no entries.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How much memory the entries take, roughly.
    pub fn bytes(&self) -> usize {
        self.inner.borrow().state.bytes
    }

    /// Term, vote and commit index.
    pub fn hard_state(&self) -> HardState {
        self.inner.borrow().state.hard_state.clone()
    }

    /// The newest snapshot; its index is 0 if there never was one.
    pub fn latest_snapshot(&self) -> Snapshot {
        self.inner.borrow().state.snapshot.clone()
    }

    /// Changes nothing if the change is refused: each of the changes checks before it touches the state.
    fn change(&self, change: impl FnOnce(&mut State) -> Result<(), StoreError>) -> Result<(), StoreError> {
        change(&mut self.inner.borrow_mut().state)
    }

    #[cfg(any(test, feature = "testkit"))]
    pub(super) fn state(&self) -> State {
        self.inner.borrow().state.clone()
    }
}

impl Storage for Mirror {
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
        // The library ends the process when it is given an empty snapshot.
        if index == 0 || index < request_index {
            return Err(Error::Store(StorageError::SnapshotTemporarilyUnavailable));
        }
        Ok(state.snapshot.clone())
    }
}
