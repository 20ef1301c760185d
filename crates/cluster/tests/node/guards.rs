//! Guarded clients: what the end of their process proves, and that the node kills them before their deadline.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use hustings_cluster::api::{Client, Guard, Lease, NODE_KILL_MARGIN, Reply, Request};
use hustings_cluster::clock::{Clock, Timestamp};
use rustix::process::Signal;

use crate::guardian::{Guardian, OFFICE, TestCgroup, run_if_guardian};
use crate::test_cluster::{TIMEOUT, TestCluster};

/// Starts nodes with a lease of this length.
fn start_nodes(count: usize, lease: Duration) -> TestCluster {
    let mut cluster = TestCluster::new(count);
    for index in 0..count {
        let mut config = cluster.config(index);
        (config.timing.lease, config.timing.stop) = (lease, Duration::from_millis(100));
        cluster.start_with(config, index).expect("it starts");
    }
    let all: Vec<usize> = (0..count).collect();
    cluster.wait_for_agreement(&all, |_| true);
    cluster
}

fn campaign(client: &mut Client, office: &str, guard: Option<Guard>) -> Reply {
    let request = Request::Campaign { office: office.to_string(), mode: None, guard };
    client.call(&request, Some(TIMEOUT)).expect("the node answers")
}

/// Waits until a client holds an office.
fn wait_until_held(client: &mut Client) -> Lease {
    loop {
        match client.recv(Some(TIMEOUT)).expect("it is granted the office") {
            Reply::Held(held) => return held,
            Reply::Renewed { .. } => {}
            other => panic!("not held, but {other:?}"),
        }
    }
}

#[test]
fn an_office_moves_at_once_when_a_pid_namespace_has_ended() {
    if run_if_guardian() {
        return;
    }
    // Much longer than this test may wait.
    let cluster = start_nodes(1, 3 * TIMEOUT);
    let test = "guards::an_office_moves_at_once_when_a_pid_namespace_has_ended";
    let socket = cluster.folders[0].join("hustings.sock");
    let Some(guardian) = Guardian::start(&socket, test, Some(&Guard::PidNamespace)) else { return };
    guardian.wait_until_held();
    let descendants = guardian.descendants();
    assert_eq!(descendants.len(), 1, "the daemon was reparented to the init");
    let mut next = cluster.client(0);
    assert_eq!(campaign(&mut next, OFFICE, None), Reply::Done);
    guardian.signal(Signal::KILL);
    wait_until_held(&mut next);
    for pid in descendants {
        let path = PathBuf::from(format!("/proc/{pid}"));
        assert!(!path.exists(), "{pid} was alive when the next holder started");
    }
    guardian.wait_until_gone();
}

#[test]
fn an_exclusive_office_moves_at_once_when_a_program_of_one_process_has_ended() {
    if run_if_guardian() {
        return;
    }
    // Much longer than this test may wait.
    let cluster = start_nodes(1, 3 * TIMEOUT);
    let test = "guards::an_exclusive_office_moves_at_once_when_a_program_of_one_process_has_ended";
    let socket = cluster.folders[0].join("hustings.sock");
    let guardian = Guardian::start(&socket, test, Some(&Guard::Process)).expect("nothing special is needed for it");
    guardian.wait_until_held();
    let mut next = cluster.client(0);
    assert_eq!(campaign(&mut next, OFFICE, None), Reply::Done);
    let descendants = guardian.descendants();
    guardian.signal(Signal::KILL);
    wait_until_held(&mut next);
    kill_all(descendants);
}

#[test]
fn a_frozen_program_loses_its_office_although_its_node_lives() {
    if run_if_guardian() {
        return;
    }
    let cluster = start_nodes(1, Duration::from_secs(1));
    let test = "guards::a_frozen_program_loses_its_office_although_its_node_lives";
    let socket = cluster.folders[0].join("hustings.sock");
    let ttl = Some(Duration::from_secs(2));
    let guardian = Guardian::start_with(&socket, test, None, ttl).expect("nothing special is needed for it");
    guardian.wait_until_held();
    let mut next = cluster.client(0);
    assert_eq!(campaign(&mut next, OFFICE, None), Reply::Done);
    let descendants = guardian.descendants();
    guardian.signal(Signal::STOP);
    wait_until_held(&mut next);
    // When it goes on, it is told, and its connection has ended.
    guardian.signal(Signal::CONT);
    kill_all(descendants);
    assert!(guardian.wait_for_error().contains("nothing arrived for 2s"));
    guardian.wait_until_gone();
}

/// Kills a guardian with a guard whose end proves nothing. Its lease must be waited for.
fn check_that_the_lease_is_waited_for(test: &str, guard: Option<&Guard>) {
    let cluster = start_nodes(1, Duration::from_secs(1));
    let Some(guardian) = Guardian::start(&cluster.folders[0].join("hustings.sock"), test, guard) else { return };
    let deadline = guardian.wait_until_held();
    let descendants = guardian.descendants();
    let mut next = cluster.client(0);
    assert_eq!(campaign(&mut next, OFFICE, None), Reply::Done);
    guardian.signal(Signal::KILL);
    wait_until_held(&mut next);
    let now = Clock::new().now();
    assert!(now >= deadline, "{guard:?}: granted {:?} before the deadline", deadline.since(now));
    kill_all(descendants);
}

/// Kills what a guardian left behind. These are nobody's children any more.
fn kill_all(descendants: Vec<u32>) {
    for pid in descendants {
        let pid = rustix::process::Pid::from_raw(pid as i32).expect("a number of a process");
        let _ = rustix::process::kill_process(pid, Signal::KILL);
    }
}

#[test]
fn the_end_of_a_process_without_a_guard_proves_nothing() {
    if !run_if_guardian() {
        check_that_the_lease_is_waited_for("guards::the_end_of_a_process_without_a_guard_proves_nothing", None);
    }
}

#[test]
fn the_end_of_the_root_of_a_process_tree_proves_nothing() {
    if !run_if_guardian() {
        let test = "guards::the_end_of_the_root_of_a_process_tree_proves_nothing";
        check_that_the_lease_is_waited_for(test, Some(&Guard::ProcessTree));
    }
}

/// Freezes a guardian, and then cuts its node off from the majority. Returns when the guardian and its descendants were
/// gone, and the deadline.
fn freeze_guardian(test: &str, guard: &Guard) -> Option<(Timestamp, Timestamp)> {
    let cluster = start_nodes(3, Duration::from_millis(600));
    let guardian = Guardian::start(&cluster.folders[0].join("hustings.sock"), test, Some(guard))?;
    guardian.wait_until_held();
    // All leases of a node are renewed together, so this client learns of the guardian's renewals.
    let mut observer = cluster.client(0);
    assert_eq!(campaign(&mut observer, "another", None), Reply::Done);
    let held = wait_until_held(&mut observer);
    guardian.signal(Signal::STOP);
    cluster.abort(1);
    cluster.abort(2);
    let mut deadline = held.deadline;
    loop {
        match observer.recv(Some(TIMEOUT)).expect("the lease ends") {
            Reply::Renewed { from } => deadline = from + held.lease,
            Reply::Stop { .. } => break,
            other => panic!("{other:?}"),
        }
    }
    Some((guardian.wait_until_gone(), deadline))
}

/// Checks that the node kills a frozen guardian in time. On a busy machine, that may need more than one attempt, and
/// these tests must not delay each other.
fn check_that_a_frozen_guardian_is_killed(test: &str, guard: &Guard) {
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _alone = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let mut late = Vec::new();
    while late.len() < 10 {
        let Some((gone, deadline)) = freeze_guardian(test, guard) else { return };
        assert!(
            gone >= deadline - NODE_KILL_MARGIN,
            "{guard:?}: killed {:?} before the deadline",
            deadline.since(gone)
        );
        if gone < deadline {
            return;
        }
        late.push(gone.since(deadline));
    }
    panic!("{guard:?}: not even once dead before the deadline, but later by {late:?}");
}

#[test]
fn a_frozen_pid_namespace_is_killed_before_its_deadline() {
    if !run_if_guardian() {
        let test = "guards::a_frozen_pid_namespace_is_killed_before_its_deadline";
        check_that_a_frozen_guardian_is_killed(test, &Guard::PidNamespace);
    }
}

#[test]
fn a_frozen_cgroup_is_killed_before_its_deadline() {
    if !run_if_guardian() {
        let Some(cgroup) = TestCgroup::new() else { return };
        let test = "guards::a_frozen_cgroup_is_killed_before_its_deadline";
        check_that_a_frozen_guardian_is_killed(test, &Guard::Cgroup { path: cgroup.0.clone() });
    }
}

#[test]
fn a_frozen_process_tree_is_killed_before_its_deadline() {
    if !run_if_guardian() {
        let test = "guards::a_frozen_process_tree_is_killed_before_its_deadline";
        check_that_a_frozen_guardian_is_killed(test, &Guard::ProcessTree);
    }
}

#[test]
fn a_guard_that_is_not_what_it_claims_is_refused() {
    let cluster = start_nodes(1, Duration::from_secs(1));
    let folder = cluster.folders[0].clone();
    let refused = |guard: Guard| match campaign(&mut cluster.client(0), OFFICE, Some(guard)) {
        Reply::Error(error) => (error.code, error.message),
        other => panic!("accepted: {other:?}"),
    };
    let (code, message) = refused(Guard::PidNamespace);
    assert!(code == "bad-request" && message.contains("is not the init of a PID namespace"), "{message}");
    let (code, message) = refused(Guard::Cgroup { path: folder });
    assert!(code == "bad-request" && message.contains("is not in a mounted cgroup v2 hierarchy"), "{message}");
}

/// A guarded client that gives its office up in time lives on, although its deadline passes.
#[test]
fn a_guardian_that_stops_in_time_is_not_killed() {
    // Long enough that a busy machine does not let it lapse: the guardian would be killed.
    let cluster = start_nodes(1, Duration::from_secs(2));
    let mut client = cluster.client(0);
    // The guardian is this very process: if it were killed, so would be the test.
    assert_eq!(campaign(&mut client, OFFICE, Some(Guard::ProcessTree)), Reply::Done);
    let held = wait_until_held(&mut client);
    client.send(&Request::Withdraw { office: OFFICE.to_string() }).expect("the node runs");
    while client.recv(Some(TIMEOUT)).expect("the node answers") != Reply::Done {}
    // The lease of another client is renewed until after that deadline.
    let mut other = cluster.client(0);
    assert_eq!(campaign(&mut other, "another", None), Reply::Done);
    wait_until_held(&mut other);
    loop {
        match other.recv(Some(TIMEOUT)).expect("the node runs") {
            Reply::Renewed { from } if from > held.deadline => return,
            Reply::Renewed { .. } => {}
            unexpected => panic!("{unexpected:?}"),
        }
    }
}
