//! Requests of clients on the same host.
#![no_main]

use hustings_testkit::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::request(bytes);
});
