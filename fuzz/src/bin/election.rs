//! Messages of an election.
#![no_main]

use hustings_testkit::fuzz;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    fuzz::election(bytes);
});
