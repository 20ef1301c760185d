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

/// A fuzzer hardly finds a kind of message by itself, so it gets one of each to begin with.
#[test]
fn frames_begin_with_one_message_of_each_kind() {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    let golden = fs::read_to_string(manifest.join("../cluster/testdata/formats/messages-v1.txt")).expect("it is there");
    let corpus: Vec<Vec<u8>> = fs::read_dir(manifest.join("corpus/frames"))
        .expect("the corpus is there")
        .map(|entry| fs::read(entry.expect("the corpus can be listed").path()).expect("the corpus can be read"))
        .collect();
    let mut messages: Vec<(&str, Vec<u8>)> = Vec::new();
    for line in golden.lines() {
        match line.strip_prefix(' ') {
            None => messages.push((line, Vec::new())),
            Some(bytes) => {
                let bytes = bytes.split(' ').map(|byte| u8::from_str_radix(byte, 16).expect("two digits"));
                messages.last_mut().expect("a name comes first").1.extend(bytes);
            }
        }
    }
    assert!(messages.len() > 20);
    for (name, bytes) in messages {
        let has_it = |input: &Vec<u8>| input.windows(bytes.len()).any(|window| window == bytes);
        assert!(bytes.len() == 1 || corpus.iter().any(has_it), "no input contains the message `{name}`: {bytes:02x?}");
    }
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
