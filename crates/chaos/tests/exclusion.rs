//! The parts of `hustings-chaos run` that are programs of their own: the recorder and the judge.

use std::fs;
use std::path::Path;
use std::process::{Command, Output, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use hustings_harness::process::Process;

const CHAOS: &str = env!("CARGO_BIN_EXE_hustings-chaos");

fn chaos(arguments: &[&str]) -> Output {
    Command::new(CHAOS).args(arguments).env_remove("HUSTINGS_TOKEN").output().expect("chaos runs")
}

fn judge(folder: &Path) -> (Option<i32>, String) {
    let output = chaos(&["judge", &folder.display().to_string()]);
    (output.status.code(), String::from_utf8_lossy(&output.stdout).into_owned())
}

#[test]
fn the_judge_finds_an_overlap_of_one_microsecond_between_recordings() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let write = |host: &str, text: &str| fs::write(folder.path().join(host), text).expect("written");
    write("n1.recording", "4 1000000\n4 2000000\n6 5000000\n");
    write("n2.recording", "5 2001000\n5 3000000\n");
    assert_eq!(judge(folder.path()), (Some(0), "3 tenures, 0 violations\n".to_string()));
    write("n2.recording", "5 1999000\n5 3000000\n");
    let (code, text) = judge(folder.path());
    assert_eq!(code, Some(1), "{text}");
    let found = "overlap at 1999000: n2 started with token 5 while n1 was alive with token 4, for 0.001 ms\n";
    assert!(text.starts_with(found), "{text}");
    write("n2.recording", "5 2001000\n5 x\n");
    assert_eq!(judge(folder.path()).0, Some(3), "not a recording");
}

#[test]
fn the_recorder_records_until_it_is_killed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let file = folder.path().join("n1.recording");
    let mut command = Command::new(CHAOS);
    command.arg("recorder").arg(&file).env("HUSTINGS_TOKEN", "7").stdin(Stdio::null());
    let recorder = Process::spawn(&mut command).expect("it starts");
    let times = || -> Vec<u64> {
        let text = fs::read_to_string(&file).unwrap_or_default();
        let time = |line: &str| line.strip_prefix("7 ").and_then(|time| time.parse().ok()).expect("token and time");
        text.lines().map(time).collect()
    };
    let deadline = Instant::now() + Duration::from_secs(20);
    while times().len() < 50 {
        assert!(Instant::now() < deadline, "timed out");
        thread::yield_now();
    }
    drop(recorder);
    let times = times();
    assert!(times.windows(2).all(|pair| pair[0] < pair[1]), "{times:?}");
    let (code, text) = judge(folder.path());
    assert_eq!((code, text.as_str()), (Some(0), "1 tenures, 0 violations\n"));
}

#[test]
fn what_is_missing_is_named() {
    let recorder = chaos(&["recorder", "/dev/null"]);
    assert_eq!(recorder.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&recorder.stderr).contains("HUSTINGS_TOKEN"));
    let run = chaos(&["run", "--hustings", "no-such-program"]);
    assert_eq!(run.status.code(), Some(3));
    assert!(String::from_utf8_lossy(&run.stderr).contains("no-such-program"));
    assert_eq!(chaos(&["run", "--max-frozen", "3"]).status.code(), Some(2));
}
