//! Whole runs with a fake `hustings`: chaos passes one that violates nothing, and finds the violations of another.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::process::{Command, Output};

/// The exit code of a run that could not check everything because the machine stalled.
const INCONCLUSIVE: i32 = 4;

/// Cargo builds examples for tests, next to the programs.
fn toy() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_hustings-chaos")).with_file_name("examples").join("toy")
}

fn chaos(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hustings-chaos"));
    // The toy has no HTTP API.
    command.args(["--minutes", "0.05", "--nodes", "3", "--http-clients", "0"]);
    command.arg("--hustings").arg(toy()).args(arguments);
    command.output().expect("chaos runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn passes_a_cluster_without_violations() {
    let once = || {
        let output = chaos(&["--seed", "2", "--format", "json"]);
        let (said, errors) = (text(&output.stdout), text(&output.stderr));
        let report: serde_json::Value = serde_json::from_str(&said).expect("one JSON object");
        (output.status.code(), said, errors, report)
    };
    // A stall may leave nothing to check in so short a run. The exit code says so, and only then it is repeated.
    let mut tried = once();
    for _ in 0..9 {
        if tried.0 != Some(INCONCLUSIVE) {
            break;
        }
        assert_eq!(tried.3["conclusion"], "inconclusive", "{}", tried.1);
        tried = once();
    }
    let (code, said, errors, report) = tried;
    assert_eq!(code, Some(0), "{said}{errors}");
    assert_eq!(report["violations"], serde_json::json!([]));
    for counted in ["tenures", "writes_accepted", "reads", "recoveries_checked"] {
        assert!(report[counted].as_u64().is_some_and(|count| count > 0), "{counted}: {said}");
    }
}

#[test]
fn finds_overlapping_tenures_and_prints_the_replay_command() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let keep = folder.path().join("kept");
    let output = chaos(&[
        "--seed",
        "2",
        "--break",
        "durable-before-send",
        "--faults",
        "kill",
        "--keep",
        &keep.display().to_string(),
    ]);
    let said = text(&output.stdout);
    assert_eq!(output.status.code(), Some(1), "{said}{}", text(&output.stderr));
    assert!(said.contains("held the exclusive office"), "{said}");
    let replay = "replay: hustings-chaos --seed 2 --minutes 0.05 --nodes 3 --clients 2 --http-clients 0 --network proxy \
                  --faults kill --break durable-before-send\n";
    assert!(said.ends_with(replay), "{said}");
    assert!(keep.join("logs/n1.log").exists());
    let checked =
        Command::new(env!("CARGO_BIN_EXE_hustings-chaos")).arg("judge").arg(keep.join("history.jsonl")).output();
    assert_eq!(checked.expect("the checker runs").status.code(), Some(1), "the history has the violation");
}

#[test]
fn a_missing_program_is_an_error_of_its_own() {
    let output = Command::new(env!("CARGO_BIN_EXE_hustings-chaos")).args(["--hustings", "no-such-program"]).output();
    let output = output.expect("chaos runs");
    assert_eq!(output.status.code(), Some(3));
    assert!(text(&output.stderr).contains("no-such-program"));
}

#[test]
fn wrong_use_and_unreadable_histories_have_their_own_exit_codes() {
    let code = |arguments: &[&str]| {
        Command::new(env!("CARGO_BIN_EXE_hustings-chaos")).args(arguments).output().expect("it runs").status.code()
    };
    assert_eq!(code(&["--nodes", "1"]), Some(2));
    assert_eq!(code(&["judge", "no-such-history"]), Some(3));
}

/// Runs `.ci/chaos` with a program that exits with these codes, one after the other. Returns the script's exit code,
/// how often it ran the program, and what it printed.
fn ci(codes: &str) -> (Option<i32>, usize, String) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let (program, calls) = (folder.path().join("program"), folder.path().join("calls"));
    let script = format!(
        "#!/usr/bin/env bash\ncodes=({codes})\necho \"$@\" >> {calls}\nexit ${{codes[$(wc -l < {calls}) - 1]}}\n",
        calls = calls.display()
    );
    fs::write(&program, script).expect("a new file");
    fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).expect("our file");
    let ci = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../.ci/chaos");
    let output =
        Command::new("bash").arg(ci).arg(&program).args(["deadbeef", "--nodes", "5"]).output().expect("bash runs");
    let calls = fs::read_to_string(&calls).expect("it ran");
    assert!(calls.lines().all(|call| call == "--nodes 5 --seed 3735928559"), "{calls}");
    (output.status.code(), calls.lines().count(), text(&output.stdout))
}

#[test]
fn ci_repeats_only_an_inconclusive_run_and_only_once() {
    for (codes, code, runs) in
        [("0", 0, 1), ("1", 1, 1), ("2", 2, 1), ("3", 3, 1), ("4 0", 0, 2), ("4 1", 1, 2), ("4 3", 3, 2)]
    {
        let (found, count, said) = ci(codes);
        assert_eq!((found, count), (Some(code), runs), "{codes}: {said}");
        assert_eq!(said.matches("seed 3735928559").count(), runs, "{said}");
        assert!(!said.contains("WARNING"), "{said}");
    }
    let (found, count, said) = ci("4 4 0");
    assert_eq!((found, count), (Some(0), 2), "{said}");
    assert!(said.contains("WARNING"), "{said}");
}
