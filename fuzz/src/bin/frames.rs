//! Frames of a peer, and the messages in them.
#![no_main]

use hustings_testkit::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::frames(bytes);
});
