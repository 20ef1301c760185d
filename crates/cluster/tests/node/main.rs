//! Whole nodes with real sockets and disks.

mod guardian;
mod guards;
mod relays;
mod states;
mod test_cluster;

use std::fs;
use std::time::{Duration, Instant};

use hustings_cluster::api::{Reply, Request};
use hustings_cluster::config::{Algorithms, Mode};
use hustings_cluster::member::Role;
use hustings_cluster::node::{Exit, NodeError};
use test_cluster::{TIMEOUT, TestCluster};

/// The index of a member that is called a, b, c …
fn index(name: Option<&str>) -> usize {
    usize::from(name.and_then(|name| name.bytes().next()).expect("somebody holds it") - b'a')
}

#[test]
fn three_nodes_elect_the_highest_ranked_member() {
    let mut cluster = TestCluster::new(3);
    cluster.start_all();
    let agreed = cluster.wait_for_agreement(&[0, 1, 2], |status| status.holder.as_deref() == Some("c"));
    assert!(agreed.token > 0);
    let status = cluster.status(1);
    assert!(status.current && status.members.iter().all(|member| member.up), "{status:?}");
}

#[test]
fn a_graceful_shutdown_hands_the_office_over() {
    let mut cluster = TestCluster::new(3);
    cluster.start_all();
    let before = cluster.wait_for_agreement(&[0, 1, 2], |_| true);
    let holder = index(before.holder.as_deref());
    let left = cluster.stop(holder).expect("it leaves in good order");
    assert_eq!(left, Exit::Left);
    let others: Vec<usize> = (0..3).filter(|index| *index != holder).collect();
    let after = cluster.wait_for_agreement(&others, |status| status.holder != before.holder);
    assert!(after.token > before.token, "{after:?} after {before:?}");
    assert!(!cluster.folders[holder].join("hustings.sock").exists(), "its socket goes with it");
}

#[test]
fn a_single_node_is_a_cluster() {
    let mut cluster = TestCluster::new(1);
    cluster.start_all();
    let agreed = cluster.wait_for_agreement(&[0], |_| true);
    assert_eq!(agreed.holder.as_deref(), Some("a"));
    assert_eq!(cluster.stop(0).expect("it leaves in good order"), Exit::Left);
}

/// Kills the holder repeatedly; each time the next holder has a greater token. Returns how long each took.
fn kill_holder_repeatedly(mode: Mode, rounds: usize) -> Vec<Duration> {
    let mut cluster = TestCluster::new(3);
    for index in 0..3 {
        let mut config = cluster.config(index);
        config.default_policy.mode = mode;
        cluster.start_with(config, index).expect("it starts");
    }
    let mut before = cluster.wait_for_agreement(&[0, 1, 2], |_| true);
    let mut took = Vec::new();
    for _ in 0..rounds {
        let holder = index(before.holder.as_deref());
        let mut witness = cluster.client((holder + 1) % 3);
        let watch = Request::Watch { office: Some("leader".to_string()) };
        witness.send(&watch).expect("the node runs");
        cluster.abort(holder);
        let killed = Instant::now();
        loop {
            match witness.recv(Some(TIMEOUT)).expect("there is news") {
                Reply::Office(news) if news.token > before.token && news.holder.is_some() => break,
                _ => {}
            }
        }
        took.push(killed.elapsed());
        assert!(matches!(cluster.join(holder), Err(NodeError::StoppedAtOnce)));
        let mut config = cluster.config(holder);
        config.default_policy.mode = mode;
        cluster.start_with(config, holder).expect("it starts");
        let token = before.token;
        before = cluster.wait_for_agreement(&[0, 1, 2], |status| status.token > token);
    }
    took.sort();
    took
}

#[test]
fn a_killed_holder_of_a_fenced_office_is_replaced_without_waiting_for_its_lease() {
    let took = kill_holder_repeatedly(Mode::Fenced, 5);
    assert!(took[0] < Duration::from_millis(200), "not even once before the lease was over: {took:?}");
}

#[test]
fn a_killed_holder_of_an_exclusive_office_is_replaced_after_its_lease() {
    let took = kill_holder_repeatedly(Mode::Exclusive, 2);
    assert!(took[0] > Duration::from_millis(50), "its lease was not waited for: {took:?}");
}

#[test]
fn tokens_keep_increasing_after_a_full_restart() {
    let mut cluster = TestCluster::new(3);
    cluster.start_all();
    let before = cluster.wait_for_agreement(&[0, 1, 2], |_| true);
    cluster.kill(0);
    cluster.kill(2);
    cluster.kill(1);
    cluster.start_all();
    let after = cluster.wait_for_agreement(&[0, 1, 2], |status| status.token > before.token);
    assert!(after.holder.is_some());
}

#[test]
fn rejects_a_damaged_store_and_accepts_a_missing_one() {
    let mut cluster = TestCluster::new(1);
    cluster.start(0);
    cluster.wait_for_agreement(&[0], |_| true);
    cluster.kill(0);
    let header = cluster.config(0).data.join("header");
    let sound = fs::read(&header).expect("the store has a header");
    let mut damaged = sound.clone();
    damaged[sound.len() / 2] ^= 1;
    fs::write(&header, &damaged).expect("the folder is ours");
    let refused = cluster.start_with(cluster.config(0), 0).expect_err("it must not start");
    assert!(refused.contains("header is damaged at byte") && refused.contains("lost a vote"), "{refused}");
    fs::write(&header, &sound).expect("the folder is ours");
    cluster.start(0);
    cluster.kill(0);
    fs::remove_dir_all(cluster.config(0).data).expect("the folder is ours");
    cluster.start(0);
    cluster.wait_for_agreement(&[0], |_| true);
}

#[test]
fn rejects_a_second_node_with_the_same_folder_socket_or_address() {
    let mut cluster = TestCluster::new(2);
    cluster.start(0);
    let own = cluster.config(0);
    let mut other = own.clone();
    (other.socket, other.listen) = (own.socket.with_file_name("other.sock"), "127.0.0.1:0".to_string());
    let refused = cluster.start_with(other, 1).expect_err("the folder is in use");
    assert!(refused.contains("is in use by another process"), "{refused}");

    let mut other = cluster.config(1);
    other.socket = own.socket.clone();
    let refused = cluster.start_with(other, 1).expect_err("the socket is in use");
    assert!(refused.contains("another node is already running with the socket"), "{refused}");

    let mut other = cluster.config(1);
    other.listen = own.listen.clone();
    let refused = cluster.start_with(other, 1).expect_err("the address is in use");
    assert!(refused.contains(&own.listen) && refused.contains("is another node running there?"), "{refused}");
    cluster.start(1);
}

#[test]
fn start_errors_name_the_problem() {
    let mut cluster = TestCluster::new(1);
    let mut config = cluster.config(0);
    config.timing.lease = Duration::from_millis(1);
    assert!(cluster.start_with(config, 0).expect_err("too short").contains("timing.lease"));
    let mut config = cluster.config(0);
    config.algorithm = Algorithms::default().choose("rng", None);
    assert!(cluster.start_with(config, 0).expect_err("unknown").contains("rng"));
    let mut config = cluster.config(0);
    config.tls.key = "/nowhere/node.key".into();
    assert!(cluster.start_with(config, 0).expect_err("missing").contains("private key /nowhere/node.key"));
    let mut config = cluster.config(0);
    config.node = hustings_protocol::Id(9);
    assert!(cluster.start_with(config, 0).expect_err("nobody").contains("id 9"));
}

#[test]
fn a_disconnected_program_no_longer_campaigns() {
    let mut cluster = TestCluster::new(1);
    cluster.start(0);
    let office = || "work".to_string();
    let mut first = cluster.client(0);
    first.send(&Request::Campaign { office: office(), mode: None, guard: None }).expect("the node runs");
    assert_eq!(first.recv(Some(TIMEOUT)).expect("an answer"), Reply::Done);
    let Reply::Held(held) = first.recv(Some(TIMEOUT)).expect("it is appointed") else { panic!("not held") };
    let mut second = cluster.client(0);
    second.send(&Request::Campaign { office: office(), mode: None, guard: None }).expect("the node runs");
    assert_eq!(second.recv(Some(TIMEOUT)).expect("an answer"), Reply::Done);
    drop(first);
    let Reply::Held(next) = second.recv(Some(TIMEOUT)).expect("it is appointed") else { panic!("not held") };
    assert!(next.token > held.token, "{next:?} after {held:?}");
}

#[test]
fn a_second_shutdown_request_stops_at_once() {
    let mut cluster = TestCluster::new(3);
    cluster.start_all();
    // After one request the node would wait for this program to stop, which it never does.
    let mut program = cluster.client(0);
    program.send(&Request::Campaign { office: "o".to_string(), mode: None, guard: None }).expect("the node runs");
    assert_eq!(program.recv(Some(TIMEOUT)).expect("an answer"), Reply::Done);
    assert!(matches!(program.recv(Some(TIMEOUT)), Ok(Reply::Held(_))));
    cluster.request_shutdown(0);
    assert!(matches!(program.recv(Some(TIMEOUT)), Ok(Reply::Stop { .. } | Reply::Renewed { .. })));
    cluster.request_shutdown(0);
    let ended = cluster.join(0);
    assert!(matches!(ended, Err(NodeError::StoppedAtOnce)), "{ended:?}");
}

#[test]
fn limits_the_number_of_watches_of_one_program() {
    let mut cluster = TestCluster::new(1);
    cluster.start(0);
    let mut client = cluster.client(0);
    for number in 0..2000 {
        // The second of each pair is nothing new.
        for _ in 0..2 {
            let answer = client.call(&Request::Watch { office: Some(format!("o{number}")) }, Some(TIMEOUT));
            assert!(matches!(answer, Ok(Reply::Office(_))), "{number}: {answer:?}");
        }
    }
    let answer = client.call(&Request::Watch { office: Some("one-more".to_string()) }, Some(TIMEOUT));
    let Ok(Reply::Error(refusal)) = answer else { panic!("that is too much: {answer:?}") };
    assert_eq!(refusal.code, "too-many");
    let all = client.call(&Request::Watch { office: None }, Some(TIMEOUT));
    assert!(matches!(all, Ok(Reply::Office(_))), "the limit is for names: {all:?}");
}

#[test]
fn rejects_an_id_that_was_used_before() {
    let mut cluster = TestCluster::new(1);
    cluster.start(0);
    cluster.wait_for_agreement(&[0], |_| true);
    let add = |id| Request::AddMember {
        id,
        name: "newcomer".to_string(),
        address: "127.0.0.1:1".to_string(),
        priority: 0,
        role: Role::Observer,
    };
    let Reply::Error(refusal) = cluster.ask(0, &add(1)) else { panic!("the number 1 was given before") };
    assert_eq!(refusal.code, "known-number");
    let Reply::Error(refusal) = cluster.ask(0, &add(u64::MAX)) else { panic!("no number would be left") };
    assert_eq!(refusal.code, "bad-request");
    assert_eq!(cluster.ask(0, &add(5)), Reply::Done);
    let ids: Vec<u64> = cluster.status(0).members.iter().map(|member| member.id).collect();
    assert_eq!(ids, [1, 5]);
}
