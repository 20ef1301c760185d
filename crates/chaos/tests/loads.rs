//! What burdens the host ends with the harness, also if that is killed.

use std::fs;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long anything may take. Hogs end by themselves after three times as long.
const TIMEOUT: Duration = Duration::from_secs(20);

fn wait_for(what: &str, mut is_so: impl FnMut() -> bool) {
    let deadline = Instant::now() + TIMEOUT;
    while !is_so() {
        assert!(Instant::now() < deadline, "not in time: {what}");
        std::thread::yield_now();
    }
}

/// A shell that launches `hustings-chaos` with these words as the harness does, and waits.
fn harness(words: &str, pid_file: &Path) -> Child {
    let chaos = env!("CARGO_BIN_EXE_hustings-chaos");
    let script = format!("{chaos} launch --parent $$ -- {chaos} {words} & echo $! > {}; wait", pid_file.display());
    let mut command = Command::new("sh");
    command.args(["-c", &script]).stdout(Stdio::null()).stderr(Stdio::null());
    command.spawn().expect("start a shell")
}

/// The state of a process, and the time that it has used, in ticks.
fn stat(pid: &str) -> Option<(String, u64)> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields: Vec<&str> = text.rsplit_once(") ")?.1.split(' ').collect();
    Some((fields[0].to_string(), fields[11].parse::<u64>().ok()? + fields[12].parse::<u64>().ok()?))
}

/// Starts a burden, waits until it is one, kills its harness and nothing else, and waits for its end.
fn ends_with_its_harness(words: &str, mut has_begun: impl FnMut(&str) -> bool) {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let pid_file = folder.path().join("pid");
    let mut shell = harness(words, &pid_file);
    let mut pid = String::new();
    wait_for("it starts", || {
        pid = fs::read_to_string(&pid_file).unwrap_or_default().trim().to_string();
        !pid.is_empty()
    });
    wait_for("it works", || has_begun(&pid));
    shell.kill().expect("it runs");
    shell.wait().expect("it is ours");
    // Whoever reaps orphans may take a while.
    wait_for("it ends", || stat(&pid).is_none_or(|(state, _)| state == "Z"));
}

#[test]
fn hogs_use_the_processor_and_the_disk_until_their_harness_is_killed() {
    let folder = tempfile::tempdir().expect("a folder for the test");
    let files: Vec<_> = (0..3).map(|number| folder.path().join(format!("hog{number}"))).collect();
    ends_with_its_harness(&format!("hogs {}", folder.path().display()), |pid| {
        let written = |file| fs::metadata(file).is_ok_and(|about| about.len() >= 1 << 20);
        files.iter().all(written) && stat(pid).is_some_and(|(_, ticks)| ticks >= 5)
    });
    for file in files {
        assert!(fs::metadata(&file).expect("it was written").len() <= 16 << 20, "{}", file.display());
    }
}

#[test]
fn a_flood_comes_from_many_addresses_until_its_harness_is_killed() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let own = listener.local_addr().expect("it is bound");
    let targets = format!(
        "{{\"peers\":[\"{own}\"],\"http\":[\"{own}\"],\"pipelined\":\"/none\",\"history\":\"/none\",\"connections\":20,\
         \"http_clients\":10}}"
    );
    let mut come = std::collections::BTreeSet::new();
    ends_with_its_harness(&format!("flood '{targets}'"), |_| {
        if let Ok((_, from)) = listener.accept() {
            come.insert(from.ip());
        }
        come.len() >= 20
    });
}
