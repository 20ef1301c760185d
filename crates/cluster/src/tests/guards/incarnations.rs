//! Messages of an earlier incarnation of a node, or of another disk, have no effect.

use hustings_protocol::Id;

use super::harness::{self, TestCluster, config};
use crate::core::Exit;
use crate::member::Role;
use crate::store::DiskPosition;
use crate::wire::{FollowerHeartbeat, Heartbeat, Message};

const ROLES: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Observer), (3, Role::Observer)];

/// A single voter, node 1. The test simulates nodes 2 and 3, which are connected.
fn single_voter() -> TestCluster {
    let mut cluster = TestCluster::new(vec![config(1, &ROLES)]);
    cluster.advance_ms(100);
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 7, now));
    cluster.drive(1, |core, now| core.handle_connected(Id(3), 9, now));
    cluster
}

/// Node 2 answers the last lease round, with this number of its own.
fn answer(cluster: &mut TestCluster, number: u64) {
    let leader = cluster.last_leader_heartbeat(1, 2);
    let follower = FollowerHeartbeat { term: leader.term, round: leader.round, applied: u64::MAX };
    cluster.deliver(2, 1, Message::Heartbeat(Heartbeat { number, leader: None, follower: Some(follower) }));
    cluster.advance_ms(60);
}

#[test]
fn confirmations_are_for_one_incarnation_only() {
    let mut cluster = single_voter();
    answer(&mut cluster, 5);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 5);
    cluster.drive(1, |core, now| core.handle_disconnected(Id(2), now));
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 8, now));
    // The new incarnation has not sent its fifth heartbeat yet, and would later count its lease from that one.
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 0, "the new incarnation has answered nothing");
    answer(&mut cluster, 1);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 1);
}

pub(super) fn candidacy(incarnation: u64, store_id: u64) -> Message {
    harness::candidacy(incarnation, store_id, DiskPosition::default())
}

#[test]
fn trusts_the_registered_disk_again_when_it_is_back() {
    let mut cluster = single_voter();
    cluster.deliver(2, 1, candidacy(7, 22));
    cluster.advance_ms(100);
    // Another incarnation with another disk: its answers prove nothing.
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 8, now));
    cluster.deliver(2, 1, candidacy(8, 33));
    assert!(cluster.node(1).sent.contains(&(Id(2), Message::UnknownDisk(22))));
    answer(&mut cluster, 3);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 0);
    // The registered disk is back.
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 10, now));
    cluster.deliver(2, 1, candidacy(10, 22));
    answer(&mut cluster, 4);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 4);
}

/// Whether node 1 tells an incarnation of node 2 that connects that there is a later one.
fn is_told(cluster: &mut TestCluster, incarnation: u64) -> bool {
    cluster.node(1).sent.clear();
    cluster.drive(1, |core, now| core.handle_connected(Id(2), incarnation, now));
    cluster.node(1).sent.contains(&(Id(2), Message::Superseded))
}

#[test]
fn an_incarnation_that_returns_is_told_that_another_one_runs() {
    let mut cluster = single_voter();
    cluster.deliver(2, 1, candidacy(7, 22));
    assert!(!is_told(&mut cluster, 7), "it may lose its connection");
    assert!(!is_told(&mut cluster, 8));
    assert!(!is_told(&mut cluster, 7), "nothing is known of the disk of the later one");
    cluster.deliver(2, 1, candidacy(7, 22));
    assert!(!is_told(&mut cluster, 8), "what the earlier one says again does not make it the later one");
    cluster.deliver(2, 1, candidacy(8, 22));
    assert!(is_told(&mut cluster, 7));
    assert!(is_told(&mut cluster, 7));
    assert!(!is_told(&mut cluster, 8), "the later one stays");
}

#[test]
fn an_incarnation_returns_if_the_later_one_was_refused() {
    let mut cluster = single_voter();
    cluster.deliver(2, 1, candidacy(7, 22));
    cluster.advance_ms(100);
    assert!(!is_told(&mut cluster, 8));
    cluster.deliver(2, 1, candidacy(8, 33));
    assert!(!is_told(&mut cluster, 7), "the disk of the later one is not the registered one");
}

#[test]
fn what_an_incarnation_that_returned_has_sent_is_not_from_the_later_one() {
    let electors = [1, 2, 3].map(|id| (id, Role::Elector));
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &electors)).to_vec());
    cluster.advance_ms(1_000);
    assert_eq!(cluster.arbiter_leader(1), Some(1));
    // The later process of node 2 holds the office, and its connection is cut.
    cluster.restart(2);
    cluster.campaign(2, 2, "job", None);
    cluster.advance_ms(1_000);
    assert!(cluster.token(2, "job").is_some());
    cluster.campaign(1, 1, "job", None);
    cluster.isolate(2);
    // The earlier one is back for a moment, and everything that it has sent is read at once.
    assert!(is_told(&mut cluster, harness::incarnation(2)));
    cluster.deliver(2, 1, Message::Leave);
    cluster.advance_ms(100);
    assert_eq!(cluster.token(1, "job"), None, "the later process may act until its lease is over");
    cluster.advance_ms(2_000);
    assert!(cluster.token(1, "job").is_some());
}

#[test]
fn what_a_member_sends_counts_again_after_its_next_connection() {
    let mut cluster = single_voter();
    for incarnation in [7, 8] {
        cluster.drive(1, |core, now| core.handle_connected(Id(2), incarnation, now));
        cluster.deliver(2, 1, candidacy(incarnation, 22));
    }
    assert!(is_told(&mut cluster, 7));
    cluster.advance_ms(60);
    answer(&mut cluster, 3);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 0, "it is from the earlier process");
    assert!(!is_told(&mut cluster, 8));
    cluster.advance_ms(60);
    answer(&mut cluster, 4);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 4);
}

#[test]
fn a_node_stops_when_another_process_runs_as_the_same_member() {
    let mut cluster = TestCluster::new([1, 2].map(|node| config(node, &ROLES)).to_vec());
    cluster.advance_ms(500);
    cluster.deliver(1, 2, Message::Superseded);
    assert_eq!(cluster.node(2).exit, Some(Exit::Superseded));
}
