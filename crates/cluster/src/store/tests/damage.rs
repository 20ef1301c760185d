//! Damage to synced data is always detected.

use super::fake::{Crash, Fake, Fault};
use super::model::{Model, Op, owner};
use crate::store::block::{self, BLOCK, Batch};
use crate::store::{Store, StoreError};

/// A store with three synced batches after its two initial ones: of one, three and one block.
fn small() -> (Fake, Vec<Model>) {
    let fake = Fake::new();
    let (mut store, _) = fake.open(&owner()).expect("a new store");
    let mut model = Model::default();
    let mut after = vec![model.clone()];
    let append = |size| Op::Append { dropped: 0, count: 1, size };
    for (number, op) in (1..).zip([append(20), append(1200), Op::Vote]) {
        store.write(&model.act(&op, number, true)).expect("a write");
        after.push(model.clone());
    }
    (fake, after)
}

const USED: usize = 7;

fn open(fake: &Fake) -> Result<Model, StoreError> {
    fake.open(&owner()).map(|(_, recovered)| Model::of(&recovered.storage))
}

/// Asserts that the store reports damage. Returns the offset.
fn assert_corrupt(fake: &Fake, name: &str, case: &str) -> u64 {
    match open(fake) {
        Err(StoreError::Corrupt { file, offset, .. }) if file.ends_with(name) => offset,
        other => panic!("{case}: {other:?}"),
    }
}

#[test]
fn detects_every_flipped_byte() {
    let (fake, after) = small();
    let log = fake.contents("log");
    assert!(log[(USED - 1) * BLOCK..USED * BLOCK].iter().any(|byte| *byte != 0));
    assert!(log[USED * BLOCK..].iter().all(|byte| *byte == 0));
    assert_eq!(open(&fake.copy()).expect("nothing is damaged"), after[3]);
    let far = (USED * BLOCK..log.len()).step_by(9973);
    for (place, byte) in (0..USED * BLOCK).chain(far).enumerate() {
        fake.edit("log", |log| log[byte] ^= 1 << (place % 8));
        let offset = assert_corrupt(&fake, "log", &format!("byte {byte}"));
        assert_eq!(offset as usize / BLOCK, byte / BLOCK, "byte {byte}");
        fake.edit("log", |log| log[byte] ^= 1 << (place % 8));
    }
    assert!(fake.contents("log") == log, "what is damaged is left alone");
    for bit in 0..fake.contents("header").len() * 8 {
        let copy = fake.copy();
        copy.edit("header", |header| header[bit / 8] ^= 1 << (bit % 8));
        assert_corrupt(&copy, "header", &format!("bit {bit} of the header"));
    }
}

#[test]
fn detects_every_truncation() {
    let (fake, _) = small();
    let length = fake.contents("log").len();
    let near = 0..(USED + 1) * BLOCK;
    for cut in near.chain((0..length).step_by(9973)).chain([length - 512, length - 1]) {
        let copy = fake.copy();
        copy.edit("log", |log| log.truncate(cut));
        assert_corrupt(&copy, "log", &format!("cut to {cut}"));
    }
    for cut in 0..fake.contents("header").len() {
        let copy = fake.copy();
        copy.edit("header", |header| header.truncate(cut));
        assert_corrupt(&copy, "header", &format!("header cut to {cut}"));
    }
}

#[test]
fn detects_zeroed_blocks_except_in_the_last_batch() {
    let (fake, after) = small();
    let vanish = |blocks: std::ops::Range<usize>| {
        let copy = fake.copy();
        copy.edit("log", |log| log[blocks.start * BLOCK..blocks.end * BLOCK].fill(0));
        copy
    };
    for block in 0..USED - 1 {
        assert_corrupt(&vanish(block..block + 1), "log", &format!("without block {block}"));
    }
    for from in 0..2 {
        assert_corrupt(&vanish(from..USED), "log", &format!("without everything from block {from} on"));
    }
    // A disk that loses an acknowledged write: the rest looks as if the write had never been tried.
    assert_eq!(open(&vanish(USED - 1..USED)).expect("one batch less"), after[2]);
    // A block copied over another one.
    for (one, other) in (0..USED).flat_map(|one| (0..USED + 2).map(move |other| (one, other))).filter(|(a, b)| a != b) {
        let copy = fake.copy();
        copy.edit("log", |log| log.copy_within(one * BLOCK..(one + 1) * BLOCK, other * BLOCK));
        assert_corrupt(&copy, "log", &format!("block {one} over block {other}"));
    }
}

#[test]
fn removes_and_reports_a_torn_write() {
    let (fake, after) = small();
    let (mut store, _) = fake.open(&owner()).expect("an old store");
    let mut model = after[3].clone();
    let write = model.act(&Op::Append { dropped: 0, count: 1, size: 1200 }, 1, true);
    // The process dies between writing and syncing.
    fake.set_fault(Some(Fault::death(1, false)));
    assert!(store.write(&write).is_err());
    drop(store);
    fake.crash(Crash::Process);
    let start = fake.contents("log").chunks(BLOCK).position(|block| block.iter().all(|byte| *byte == 0));
    let start = start.expect("there is room") - 3;
    for lost in 0..8 {
        let copy = fake.copy();
        copy.edit("log", |log| {
            for block in (0..3).filter(|block| lost & 1 << block != 0) {
                log[(start + block) * BLOCK..(start + block + 1) * BLOCK].fill(0);
            }
        });
        let (_, recovered) = copy.open(&owner()).unwrap_or_else(|error| panic!("{lost:03b}: {error}"));
        let expected = if lost == 0 { &model } else { &after[3] };
        assert_eq!(Model::of(&recovered.storage), *expected, "{lost:03b}");
        let torn = (1..7).contains(&lost).then_some((start * BLOCK) as u64);
        assert_eq!(recovered.torn_at, torn, "{lost:03b}");
    }
}

#[test]
fn unsynced_batches_may_be_lost_in_any_order() {
    let salt = 7;
    let batch = |number, durable| Batch { number, durable, allocated: 5 };
    let file = |lost: &[usize], durable: u32| {
        let mut bytes = Vec::new();
        for number in 0..4 {
            let synced = if number < 2 { number as u32 } else { durable };
            bytes.extend(block::encode(&[9; 30], batch(number, synced), number as usize, salt).expect("it is small"));
        }
        bytes.resize(5 * BLOCK, 0);
        lost.iter().for_each(|block| bytes[block * BLOCK..(block + 1) * BLOCK].fill(0));
        bytes
    };
    let found = block::scan(&file(&[2], 2), salt).expect("batch 2 was not durable when 3 was written");
    assert_eq!((found.batches.len(), found.torn), (2, Some(2)));
    let damage = block::scan(&file(&[2], 3), salt).expect_err("batch 2 was durable when 3 was written");
    assert_eq!(damage.offset, 2 * BLOCK as u64);
    let found = block::scan(&file(&[2, 3], 3), salt).expect("nobody knows");
    assert_eq!((found.batches.len(), found.torn), (2, None));
    assert!(block::scan(&file(&[], 2), salt + 1).is_err(), "blocks of another store");
}

#[test]
fn rejects_batches_that_are_too_long() {
    let salt = 7;
    let batch = Batch { number: 0, durable: 0, allocated: 1 };
    let mut bytes = block::encode(&[9; 30], batch, 0, salt).expect("it is small");
    let large = vec![0; block::MAX_BATCH_BYTES + 1];
    assert!(matches!(block::encode(&large, batch, 0, salt), Err(StoreError::TooLarge { .. })));
    // A block with a correct checksum that claims an impossible length.
    for length in [0, 1000, block::MAX_BATCH_BYTES as u32 + 1, u32::MAX] {
        bytes[16..20].copy_from_slice(&length.to_le_bytes());
        let mut hasher = crc32fast::Hasher::new_with_initial(salt);
        hasher.update(&[0; 8]);
        hasher.update(&bytes[4..]);
        let sum = hasher.finalize();
        bytes[..4].copy_from_slice(&sum.to_le_bytes());
        assert!(block::scan(&bytes, salt).is_err(), "{length}");
    }
}

#[test]
fn rejects_the_log_of_another_store() {
    let (one, _) = small();
    let other = Fake::new();
    other.change_identities();
    drop(other.open(&owner()).expect("a new store"));
    let log = other.contents("log");
    one.edit("log", |own| *own = log);
    assert_corrupt(&one, "log", "the log of another store");
}

#[test]
fn a_rewrite_splits_many_entries_into_batches() {
    let fake = Fake::new();
    let (mut store, _) = fake.open(&owner()).expect("a new store");
    let mut model = Model::default();
    for number in 1..=12 {
        let op = Op::Append { dropped: 0, count: 3, size: 300_000 };
        store.write(&model.act(&op, number, true)).expect("a write");
    }
    drop::<Store>(store);
    assert_eq!(open(&fake).expect("an old store"), model);
    let log = fake.contents("log");
    assert!(log.len() > 10 << 20);
    // Without its last initial batch, the hard state, it is not a valid log.
    let used = log.chunks(BLOCK).rposition(|block| block.iter().any(|byte| *byte != 0)).expect("it is not empty");
    fake.edit("log", |log| log[used * BLOCK..(used + 1) * BLOCK].fill(0));
    assert_corrupt(&fake, "log", "without the vote");
}
