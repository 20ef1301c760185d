//! Detects stalls of the machine. During a stall no process can renew a lease, so what follows says nothing about the
//! nodes.

use std::io;
use std::thread::JoinHandle;
use std::time::Duration;

use hustings_harness::net::raise_thread_priority;

use crate::clock::{self, MILLISECOND};

/// How long the watchdog sleeps.
const INTERVAL: Duration = Duration::from_millis(10);
/// A sleep that takes this long is a stall: a node could not have answered a heartbeat in time either.
pub(crate) const STALL: u64 = 60 * MILLISECOND;

/// Starts the watchdog. It calls `on_stall` with the beginning and the end of every sleep that takes at least `stall`,
/// in nanoseconds, until `is_over`.
pub(crate) fn start(
    stall: u64,
    is_over: impl Fn() -> bool + Send + 'static,
    on_stall: impl Fn(u64, u64) + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    std::thread::Builder::new().name("watchdog".to_string()).spawn(move || {
        raise_thread_priority();
        while !is_over() {
            let from = clock::now();
            std::thread::sleep(INTERVAL);
            let at = clock::now();
            if at - from > stall {
                on_stall(from, at);
            }
        }
    })
}
