//! Inputs that fuzzers found worth keeping, and every one that ever broke something: see `fuzz/`.

use std::fs;
use std::path::Path;

use hustings_cluster::fuzzing;

/// Replays a corpus. Some of it must make sense and some of it must not, or it no longer tests what it should.
fn replay(target: &str, read: impl Fn(&[u8]) -> bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .expect("the corpus is there")
        .map(|entry| entry.expect("the corpus can be listed").path())
        .collect();
    paths.sort();
    let (mut sensible, mut senseless) = (0, 0);
    for path in paths {
        let bytes = fs::read(&path).expect("the corpus can be read");
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(&bytes))) {
            Ok(true) => sensible += 1,
            Ok(false) => senseless += 1,
            Err(_) => panic!("this input broke a promise: {}", path.display()),
        }
    }
    assert!(sensible > 2 && senseless > 2, "{target}: {sensible} make sense, {senseless} do not");
}

#[test]
fn frames() {
    replay("frames", fuzzing::frames);
}

#[test]
fn configuration() {
    replay("configuration", fuzzing::configuration);
}

#[test]
fn store() {
    let folder = tempfile::tempdir().expect("a folder of one's own can be made");
    replay("store", |bytes| fuzzing::store(folder.path(), bytes));
}

#[test]
fn request() {
    replay("request", fuzzing::request);
}

#[test]
fn election() {
    replay("election", fuzzing::election);
}
