//! Tests of `hustings init`.

use crate::common;

use common::inside;
use hustings_cluster::config::Config;
use serde_json::Value;

#[test]
fn creates_a_cluster_and_prints_it_as_text_and_json() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = place.path().join("shop");
    let dir = folder.to_str().expect("its name is plain");
    let nodes = ["--node", "a=10.0.0.1:7401,priority=3", "--node", "b=10.0.0.2:7401", "--node", "w=h:1,role=witness"];
    let told = inside(&[&["init", dir], nodes.as_slice()].concat());
    assert_eq!((told.code, told.err.as_str()), (0, ""));
    assert!(told.out.contains("   1  a  10.0.0.1:7401  elector "), "{}", told.out);
    let config = Config::read(&folder.join("b/hustings.toml")).expect("what was written can be read");
    assert_eq!((config.cluster.as_str(), config.node.0, config.members.len()), ("shop", 2, 3));

    let again = inside(&[&["init", dir], nodes.as_slice()].concat());
    assert_eq!(again.code, 2);
    assert_eq!(again.err, format!("error: {dir}: the folder exists and is not empty; nothing was changed\n"));

    let other = place.path().join("other");
    let dir = other.to_str().expect("its name is plain");
    let line = [&["init", dir, "--cluster", "x", "--arbiter", "none", "--format", "json"], nodes.as_slice()].concat();
    let object: Value = serde_json::from_str(&inside(&line).out).expect("it is one object");
    assert_eq!(object["members"][2]["role"], "witness");
    assert_eq!(object["members"][0]["folder"], format!("{dir}/a"));
}

#[test]
fn the_timing_is_for_the_hosts_and_its_arithmetic_is_printed() {
    let place = tempfile::tempdir().expect("a folder for the test");
    for (profile, lease_ms, killed) in [
        (
            None,
            300,
            "exclusive  process killed                    notice 1.0 + arbiter 1.0 + election 10.0 + lease 292.0",
        ),
        (
            Some("cautious"),
            3_000,
            "fenced     process killed                    notice 1.0 + arbiter 1.0 + election 40.0",
        ),
        (Some("wan"), 10_000, "any        graceful                          stop 100.0 + release 1.0 + election 300.0"),
    ] {
        let folder = place.path().join(profile.unwrap_or("default"));
        let dir = folder.to_str().expect("its name is plain");
        let nodes = ["--node", "a=10.0.0.1:7401", "--node", "b=10.0.0.2:7401", "--node", "c=h:1"];
        let timing: Vec<&str> = profile.iter().flat_map(|profile| ["--timing", *profile]).collect();
        let told = inside(&[&["init", dir, "--cluster", "shop"], nodes.as_slice(), timing.as_slice()].concat());
        assert_eq!((told.code, told.err.as_str()), (0, ""));
        assert!(told.out.contains(killed), "{}", told.out);
        let config = Config::read(&folder.join("b/hustings.toml")).expect("what was written can be read");
        assert_eq!(config.timing.lease.as_millis(), lease_ms);
    }
    let folder = place.path().join("json");
    let dir = folder.to_str().expect("its name is plain");
    let line = ["init", dir, "--timing", "wan", "--node", "a=h:1", "--arbiter", "none", "--format", "json"];
    let object: Value = serde_json::from_str(&inside(&line).out).expect("it is one object");
    assert_eq!((&object["timing"], object["failover"].as_array().map(Vec::len)), (&"wan".into(), Some(1)));
    assert_eq!(object["failover"][0]["paths"][0]["loss"], "process killed");
}

#[test]
fn invalid_arguments_create_nothing() {
    let place = tempfile::tempdir().expect("a folder for the test");
    let folder = place.path().join("shop");
    let dir = folder.to_str().expect("its name is plain");
    for (rest, part) in [
        (&[][..], "--node"),
        (&["--node", "a"], "expected NAME=HOST:PORT"),
        (&["--node", "a=h:1", "--node", "a=h:2"], "`member: name` is `a`: it occurs twice"),
        (&["--node", "a=h:1", "--algorithm", "buly"], "did you mean `bully`?"),
        (&["--node", "a=h:1", "--algorithm", "itai-rodeh"], "is for nodes without ids"),
        (&["--node", "a=h:1,role=witness"], "at least one must be an elector"),
        (&["--node", "a=h:1", "--cluster", "A"], "`cluster` is `A`"),
        (&["--node", "a=h:1", "--authority-days", "10"], "for members no longer than for"),
    ] {
        let ran = inside(&[&["init", dir], rest].concat());
        assert_eq!(ran.code, 2, "{rest:?}: {}", ran.err);
        assert!(ran.err.contains(part), "{rest:?}: {}", ran.err);
        assert!(!folder.exists());
    }
    assert_eq!(inside(&["init", "/nonexistent/folder/shop", "--node", "a=h:1"]).code, 3);
}
