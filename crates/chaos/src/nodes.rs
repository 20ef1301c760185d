//! The processes of the nodes. They are signalled by their ids only, and none outlives the harness.

use std::fs::OpenOptions;
use std::io;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::{Command, ExitStatus, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hustings_harness::process::Process;
use rustix::process::{Pid, Resource, Rlimit, Signal, prlimit};

/// How one node is started.
#[derive(Clone, Debug)]
pub(crate) struct Spec {
    /// Its name.
    pub(crate) name: String,
    /// The arguments of the program.
    pub(crate) arguments: Vec<String>,
    /// What its environment has besides the harness's own.
    pub(crate) environment: Vec<(String, String)>,
    /// The network namespace it lives in.
    pub(crate) namespace: Option<String>,
    /// Where what it prints is appended.
    pub(crate) log: PathBuf,
}

/// How nodes become processes.
#[derive(Clone, Debug)]
pub(crate) struct Launcher {
    /// The program of the nodes.
    pub(crate) program: PathBuf,
    /// This program, to launch it with. Without it the node is started as it is.
    pub(crate) harness: Option<PathBuf>,
}

/// All nodes. They are killed and reaped when this is dropped.
pub(crate) struct Nodes {
    launcher: Launcher,
    slots: Vec<Slot>,
}

struct Slot {
    spec: Spec,
    process: Option<Process>,
}

impl Nodes {
    /// None of them runs yet.
    pub(crate) fn new(launcher: Launcher, specs: Vec<Spec>) -> Self {
        Nodes { launcher, slots: specs.into_iter().map(|spec| Slot { spec, process: None }).collect() }
    }

    /// How a node is started the next time.
    pub(crate) fn spec(&mut self, node: usize) -> &mut Spec {
        &mut self.slots[node].spec
    }

    /// Starts a node that does not run; its process id.
    pub(crate) fn start(&mut self, node: usize) -> io::Result<Pid> {
        self.kill(node)?;
        let spec = &self.slots[node].spec;
        let mut log = OpenOptions::new().create(true).append(true).open(&spec.log)?;
        let (mut reader, writer) = io::pipe()?;
        let mut command = self.launcher.command(spec);
        command.envs(spec.environment.iter().map(|(name, value)| (name, value)));
        // A group of its own: an interrupt from the keyboard is the harness's business.
        command.process_group(0).stdin(Stdio::null()).stdout(writer.try_clone()?).stderr(writer);
        let process = Process::spawn(&mut command)?;
        drop(command);
        // Through a pipe, so that a limit on the node's files is none on what it says.
        thread::Builder::new().name(format!("log-{}", spec.name)).spawn(move || io::copy(&mut reader, &mut log))?;
        let pid = process.pid();
        self.slots[node].process = Some(process);
        Ok(pid)
    }

    /// Kills a node, if it runs, and waits until it is gone.
    pub(crate) fn kill(&mut self, node: usize) -> io::Result<()> {
        self.slots[node].process.take().map_or(Ok(()), Process::kill)
    }

    /// Freezes a node, if it runs.
    pub(crate) fn freeze(&mut self, node: usize) -> io::Result<()> {
        self.signal(node, Signal::STOP)
    }

    /// Lets it go on.
    pub(crate) fn thaw(&mut self, node: usize) -> io::Result<()> {
        self.signal(node, Signal::CONT)
    }

    /// From now on no file of a node may be longer.
    pub(crate) fn limit(&mut self, node: usize, bytes: Option<u64>) -> io::Result<()> {
        match &self.slots[node].process {
            Some(process) => {
                let limit = Rlimit { current: bytes, maximum: None };
                prlimit(Some(process.pid()), Resource::Fsize, limit)?;
                Ok(())
            }
            None => Ok(()),
        }
    }

    /// With what a node has ended, if it has of itself. It is reaped by that.
    pub(crate) fn ended(&mut self, node: usize) -> io::Result<Option<ExitStatus>> {
        let slot = &mut self.slots[node];
        let Some(process) = &mut slot.process else { return Ok(None) };
        let status = process.try_wait()?;
        if status.is_some() {
            slot.process = None;
        }
        Ok(status)
    }

    /// Asks all to leave, waits for them, and kills those who do not.
    pub(crate) fn stop(&mut self, patience: Duration) -> io::Result<()> {
        for node in 0..self.slots.len() {
            self.signal(node, Signal::TERM)?;
        }
        let deadline = Instant::now() + patience;
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
    fn command(&self, spec: &Spec) -> Command {
        let mut words: Vec<String> = Vec::new();
        if let Some(harness) = &self.harness {
            words.push(harness.display().to_string());
            words.extend(["launch".to_string(), "--parent".to_string(), std::process::id().to_string()]);
            words.extend(spec.namespace.iter().flat_map(|name| ["--namespace".to_string(), name.clone()]));
            words.push("--".to_string());
        }
        // A write beyond a limit must fail, as on a full disk, and not kill the node.
        words.extend(["env", "--ignore-signal=XFSZ"].map(str::to_string));
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
        let spec = Spec {
            name: "n1".to_string(),
            arguments: vec!["-c".to_string(), script.to_string()],
            environment: vec![("WORD".to_string(), "a word".to_string())],
            namespace: None,
            log: folder.join("log"),
        };
        Nodes::new(Launcher { program: "bash".into(), harness: None }, vec![spec])
    }

    fn state(pid: Pid) -> Option<char> {
        let text = fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero())).ok()?;
        text.rsplit_once(") ").and_then(|(_, rest)| rest.chars().next())
    }

    fn wait_for(what: impl Fn() -> bool) {
        let deadline = Instant::now() + Duration::from_secs(20);
        while !what() {
            assert!(Instant::now() < deadline, "it does not happen");
            thread::yield_now();
        }
    }

    #[test]
    fn a_node_is_frozen_thawed_killed_and_started_again() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut nodes = nodes(folder.path(), "echo $WORD; read -r < <(tail -f /dev/null)");
        let first = nodes.start(0).expect("started");
        let log = folder.path().join("log");
        wait_for(|| fs::read_to_string(&log).is_ok_and(|text| text == "a word\n"));
        nodes.freeze(0).expect("frozen");
        wait_for(|| state(first) == Some('T'));
        nodes.thaw(0).expect("thawed");
        wait_for(|| state(first) == Some('S'));
        assert_eq!(nodes.ended(0).expect("asked"), None);
        nodes.kill(0).expect("killed");
        assert_eq!(state(first), None, "killed and reaped");
        let second = nodes.start(0).expect("started");
        wait_for(|| fs::read_to_string(&log).is_ok_and(|text| text == "a word\na word\n"));
        drop(nodes);
        assert_eq!(state(second), None, "killed and reaped");
    }

    #[test]
    fn a_node_that_ends_is_noticed_and_one_that_does_not_leave_is_killed() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let mut nodes = nodes(folder.path(), "trap '' TERM; while :; do read -r -t 9 < <(tail -f /dev/null); done");
        let process = nodes.start(0).expect("started");
        nodes.stop(Duration::from_millis(50)).expect("stopped");
        assert_eq!(state(process), None);
        nodes.spec(0).arguments[1] = "exit 3".to_string();
        nodes.start(0).expect("started");
        let deadline = Instant::now() + Duration::from_secs(20);
        let status = loop {
            if let Some(status) = nodes.ended(0).expect("asked") {
                break status;
            }
            assert!(Instant::now() < deadline);
        };
        assert_eq!(status.code(), Some(3));
        assert_eq!(nodes.ended(0).expect("asked"), None, "told once");
    }

    #[test]
    fn a_limited_node_cannot_write_and_lives() {
        let folder = tempfile::tempdir().expect("a temporary folder");
        let file = folder.path().join("file");
        let go = folder.path().join("go");
        let script =
            format!("while [ ! -e {} ]; do :; done; echo x > {} || echo refused", go.display(), file.display());
        let mut nodes = nodes(folder.path(), &script);
        nodes.start(0).expect("started");
        nodes.limit(0, Some(0)).expect("limited");
        fs::write(&go, "").expect("written");
        let log = folder.path().join("log");
        wait_for(|| fs::read_to_string(&log).is_ok_and(|text| text.contains("refused")));
        assert_eq!(fs::read_to_string(&file).expect("made"), "");
    }
}
