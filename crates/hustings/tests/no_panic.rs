//! No command line panics.

use crate::common;

use proptest::prelude::*;

/// Options with values that are right, nearly right and wrong.
const OPTIONS: &[(&str, &[&str])] = &[
    ("--nodes", &["1", "2", "3", "8", "12", "0", "-1", "x", "100000001", ""]),
    ("-n", &["1", "2", "5", "16", "17"]),
    ("--ids", &["5,3,9", "ascending", "descending", "random", "1,1", "@/nonexistent/ids", "@", "random,", "7"]),
    ("--values", &["3.5,1,2", "-1,1e300,0", "nan,1,2", "1,2", "@/nonexistent/values", "5"]),
    ("--votes", &["0:1", "0:1,0:2", "9:9", ":"]),
    ("--cheat", &["0:rank", "2:ack", "99:ack", "1", "1:lie"]),
    ("--best", &["max", "min", "mix"]),
    (
        "--topology",
        &[
            "ring",
            "complete",
            "line",
            "star",
            "tree:2",
            "grid:2x4",
            "torus:3x3",
            "hypercube:3",
            "random:2-4",
            "small-world:4,0.1",
            "scale-free:2",
            "geometric:0.4",
            "file:/nonexistent/graph",
            "grid:0x4",
            "rign",
            "tree:",
        ],
    ),
    ("--initiators", &["all", "none", "random:2", "random:99", "0", "0,1@3", "7@0,1", "99", "0,0", "0@99999"]),
    ("--notice", &["oracle", "poll:3", "heartbeat:2", "term:9", "poll:0", "pol"]),
    ("--crash", &["0@0", "1@3", "2@5", "7@1", "99@1", "1", "1@", "@1", "0@20000"]),
    ("--recover", &["0@4", "1@9", "1@3"]),
    ("--join", &["2@4", "0@0", "1@7"]),
    ("--retire", &["0@6", "2@2"]),
    ("--cut", &["0-1@2", "0-5@2", "0-0@1", "1-2@0", "0-1"]),
    ("--heal", &["0-1@5", "all@6", "all"]),
    ("--partition", &["0-1/2-3@2", "0@1", "0-3,5/4@4", "0/0@1", "3-1@2", "0-99@3", "/@1"]),
    ("--delay", &["unit", "uniform:1-4", "uniform:4-1", "exponential:2", "exponential:0", "pareto:1,1.5", "pareto:1"]),
    ("--loss", &["0", "0.3", "1", "1.5", "-0.1", "nan"]),
    ("--duplicate", &["0", "0.01", "0.2", "2"]),
    ("--bandwidth", &["1", "3", "0"]),
    ("--medium", &["links", "broadcast", "ether"]),
    ("--seed", &["1", "18446744073709551615", "18446744073709551616"]),
    ("--until", &["0", "1", "40", "x"]),
    ("--threads", &["1", "2", "0"]),
    (
        "-p",
        &[
            "token=collect",
            "u=3",
            "u=0",
            "u=2",
            "depth=max",
            "depth=2",
            "depth=99",
            "aggregate=eager",
            "parts=3,5",
            "parts=0,8",
            "backoff=3",
            "sun-depth=2",
            "highest=announce",
            "tell=lower",
            "prepare=4",
            "T=0",
            "T=3",
            "M=18446744073709551615",
            "recovery=defer",
            "adapt=on",
            "period=0",
            "subordinates=2",
            "subordinates=99",
            "choice=best",
            "choice=random",
            "state=100",
            "noticing=2",
            "probe=4",
            "beacon=6",
            "ids=2",
            "rounds=off",
            "then=both",
            "R=1",
            "R=0",
            "nonsense=1",
            "u",
            "=",
        ],
    ),
    ("--trace", &["text", "jsonl", "mermaid", "svg", "shiviz", "svgg"]),
    ("--trace-to", &["/nonexistent/trace"]),
    ("--replay", &["/nonexistent/run"]),
    ("--format", &["text", "json", "xml"]),
];

fn option() -> impl Strategy<Value = Vec<String>> {
    let known = (0..OPTIONS.len()).prop_flat_map(|at| {
        let (name, values) = OPTIONS[at];
        (0..values.len()).prop_map(move |value| vec![name.to_string(), values[value].to_string()])
    });
    prop_oneof![
        12 => known,
        1 => Just(vec!["--unordered".to_string()]),
        1 => Just(vec!["--runs".to_string()]),
        1 => ("--[a-z-]{1,9}", "[ -~]{0,6}").prop_map(|(name, value)| vec![name, value]),
        1 => ((0..OPTIONS.len()), "\\PC{0,10}").prop_map(|(at, value)| {
            let name = OPTIONS[at].0;
            // The test must not write files.
            let value = if name == "--trace-to" { format!("/nonexistent/{value}") } else { value };
            vec![name.to_string(), value]
        }),
    ]
}

fn command_line() -> impl Strategy<Value = Vec<String>> {
    let names: Vec<&str> = hustings::algorithms::catalogue::ENTRIES.iter().map(|entry| entry.about.name).collect();
    let algorithm = prop_oneof![20 => proptest::sample::select(names).prop_map(str::to_string), 1 => "[a-z-]{0,12}"];
    let sim = (algorithm, proptest::collection::vec(option(), 0..6)).prop_map(|(algorithm, options)| {
        let mut line = vec!["sim".to_string(), algorithm];
        line.extend(options.into_iter().flatten());
        // The other limits are part of the test, but a run that goes on for long is not.
        if !line.iter().any(|word| word == "--until") {
            line.extend(["--until".to_string(), "300".to_string()]);
        }
        line
    });
    let other = proptest::collection::vec(
        prop_oneof![
            proptest::sample::select(vec![
                "list",
                "man",
                "completions",
                "bash",
                "sim",
                "cr",
                "--help",
                "--format",
                "json"
            ])
            .prop_map(str::to_string),
            "\\PC{0,8}",
        ],
        0..4,
    );
    prop_oneof![9 => sim, 1 => other]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2_000, ..ProptestConfig::default() })]

    #[test]
    fn every_command_line_gets_an_answer(line in command_line()) {
        let ran = common::inside(&line);
        prop_assert!((0..=3).contains(&ran.code));
        prop_assert_eq!(ran.code >= 2, ran.err.contains("error: "), "{}", ran.err);
        if ran.code <= 1 {
            prop_assert!(!ran.out.is_empty());
        }
    }
}
