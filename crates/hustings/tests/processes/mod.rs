//! Nodes as real processes, which end with the test.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hustings_harness::process::{Process, hustings_command};
use rustix::process::Signal;

use super::common::Ran;
use super::loopback::free_ports;

/// Everything that should happen has happened by then, on a machine that does other work too.
pub(crate) const LONG: Duration = Duration::from_secs(30);

/// A cluster on this host.
pub(crate) struct Cluster {
    folder: tempfile::TempDir,
    running: BTreeMap<String, Process>,
}

fn hustings() -> Command {
    hustings_command(env!("CARGO_BIN_EXE_hustings"))
}

fn finished(command: &mut Command) -> Ran {
    let ran = command.output().expect("the binary can be started");
    Ran {
        code: ran.status.code().expect("it ends by itself"),
        out: String::from_utf8(ran.stdout).expect("output is UTF-8"),
        err: String::from_utf8(ran.stderr).expect("errors are UTF-8"),
    }
}

impl Cluster {
    /// Founds a cluster of these members, `name` or `name,priority=3`, with more options for `init`.
    pub(crate) fn found(members: &[&str], options: &[&str]) -> Cluster {
        let folder = tempfile::tempdir().expect("a folder for the cluster");
        let ports = free_ports(members.len());
        let mut init = hustings();
        init.arg("init").arg(folder.path().join("c")).args(["--cluster", "test"]).args(options);
        for (member, port) in members.iter().zip(ports) {
            let (name, rest) = member.split_at(member.find(',').unwrap_or(member.len()));
            init.arg("--node").arg(format!("{name}=127.0.0.1:{port}{rest}"));
        }
        let ran = finished(&mut init);
        assert_eq!(ran.code, 0, "{}", ran.err);
        Cluster { folder, running: BTreeMap::new() }
    }

    /// The folder of the authority.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("c")
    }

    pub(crate) fn config(&self, name: &str) -> PathBuf {
        self.folder().join(name).join("hustings.toml")
    }

    /// Replaces something in the configurations of these members.
    pub(crate) fn edit(&self, names: &[&str], from: &str, to: &str) {
        for name in names {
            let path = self.config(name);
            let text = fs::read_to_string(&path).expect("it was written");
            assert!(text.contains(from), "{from} is not in {}", path.display());
            fs::write(&path, text.replace(from, to)).expect("it can be written");
        }
    }

    /// Starts these, and waits until they answer.
    pub(crate) fn start(&mut self, names: &[&str]) {
        for name in names {
            let log = fs::File::create(self.folder.path().join(format!("{name}.log"))).expect("the folder is ours");
            let mut node = hustings();
            node.arg("node").arg("--config").arg(self.config(name)).stdout(Stdio::null()).stderr(log);
            let process = Process::spawn(&mut node).expect("the binary can be started");
            assert!(self.running.insert((*name).to_string(), process).is_none(), "{name} runs already");
        }
        for name in names {
            self.until(&format!("{name} answers"), || (self.ask(name, &["status"]).code == 0).then_some(()));
        }
    }

    /// SIGKILL.
    pub(crate) fn kill(&mut self, name: &str) {
        drop(self.running.remove(name).expect("it runs"));
    }

    /// SIGTERM; returns its exit code.
    pub(crate) fn terminate(&mut self, name: &str) -> Option<i32> {
        let process = self.running.remove(name).expect("it runs");
        process.signal(Signal::TERM).expect("it is our child");
        self.exit_code(name, process)
    }

    /// Waits for a process that ends by itself; returns its exit code.
    pub(crate) fn ended(&mut self, name: &str) -> Option<i32> {
        let process = self.running.remove(name).expect("it runs");
        self.exit_code(name, process)
    }

    fn exit_code(&self, name: &str, mut process: Process) -> Option<i32> {
        let status = process.wait_timeout(LONG).expect("it is our child");
        status.unwrap_or_else(|| panic!("{name} did not exit in {LONG:?}\n{}", self.logs())).code()
    }

    /// Asks one of them.
    pub(crate) fn ask(&self, name: &str, args: &[&str]) -> Ran {
        finished(hustings().args(args).arg("--config").arg(self.config(name)))
    }

    /// What one of them says to `leader`, if it knows.
    pub(crate) fn leader(&self, name: &str) -> Option<String> {
        let ran = self.ask(name, &["leader"]);
        (ran.code == 0).then(|| ran.out.trim().to_string())
    }

    /// Waits until all of these name the same leader, and it is the right one.
    pub(crate) fn agreed(&self, names: &[&str], is_right: impl Fn(&str) -> bool) -> String {
        self.until(&format!("{names:?} agree"), || {
            let first = self.leader(names[0])?;
            let same = names[1..].iter().all(|name| self.leader(name).as_ref() == Some(&first));
            (same && is_right(&first)).then_some(first)
        })
    }

    /// Asks again and again until there is an answer. Every question takes a process, so this does not spin.
    pub(crate) fn until<T>(&self, what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
        let since = Instant::now();
        loop {
            if let Some(answer) = answer() {
                return answer;
            }
            assert!(since.elapsed() < LONG, "{what}: not in {LONG:?}\n{}", self.logs());
            std::thread::yield_now();
        }
    }

    /// `hustings watch`, line by line.
    pub(crate) fn watch(&self, name: &str, args: &[&str]) -> Watch {
        let mut command = hustings();
        command.arg("watch").args(args).arg("--config").arg(self.config(name)).stdout(Stdio::piped());
        let mut process = Process::spawn(&mut command).expect("the binary can be started");
        let lines = BufReader::new(process.take_stdout().expect("it is piped")).lines();
        let (tell, told) = channel();
        // It ends with the process.
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| tell.send(line)));
        Watch { lines: told, _process: process }
    }

    fn logs(&self) -> String {
        let mut logs = String::new();
        for entry in fs::read_dir(self.folder.path()).expect("the folder is ours").flatten() {
            if entry.path().extension().is_some_and(|extension| extension == "log") {
                let text = fs::read_to_string(entry.path()).unwrap_or_default();
                logs += &format!("--- {}\n{text}", entry.file_name().to_string_lossy());
            }
        }
        logs
    }
}

/// A running `hustings watch`.
pub(crate) struct Watch {
    lines: Receiver<String>,
    _process: Process,
}

impl Watch {
    /// The next line with this in it.
    pub(crate) fn see(&self, part: &str) -> String {
        let since = Instant::now();
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(LONG.saturating_sub(since.elapsed())) {
                Ok(line) if line.contains(part) => return line,
                Ok(line) => seen.push(line),
                Err(error) => panic!("no line with {part:?}: {error}; {seen:#?}"),
            }
        }
    }

    /// All lines that come within this time.
    pub(crate) fn during(&self, time: Duration) -> Vec<String> {
        let since = Instant::now();
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(time.saturating_sub(since.elapsed())) {
                Ok(line) => seen.push(line),
                Err(RecvTimeoutError::Timeout) => return seen,
                Err(RecvTimeoutError::Disconnected) => panic!("the watch has ended: {seen:#?}"),
            }
        }
    }
}
