//! A naive model of a store, and random writes for both.

use std::collections::BTreeMap;
use std::fmt;

use hustings_protocol::Id;
use proptest::prelude::*;
use raft::eraftpb::{Entry, EntryType, HardState, Snapshot};

use crate::store::{DiskPosition, KnownDisk, KnownDisks, RaftStorage, StoreOwner, Write};

pub(super) fn owner() -> StoreOwner {
    StoreOwner { cluster: "atlas".to_string(), id: Id(3) }
}

/// What a write does, independent of earlier writes.
#[derive(Clone, Debug)]
pub(super) enum Op {
    /// Drops up to this many uncommitted entries, and appends some of this size.
    Append { dropped: u64, count: u64, size: usize },
    /// A new term and a vote in it.
    Vote,
    /// Commits one entry more.
    Commit,
    /// Installs a snapshot of another node, this far ahead of the log.
    Install { ahead: u64 },
    /// Takes a snapshot at the commit index, and keeps this many entries before it.
    Compact { kept: u64 },
    /// Remembers how far another member's disk is.
    Remember,
    /// The cluster refuses this disk.
    Refuse,
}

pub(super) fn any_op() -> impl Strategy<Value = Op> {
    prop_oneof![
        6 => (0..4u64, 1..4u64, prop_oneof![8 => 0..3000usize, 1 => 200_000..400_000usize])
            .prop_map(|(dropped, count, size)| Op::Append { dropped, count, size }),
        2 => Just(Op::Vote),
        3 => Just(Op::Commit),
        1 => (0..3u64).prop_map(|ahead| Op::Install { ahead }),
        1 => (0..3u64).prop_map(|kept| Op::Compact { kept }),
        1 => Just(Op::Remember),
        1 => Just(Op::Refuse),
    ]
}

/// The expected content of a store.
#[derive(Clone, PartialEq, Default)]
pub(super) struct Model {
    pub(super) term: u64,
    pub(super) vote: u64,
    pub(super) commit: u64,
    pub(super) snapshot: Snapshot,
    pub(super) compacted: (u64, u64),
    pub(super) entries: BTreeMap<u64, Entry>,
    pub(super) disks: KnownDisks,
    pub(super) refused_as: Option<u64>,
}

/// Prints only the length and the first byte of data.
impl fmt::Debug for Model {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let metadata = self.snapshot.get_metadata();
        let (snapshot, begin) = ((metadata.index, metadata.term), self.snapshot.data.first());
        write!(f, "term {} vote {} commit {} snapshot {snapshot:?}{begin:?}", self.term, self.vote, self.commit)?;
        write!(f, " disks {:?} refused as {:?}", self.disks, self.refused_as)?;
        write!(f, " compacted {:?} entries", self.compacted)?;
        self.entries.iter().try_for_each(|(index, entry)| {
            write!(f, " {index}/{}/{}*{:?}", entry.term, entry.data.len(), entry.data.first())
        })
    }
}

impl Model {
    pub(super) fn last(&self) -> u64 {
        self.entries.last_key_value().map_or(self.compacted.0, |(index, _)| *index)
    }

    fn hard_state(&self) -> HardState {
        HardState { term: self.term, vote: self.vote, commit: self.commit, ..Default::default() }
    }

    pub(super) fn of(storage: &RaftStorage) -> Self {
        let state = storage.state();
        Model {
            term: state.hard_state.term,
            vote: state.hard_state.vote,
            commit: state.hard_state.commit,
            snapshot: state.snapshot,
            compacted: state.compacted,
            entries: state.entries.into_iter().map(|entry| (entry.index, entry)).collect(),
            disks: state.disks,
            refused_as: state.refused_as,
        }
    }

    /// Applies an operation, and returns the write that stores it.
    pub(super) fn act(&mut self, op: &Op, number: u64, sync: bool) -> Write {
        let mut write = Write { number, sync, ..Default::default() };
        match *op {
            Op::Append { dropped, count, size } => {
                let from = (self.last() - dropped.min(self.last() - self.commit)) + 1;
                self.entries.split_off(&from);
                self.term = self.term.max(1);
                write.entries = (from..from + count).map(|index| entry(index, self.term, size, number)).collect();
                self.entries.extend(write.entries.iter().map(|entry| (entry.index, entry.clone())));
            }
            Op::Vote => {
                self.term += 1;
                self.vote = self.term % 5;
            }
            Op::Commit => self.commit = self.last().min(self.commit + 1),
            Op::Install { ahead } => {
                self.term += 1;
                self.commit = self.last() + ahead + 1;
                self.compacted = (self.commit, self.term);
                self.entries.clear();
                self.snapshot = snapshot(self.commit, self.term, number);
                write.snapshot = Some(self.snapshot.clone());
            }
            Op::Compact { kept } => {
                let term = self.entries.get(&self.commit).map_or(self.compacted.1, |entry| entry.term);
                self.snapshot = snapshot(self.commit, term, number);
                let upto = self.commit.saturating_sub(kept);
                if let Some(entry) = self.entries.get(&upto) {
                    self.compacted = (upto, entry.term);
                }
                self.entries.retain(|index, _| *index > upto);
                write.snapshot = Some(self.snapshot.clone());
                write.keep_after = Some(upto);
            }
            Op::Remember => {
                let reached = DiskPosition { term: self.term, log_term: self.term, index: number };
                self.disks
                    .insert(Id(number % 3), KnownDisk { store_id: 7, incarnation: number, reached, refused_as: None });
                write.disks = Some(self.disks.clone());
            }
            Op::Refuse => {
                self.refused_as = Some(number);
                write.refused_as = self.refused_as;
            }
        }
        write.hard_state = Some(self.hard_state());
        write
    }
}

pub(super) fn entry(index: u64, term: u64, size: usize, fill: u64) -> Entry {
    let mut entry = Entry::new();
    entry.index = index;
    entry.term = term;
    entry.data = vec![fill as u8; size].into();
    if fill.is_multiple_of(3) {
        entry.entry_type = EntryType::EntryConfChangeV2;
        entry.context = vec![1, 2, 3].into();
    }
    entry
}

pub(super) fn snapshot(index: u64, term: u64, fill: u64) -> Snapshot {
    let mut snapshot = Snapshot::new();
    snapshot.data = vec![fill as u8; 700].into();
    let metadata = snapshot.mut_metadata();
    metadata.index = index;
    metadata.term = term;
    metadata.mut_conf_state().voters = vec![1, 2, fill];
    metadata.mut_conf_state().learners_next = vec![9];
    metadata.mut_conf_state().auto_leave = fill.is_multiple_of(2);
    snapshot
}

/// A mix of all operations, with a file that grows and one that is rewritten.
pub(super) fn script() -> Vec<(Op, bool)> {
    let append = |dropped, count, size| Op::Append { dropped, count, size };
    vec![
        (Op::Vote, true),
        (append(0, 3, 100), true),
        (Op::Commit, false),
        (append(2, 1, 1200), false),
        (append(0, 2, 0), true),
        (append(0, 2, 400_000), false),
        (Op::Commit, true),
        (Op::Compact { kept: 1 }, false),
        (append(1, 2, 700), true),
        (Op::Install { ahead: 4 }, true),
        (Op::Remember, false),
        (append(0, 1, 60), true),
        (Op::Refuse, true),
        (Op::Vote, true),
    ]
}
