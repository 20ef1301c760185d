//! Tests of the disk thread.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::fake::{Crash, Fake, Fault};
use super::model::{Model, Op, owner};
use crate::store::{DiskWriter, StoreError, SubmitError, Write};

const TIMEOUT: Duration = Duration::from_secs(20);

fn spawn(fake: &Fake) -> (DiskWriter, Receiver<Result<u64, StoreError>>) {
    let (store, _) = fake.open(&owner()).expect("a store");
    let (done, results) = channel();
    let disk = DiskWriter::spawn(store, || {}, move |result| done.send(result).unwrap_or_default()).expect("a thread");
    (disk, results)
}

fn writes(model: &mut Model, numbers: std::ops::RangeInclusive<u64>) -> Vec<Write> {
    let op = Op::Append { dropped: 0, count: 1, size: 100 };
    numbers.map(|number| model.act(&op, number, true)).collect()
}

fn recovered(fake: &Fake) -> Model {
    let (_, recovered) = fake.open(&owner()).expect("an old store");
    Model::of(&recovered.storage)
}

#[test]
fn writes_in_order_and_finishes_before_the_drop_returns() {
    let fake = Fake::new();
    let (disk, results) = spawn(&fake);
    let mut model = Model::default();
    for write in writes(&mut model, 1..=300) {
        disk.submit(write).expect("there is room");
    }
    drop(disk);
    let numbers: Vec<u64> = results.try_iter().map(|result| result.expect("no error")).collect();
    assert!(numbers.is_sorted() && numbers.last() == Some(&300), "{numbers:?}");
    fake.crash(Crash::Power(1));
    assert_eq!(recovered(&fake), model);
}

#[test]
fn one_sync_serves_all_queued_writes() {
    let fake = Fake::new();
    let (store, _) = fake.open(&owner()).expect("a store");
    let (done, results) = channel();
    let (go, wait) = channel::<()>();
    // The first acknowledgement waits until all others are submitted.
    let disk = DiskWriter::spawn(
        store,
        || {},
        move |result| {
            done.send(result).unwrap_or_default();
            wait.recv_timeout(TIMEOUT).unwrap_or_default();
        },
    );
    let disk = disk.expect("a thread");
    let mut model = Model::default();
    let mut all = writes(&mut model, 1..=101).into_iter();
    disk.submit(all.next().expect("there are many")).expect("there is room");
    assert_eq!(results.recv_timeout(TIMEOUT).expect("it is written").expect("no error"), 1);
    let before = fake.syncs();
    all.for_each(|write| disk.submit(write).expect("there is room"));
    drop(go);
    assert_eq!(results.recv_timeout(TIMEOUT).expect("they are written").expect("no error"), 101);
    assert_eq!(fake.syncs() - before, 1);
    drop(disk);
    assert_eq!(recovered(&fake), model);
}

#[test]
fn reports_a_transient_error_and_retries() {
    let fake = Fake::new();
    let (disk, results) = spawn(&fake);
    fake.set_fault(Some(Fault::death(1, false)));
    let mut model = Model::default();
    let mut all = writes(&mut model, 1..=5).into_iter();
    disk.submit(all.next().expect("there are five")).expect("there is room");
    let first = results.recv_timeout(TIMEOUT).expect("an answer");
    assert!(matches!(first, Err(StoreError::Io { action: "sync", .. })), "{first:?}");
    all.for_each(|write| disk.submit(write).expect("there is room"));
    assert!(results.recv_timeout(TIMEOUT).expect("an answer").is_err());
    fake.set_fault(None);
    while results.recv_timeout(TIMEOUT).expect("it passes").ok() != Some(5) {}
    fake.crash(Crash::Power(1));
    drop(disk);
    assert_eq!(recovered(&fake), model);
}

#[test]
fn a_broken_disk_does_not_block_the_drop() {
    let fake = Fake::new();
    let (disk, results) = spawn(&fake);
    fake.set_fault(Some(Fault::death(0, false)));
    for write in writes(&mut Model::default(), 1..=3) {
        disk.submit(write).expect("there is room");
    }
    drop(disk);
    assert!(results.iter().all(|result| result.is_err()));
}

#[test]
fn stops_after_a_permanent_error_and_rejects_writes_when_full() {
    let fake = Fake::new();
    let (disk, results) = spawn(&fake);
    let mut all = writes(&mut Model::default(), 1..=2);
    disk.submit(all.remove(1)).expect("there is room");
    let answer = results.recv_timeout(TIMEOUT).expect("an answer");
    assert!(matches!(answer, Err(StoreError::OutOfOrder(_))), "{answer:?}");
    assert!(results.recv_timeout(TIMEOUT).is_err(), "it is the last");
    assert!(matches!(disk.submit(all.remove(0)), Err(SubmitError::Stopped)));

    let fake = Fake::new();
    let (disk, _heard) = spawn(&fake);
    fake.set_fault(Some(Fault::death(0, false)));
    let refused = (1..100_000).find_map(|number| disk.submit(Write { number, ..Default::default() }).err());
    assert!(matches!(refused, Some(SubmitError::Full(_))), "{refused:?}");
}
