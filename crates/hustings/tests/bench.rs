//! `hustings bench` measures what it says, in both forms. No time is asserted.

mod common;

use serde_json::Value;

fn bench(more: &[&str]) -> common::Ran {
    let sizes = ["bench", "--rings", "2000", "--graphs", "3000", "--rounds", "2", "--seed", "5", "--elections", "500"];
    common::inside(&sizes.iter().chain(more).map(|word| (*word).to_string()).collect::<Vec<_>>())
}

#[test]
fn both_workloads_are_told_as_one_object() {
    let ran = bench(&["--format", "json"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    let told: Value = serde_json::from_str(&ran.out).unwrap();
    let rows = told["bench"].as_array().unwrap();
    let of = |key: &str| rows.iter().map(|row| row[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("workload"), ["W1", "W2"]);
    assert_eq!(of("nodes"), [2000, 3000]);
    assert_eq!(of("rounds"), [2, 2]);
    assert_eq!(told["elections"]["runs"], 500);
    assert!(told["elections"]["per_second"].as_f64().unwrap() > 0.0, "{}", told["elections"]);
    for row in rows {
        assert!(row["ratio"].as_f64().unwrap() > 0.0 && row["thread_gain"].as_f64().unwrap() > 0.0, "{row}");
        assert!(row["messages"].as_u64().unwrap() > 10_000, "{row}");
        // Lanes keep a few places more than nodes.
        assert!((10.0..40.0).contains(&row["bytes_per_node"].as_f64().unwrap()), "{row}");
    }
}

#[test]
fn a_table_has_a_line_for_each_and_says_what_it_measures() {
    let ran = bench(&["--threads", "1"]);
    assert_eq!(ran.code, 0, "{}", ran.err);
    for word in ["W1", "W2", "loop", "engine", "bytes a node", "CPU time", "that a sweep holds in a second"] {
        assert!(ran.out.contains(word), "{word}: {}", ran.out);
    }
    assert!(ran.err.contains("n = 2000") && ran.err.contains("n = 3000"), "{}", ran.err);
}

#[test]
fn wrong_sizes_are_named() {
    let ran = common::inside(&["bench", "--rings", "3"].map(str::to_string));
    assert_eq!(ran.code, 2);
    assert!(ran.err.contains("3 nodes are too few to measure; at least 16"), "{}", ran.err);
}
