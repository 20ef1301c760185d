//! The files of a store.
#![no_main]

use std::sync::LazyLock;

use hustings_cluster::fuzzing;
use libfuzzer_sys::fuzz_target;
use tempfile::TempDir;

/// In memory, where there is such a place: every input is written, read and written anew.
static FOLDER: LazyLock<TempDir> = LazyLock::new(|| {
    tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).expect("a folder of one's own can be made")
});

fuzz_target!(|bytes: &[u8]| {
    fuzzing::store(FOLDER.path(), bytes);
});
