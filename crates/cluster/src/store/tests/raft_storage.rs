//! The storage behaves like the raft library's own one.

use proptest::prelude::*;
use raft::eraftpb::Entry;
use raft::storage::MemStorage;
use raft::{Error, GetEntriesContext, Storage, StorageError};

use super::model::{Model, Op, any_op, entry, snapshot};
use crate::store::RaftStorage;
use crate::store::state::State;

fn entries_of(storage: &impl Storage, low: u64, high: u64, limit: Option<u64>) -> raft::Result<Vec<Entry>> {
    storage.entries(low, high, limit, GetEntriesContext::empty(false))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn behaves_like_the_raft_library_s_own_storage(ops in prop::collection::vec(any_op(), 1..25), limit in 0..4000u64) {
        let (storage, theirs) = (RaftStorage::new(State::default()), MemStorage::new());
        let mut model = Model::default();
        for (number, op) in (1..).zip(&ops) {
            // MemStorage forgets where its log ended when a compaction leaves nothing of it.
            if matches!(op, Op::Compact { .. }) && model.commit == model.last() {
                continue;
            }
            let write = model.act(op, number, true);
            let hard_state = write.hard_state.clone().expect("every write of the model has one");
            match (write.snapshot, write.keep_after) {
                (Some(snapshot), None) => {
                    storage.install(snapshot.clone()).expect("it fits");
                    theirs.wl().apply_snapshot(snapshot).expect("it fits");
                }
                (Some(snapshot), Some(upto)) => {
                    storage.compact(upto, snapshot).expect("it fits");
                    theirs.wl().compact(upto + 1).expect("it fits");
                }
                _ => {
                    storage.append(&write.entries).expect("it fits");
                    theirs.wl().append(&write.entries).expect("it fits");
                }
            }
            write.disks.into_iter().for_each(|disks| storage.set_known_disks(disks));
            write.refused_as.into_iter().for_each(|incarnation| storage.set_refused_as(incarnation));
            storage.set_hard_state(hard_state.clone());
            theirs.wl().set_hardstate(hard_state);
            prop_assert_eq!(Model::of(&storage), model.clone());
            let (first, last) = (storage.first_index().unwrap(), storage.last_index().unwrap());
            // Without entries, MemStorage fails when it is asked for some.
            if storage.is_empty() {
                prop_assert_eq!(last, model.last());
                continue;
            }
            prop_assert_eq!((first, last), (theirs.first_index().unwrap(), theirs.last_index().unwrap()));
            prop_assert_eq!(storage.initial_state().unwrap().hard_state, theirs.initial_state().unwrap().hard_state);
            for index in first..=last + 1 {
                prop_assert_eq!(storage.term(index), theirs.term(index), "term of {}", index);
            }
            // MemStorage forgets the term of the last entry that was dropped.
            prop_assert_eq!(storage.term(first - 1).unwrap(), model.compacted.1);
            prop_assert!(first < 2 || storage.term(first - 2).is_err());
            for (low, limit) in (first.saturating_sub(1)..=last).flat_map(|low| [(low, None), (low, Some(limit))]) {
                let answers = (entries_of(&storage, low, last + 1, limit), entries_of(&theirs, low, last + 1, limit));
                prop_assert!(answers.0 == answers.1, "from {} on", low);
            }
        }
        let bytes = storage.state().entries.iter().map(|entry| entry.data.len() + entry.context.len()).sum::<usize>();
        prop_assert_eq!(storage.bytes(), bytes + storage.len() * size_of::<Entry>());
    }
}

#[test]
fn a_rejected_change_leaves_the_state_as_it_was() {
    let storage = RaftStorage::new(State::default());
    storage.append(&[entry(1, 1, 5, 1), entry(2, 1, 5, 1), entry(3, 2, 5, 1)]).expect("it fits");
    storage.compact(1, snapshot(2, 1, 7)).expect("it fits");
    let before = storage.state();
    assert!(storage.append(&[entry(5, 2, 0, 1)]).is_err(), "a gap");
    assert!(storage.append(&[entry(1, 2, 0, 1)]).is_err(), "what is compacted");
    assert!(storage.append(&[entry(4, 2, 0, 1), entry(6, 2, 0, 1)]).is_err(), "a gap within");
    assert!(storage.compact(3, snapshot(2, 1, 7)).is_err(), "more than the snapshot has");
    assert!(storage.compact(2, snapshot(4, 2, 7)).is_err(), "more than the log has");
    assert!(storage.compact(1, snapshot(1, 1, 7)).is_err(), "an older snapshot");
    assert!(storage.install(snapshot(1, 1, 7)).is_err(), "an older snapshot");
    assert_eq!(storage.state(), before);
    assert_eq!(entries_of(&storage, 2, 9, None), Err(Error::Store(StorageError::Unavailable)));
    assert_eq!(entries_of(&storage, 3, 2, None), Err(Error::Store(StorageError::Unavailable)));
    assert_eq!(entries_of(&storage, 1, 3, None), Err(Error::Store(StorageError::Compacted)));
}

#[test]
fn returns_a_snapshot_only_if_it_is_recent_enough() {
    let storage = RaftStorage::new(State::default());
    assert!(storage.snapshot(0, 2).is_err(), "the library panics at an empty one");
    storage.install(snapshot(5, 2, 7)).expect("it fits");
    assert_eq!(storage.snapshot(5, 2).expect("it goes far enough"), snapshot(5, 2, 7));
    assert!(storage.snapshot(6, 2).is_err());
    let state = storage.initial_state().expect("there is one");
    assert_eq!((state.hard_state.term, state.hard_state.commit), (2, 5));
    assert_eq!(state.conf_state.voters, [1, 2, 7]);
}
