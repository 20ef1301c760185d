//! Child processes that end with their owner.

use std::ffi::OsStr;
use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdin, ChildStdout, Command, ExitStatus};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, getpid, getppid, kill_process, set_parent_process_death_signal};

/// How often a process is asked whether it has exited.
const POLL_INTERVAL: Duration = Duration::from_millis(5);

/// A child process. It is killed and reaped when this value is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
}

impl Process {
    /// Starts a command.
    pub fn spawn(command: &mut Command) -> io::Result<Self> {
        command.spawn().map(|child| Process { child })
    }

    /// Starts a command whose process is killed when the calling thread ends, even if this program is killed.
    pub fn spawn_bound(command: &mut Command) -> io::Result<Self> {
        let parent = getpid();
        let prepare = move || {
            set_parent_process_death_signal(Some(Signal::KILL))?;
            // The parent may have ended before the signal was requested.
            if getppid() == Some(parent) { Ok(()) } else { Err(io::ErrorKind::Interrupted.into()) }
        };
        // SAFETY: two system calls, which allocate nothing and take no lock.
        unsafe { command.pre_exec(prepare) };
        Self::spawn(command)
    }

    /// The process id. It stays valid as long as this value lives, because the process is reaped only through it.
    pub fn pid(&self) -> Pid {
        Pid::from_child(&self.child)
    }

    /// Sends a signal.
    pub fn signal(&self, signal: Signal) -> io::Result<()> {
        Ok(kill_process(self.pid(), signal)?)
    }

    /// Sends SIGKILL and reaps the process.
    pub fn kill(mut self) -> io::Result<()> {
        let killed = self.child.kill();
        self.child.wait()?;
        killed
    }

    /// The exit status if the process has exited.
    pub fn try_wait(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Waits for the process to exit, but not longer than `timeout`.
    pub fn wait_timeout(&mut self, timeout: Duration) -> io::Result<Option<ExitStatus>> {
        let deadline = Instant::now() + timeout;
        loop {
            let status = self.child.try_wait()?;
            if status.is_some() || Instant::now() >= deadline {
                return Ok(status);
            }
            thread::sleep(POLL_INTERVAL);
        }
    }

    /// The pipe to the standard input, if the command asked for one and nobody took it before.
    pub fn take_stdin(&mut self) -> Option<ChildStdin> {
        self.child.stdin.take()
    }

    /// The pipe from the standard output, if the command asked for one and nobody took it before.
    pub fn take_stdout(&mut self) -> Option<ChildStdout> {
        self.child.stdout.take()
    }

    /// The same for the standard error.
    pub fn take_stderr(&mut self) -> Option<ChildStderr> {
        self.child.stderr.take()
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Both fail only if the process has been reaped, which is what they are for.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// A command that runs `hustings` without the `HUSTINGS_*` variables of the caller's environment: those configure other
/// nodes.
pub fn hustings_command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    for (name, _) in std::env::vars_os() {
        if name.as_encoded_bytes().starts_with(b"HUSTINGS_") {
            command.env_remove(name);
        }
    }
    command
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;
    use std::process::Stdio;

    fn bash(script: &str) -> Process {
        let mut command = Command::new("bash");
        command.args(["-c", script]).stdin(Stdio::null()).stdout(Stdio::null());
        Process::spawn(&mut command).expect("bash starts")
    }

    fn is_running(pid: Pid) -> bool {
        Path::new("/proc").join(pid.as_raw_nonzero().to_string()).exists()
    }

    #[test]
    fn dropping_a_process_kills_and_reaps_it() {
        let process = bash("read -r < <(tail -f /dev/null)");
        let pid = process.pid();
        assert!(is_running(pid));
        drop(process);
        assert!(!is_running(pid));
    }

    #[test]
    fn a_bound_process_ends_with_the_thread_that_started_it() {
        let spawn = || {
            let mut command = Command::new("bash");
            command.args(["-c", "read -r < <(tail -f /dev/null)"]).stdin(Stdio::null()).stdout(Stdio::null());
            Process::spawn_bound(&mut command).expect("bash starts")
        };
        let mut process = thread::spawn(spawn).join().expect("it does not panic");
        let status = process.wait_timeout(Duration::from_secs(20)).expect("a child").expect("it was killed");
        assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
    }

    #[test]
    fn waiting_returns_the_exit_status_or_times_out() {
        let mut exits = bash("exit 3");
        let status = exits.wait_timeout(Duration::from_secs(20)).expect("a child").expect("it exits");
        assert_eq!(status.code(), Some(3));
        let mut stays = bash("read -r < <(tail -f /dev/null)");
        assert_eq!(stays.wait_timeout(Duration::ZERO).expect("a child"), None);
        stays.signal(Signal::KILL).expect("a child");
        assert!(stays.wait_timeout(Duration::from_secs(20)).expect("a child").is_some());
    }
}
