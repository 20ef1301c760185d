//! Whether the machine itself stood still: then nobody could keep a lease, and what follows is not the nodes' fault.

use std::io;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use hustings_harness::net::raise_thread_priority;

use crate::clock::{self, MILLISECOND};
use crate::scene::Scene;

/// How often it looks at the clock.
const EVERY: Duration = Duration::from_millis(10);
/// Whoever sleeps for so much too long could not have answered a heartbeat in time either.
const TOO_LONG: u64 = 60 * MILLISECOND;
/// Starts to watch.
pub(crate) fn start(scene: &Arc<Scene>) -> io::Result<JoinHandle<()>> {
    let scene = Arc::clone(scene);
    std::thread::Builder::new().name("watchdog".to_string()).spawn(move || {
        raise_thread_priority();
        while !scene.over() {
            let from = clock::now();
            std::thread::sleep(EVERY);
            let at = clock::now();
            if at - from > TOO_LONG {
                scene.note_stall(from, at);
            }
        }
    })
}
