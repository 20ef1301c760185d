//! Runs the recipes of `docs/run.md` as they are printed: every host has its own folder instead of
//! `/etc/hustings`, and the programs in `/usr/local/bin` are small scripts.

mod arithmetic;
mod fencing;
mod floating_address;
mod haproxy;

use crate::common;
use crate::processes::{Cluster, TIMEOUT};

use std::fs::{self, File};
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixDatagram;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::Instant;

use hustings_harness::process::{Process, hustings_command};
use rustix::process::{Pid, Signal, kill_process_group};

const MEMBERS: [&str; 3] = ["a", "b", "c"];

/// The block in this language below a heading of `docs/run.md`.
fn block(heading: &str, language: &str) -> String {
    let page = fs::read_to_string(common::repository().join("docs/run.md")).expect("read the page");
    let section = page.split(&format!("{heading}\n")).nth(1).unwrap_or_else(|| panic!("there is no {heading}"));
    let block = section.split(&format!("```{language}\n")).nth(1).and_then(|rest| rest.split("```\n").next());
    block.unwrap_or_else(|| panic!("{heading} has no block in {language}")).to_string()
}

/// What `/usr/local/bin` holds on every host: the program under test, and scripts.
struct Programs {
    folder: tempfile::TempDir,
}

impl Programs {
    fn new() -> Programs {
        let programs = Programs { folder: tempfile::tempdir().expect("create a folder for programs") };
        let installed = programs.path("hustings");
        std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_hustings"), installed).expect("install the program");
        programs
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    /// A script. `@` in it is the folder of the programs.
    fn write(&self, name: &str, script: &str) {
        let text = format!("#!/bin/sh\n{}\n", script.replace('@', &self.folder.path().display().to_string()));
        fs::write(self.path(name), text).expect("write a script");
        fs::set_permissions(self.path(name), fs::Permissions::from_mode(0o755)).expect("make it executable");
    }

    fn lines(&self, name: &str) -> Vec<String> {
        let text = fs::read_to_string(self.path(name)).unwrap_or_default();
        text.lines().map(str::to_string).collect()
    }

    /// A recipe's text for the host with this folder.
    fn adapt(&self, text: &str, folder: &Path) -> String {
        assert!(text.contains("/etc/hustings/") && text.contains("/usr/local/bin/"), "{text}");
        let text = text.replace("/etc/hustings", &folder.display().to_string());
        text.replace("/usr/local/bin", &self.folder.path().display().to_string())
    }

    /// A shell that runs a script and finds the programs first.
    fn shell(&self, script: &str) -> Command {
        let mut shell = hustings_command("/bin/sh");
        let path = std::env::var("PATH").unwrap_or_default();
        shell.arg("-c").arg(script).env("PATH", format!("{}:{path}", self.folder.path().display()));
        shell
    }
}

/// A process and its process group, which are killed in the end.
struct Group(Process);

impl Group {
    fn start(command: &mut Command, log: &Path) -> Group {
        let log = File::options().create(true).append(true).open(log).expect("open a log");
        command.process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(log);
        Group(Process::spawn(command).expect("start a process"))
    }

    fn pid(&self) -> Pid {
        self.0.pid()
    }

    /// Waits for its end.
    fn exit_code(&mut self) -> Option<i32> {
        self.0.wait_timeout(TIMEOUT).expect("it is a child").expect("it ends in time").code()
    }
}

impl Drop for Group {
    fn drop(&mut self) {
        // It may have ended.
        let _ = kill_process_group(self.pid(), Signal::KILL);
    }
}

/// Waits until a condition holds.
fn wait_until<T>(what: &str, mut answer: impl FnMut() -> Option<T>) -> T {
    let since = Instant::now();
    loop {
        if let Some(answer) = answer() {
            return answer;
        }
        assert!(since.elapsed() < TIMEOUT, "{what}: not in {TIMEOUT:?}");
        std::thread::yield_now();
    }
}

/// Whether a program is installed. `.ci/run` requires it; elsewhere a line says that the test was skipped.
fn has_tool(program: &str, version: &str, package: &str) -> bool {
    let found = Command::new(program).arg(version).output().is_ok_and(|output| output.status.success());
    if !found {
        common::skip(&format!("needs {program} (Debian: apt-get install {package})"));
    }
    found
}

fn start_cluster() -> Cluster {
    let mut cluster = Cluster::new(&MEMBERS, &[]);
    cluster.start(&MEMBERS);
    cluster
}

#[test]
fn a_cron_job_runs_once_a_day_on_one_host() {
    let (cluster, programs) = (start_cluster(), Programs::new());
    programs.write("date", "[ \"$*\" = +%F ] && cat @/today");
    // The schedule has five fields, and a user follows. Cron replaces `\%`.
    let entry = block("### A cron job on one host", "crontab").trim().replace("\\%", "%");
    let command = entry.splitn(7, ' ').nth(6).expect("a schedule, a user and a command");
    let run_day = |day: &str, backup: &str| {
        fs::write(programs.path("today"), day).expect("write the date");
        programs.write("backup", backup);
        let start = |name: &&str| {
            let folder = cluster.folder().join(name);
            Group::start(&mut programs.shell(&programs.adapt(command, &folder)), &folder.join("cron.log"))
        };
        let mut jobs: Vec<Group> = MEMBERS.iter().map(start).collect();
        let mut codes: Vec<Option<i32>> = jobs.iter_mut().map(Group::exit_code).collect();
        codes.sort();
        (codes, programs.lines("backups"))
    };
    let succeed = "echo \"$HUSTINGS_OFFICE\" >> @/backups";
    assert_eq!(run_day("2026-11-18", succeed), (vec![Some(0); 3], vec!["backup".to_string()]));
    // A host that comes late finds the day completed.
    assert_eq!(run_day("2026-11-18", succeed), (vec![Some(0); 3], vec!["backup".to_string()]));
    // On the next day the first host fails.
    let fail_first = format!("mkdir @/failed && exit 7\n{succeed}");
    let (codes, backups) = run_day("2026-11-19", &fail_first);
    assert_eq!((codes, backups.len()), (vec![Some(0), Some(0), Some(7)], 2));
}

#[test]
fn a_worker_moves_away_from_a_replica_that_does_not_answer() {
    let (cluster, programs) = (start_cluster(), Programs::new());
    programs
        .write("replica", "case $1 in serve) : > \"$STATE\"; exec sleep infinity;; ping) test -e \"$STATE\";; esac");
    // The lock ends with the last process that has it open.
    let work = "flock -n 9 && echo $HUSTINGS_NODE >> @/workers || echo overlap >> @/workers";
    programs.write("compact", &format!("exec 9> @/lock\n{work}\nexec sleep infinity"));
    let script = block("### A worker on the leader only, beside replicas", "sh");
    let state = |name: &str| cluster.folder().join(name).join("replica-is-up");
    let start = |name: &&str| {
        let folder = cluster.folder().join(name);
        let mut shell = programs.shell(&programs.adapt(&script, &folder));
        Group::start(shell.env("STATE", state(name)), &folder.join("worker.log"))
    };
    let _hosts: Vec<Group> = MEMBERS.iter().map(start).collect();
    wait_until("all replicas serve", || MEMBERS.iter().all(|name| state(name).exists()).then_some(()));
    let first = wait_until("a worker runs", || programs.lines("workers").last().cloned());
    fs::remove_file(state(&first)).expect("the replica was up");
    wait_until("another worker runs", || programs.lines("workers").last().filter(|last| **last != first).cloned());
    let workers = programs.lines("workers");
    let logs =
        MEMBERS.map(|name| fs::read_to_string(cluster.folder().join(name).join("worker.log")).unwrap_or_default());
    assert!(!workers.contains(&"overlap".to_string()), "{workers:?}\n{}", logs.join("---\n"));
}

/// The value of a key of a unit file, with its continued lines joined.
fn unit_value(unit: &str, key: &str) -> String {
    let unit = unit.replace("\\\n", " ");
    let line = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    line.unwrap_or_else(|| panic!("the unit has no {key}")).to_string()
}

#[test]
fn the_printed_units_are_those_of_the_examples() {
    let units = [("A singleton service under systemd", "billing"), ("A floating IP address", "address")];
    for (heading, name) in units {
        let file = common::repository().join(format!("examples/systemd/{name}.service"));
        let text = fs::read_to_string(file).expect("read the unit");
        assert_eq!(block(&format!("### {heading}"), "ini"), text, "{name}");
    }
}

#[test]
fn systemd_accepts_the_units() {
    let (programs, folder) = (Programs::new(), tempfile::tempdir().expect("create a folder for units"));
    programs.write("billing", "sleep infinity");
    let mut verify = Command::new("systemd-analyze");
    verify.args(["verify", "--man=no"]);
    for (place, name) in [("packaging", "hustings"), ("examples/systemd", "billing"), ("examples/systemd", "address")] {
        let source = common::repository().join(format!("{place}/{name}.service"));
        // The package installs the program elsewhere than `cargo install` does.
        let text =
            fs::read_to_string(source).expect("read the unit").replace("/usr/bin/hustings", "/usr/local/bin/hustings");
        let unit = folder.path().join(format!("{name}.service"));
        fs::write(&unit, programs.adapt(&text, folder.path())).expect("write the unit");
        verify.arg(unit);
    }
    let drop_ins = folder.path().join("hustings.service.d");
    fs::create_dir(&drop_ins).expect("create the folder");
    let realtime = common::repository().join("contrib/systemd/realtime.conf");
    fs::copy(realtime, drop_ins.join("realtime.conf")).expect("copy the drop-in");
    let output = match verify.output() {
        Ok(output) => output,
        Err(error) => return common::skip(&format!("systemd_accepts_the_units: no systemd-analyze: {error}")),
    };
    let complaints = String::from_utf8_lossy(&output.stderr);
    // An unknown key is only a warning.
    let is_about_us = complaints.contains(&folder.path().display().to_string());
    assert!(output.status.success() && !is_about_us, "{complaints}");
}

/// Receives notifications until one contains this text. Returns all of them.
fn notified(socket: &UnixDatagram, text: &str) -> String {
    let mut all = String::new();
    let mut buffer = [0; 4096];
    while !all.contains(text) {
        let length = socket.recv(&mut buffer).unwrap_or_else(|error| panic!("no {text} but {all:?}: {error}"));
        all += &format!("{}\n", String::from_utf8_lossy(&buffer[..length]));
    }
    all
}

#[test]
fn a_service_is_ready_also_while_it_stands_by() {
    let (cluster, programs) = (start_cluster(), Programs::new());
    programs.write("billing", "[ \"$*\" = '--port 80' ] && exec sleep infinity");
    let unit = block("### A singleton service under systemd", "ini");
    assert_eq!(unit_value(&unit, "Type"), "notify");
    let start = |name: &str| {
        let folder = cluster.folder().join(name);
        let socket = UnixDatagram::bind(folder.join("notify")).expect("bind a socket");
        socket.set_read_timeout(Some(TIMEOUT)).expect("set a timeout");
        let command = programs.adapt(&unit_value(&unit, "ExecStart"), &folder);
        let mut shell = programs.shell(&format!("exec {command}"));
        shell.env("NOTIFY_SOCKET", folder.join("notify")).env("WATCHDOG_USEC", "100000");
        (Group::start(&mut shell, &folder.join("service.log")), socket)
    };
    let (_active, socket) = start("a");
    assert!(notified(&socket, "STATUS=billing: running").contains("READY=1"));
    notified(&socket, "WATCHDOG=1");
    let (mut standby, socket) = start("b");
    let told = notified(&socket, "READY=1");
    assert!(told.contains("STATUS=billing: waiting") && !told.contains("running"), "{told}");
    notified(&socket, "WATCHDOG=1");
    // `systemctl stop` of a standby is a success.
    standby.0.signal(Signal::TERM).expect("it runs");
    notified(&socket, "STOPPING=1");
    assert_eq!(standby.exit_code(), unit_value(&unit, "SuccessExitStatus").parse().ok());
}
