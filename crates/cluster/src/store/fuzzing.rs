//! The fuzzer's entry point to a store. It builds files with valid checksums, which needs the format's internals.

use std::fs;
use std::path::Path;

use hustings_protocol::Id;

use super::block::{self, BLOCK, Batch};
use super::header::Identity;
use super::log::LOG;
use super::open::HEADER;
use super::state::State;
use super::{Store, StoreError, StoreOwner};

/// Opens a store in this folder whose files are made from these bytes. Returns whether it could be opened.
///
/// A fuzzer does not guess checksums, so the first byte says which of them are corrected:
///
/// - 0: none. A length, a header of that length, and the log.
/// - 1: those of blocks. The blocks of a log.
/// - 2: those of blocks, around batches of records. Each batch follows its length (two bytes).
///
/// # Panics
///
/// If a store that can be opened holds something else when it is opened again, or an invariant of raft is broken.
pub(crate) fn open_store(folder: &Path, bytes: &[u8]) -> bool {
    let [kind, rest @ ..] = bytes else { return false };
    let owner = StoreOwner { cluster: "atlas".to_string(), id: Id(3) };
    let identity = Identity { cluster: owner.cluster.clone(), id: owner.id, store: 7 };
    let (header, log) = match kind % 3 {
        0 => raw(rest),
        1 => (encoded(&identity), blocks(rest, identity.salt())),
        _ => (encoded(&identity), batches(rest, identity.salt())),
    };
    fs::write(folder.join(HEADER), header).expect("the folder can be written to");
    fs::write(folder.join(LOG), log).expect("the folder can be written to");
    let Some(first) = open(folder, &owner) else { return false };
    // The raft library panics if any of these is wrong.
    let (compacted, commit, last) = (first.compacted.0, first.hard_state.commit, first.last_index());
    assert!(
        compacted <= commit && commit <= last && last < u64::MAX,
        "from {compacted} to {last}, committed up to {commit}"
    );
    assert_eq!(open(folder, &owner), Some(first), "opened again");
    true
}

/// The contents of a store; `None` if it is damaged.
fn open(folder: &Path, owner: &StoreOwner) -> Option<State> {
    match Store::open(folder, owner) {
        Ok((_, recovered)) => Some(recovered.storage.state()),
        Err(error @ (StoreError::Corrupt { .. } | StoreError::Other { .. } | StoreError::UnknownFormat { .. })) => {
            assert!(!error.to_string().is_empty(), "an error says what is wrong");
            None
        }
        Err(error) => panic!("a damaged store is reported as something else: {error}"),
    }
}

fn encoded(identity: &Identity) -> Vec<u8> {
    identity.encode().expect("a short identity can be encoded")
}

fn raw(bytes: &[u8]) -> (Vec<u8>, Vec<u8>) {
    let Some((&length, rest)) = bytes.split_first() else { return (Vec::new(), Vec::new()) };
    let (header, log) = rest.split_at(rest.len().min(usize::from(length)));
    (header.to_vec(), log.to_vec())
}

fn blocks(bytes: &[u8], salt: u32) -> Vec<u8> {
    let mut log = bytes.to_vec();
    log.resize(bytes.len().next_multiple_of(BLOCK), 0);
    for (position, block) in log.chunks_exact_mut(BLOCK).enumerate() {
        // A block of zeros was never written.
        if block.iter().any(|byte| *byte != 0) {
            block::seal(block, position, salt);
        }
    }
    log
}

fn batches(mut bytes: &[u8], salt: u32) -> Vec<u8> {
    let mut log = Vec::new();
    for number in 0.. {
        let Some((length, rest)) = bytes.split_first_chunk::<2>() else { break };
        let length = usize::from(u16::from_le_bytes(*length));
        let (contents, rest) = rest.split_at(rest.len().min(length));
        let position = log.len() / BLOCK;
        let batch = Batch { number, durable: position as u32, allocated: 1 };
        log.extend(block::encode(contents, batch, position, salt).expect("64 KiB are within the limit"));
        bytes = rest;
    }
    log
}
