//! Two nodes that cannot connect to each other work together through a third one.

use std::net::TcpListener;
use std::time::Instant;

use hustings_cluster::api::{OfficeStatus, Reply, Request};
use hustings_cluster::member::Role;
use serde_json::Value;

use crate::test_cluster::{TIMEOUT, TestCluster};

/// What a node counts.
fn metrics(cluster: &TestCluster, index: usize) -> Value {
    let reply = cluster.ask(index, &Request::Metrics);
    assert!(matches!(reply, Reply::Metrics(_)), "{reply:?}");
    serde_json::to_value(&reply).expect("plain data")
}

/// How many relayed messages a node has received.
fn relayed(cluster: &TestCluster, index: usize) -> u64 {
    let metrics = metrics(cluster, index);
    let mut counts = metrics["process"]["messages"].as_array().expect("a list").iter();
    let count = counts.find(|count| count["kind"] == "relay").and_then(|count| count["received"].as_u64());
    count.expect("it is counted")
}

/// Whether a node has a connection to a member.
fn is_connected(cluster: &TestCluster, index: usize, member: &str) -> bool {
    let metrics = metrics(cluster, index);
    let mut members = metrics["members"].as_array().expect("a list").iter();
    let connected = members.find(|other| other["name"] == member).and_then(|other| other["connected"].as_bool());
    connected.expect("it is shown")
}

#[test]
fn members_without_a_connection_elect_and_renew_through_a_relay() {
    let mut cluster = TestCluster::new(3);
    // Nobody accepts connections here, but nobody else gets the port either.
    let nobody = TcpListener::bind("127.0.0.1:0").expect("loopback is there");
    let address = nobody.local_addr().expect("it is bound").to_string();
    drop(nobody);
    let configs = [(0, 2), (1, 1), (2, 0)].map(|(index, unreachable)| {
        let mut config = cluster.config(index);
        // A witness leads the arbiter last.
        config.members[1].role = Role::Witness;
        if index != unreachable {
            config.members[unreachable].address.clone_from(&address);
        }
        config
    });
    for (index, config) in configs.iter().enumerate() {
        cluster.start_with(config.clone(), index).expect("it starts");
    }
    let holds = |status: &OfficeStatus| status.holder.as_deref() == Some("c");
    let mut agreed = cluster.wait_for_agreement(&[0, 1, 2], holds);
    // Only if another one leads, they need the relay.
    for _ in 0..10 {
        if cluster.status(1).arbiter_leader.as_deref() != Some("b") {
            break;
        }
        cluster.stop(1).expect("it hands over");
        cluster.start_with(configs[1].clone(), 1).expect("it starts");
        agreed = cluster.wait_for_agreement(&[0, 1, 2], holds);
    }
    assert!(!is_connected(&cluster, 0, "c") && !is_connected(&cluster, 2, "a"), "they have no connection");
    // They go on hearing of each other, and the holder keeps the office.
    for index in [0, 2] {
        let (before, until) = (relayed(&cluster, index), Instant::now() + TIMEOUT);
        while relayed(&cluster, index) < before + 20 {
            assert!(Instant::now() < until, "nothing is relayed to node {index}");
            std::thread::yield_now();
        }
    }
    let later = cluster.wait_for_agreement(&[0, 1, 2], |_| true);
    assert_eq!((later.holder, later.token), (agreed.holder, agreed.token));
}
