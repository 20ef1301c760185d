//! Blobs are there whenever a snapshot is that refers to them.

use raft::eraftpb::HardState;

use super::fake::{Crash, Fake, Fault};
use super::model::{entry, owner, snapshot};
use crate::core::table::PIECE_BYTES;
use crate::store::{BlobWrite, Store, StoreError, Write};

/// What each piece contains.
fn piece(blob: u64, index: u32) -> BlobWrite {
    BlobWrite::Piece { blob, index, data: vec![blob as u8 ^ index as u8; PIECE_BYTES].into() }
}

/// Two blobs and an earlier one; then a snapshot that refers to the two.
fn writes() -> Vec<Write> {
    let hard_state = || Some(HardState { term: 1, commit: 3, ..HardState::default() });
    let entries = (1..=3).map(|index| entry(index, 1, 100, 1)).collect();
    let obsolete = BlobWrite::Retain { upto: 3, keep: vec![2, 3] };
    vec![
        Write { number: 1, entries, hard_state: hard_state(), sync: true, ..Write::default() },
        Write { number: 2, blobs: vec![piece(1, 0), piece(2, 0), piece(3, 0)], ..Write::default() },
        Write { number: 3, blobs: vec![piece(2, 1)], ..Write::default() },
        Write {
            number: 4,
            blobs: vec![obsolete],
            hard_state: hard_state(),
            snapshot: Some(snapshot(3, 1, 1)),
            keep_after: Some(3),
            sync: true,
            ..Write::default()
        },
        Write { number: 5, blobs: vec![piece(9, 0)], hard_state: hard_state(), sync: true, ..Write::default() },
    ]
}

/// Writes until something fails. A transient error is repeated once.
fn run(fake: &Fake) -> Result<usize, StoreError> {
    let (mut store, _) = fake.open(&owner())?;
    for (done, write) in writes().iter().enumerate() {
        if write_twice(&mut store, write).is_err() {
            return Ok(done);
        }
    }
    Ok(writes().len())
}

fn write_twice(store: &mut Store, write: &Write) -> Result<(), StoreError> {
    store.write(write).or_else(|_| store.write(write))
}

fn check(fake: &Fake, case: &str) {
    let (_, recovered) = fake.open(&owner()).unwrap_or_else(|error| panic!("{case}: {error}"));
    if recovered.storage.latest_snapshot().get_metadata().index < 3 {
        return;
    }
    let blobs = recovered.storage.take_blobs();
    for needed in [piece(2, 0), piece(2, 1), piece(3, 0)] {
        let BlobWrite::Piece { blob, index, data } = needed else { continue };
        let found = blobs.get(&blob).and_then(|pieces| pieces.get(index as usize));
        assert!(found == Some(&data), "{case}: piece {index} of blob {blob} is lost");
    }
}

#[test]
fn a_snapshot_never_refers_to_blobs_that_a_crash_has_lost() {
    let complete = Fake::new();
    complete.set_fault(None);
    assert_eq!(run(&complete).expect("nothing fails"), writes().len());
    let steps = complete.steps();
    check(&complete, "no fault");
    let (_, recovered) = complete.open(&owner()).expect("it was closed in good order");
    let blobs: Vec<u64> = recovered.storage.take_blobs().into_keys().collect();
    assert_eq!(blobs, [2, 3, 9], "what no snapshot refers to is removed");
    assert!(steps > 20, "{steps}");
    for fault in
        (0..steps).flat_map(|step| [Fault::death(step, false), Fault::death(step, true), Fault::once(step, false)])
    {
        for crash in [Crash::Process, Crash::Power(1), Crash::Power(2), Crash::Everything] {
            let fake = Fake::new();
            fake.set_fault(Some(fault));
            if run(&fake).is_ok() {
                fake.crash(crash);
                check(&fake, &format!("{fault:?}, {crash:?}"));
            }
        }
    }
}

/// The sync for the name of a blob fails, and the process ends. The next one finds the name in the kernel's cache.
#[test]
fn a_blob_whose_name_an_earlier_process_could_not_make_durable_is_there() {
    let steps = {
        let fake = Fake::new();
        fake.set_fault(None);
        run(&fake).expect("nothing fails");
        fake.steps()
    };
    let mut ended = 0;
    for (step, crash) in (0..steps).flat_map(|step| [(step, Crash::Power(1)), (step, Crash::Everything)]) {
        let fake = Fake::new();
        let (mut store, _) = fake.open(&owner()).expect("nothing fails yet");
        fake.set_fault(Some(Fault::once(step, false)));
        let writes = writes();
        let done = writes.iter().take_while(|write| store.write(write).is_ok()).count();
        drop(store);
        fake.crash(Crash::Process);
        ended += usize::from(done < writes.len());
        // It applies its entries again.
        let (mut store, recovered) = fake.open(&owner()).expect("the cache has everything");
        if recovered.storage.latest_snapshot().get_metadata().index == 0 && recovered.storage.len() == 3 {
            for write in &writes[1..] {
                store.write(write).expect("the disk works again");
            }
        }
        drop(store);
        fake.crash(crash);
        check(&fake, &format!("step {step}, {crash:?}"));
    }
    assert!(ended > 20, "{ended}");
}
