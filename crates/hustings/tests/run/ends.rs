//! What follows when a command ends: restarts, hooks, and jobs that run once.

use std::fs;

use hustings_harness::process::Process;

use super::{Cluster, Signal, children, cluster, kill_process, start, start_with};
use crate::processes::hustings;

#[test]
fn a_failing_command_is_started_again_with_the_same_token_until_it_fails_too_often() {
    let cluster = cluster(&["a"]);
    let tokens = cluster.folder().join("tokens");
    let script = format!("echo $HUSTINGS_TOKEN >> {}; exit 1", tokens.display());
    let mut running = start(&cluster, "a", &["--restart", "on-failure:2"], &script);
    running.wait_for("starting the command again in 500 ms");
    running.wait_for("standing back");
    let tokens = fs::read_to_string(tokens).expect("it ran");
    let tokens: Vec<&str> = tokens.lines().collect();
    assert_eq!(tokens.len(), 2, "{tokens:?}");
    assert_eq!(tokens[0], tokens[1], "the office was kept");
    let holder = cluster.run("a", &["leader", "job", "--wait", "0s"]);
    assert_eq!(holder.code, 1, "the office is vacant: {}", holder.out);
    running.signal(Signal::TERM);
    assert_eq!(running.end().code, 143);
}

#[test]
fn hooks_surround_the_command_also_when_its_guardian_is_killed() {
    let cluster = cluster(&["a"]);
    let diary = cluster.folder().join("diary");
    let note = |word: &str| format!("echo {word} $HUSTINGS_OFFICE >> {}", diary.display());
    let (acquire, lose) = (note("acquire"), note("lose"));
    let options = ["--on-acquire", acquire.as_str(), "--on-lose", lose.as_str()];
    assert_eq!(start(&cluster, "a", &options, &note("work")).end().code, 0);
    assert_eq!(fs::read_to_string(&diary).expect("it was written"), "acquire job\nwork job\nlose job\n");

    fs::remove_file(&diary).expect("it is there");
    let mut running = start(&cluster, "a", &options, "exec sleep 1000");
    running.wait_for("started the command");
    let guardian = children(running.pid())[0];
    kill_process(guardian, Signal::KILL).expect("it is alive");
    assert_eq!(running.end().code, 75);
    assert_eq!(fs::read_to_string(&diary).expect("it was written"), "acquire job\nlose job\n");
}

#[test]
fn a_job_that_succeeded_once_is_not_started_again_anywhere() {
    let mut cluster = cluster(&["a", "b"]);
    let count = cluster.folder().join("count");
    let work = |code: u8| format!("echo run >> {}; exit {code}", count.display());
    let lines = || fs::read_to_string(&count).unwrap_or_default().lines().count();
    let once = ["--once=2026-11-18"];
    // A failure is not recorded.
    assert_eq!(start(&cluster, "a", &once, &work(1)).end().code, 1);
    assert_eq!(lines(), 1);
    // Two at the same time: one of them works.
    let (first, second) = (start(&cluster, "a", &once, &work(0)), start(&cluster, "b", &once, &work(0)));
    assert_eq!((first.end().code, second.end().code), (0, 0));
    assert_eq!(lines(), 2);
    // Also when all nodes were restarted since.
    cluster.terminate("a");
    cluster.terminate("b");
    cluster.start(&["a", "b"]);
    let later = start(&cluster, "a", &once, &work(0)).end();
    assert_eq!((later.code, lines()), (0, 2), "{:#?}", later.log);
    assert!(later.log.iter().any(|line| line.contains("already completed")), "{:#?}", later.log);
    // Another key is another job.
    assert_eq!(start(&cluster, "b", &["--once=2026-11-19"], &work(0)).end().code, 0);
    assert_eq!(lines(), 3);
}

#[test]
fn a_crash_between_the_end_and_its_record_runs_the_job_again() {
    let mut cluster = cluster(&["a", "b"]);
    let count = cluster.folder().join("count");
    let work = format!("echo run >> {}", count.display());
    // The node is gone when the command succeeds, so nobody can record it.
    let node = cluster.pid("a").as_raw_nonzero();
    let first =
        start(&cluster, "a", &["--once=x", "--containment", "process-tree"], &format!("{work}; kill -9 {node}"));
    let ended = first.end();
    assert!(ended.code == 3 || ended.code == 75, "{:#?}", ended.log);
    cluster.wait_for_exit("a");
    cluster.start(&["a"]);
    assert_eq!(start(&cluster, "b", &["--once=x"], &work).end().code, 0);
    assert_eq!(fs::read_to_string(&count).expect("it ran").lines().count(), 2, "at least once");
}

#[test]
fn a_run_with_a_configuration_brings_its_own_node() {
    let cluster = Cluster::new(&["a"], &[]);
    let mut run = hustings();
    run.args(["run", "job", "--config"]).arg(cluster.config("a")).args(["--", "sh", "-c", "exit 5"]);
    let ended = start_with(run).end();
    assert_eq!(ended.code, 5, "{:#?}", ended.log);
    assert!(ended.log.iter().any(|line| line.contains("the node left the cluster")), "{:#?}", ended.log);
}

#[test]
fn a_run_and_a_node_that_start_at_the_same_time_use_the_same_node() {
    for _ in 0..10 {
        let cluster = Cluster::new(&["a"], &[]);
        cluster.be_patient(&["a"]);
        let mut node = hustings();
        node.arg("node").arg("--config").arg(cluster.config("a")).stderr(std::process::Stdio::null());
        // Whichever of the two nodes comes second gives up.
        let _node = Process::spawn(&mut node).expect("the binary can be started");
        let mut run = hustings();
        run.args(["run", "job", "--config"]).arg(cluster.config("a")).args(["--", "sh", "-c", "sleep 0.2; exit 5"]);
        let ended = start_with(run).end();
        assert_eq!(ended.code, 5, "{:#?}", ended.log);
    }
}

#[test]
fn who_resigns_for_a_command_hears_of_the_outcome_however_long_it_takes_to_stop() {
    let members = ["a", "b"];
    let mut cluster = Cluster::new(&members, &[]);
    cluster.edit(&members, "lease = \"300ms\"", "lease = \"10s\"");
    cluster.start(&members);
    // A hand-over may take two seconds, and this takes more than half of it.
    let script = "trap 'sleep 1.5; exit 0' TERM; while true; do sleep 0.05; done";
    let mut first = start(&cluster, "a", &[], script);
    first.wait_for("started the command");
    let mut second = start(&cluster, "b", &[], "exec sleep 1000");
    second.wait_for("waiting for the office");
    let resigned = cluster.run("b", &["resign", "job", "--format", "json"]);
    assert_eq!((resigned.code, resigned.err.as_str()), (0, ""), "{}", resigned.out);
    assert!(resigned.out.contains("\"holder\":\"b\""), "{}", resigned.out);
    second.wait_for("started the command");
}
