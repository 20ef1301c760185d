//! Commands under `hustings run`, one on each node, and when they start.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::fd::BorrowedFd;
use std::path::PathBuf;
use std::process::{ChildStdout, Stdio};
use std::time::Instant;

use hustings_cluster::clock::{Clock, Timestamp};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};

use crate::clients::OFFICE;
use crate::cluster::{Cluster, TIMEOUT};
use crate::error::{HarnessError, io_error};
use crate::process::{Process, hustings_command};
use crate::run_failover::HostProcesses;

/// The command: says that it runs, and waits for input that never comes. A shell starts within a millisecond, and both
/// words are built into it.
const SCRIPT: &str = "echo $HUSTINGS_TOKEN; read -r never";

/// A command has started.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Start {
    /// Its node.
    pub(crate) node: usize,
    /// Its token.
    pub(crate) token: u64,
    /// When it was heard of.
    pub(crate) at: Timestamp,
    /// Whether the process that was watched had ended by then.
    pub(crate) after_watched: bool,
}

/// `hustings run` on each node.
pub(crate) struct Runs {
    running: Vec<Run>,
}

struct Run {
    process: Process,
    /// What the command prints. `None` once it is closed.
    output: Option<ChildStdout>,
    /// What was read of a line.
    line: Vec<u8>,
    status_file: PathBuf,
}

impl Runs {
    /// Starts a run on each node.
    pub(crate) fn start(cluster: &Cluster) -> Result<Runs, HarnessError> {
        let running = (0..cluster.size()).map(|node| spawn(cluster, node)).collect::<Result<_, _>>()?;
        Ok(Runs { running })
    }

    /// Ends what is left of a run, and starts it again.
    pub(crate) fn restart(&mut self, cluster: &Cluster, node: usize) -> Result<(), HarnessError> {
        // A run that has lost its command ends by itself.
        let ended = self.running[node].process.wait_timeout(TIMEOUT).map_err(io_error("cannot wait for a run"))?;
        if ended.is_none() {
            return Err(cluster.timed_out("a run without its command did not end"));
        }
        self.running[node] = spawn(cluster, node)?;
        Ok(())
    }

    /// Waits until every run campaigns or runs its command.
    pub(crate) fn wait_until_ready(&self, cluster: &Cluster) -> Result<(), HarnessError> {
        cluster.wait_for("not every run campaigned", || {
            let is_ready = |run: &Run| {
                let status = fs::read_to_string(&run.status_file).unwrap_or_default();
                status.contains("\"state\":\"waiting\"") || status.contains("\"state\":\"running\"")
            };
            Ok(self.running.iter().all(is_ready).then_some(()))
        })
    }

    /// The processes behind a start.
    pub(crate) fn processes(&self, cluster: &Cluster, start: Start) -> Result<HostProcesses, HarnessError> {
        let run = self.running[start.node].process.pid();
        let (guardian, command) = cluster.wait_for("a command's process was not found", || {
            let guardian = child_of(run);
            Ok(guardian.and_then(|guardian| Some((guardian, child_of(guardian)?))))
        })?;
        let open = |pid| {
            pidfd_open(pid, PidfdFlags::empty()).map_err(|error| io_error("cannot watch a process")(error.into()))
        };
        Ok(HostProcesses { command: open(command)?, guardian: open(guardian)?, run: open(run)? })
    }

    /// Waits for the first start with a token greater than `token`, and notes whether a process had ended by then.
    pub(crate) fn next_start(
        &mut self,
        cluster: &Cluster,
        token: u64,
        watched: Option<BorrowedFd<'_>>,
    ) -> Result<Start, HarnessError> {
        let deadline = Instant::now() + TIMEOUT;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(cluster.timed_out("no other command was started"));
            }
            self.wait(left)?;
            let at = Clock::new().now();
            // Looked at before the output is read: a process that ends after this moment is not counted.
            let after_watched = watched.is_some_and(has_ended);
            for (node, run) in self.running.iter_mut().enumerate() {
                let tokens = run.read_tokens().map_err(io_error("cannot read what a command prints"))?;
                if let Some(token) = tokens.into_iter().find(|new| *new > token) {
                    return Ok(Start { node, token, at, after_watched });
                }
            }
        }
    }

    /// Waits until a command has printed something, or its output was closed.
    fn wait(&self, timeout: std::time::Duration) -> Result<(), HarnessError> {
        let outputs = self.running.iter().filter_map(|run| run.output.as_ref());
        let mut polled: Vec<PollFd<'_>> = outputs.map(|output| PollFd::new(output, PollFlags::IN)).collect();
        let timeout = Timespec { tv_sec: timeout.as_secs() as i64, tv_nsec: timeout.subsec_nanos().into() };
        match poll(&mut polled, Some(&timeout)) {
            Ok(_) | Err(rustix::io::Errno::INTR) => Ok(()),
            Err(error) => Err(io_error("cannot wait for output")(error.into())),
        }
    }
}

impl Run {
    /// The tokens that were printed since the last call.
    fn read_tokens(&mut self) -> std::io::Result<Vec<u64>> {
        let mut bytes = [0; 256];
        while let Some(output) = &mut self.output {
            match output.read(&mut bytes) {
                Ok(0) => self.output = None,
                Ok(length) => self.line.extend_from_slice(&bytes[..length]),
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        let end = self.line.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        let lines: Vec<u8> = self.line.drain(..end).collect();
        Ok(String::from_utf8_lossy(&lines).lines().filter_map(|line| line.parse().ok()).collect())
    }
}

fn spawn(cluster: &Cluster, node: usize) -> Result<Run, HarnessError> {
    let status_file = cluster.folder().join(format!("run-{}.json", cluster.name(node)));
    // It may not be there.
    let _ = fs::remove_file(&status_file);
    let log = cluster.folder().join(format!("run-{}.log", cluster.name(node)));
    let log = File::options().create(true).append(true).open(&log).map_err(io_error(log.display().to_string()))?;
    let mut command = hustings_command(cluster.program());
    command.args(["run", OFFICE, "--socket"]).arg(cluster.socket(node)).arg("--status-file").arg(&status_file);
    command.args(["--", "/bin/sh", "-c", SCRIPT]);
    command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(log);
    // The node may have just been started.
    drop(cluster.client(node)?);
    let mut process = Process::spawn(&mut command).map_err(io_error("cannot start `hustings run`"))?;
    let output = process.take_stdout();
    if let Some(output) = &output {
        rustix::io::ioctl_fionbio(output, true).map_err(|error| io_error("cannot use a pipe")(error.into()))?;
    }
    Ok(Run { process, output, line: Vec::new(), status_file })
}

fn has_ended(process: BorrowedFd<'_>) -> bool {
    let mut polled = [PollFd::from_borrowed_fd(process, PollFlags::IN)];
    let now = Timespec { tv_sec: 0, tv_nsec: 0 };
    matches!(poll(&mut polled, Some(&now)), Ok(1..))
}

/// The first child of a process, as `/proc` shows it.
fn child_of(parent: Pid) -> Option<Pid> {
    let parent = parent.as_raw_nonzero().get();
    let processes = fs::read_dir("/proc").ok()?.flatten();
    let ids = processes.filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter(|pid| parent_of(*pid) == Some(parent)).min().and_then(Pid::from_raw)
}

fn parent_of(pid: i32) -> Option<i32> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    // The name is in parentheses and may contain anything. The state follows, and then the parent.
    stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use std::os::fd::{AsFd, OwnedFd};
    use std::process::Command;

    use super::*;

    #[test]
    fn finds_the_child_of_a_process_and_notices_its_end() {
        let mut shell = Command::new("sh");
        shell.args(["-c", "sleep 1000 & echo started; read -r never"]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut shell = Process::spawn(&mut shell).expect("there is a shell");
        let mut line = [0; 8];
        shell.take_stdout().expect("it is piped").read_exact(&mut line).expect("it starts");
        let sleep = child_of(shell.pid()).expect("it has a child");
        assert_eq!(parent_of(sleep.as_raw_nonzero().get()), Some(shell.pid().as_raw_nonzero().get()));
        let watched: OwnedFd = pidfd_open(sleep, PidfdFlags::empty()).expect("it runs");
        assert!(!has_ended(watched.as_fd()));
        rustix::process::kill_process(sleep, rustix::process::Signal::KILL).expect("it runs");
        let mut polled = [PollFd::new(&watched, PollFlags::IN)];
        poll(&mut polled, None).expect("it ends");
        assert!(has_ended(watched.as_fd()));
    }
}
