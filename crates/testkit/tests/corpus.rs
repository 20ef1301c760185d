//! Replays the corpora: inputs that fuzzers kept, and every input that ever broke an invariant. See `fuzz/`.

use std::fs;
use std::path::Path;

use hustings_testkit::fuzz;

/// Replays a corpus. Some inputs must be valid and some invalid; otherwise the corpus no longer fits the format.
fn replay(target: &str, read: impl Fn(&[u8]) -> bool) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("corpus").join(target);
    let mut paths: Vec<_> = fs::read_dir(&folder)
        .expect("the corpus is there")
        .map(|entry| entry.expect("the corpus can be listed").path())
        .collect();
    paths.sort();
    let (mut valid, mut invalid) = (0, 0);
    for path in paths {
        let bytes = fs::read(&path).expect("the corpus can be read");
        match std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| read(&bytes))) {
            Ok(true) => valid += 1,
            Ok(false) => invalid += 1,
            Err(_) => panic!("this input breaks an invariant: {}", path.display()),
        }
    }
    assert!(valid > 2 && invalid > 2, "{target}: {valid} valid inputs, {invalid} invalid ones");
}

#[test]
fn frames() {
    replay("frames", fuzz::frames);
}

#[test]
fn configuration() {
    replay("configuration", fuzz::configuration);
}

#[test]
fn store() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    replay("store", |bytes| fuzz::store(folder.path(), bytes));
}

#[test]
fn request() {
    replay("request", fuzz::request);
}

#[test]
fn election() {
    replay("election", fuzz::election);
}
