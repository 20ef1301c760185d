//! A node that cannot read what is committed stops. It neither skips an entry nor starts from an empty table.

use hustings_protocol::Id;
use raft::eraftpb::{self, ConfState, Entry, EntryType, HardState, MessageType, Snapshot};

use super::harness::{TestCluster, config, incarnation, members};
use crate::core::table::Table;
use crate::core::{Core, Exit, Setup, StartError};
use crate::faults::DisabledRules;
use crate::format::FormatError;
use crate::member::Role;
use crate::store::{RaftStorage, Write};
use crate::wire::{Message, RaftMessage};

const ROLES: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];
/// Pauses elections, as an entry of version 1.
const PAUSE: [u8; 12] = *b"\x01\x02\x06paused\x00\x01\x00";

fn later(bytes: &[u8]) -> Vec<u8> {
    [&[bytes[0] + 1], &bytes[1..]].concat()
}

fn entry(index: u64, data: Vec<u8>) -> Entry {
    Entry { term: 1, index, data: data.into(), ..Entry::default() }
}

/// A membership change that is valid for the raft library and has this context.
fn membership(index: u64, context: Vec<u8>) -> Entry {
    let mut entry = Entry { term: 1, index, context: context.into(), ..Entry::default() };
    entry.set_entry_type(EntryType::EntryConfChangeV2);
    // A change that removes member 9, which does not exist.
    entry.data = vec![18, 4, 8, 1, 16, 9].into();
    entry
}

fn snapshot(index: u64, data: Vec<u8>) -> Snapshot {
    let mut snapshot = Snapshot { data: data.into(), ..Snapshot::default() };
    (snapshot.mut_metadata().index, snapshot.mut_metadata().term) = (index, 1);
    snapshot.mut_metadata().set_conf_state(ConfState::from((vec![1, 2, 3], Vec::new())));
    snapshot
}

/// Starts a node from a disk with this snapshot and these entries, of which the first `committed` are committed.
fn start(data: Vec<u8>, entries: Vec<Entry>, committed: u64) -> Result<Core, StartError> {
    let storage = RaftStorage::empty();
    let hard_state = HardState { term: 1, commit: 9 + committed, ..HardState::default() };
    let snapshot = Some(snapshot(9, data));
    let hard_state = Some(hard_state);
    let write = Write { number: 1, hard_state, entries, snapshot, sync: true, ..Write::default() };
    storage.apply(&write).expect("a valid write");
    let (incarnation, store_id, disabled_rules) = (incarnation(1), 71, DisabledRules::default());
    let setup = Setup {
        config: config(1, &ROLES),
        incarnation,
        store_id,
        storage,
        seed: 1,
        disabled_rules,
        formats: Default::default(),
    };
    Core::new(setup, crate::clock::Timestamp(1 << 40))
}

/// The index at which a node cannot read its disk, and why.
fn refused(started: Result<Core, StartError>) -> (u64, FormatError) {
    match started {
        Err(StartError::Unreadable { index, error }) => (index, error),
        other => panic!("{other:?}"),
    }
}

#[test]
fn does_not_start_from_a_snapshot_that_it_cannot_read() {
    let table = Table::with_members(&members(&ROLES)).encode();
    assert!(start(table.clone(), Vec::new(), 0).is_ok());
    let expected = FormatError::UnknownVersion { format: "snapshot", found: 2, supported: 1 };
    assert_eq!(refused(start(later(&table), Vec::new(), 0)), (9, expected));
    let expected = FormatError::Malformed { format: "snapshot", version: 1 };
    assert_eq!(refused(start(table[..table.len() - 1].to_vec(), Vec::new(), 0)), (9, expected));
    assert_eq!(refused(start(Vec::new(), Vec::new(), 0)), (9, FormatError::Empty { format: "snapshot" }));
}

#[test]
fn does_not_start_with_a_committed_entry_that_it_cannot_read() {
    let table = Table::with_members(&members(&ROLES)).encode();
    let start = |unreadable: Entry, committed| {
        start(table.clone(), vec![entry(10, PAUSE.to_vec()), entry(11, Vec::new()), unreadable], committed)
    };
    assert!(start(entry(12, PAUSE.to_vec()), 3).is_ok());
    assert!(start(membership(12, vec![1, 0]), 3).is_ok());
    let unknown = FormatError::UnknownVersion { format: "log entry", found: 2, supported: 1 };
    assert_eq!(refused(start(entry(12, later(&PAUSE)), 3)), (12, unknown));
    assert_eq!(refused(start(membership(12, vec![2, 0]), 3)), (12, unknown));
    let malformed = FormatError::Malformed { format: "log entry", version: 1 };
    assert_eq!(refused(start(entry(12, vec![1, 200]), 3)), (12, malformed));
    let unparsable = Entry { data: vec![255; 9].into(), ..membership(12, vec![1, 0]) };
    assert_eq!(refused(start(unparsable, 3)), (12, malformed));
    assert!(start(entry(12, later(&PAUSE)), 2).is_ok(), "an entry that is not committed may still be replaced");
}

/// A follower, and the message of its leader that it handles last. Returns why it stops.
fn exit_after(prepare: impl FnOnce(&mut eraftpb::Message)) -> Option<Exit> {
    let mut cluster = TestCluster::new(vec![config(1, &ROLES)]);
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 7, now));
    let mut message = eraftpb::Message { term: 1, ..Default::default() };
    prepare(&mut message);
    cluster.node(1).sent.clear();
    cluster.deliver(2, 1, Message::Raft(RaftMessage::from(&message)));
    let exit = cluster.node(1).exit;
    // A node that cannot go on sends nothing more. In particular, no answer tells the leader that it has applied the
    // entry, which the leader would take as permission to renew its leases.
    cluster.node(1).sent.clear();
    cluster.deliver(2, 1, Message::ReadinessRequest { office: "leader".into() });
    cluster.advance_ms(1_000);
    assert_eq!(cluster.node(1).sent.is_empty(), exit.is_some());
    exit
}

/// The exit of a follower that is told to commit an entry.
fn exit_after_entry(entry: Entry) -> Option<Exit> {
    exit_after(|message| {
        message.set_msg_type(MessageType::MsgAppend);
        message.commit = entry.index;
        message.entries = vec![entry].into();
    })
}

#[test]
fn stops_at_a_committed_entry_of_a_later_version() {
    assert_eq!(exit_after_entry(entry(1, PAUSE.to_vec())), None);
    assert_eq!(exit_after_entry(membership(1, vec![1, 0])), None);
    let error = FormatError::UnknownVersion { format: "log entry", found: 2, supported: 1 };
    assert_eq!(exit_after_entry(entry(1, later(&PAUSE))), Some(Exit::Unreadable { index: 1, error }));
    assert_eq!(exit_after_entry(membership(1, vec![2, 0])), Some(Exit::Unreadable { index: 1, error }));
    let error = FormatError::Malformed { format: "log entry", version: 1 };
    let unparsable = Entry { data: vec![255; 9].into(), ..membership(1, vec![1, 0]) };
    assert_eq!(exit_after_entry(unparsable), Some(Exit::Unreadable { index: 1, error }));
}

#[test]
fn stops_at_a_snapshot_of_a_later_version() {
    let exit_after_snapshot = |data: Vec<u8>| {
        exit_after(|message| {
            message.set_msg_type(MessageType::MsgSnapshot);
            message.set_snapshot(snapshot(300, data));
        })
    };
    let table = Table::with_members(&members(&ROLES)).encode();
    assert_eq!(exit_after_snapshot(table.clone()), None);
    let error = FormatError::UnknownVersion { format: "snapshot", found: 2, supported: 1 };
    assert_eq!(exit_after_snapshot(later(&table)), Some(Exit::Unreadable { index: 300, error }));
}
