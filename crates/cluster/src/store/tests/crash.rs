//! A crash or an error at every step.

use proptest::prelude::*;

use super::fake::{Crash, Fake, Fault};
use super::model::{Model, Op, any_op, owner, script};
use crate::store::{Store, StoreError};

const CRASHES: [Crash; 4] = [Crash::Process, Crash::Power(1), Crash::Power(2), Crash::Everything];

/// The expected content after each write, and how many writes were acknowledged.
struct Expected {
    after: Vec<Model>,
    acknowledged: usize,
}

impl Expected {
    /// Writes until something fails. Returns `None` if the store could not be created.
    fn run(fake: &Fake, ops: &[(Op, bool)]) -> Option<Expected> {
        let (mut store, recovered) = fake.open(&owner()).ok()?;
        assert!(recovered.is_new);
        let mut expected = Expected { after: vec![Model::default()], acknowledged: 0 };
        expected.run_ops(&mut store, ops, 0);
        Some(expected)
    }

    fn run_ops(&mut self, store: &mut Store, ops: &[(Op, bool)], base: u64) {
        let mut model = self.after[self.after.len() - 1].clone();
        for (number, (op, sync)) in (base + 1..).zip(ops) {
            let write = model.act(op, number, *sync);
            let done = store.write(&write);
            self.after.push(model.clone());
            match done {
                Ok(()) if *sync || write.snapshot.is_some() => self.acknowledged = self.after.len() - 1,
                Ok(()) => {}
                Err(_) => return,
            }
        }
    }

    /// Checks that everything acknowledged is there, that it stays, and that the store still works.
    fn check(&self, fake: &Fake, case: &str) {
        let (store, recovered) = fake.open(&owner()).unwrap_or_else(|error| panic!("{case}: {error}"));
        let found = Model::of(&recovered.storage);
        assert!(!recovered.is_new, "{case}");
        let place = self.after.iter().rposition(|model| *model == found);
        let place = place.unwrap_or_else(|| panic!("{case}: {found:?} was never written"));
        assert!(place >= self.acknowledged, "{case}: only {place} of {} are left", self.acknowledged);
        drop(store);
        fake.crash(Crash::Power(9));
        let (mut store, recovered) = fake.open(&owner()).unwrap_or_else(|error| panic!("{case}, again: {error}"));
        assert_eq!(Model::of(&recovered.storage), found, "{case}: what was recovered was not durable");
        assert_eq!(recovered.torn_at, None, "{case}");
        let mut more = Expected { after: vec![found], acknowledged: 0 };
        more.run_ops(&mut store, &script()[..4], 0);
        assert_eq!(more.after.len(), 5, "{case}: the store does not work");
    }
}

/// How many file operations the writes take without a fault.
fn steps(ops: &[(Op, bool)]) -> usize {
    let fake = Fake::new();
    let all = Expected::run(&fake, ops).expect("no fault");
    assert_eq!(all.after.len(), ops.len() + 1);
    fake.steps()
}

#[test]
fn a_crash_at_any_step_loses_nothing_acknowledged() {
    let total = steps(&script());
    assert!(total > 40, "{total}");
    let (mut unfinished, mut torn) = (0, 0);
    for step in 0..=total {
        for (done, crash) in CRASHES.iter().flat_map(|crash| [(false, *crash), (true, *crash)]) {
            let fake = Fake::new();
            let case = format!("step {step}, done {done}, {crash:?}");
            fake.set_fault(Some(Fault::death(step, done)));
            let expected = Expected::run(&fake, &script());
            fake.crash(crash);
            match expected {
                Some(expected) => {
                    torn += usize::from(fake.copy().open(&owner()).is_ok_and(|(_, found)| found.torn_at.is_some()));
                    expected.check(&fake, &case);
                }
                None => {
                    unfinished += 1;
                    let (_, recovered) = fake.open(&owner()).unwrap_or_else(|error| panic!("{case}: {error}"));
                    assert_eq!(Model::of(&recovered.storage), Model::default(), "{case}");
                }
            }
        }
    }
    assert!(unfinished > 30 && torn > 5, "{unfinished} {torn}: the faults are somewhere else");
}

#[test]
fn an_unfinished_store_counts_as_new() {
    for (step, seed) in (0..steps(&[])).flat_map(|step| (0..40).map(move |seed| (step, seed))) {
        let fake = Fake::new();
        fake.set_fault(Some(Fault::death(step, seed % 2 == 0)));
        assert!(fake.open(&owner()).is_err());
        fake.crash(Crash::Power(seed));
        let (_, recovered) = fake.open(&owner()).unwrap_or_else(|error| panic!("step {step}, seed {seed}: {error}"));
        assert_eq!(Model::of(&recovered.storage), Model::default());
    }
}

/// The kernel's cache may have names that a failed sync of the folder has lost.
#[test]
fn a_store_that_could_not_be_created_at_once_loses_nothing() {
    for (step, done) in (0..steps(&[])).flat_map(|step| [(step, false), (step, true)]) {
        for crash in CRASHES {
            let fake = Fake::new();
            let case = format!("step {step}, done {done}, {crash:?}");
            fake.set_fault(Some(Fault::once(step, done)));
            if fake.open(&owner()).is_ok() {
                continue;
            }
            fake.crash(Crash::Process);
            let (mut store, _) = fake.open(&owner()).unwrap_or_else(|error| panic!("{case}: {error}"));
            let mut expected = Expected { after: vec![Model::default()], acknowledged: 0 };
            expected.run_ops(&mut store, &script(), 0);
            assert!(expected.acknowledged > 0, "{case}");
            drop(store);
            fake.crash(crash);
            expected.check(&fake, &case);
        }
    }
}

#[test]
fn a_transient_error_leaves_no_gap() {
    for step in 0..steps(&script()) {
        for (done, crash) in CRASHES.iter().flat_map(|crash| [(false, *crash), (true, *crash)]) {
            let fake = Fake::new();
            let case = format!("step {step}, done {done}, {crash:?}");
            let (mut store, _) = fake.open(&owner()).expect("no fault yet");
            fake.set_fault(Some(Fault::once(step, done)));
            let mut model = Model::default();
            for (number, (op, sync)) in (1..).zip(script()) {
                let write = model.act(&op, number, sync);
                if let Err(error) = store.write(&write) {
                    assert!(error.is_transient(), "{case}: {error}");
                    let mut next = write.clone();
                    next.number += 1;
                    assert!(matches!(store.write(&next), Err(StoreError::OutOfOrder(_))), "{case}: a gap");
                    store.write(&write).unwrap_or_else(|error| panic!("{case}: {error}"));
                }
            }
            drop(store);
            fake.crash(crash);
            Expected { after: vec![model], acknowledged: 0 }.check(&fake, &case);
        }
    }
}

#[test]
fn an_error_during_a_rewrite_loses_nothing() {
    let ops = || (0..8).map(|place| Op::Append { dropped: 1, count: 1, size: if place < 6 { 900_000 } else { 9 } });
    let script: Vec<_> = ops().map(|op| (op, true)).collect();
    for (step, done) in (0..steps(&script)).flat_map(|step| [(step, false), (step, true)]) {
        let fake = Fake::new();
        let (mut store, _) = fake.open(&owner()).expect("no fault yet");
        fake.set_fault(Some(Fault::once(step, done)));
        let mut model = Model::default();
        for (number, op) in (1..).zip(ops()) {
            let write = model.act(&op, number, true);
            if store.write(&write).is_err() {
                store.write(&write).expect("it has passed");
            }
        }
        drop(store);
        // Whichever file has the name, everything acknowledged is there.
        for crash in CRASHES {
            let copy = fake.copy();
            copy.crash(crash);
            let (_, recovered) = copy.open(&owner()).unwrap_or_else(|error| panic!("step {step}, {crash:?}: {error}"));
            assert_eq!(Model::of(&recovered.storage), model, "step {step}, done {done}, {crash:?}");
        }
    }
}

#[test]
fn a_write_succeeds_once_a_full_disk_has_room_again() {
    let fake = Fake::new();
    let (mut store, _) = fake.open(&owner()).expect("a new store");
    fake.set_room(Some(1 << 20));
    let mut model = Model::default();
    let op = Op::Append { dropped: 0, count: 1, size: 300_000 };
    let (mut number, mut refused) = (0, None);
    while refused.is_none() {
        number += 1;
        assert!(number < 10, "the disk is never full");
        let before = model.clone();
        let write = model.act(&op, number, true);
        if let Err(error) = store.write(&write) {
            assert!(matches!(&error, StoreError::Io { action: "extend", .. }), "{error}");
            refused = Some((write, before));
        }
    }
    let (write, before) = refused.expect("the loop ends with one");
    assert!(number > 2);
    let copy = fake.copy();
    copy.set_room(None);
    copy.crash(Crash::Power(1));
    let (_, recovered) = copy.open(&owner()).expect("the old state");
    assert_eq!(Model::of(&recovered.storage), before);
    assert!(store.write(&write).is_err());
    fake.set_room(None);
    store.write(&write).expect("room again");
    drop(store);
    fake.crash(Crash::Power(1));
    let (_, recovered) = fake.open(&owner()).expect("the new state");
    assert_eq!(Model::of(&recovered.storage), model);
}

#[test]
fn a_long_file_is_rewritten() {
    let fake = Fake::new();
    let (mut store, _) = fake.open(&owner()).expect("a new store");
    let mut model = Model::default();
    let mut longest = 0;
    for number in 1..=40 {
        // The last entry is replaced every time: the log has one entry, but the file grows.
        let write = model.act(&Op::Append { dropped: 1, count: 1, size: 300_000 }, number, true);
        store.write(&write).expect("a write");
        longest = longest.max(fake.contents("log").len());
    }
    assert!((4 << 20..=6 << 20).contains(&longest), "{longest}");
    drop(store);
    fake.crash(Crash::Power(1));
    let (_, recovered) = fake.open(&owner()).expect("an old store");
    assert_eq!(Model::of(&recovered.storage), model);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100))]

    #[test]
    fn random_writes_and_crashes_lose_nothing_acknowledged(
        incarnations in prop::collection::vec(
            (prop::collection::vec((any_op(), any::<bool>()), 0..12), any::<Option<u64>>()),
            1..5,
        ),
        fault in prop::option::of((0..60usize, any::<bool>())),
    ) {
        let fake = Fake::new();
        fake.open(&owner()).expect("a new store");
        let mut known = vec![Model::default()];
        for (incarnation, (ops, crash)) in incarnations.iter().enumerate() {
            let (mut store, recovered) = fake.open(&owner()).expect("an old store");
            let found = Model::of(&recovered.storage);
            prop_assert!(known.contains(&found), "{found:?}");
            if let Some((step, done)) = fault.filter(|_| incarnation == 0) {
                fake.set_fault(Some(Fault::death(step, done)));
            }
            let mut expected = Expected { after: vec![found], acknowledged: 0 };
            expected.run_ops(&mut store, ops, 0);
            known = expected.after.split_off(expected.acknowledged);
            drop(store);
            fake.crash(crash.map_or(Crash::Process, Crash::Power));
        }
        let (_, recovered) = fake.open(&owner()).expect("an old store");
        prop_assert!(known.contains(&Model::of(&recovered.storage)));
    }
}
