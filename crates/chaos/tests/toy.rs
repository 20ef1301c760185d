//! The whole harness, with a toy in the place of `hustings`: it passes a toy that keeps its promises and finds what is
//! wrong with one that does not.

use std::path::PathBuf;
use std::process::{Command, Output};

/// Cargo builds examples for tests, next to the programs.
fn toy() -> PathBuf {
    PathBuf::from(env!("CARGO_BIN_EXE_hustings-chaos")).with_file_name("examples").join("toy")
}

fn chaos(arguments: &[&str]) -> Output {
    let mut command = Command::new(env!("CARGO_BIN_EXE_hustings-chaos"));
    command.args(["--minutes", "0.05", "--nodes", "3", "--hustings"]).arg(toy()).args(arguments);
    command.output().expect("the harness runs")
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

#[test]
fn a_toy_that_keeps_its_promises_passes() {
    let once = || {
        let output = chaos(&["--seed", "2", "--format", "json"]);
        let (said, errors) = (text(&output.stdout), text(&output.stderr));
        let report: serde_json::Value = serde_json::from_str(&said).expect("one JSON object");
        (output.status.code(), said, errors, report)
    };
    // Where the machine itself stood still there was no calm to judge, in so short a run: then it is tried again.
    let stood_still = |report: &serde_json::Value| report["machine_stalls"] != 0 && report["calms_judged"] == 0;
    let mut tried = once();
    for _ in 0..9 {
        if !stood_still(&tried.3) {
            break;
        }
        tried = once();
    }
    let (code, said, errors, report) = tried;
    assert_eq!(code, Some(0), "{said}{errors}");
    assert_eq!(report["violations"], serde_json::json!([]));
    for counted in ["claims", "writes_taken", "reads", "calms_judged"] {
        assert!(report[counted].as_u64().is_some_and(|count| count > 0), "{counted}: {said}");
    }
}

#[test]
fn a_toy_that_appoints_too_early_is_found_and_can_be_replayed() {
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
    let replay = "replay: hustings-chaos --seed 2 --minutes 0.05 --nodes 3 --clients 2 --network proxy --faults kill \
                  --break durable-before-send\n";
    assert!(said.ends_with(replay), "{said}");
    assert!(keep.join("logs/n1.log").exists());
    let judged =
        Command::new(env!("CARGO_BIN_EXE_hustings-chaos")).arg("judge").arg(keep.join("history.jsonl")).output();
    assert_eq!(judged.expect("the judge runs").status.code(), Some(1), "the record says it too");
}

#[test]
fn a_program_that_is_not_there_is_told() {
    let output = Command::new(env!("CARGO_BIN_EXE_hustings-chaos")).args(["--hustings", "no-such-program"]).output();
    let output = output.expect("the harness runs");
    assert_eq!(output.status.code(), Some(2));
    assert!(text(&output.stderr).contains("no-such-program"));
}
