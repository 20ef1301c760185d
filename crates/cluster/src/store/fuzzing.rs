//! What fuzzers do to a store.

use std::fs;
use std::path::Path;

use hustings_protocol::Id;

use super::block::{self, BLOCK, Batch};
use super::header::Identity;
use super::log::LOG;
use super::open::HEADER;
use super::state::State;
use super::{Store, StoreError, Who};

/// Opens a store in this folder, whose files come from these bytes. Returns whether it could be opened.
///
/// The first byte says how far the bytes are believed, since nobody guesses a checksum:
///
/// - 0: a length, a header of that length, and the log: the files as they are.
/// - 1: the blocks of a log, whose checksums are put right.
/// - 2: batches of records, each with its length (two bytes), whose blocks are put right.
///
/// A store that can be opened holds the same when it is opened again.
pub fn store(folder: &Path, bytes: &[u8]) -> bool {
    let [kind, rest @ ..] = bytes else { return false };
    let who = Who { cluster: "atlas".to_string(), id: Id(3) };
    let identity = Identity { cluster: who.cluster.clone(), id: who.id, store: 7 };
    let (header, log) = match kind % 3 {
        0 => raw(rest),
        1 => (encoded(&identity), blocks(rest, identity.salt())),
        _ => (encoded(&identity), batches(rest, identity.salt())),
    };
    fs::write(folder.join(HEADER), header).expect("the folder can be written to");
    fs::write(folder.join(LOG), log).expect("the folder can be written to");
    let Some(first) = open(folder, &who) else { return false };
    assert_eq!(open(folder, &who), Some(first), "opened again");
    true
}

/// What is in a store; nothing if it is damaged.
fn open(folder: &Path, who: &Who) -> Option<State> {
    match Store::open(folder, who) {
        Ok((_, recovered)) => Some(recovered.mirror.state()),
        Err(error @ (StoreError::Corrupt { .. } | StoreError::Other { .. })) => {
            assert!(!error.to_string().is_empty(), "an error says what is wrong");
            None
        }
        Err(error) => panic!("a damaged store is called otherwise: {error}"),
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
        // An empty block is one that was never written.
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
