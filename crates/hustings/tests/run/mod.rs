//! `hustings run`, with real nodes and real commands.

mod ends;
mod exit_codes;
mod kills;
mod terminal;

use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use hustings_harness::process::Process;
use rustix::process::{Pid, Signal, kill_process};

use crate::processes::{Cluster, TIMEOUT, hustings};

/// A running `hustings run`, whose log is read line by line.
pub(crate) struct Running {
    process: Process,
    lines: Receiver<String>,
    seen: Vec<String>,
}

/// What came of it.
pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) log: Vec<String>,
}

/// A running cluster whose leases outlast the moments in which a busy machine does nothing.
pub(crate) fn cluster(members: &[&str]) -> Cluster {
    let mut cluster = Cluster::new(members, &[]);
    cluster.edit(members, "lease = \"300ms\"", "lease = \"2s\"");
    cluster.start(members);
    cluster
}

/// Starts `hustings run OFFICE OPTIONS -- sh -c SCRIPT` with a member's socket.
pub(crate) fn start(cluster: &Cluster, member: &str, options: &[&str], script: &str) -> Running {
    start_with(run_command(cluster, member, options, &["sh", "-c", script]))
}

pub(crate) fn run_command(cluster: &Cluster, member: &str, options: &[&str], command: &[&str]) -> Command {
    let mut run = hustings();
    run.args(["run", "job", "--socket"]).arg(socket(cluster, member)).args(options).arg("--").args(command);
    run
}

pub(crate) fn socket(cluster: &Cluster, member: &str) -> PathBuf {
    cluster.folder().join(member).join("hustings.sock")
}

pub(crate) fn start_with(mut run: Command) -> Running {
    // A session of its own: no terminal, as under systemd or cron.
    run.stdin(Stdio::null()).stderr(Stdio::piped());
    let mut process = Process::spawn(&mut run).expect("the binary can be started");
    let stderr = BufReader::new(process.take_stderr().expect("it is piped"));
    let (sender, lines) = channel();
    // The thread ends with the last process that has the pipe.
    std::thread::spawn(move || stderr.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    Running { process, lines, seen: Vec::new() }
}

impl Running {
    /// Waits for a line of the log that contains this text.
    pub(crate) fn wait_for(&mut self, part: &str) -> String {
        let since = Instant::now();
        loop {
            let left = TIMEOUT.saturating_sub(since.elapsed());
            match self.lines.recv_timeout(left) {
                Ok(line) => {
                    self.seen.push(line.clone());
                    if line.contains(part) {
                        return line;
                    }
                }
                Err(error) => panic!("no line with {part:?}: {error}; {:#?}", self.seen),
            }
        }
    }

    pub(crate) fn signal(&self, signal: Signal) {
        self.process.signal(signal).expect("it is our child");
    }

    pub(crate) fn pid(&self) -> Pid {
        self.process.pid()
    }

    /// Waits for its end.
    pub(crate) fn end(mut self) -> Ended {
        let status = self.process.wait_timeout(TIMEOUT).expect("it is our child");
        let code = status.unwrap_or_else(|| panic!("it did not end: {:#?}", self.seen)).code();
        self.seen.extend(self.lines.iter());
        Ended { code: code.expect("`run` was not killed"), log: self.seen }
    }
}

/// The processes with this command line, zombies excluded.
pub(crate) fn processes_with(command_line: &str) -> Vec<Pid> {
    let has_text = |folder: &Path| {
        let line = fs::read(folder.join("cmdline")).unwrap_or_default();
        String::from_utf8_lossy(&line).replace('\0', " ").trim_end() == command_line
    };
    let pid = |folder: &Path| folder.file_name()?.to_str()?.parse().ok().and_then(Pid::from_raw);
    let all = fs::read_dir("/proc").expect("list the processes").flatten().map(|entry| entry.path());
    all.filter(|folder| has_text(folder)).filter_map(|folder| pid(&folder)).collect()
}

/// Waits until this many processes have this command line. If that does not happen, they are killed.
pub(crate) fn has_processes(command_line: &str, count: usize) -> bool {
    let since = Instant::now();
    loop {
        let found = processes_with(command_line);
        if found.len() == count || since.elapsed() > TIMEOUT {
            if found.len() != count {
                found.iter().for_each(|pid| _ = kill_process(*pid, Signal::KILL));
            }
            return found.len() == count;
        }
        std::thread::yield_now();
    }
}

/// The same, but it must happen.
pub(crate) fn wait_for_processes(command_line: &str, count: usize) {
    assert!(has_processes(command_line, count), "there are not {count} processes {command_line:?}");
}

/// The children of a process.
pub(crate) fn children(pid: Pid) -> Vec<Pid> {
    let number = pid.as_raw_nonzero();
    let text = fs::read_to_string(format!("/proc/{number}/task/{number}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|child| child.parse().ok().and_then(Pid::from_raw)).collect()
}
