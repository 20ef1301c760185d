//! Runs the first command of the README, and the cluster blocks of the README and of `docs/operations.md` as scripts.

use crate::common;
use crate::loopback;

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::mpsc::channel;
use std::time::Duration;

use hustings_harness::process::{Process, hustings_command};
use rustix::process::{Pid, Signal, kill_process};

/// How long the script may take, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(90);
/// How long `hustings up` may say nothing before it is started again.
const LINE_TIMEOUT: Duration = Duration::from_secs(10);
/// A member that starts late misses the first election, so the script may have to run again on a busy machine.
const ATTEMPTS: usize = 3;
/// The package that the block installs.
const PACKAGE: &str = "crates/hustings";

/// The commands and the expected output of the `console` block below a heading.
fn console_block(page: &str, heading: &str) -> (String, Vec<String>) {
    let section = page.split(heading).nth(1).expect("the page has the heading");
    let block = section.split("```console\n").nth(1).and_then(|rest| rest.split("```").next());
    let (commands, output): (Vec<&str>, Vec<&str>) =
        block.expect("the section has a console block").lines().partition(|line| line.starts_with("$ "));
    (commands.iter().map(|line| format!("{}\n", &line[2..])).collect(), output.into_iter().map(pattern).collect())
}

/// A line without what differs from run to run: token, time and spacing.
pub(crate) fn pattern(line: &str) -> String {
    let word = |word: &str| match word.trim_end_matches([';', ',', ')']) {
        number if number.parse::<u64>().is_ok() => "NUMBER".to_string(),
        time if time.starts_with("20") && time.ends_with('Z') => "TIME".to_string(),
        _ => word.to_string(),
    };
    line.split_whitespace().map(word).collect::<Vec<_>>().join(" ")
}

/// A temporary folder in which the script runs. Dropping it kills every process that runs there.
struct Workspace {
    folder: tempfile::TempDir,
}

impl Workspace {
    fn new() -> Workspace {
        let folder = tempfile::tempdir().expect("create a temporary folder");
        fs::create_dir(folder.path().join("bin")).expect("create a folder for the binary");
        fs::create_dir(folder.path().join("work")).expect("create a working directory");
        let workspace = Workspace { folder };
        workspace.write_installer();
        workspace
    }

    /// A `cargo` that installs the program under test: a build takes minutes, and it is there already.
    fn write_installer(&self) {
        let bin = self.folder.path().join("bin");
        let script = format!(
            "#!/bin/sh\n[ \"$*\" = 'install --path {PACKAGE}' ] && ln -s '{}' '{}'\n",
            env!("CARGO_BIN_EXE_hustings"),
            bin.join("hustings").display()
        );
        fs::write(bin.join("cargo"), script).expect("write the installer");
        fs::set_permissions(bin.join("cargo"), fs::Permissions::from_mode(0o755)).expect("make it executable");
    }

    fn path(&self) -> PathBuf {
        self.folder.path().join("work")
    }

    /// Runs a script under bash, and returns the lines that it prints.
    fn run(&self, script: &str) -> Vec<String> {
        let output = self.folder.path().join("output");
        let path = std::env::var("PATH").unwrap_or_default();
        let mut bash = Command::new("bash");
        // Job control makes `%1` work, as in an interactive shell.
        bash.arg("-c").arg(format!("set -m\n{script}")).current_dir(self.path());
        bash.env("PATH", format!("{}:{path}", self.folder.path().join("bin").display()));
        for (name, _) in std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("HUSTINGS_")) {
            bash.env_remove(name);
        }
        bash.stdin(Stdio::null()).stdout(File::create(&output).expect("create the output file")).stderr(Stdio::null());
        let mut bash = bash.spawn().expect("start bash");
        let id = Pid::from_child(&bash);
        let (ended, end) = channel();
        let waiter = std::thread::spawn(move || {
            bash.wait().expect("wait for bash");
            // The receiver is gone after a timeout.
            let _ = ended.send(());
        });
        if end.recv_timeout(TIMEOUT).is_err() {
            kill_process(id, Signal::KILL).expect("kill bash");
        }
        waiter.join().expect("bash is waited for");
        fs::read_to_string(output).expect("read the output").lines().map(str::to_string).collect()
    }

    /// The processes that run in the working directory: only the script and what it started.
    fn processes(&self) -> Vec<Pid> {
        let own = fs::canonicalize(self.path()).unwrap_or_default();
        let is_ours = |folder: &Path| fs::read_link(folder.join("cwd")).is_ok_and(|cwd| cwd == own);
        let all = fs::read_dir("/proc").expect("list the processes").flatten().map(|entry| entry.path());
        let id = |folder: PathBuf| folder.file_name()?.to_str()?.parse().ok().and_then(Pid::from_raw);
        all.filter(|folder| is_ours(folder)).filter_map(id).collect()
    }

    fn logs(&self) -> String {
        let logs =
            ["a", "b", "c", "job-a", "job-c"].map(|name| fs::read_to_string(self.path().join(format!("{name}.log"))));
        logs.into_iter().map(Result::unwrap_or_default).collect::<Vec<_>>().join("---\n")
    }
}

impl Drop for Workspace {
    fn drop(&mut self) {
        for process in self.processes() {
            // It may have ended in the meantime.
            let _ = kill_process(process, Signal::KILL);
        }
    }
}

/// Replaces the ports of the block by free ones.
fn with_free_ports(script: &str) -> String {
    let ports = ["7401", "7402", "7403"];
    ports.iter().zip(loopback::free_ports(ports.len())).fold(script.to_string(), |script, (fixed, free)| {
        assert!(script.contains(&format!("127.0.0.1:{fixed}")), "the block uses port {fixed}");
        script.replace(&format!("127.0.0.1:{fixed}"), &format!("127.0.0.1:{free}"))
    })
}

/// Runs the block below a heading of a page, and compares what it prints with what the page says.
fn runs_as_printed(page: &str, heading: &str) {
    let text = fs::read_to_string(common::repository().join(page)).expect("read the page");
    let (script, expected) = console_block(&text, heading);
    assert!(!expected.is_empty() && script.contains("hustings init") && script.contains("kill -9"), "{script}");
    assert_eq!(common::repository().join(PACKAGE), Path::new(env!("CARGO_MANIFEST_DIR")));
    let mut last = String::new();
    for _ in 0..ATTEMPTS {
        let workspace = Workspace::new();
        let lines = workspace.run(&with_free_ports(&script));
        if lines.iter().map(|line| pattern(line)).eq(expected.iter().cloned()) {
            return;
        }
        last = format!("{lines:#?}\n{}", workspace.logs());
    }
    panic!("expected {expected:#?}\nprinted {last}");
}

#[test]
fn the_cluster_block_runs_as_printed() {
    runs_as_printed("README.md", "## A cluster");
}

#[test]
fn the_first_failover_of_the_guide_happens_as_printed() {
    runs_as_printed("docs/operations.md", "## Five minutes to the first failover");
}

/// A line of `hustings up` without its numbers and units.
fn without_numbers(line: &str) -> String {
    let is_number = |word: &str| word.trim_matches(|c: char| !c.is_alphanumeric()).parse::<f64>().is_ok();
    let mut words: Vec<&str> = line.split_whitespace().filter(|word| !is_number(word)).collect();
    words.retain(|word| !matches!(*word, "s" | "ms"));
    words.join(" ")
}

/// Runs `hustings up`, waits for the lines of the block, types those that are not the program's, and stops it with
/// Ctrl-C. On a busy machine the office also moves by itself, so other lines may stand between those of the block.
/// Returns what it printed, whether every line came, and its exit code.
fn run_up(args: &[&str], block: &[&str]) -> (Vec<String>, bool, Option<i32>) {
    let mut command = hustings_command(env!("CARGO_BIN_EXE_hustings"));
    command.args(args).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut process = Process::spawn(&mut command).expect("the binary can be started");
    let mut keyboard = process.take_stdin().expect("it is piped");
    let output = BufReader::new(process.take_stdout().expect("it is piped"));
    let (sender, lines) = channel();
    std::thread::spawn(move || output.lines().map_while(Result::ok).try_for_each(|line| sender.send(line)));
    let mut printed = Vec::new();
    let mut comes = |wanted: &str| {
        while let Ok(line) = lines.recv_timeout(LINE_TIMEOUT) {
            let is_wanted = without_numbers(&line) == without_numbers(wanted);
            printed.push(line);
            if is_wanted {
                return true;
            }
        }
        false
    };
    let is_complete = block.iter().all(|line| match line.starts_with(' ') {
        true => comes(line),
        false => writeln!(keyboard, "{line}").is_ok(),
    });
    process.signal(Signal::INT).expect("it runs");
    let status = process.wait_timeout(TIMEOUT).expect("our child").expect("it ends");
    (printed, is_complete, status.code())
}

#[test]
fn the_first_command_tells_the_story_as_printed() {
    let readme = fs::read_to_string(common::repository().join("README.md")).expect("read the README");
    let command = readme.split("```console\n$ ").nth(1).and_then(|rest| rest.lines().next()).expect("a command");
    let args = command.strip_prefix("cargo run --release -- ").expect("it builds and runs the program");
    let args: Vec<&str> = args.split_whitespace().collect();
    assert_eq!(args, ["up"]);
    let block = readme.split("```text\n").nth(1).and_then(|rest| rest.split("```").next()).expect("a block");
    let block: Vec<&str> = block.lines().collect();
    assert!(block.contains(&"kill leader"), "{block:#?}");
    let mut last = Vec::new();
    for _ in 0..ATTEMPTS {
        let (printed, is_complete, code) = run_up(&args, &block);
        assert_eq!(code, Some(0));
        if is_complete {
            return;
        }
        last = printed;
    }
    panic!("expected {block:#?}\nprinted {last:#?}");
}
