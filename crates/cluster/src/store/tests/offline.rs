//! Replacing a store whose node does not run.

use std::path::Path;

use raft::eraftpb::HardState;

use super::fake::{Crash, Fake, Fault};
use super::model::{Model, Op, owner, script, snapshot};
use crate::core::table::PIECE_BYTES;
use crate::store::backup::write_backup_in;
use crate::store::blobs;
use crate::store::files::Files;
use crate::store::open::load;
use crate::store::{BlobWrite, Blobs, OfflineStore, RaftStorage, StoreError, Write};

/// A store with some writes in it, and with a blob to which its snapshot refers.
fn used() -> (Fake, Model) {
    let fake = Fake::new();
    let (mut store, _) = fake.open(&owner()).expect("a new store");
    let mut model = Model::default();
    for (number, (op, _)) in (1..).zip(&script()[..4]) {
        let write = model.act(op, number, true);
        let blobs = if number == 2 { vec![piece(0)] } else { Vec::new() };
        store.write(&Write { blobs, ..write }).expect("a write");
    }
    store.write(&model.act(&Op::Compact { kept: 1 }, 5, true)).expect("a write");
    drop(store);
    (fake, model)
}

/// A piece of the blob. The store has the first one, and the second one is in its log.
fn piece(index: u32) -> BlobWrite {
    BlobWrite::Piece { blob: 5, index, data: vec![index as u8 + 1; PIECE_BYTES].into() }
}

fn has_pieces(storage: &RaftStorage, count: u32) -> bool {
    let mut expected = Blobs::new();
    (0..count).for_each(|index| blobs::apply(&mut expected, &piece(index)));
    blobs::contain(&storage.take_blobs(), &expected)
}

fn replace(fake: &Fake) -> Result<Option<std::path::PathBuf>, StoreError> {
    let store = OfflineStore::open_in(Box::new(fake.clone()), Path::new("data"))?;
    let hard_state = HardState { term: 9, commit: 1000, ..HardState::default() };
    let pieces = if store.is_blank() { Vec::new() } else { vec![piece(1)] };
    store.replace(snapshot(1000, 9, 4), hard_state, pieces)
}

/// Everything that may happen to a disk in so many operations, and what a crash loses.
fn failures(steps: usize) -> impl Iterator<Item = (Fault, Crash)> {
    let power = (1..=6).map(Crash::Power);
    let crashes: Vec<Crash> = [Crash::Process, Crash::Everything].into_iter().chain(power).collect();
    (0..=steps)
        .flat_map(Fault::all_at)
        .flat_map(move |fault| crashes.clone().into_iter().map(move |crash| (fault, crash)))
}

fn replaced() -> Model {
    let snapshot = snapshot(1000, 9, 4);
    Model { term: 9, commit: 1000, snapshot, compacted: (1000, 9), ..Model::default() }
}

#[test]
fn replaces_the_state_and_keeps_the_old_log() {
    let (fake, before) = used();
    let log = fake.contents("log");
    for number in 1..=3 {
        let backup = replace(&fake).expect("it can be replaced");
        assert_eq!(backup, Some(Path::new("data").join(format!("log.backup-{number}"))));
    }
    assert!(fake.contents("log.backup-1") == log);
    let (_, recovered) = fake.open(&owner()).expect("the new state");
    assert_eq!(Model::of(&recovered.storage), replaced());
    fake.edit("log", |bytes| bytes.clone_from(&log));
    let (_, recovered) = fake.open(&owner()).expect("the backup");
    assert_eq!(Model::of(&recovered.storage), before);
}

#[test]
fn there_is_no_backup_of_a_blank_log() {
    let fake = Fake::new();
    drop(fake.open(&owner()).expect("a new store"));
    assert_eq!(replace(&fake).expect("it can be replaced"), None);
    let (_, recovered) = fake.open(&owner()).expect("the new state");
    assert_eq!(Model::of(&recovered.storage), replaced());
}

#[test]
fn a_failure_at_any_step_leaves_the_old_state_or_the_new_one() {
    let (fake, before) = used();
    let log = fake.contents("log");
    let steps = {
        let copy = fake.copy();
        copy.set_fault(None);
        replace(&copy).expect("it can be replaced");
        copy.steps()
    };
    assert!(steps > 18, "{steps}");
    let (mut old, mut new) = (0, 0);
    for (fault, crash) in failures(steps) {
        let copy = fake.copy();
        let case = format!("{fault:?}, {crash:?}");
        copy.set_fault(Some(fault));
        let is_done = replace(&copy).is_ok();
        copy.crash(crash);
        let backup = copy.read("log.backup-1").expect("the disk works again");
        assert!(backup.is_none_or(|backup| backup == log), "{case}: the backup is not complete");
        let (store, recovered) = copy.open(&owner()).unwrap_or_else(|error| panic!("{case}: {error}"));
        let found = Model::of(&recovered.storage);
        assert!(found == replaced() || (!is_done && found == before), "{case}: {found:?}");
        let count = if found == before { 1 } else { 2 };
        assert!(has_pieces(&recovered.storage, count), "{case}: the blob is lost");
        (old, new) = if count == 1 { (old + 1, new) } else { (old, new + 1) };
        drop(store);
        replace(&copy).unwrap_or_else(|error| panic!("{case}: it cannot be repeated: {error}"));
        copy.crash(Crash::Everything);
        let (_, recovered) = copy.open(&owner()).unwrap_or_else(|error| panic!("{case}: {error}"));
        assert_eq!(Model::of(&recovered.storage), replaced(), "{case}, repeated");
        assert!(has_pieces(&recovered.storage, 2), "{case}: the blob is lost when it is repeated");
    }
    assert!(old > 100 && new > 100, "{old} {new}: the faults are somewhere else");
}

#[test]
fn a_failure_at_any_step_of_a_copy_leaves_nothing_that_a_node_would_start_from() {
    let (fake, before) = used();
    let contents = || load(&fake, Path::new("data")).expect("the store can be read");
    let copy = |to: &Fake| write_backup_in(Box::new(to.clone()), Path::new("copy"), contents());
    let complete = Fake::new();
    copy(&complete).expect("it can be copied");
    let steps = complete.steps();
    assert!(steps > 15, "{steps}");
    let mut complete = 0;
    for (fault, crash) in failures(steps) {
        let to = Fake::new();
        to.set_fault(Some(fault));
        let is_done = copy(&to).is_ok();
        to.crash(crash);
        match to.copy().open(&owner()) {
            Err(StoreError::Backup { .. }) => {}
            Ok((_, recovered)) if recovered.is_new && !is_done => {}
            Err(error) => panic!("{fault:?}, {crash:?}: {error}"),
            Ok(_) => panic!("{fault:?}, {crash:?}: a node starts from it"),
        }
        if is_done {
            complete += 1;
            let copy = OfflineStore::open_in(Box::new(to), Path::new("copy")).expect("the copy can be read");
            assert_eq!(Model::of(&copy.storage()), before, "{fault:?}, {crash:?}");
            assert!(has_pieces(&copy.storage(), 1), "{fault:?}, {crash:?}: the blob is lost");
        }
    }
    assert!(complete > 20, "{complete}");
}
