//! The processes of the nodes. None of them outlives this process.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::launch;
use hustings_harness::process::Process;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};

/// How a node is started.
#[derive(Clone, Debug)]
pub(crate) struct NodeSpec {
    /// The node's name.
    pub(crate) name: String,
    /// The arguments of the program.
    pub(crate) arguments: Vec<String>,
    /// Variables that are added to the environment.
    pub(crate) environment: Vec<(String, String)>,
    /// The network namespace to run in.
    pub(crate) namespace: Option<String>,
    /// The file to which the node's output is appended.
    pub(crate) log: PathBuf,
}

/// How node processes are launched.
#[derive(Clone, Debug)]
pub(crate) struct Launcher {
    /// The program of the nodes.
    pub(crate) program: PathBuf,
    /// This program, which launches the node; without it the node is started directly.
    pub(crate) launcher: Option<PathBuf>,
    /// A program and its arguments that become the program of the nodes, if there are any.
    pub(crate) wrapper: Vec<String>,
}

/// All nodes. They are killed and reaped when this is dropped.
pub(crate) struct Nodes {
    launcher: Launcher,
    slots: Vec<Slot>,
}

struct Slot {
    spec: NodeSpec,
    process: Option<Process>,
}

impl Nodes {
    /// No node is running yet.
    pub(crate) fn new(launcher: Launcher, specs: Vec<NodeSpec>) -> Self {
        Nodes { launcher, slots: specs.into_iter().map(|spec| Slot { spec, process: None }).collect() }
    }

    /// How a node is started the next time, for changes.
    pub(crate) fn spec(&mut self, node: usize) -> &mut NodeSpec {
        &mut self.slots[node].spec
    }

    /// Sets a variable of a node's environment from its next start on.
    pub(crate) fn set_variable(&mut self, node: usize, name: &str, value: String) {
        let environment = &mut self.slots[node].spec.environment;
        environment.retain(|(known, _)| known != name);
        environment.push((name.to_string(), value));
    }

    /// Starts a node, after killing it if it is running. Returns the process id.
    pub(crate) fn start(&mut self, node: usize) -> io::Result<Pid> {
        self.kill(node)?;
        let spec = &self.slots[node].spec;
        let mut log = OpenOptions::new().create(true).append(true).open(&spec.log)?;
        let (mut reader, writer) = io::pipe()?;
        let mut command = self.launcher.command(spec);
        command.envs(spec.environment.iter().map(|(name, value)| (name, value)));
        // A process group of its own, so that Ctrl-C interrupts only this process.
        command.process_group(0).stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let process = Process::spawn(&mut command)?;
        drop(command);
        // Through a pipe, so that a limit on the size of the node's files does not apply to its output.
        thread::Builder::new().name(format!("log-{}", spec.name)).spawn(move || io::copy(&mut reader, &mut log))?;
        let pid = process.pid();
        self.slots[node].process = Some(process);
        Ok(pid)
    }

    /// Kills a node, if it is running, and reaps it.
    pub(crate) fn kill(&mut self, node: usize) -> io::Result<()> {
        self.slots[node].process.take().map_or(Ok(()), Process::kill)
    }

    /// Asks a node to leave in good order, if it is running.
    pub(crate) fn terminate(&mut self, node: usize) -> io::Result<()> {
        self.signal(node, Signal::TERM)
    }

    /// Freezes a node, if it is running.
    pub(crate) fn freeze(&mut self, node: usize) -> io::Result<()> {
        self.signal(node, Signal::STOP)
    }

    /// Lets a frozen node continue.
    pub(crate) fn thaw(&mut self, node: usize) -> io::Result<()> {
        self.signal(node, Signal::CONT)
    }

    /// Limits the size of the files that a node writes.
    pub(crate) fn limit_file_size(&mut self, node: usize, bytes: Option<u64>) -> io::Result<()> {
        match &self.slots[node].process {
            Some(process) => {
                let limit = Rlimit { current: bytes, maximum: None };
                prlimit(Some(process.pid()), Resource::Fsize, limit)?;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// The exit status of a node that has exited by itself; reported once.
    pub(crate) fn take_exit_status(&mut self, node: usize) -> io::Result<Option<ExitStatus>> {
        let slot = &mut self.slots[node];
        let Some(process) = &mut slot.process else { return Ok(None) };
        let status = process.try_wait()?;
        if status.is_some() {
            slot.process = None;
        }
        Ok(status)
    }

    /// Sends SIGTERM to all nodes, waits for them, and kills those that are left after `timeout`.
    pub(crate) fn stop(&mut self, timeout: Duration) -> io::Result<()> {
        for node in 0..self.slots.len() {
            self.signal(node, Signal::TERM)?;
        }
        let deadline = Instant::now() + timeout;
        for node in 0..self.slots.len() {
            if let Some(process) = &mut self.slots[node].process {
                process.wait_timeout(deadline.saturating_duration_since(Instant::now()))?;
            }
            self.kill(node)?;
        }
        Ok(())
    }

    fn signal(&mut self, node: usize, signal: Signal) -> io::Result<()> {
        self.slots[node].process.as_ref().map_or(Ok(()), |process| process.signal(signal))
    }
}

impl Launcher {
    fn command(&self, spec: &NodeSpec) -> Command {
        let mut words: Vec<String> = Vec::new();
        if let Some(launcher) = &self.launcher {
            words.push(launcher.display().to_string());
            words.extend(launch::arguments(spec.namespace.as_deref()));
        }
        // A write beyond the limit must fail, as on a full disk, and not kill the node with a signal.
        words.extend(["env", "--ignore-signal=XFSZ"].map(str::to_string));
        words.extend(self.wrapper.iter().cloned());
        words.push(self.program.display().to_string());
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).args(&spec.arguments);
        command
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs;
    use std::path::Path;

    fn nodes(folder: &Path, script: &str) -> Nodes {
        let spec = NodeSpec {
            name: "n1".to_string(),
            arguments: vec!["-c".to_string(), script.to_string()],
            environment: vec![("WORD".to_string(), "a word".to_string())],
            namespace: None,
            log: folder.join("log"),
        };
        Nodes::new(Launcher { program: "bash".into(), launcher: None, wrapper: Vec::new() }, vec![spec])
    }

    fn state(pid: Pid) -> Option<char> {
        let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    }

    fn wait_for(what: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !what() {
            assert!(Instant::now() < deadline, "timed out");
            thread::yield_now();
        }
    }

    #[test]
    fn freezes_thaws_kills_and_restarts_a_node() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut nodes = nodes(folder.path(), "echo $WORD; read -r < <(tail -f /dev/null)");
        let first = nodes.start(0).expect("started");
        let log = folder.path().join("log");
        wait_for(|| fs::read_to_string(&log).is_ok_and(|text| text == "a word\n"));
        nodes.freeze(0).expect("frozen");
        wait_for(|| state(first) == Some('T'));
        nodes.thaw(0).expect("thawed");
        wait_for(|| state(first) == Some('S'));
        assert_eq!(nodes.take_exit_status(0).expect("a child"), None);
        nodes.kill(0).expect("killed");
        assert_eq!(state(first), None, "killed and reaped");
        let second = nodes.start(0).expect("started");
        wait_for(|| fs::read_to_string(&log).is_ok_and(|text| text == "a word\na word\n"));
        drop(nodes);
        assert_eq!(state(second), None, "killed and reaped");
    }

    #[test]
    fn reports_a_node_that_exits_and_kills_one_that_ignores_sigterm() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut nodes = nodes(folder.path(), "trap '' TERM; while :; do read -r -t 9 < <(tail -f /dev/null); done");
        let process = nodes.start(0).expect("started");
        nodes.stop(Duration::from_millis(50)).expect("stopped");
        assert_eq!(state(process), None);
        nodes.spec(0).arguments[1] = "exit 3".to_string();
        nodes.start(0).expect("started");
        let deadline = Instant::now() + Duration::from_secs(20);
        let status = loop {
            if let Some(status) = nodes.take_exit_status(0).expect("a child") {
                break status;
            }
            assert!(Instant::now() < deadline);
        };
        assert_eq!(status.code(), Some(3));
        assert_eq!(nodes.take_exit_status(0).expect("a child"), None, "reported once");
    }

    #[test]
    fn a_write_beyond_the_limit_fails_without_killing_the_node() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("file");
        let go = folder.path().join("go");
        let script =
            format!("while [ ! -e {} ]; do :; done; echo x > {} || echo refused", go.display(), file.display());
        let mut nodes = nodes(folder.path(), &script);
        nodes.start(0).expect("started");
        nodes.limit_file_size(0, Some(0)).expect("limited");
        fs::write(&go, "").expect("written");
        let log = folder.path().join("log");
        wait_for(|| fs::read_to_string(&log).is_ok_and(|text| text.contains("refused")));
        assert_eq!(fs::read_to_string(&file).expect("made"), "");
    }
}
