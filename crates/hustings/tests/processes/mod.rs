//! Nodes as real processes, which end with their test.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant};

use hustings_harness::process::{Process, hustings_command};
use rustix::process::{Pid, Signal};

use super::common::Ran;
use super::loopback::free_ports;

/// How long anything may take, even on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(30);

/// A cluster on this host.
pub(crate) struct Cluster {
    folder: tempfile::TempDir,
    running: BTreeMap<String, Process>,
    /// The user that nodes run as, if it is not the user of the tests.
    user: Option<u32>,
    /// What nodes are started with: a program and its first arguments.
    launcher: Vec<String>,
    /// The program that nodes are.
    program: PathBuf,
}

/// The binary, without the `HUSTINGS_*` variables of the environment.
pub(crate) fn hustings() -> Command {
    hustings_command(env!("CARGO_BIN_EXE_hustings"))
}

fn finished(command: &mut Command) -> Ran {
    ran(command.output().expect("start the binary"))
}

fn ran(output: std::process::Output) -> Ran {
    Ran {
        code: output.status.code().expect("the command ends by itself"),
        out: String::from_utf8(output.stdout).expect("output is UTF-8"),
        err: String::from_utf8(output.stderr).expect("errors are UTF-8"),
    }
}

impl Cluster {
    /// Creates a cluster of these members (`name` or `name,priority=3`), with further options for `init`.
    pub(crate) fn new(members: &[&str], options: &[&str]) -> Cluster {
        Cluster::made_by(Path::new(env!("CARGO_BIN_EXE_hustings")), members, options)
    }

    /// The same, with another version of the program.
    pub(crate) fn made_by(program: &Path, members: &[&str], options: &[&str]) -> Cluster {
        let folder = tempfile::tempdir().expect("a folder for the cluster");
        let ports = free_ports(members.len());
        let mut init = hustings_command(program);
        init.arg("init").arg(folder.path().join("c")).args(["--cluster", "test"]).args(options);
        for (member, port) in members.iter().zip(ports) {
            let (name, rest) = member.split_at(member.find(',').unwrap_or(member.len()));
            init.arg("--node").arg(format!("{name}=127.0.0.1:{port}{rest}"));
        }
        let ran = finished(&mut init);
        assert_eq!(ran.code, 0, "{}", ran.err);
        let (running, program) = (BTreeMap::new(), program.to_path_buf());
        Cluster { folder, running, user: None, launcher: Vec::new(), program }
    }

    /// The folder of everything.
    pub(crate) fn root(&self) -> PathBuf {
        self.folder.path().to_path_buf()
    }

    /// From now on, nodes are started as this user.
    pub(crate) fn run_nodes_as(&mut self, user: u32) {
        self.user = Some(user);
    }

    /// From now on, nodes are started by a program with these arguments, which becomes the node or waits for it.
    pub(crate) fn run_nodes_with(&mut self, launcher: &[&str]) {
        self.launcher = launcher.iter().map(|word| word.to_string()).collect();
    }

    /// From now on, nodes are started with this program.
    pub(crate) fn use_program(&mut self, program: &Path) {
        self.program = program.to_path_buf();
    }

    /// The process of a member.
    pub(crate) fn pid(&self, name: &str) -> Pid {
        self.running[name].pid()
    }

    /// The folder of the authority.
    pub(crate) fn folder(&self) -> PathBuf {
        self.folder.path().join("c")
    }

    pub(crate) fn config(&self, name: &str) -> PathBuf {
        self.folder().join(name).join("hustings.toml")
    }

    /// Replaces a text in the configurations of these members.
    pub(crate) fn edit(&self, names: &[&str], from: &str, to: &str) {
        for name in names {
            let path = self.config(name);
            let text = fs::read_to_string(&path).expect("it was written");
            assert!(text.contains(from), "{from} is not in {}", path.display());
            fs::write(&path, text.replace(from, to)).expect("it can be written");
        }
    }

    /// Lets no office of these members move because the machine is busy: what is left are ended connections, and what
    /// the members decide.
    pub(crate) fn be_patient(&self, names: &[&str]) {
        self.edit(names, "lease = \"300ms\"", "lease = \"5s\"");
        self.edit(names, "silence-floor = \"150ms\"", "silence-floor = \"3s\"");
        self.edit(names, "silence-ceiling = \"1s\"", "silence-ceiling = \"5s\"");
    }

    /// Starts these members, and waits until they answer.
    pub(crate) fn start(&mut self, names: &[&str]) {
        self.spawn_nodes(names);
        for name in names {
            self.wait_until(&format!("{name} answers"), || (self.run(name, &["status"]).code == 0).then_some(()));
        }
    }

    /// Starts a member that must refuse to run. Returns its log.
    pub(crate) fn start_and_wait_for_exit(&mut self, name: &str) -> String {
        self.spawn_nodes(&[name]);
        assert_ne!(self.wait_for_exit(name), Some(0), "{}", self.log(name));
        self.log(name)
    }

    fn spawn_nodes(&mut self, names: &[&str]) {
        for name in names {
            let log = fs::File::create(self.folder.path().join(format!("{name}.log"))).expect("the folder is ours");
            let mut node = match self.launcher.split_first() {
                None => hustings_command(&self.program),
                Some((program, arguments)) => {
                    let mut node = hustings_command(program);
                    node.args(arguments).arg(&self.program);
                    node
                }
            };
            node.arg("node").arg("--config").arg(self.config(name)).stdout(Stdio::null()).stderr(log);
            if let Some(user) = self.user {
                node.uid(user).gid(user);
            }
            let process = Process::spawn(&mut node).expect("the binary can be started");
            assert!(self.running.insert((*name).to_string(), process).is_none(), "{name} runs already");
        }
    }

    /// Sends SIGKILL.
    pub(crate) fn kill(&mut self, name: &str) {
        drop(self.running.remove(name).expect("it runs"));
    }

    /// Sends SIGTERM, and returns the exit code.
    pub(crate) fn terminate(&mut self, name: &str) -> Option<i32> {
        let process = self.running.remove(name).expect("it runs");
        process.signal(Signal::TERM).expect("it is our child");
        self.exit_code(name, process)
    }

    /// Sends a signal.
    pub(crate) fn signal(&self, name: &str, signal: Signal) {
        self.running[name].signal(signal).expect("it is our child");
    }

    /// What a member has logged since it was last started.
    pub(crate) fn log(&self, name: &str) -> String {
        fs::read_to_string(self.folder.path().join(format!("{name}.log"))).unwrap_or_default()
    }

    /// Waits for a process that ends by itself, and returns its exit code.
    pub(crate) fn wait_for_exit(&mut self, name: &str) -> Option<i32> {
        let process = self.running.remove(name).expect("it runs");
        self.exit_code(name, process)
    }

    fn exit_code(&self, name: &str, mut process: Process) -> Option<i32> {
        let status = process.wait_timeout(TIMEOUT).expect("it is our child");
        status.unwrap_or_else(|| panic!("{name} did not exit in {TIMEOUT:?}\n{}", self.logs())).code()
    }

    /// Runs a command against one member.
    pub(crate) fn run(&self, name: &str, args: &[&str]) -> Ran {
        finished(hustings().args(args).arg("--config").arg(self.config(name)))
    }

    /// Starts a command against one member, and does not wait for it.
    #[allow(dead_code, reason = "each test file uses what it needs")]
    pub(crate) fn spawn(&self, name: &str, args: &[&str]) -> Running {
        let mut command = hustings();
        command.args(args).arg("--config").arg(self.config(name));
        let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().expect("start the binary");
        Running(child)
    }

    /// The leader, according to one member.
    pub(crate) fn leader(&self, name: &str) -> Option<String> {
        let ran = self.run(name, &["leader"]);
        (ran.code == 0).then(|| ran.out.trim().to_string())
    }

    /// Waits until all of these members name the same leader, and it satisfies the condition.
    pub(crate) fn wait_for_agreement(&self, names: &[&str], is_right: impl Fn(&str) -> bool) -> String {
        self.wait_until(&format!("{names:?} agree"), || {
            let first = self.leader(names[0])?;
            let same = names[1..].iter().all(|name| self.leader(name).as_ref() == Some(&first));
            (same && is_right(&first)).then_some(first)
        })
    }

    /// Repeats a query until it has an answer. Every query starts a process, so this does not spin.
    pub(crate) fn wait_until<T>(&self, what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
        let since = Instant::now();
        loop {
            if let Some(answer) = answer() {
                return answer;
            }
            assert!(since.elapsed() < TIMEOUT, "{what}: not in {TIMEOUT:?}\n{}", self.logs());
            std::thread::yield_now();
        }
    }

    /// `hustings watch`, line by line.
    pub(crate) fn watch(&self, name: &str, args: &[&str]) -> Watch {
        let mut command = hustings();
        command.arg("watch").args(args).arg("--config").arg(self.config(name)).stdout(Stdio::piped());
        let mut process = Process::spawn(&mut command).expect("the binary can be started");
        let lines = BufReader::new(process.take_stdout().expect("it is piped")).lines();
        let (sender, lines_read) = channel();
        // The thread ends with the process.
        std::thread::spawn(move || lines.map_while(Result::ok).try_for_each(|line| sender.send(line)));
        Watch { lines: lines_read, _process: process }
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

/// A running command, which must end by itself.
pub(crate) struct Running(Child);

impl Running {
    /// Waits for its end.
    pub(crate) fn wait(self) -> Ran {
        ran(self.0.wait_with_output().expect("wait for the command"))
    }
}

/// A running `hustings watch`.
pub(crate) struct Watch {
    lines: Receiver<String>,
    _process: Process,
}

impl Watch {
    /// Waits for a line that contains this text.
    pub(crate) fn wait_for_line(&self, part: &str) -> String {
        let since = Instant::now();
        let mut seen = Vec::new();
        loop {
            match self.lines.recv_timeout(TIMEOUT.saturating_sub(since.elapsed())) {
                Ok(line) if line.contains(part) => return line,
                Ok(line) => seen.push(line),
                Err(error) => panic!("no line with {part:?}: {error}; {seen:#?}"),
            }
        }
    }

    /// All lines within this time.
    pub(crate) fn collect_for(&self, time: Duration) -> Vec<String> {
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
