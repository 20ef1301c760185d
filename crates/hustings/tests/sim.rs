//! `hustings sim`, by the real binary.

use crate::common;

use common::{Ran, binary, inside};
use serde_json::{Value, json};

fn result(args: &[&str]) -> Value {
    let ran = binary(&[args, &["--format", "json"]].concat());
    assert_eq!(ran.err, "");
    serde_json::from_str(&ran.out).expect("the output is one object")
}

#[test]
fn the_json_object_has_the_documented_form() {
    let ran = binary(&["sim", "chang-roberts", "--ids", "3,1,0,2", "--format", "json"]);
    let wanted = concat!(
        r#"{"algorithm":"chang-roberts","nodes":4,"edges":4,"seed":0,"params":{},"hung":false,"#,
        r#""leader":{"position":0,"id":3},"leaders":[0],"agreement":true,"live":4,"#,
        r#""messages":{"total":12,"by_kind":{"candidate":8,"elected":4},"bytes":24,"lost":0},"#,
        r#""load":{"mean":3.0,"max":4,"histogram":[[2,1],[3,2],[4,1]]},"collisions":{"total":0,"max":1},"#,
        r#""time":{"elected":4,"agreed":7,"quiescent":8}}"#,
        "\n"
    );
    assert_eq!(ran, Ran { code: 0, out: wanted.to_string(), err: String::new() });
}

#[test]
fn chang_roberts_sends_as_many_messages_as_published() {
    let candidates = |ids| {
        result(&["sim", "chang-roberts", "--ids", ids, "--nodes", "64"])["messages"]["by_kind"]["candidate"].clone()
    };
    assert_eq!(candidates("descending"), json!(2080));
    assert_eq!(candidates("ascending"), json!(127));
}

#[test]
fn without_initiators_there_is_no_leader() {
    let ran = binary(&["sim", "chang-roberts", "--initiators", "none", "--format", "json"]);
    let object: Value = serde_json::from_str(&ran.out).expect("the output is one object");
    assert_eq!(ran.code, 1);
    assert_eq!(object["leader"], Value::Null);
    assert_eq!(object["time"], json!({"elected": null, "agreed": null, "quiescent": null}));
}

#[test]
fn the_result_depends_on_the_seed_and_not_on_threads() {
    let line = ["sim", "chang-roberts", "-n", "300", "--ids", "random", "--seed", "9", "--format", "json"];
    let first = binary(&line);
    assert_eq!(first, binary(&line));
    assert_eq!(first, binary(&[&line[..], &["--threads", "2"]].concat()));
    let other: Vec<&str> = line.iter().map(|word| if *word == "9" { "10" } else { word }).collect();
    assert_ne!(first, binary(&other));
}

#[test]
fn reads_ids_and_values_from_files() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("ids.txt");
    std::fs::write(&path, "7 # the first\n9,8\n").expect("the folder can be written to");
    let at = format!("@{}", path.display());
    assert_eq!(result(&["sim", "cr", "--ids", &at])["leader"], json!({"position": 1, "id": 9}));
    assert_eq!(result(&["sim", "cr", "--values", &at])["leader"], json!({"position": 1, "id": 1}));
}

#[test]
fn writes_the_trace_to_a_file_and_the_report_to_standard_output() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    for form in ["text", "jsonl", "mermaid", "svg", "shiviz"] {
        let path = folder.path().join(form);
        let to = path.to_str().expect("the path is UTF-8");
        let traced = binary(&["sim", "cr", "--format", "json", "--trace", form, "--trace-to", to]);
        assert_eq!(traced, binary(&["sim", "cr", "--format", "json"]));
        let alone = binary(&["sim", "cr", "--trace", form]);
        let written = std::fs::read_to_string(&path).expect("the trace is there");
        if form == "text" {
            let report = binary(&["sim", "cr"]).out;
            assert_eq!(alone.out, format!("{written}\n{report}"));
        } else {
            assert_eq!(alone.out, written);
        }
    }
}

/// A link stays, and the program's own output is no file that could be replaced.
#[test]
fn a_trace_goes_through_a_link_to_the_standard_output() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let (link, file) = (folder.path().join("link"), folder.path().join("out"));
    std::os::unix::fs::symlink("/proc/self/fd/1", &link).expect("the folder is ours");
    let to = link.to_str().expect("the path is UTF-8");
    let line = ["sim", "cr", "--trace", "jsonl", "--trace-to", to];
    let (trace, report) = (binary(&["sim", "cr", "--trace", "jsonl"]).out, binary(&["sim", "cr"]).out);
    assert_eq!(binary(&line).out, format!("{trace}{report}"));
    let out = std::fs::File::create(&file).expect("the folder is ours");
    let status = std::process::Command::new(env!("CARGO_BIN_EXE_hustings")).args(line).stdout(out).status();
    assert!(status.expect("the binary can be started").success());
    assert_eq!(std::fs::read_to_string(&file).expect("it is there"), format!("{trace}{report}"));
    assert_eq!(std::fs::read_link(&link).expect("it is still a link"), std::path::Path::new("/proc/self/fd/1"));
}

#[cfg(target_os = "linux")]
#[test]
fn a_killed_run_leaves_no_file() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("trace");
    let mut run = std::process::Command::new(env!("CARGO_BIN_EXE_hustings"));
    run.args(["sim", "cr", "-n", "10000", "--ids", "descending", "--trace", "jsonl", "--trace-to"]).arg(&path);
    let mut run = run.stdout(std::process::Stdio::null()).spawn().expect("the binary can be started");
    let open_files = format!("/proc/{}/fd", run.id());
    let is_ours = |file: std::path::PathBuf| std::fs::read_link(file).is_ok_and(|to| to.starts_with(folder.path()));
    let writes = || std::fs::read_dir(&open_files).is_ok_and(|files| files.flatten().any(|file| is_ours(file.path())));
    while !writes() {
        assert_eq!(run.try_wait().expect("it is our child"), None, "it ended before it was killed");
        std::thread::yield_now();
    }
    run.kill().expect("it is our child");
    run.wait().expect("it is our child");
    assert_eq!(std::fs::read_dir(folder.path()).expect("it is there").count(), 0);
}

#[test]
fn replays_a_recorded_run_and_rejects_a_changed_one() {
    let folder = tempfile::tempdir().expect("a temporary folder can be made");
    let path = folder.path().join("run.jsonl");
    let file = path.to_str().expect("the path is UTF-8");
    let line = ["sim", "cr", "-n", "6", "--ids", "random", "--seed", "4", "--delay", "uniform:1-5", "--format", "json"];
    let recorded = binary(&[&line[..], &["--trace", "jsonl", "--trace-to", file]].concat());
    assert_eq!(binary(&["sim", "cr", "--replay", file, "--format", "json"]), recorded);
    assert_eq!(binary(&["sim", "franklin", "--replay", file]).code, 2);
    assert_eq!(binary(&["sim", "cr", "--replay", file, "-n", "6"]).code, 2);
    assert_eq!(binary(&["sim", "cr", "--replay", "/nonexistent/run"]).code, 3);
    let text = std::fs::read_to_string(&path).expect("the trace is there");
    let shorter: Vec<&str> = text.lines().enumerate().filter(|(at, _)| *at != 3).map(|(_, line)| line).collect();
    std::fs::write(&path, shorter.join("\n")).expect("the folder can be written to");
    let refused = binary(&["sim", "cr", "--replay", file]);
    let wanted =
        format!("error: --replay {file}: record 3 where record 2 should be: records are numbered one by one from 0\n");
    assert_eq!((refused.code, refused.err), (1, wanted));
}

#[test]
fn a_closed_pipe_is_not_a_failure() {
    use std::process::{Command, Stdio};
    let mut child = Command::new(env!("CARGO_BIN_EXE_hustings"))
        .args(["sim", "cr", "-n", "200", "--trace", "jsonl"])
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the binary can be started");
    drop(child.stdout.take());
    let ended = child.wait_with_output().expect("it ends");
    assert_eq!((ended.status.code(), ended.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn the_overview_fits_on_one_screen() {
    let ran = binary(&[]);
    assert_eq!(ran.code, 0);
    assert!(ran.out.lines().count() <= 24 && ran.out.lines().all(|line| line.chars().count() <= 80), "{}", ran.out);
    let words: Vec<&str> = ran.out.split_whitespace().collect();
    for command in ["list", "sim", "check", "sweep", "papers", "plot", "bench", "lab", "completions", "man"] {
        assert!(words.contains(&command), "{command} is missing");
    }
    let of_clusters =
        ["init", "node", "run", "status", "leader", "watch", "history", "resign", "transfer", "pause", "resume"];
    for command in of_clusters.into_iter().chain(["members", "recover"]) {
        assert!(words.contains(&command), "{command} is missing");
    }
}

#[test]
fn lists_the_catalogue_as_text_and_json() {
    let object: Value = serde_json::from_str(&binary(&["list", "--format", "json"]).out).expect("it is one object");
    let listed: Vec<&str> =
        object["algorithms"].as_array().expect("it is a list").iter().filter_map(|one| one["name"].as_str()).collect();
    let wanted: Vec<&str> = hustings::algorithms::catalogue::ENTRIES.iter().map(|entry| entry.about.name).collect();
    assert_eq!(listed, wanted);
    let text = binary(&["list"]).out;
    assert!(wanted.iter().all(|name| text.contains(name)), "{text}");
    assert!(binary(&["list", "cr"]).out.starts_with("chang-roberts: "));
}

#[test]
fn prints_completions_and_manual_pages() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        assert!(binary(&["completions", shell]).out.contains("initiators"), "{shell}");
    }
    assert!(binary(&["man"]).out.contains("hustings"));
    assert!(binary(&["man", "sim"]).out.contains("bandwidth"));
}

#[test]
fn a_hung_run_is_not_a_success_even_if_all_agree() {
    // The token of the dead detector circulates forever; the other detector has found a leader in the meantime.
    let ran = binary(&["sim", "token-ring", "--initiators", "7,3", "--crash", "7@4", "--format", "json"]);
    let object: Value = serde_json::from_str(&ran.out).expect("the output is one object");
    assert_eq!((&object["agreement"], &object["hung"]), (&json!(true), &json!(true)));
    assert_eq!(ran.code, 1);
}

#[test]
fn le_lann_removes_its_id_from_the_ring_each_time() {
    let object = result(&["sim", "le-lann", "--ids", "random", "--duplicate", "0.1"]);
    assert_eq!((&object["agreement"], &object["hung"]), (&json!(true), &json!(false)));
}

#[test]
fn a_start_signal_waits_for_a_node_that_joins_later() {
    // There is no warning, because the signal has an effect.
    let object = result(&["sim", "token-ring", "--join", "7@50", "--initiators", "7"]);
    assert_eq!((&object["leader"]["id"], &object["time"]["quiescent"]), (&json!(7), &json!(66)));
}

/// Both engines: with random delays the general one, with unit delays the fast one.
#[cfg(target_os = "linux")]
#[test]
fn a_run_ends_before_it_fills_the_memory() {
    const MAX: u64 = 200 << 20;
    for line in [
        "sim bully -n 1500 --delay exponential:3",
        "sim invitation -n 3000 --initiators all",
        "sim improved-bully -n 4000 --initiators all --threads 2",
    ] {
        let args: Vec<&str> = line.split(' ').chain(["--max-memory", "200M"]).collect();
        let (ran, peak) = common::binary_with_peak(&args);
        assert_eq!((ran.code, ran.out.as_str()), (3, ""), "{line}: {}", ran.err);
        let words = "error: the memory limit of 200.00 MiB was reached at tick ";
        assert!(ran.err.contains(words) && ran.err.contains("--max-memory"), "{line}: {}", ran.err);
        assert!((MAX / 10 * 9..=MAX / 10 * 11).contains(&peak), "{line}: {peak} bytes");
    }
}

#[test]
fn the_memory_limit_changes_no_run_that_keeps_it() {
    for line in
        ["sim bully -n 40", "sim chang-roberts -n 50", "sim aefa -n 40", "sim token-ring -n 40 --delay uniform:1-3"]
    {
        let args: Vec<&str> = line.split(' ').collect();
        let free = inside(&args);
        assert_eq!(free.err, "");
        assert_eq!(inside(&[&args[..], &["--max-memory", "4G"]].concat()), free, "{line}");
    }
    let refused = inside(&["sim", "bully", "--max-memory", "1M"]);
    assert!(refused.err.starts_with("error: --max-memory 1M: `1M` is less than 64M; allowed: "), "{}", refused.err);
    assert_eq!(refused.code, 2);
}
