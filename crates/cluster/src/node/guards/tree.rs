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
/// no others; while it exists, orphans stay in its tree if it is their subreaper. Fails if descendants may be left.
pub(super) fn kill(root: Option<Identity>, pidfd: &OwnedFd) -> io::Result<()> {
    kill_within(PATIENCE, root, pidfd)
}

fn kill_within(patience: Duration, root: Option<Identity>, pidfd: &OwnedFd) -> io::Result<()> {
    // It may have ended already, or be stopped.
    let _ = pidfd_send_signal(pidfd, Signal::STOP);
    let descendants = root.map_or_else(
        || Err(io::Error::other("the node may not look at its descendants")),
        |root| kill_descendants(root, Instant::now() + patience),
    );
    kill_process(pidfd).and(descendants)
}

fn kill_descendants(root: Identity, end: Instant) -> io::Result<()> {
    while root.kill_descendants() {
        if Instant::now() >= end {
            return Err(io::Error::new(io::ErrorKind::TimedOut, "some of its descendants are still there"));
        }
        thread::yield_now();
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::os::unix::process::ExitStatusExt;
    use std::process::{Child, Command};

    use rustix::process::{Pid, PidfdFlags, pidfd_open};

    use super::*;

    fn pidfd(child: &Child) -> OwnedFd {
        pidfd_open(Pid::from_child(child), PidfdFlags::empty()).expect("it is our child")
    }

    fn was_killed(mut child: Child) -> bool {
        child.wait().expect("it is our child").signal() == Some(libc::SIGKILL)
    }

    #[test]
    fn a_kill_that_may_have_missed_descendants_has_failed() {
        let unseen = Command::new("sleep").arg("1000").spawn().expect("it is everywhere");
        let error = kill(None, &pidfd(&unseen)).expect_err("nobody knows its descendants").to_string();
        assert!(error.contains("may not look"), "{error}");
        assert!(was_killed(unseen), "what is known is killed");

        let shell = Command::new("sh").args(["-c", "sleep 1000 & wait"]).spawn().expect("a shell is there");
        let pid = Pid::from_child(&shell);
        while !hustings_host::process_tree::has_descendants(pid, None) {
            thread::yield_now();
        }
        let identity = Identity::of(pid);
        let late = kill_within(Duration::ZERO, identity, &pidfd(&shell)).map_err(|error| error.kind());
        assert_eq!(late, Err(io::ErrorKind::TimedOut), "nobody has seen that there are none left");
        assert!(was_killed(shell));
    }

    #[test]
    fn a_kill_succeeds_when_nothing_is_left() {
        let alone = Command::new("sleep").arg("1000").spawn().expect("it is everywhere");
        let identity = Identity::of(Pid::from_child(&alone));
        kill(identity, &pidfd(&alone)).expect("it has no descendants");
        assert!(was_killed(alone));
    }
}
