//! Stores in real folders.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use hustings_protocol::Id;
use raft::Storage;

use super::model::{Model, Op, entry, script, snapshot, who};
use crate::store::{Store, StoreError, Who, Write};

fn folder() -> tempfile::TempDir {
    tempfile::tempdir().expect("a folder")
}

fn refused(path: &Path, who: &Who) -> StoreError {
    Store::open(path, who).err().expect("it must be refused")
}

#[test]
fn what_was_written_is_there_again() {
    let folder = folder();
    let path = folder.path().join("of/its/own");
    let (mut store, recovered) = Store::open(&path, &who()).expect("a new store");
    assert!(recovered.was_new);
    let mut model = Model::default();
    for (number, (op, sync)) in (1..).zip(script()) {
        store.write(&model.act(&op, number, sync)).expect("a write");
    }
    let mode = |path: &Path| fs::metadata(path).expect("it is there").permissions().mode() & 0o777;
    assert_eq!((mode(&path), mode(&path.join("log")), mode(&path.join("header"))), (0o700, 0o600, 0o600));
    assert!(matches!(refused(&path, &who()), StoreError::Locked { .. }));
    let identity = store.identity().clone();
    drop(store);
    for _ in 0..2 {
        let (_, recovered) = Store::open(&path, &who()).expect("an old store");
        assert!(!recovered.was_new && recovered.torn_at.is_none());
        assert_eq!(recovered.identity, identity);
        assert_eq!(Model::of(&recovered.mirror), model);
    }
    let mut names: Vec<_> = fs::read_dir(&path).expect("it is there").map(|file| file.unwrap().file_name()).collect();
    names.sort();
    assert_eq!(names, ["header", "lock", "log"]);
}

#[test]
fn the_first_voters_are_a_snapshot_of_index_0() {
    let folder = folder();
    let (mut store, recovered) = Store::open(folder.path(), &who()).expect("a new store");
    assert!(!recovered.mirror.initial_state().expect("there is one").initialized());
    let first = snapshot(0, 0, 3);
    store.write(&Write { number: 1, snapshot: Some(first), ..Default::default() }).expect("a write");
    drop(store);
    let (mut store, recovered) = Store::open(folder.path(), &who()).expect("an old store");
    assert!(!recovered.was_new);
    assert_eq!(recovered.mirror.initial_state().expect("there is one").conf_state.voters, [1, 2, 3]);
    assert_eq!((recovered.mirror.first_index(), recovered.mirror.last_index()), (Ok(1), Ok(0)));
    let entries = vec![entry(1, 1, 10, 1)];
    store.write(&Write { number: 1, entries, sync: true, ..Default::default() }).expect("a write");
}

#[test]
fn the_state_of_somebody_else_is_refused_by_name() {
    let folder = folder();
    drop(Store::open(folder.path(), &who()).expect("a new store"));
    let error = refused(folder.path(), &Who { cluster: "borea".to_string(), ..who() }).to_string();
    assert!(error.ends_with("belongs to cluster \"atlas\", not to cluster \"borea\""), "{error}");
    let error = refused(folder.path(), &Who { id: Id(4), ..who() }).to_string();
    assert!(error.ends_with("belongs to node 3, not to node 4"), "{error}");
    // A later format, with a checksum that is right.
    let header = folder.path().join("header");
    let mut bytes = fs::read(&header).expect("it is there");
    bytes[16] = 2;
    let length = bytes.len() - 4;
    let sum = crc32fast::hash(&bytes[..length]);
    bytes[length..].copy_from_slice(&sum.to_le_bytes());
    fs::write(&header, bytes).expect("it can be written");
    let error = refused(folder.path(), &who()).to_string();
    assert!(error.ends_with("belongs to format 2, not to format 1"), "{error}");
}

#[test]
fn a_part_of_a_store_is_damaged_and_not_new() {
    for (name, other) in [("header", "log"), ("log", "header")] {
        let folder = folder();
        drop(Store::open(folder.path(), &who()).expect("a new store"));
        fs::remove_file(folder.path().join(name)).expect("it is there");
        let error = refused(folder.path(), &who());
        assert!(matches!(&error, StoreError::Corrupt { file, .. } if file.ends_with(name)), "{error}");
        let text = error.to_string();
        let advice = ["no such file", "Restore", "remove this member", other];
        assert!(advice.iter().all(|part| text.contains(part)), "{text}");
        assert!(refused(folder.path(), &who()).to_string() == text, "and it stays so");
    }
}

#[test]
fn a_folder_of_other_things_is_left_alone() {
    let folder = folder();
    fs::create_dir(folder.path().join("lost+found")).expect("it can be made");
    fs::write(folder.path().join("log.bak"), "what somebody put aside").expect("it can be written");
    let error = refused(folder.path(), &who());
    assert!(matches!(&error, StoreError::NotAStore { name, .. } if name == "log.bak"), "{error}");
    fs::remove_file(folder.path().join("log.bak")).expect("it is there");
    assert!(Store::open(folder.path(), &who()).expect("a new store").1.was_new);
}

/// A small file system in memory, for those who may make one.
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
fn a_real_disk_that_is_full_is_waited_for() {
    let folder = folder();
    let Some(_small) = Small::new(folder.path()) else {
        // Only root may mount; the same is tested without a real disk in `crash`.
        #[expect(clippy::print_stderr, reason = "somebody has to be told")]
        {
            eprintln!("SKIPPED: a full disk needs a tmpfs, and mounting one was refused");
        }
        return;
    };
    let path = folder.path().join("store");
    let (mut store, _) = Store::open(&path, &who()).expect("a new store");
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
    fs::remove_file(&ballast).expect("it is there");
    let (mut store, recovered) = Store::open(&path, &who()).expect("there is room again");
    assert_eq!(Model::of(&recovered.mirror), before);
    store.write(&write).expect("there is room again");
    drop(store);
    let (_, recovered) = Store::open(&path, &who()).expect("an old store");
    assert_eq!(Model::of(&recovered.mirror), model);
}
