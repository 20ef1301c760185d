//! Stores in real folders.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use hustings_protocol::Id;
use raft::Storage;

use super::model::{Model, Op, entry, owner, script, snapshot};
use crate::store::{Store, StoreError, StoreOwner, Write};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn open_error(path: &Path, owner: &StoreOwner) -> StoreError {
    Store::open(path, owner).err().expect("it must be refused")
}

#[test]
fn recovers_everything_that_was_written() {
    let folder = folder();
    let path = folder.path().join("of/its/own");
    let (mut store, recovered) = Store::open(&path, &owner()).expect("a new store");
    assert!(recovered.is_new);
    let mut model = Model::default();
    for (number, (op, sync)) in (1..).zip(script()) {
        store.write(&model.act(&op, number, sync)).expect("a write");
    }
    let mode = |path: &Path| fs::metadata(path).expect("it exists").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join("log")), mode(&path.join("header"))), (0o700, 0o600, 0o600));
    assert!(matches!(open_error(&path, &owner()), StoreError::Locked { .. }));
    let identity = store.identity().clone();
    drop(store);
    for _ in 0..2 {
        let (_, recovered) = Store::open(&path, &owner()).expect("an old store");
        assert!(!recovered.is_new && recovered.torn_at.is_none());
        assert_eq!(recovered.identity, identity);
        assert_eq!(Model::of(&recovered.storage), model);
    }
    let mut names: Vec<_> = fs::read_dir(&path).expect("it exists").map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["header", "lock", "log"]);
}

#[test]
fn the_initial_voters_are_a_snapshot_at_index_0() {
    let folder = folder();
    let (mut store, recovered) = Store::open(folder.path(), &owner()).expect("a new store");
    assert!(!recovered.storage.initial_state().expect("there is one").initialized());
    let first = snapshot(0, 0, 3);
    store.write(&Write { number: 1, snapshot: Some(first), ..Default::default() }).expect("a write");
    drop(store);
    let (mut store, recovered) = Store::open(folder.path(), &owner()).expect("an old store");
    assert!(!recovered.is_new);
    assert_eq!(recovered.storage.initial_state().expect("there is one").conf_state.voters, [1, 2, 3]);
    assert_eq!((recovered.storage.first_index(), recovered.storage.last_index()), (Ok(1), Ok(0)));
    let entries = vec![entry(1, 1, 10, 1)];
    store.write(&Write { number: 1, entries, sync: true, ..Default::default() }).expect("a write");
}

#[test]
fn rejects_the_store_of_another_node_cluster_or_format() {
    let folder = folder();
    drop(Store::open(folder.path(), &owner()).expect("a new store"));
    let error = open_error(folder.path(), &StoreOwner { cluster: "borea".to_string(), ..owner() }).to_string();
    assert!(error.ends_with("belongs to cluster \"atlas\", not to cluster \"borea\""), "{error}");
    let error = open_error(folder.path(), &StoreOwner { id: Id(4), ..owner() }).to_string();
    assert!(error.ends_with("belongs to node 3, not to node 4"), "{error}");
    // A later format with a correct checksum.
    let header = folder.path().join("header");
    let mut bytes = fs::read(&header).expect("it exists");
    bytes[16] = 2;
    let length = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..length]);
    bytes[length..].copy_from_slice(&sum.to_le_bytes());
    fs::write(&header, bytes).expect("it can be written");
    let error = open_error(folder.path(), &owner()).to_string();
    assert!(error.contains("/header has version 2 of the store's format, but this program reads version 1"), "{error}");
}

#[test]
fn a_store_with_a_missing_file_is_damaged() {
    for (name, other) in [("header", "log"), ("log", "header")] {
        let folder = folder();
        drop(Store::open(folder.path(), &owner()).expect("a new store"));
        fs::remove_file(folder.path().join(name)).expect("it exists");
        let error = open_error(folder.path(), &owner());
        assert!(matches!(&error, StoreError::Corrupt { file, .. } if file.ends_with(name)), "{error}");
        let text = error.to_string();
        let advice = ["no such file", "Restore", "remove this member", other];
        assert!(advice.iter().all(|part| text.contains(part)), "{text}");
        assert!(open_error(folder.path(), &owner()).to_string() == text, "and it stays so");
    }
}

#[test]
fn rejects_a_folder_with_other_files() {
    let folder = folder();
    fs::create_dir(folder.path().join("lost+found")).expect("it can be made");
    fs::write(folder.path().join("log.bak"), "a backup").expect("it can be written");
    let error = open_error(folder.path(), &owner());
    assert!(matches!(&error, StoreError::NotAStore { name, .. } if name == "log.bak"), "{error}");
    fs::remove_file(folder.path().join("log.bak")).expect("it exists");
    assert!(Store::open(folder.path(), &owner()).expect("a new store").1.is_new);
}

/// A small file system in memory, if this process may mount one.
struct Small<'a>(&'a Path);

impl<'a> Small<'a> {
    fn new(path: &'a Path) -> Option<Self> {
        let done = Command::new("mount").args(["-t", "tmpfs", "-o", "size=16m", "hustings"]).arg(path).output();
        done.is_ok_and(|output| output.status.success()).then_some(Small(path))
    }
}

impl Drop for Small<'_> {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(self.0).status();
    }
}

#[test]
fn a_write_succeeds_once_a_real_disk_has_room_again() {
    let folder = folder();
    let Some(_small) = Small::new(folder.path()) else {
        // Only root may mount; the same is tested without a real disk in `crash`.
        return crate::tests::skip("a full disk needs a tmpfs, and mounting one was refused");
    };
    let path = folder.path().join("store");
    let (mut store, _) = Store::open(&path, &owner()).expect("a new store");
    let ballast = folder.path().join("ballast");
    fs::write(&ballast, vec![1; 13 << 20]).expect("there is room");
    let mut model = Model::default();
    let (mut number, mut failed) = (0, None);
    while failed.is_none() {
        number += 1;
        assert!(number < 60, "the disk is never full");
        let before = model.clone();
        let write = model.act(&Op::Append { dropped: 0, count: 1, size: 100_000 }, number, true);
        failed = store.write(&write).err().map(|error| (error, write, before));
    }
    let (error, write, before) = failed.expect("the loop ends with one");
    let full = |error: &StoreError| matches!(error, StoreError::Io { source, .. } if source.raw_os_error() == Some(28));
    assert!(full(&error) && number > 3, "{number}: {error}");
    assert!(full(&store.write(&write).expect_err("it is still full")));
    drop(store);
    fs::remove_file(&ballast).expect("it exists");
    let (mut store, recovered) = Store::open(&path, &owner()).expect("there is room again");
    assert_eq!(Model::of(&recovered.storage), before);
    store.write(&write).expect("there is room again");
    drop(store);
    let (_, recovered) = Store::open(&path, &owner()).expect("an old store");
    assert_eq!(Model::of(&recovered.storage), model);
}
