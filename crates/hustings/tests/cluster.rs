//! Clusters of real processes, by the real binary.

mod common;
mod loopback;
mod processes;

use std::sync::Mutex;
use std::time::Duration;

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
    Cluster::found(&["a,priority=3", "b,priority=2", "c"], options)
}

#[test]
fn three_nodes_agree_and_the_next_leads_when_the_leader_is_killed() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    let first = cluster.agreed(&ALL, |_| true);
    let rest = others(&first);
    let token = |name: &str| json(&cluster.ask(name, &["leader", "--format", "json"]).out)["token"].as_u64();
    let before = token(rest[0]).expect("there is a leader");
    cluster.kill(&first);
    let second = cluster.agreed(&rest, |leader| leader != first);
    let after = json(&cluster.ask(rest[0], &["leader", "--format", "json"]).out)["token"].as_u64();
    assert!(after > Some(before), "{after:?} is not above {before}");
    // The old one is back, and knows it too; nobody takes the office away (preempt = "never").
    let watch = cluster.watch(&second, &["leader"]);
    watch.see(&second);
    cluster.start(&[&first]);
    cluster.agreed(&ALL, |leader| leader == second);
    // Longer than it takes to settle.
    let changes = watch.during(Duration::from_millis(2500));
    assert!(changes.iter().all(|line| line.contains(&format!("leader: {second} "))), "{changes:#?}");
}

#[test]
fn the_preferred_one_leads_again_with_preempt_better() {
    let mut cluster = three(&[]);
    cluster.edit(&ALL, "preempt = \"never\"", "preempt = \"better\"");
    cluster.start(&ALL);
    cluster.agreed(&ALL, |leader| leader == "a");
    cluster.kill("a");
    cluster.agreed(&["b", "c"], |leader| leader == "b");
    cluster.start(&["a"]);
    cluster.agreed(&ALL, |leader| leader == "a");
    let history = json(&cluster.ask("c", &["history", "leader", "--format", "json"]).out);
    let last = history["changes"].as_array().and_then(|changes| changes.last()).expect("there were changes");
    assert_eq!((&last["holder"], &last["why"]), (&Value::from("a"), &Value::from("preempted")), "{history}");
}

#[test]
fn offices_are_handed_over_and_everybody_can_see_it() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    let first = cluster.agreed(&ALL, |_| true);
    let watch = cluster.watch("a", &["leader"]);
    watch.see(&format!("leader: {first} (token "));
    let next = others(&first)[0];

    let moved = cluster.ask("c", &["transfer", "leader", "--to", next]);
    assert_eq!((moved.code, moved.err.as_str()), (0, ""));
    assert!(watch.see(&format!("leader: {next} ")).contains("an operator said so"));
    cluster.agreed(&ALL, |leader| leader == next);

    let resigned = cluster.ask("b", &["resign", "leader", "--format", "json"]);
    assert_eq!(resigned.code, 0, "{}", resigned.err);
    let third = cluster.agreed(&ALL, |leader| leader != next);
    watch.see(&format!("leader: {third} "));

    let history = cluster.ask("a", &["history"]);
    for part in ["an operator said so", "its holder resigned"] {
        assert!(history.out.contains(part), "{}", history.out);
    }
    let status = json(&cluster.ask("b", &["status", "--format", "json"]).out);
    assert_eq!((&status["cluster"], &status["node"]), (&Value::from("test"), &Value::from("b")));
    assert_eq!((&status["arbiter"], &status["paused"]), (&Value::from("raft"), &Value::from(false)));
    assert_eq!(status["members"].as_array().map(Vec::len), Some(3));
    let text = cluster.ask("b", &["status"]).out;
    assert!(text.contains("cluster test, as b sees it; algorithm bully") && text.contains('★'), "{text}");
}

#[test]
fn nobody_new_is_elected_during_a_pause() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    let first = cluster.agreed(&ALL, |_| true);
    let rest = others(&first);
    let paused = cluster.ask(rest[0], &["pause"]);
    assert_eq!((paused.code, paused.err.as_str()), (0, ""));
    cluster.until("it is paused", || {
        (json(&cluster.ask(rest[1], &["status", "--format", "json"]).out)["paused"] == true).then_some(())
    });
    cluster.kill(&first);
    // It takes a while until the loss is known. After that, there is nobody.
    cluster.until("the loss is seen", || (cluster.ask(rest[0], &["leader"]).code == 1).then_some(()));
    let watch = cluster.watch(rest[0], &["leader"]);
    let seen = watch.during(Duration::from_millis(1500));
    assert!(!seen.is_empty(), "how things are is the first line");
    let somebody = |line: &String| line.starts_with("leader: ") && line.contains("since");
    assert!(!seen.iter().any(somebody), "{seen:#?}");
    assert_eq!(cluster.ask(rest[1], &["resume", "--format", "json"]).out, "{\"paused\":false}\n");
    cluster.agreed(&rest, |leader| leader != first);
}

#[test]
fn who_is_told_to_leave_hands_over_first() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    let first = cluster.agreed(&ALL, |_| true);
    let rest = others(&first);
    let watch = cluster.watch(rest[0], &["leader"]);
    watch.see(&first);
    assert_eq!(cluster.terminate(&first), Some(0));
    let second = cluster.agreed(&rest, |leader| leader != first);
    let told = watch.see(&format!("leader: {second} "));
    assert!(told.contains("its holder resigned") || told.contains("its holder left in good order"), "{told}");
}

#[test]
fn a_minority_knows_that_it_does_not_know() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    let first = cluster.agreed(&ALL, |_| true);
    let rest = others(&first);
    cluster.kill(rest[0]);
    cluster.kill(rest[1]);
    let alone = cluster.until("it has noticed", || {
        let ran = cluster.ask(&first, &["leader"]);
        (ran.code == 1).then_some(ran)
    });
    assert_eq!((alone.out.as_str(), alone.err.contains("is not known here now")), ("", true), "{}", alone.err);
    let refused = cluster.ask(&first, &["pause"]);
    assert_eq!(refused.code, 3, "{}{}", refused.out, refused.err);
    let status = cluster.ask(&first, &["status"]);
    assert!(status.code == 0 && status.out.contains("not in touch with a majority"), "{}", status.out);
}

#[test]
fn members_come_and_go() {
    let mut cluster = three(&[]);
    cluster.start(&ALL);
    cluster.agreed(&ALL, |_| true);
    let folder = cluster.folder();
    let dir = folder.to_str().expect("its name is plain");
    let spec = format!("d=127.0.0.1:{}", loopback::free_ports(1)[0]);
    let added = cluster.ask("a", &["members", "add", &spec, "--dir", dir]);
    assert_eq!((added.code, added.err.as_str()), (0, ""));
    assert!(
        added.out.contains("d is member 4 of the cluster") && added.out.contains("c/d/hustings.toml"),
        "{}",
        added.out
    );
    cluster.start(&["d"]);
    cluster.agreed(&["a", "b", "c", "d"], |_| true);
    let members = json(&cluster.ask("d", &["members", "--format", "json"]).out);
    let names: Vec<&str> =
        members["members"].as_array().expect("a list").iter().filter_map(|member| member["name"].as_str()).collect();
    assert_eq!(names, ["a", "b", "c", "d"]);

    let unknown = cluster.ask("a", &["members", "remove", "dd"]);
    let help = "error: there is no member `dd`\nhelp: the nearest is `d`; `hustings members` shows all\n";
    assert_eq!((unknown.code, unknown.err.as_str()), (2, help));
    let removed = cluster.ask("a", &["members", "remove", "d", "--dir", dir]);
    assert_eq!((removed.code, removed.out.as_str()), (0, "d is no member any more\n"), "{}", removed.err);
    assert_eq!(cluster.ended("d"), Some(3), "it stops when it hears of it");
    cluster.agreed(&ALL, |_| true);
}

#[test]
fn a_member_that_was_never_taken_in_can_be_forgotten() {
    let mut cluster = three(&[]);
    let folder = cluster.folder();
    let dir = folder.to_str().expect("its name is plain");
    let ports = loopback::free_ports(2);
    let (late, soon) = (format!("late=127.0.0.1:{}", ports[0]), format!("soon=127.0.0.1:{}", ports[1]));
    cluster.start(&["a"]);
    let refused = cluster.ask("a", &["members", "add", &late, "--dir", dir]);
    assert!(refused.code == 3 && refused.err.contains("no majority"), "{}", refused.err);
    cluster.start(&["b", "c"]);
    cluster.agreed(&ALL, |_| true);
    let added = cluster.ask("a", &["members", "add", &soon, "--dir", dir]);
    assert_eq!((added.code, added.err.as_str()), (0, ""));
    let refused = cluster.ask("a", &["members", "add", &late, "--dir", dir]);
    let why = "`late` has the id 4, but ids up to 5 are already taken";
    assert!(refused.code != 0 && refused.err.contains(why), "{}", refused.err);
    let forgotten = cluster.ask("a", &["members", "remove", "late", "--dir", dir]);
    assert_eq!((forgotten.code, forgotten.out.as_str()), (0, "late is no member any more\n"), "{}", forgotten.err);
    std::fs::remove_dir_all(folder.join("late")).expect("its files are there");
    let added = cluster.ask("a", &["members", "add", &late, "--dir", dir]);
    assert!(added.code == 0 && added.out.contains("late is member 6"), "{} {}", added.out, added.err);
}

#[test]
fn without_an_arbiter_it_is_said_loudly() {
    let mut cluster = three(&["--arbiter", "none", "--algorithm", "chang-roberts"]);
    cluster.start(&ALL);
    cluster.agreed(&ALL, |leader| leader == "a");
    let status = cluster.ask("b", &["status"]).out;
    assert!(status.contains("every part of a split cluster has a leader of its own"), "{status}");
    let log = std::fs::read_to_string(cluster.folder().with_file_name("b.log")).expect("it has one");
    assert!(log.starts_with("warning: arbiter = \"none\""), "{log}");
    let refused = cluster.ask("b", &["pause"]);
    assert_eq!(refused.code, 2, "{}", refused.err);
}

#[test]
fn wrong_use_is_told_apart_from_bad_luck() {
    let mut cluster = three(&[]);
    let nobody = cluster.ask("a", &["status"]);
    assert_eq!((nobody.code, nobody.err.contains("is the node running?")), (3, true), "{}", nobody.err);
    let nothing = common::inside(&["status", "--config", "/nonexistent/hustings.toml"]);
    assert_eq!(nothing.code, 3);
    assert!(nothing.err.contains("help: --config FILE names the node's configuration"), "{}", nothing.err);
    assert_eq!(common::inside(&["leader", "--config", "x", "--socket", "y"]).code, 2);
    assert_eq!(common::inside(&["transfer", "leader"]).code, 2);

    cluster.start(&ALL);
    cluster.agreed(&ALL, |_| true);
    for (args, code, part) in [
        (&["transfer", "leader", "--to", "x"][..], 2, "there is no member `x`"),
        (&["transfer", "leder", "--to", "a"], 2, "there is no office `leder`\nhelp: the nearest is `leader`"),
        (&["resign", "leder"], 2, "help: the nearest is `leader`"),
        (&["history", "leder"], 2, "help: the nearest is `leader`"),
        (&["leader", "leder"], 1, "nobody holds `leder`; the nearest office is `leader`"),
        (&["members", "add", "a=127.0.0.1:1", "--dir", "/nonexistent"], 2, "there is a member `a` already"),
        (&["members", "add", "x", "--dir", "/nonexistent"], 2, "allowed is NAME=HOST:PORT"),
        (&["members", "add", "x=127.0.0.1:1", "--dir", "/nonexistent"], 3, "/nonexistent"),
    ] {
        let ran = cluster.ask("a", args);
        assert_eq!(ran.code, code, "{args:?}: {}{}", ran.out, ran.err);
        assert!(ran.err.contains(part), "{args:?}: {}", ran.err);
    }
}

#[test]
fn the_timing_is_explained_for_both_kinds_of_offices() {
    let cluster = three(&[]);
    let text = cluster.ask("a", &["node", "--explain-timing"]);
    assert_eq!((text.code, text.err.as_str()), (0, ""));
    assert!(
        text.out.contains("office that is fenced, 3 nodes") && text.out.contains("that is exclusive"),
        "{}",
        text.out
    );
    let object = json(&cluster.ask("a", &["node", "--explain-timing", "--format", "json"]).out);
    let worst = |mode: usize| object["modes"][mode]["ways"][0]["worst_us"].as_u64().expect("a number");
    let timing = hustings::cluster::timing::Timing::default();
    let wait = timing.waits_for();
    assert_eq!(u128::from(worst(1) - worst(0)), wait.as_micros(), "it waits for lease, drift and margin: {object}");
    let lease = format!("lease = \"{}\"", humantime::format_duration(timing.lease));
    cluster.edit(&["a"], &lease, "lease = \"1ms\"");
    let wrong = cluster.ask("a", &["node"]);
    assert_eq!(wrong.code, 2, "{}", wrong.err);
}

const FIVE: [&str; 5] = ["a", "b", "c", "d", "e"];

/// The best of five leads; it is killed, and the next best leads.
fn elects_the_best_and_again(algorithm: &str) {
    // Not in the order of ids, so that it is seen that priorities count.
    let members = ["a,priority=2", "b,priority=5", "c,priority=1", "d,priority=4", "e,priority=3"];
    let mut cluster = Cluster::found(&members, &["--algorithm", algorithm]);
    cluster.edit(&FIVE, "preempt = \"never\"", "preempt = \"better\"");
    cluster.edit(&FIVE, "mode = \"exclusive\"", "mode = \"fenced\"");
    cluster.edit(&FIVE, "settle = \"1s\"", "settle = \"50ms\"");
    cluster.start(&FIVE);
    cluster.agreed(&FIVE, |leader| leader == "b");
    cluster.kill("b");
    cluster.agreed(&["a", "c", "d", "e"], |leader| leader == "d");
}

#[test]
fn every_elector_algorithm_elects_the_best_of_five_and_again_after_its_kill() {
    let electors = ENTRIES.iter().filter(|entry| entry.about.elects_by_id());
    let names: Vec<&str> = electors.map(|entry| entry.about.name).collect();
    assert!(names.len() >= 19, "{names:?}");
    let left = Mutex::new(names);
    // Three clusters at a time.
    std::thread::scope(|scope| {
        for _ in 0..3 {
            scope.spawn(|| {
                while let Some(name) = { left.lock().expect("nobody panics with it").pop() } {
                    elects_the_best_and_again(name);
                }
            });
        }
    });
}
