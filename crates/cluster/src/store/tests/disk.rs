//! The store on its thread.

use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use super::fake::{Crash, Fake, Fault};
use super::model::{Model, Op, who};
use crate::store::{Disk, Refused, StoreError, Write};

const PATIENCE: Duration = Duration::from_secs(20);

fn spawn(fake: &Fake) -> (Disk, Receiver<Result<u64, StoreError>>) {
    let (store, _) = fake.open(&who()).expect("a store");
    let (done, heard) = channel();
    let disk = Disk::spawn(store, move |result| done.send(result).unwrap_or_default()).expect("a thread");
    (disk, heard)
}

fn writes(model: &mut Model, numbers: std::ops::RangeInclusive<u64>) -> Vec<Write> {
    let op = Op::Append { dropped: 0, count: 1, size: 100 };
    numbers.map(|number| model.act(&op, number, true)).collect()
}

fn recovered(fake: &Fake) -> Model {
    let (_, recovered) = fake.open(&who()).expect("an old store");
    Model::of(&recovered.mirror)
}

#[test]
fn what_is_submitted_is_written_in_order_and_before_the_end() {
    let fake = Fake::new();
    let (disk, heard) = spawn(&fake);
    let mut model = Model::default();
    for write in writes(&mut model, 1..=300) {
        disk.submit(write).expect("there is room");
    }
    drop(disk);
    let numbers: Vec<u64> = heard.try_iter().map(|result| result.expect("no error")).collect();
    assert!(numbers.is_sorted() && numbers.last() == Some(&300), "{numbers:?}");
    fake.crash(Crash::Power(1));
    assert_eq!(recovered(&fake), model);
}

#[test]
fn one_sync_does_for_all_that_wait() {
    let fake = Fake::new();
    let (store, _) = fake.open(&who()).expect("a store");
    let (done, heard) = channel();
    let (go, wait) = channel::<()>();
    // The first acknowledgement waits until all others are submitted.
    let disk = Disk::spawn(store, move |result| {
        done.send(result).unwrap_or_default();
        wait.recv_timeout(PATIENCE).unwrap_or_default();
    });
    let disk = disk.expect("a thread");
    let mut model = Model::default();
    let mut all = writes(&mut model, 1..=101).into_iter();
    disk.submit(all.next().expect("there are many")).expect("there is room");
    assert_eq!(heard.recv_timeout(PATIENCE).expect("it is written").expect("no error"), 1);
    let before = fake.syncs();
    all.for_each(|write| disk.submit(write).expect("there is room"));
    drop(go);
    assert_eq!(heard.recv_timeout(PATIENCE).expect("they are written").expect("no error"), 101);
    assert_eq!(fake.syncs() - before, 1);
    drop(disk);
    assert_eq!(recovered(&fake), model);
}

#[test]
fn an_error_is_told_and_the_writes_are_tried_again() {
    let fake = Fake::new();
    let (disk, heard) = spawn(&fake);
    fake.set_fault(Some(Fault { step: 1, done: false, dead: true }));
    let mut model = Model::default();
    let mut all = writes(&mut model, 1..=5).into_iter();
    disk.submit(all.next().expect("there are five")).expect("there is room");
    let first = heard.recv_timeout(PATIENCE).expect("an answer");
    assert!(matches!(first, Err(StoreError::Io { action: "sync", .. })), "{first:?}");
    all.for_each(|write| disk.submit(write).expect("there is room"));
    assert!(heard.recv_timeout(PATIENCE).expect("an answer").is_err());
    fake.set_fault(None);
    while heard.recv_timeout(PATIENCE).expect("it passes").ok() != Some(5) {}
    fake.crash(Crash::Power(1));
    drop(disk);
    assert_eq!(recovered(&fake), model);
}

#[test]
fn a_disk_that_does_not_recover_does_not_hold_anybody_up() {
    let fake = Fake::new();
    let (disk, heard) = spawn(&fake);
    fake.set_fault(Some(Fault { step: 0, done: false, dead: true }));
    for write in writes(&mut Model::default(), 1..=3) {
        disk.submit(write).expect("there is room");
    }
    drop(disk);
    assert!(heard.iter().all(|result| result.is_err()));
}

#[test]
fn a_write_that_does_not_fit_ends_it_and_too_many_are_refused() {
    let fake = Fake::new();
    let (disk, heard) = spawn(&fake);
    let mut all = writes(&mut Model::default(), 1..=2);
    disk.submit(all.remove(1)).expect("there is room");
    let answer = heard.recv_timeout(PATIENCE).expect("an answer");
    assert!(matches!(answer, Err(StoreError::OutOfOrder(_))), "{answer:?}");
    assert!(heard.recv_timeout(PATIENCE).is_err(), "it is the last");
    assert!(matches!(disk.submit(all.remove(0)), Err(Refused::Ended(write)) if write.number == 1));

    let fake = Fake::new();
    let (disk, _heard) = spawn(&fake);
    fake.set_fault(Some(Fault { step: 0, done: false, dead: true }));
    let refused = (1..100_000).find_map(|number| disk.submit(Write { number, ..Default::default() }).err());
    assert!(matches!(refused, Some(Refused::Full(_))), "{refused:?}");
}
