//! The files of a store.
#![no_main]

use std::sync::LazyLock;

use hustings_testkit::fuzz;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

/// In memory if possible: every input is written, read and written again.
static FOLDER: LazyLock<TempDir> =
    LazyLock::new(|| tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a temporary folder"));

fuzz_target!(|bytes: &[u8]| {
    fuzz::store(FOLDER.path(), bytes);
});
