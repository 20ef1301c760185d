//! Guards that are plain process trees: a process and its descendants. The weakest kind.

use std::os::fd::OwnedFd;
use std::time::{Duration, Instant};
use std::{io, thread};

use hustings_host::process_tree::Identity;
use rustix::process::{Signal, pidfd_send_signal};

use super::kill_process;

/// How long descendants may take to die, for instance in uninterruptible I/O, before the guardian is killed
/// nevertheless.
const PATIENCE: Duration = Duration::from_secs(2);

/// Kills the descendants of a process until none is left, and then the process. It is stopped first, so that it starts
/// no others; while it exists, orphans stay in its tree if it is their subreaper.
pub(super) fn kill(root: Option<Identity>, pidfd: &OwnedFd) -> io::Result<()> {
    // It may have ended already, or be stopped.
    let _ = pidfd_send_signal(pidfd, Signal::STOP);
    let end = Instant::now() + PATIENCE;
    while root.is_some_and(Identity::kill_descendants) && Instant::now() <= end {
        thread::yield_now();
    }
    kill_process(pidfd)
}
