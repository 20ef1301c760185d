//! Configuration files.
#![no_main]

use hustings_cluster::fuzzing;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzzing::configuration(bytes);
});
