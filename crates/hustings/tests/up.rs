//! `hustings up`: real processes, a story, and nothing left behind.

use crate::processes::{TIMEOUT, hustings};

use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{ChildStdin, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Instant;

use hustings_harness::process::Process;
use rustix::process::Signal;
use serde_json::Value;

/// A running `hustings up`, whose temporary folder is in a folder of the test's.
pub(crate) struct Up {
    process: Process,
    input: Option<ChildStdin>,
    lines: Receiver<Value>,
    seen: Vec<Value>,
    parent: tempfile::TempDir,
}

impl Up {
    pub(crate) fn start(args: &[&str]) -> Up {
        Up::start_in(tempfile::tempdir().expect("a folder"), args)
    }

    fn start_in(parent: tempfile::TempDir, args: &[&str]) -> Up {
        let mut command = hustings();
        command.arg("up").args(["--format", "json"]).args(args).env("TMPDIR", parent.path());
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::inherit());
        let mut process = Process::spawn(&mut command).expect("the binary can be started");
        let output = BufReader::new(process.take_stdout().expect("it is piped"));
        let (sender, lines) = channel();
        // The thread ends with the process.
        std::thread::spawn(move || {
            let lines = output.lines().map_while(Result::ok);
            lines.map(|line| serde_json::from_str(&line).expect("JSON")).try_for_each(|line| sender.send(line))
        });
        Up { input: process.take_stdin(), process, lines, seen: Vec::new(), parent }
    }

    /// Waits for an event.
    pub(crate) fn wait_for(&mut self, event: &str) -> Value {
        self.wait_until(event, |line| line["event"] == event)
    }

    /// Waits for the successor of a leader that was lost on purpose. On a busy machine the office also moves by itself.
    fn wait_for_failover(&mut self) -> Value {
        self.wait_until("failover", |line| line["failover"].is_object())
    }

    pub(crate) fn wait_until(&mut self, what: &str, is_it: impl Fn(&Value) -> bool) -> Value {
        let since = Instant::now();
        loop {
            let left = TIMEOUT.saturating_sub(since.elapsed());
            let line = self.lines.recv_timeout(left);
            let line = line.unwrap_or_else(|error| panic!("no {what}: {error}; {:#?}", self.seen));
            self.seen.push(line.clone());
            if is_it(&line) {
                return line;
            }
        }
    }

    pub(crate) fn say(&mut self, line: &str) {
        writeln!(self.input.as_mut().expect("open"), "{line}").expect("it reads");
    }

    /// Waits for the end; the exit code.
    pub(crate) fn end(&mut self) -> Option<i32> {
        // A script gives up after as long as that by itself.
        let status = self.process.wait_timeout(2 * TIMEOUT).expect("our child");
        self.seen.extend(self.lines.iter());
        status.unwrap_or_else(|| panic!("it does not end: {:#?}", self.seen)).code()
    }

    fn events(&self, name: &str) -> Vec<&Value> {
        self.seen.iter().filter(|event| event["event"] == name).collect()
    }

    /// The process ids of all nodes that were ever started.
    fn pids(&self) -> Vec<u64> {
        let started = self.events("started").into_iter().flat_map(|event| event["members"].as_array().expect("a list"));
        let revived = self.events("acted").into_iter().map(|event| &event["pid"]);
        started.map(|member| &member[1]).chain(revived).filter_map(Value::as_u64).collect()
    }

    fn folder(&self) -> PathBuf {
        PathBuf::from(self.events("folder")[0]["folder"].as_str().expect("a path"))
    }

    /// The addresses at which the members reach each other.
    fn addresses(&self) -> Vec<String> {
        let config = fs::read_to_string(self.folder().join("cluster/a/hustings.toml")).expect("written");
        let lines = config.lines().filter_map(|line| line.strip_prefix("address = "));
        lines.map(|address| address.trim_matches('"').to_string()).collect()
    }
}

fn is_running(pid: u64) -> bool {
    Path::new("/proc").join(pid.to_string()).exists()
}

/// Waits until processes are gone that are not children of the test.
fn wait_until_gone(pids: &[u64]) {
    let since = Instant::now();
    while let Some(pid) = pids.iter().find(|pid| is_running(**pid)) {
        assert!(since.elapsed() < TIMEOUT, "process {pid} outlives `hustings up`");
        std::thread::yield_now();
    }
}

#[test]
fn a_scripted_failover_is_told_and_leaves_nothing_behind() {
    let mut up = Up::start(&["--script", "kill-leader", "--exit"]);
    assert_eq!(up.end(), Some(0), "{:#?}", up.seen);
    assert_eq!(up.events("started")[0]["members"].as_array().map(Vec::len), Some(5));
    let leads = up.events("leads");
    let next = leads.iter().position(|event| event["failover"].is_object()).expect("a failover");
    let [first, second] = [leads[next - 1], leads[next]];
    assert!(second["token"].as_u64() > first["token"].as_u64(), "{leads:#?}");
    assert_eq!(second["failover"]["lost"], first["member"]);
    assert_ne!(first["member"], second["member"]);
    assert_eq!(second["failover"]["by"], "kill");
    assert!(second["failover"]["took_ms"].as_f64().is_some_and(|took| took > 0.0), "{second}");
    let kill = up.events("acted")[0];
    assert_eq!((&kill["action"], &kill["led"]), (&"kill".into(), &true.into()));
    assert_eq!(kill["member"], second["failover"]["lost"]);
    assert!(up.pids().len() >= 5);
    wait_until_gone(&up.pids());
    assert_eq!(fs::read_dir(up.parent.path()).expect("there").count(), 0, "the folder is removed");
}

#[test]
fn ctrl_c_stops_everything() {
    let mut up = Up::start(&["--nodes", "3"]);
    up.wait_for("agreed");
    let (folder, addresses, pids) = (up.folder(), up.addresses(), up.pids());
    assert_eq!((addresses.len(), pids.len()), (3, 3));
    assert!(pids.iter().all(|pid| is_running(*pid)));
    assert!(TcpListener::bind(&addresses[0]).is_err(), "somebody listens");
    up.process.signal(Signal::INT).expect("it runs");
    assert_eq!(up.end(), Some(0));
    // They are children of `up`, which has reaped them.
    assert!(pids.iter().all(|pid| !is_running(*pid)), "{pids:?}");
    assert!(!folder.exists(), "{}", folder.display());
    for address in &addresses {
        TcpListener::bind(address).unwrap_or_else(|error| panic!("{address} is still in use: {error}"));
    }
}

#[test]
fn nodes_do_not_outlive_a_killed_up_and_the_next_one_removes_its_folder() {
    let mut up = Up::start(&["--nodes", "3"]);
    up.wait_for("agreed");
    let (folder, pids) = (up.folder(), up.pids());
    up.process.signal(Signal::KILL).expect("it runs");
    assert_eq!(up.end(), None);
    wait_until_gone(&pids);
    assert!(folder.exists(), "nobody could remove it");
    let Up { parent, .. } = up;
    let mut next = Up::start_in(parent, &["--nodes", "1"]);
    next.wait_for("agreed");
    assert!(!folder.exists(), "{}", folder.display());
    next.say("quit");
    assert_eq!(next.end(), Some(0));
}

#[test]
fn members_are_cut_off_frozen_and_revived_by_command() {
    let mut up = Up::start(&["--nodes", "3"]);
    up.wait_for("agreed");
    up.say("cut leader");
    let next = up.wait_for_failover();
    assert_eq!(next["failover"]["by"], "cut");
    up.wait_for("agreed");
    up.say("burn a");
    up.say("revive");
    let agreed = |line: &Value| line["members"].as_array().is_some_and(|members| members.len() == 3);
    up.wait_until("agreement of all", |line| line["event"] == "agreed" && agreed(line));
    up.say("freeze leader");
    let last = up.wait_for_failover();
    assert!(last["token"].as_u64() > next["token"].as_u64());
    assert_eq!(last["failover"]["by"], "freeze");
    up.say("quit");
    assert_eq!(up.end(), Some(0));
    wait_until_gone(&up.pids());
}

#[test]
fn a_folder_of_the_users_own_is_kept() {
    let parent = tempfile::tempdir().expect("a folder");
    let folder = parent.path().join("mine");
    let args = ["--nodes", "1", "--dir", folder.to_str().expect("UTF-8")];
    let mut up = Up::start(&args);
    up.wait_for("agreed");
    up.say("quit");
    assert_eq!(up.end(), Some(0));
    wait_until_gone(&up.pids());
    assert!(folder.join("cluster/a/hustings.toml").exists() && folder.join("cluster/a.log").exists());
    let mut again = Up::start(&args);
    assert_eq!(again.end(), Some(3), "it is not empty");
}
