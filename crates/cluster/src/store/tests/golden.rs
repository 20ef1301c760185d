//! The files of this version, byte by byte.

use std::path::Path;

use hustings_protocol::Id;
use raft::eraftpb::HardState;

use super::model::{entry, snapshot};
use crate::golden;
use crate::store::block::{self, BLOCK, Batch};
use crate::store::header::Identity;
use crate::store::state::State;
use crate::store::{DiskPosition, KnownDisk, Write, record};

fn identity() -> Identity {
    Identity { cluster: "shop".to_string(), id: Id(3), store: 7 }
}

#[test]
fn headers_of_version_1() {
    let encode = |identity: &Identity| identity.encode().expect("a short identity");
    let decode = |bytes: &[u8]| Identity::decode(bytes, Path::new("header")).expect("a header");
    golden::check("store-header-v1", &[("header", identity())], encode, decode);
}

fn hard_state(term: u64, vote: u64, commit: u64) -> HardState {
    HardState { term, vote, commit, ..HardState::default() }
}

/// A state with a snapshot, entries of both kinds, and a vote.
fn initial() -> State {
    let mut state = State::begin(snapshot(300, 4, 6), (299, 4)).expect("a valid beginning");
    state.append(&[entry(300, 4, 3, 1), entry(301, 5, 40, 3)]).expect("they follow");
    state.hard_state = hard_state(5, 2, 300);
    state
}

/// What is written later, as one batch.
fn later() -> Write {
    let reached = DiskPosition { term: 7, log_term: 5, index: 301 };
    Write {
        number: 1,
        hard_state: Some(hard_state(7, 3, 301)),
        entries: vec![entry(302, 7, 600, 5)],
        disks: Some([(Id(2), KnownDisk { store_id: 9, incarnation: 1 << 60, reached, refused_as: Some(300) })].into()),
        refused_as: Some(1 << 60),
        sync: true,
        ..Write::default()
    }
}

/// The log file, without the part that is allocated and not yet written.
fn log_file() -> Vec<u8> {
    let mut batches = record::encode_all(&identity(), &initial()).expect("it is small");
    batches.push(record::encode_writes([&later()].into_iter()).expect("it is small"));
    let allocated = batches.iter().map(|contents| block::blocks(contents.len()) as u32).sum();
    let mut file = Vec::new();
    for (number, contents) in (0..).zip(&batches) {
        let position = file.len() / BLOCK;
        let batch = Batch { number, durable: position as u32, allocated };
        file.extend(block::encode(contents, batch, position, identity().salt()).expect("it is small"));
    }
    file
}

#[test]
fn logs_of_version_1() {
    let mut state = initial();
    state.apply(&later()).expect("it follows");
    let decode = |bytes: &[u8]| {
        let found = block::scan(bytes, identity().salt()).expect("it is not damaged");
        record::replay(&found.batches, &identity()).expect("it is valid")
    };
    golden::check("store-log-v1", &[("log", state)], |_| log_file(), decode);
}
