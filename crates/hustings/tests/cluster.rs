//! Clusters of real processes, run by the real binary.

use crate::common;
use crate::loopback;
use crate::processes;

use std::sync::Mutex;
use std::time::{Duration, Instant};

use hustings::algorithms::catalogue::ENTRIES;
use processes::Cluster;
use serde_json::Value;

const ALL: [&str; 3] = ["a", "b", "c"];

fn others(name: &str) -> Vec<&'static str> {
    ALL.into_iter().filter(|other| *other != name).collect()
}

fn json(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_else(|error| panic!("{text}: {error}"))
}

fn three(options: &[&str]) -> Cluster {
    Cluster::new(&["a,priority=3", "b,priority=2", "c"], options)
}

#[test]
fn another_member_leads_when_the_leader_is_killed() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    let first = cluster.wait_for_agreement(&ALL, |_| true);
    let rest = others(&first);
    let token = |name: &str| json(&cluster.run(name, &["leader", "--format", "json"]).out)["token"].as_u64();
    let before = token(rest[0]).expect("there is a leader");
    cluster.kill(&first);
    let second = cluster.wait_for_agreement(&rest, |leader| leader != first);
    let after = json(&cluster.run(rest[0], &["leader", "--format", "json"]).out)["token"].as_u64();
    assert!(after > Some(before), "{after:?} is not above {before}");
    // The old leader comes back and does not preempt (preempt = "never").
    let watch = cluster.watch(&second, &["leader"]);
    watch.wait_for_line(&second);
    cluster.start(&[&first]);
    cluster.wait_for_agreement(&ALL, |leader| leader == second);
    // Longer than `timing.settle`.
    let changes = watch.collect_for(Duration::from_millis(2500));
    assert!(changes.iter().all(|line| line.contains(&format!("leader: {second} "))), "{changes:#?}");
}

#[test]
fn the_highest_priority_preempts_with_preempt_better() {
    let mut cluster = three(&[]);
    cluster.edit(&ALL, "preempt = \"never\"", "preempt = \"better\"");
    // A lease that expires would move the office as well.
    cluster.be_patient(&ALL);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |leader| leader == "a");
    cluster.kill("a");
    cluster.wait_for_agreement(&["b", "c"], |leader| leader == "b");
    cluster.start(&["a"]);
    cluster.wait_for_agreement(&ALL, |leader| leader == "a");
    let history = json(&cluster.run("c", &["history", "leader", "--format", "json"]).out);
    let changes = history["changes"].as_array().expect("there were changes");
    let grants: Vec<&Value> = changes.iter().filter(|change| !change["holder"].is_null()).collect();
    let lost = grants.iter().rposition(|grant| grant["holder"] == "b").expect("it led in between");
    let back = grants.get(lost + 1).unwrap_or_else(|| panic!("{history}"));
    assert_eq!((&back["holder"], &back["reason"]), (&Value::from("a"), &Value::from("preempted")), "{history}");
}

#[test]
fn transfer_and_resign_hand_the_office_over() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    let first = cluster.wait_for_agreement(&ALL, |_| true);
    let watch = cluster.watch("a", &["leader"]);
    watch.wait_for_line(&format!("leader: {first} (token "));
    let next = others(&first)[0];

    let moved = cluster.run("c", &["transfer", "leader", "--to", next]);
    assert_eq!((moved.code, moved.err.as_str()), (0, ""));
    assert!(watch.wait_for_line(&format!("leader: {next} ")).contains("an operator transferred it"));
    cluster.wait_for_agreement(&ALL, |leader| leader == next);

    let resigned = cluster.run("b", &["resign", "leader", "--format", "json"]);
    assert_eq!(resigned.code, 0, "{}", resigned.err);
    let third = cluster.wait_for_agreement(&ALL, |leader| leader != next);
    watch.wait_for_line(&format!("leader: {third} "));

    let history = cluster.run("a", &["history"]);
    for part in ["an operator transferred it", "the holder resigned"] {
        assert!(history.out.contains(part), "{}", history.out);
    }
    let status = json(&cluster.run("b", &["status", "--format", "json"]).out);
    assert_eq!((&status["cluster"], &status["node"]), (&Value::from("test"), &Value::from("b")));
    assert_eq!((&status["arbiter"], &status["paused"]), (&Value::from("raft"), &Value::from(false)));
    assert_eq!(status["members"].as_array().map(Vec::len), Some(3));
    let text = cluster.run("b", &["status"]).out;
    assert!(text.contains("cluster test, seen by b; algorithm bully") && text.contains('★'), "{text}");
}

#[test]
fn a_pause_prevents_elections() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    let first = cluster.wait_for_agreement(&ALL, |_| true);
    let rest = others(&first);
    let paused = cluster.run(rest[0], &["pause"]);
    assert_eq!((paused.code, paused.err.as_str()), (0, ""));
    cluster.wait_until("it is paused", || {
        (json(&cluster.run(rest[1], &["status", "--format", "json"]).out)["paused"] == true).then_some(())
    });
    cluster.kill(&first);
    // Once the failure is detected, the office is vacant.
    cluster
        .wait_until("the loss is seen", || (cluster.run(rest[0], &["leader", "--wait", "0s"]).code == 1).then_some(()));
    let start = Instant::now();
    let unelected = cluster.run(rest[1], &["leader", "--wait", "400ms"]);
    assert!(unelected.code == 1 && unelected.out.is_empty(), "{}{}", unelected.out, unelected.err);
    let has_waited = start.elapsed() >= Duration::from_millis(400);
    let says_why = unelected.err.contains("nobody holds `leader`") || unelected.err.contains("has failed");
    assert!(has_waited && says_why, "{:?}: {}", start.elapsed(), unelected.err);
    let watch = cluster.watch(rest[0], &["leader"]);
    let seen = watch.collect_for(Duration::from_millis(1500));
    assert!(!seen.is_empty(), "how things are is the first line");
    let somebody = |line: &String| line.starts_with("leader: ") && line.contains("since");
    assert!(!seen.iter().any(somebody), "{seen:#?}");
    assert_eq!(cluster.run(rest[1], &["resume", "--format", "json"]).out, "{\"paused\":false}\n");
    cluster.wait_for_agreement(&rest, |leader| leader != first);
}

#[test]
fn sigterm_hands_the_office_over_first() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    let first = cluster.wait_for_agreement(&ALL, |_| true);
    let rest = others(&first);
    let watch = cluster.watch(rest[0], &["leader"]);
    watch.wait_for_line(&first);
    assert_eq!(cluster.terminate(&first), Some(0));
    let second = cluster.wait_for_agreement(&rest, |leader| leader != first);
    let told = watch.wait_for_line(&format!("leader: {second} "));
    assert!(told.contains("the holder resigned") || told.contains("the holder shut down gracefully"), "{told}");
}

#[test]
fn a_minority_does_not_claim_to_know_the_leader() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    let first = cluster.wait_for_agreement(&ALL, |_| true);
    let rest = others(&first);
    cluster.kill(rest[0]);
    cluster.kill(rest[1]);
    let alone = cluster.wait_until("it has noticed", || {
        let ran = cluster.run(&first, &["leader", "--wait", "0s"]);
        (ran.code == 1).then_some(ran)
    });
    assert_eq!(
        (alone.out.as_str(), alone.err.contains("is not known: this node cannot reach a majority")),
        ("", true),
        "{}",
        alone.err
    );
    let refused = cluster.run(&first, &["pause"]);
    assert_eq!(refused.code, 3, "{}{}", refused.out, refused.err);
    let status = cluster.run(&first, &["status"]);
    assert!(status.code == 0 && status.out.contains("cannot reach a majority"), "{}", status.out);
}

#[test]
fn adds_and_removes_members() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    let folder = cluster.folder();
    let dir = folder.to_str().expect("its name is plain");
    let spec = format!("d=127.0.0.1:{}", loopback::free_ports(1)[0]);
    let added = cluster.run("a", &["members", "add", &spec, "--dir", dir]);
    assert_eq!((added.code, added.err.as_str()), (0, ""));
    assert!(
        added.out.contains("d is now member 4 of the cluster") && added.out.contains("c/d/hustings.toml"),
        "{}",
        added.out
    );
    cluster.start(&["d"]);
    cluster.wait_for_agreement(&["a", "b", "c", "d"], |_| true);
    let members = json(&cluster.run("d", &["members", "--format", "json"]).out);
    let names: Vec<&str> =
        members["members"].as_array().expect("a list").iter().filter_map(|member| member["name"].as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);

    let unknown = cluster.run("a", &["members", "remove", "dd"]);
    let help = "error: there is no member `dd`\nhelp: the nearest is `d`; `hustings members` lists all members\n";
    assert_eq!((unknown.code, unknown.err.as_str()), (2, help));
    let removed = cluster.run("a", &["members", "remove", "d", "--dir", dir]);
    let left = folder.join("d");
    let said = format!(
        "d is no longer a member\nIts files are left. Before you add a member of this name again: rm -r {}\n",
        left.display()
    );
    assert_eq!((removed.code, removed.out.as_str()), (0, said.as_str()), "{}", removed.err);
    assert_eq!(cluster.wait_for_exit("d"), Some(3), "it stops when it hears of it");
    cluster.wait_for_agreement(&ALL, |_| true);
}

#[test]
fn a_removed_leader_is_not_missed_when_all_that_remain_are_killed() {
    for (members, missing) in [(&["a", "b"][..], 0), (&["a", "b", "c", "d"], 1)] {
        let mut cluster = Cluster::new(members, &[]);
        cluster.start(members);
        cluster.wait_for_agreement(members, |_| true);
        let leader = cluster.wait_until("the arbiter has a leader", || {
            let status = json(&cluster.run("a", &["status", "--format", "json"]).out);
            status["arbiter_leader"].as_str().map(str::to_string)
        });
        let mut left: Vec<&str> = members.iter().copied().filter(|name| *name != leader).collect();
        left.drain(..missing).for_each(|name| cluster.kill(name));
        cluster.wait_for_agreement(&left, |holder| left.contains(&holder) || holder == leader);
        let folder = cluster.folder();
        let dir = folder.to_str().expect("its name is plain");
        let removed = cluster.run(left[0], &["members", "remove", &leader, "--dir", dir]);
        assert_eq!((removed.code, removed.err.as_str()), (0, ""));
        left.iter().for_each(|name| cluster.kill(name));
        cluster.kill(&leader);
        cluster.start(&left);
        cluster.wait_for_agreement(&left, |holder| left.contains(&holder));
    }
}

#[test]
fn a_member_that_never_joined_can_be_removed() {
    let mut cluster = three(&[]);
    let folder = cluster.folder();
    let dir = folder.to_str().expect("its name is plain");
    let ports = loopback::free_ports(2);
    let (late, soon) = (format!("late=127.0.0.1:{}", ports[0]), format!("soon=127.0.0.1:{}", ports[1]));
    cluster.start(&["a"]);
    let refused = cluster.run("a", &["members", "add", &late, "--dir", dir]);
    assert!(refused.code == 3 && refused.err.contains("no majority"), "{}", refused.err);
    cluster.start(&["b", "c"]);
    cluster.wait_for_agreement(&ALL, |_| true);
    let added = cluster.run("a", &["members", "add", &soon, "--dir", dir]);
    assert_eq!((added.code, added.err.as_str()), (0, ""));
    let refused = cluster.run("a", &["members", "add", &late, "--dir", dir]);
    let why = "`late` has the id 4, but ids up to 5 are already taken";
    assert!(refused.code != 0 && refused.err.contains(why), "{}", refused.err);
    let forgotten = cluster.run("a", &["members", "remove", "late", "--dir", dir]);
    assert!(forgotten.code == 0 && forgotten.out.starts_with("late is no longer a member\n"), "{}", forgotten.err);
    // The old files are in the way, and the error says what to do about it.
    let in_the_way = cluster.run("a", &["members", "add", &late, "--dir", dir]);
    let command = format!("rm -r {}", folder.join("late").display());
    assert!(in_the_way.code == 2 && in_the_way.err.contains(&command), "{}", in_the_way.err);
    std::fs::remove_dir_all(folder.join("late")).expect("its files are there");
    let added = cluster.run("a", &["members", "add", &late, "--dir", dir]);
    assert!(added.code == 0 && added.out.contains("late is now member 6"), "{} {}", added.out, added.err);
}

#[test]
fn warns_loudly_without_an_arbiter() {
    let mut cluster = three(&["--arbiter", "none", "--algorithm", "chang-roberts"]);
    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |leader| leader == "a");
    let status = cluster.run("b", &["status"]).out;
    assert!(status.contains("each part of a partitioned cluster elects its own leader"), "{status}");
    let log = std::fs::read_to_string(cluster.folder().with_file_name("b.log")).expect("it has one");
    assert!(log.starts_with("warning: arbiter = \"none\""), "{log}");
    let refused = cluster.run("b", &["pause"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
}

#[test]
fn exit_codes_tell_wrong_use_from_failures() {
    let mut cluster = three(&[]);
    let nobody = cluster.run("a", &["status", "--wait", "0s"]);
    assert_eq!((nobody.code, nobody.err.contains("is the node running?")), (3, true), "{}", nobody.err);
    let nothing = common::inside(&["status", "--config", "/nonexistent/hustings.toml"]);
    assert_eq!(nothing.code, 2);
    assert!(nothing.err.contains("help: use --config FILE to name the node's configuration"), "{}", nothing.err);
    assert_eq!(common::inside(&["leader", "--config", "x", "--socket", "y"]).code, 2);
    assert_eq!(common::inside(&["transfer", "leader"]).code, 2);

    cluster.start(&ALL);
    cluster.wait_for_agreement(&ALL, |_| true);
    for (args, code, part) in [
        (&["transfer", "leader", "--to", "x"][..], 2, "there is no member `x`"),
        (&["transfer", "leder", "--to", "a"], 2, "there is no office `leder`\nhelp: the nearest is `leader`"),
        (&["resign", "leder"], 2, "help: the nearest is `leader`"),
        (&["history", "leder"], 2, "help: the nearest is `leader`"),
        (&["leader", "leder", "--wait", "0s"], 1, "nobody holds `leder`; did you mean the office `leader`?"),
        (&["members", "add", "a=127.0.0.1:1", "--dir", "/nonexistent"], 2, "there is a member `a` already"),
        (&["members", "add", "x", "--dir", "/nonexistent"], 2, "expected NAME=HOST:PORT"),
        (&["members", "add", "x=127.0.0.1:1", "--dir", "/nonexistent"], 3, "/nonexistent"),
    ] {
        let ran = cluster.run("a", args);
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}

#[test]
fn explains_the_timing_for_both_modes() {
    let cluster = three(&[]);
    let text = cluster.run("a", &["node", "--explain-timing"]);
    assert_eq!((text.code, text.err.as_str()), (0, ""));
    assert!(
        text.out.contains("fenced office, 3 nodes") && text.out.contains("exclusive office, 3 nodes"),
        "{}",
        text.out
    );
    let object = json(&cluster.run("a", &["node", "--explain-timing", "--format", "json"]).out);
    let worst = |mode: usize| object["modes"][mode]["paths"][0]["worst_us"].as_u64().expect("a number");
    let timing = hustings::cluster::timing::Timing::default();
    let (wait, lease) = (u128::from(worst(1) - worst(0)), timing.lease.as_micros());
    assert!(wait > lease && wait < 2 * lease, "it waits for lease, drift and margin: {object}");
    let lease = format!("lease = \"{}\"", humantime::format_duration(timing.lease));
    cluster.edit(&["a"], &lease, "lease = \"1ms\"");
    let wrong = cluster.run("a", &["node"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
}

#[test]
fn a_command_waits_for_its_node_to_come_up() {
    let mut cluster = three(&[]);
    let early = cluster.spawn("a", &["status", "--wait", "30s"]);
    cluster.start(&ALL);
    let status = early.wait();
    assert_eq!((status.code, status.err.as_str()), (0, ""), "{}", status.out);
    assert!(status.out.contains("cluster test, seen by a"), "{}", status.out);
}

#[test]
fn leader_waits_until_the_first_election_is_over() {
    let mut cluster = three(&[]);
    let early = cluster.spawn("c", &["leader", "--wait", "30s"]);
    let resigned = cluster.spawn("b", &["resign", "leader", "--wait", "30s"]);
    cluster.start(&ALL);
    let (leader, resigned) = (early.wait(), resigned.wait());
    assert_eq!((leader.code, leader.err.as_str()), (0, ""), "{}", leader.out);
    assert!(ALL.contains(&leader.out.trim()), "{}", leader.out);
    assert_eq!((resigned.code, resigned.err.as_str()), (0, ""), "{}", resigned.out);
    assert!(resigned.out.contains("the holder resigned"), "{}", resigned.out);
}

#[test]
fn leader_prints_the_next_holder_right_after_a_kill() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    let first = cluster.wait_for_agreement(&ALL, |_| true);
    cluster.kill(&first);
    // Asked once. The office is exclusive, so the next holder comes when the lease of the killed one has expired.
    for name in others(&first) {
        let next = cluster.run(name, &["leader", "--wait", "30s"]);
        assert_eq!((next.code, next.err.as_str()), (0, ""), "{}", next.out);
        assert_ne!(next.out.trim(), first, "{name} names the member that was killed");
    }
}

#[test]
fn a_command_stops_waiting_for_a_node_that_does_not_come_up() {
    let cluster = three(&[]);
    for (wait, text) in [("0s", "hustings.sock: No such file"), ("300ms", "hustings.sock after 300ms: No such file")] {
        let start = Instant::now();
        for command in [&["leader"][..], &["watch"], &["history"], &["pause"], &["members"], &["resign", "leader"]] {
            let ran = cluster.run("a", &[command, &["--wait", wait]].concat());
            assert_eq!(ran.code, 3, "{command:?}: {}", ran.err);
            assert!(ran.err.contains(text) && ran.err.contains("is the node running?"), "{command:?}: {}", ran.err);
        }
        assert!(start.elapsed() < Duration::from_secs(20), "{:?}", start.elapsed());
    }
    let unreadable = cluster.run("a", &["leader", "--wait", "soon"]);
    assert_eq!(unreadable.code, 2, "{}", unreadable.err);
}

const FIVE: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The highest-ranked of five leads; it is killed, and the next one leads.
fn elect_kill_and_elect_again(algorithm: &str) {
    // Priorities differ from the order of ids, so that the test shows which counts.
    let members = ["a,priority=2", "b,priority=5", "c,priority=1", "d,priority=4", "e,priority=3"];
    let mut cluster = Cluster::new(&members, &["--algorithm", algorithm]);
    cluster.edit(&FIVE, "preempt = \"never\"", "preempt = \"better\"");
    cluster.edit(&FIVE, "mode = \"exclusive\"", "mode = \"fenced\"");
    cluster.edit(&FIVE, "settle = \"1s\"", "settle = \"50ms\"");
    cluster.start(&FIVE);
    cluster.wait_for_agreement(&FIVE, |leader| leader == "b");
    cluster.kill("b");
    cluster.wait_for_agreement(&["a", "c", "d", "e"], |leader| leader == "d");
}

#[test]
fn every_algorithm_elects_the_highest_ranked_of_five_and_again_after_a_kill() {
    let electors = ENTRIES.iter().filter(|entry| entry.about.elects_by_id());
    let names: Vec<&str> = electors.map(|entry| entry.about.name).collect();
    assert!(names.len() >= 19, "{names:?}");
    let left = Mutex::new(names);
    // Three clusters at a time.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(name) = { left.lock().expect("nobody panics with it").pop() } {
                    elect_kill_and_elect_again(name);
                }
            });
        }
    });
}
