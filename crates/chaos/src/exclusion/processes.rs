//! Finds the processes that `hustings run` started.

use std::fs;
use std::io;
use std::os::fd::OwnedFd;

use rustix::io::Errno;
use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// A process that is somebody else's child. It is never confused with a later one that has the same id.
#[derive(Debug)]
pub(crate) struct Handle(OwnedFd);

impl Handle {
    /// The child of a process, if it still has it.
    fn open(parent: Pid, child: Pid) -> Option<Handle> {
        let handle = pidfd_open(child, PidfdFlags::empty()).ok().map(Handle)?;
        // The id may have been reused before the handle was opened, but then it is no child.
        children(parent).contains(&child).then_some(handle)
    }

    /// Sends a signal. A process that has ended is no error.
    pub(crate) fn signal(&self, signal: Signal) -> io::Result<()> {
        match pidfd_send_signal(&self.0, signal) {
            Err(Errno::SRCH) => Ok(()),
            result => Ok(result?),
        }
    }
}

/// The guardian of a `hustings run` process.
pub(crate) fn guardian(run: Pid) -> Option<Handle> {
    Handle::open(run, first_child(run)?)
}

/// The command that a `hustings run` process runs.
pub(crate) fn command(run: Pid) -> Option<Handle> {
    let guardian = first_child(run)?;
    Handle::open(guardian, first_child(guardian)?)
}

/// The oldest child of a process: the guardian is that of `hustings run`, and the command that of the guardian.
pub(crate) fn first_child(parent: Pid) -> Option<Pid> {
    children(parent).first().copied()
}

/// The children of a process, oldest first. None if it has ended.
fn children(parent: Pid) -> Vec<Pid> {
    let id = parent.as_raw_nonzero();
    let text = fs::read_to_string(format!("/proc/{id}/task/{id}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|word| word.parse().ok().and_then(Pid::from_raw)).collect()
}

#[cfg(test)]
mod tests {
    use std::process::{Command, Stdio};
    use std::thread;
    use std::time::{Duration, Instant};

    use hustings_harness::process::Process;

    use super::*;

    fn wait_for<T>(what: impl Fn() -> Option<T>) -> T {
        let deadline = Instant::now() + Duration::from_secs(20);
        loop {
            if let Some(found) = what() {
                return found;
            }
            assert!(Instant::now() < deadline, "timed out");
            thread::yield_now();
        }
    }

    #[test]
    fn finds_and_signals_children_and_grandchildren() {
        let mut bash = Command::new("bash");
        bash.args(["-c", "bash -c 'sleep 60; exit' & wait"]).stdin(Stdio::null()).stdout(Stdio::null());
        let run = Process::spawn(&mut bash).expect("bash starts");
        let id = wait_for(|| first_child(first_child(run.pid())?));
        let inner = first_child(run.pid()).expect("it has a child");
        assert_eq!(children(inner), [id]);
        assert!(Handle::open(inner, run.pid()).is_none(), "not its child");
        wait_for(|| command(run.pid())).signal(Signal::KILL).expect("ours");
        // The inner shell exits when its child has, and the outer one with it.
        let guardian = guardian(run.pid());
        wait_for(|| children(run.pid()).is_empty().then_some(()));
        if let Some(guardian) = guardian {
            guardian.signal(Signal::KILL).expect("a process that has ended is no error");
        }
        assert!(command(run.pid()).is_none());
    }
}
