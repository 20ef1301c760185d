//! `hustings recover`, with real processes.

use crate::loopback;
use crate::processes;

use std::fs;
use std::path::Path;

use processes::Cluster;
use serde_json::Value;

const ALL: [&str; 3] = ["a", "b", "c"];

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn token(cluster: &Cluster, name: &str) -> u64 {
    let ran = cluster.run(name, &["leader", "--format", "json"]);
    json(&ran.out)["token"].as_u64().unwrap_or_else(|| panic!("{}{}", ran.out, ran.err))
}

/// The names of the members, according to one of them.
fn members(cluster: &Cluster, name: &str) -> Vec<String> {
    let list = json(&cluster.run(name, &["members", "--format", "json"]).out);
    let list = list["members"].as_array().expect("a list").iter();
    list.map(|member| member["name"].as_str().expect("a name").to_string()).collect()
}

/// A cluster of three that has lost two members with their data. Returns the highest token.
fn lost_majority() -> (Cluster, u64) {
    let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &[]);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    for to in ["c", "b"] {
        let moved = cluster.run("a", &["transfer", "leader", "--to", to]);
        assert_eq!((moved.code, moved.err.as_str()), (0, ""), "to {to}");
    }
    cluster.wait_for_agreement(&ALL, |leader| leader == "b");
    let last = token(&cluster, "a");
    let running = cluster.run("a", &["recover", "--yes"]);
    assert_eq!(running.code, 3, "{}", running.err);
    assert!(running.err.contains("is in use by another process\nhelp: stop the node first"), "{}", running.err);
    for name in ALL {
        cluster.kill(name);
    }
    for name in ["b", "c"] {
        fs::remove_dir_all(cluster.folder().join(name)).expect("it exists");
    }
    (cluster, last)
}

#[test]
fn a_cluster_that_lost_its_majority_continues_from_one_data_folder() {
    let (mut cluster, last) = lost_majority();
    let data = cluster.folder().join("a/data");
    let shown = cluster.run("a", &["recover", "--show", data.to_str().expect("a plain path"), "--format", "json"]);
    let shown = json(&shown.out);
    assert!(shown["last_index"].as_u64() >= Some(last) && shown["node"] == 1, "{shown}");
    assert_eq!(json(&cluster.run("a", &["recover", "--show", "--format", "json"]).out), shown);

    let before = fs::read(data.join("log")).expect("it is there");
    let unconfirmed = cluster.run("a", &["recover"]);
    assert_eq!(unconfirmed.code, 2, "{}", unconfirmed.err);
    assert!(
        unconfirmed.err.contains("nothing was changed") && unconfirmed.err.contains("--yes"),
        "{}",
        unconfirmed.err
    );
    assert!(
        unconfirmed.out.contains("removed: b, c") && unconfirmed.out.contains("What is lost"),
        "{}",
        unconfirmed.out
    );
    let planned = cluster.run("a", &["recover", "--dry-run", "--format", "json"]);
    assert_eq!((planned.code, &json(&planned.out)["recovered"]), (0, &Value::from(false)), "{}", planned.err);
    assert!(fs::read(data.join("log")).expect("it is there") == before, "nothing was changed");

    let floor = u64::MAX >> 8;
    let done = cluster.run("a", &["recover", "--yes", "--token-floor", &floor.to_string(), "--format", "json"]);
    assert_eq!((done.code, done.err.as_str()), (0, ""));
    let done = json(&done.out);
    assert_eq!((&done["recovered"], &done["survivor"]), (&Value::from(true), &Value::from("a")), "{done}");
    assert_eq!((&done["removed"], &done["token_floor"]), (&json(r#"["b", "c"]"#), &Value::from(floor)), "{done}");
    assert!(fs::read(data.join("log.backup-1")).expect("a backup") == before);

    cluster.start(&["a"]);
    cluster.wait_for_agreement(&["a"], |leader| leader == "a");
    let first = token(&cluster, "a");
    assert!(first > floor && floor > last, "{last} {floor} {first}");
    assert_eq!(members(&cluster, "a"), ["a"]);
    add_again(&mut cluster);
}

/// A member is added again under its old name, and takes the office over.
fn add_again(cluster: &mut Cluster) {
    let authority = cluster.folder();
    let dir = authority.to_str().expect("a plain path");
    for name in ["b", "c"] {
        let removed = cluster.run("a", &["members", "remove", name, "--dir", dir]);
        assert_eq!((removed.code, removed.err.as_str()), (0, ""), "{name}");
    }
    let spec = format!("b=127.0.0.1:{}", loopback::free_ports(1)[0]);
    let added = cluster.run("a", &["members", "add", &spec, "--dir", dir, "--format", "json"]);
    assert_eq!((added.code, added.err.as_str()), (0, ""));
    assert_eq!(json(&added.out)["id"], 4, "ids are never used again");
    cluster.start(&["b"]);
    cluster.wait_for_agreement(&["a", "b"], |leader| leader == "a");
    let before = token(cluster, "b");
    let moved = cluster.run("b", &["transfer", "leader", "--to", "b"]);
    assert_eq!((moved.code, moved.err.as_str()), (0, ""));
    cluster.wait_for_agreement(&["a", "b"], |leader| leader == "b");
    assert!(token(cluster, "a") > before);
    assert_eq!(members(cluster, "b"), ["a", "b"]);
}

#[test]
fn a_cluster_that_gets_an_arbiter_begins_above_the_token_floor() {
    let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &["--arbiter", "none"]);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |leader| leader == "a");
    let without = cluster.run("a", &["recover", "--new", "--token-floor", "5000", "--yes"]);
    assert_eq!(without.code, 2, "{}", without.err);
    assert!(without.err.contains("arbiter = \"none\""), "{}", without.err);
    for name in ALL {
        assert_eq!(cluster.terminate(name), Some(0));
    }
    cluster.edit(&ALL, "arbiter = \"none\"", "arbiter = \"raft\"");
    for name in ALL {
        let unconfirmed = cluster.run(name, &["recover", "--new", "--token-floor", "5000"]);
        assert_eq!(unconfirmed.code, 2, "{}", unconfirmed.err);
        let begun = cluster.run(name, &["recover", "--new", "--token-floor", "5000", "--yes"]);
        assert_eq!((begun.code, begun.err.as_str()), (0, ""));
    }
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    assert!(token(&cluster, "c") > 5000);
    cluster.kill("a");
    let again = cluster.run("a", &["recover", "--new", "--token-floor", "9000", "--yes"]);
    assert_eq!(again.code, 3, "{}", again.err);
    assert!(again.err.contains("its log cannot begin again"), "{}", again.err);
}

#[test]
fn a_recovery_needs_a_folder_that_exists_and_a_sensible_floor() {
    let cluster = Cluster::new(&["a", "b", "c"], &[]);
    let missing = cluster.run("a", &["recover", "--yes"]);
    assert_eq!(missing.code, 3, "{}", missing.err);
    assert!(missing.err.contains("holds no state of a node"), "{}", missing.err);
    for args in
        [&["recover", "--new", "--yes"][..], &["recover", "--yes", "--dry-run"], &["recover", "--token-floor", "x"]]
    {
        assert_eq!(cluster.run("a", args).code, 2, "{args:?}");
    }
    let high = cluster.run("a", &["recover", "--new", "--token-floor", "18446744073709551615", "--yes"]);
    assert_eq!(high.code, 2, "{}", high.err);
    assert!(high.err.contains("a floor is a number from 1 to 2305843009213693952"), "{}", high.err);
}

/// Copies a folder.
fn copy_all(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder can be created");
    for entry in fs::read_dir(from).expect("it exists") {
        let (path, to) = entry.map(|entry| (entry.path(), to.join(entry.file_name()))).expect("it can be listed");
        match path.is_dir() {
            true => copy_all(&path, &to),
            false if path.is_file() => _ = fs::copy(&path, &to).expect("it can be copied"),
            // A socket is not copied.
            false => {}
        }
    }
}

#[test]
fn an_older_copy_of_a_data_folder_is_refused() {
    let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &[]);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    let [data, old, newest] = ["c/data", "c/old", "c/newest"].map(|path| cluster.folder().join(path));
    cluster.kill("c");
    copy_all(&data, &old);
    cluster.start(&["c"]);
    for to in ["b", "a", "b"] {
        cluster.wait_for_agreement(&ALL, |_| true);
        let moved = cluster.run("a", &["transfer", "leader", "--to", to]);
        assert_eq!((moved.code, moved.err.as_str()), (0, ""), "to {to}");
    }
    cluster.wait_for_agreement(&ALL, |leader| leader == "b");
    let last = token(&cluster, "a");
    cluster.kill("c");
    fs::rename(&data, &newest).expect("it exists");
    copy_all(&old, &data);
    // Whoever leads: `a` is gone, and the copy and `b` would be a majority.
    cluster.kill("a");
    for start in ["first", "second"] {
        let error = cluster.start_and_wait_for_exit("c");
        assert!(error.contains("is older than the one that the cluster has seen it run with"), "{start}: {error}");
        assert!(error.contains("help: put the folder back that the node ran with last"), "{start}: {error}");
    }
    fs::remove_dir_all(&data).expect("it exists");
    fs::rename(&newest, &data).expect("it exists");
    cluster.start(&["c"]);
    cluster.wait_for_agreement(&["b", "c"], |_| true);
    let moved = cluster.run("b", &["transfer", "leader", "--to", "c"]);
    assert_eq!((moved.code, moved.err.as_str()), (0, ""));
    assert!(token(&cluster, "c") > last);
}

#[test]
fn two_wiped_members_of_three_begin_no_new_cluster() {
    let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &[]);
    cluster.start(&["a", "b"]);
    let waits = "a new cluster begins when all its first voters have been heard; waiting for c";
    let says = |cluster: &Cluster, name: &str| cluster.run(name, &["status"]).out.contains(waits);
    cluster.wait_until("a waits", || (says(&cluster, "a") && cluster.log("a").contains(waits)).then_some(()));
    cluster.start(&["c"]);
    cluster.wait_for_agreement(&ALL, |_| true);
    let last = token(&cluster, "a");
    ALL.iter().for_each(|name| cluster.kill(name));
    for name in ["a", "b"] {
        fs::remove_dir_all(cluster.folder().join(name).join("data")).expect("it exists");
    }
    cluster.start(&["a", "b"]);
    cluster.wait_until("b waits", || says(&cluster, "b").then_some(()));
    cluster.start(&["c"]);
    for name in ["a", "b"] {
        assert_eq!(cluster.wait_for_exit(name), Some(4), "{}", cluster.log(name));
        let log = cluster.log(name);
        assert!(log.contains("is not the one that the cluster knows"), "{log}");
    }
    assert_ne!(cluster.leader("c").as_deref(), Some("c"), "one of three is no majority, after token {last}");
}

/// The commands that the error names are all that it takes.
#[test]
fn a_member_that_lost_its_disk_is_replaced_as_the_error_says() {
    let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &[]);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    cluster.kill("c");
    let data = cluster.folder().join("c/data");
    fs::remove_dir_all(&data).expect("it exists");
    let log = cluster.start_and_wait_for_exit("c");
    assert!(log.contains(" ERROR stopped: its data folder is not the one"), "{log}");
    let help = log.lines().find_map(|line| line.strip_prefix("help: ")).unwrap_or_else(|| panic!("no help: {log}"));
    let dir = cluster.folder().display().to_string();
    let commands: Vec<String> =
        help.split('`').skip(1).step_by(2).map(|command| command.replace("DIR", &dir)).collect();
    let commands: Vec<&String> =
        commands.iter().filter(|command| command.contains(' ') && !command.contains("init")).collect();
    assert_eq!(commands.len(), 4, "{help}");
    for command in commands {
        let words: Vec<&str> = command.split_whitespace().collect();
        match words[..] {
            ["hustings", ref words @ ..] => {
                let ran = cluster.run("a", words);
                assert_eq!((ran.code, ran.err.as_str()), (0, ""), "{command}");
            }
            ["rm", "-r", path] => fs::remove_dir_all(path).unwrap_or_else(|error| {
                // Here both are on one host: the files of the member are those of the authority's folder.
                assert!(Path::new(path) == data && error.kind() == std::io::ErrorKind::NotFound, "{command}: {error}");
            }),
            _ => panic!("{command}"),
        }
    }
    cluster.start(&["c"]);
    cluster.wait_for_agreement(&ALL, |_| true);
    assert_eq!(members(&cluster, "c"), ALL);
}

#[test]
fn a_cluster_begins_by_hand_without_a_first_voter() {
    let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &[]);
    for name in ["a", "b"] {
        let begun = cluster.run(name, &["recover", "--new", "--token-floor", "1", "--yes"]);
        assert_eq!(begun.code, 0, "{}", begun.err);
    }
    cluster.start(&["a", "b"]);
    cluster.wait_for_agreement(&["a", "b"], |_| true);
    cluster.start(&["c"]);
    cluster.wait_for_agreement(&ALL, |_| true);
}

#[test]
fn of_two_processes_that_run_as_the_same_member_the_earlier_one_stops() {
    let mut cluster = Cluster::new(&["a,priority=3", "b,priority=2", "c"], &[]);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |leader| leader == "a");
    // From then on it leads nothing, so that its copy is not an older one.
    cluster.kill("c");
    cluster.start(&["c"]);
    cluster.wait_for_agreement(&ALL, |_| true);
    cluster.kill("c");
    let (own, clone) = (cluster.folder().join("c"), cluster.folder().join("clone"));
    copy_all(&own, &clone);
    cluster.start(&["c"]);
    cluster.wait_for_agreement(&ALL, |_| true);
    let listen = format!("listen = \"127.0.0.1:{}\"\ncluster =", loopback::free_ports(1)[0]);
    cluster.edit(&["clone"], "cluster =", &listen);
    cluster.start(&["clone"]);
    assert_eq!(cluster.wait_for_exit("c"), Some(4), "{}", cluster.log("c"));
    let log = cluster.log("c");
    assert!(log.contains("error: another process that was started later runs as this member"), "{log}");
    assert!(log.contains("help: a copy of this machine or of its folder runs elsewhere"), "{log}");
    cluster.wait_for_agreement(&["a", "b", "clone"], |_| true);
}
