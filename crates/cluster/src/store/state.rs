//! The persistent state as plain values.

use std::collections::VecDeque;

use raft::eraftpb::{Entry, HardState, Snapshot};

use super::blobs::{self, Blobs};
use super::{KnownDisks, StoreError, Write};

/// Hard state, log, snapshot, blobs, and what is known of disks.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct State {
    pub(super) hard_state: HardState,
    /// The latest snapshot. Index 0 means the initial state.
    pub(super) snapshot: Snapshot,
    /// Index and term of the last compacted entry, the one before `entries`.
    pub(super) compacted: (u64, u64),
    /// Entries without gaps, starting after `compacted`.
    pub(super) entries: VecDeque<Entry>,
    /// The approximate memory that the entries take.
    pub(super) bytes: usize,
    /// The bytes of offices' states. They share their memory with the entries.
    pub(super) blobs: Blobs,
    /// What is known of other members' disks.
    pub(super) disks: KnownDisks,
    /// If a member has refused this disk as an older copy: the first process that was refused with it.
    pub(super) refused_as: Option<u64>,
}

/// No index is larger, so that index arithmetic cannot overflow.
const MAX_INDEX: u64 = u64::MAX >> 1;

/// The approximate memory that an entry takes.
fn entry_bytes(entry: &Entry) -> usize {
    size_of::<Entry>() + entry.data.len() + entry.context.len()
}

fn check_index(index: u64) -> Result<(), StoreError> {
    match index <= MAX_INDEX {
        true => Ok(()),
        false => Err(StoreError::OutOfOrder(format!("snapshot index {index} is out of range"))),
    }
}

impl State {
    pub(super) fn first_index(&self) -> u64 {
        self.compacted.0 + 1
    }

    pub(super) fn last_index(&self) -> u64 {
        self.compacted.0 + self.entries.len() as u64
    }

    /// The term of an entry, or of the last compacted one. `None` if it is not known.
    pub(super) fn term(&self, index: u64) -> Option<u64> {
        match index.checked_sub(self.compacted.0)? {
            0 => Some(self.compacted.1),
            place => self.entries.get(usize::try_from(place - 1).ok()?).map(|entry| entry.term),
        }
    }

    /// Appends entries; they replace all existing entries from their first index on.
    pub(super) fn append(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        let Some(first) = entries.first() else { return Ok(()) };
        if first.index < self.first_index() || first.index > self.last_index() + 1 {
            return Err(StoreError::OutOfOrder(format!(
                "entries start at {}, but the log has {} to {}",
                first.index,
                self.first_index(),
                self.last_index()
            )));
        }
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].index.checked_add(1) != Some(pair[1].index)) {
            return Err(StoreError::OutOfOrder(format!("entry {} follows entry {}", pair[1].index, pair[0].index)));
        }
        let replaced = self.entries.drain((first.index - self.first_index()) as usize..);
        self.bytes -= replaced.map(|entry| entry_bytes(&entry)).sum::<usize>();
        self.bytes += entries.iter().map(entry_bytes).sum::<usize>();
        self.entries.extend(entries.iter().cloned());
        Ok(())
    }

    /// The state at the beginning of a log file: a snapshot and the last compacted entry.
    pub(super) fn begin(snapshot: Snapshot, compacted: (u64, u64)) -> Result<State, StoreError> {
        let index = snapshot.get_metadata().index;
        check_index(index)?;
        if compacted.0 > index {
            return Err(StoreError::OutOfOrder(format!(
                "entries up to {} are compacted, but the snapshot is at {index}",
                compacted.0
            )));
        }
        Ok(State { snapshot, compacted, ..State::default() })
    }

    /// Installs a snapshot of another node, which replaces the whole log.
    pub(super) fn install(&mut self, snapshot: Snapshot) -> Result<(), StoreError> {
        self.take_snapshot(snapshot)?;
        let metadata = self.snapshot.get_metadata();
        self.compacted = (metadata.index, metadata.term);
        self.entries.clear();
        self.bytes = 0;
        Ok(())
    }

    /// Takes this node's own snapshot, and drops the entries up to an index at or before it.
    pub(super) fn compact(&mut self, upto: u64, snapshot: Snapshot) -> Result<(), StoreError> {
        let index = snapshot.get_metadata().index;
        if index > self.last_index() || upto > index {
            return Err(StoreError::OutOfOrder(format!(
                "cannot drop entries up to {upto} for a snapshot at {index}: the log ends at {}",
                self.last_index()
            )));
        }
        self.take_snapshot(snapshot)?;
        if let Some(term) = self.term(upto) {
            let dropped = self.entries.drain(..(upto - self.compacted.0) as usize);
            self.bytes -= dropped.map(|entry| entry_bytes(&entry)).sum::<usize>();
            self.compacted = (upto, term);
        }
        Ok(())
    }

    fn take_snapshot(&mut self, snapshot: Snapshot) -> Result<(), StoreError> {
        let (new, old) = (snapshot.get_metadata(), self.snapshot.get_metadata());
        if new.index < old.index {
            return Err(StoreError::OutOfOrder(format!("a snapshot at {} follows one at {}", new.index, old.index)));
        }
        check_index(new.index)?;
        self.hard_state.term = self.hard_state.term.max(new.term);
        self.hard_state.commit = self.hard_state.commit.max(new.index);
        self.snapshot = snapshot;
        Ok(())
    }

    /// Applies a write: snapshot, then entries, then hard state. After an error the state is unspecified.
    pub(super) fn apply(&mut self, write: &Write) -> Result<(), StoreError> {
        write.blobs.iter().for_each(|blob| blobs::apply(&mut self.blobs, blob));
        if let Some(snapshot) = &write.snapshot {
            match write.keep_after {
                None => self.install(snapshot.clone())?,
                Some(upto) => self.compact(upto, snapshot.clone())?,
            }
        }
        self.append(&write.entries)?;
        if let Some(hard_state) = &write.hard_state {
            self.hard_state = hard_state.clone();
        }
        if let Some(disks) = &write.disks {
            self.disks.clone_from(disks);
        }
        self.refused_as = write.refused_as.or(self.refused_as);
        self.check_commit()
    }

    /// Checks that the commit index lies between the snapshot and the end of the log.
    pub(super) fn check_commit(&self) -> Result<(), StoreError> {
        let (commit, from, upto) = (self.hard_state.commit, self.snapshot.get_metadata().index, self.last_index());
        if commit < from || commit > upto {
            return Err(StoreError::OutOfOrder(format!(
                "the commit index {commit} is not between the snapshot at {from} and the end of the log at {upto}"
            )));
        }
        Ok(())
    }
}
