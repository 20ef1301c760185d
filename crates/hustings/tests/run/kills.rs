//! Whoever of the three is killed: no process of the command survives, whatever holds them together, whoever runs them.

use std::os::unix::fs::chown;
use std::os::unix::process::CommandExt;
use std::time::{Duration, Instant};

use crate::common::skip;

use super::{
    Cluster, Pid, Running, Signal, children, has_processes, kill_process, run_command, start_with, wait_for_processes,
};

/// The user and group `nobody`.
const NOBODY: u32 = 65_534;

/// Who is killed.
#[derive(Clone, Copy, Debug)]
enum Victim {
    Run,
    Guardian,
    Node,
}

/// A lease that no test waits for: only the node's own death may use it up.
const LONG_LEASE: &str = "lease = \"60s\"";
/// One that a test waits for, and that outlasts the moments in which a busy machine does nothing.
const SHORT_LEASE: &str = "lease = \"2s\"";

fn cluster_of_one(user: Option<u32>, lease: &str) -> Cluster {
    let mut cluster = Cluster::new(&["a"], &[]);
    cluster.edit(&["a"], "lease = \"300ms\"", lease);
    if let Some(user) = user {
        cluster.give_files_to(user);
        cluster.run_nodes_as(user);
    }
    cluster.start(&["a"]);
    cluster
}

fn is_root() -> bool {
    rustix::process::geteuid().is_root()
}

/// A command with a child, and a daemon that has left its parent, its session and its process group.
fn start_tree(cluster: &Cluster, containment: &str, user: Option<u32>, marker: &str) -> Running {
    let script = format!("(setsid sleep {marker} & ) ; sleep {marker} & exec sleep {marker}");
    let mut run = run_command(cluster, "a", &["--containment", containment], &["sh", "-c", &script]);
    if let Some(user) = user {
        run.uid(user).gid(user);
    }
    let mut running = start_with(run);
    running.wait_for("started the command");
    if !has_processes(&format!("sleep {marker}"), 3) {
        panic!("the command's processes are missing: {:#?}", running.end().log);
    }
    running
}

fn kill_and_check(containment: &str, user: Option<u32>, victim: Victim, marker: &str) {
    // When the node is killed, the lease is what remains; otherwise nothing may wait for it.
    let lease = match victim {
        Victim::Node => SHORT_LEASE,
        Victim::Run | Victim::Guardian => LONG_LEASE,
    };
    let mut cluster = cluster_of_one(user, lease);
    let running = start_tree(&cluster, containment, user, marker);
    match victim {
        Victim::Run => running.signal(Signal::KILL),
        Victim::Guardian => kill(children(running.pid())[0]),
        Victim::Node => cluster.kill("a"),
    }
    wait_for_processes(&format!("sleep {marker}"), 0);
    if !matches!(victim, Victim::Run) {
        let ended = running.end();
        assert_eq!(ended.code, 75, "{victim:?}: {:#?}", ended.log);
    }
}

fn kill(pid: Pid) {
    kill_process(pid, Signal::KILL).expect("it is alive");
}

/// The number of seconds that the command sleeps tells its processes from all others.
fn marker(containment: &str, user: Option<u32>, victim: Victim) -> String {
    let kind = if containment == "pid-namespace" {
        1
    } else if containment == "cgroup" {
        2
    } else {
        3
    };
    format!("{}{kind}{}{}", 9, u8::from(user.is_some()), victim as u8) + "111"
}

fn check_all(containment: &str, user: Option<u32>) {
    for victim in [Victim::Run, Victim::Guardian, Victim::Node] {
        kill_and_check(containment, user, victim, &marker(containment, user, victim));
    }
}

#[test]
fn nothing_survives_in_a_pid_namespace() {
    check_all("pid-namespace", None);
}

#[test]
fn nothing_survives_in_a_cgroup() {
    if !is_root() {
        return skip("a cgroup needs root, or a delegated hierarchy");
    }
    check_all("cgroup", None);
}

#[test]
fn nothing_survives_in_a_process_tree() {
    check_all("process-tree", None);
}

#[test]
fn nothing_survives_of_an_ordinary_user() {
    if !is_root() {
        return skip("the other tests have shown it, because they are not run by root");
    }
    check_all("pid-namespace", Some(NOBODY));
    check_all("process-tree", Some(NOBODY));
}

#[test]
fn what_is_required_and_impossible_is_refused() {
    if !is_root() {
        return skip("needs root to become somebody who may not create cgroups");
    }
    let cluster = cluster_of_one(Some(NOBODY), SHORT_LEASE);
    let mut run = run_command(&cluster, "a", &["--containment", "cgroup"], &["true"]);
    run.uid(NOBODY).gid(NOBODY);
    let ended = start_with(run).end();
    assert_eq!(ended.code, 3, "{:#?}", ended.log);
    assert!(ended.log.iter().any(|line| line.contains("cannot be contained as required: cgroup")), "{:#?}", ended.log);
}

#[test]
fn a_frozen_run_costs_nothing_and_a_frozen_guardian_the_command() {
    let cluster = cluster_of_one(None, SHORT_LEASE);
    let running = start_tree(&cluster, "pid-namespace", None, "94444");
    running.signal(Signal::STOP);
    // More than a lease passes.
    let token = || cluster.run("a", &["leader", "job", "--format", "json"]).out;
    let (before, since) = (token(), Instant::now());
    while since.elapsed() < Duration::from_millis(2_500) {
        assert_eq!(token(), before);
    }
    wait_for_processes("sleep 94444", 3);
    running.signal(Signal::CONT);
    let guardian = children(running.pid())[0];
    kill_process(guardian, Signal::STOP).expect("it is alive");
    wait_for_processes("sleep 94444", 0);
    assert_eq!(running.end().code, 75);
}

/// As the package has it: a user of its own with CAP_KILL, and nothing else. `run` is root's.
fn packaged_cluster() -> Cluster {
    let mut cluster = Cluster::new(&["a"], &[]);
    cluster.edit(&["a"], "lease = \"300ms\"", SHORT_LEASE);
    cluster.give_files_to(NOBODY);
    let kill = ["--inh-caps=-all,+kill", "--ambient-caps=+kill", "--bounding-set=-all,+kill"];
    let user = ["setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"];
    cluster.run_nodes_with(&[&user[..], &kill, &["--no-new-privs"]].concat());
    cluster.start(&["a"]);
    cluster
}

/// `run` and its guardian are both frozen when the office is to move. Only the node is left to kill the command.
#[test]
fn a_packaged_node_kills_the_command_of_a_frozen_run_and_guardian() {
    if !is_root() {
        return skip("needs root to run nodes as another user, with CAP_KILL");
    }
    for (containment, marker) in [("pid-namespace", "95551"), ("cgroup", "95552"), ("process-tree", "95553")] {
        let cluster = packaged_cluster();
        let running = start_tree(&cluster, containment, None, marker);
        let guardian = children(running.pid())[0];
        running.signal(Signal::STOP);
        kill_process(guardian, Signal::STOP).expect("it is alive");
        let resign = cluster.spawn("a", &["resign", "job"]);
        wait_for_processes(&format!("sleep {marker}"), 0);
        cluster.wait_until("the node has said so", || {
            cluster.log("a").contains(" killed the guardian of the office job").then_some(())
        });
        running.signal(Signal::CONT);
        assert_ne!(running.end().code, 0, "{containment}");
        // Nobody else wants the office, so what becomes of the request does not matter.
        resign.wait();
    }
}

impl Cluster {
    /// Gives all files to another user.
    fn give_files_to(&self, user: u32) {
        let mut folders = vec![self.root()];
        while let Some(folder) = folders.pop() {
            chown(&folder, Some(user), Some(user)).expect("root may");
            for entry in std::fs::read_dir(&folder).expect("it is a folder").flatten() {
                match entry.file_type().expect("it is there").is_dir() {
                    true => folders.push(entry.path()),
                    false => chown(entry.path(), Some(user), Some(user)).expect("root may"),
                }
            }
        }
    }
}
