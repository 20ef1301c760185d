//! `hustings state`, with real nodes.

use std::fs;

use serde_json::Value;

use crate::processes::{Cluster, hustings};
use crate::run::{cluster, run_command, socket, start_with};

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

#[test]
fn a_command_of_run_leaves_its_state_to_the_next() {
    let cluster = cluster(&["a"]);
    let out = cluster.root().join("out");
    let binary = env!("CARGO_BIN_EXE_hustings");
    let at = format!("--socket {}", socket(&cluster, "a").display());
    let script = |number: u32| {
        format!(
            "{binary} state get job {at} >> {out} 2>&1; echo run {number} | {binary} state put job {at} >> {out}",
            out = out.display()
        )
    };
    for number in 1..=2 {
        let ended = start_with(run_command(&cluster, "a", &[], &["sh", "-c", &script(number)])).end();
        assert_eq!(ended.code, 0, "{:#?}", ended.log);
    }
    let text = fs::read_to_string(&out).expect("the command wrote it");
    let expected =
        "warning: no holder of `job` has stored a state\nstored 6 bytes for job\nrun 1\nstored 6 bytes for job\n";
    assert_eq!(text, expected);

    let state = json(&cluster.run("a", &["state", "get", "job", "--format", "json"]).out);
    assert_eq!((&state["state"]["text"], &state["state"]["holder"]), (&"run 2\n".into(), &"a".into()), "{state}");
    let token = state["state"]["token"].as_u64().expect("it has a token");
    let file = cluster.root().join("file");
    let path = file.to_str().expect("the path is UTF-8");
    let written = cluster.run("a", &["state", "get", "job", "--output", path]);
    assert!(written.code == 0 && written.out.contains("6 bytes, stored by a (token "), "{}", written.out);
    assert_eq!(fs::read(&file).expect("it was written"), b"run 2\n");

    // Nobody holds the office any more.
    let stale = cluster.run("a", &["state", "put", "job", path, "--token", &token.to_string()]);
    assert!(
        stale.code == 1 && stale.err.contains("not held with this token any more"),
        "{}: {}",
        stale.code,
        stale.err
    );
    let without = cluster.run("a", &["state", "put", "job", path]);
    assert!(without.code == 2 && without.err.contains("HUSTINGS_TOKEN is not set"), "{}", without.err);
    let absent = cluster.run("a", &["state", "put", "job", "/nowhere", "--token", "1"]);
    assert!(absent.code == 3 && absent.err.contains("/nowhere: No such file"), "{}", absent.err);
    fs::write(&file, vec![0; (1 << 20) + 1]).expect("the folder is ours");
    let large = cluster.run("a", &["state", "put", "job", path, "--token", "1"]);
    assert!(
        large.code == 2 && large.err.contains("larger than 1048576, the maximum (`limits.state`)"),
        "{}",
        large.err
    );
}

#[test]
fn states_are_listed_and_deleted() {
    let mut cluster = Cluster::new(&["a"], &[]);
    cluster.start(&["a"]);
    cluster.wait_for_agreement(&["a"], |_| true);
    let nothing = cluster.run("a", &["state", "list", "--format", "json"]);
    assert_eq!((nothing.code, json(&nothing.out)), (0, serde_json::json!({ "states": [] })));
    let held = json(&cluster.run("a", &["leader", "--format", "json"]).out)["token"].as_u64().expect("it is held");
    let put = || {
        let config = cluster.config("a");
        let path = config.to_str().expect("the path is UTF-8");
        cluster.run("a", &["state", "put", "leader", path, "--token", &held.to_string()])
    };
    assert_eq!(put().code, 0);
    let listed = json(&cluster.run("a", &["state", "list", "--format", "json"]).out);
    let bytes = fs::metadata(cluster.config("a")).expect("it is there").len();
    let state = &listed["states"][0];
    assert_eq!((&state["office"], &state["bytes"], &state["token"]), (&"leader".into(), &bytes.into(), &held.into()));
    let text = cluster.run("a", &["state", "list"]).out;
    let row: Vec<&str> = text.lines().nth(1).expect("there is a state").split_whitespace().collect();
    assert_eq!(row[..4], ["leader", &bytes.to_string(), "a", &held.to_string()], "{text}");

    let delete = |token: Option<u64>| {
        let token = token.map(|token| token.to_string());
        let options = token.iter().flat_map(|token| ["--token", token.as_str()]);
        cluster.run("a", &["state", "delete", "leader"].into_iter().chain(options).collect::<Vec<_>>())
    };
    let stale = delete(Some(held + 1));
    assert!(stale.code == 1 && stale.err.contains("not held with this token"), "{}: {}", stale.code, stale.err);
    let deleted = delete(Some(held));
    assert_eq!((deleted.code, deleted.out.as_str()), (0, "deleted the state of leader\n"), "{}", deleted.err);
    let absent = delete(None);
    assert!(absent.code == 1 && absent.err.contains("no holder of `leader` has stored a state"), "{}", absent.err);
    assert_eq!((put().code, delete(None).code), (0, 0), "an operator needs no token");
    let asked = "request={\"type\":\"delete-state\",\"office\":\"leader\",\"token\":null} result=done";
    cluster.wait_until("the order is in the log", || cluster.log("a").contains(asked).then_some(()));
}

#[test]
fn without_an_arbiter_there_are_no_states() {
    let mut cluster = Cluster::new(&["a"], &["--arbiter", "none"]);
    cluster.start(&["a"]);
    for action in [
        &["get", "leader"][..],
        &["put", "leader", "/dev/null", "--token", "1"],
        &["list"],
        &["delete", "leader", "--token", "1"],
        &["delete", "leader"],
    ] {
        let mut command = hustings();
        let ran = command.arg("state").args(action).arg("--config").arg(cluster.config("a")).output();
        let ran = ran.expect("start the binary");
        let text = String::from_utf8_lossy(&ran.stderr).into_owned();
        assert!(ran.status.code() == Some(2) && text.contains("arbiter = \"none\""), "{action:?}: {text}");
    }
}
