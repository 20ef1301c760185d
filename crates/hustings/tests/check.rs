//! `hustings check`: its results, its reports, and the replay of its counterexamples.

use crate::common;

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};

use common::{Ran, binary, inside};
use serde_json::Value;

fn check(line: &str, more: &[&str]) -> Ran {
    let args: Vec<&str> = std::iter::once("check").chain(line.split(' ')).chain(more.iter().copied()).collect();
    inside(&args)
}

fn json(line: &str) -> (i32, Value) {
    let ran = check(line, &["--format", "json"]);
    assert_eq!(ran.err, "", "{line}");
    (ran.code, serde_json::from_str(&ran.out).unwrap_or_else(|error| panic!("{line}: {error}: {}", ran.out)))
}

/// Command lines, with the number of states, of generated states, the depth, and the maximum number of messages of an
/// execution. A change of one of these numbers is a change of what is explored, and must be intended.
const COUNTS: &[(&str, u64, u64, u64, Option<u64>)] = &[
    ("chang-roberts -n 2", 29, 40, 7, Some(5)),
    ("chang-roberts -n 3", 200, 390, 11, Some(9)),
    ("chang-roberts -n 3 --channels fifo --ids all", 291, 513, 12, Some(9)),
    ("chang-roberts -n 3 --initiators every-subset", 351, 598, 11, Some(9)),
    ("le-lann -n 3 --ids all", 378, 693, 15, Some(12)),
    ("franklin -n 3 --ids all", 1326, 3364, 18, Some(15)),
    ("hirschberg-sinclair -n 3", 5674, 19_655, 30, Some(29)),
    ("token-ring -n 3 --ids all", 48, 48, 7, Some(6)),
    ("divided -n 4 --timing patient", 758, 2647, 26, Some(21)),
    ("bully -n 3", 642, 1293, 17, Some(8)),
    ("two-tier -n 3 -p subordinates=2 --topology complete --timing patient", 305, 592, 30, Some(27)),
    ("itai-rodeh -n 2", 165, 319, 10, None),
];

#[test]
fn state_counts_are_pinned() {
    for &(line, states, generated, depth, most) in COUNTS {
        let (code, found) = json(line);
        let count = |key: &str| found[key].as_u64().unwrap_or_else(|| panic!("{line}: {key}"));
        assert_eq!(
            (count("states"), count("generated"), count("depth"), found["messages"]["most"].as_u64()),
            (states, generated, depth, most),
            "{line}"
        );
        assert_eq!((code, found["verdict"].as_str()), (0, Some("holds")), "{line}");
        let properties = found["properties"].as_array().expect("a list");
        assert!(properties.len() >= 4 && properties.iter().all(|one| one["verdict"] == "holds"), "{line}");
        assert!(found["counterexample"].is_null(), "{line}");
    }
}

/// Command lines, with the violated property and the number of steps of the counterexample.
const WRONG: &[(&str, &str, u64)] = &[
    ("chang-roberts --channels lossy:1", "agreement", 6),
    ("tree -n 4 --channels lossy:1", "agreement", 13),
    ("anonymous-echo -n 2 --channels lossy:1", "agreement", 4),
    ("franklin --channels duplicating:2", "termination", 16),
    ("le-lann --channels unordered,duplicating:2", "one-leader", 8),
    ("peterson -n 4 --channels unordered --ids all", "agreement", 12),
    ("itai-rodeh --channels unordered -p rounds=off", "agreement", 12),
    ("sun --crashes 1 --timing patient", "agreement", 7),
    ("token-ring --crashes 1", "termination", 8),
    ("itai-rodeh -n 3 -p ids=1", "termination", 15),
    ("itai-rodeh -n 2 -p ids=1 --channels fifo", "termination", 10),
    ("aefa -n 3 --topology complete --crashes 1 --timing patient", "agreement", 9),
    ("bully --timing free", "one-leader", 4),
    ("bully --timing bounded:2", "one-leader", 8),
    ("bully --crashes 1 --recoveries 1", "one-leader", 12),
    ("campaigner --timing free", "one-leader", 5),
    ("chang-roberts --runs --crashes 1 --channels lossy:1", "agreement", 6),
];

#[test]
fn every_kind_of_counterexample_replays() {
    let folder = tempfile::tempdir().expect("there is room for files");
    for &(line, property, steps) in WRONG {
        let file = folder.path().join("wrong.jsonl").display().to_string();
        let ran = check(line, &["--format", "json", "--trace", "jsonl", "--trace-to", &file]);
        assert_eq!((ran.code, ran.err.as_str()), (1, ""), "{line}");
        let found: Value = serde_json::from_str(&ran.out).expect("one object");
        let shown = &found["counterexample"];
        assert_eq!(shown["property"].as_str(), Some(property), "{line}");
        assert_eq!(shown["steps"].as_u64(), Some(steps), "{line}");
        let written = std::fs::read_to_string(&file).expect("the file is there");
        let records = shown["records"].as_array().expect("a list");
        assert_eq!(written.lines().count(), records.len() + 1, "{line}");

        let algorithm = line.split(' ').next().unwrap_or_default();
        let replayed = inside(&["sim", algorithm, "--replay", &file, "--format", "json"]);
        assert_eq!(replayed.err, "", "{line}");
        let outcome: Value = serde_json::from_str(&replayed.out).expect("one object");
        match property {
            "agreement" => assert_eq!(outcome["agreement"], false, "{line}"),
            "one-leader" => assert!(outcome["leaders"].as_array().is_some_and(|leaders| leaders.len() > 1), "{line}"),
            _ => assert!(shown["repeats_from"].as_u64().is_some_and(|from| from < records.len() as u64), "{line}"),
        }
    }
}

#[test]
fn prints_a_counterexample_and_the_commands_that_replay_it() {
    let ran = check("bully --timing free", &[]);
    assert_eq!(ran.code, 1);
    for part in [
        "verdict     violated\n",
        "one-leader     violated           McMaster",
        "one-leader is violated: it says \"no two live leaders in the same epoch\"\n",
        "ids 1,2,3, initiators 0; 4 steps, and there is no shorter one\n",
        "  node 0 (id 1)  starts → sends election to 1 2; ",
        "replay it with: hustings check bully --ids 1,2,3 --initiators 0 --timing free --trace jsonl --trace-to FILE\n",
        "then: hustings sim bully --replay FILE\n",
    ] {
        assert!(ran.out.contains(part), "{part}\n{}", ran.out);
    }
    // The printed command line finds the same counterexample.
    let again = check("bully --ids 1,2,3 --initiators 0 --timing free", &["--trace", "text"]);
    let counterexample = |text: &str| text.split("is violated: ").nth(1).map(str::to_string);
    assert_eq!(counterexample(&again.out), counterexample(&ran.out));
}

/// Invitation's worst case is claimed for messages that take at most T ticks. Slower ones let timeouts expire, and more
/// messages are then no error.
#[test]
fn a_bound_is_not_judged_outside_its_assumptions() {
    let judged = |line: &str| {
        let (_, found) = json(line);
        let properties = found["properties"].as_array().expect("a list").clone();
        let of_bound = properties.iter().find(|one| one["name"] == "message-bound");
        (of_bound.map(|one| one["verdict"].clone()), found["verdict"] == "violated")
    };
    assert_eq!(judged("invitation --timing bounded:1"), (Some("holds".into()), false));
    assert_eq!(judged("invitation --timing patient"), (Some("holds".into()), false));
    assert_eq!(judged("invitation --timing bounded:2 --max-states 20000"), (None, false));
    let ran = check("invitation --timing bounded:2 --max-states 20000", &[]);
    let words = "; the catalogue's worst case holds if messages take at most 1 tick\n";
    assert!(ran.out.contains(words), "{}", ran.out);
    let (_, found) = json("invitation --timing bounded:2 --max-states 20000");
    assert_eq!(found["messages"]["bound_not_judged"], "it holds if messages take at most 1 tick");
    assert!(json("invitation --timing bounded:1").1["messages"]["bound_not_judged"].is_null());
    // Without early timeouts a message too many is still found.
    let divided = |timing: &str| judged(&format!("divided -n 4 --timing {timing}"));
    assert_eq!((divided("patient").0, divided("bounded:1").0), (Some("holds".into()), None));
}

#[test]
fn prints_where_an_infinite_execution_repeats() {
    let ran = check("token-ring --crashes 1", &[]);
    assert_eq!(ran.code, 1);
    let from = "; infinite: from record ";
    assert!(ran.out.contains("termination is violated") && ran.out.contains(from), "{}", ran.out);
    let number = ran.out.split(from).nth(1).and_then(|rest| rest.split(' ').next()).expect("a number");
    assert!(ran.out.contains(&format!("\n      from here on it repeats forever (record {number}):\n")), "{}", ran.out);
}

#[test]
fn every_trace_format_goes_to_standard_output() {
    for (form, begins) in
        [("mermaid", "sequenceDiagram"), ("svg", "<svg"), ("jsonl", "{\"version\":1,"), ("shiviz", "")]
    {
        let ran = check("bully --timing free", &["--trace", form]);
        assert_eq!(ran.code, 1, "{form}");
        assert!(ran.out.contains(begins) && !ran.out.contains("verdict     "), "{form}: {}", ran.out);
    }
    // Without a violation there is no counterexample.
    let ran = check("bully", &["--trace", "mermaid"]);
    assert!(ran.code == 0 && ran.out.contains("verdict     holds"), "{}", ran.out);
}

#[test]
fn an_incomplete_check_never_holds() {
    for line in ["hirschberg-sinclair -n 3 --max-states 1000", "hirschberg-sinclair -n 3 --ids all --max-states 5000"] {
        let (code, found) = json(line);
        assert_eq!((code, found["verdict"].as_str()), (3, Some("not fully explored")), "{line}");
        let properties = found["properties"].as_array().expect("a list");
        assert!(properties.iter().all(|one| one["verdict"] == "not fully explored"), "{line}");
    }
    let (code, found) = json("hirschberg-sinclair -n 3 --ids all --max-states 5000");
    let states: Vec<u64> =
        found["cases"].as_array().expect("a list").iter().filter_map(|case| case["states"].as_u64()).collect();
    assert!(code == 3 && states.len() == 2, "{states:?}");
    // A violation counts even if the check is incomplete.
    assert_eq!(json("bully --timing free --max-states 200").0, 1);
    let (code, found) = json("anonymous-echo -n 4 --topology complete --max-time 1 --threads 2");
    assert_eq!((code, found["complete"].as_bool()), (3, Some(false)));
}

#[test]
fn the_result_does_not_depend_on_the_number_of_threads() {
    for line in ["chang-roberts -n 4 --ids all", "bully --crashes 1", "peterson -n 4 --channels unordered --ids all"] {
        let found = |threads: &str| {
            let ran = check(line, &["--threads", threads, "--format", "json"]);
            let mut found: Value = serde_json::from_str(&ran.out).expect("one object");
            found["seconds"] = Value::Null;
            (ran.code, found)
        };
        assert_eq!(found("1"), found("3"), "{line}");
    }
}

#[test]
fn keep_going_explores_everything() {
    let states = |line: &str| json(line).1["states"].as_u64().expect("a number");
    let (short, long) = (states("bully --timing bounded:2"), states("bully --timing bounded:2 --keep-going"));
    assert!(short < long, "{short} {long}");
}

#[test]
fn a_message_is_duplicated_at_most_once() {
    // With two copies of one message there would be more states, and a replay would refuse the third delivery.
    let (code, found) = json("le-lann -n 2 --channels unordered,duplicating:2 --keep-going");
    assert_eq!((code, found["states"].as_u64(), found["generated"].as_u64()), (1, Some(893), Some(2419)));
}

#[test]
fn explores_one_identifier_per_incarnation() {
    // The identifier has 2^32 values: exploring them all would leave the check unfinished.
    let (code, found) = json("chang-roberts -n 2 --runs --crashes 1 --recoveries 1");
    assert_eq!((code, found["verdict"].as_str(), found["states"].as_u64()), (0, Some("holds"), Some(8750)));
}

#[test]
fn ctrl_c_stops_the_check() {
    let mut child = Command::new(env!("CARGO_BIN_EXE_hustings"))
        .args(["check", "--all"])
        .stdout(Stdio::piped())
        .spawn()
        .expect("the binary can be started");
    let mut out = BufReader::new(child.stdout.take().expect("its output is ours"));
    let mut header = String::new();
    out.read_line(&mut header).expect("it prints a header");
    let sent = Command::new("kill").args(["-INT", &child.id().to_string()]).status().expect("there is a kill");
    assert!(sent.success());
    let mut rest = String::new();
    out.read_to_string(&mut rest).expect("it prints text");
    assert_eq!(child.wait().expect("it ends").code(), Some(130), "{rest}");
}

/// Compares the quick rows of the table in the docs; `hustings check --all --format markdown` prints all rows.
#[test]
fn the_table_in_the_docs_is_up_to_date() {
    let path = common::repository().join("docs/checking.md");
    let page = std::fs::read_to_string(&path).expect("the page can be read");
    let ran = inside(&["check", "--all", "--quick", "--format", "markdown"]);
    assert_eq!((ran.code, ran.err.as_str()), (0, ""));
    let rows: Vec<&str> = ran.out.lines().collect();
    assert!(rows.len() > 22, "{rows:?}");
    common::compare_with_file(&path, &with_rows(&page, &rows));
}

/// What `hustings list` names as evidence for its claims is run: the checks that take about a second must hold.
#[test]
fn the_evidence_of_the_catalogue_holds() {
    let parsed = |args: &[&str]| -> Value {
        let ran = inside(args);
        assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{args:?}");
        serde_json::from_str(&ran.out).expect("it is JSON")
    };
    let quick = parsed(&["check", "--all", "--quick", "--format", "json"]);
    let rows = quick["rows"].as_array().expect("a list");
    let listed = parsed(&["list", "--format", "json"]);
    for algorithm in listed["algorithms"].as_array().expect("a list") {
        let evidence = algorithm["shown_by"].as_array().expect("a list").iter().filter_map(Value::as_str);
        let checks = evidence.filter(|one| one.starts_with("`hustings check ")).map(|one| one.trim_matches('`'));
        let verdicts: Vec<&Value> = checks
            .filter_map(|command| rows.iter().find(|row| row["command"] == command))
            .map(|row| &row["verdict"])
            .collect();
        assert!(!verdicts.is_empty(), "{}: no check of its evidence is quick", algorithm["name"]);
        assert!(verdicts.iter().all(|verdict| **verdict == "holds"), "{}: {verdicts:?}", algorithm["name"]);
    }
}

/// The page with these rows in its table: each replaces the row of the same election, or follows the row before it.
fn with_rows(page: &str, rows: &[&str]) -> String {
    // The columns up to the faults say which election it is.
    let election = |row: &str| row.split('|').take(8).collect::<Vec<_>>().join("|");
    let mut lines: Vec<&str> = page.lines().collect();
    let mut last = None;
    for row in rows {
        let same = lines.iter().position(|line| election(line) == election(row));
        match (same, last) {
            (Some(at), _) => lines[at] = row,
            (None, Some(before)) => lines.insert(before + 1, row),
            (None, None) => panic!("the page has no table that begins with {row}"),
        }
        last = same.or(last.map(|before| before + 1));
    }
    lines.join("\n") + "\n"
}

/// Arguments of `hustings check`, and the error.
const REFUSED: &[(&str, &str)] = &[
    ("", "error: the following required arguments were not provided:"),
    (
        "chang-robberts",
        "error: there is no algorithm `chang-robberts`\nhelp: the nearest is `chang-roberts`; `hustings list` shows all",
    ),
    (
        "cr -n 33",
        "error: 33 nodes cannot be checked; allowed: 1 to 32, and 3 to 6 are practical\n\
         help: say --nodes 3; `hustings sim` runs elections of any size",
    ),
    (
        "cr -n 9 --ids all",
        "error: 362880 orders of ids and 1 sets of initiators are too many; allowed: 50000 together\n\
         help: take fewer nodes, or --ids rotations, or leave --initiators every-subset out",
    ),
    (
        "cr --ids al",
        "error: --ids al: `al` is not known here; allowed: `all`, `rotations`, a list such as `3,1,2`, `@FILE`, `ascending` \
         or `descending`\nhelp: the nearest is `all`",
    ),
    (
        "cr --initiators every",
        "error: --initiators every: `every` is not known here; allowed: `all`, `none`, `every-subset`, or positions such as `0,2` \
         (each starts at any time, so there are no ticks)",
    ),
    ("cr --initiators 3", "error: --initiators 3@0: there is no position 3; allowed: 0 to 2"),
    (
        "cr --channels lossy",
        "error: --channels lossy: `lossy` lacks `:` and how many messages; allowed: `fifo` or `unordered`, `lossy:K`, \
         `duplicating:K` with K from 1 to 9, with commas between\nhelp: the nearest is `lossy:1`",
    ),
    (
        "cr --channels fifo,unordered",
        "error: --channels fifo,unordered: `unordered` is given twice; allowed: `fifo` or `unordered`, `lossy:K`, \
         `duplicating:K` with K from 1 to 9, with commas between",
    ),
    (
        "bully --timing bound:1",
        "error: --timing bound:1: `bound:1` is not known here; allowed: `free`, `patient` or `bounded:T` with T ticks, from 1 \
         to 1000\nhelp: the nearest is `bounded:1`",
    ),
    (
        "cr --crashes 10",
        "error: --crashes 10: `10` is more than 9; allowed: a whole number from 0 to 9\nhelp: the nearest is `9`",
    ),
    (
        "bully --recoveries 1",
        "error: --recoveries 1: only 0 nodes crash, and only those can recover\nhelp: say --crashes 1 too",
    ),
    (
        "cr --crashes 1 --recoveries 1",
        "error: --recoveries: on a plain ring neighbours skip a crashed node for good; allowed: in runs\n\
         help: say --runs, or leave --recoveries out",
    ),
    (
        "cr --runs --channels unordered",
        "error: --channels: runs need links that keep the order of messages; allowed: fifo\n\
         help: leave --channels unordered out",
    ),
    (
        "cr --max-time 0",
        "error: --max-time 0: `0` is less than 1; allowed: seconds, or a duration such as `90s`, `5m` or `1h 30m`, \
         up to 1000h\nhelp: the nearest is `1`",
    ),
    (
        "cr --max-states x",
        "error: --max-states x: `x` is not a whole number; allowed: a whole number from 1 to 4000000000",
    ),
    (
        "cr --format markdown",
        "error: --format markdown: this is the format of the table; allowed: with --all\n\
         help: say --all, or --format text",
    ),
    (
        "cr --format json --trace svg",
        "error: --trace svg: with --format json, standard output holds the result alone\n\
         help: say where the trace goes: --trace-to FILE",
    ),
    (
        "--all -n 3",
        "error: --all: this checks the whole catalogue; allowed beside it: --quick, --threads, --max-states, \
         --max-memory, --max-time, --format\nhelp: leave the algorithm and the other options out, or leave --all out",
    ),
    ("cr --quick", "error: the following required arguments were not provided:"),
    ("sun -n 5", "error: parameter `u` cannot be `4` with 5 nodes"),
    ("bully -p T=0", "error: -p T=0: parameter `T` cannot be `0`; allowed: a whole number of at least 1"),
];

#[test]
fn rejects_wrong_usage_with_help() {
    for &(line, words) in REFUSED {
        let ran = check(line.trim(), &[]);
        let ran = if line.is_empty() { binary(&["check"]) } else { ran };
        assert_eq!((ran.code, ran.out.as_str()), (2, ""), "{line}");
        assert!(ran.err.starts_with(words), "{line}\n{}", ran.err);
    }
    let ran = binary(&["check", "bully", "--timing", "free", "--trace", "jsonl", "--trace-to", "/nonexistent/x"]);
    assert_eq!(ran.code, 3);
    assert!(ran.err.starts_with("error: --trace-to: cannot write `/nonexistent/x`: "), "{}", ran.err);
}
