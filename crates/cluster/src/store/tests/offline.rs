//! Replacing a store whose node does not run.

use std::path::Path;

use raft::eraftpb::HardState;

use super::fake::{Crash, Fake, Fault};
use super::model::{Model, owner, script, snapshot};
use crate::store::backup::write_backup_in;
use crate::store::files::Files;
use crate::store::open::load;
use crate::store::{OfflineStore, StoreError};

/// A store with some writes in it.
fn used() -> (Fake, Model) {
    let fake = Fake::new();
    let (mut store, _) = fake.open(&owner()).expect("a new store");
    let mut model = Model::default();
    for (number, (op, _)) in (1..).zip(&script()[..4]) {
        store.write(&model.act(op, number, true)).expect("a write");
    }
    drop(store);
    (fake, model)
}

fn replace(fake: &Fake) -> Result<Option<std::path::PathBuf>, StoreError> {
    let store = OfflineStore::open_in(Box::new(fake.clone()), Path::new("data"))?;
    store.replace(snapshot(1000, 9, 4), HardState { term: 9, commit: 1000, ..HardState::default() }, Vec::new())
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
fn a_crash_at_any_step_leaves_the_old_state_or_the_new_one() {
    let (fake, before) = used();
    let log = fake.contents("log");
    let steps = {
        let copy = fake.copy();
        let first = copy.steps();
        replace(&copy).expect("it can be replaced");
        copy.steps() - first
    };
    assert!(steps > 8, "{steps}");
    let (mut old, mut new) = (0, 0);
    for (step, seed) in (0..=steps).flat_map(|step| (0..8).map(move |seed| (step, seed))) {
        let copy = fake.copy();
        let case = format!("step {step}, seed {seed}");
        copy.set_fault(Some(Fault::death(step, seed % 2 == 0)));
        let is_done = replace(&copy).is_ok();
        copy.crash(Crash::Power(seed));
        let backup = copy.read("log.backup-1").expect("reading never fails");
        assert!(backup.is_none_or(|backup| backup == log), "{case}: the backup is not complete");
        let (_, recovered) = copy.open(&owner()).unwrap_or_else(|error| panic!("{case}: {error}"));
        let found = Model::of(&recovered.storage);
        assert!(found == replaced() || (!is_done && found == before), "{case}: {found:?}");
        if found == before {
            old += 1
        } else {
            new += 1
        }
        drop(recovered);
        replace(&copy).unwrap_or_else(|error| panic!("{case}: it cannot be repeated: {error}"));
    }
    assert!(old > 8 && new > 8, "{old} {new}: the faults are somewhere else");
}

#[test]
fn a_crash_at_any_step_of_a_copy_leaves_nothing_that_a_node_would_start_from() {
    let (fake, before) = used();
    let contents = || load(&fake, Path::new("data")).expect("the store can be read");
    let copy = |to: &Fake| write_backup_in(Box::new(to.clone()), Path::new("copy"), contents());
    let complete = Fake::new();
    copy(&complete).expect("it can be copied");
    let steps = complete.steps();
    assert!(steps > 8, "{steps}");
    for (step, seed) in (0..=steps).flat_map(|step| (0..16).map(move |seed| (step, seed))) {
        let to = Fake::new();
        let fault = if seed % 4 < 2 { Fault::death(step, seed % 2 == 0) } else { Fault::once(step, seed % 2 == 0) };
        to.set_fault(Some(fault));
        let is_done = copy(&to).is_ok();
        to.crash(Crash::Power(seed));
        let opened = to.copy().open(&owner());
        match opened {
            Err(StoreError::Backup { .. }) => {}
            Ok((_, recovered)) if recovered.is_new && !is_done => {}
            Err(error) => panic!("{fault:?}: {error}"),
            Ok(_) => panic!("{fault:?}: a node starts from it"),
        }
        if is_done {
            let copy = OfflineStore::open_in(Box::new(to), Path::new("copy")).expect("the copy can be read");
            assert_eq!(Model::of(&copy.storage()), before, "{fault:?}");
        }
    }
}
