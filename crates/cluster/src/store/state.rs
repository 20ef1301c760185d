//! What a node remembers, as plain values: the same for the mirror, for the store and for what is read back.

use std::collections::VecDeque;

use raft::eraftpb::{Entry, HardState, Snapshot};

use super::{StoreError, Write};

/// Vote, log and snapshot.
#[derive(Clone, Default, PartialEq, Debug)]
pub(super) struct State {
    pub(super) hard_state: HardState,
    /// The newest snapshot. Index 0 stands for the very beginning.
    pub(super) snapshot: Snapshot,
    /// Index and term of the last entry that is gone: what is before `entries`.
    pub(super) gone: (u64, u64),
    /// Without gaps, from `gone` on.
    pub(super) entries: VecDeque<Entry>,
    /// How much memory the entries take, roughly.
    pub(super) bytes: usize,
}

/// No log gets this far, so indices can be counted on from here without an overflow.
const MAX_INDEX: u64 = u64::MAX >> 1;

/// How much memory an entry takes, roughly.
fn weight(entry: &Entry) -> usize {
    size_of::<Entry>() + entry.data.len() + entry.context.len()
}

fn check_index(index: u64) -> Result<(), StoreError> {
    match index <= MAX_INDEX {
        true => Ok(()),
        false => Err(StoreError::OutOfOrder(format!("a snapshot of {index}, which no log gets to"))),
    }
}

impl State {
    pub(super) fn first_index(&self) -> u64 {
        self.gone.0 + 1
    }

    pub(super) fn last_index(&self) -> u64 {
        self.gone.0 + self.entries.len() as u64
    }

    /// The term of an entry, or of the one before the first. `None` if it is not known (any more).
    pub(super) fn term(&self, index: u64) -> Option<u64> {
        match index.checked_sub(self.gone.0)? {
            0 => Some(self.gone.1),
            place => self.entries.get(usize::try_from(place - 1).ok()?).map(|entry| entry.term),
        }
    }

    /// Takes entries over; they replace everything from their first index on.
    pub(super) fn append(&mut self, entries: &[Entry]) -> Result<(), StoreError> {
        let Some(first) = entries.first() else { return Ok(()) };
        if first.index < self.first_index() || first.index > self.last_index() + 1 {
            return Err(StoreError::OutOfOrder(format!(
                "entries from {} on, but the log is from {} to {}",
                first.index,
                self.first_index(),
                self.last_index()
            )));
        }
        if let Some(pair) = entries.windows(2).find(|pair| pair[0].index.checked_add(1) != Some(pair[1].index)) {
            return Err(StoreError::OutOfOrder(format!("entry {} follows {}", pair[1].index, pair[0].index)));
        }
        let replaced = self.entries.drain((first.index - self.first_index()) as usize..);
        self.bytes -= replaced.map(|entry| weight(&entry)).sum::<usize>();
        self.bytes += entries.iter().map(weight).sum::<usize>();
        self.entries.extend(entries.iter().cloned());
        Ok(())
    }

    /// The beginning of a log, as it was kept: a snapshot, and the last entry that is gone.
    pub(super) fn begin(snapshot: Snapshot, gone: (u64, u64)) -> Result<State, StoreError> {
        let index = snapshot.get_metadata().index;
        check_index(index)?;
        if gone.0 > index {
            return Err(StoreError::OutOfOrder(format!(
                "entries up to {} are gone, with a snapshot of {index}",
                gone.0
            )));
        }
        Ok(State { snapshot, gone, ..State::default() })
    }

    /// A snapshot from somebody else: whatever was in the log is void.
    pub(super) fn install(&mut self, snapshot: Snapshot) -> Result<(), StoreError> {
        self.take_snapshot(snapshot)?;
        let metadata = self.snapshot.get_metadata();
        self.gone = (metadata.index, metadata.term);
        self.entries.clear();
        self.bytes = 0;
        Ok(())
    }

    /// A snapshot of one's own: entries up to an index at or before it are no longer needed.
    pub(super) fn compact(&mut self, upto: u64, snapshot: Snapshot) -> Result<(), StoreError> {
        let index = snapshot.get_metadata().index;
        if index > self.last_index() || upto > index {
            return Err(StoreError::OutOfOrder(format!(
                "entries up to {upto} dropped for a snapshot of {index}, with a log up to {}",
                self.last_index()
            )));
        }
        self.take_snapshot(snapshot)?;
        if let Some(term) = self.term(upto) {
            let dropped = self.entries.drain(..(upto - self.gone.0) as usize);
            self.bytes -= dropped.map(|entry| weight(&entry)).sum::<usize>();
            self.gone = (upto, term);
        }
        Ok(())
    }

    fn take_snapshot(&mut self, snapshot: Snapshot) -> Result<(), StoreError> {
        let (new, old) = (snapshot.get_metadata(), self.snapshot.get_metadata());
        if new.index < old.index {
            return Err(StoreError::OutOfOrder(format!("a snapshot of {} after one of {}", new.index, old.index)));
        }
        check_index(new.index)?;
        self.hard_state.term = self.hard_state.term.max(new.term);
        self.hard_state.commit = self.hard_state.commit.max(new.index);
        self.snapshot = snapshot;
        Ok(())
    }

    /// Does what a write says: snapshot first, then entries, then the vote. After an error nothing is said about the
    /// state.
    pub(super) fn apply(&mut self, write: &Write) -> Result<(), StoreError> {
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
        self.check_commit()
    }

    /// Nothing can be committed that is not in the log, and whatever is in a snapshot was committed.
    pub(super) fn check_commit(&self) -> Result<(), StoreError> {
        let (commit, from, upto) = (self.hard_state.commit, self.snapshot.get_metadata().index, self.last_index());
        if commit < from || commit > upto {
            return Err(StoreError::OutOfOrder(format!(
                "entries up to {commit} are committed, with a snapshot of {from} and a log up to {upto}"
            )));
        }
        Ok(())
    }
}
