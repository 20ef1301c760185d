//! A new cluster begins only when nobody can have a log of an earlier one.

use hustings_protocol::Id;
use raft::eraftpb::{self, MessageType};

use super::harness::{TestCluster, candidacy, config, incarnation};
use crate::api::{Reply, Request};
use crate::core::Exit;
use crate::member::Role;
use crate::store::{DiskPosition, RaftStorage};
use crate::wire::{Message, RaftMessage};

const ROLES: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

/// The members that node 1 waits for, according to its status.
fn awaited(cluster: &mut TestCluster) -> Vec<String> {
    cluster.request(1, 9, Request::Status);
    cluster.advance_ms(2_000);
    match cluster.take_replies(1, 9).pop() {
        Some(Reply::Status(status)) => status.missing_founders,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_new_cluster_begins_when_every_first_voter_has_been_heard() {
    for size in [2, 3, 5] {
        let roles: Vec<(u64, Role)> = (1..=size).map(|id| (id, Role::Elector)).collect();
        let mut cluster = TestCluster::new((1..size).map(|node| config(node, &roles)).collect());
        // Long enough for the raft library to campaign by itself.
        cluster.advance_ms(60_000);
        for node in 1..size {
            assert_eq!(cluster.node(node).core.arbiter_leader(), None, "{size} members");
            assert!(!cluster.node(node).sent.iter().any(|(_, message)| matches!(message, Message::Raft(_))));
            assert_eq!(cluster.node(node).missing_founders, [Id(size)]);
        }
        assert_eq!(awaited(&mut cluster), [format!("n{size}")]);
        cluster.start(config(size, &roles));
        cluster.advance_ms(1_000);
        for node in 1..=size {
            assert!(cluster.node(node).core.arbiter_leader().is_some(), "{size} members");
            assert_eq!(cluster.node(node).missing_founders, []);
        }
        assert_eq!(awaited(&mut cluster), [] as [String; 0]);
    }
}

#[test]
fn a_blank_disk_does_not_vote_for_a_new_log_before_that() {
    let mut cluster = TestCluster::new([1, 2].map(|node| config(node, &ROLES)).to_vec());
    cluster.node(1).sent.clear();
    for kind in [MessageType::MsgRequestPreVote, MessageType::MsgRequestVote] {
        let mut request = eraftpb::Message { term: 1, ..Default::default() };
        request.set_msg_type(kind);
        cluster.deliver(2, 1, Message::Raft(RaftMessage::from(&request)));
    }
    assert!(!cluster.node(1).sent.iter().any(|(_, message)| matches!(message, Message::Raft(_))));
}

/// A cluster of three that has run. Returns the disk of the third member; the others are wiped and run alone.
fn two_wiped_of_three() -> (TestCluster, RaftStorage) {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &ROLES)).to_vec());
    cluster.advance_ms(1_000);
    assert!(cluster.token(3, "leader").is_some());
    let disk = cluster.node(3).disk.copy();
    [1, 2, 3].into_iter().for_each(|node| cluster.kill(node));
    for node in [1, 2] {
        cluster.start_with(config(node, &ROLES), RaftStorage::empty(), 5_000 + node, 90 + node);
    }
    (cluster, disk)
}

#[test]
fn two_wiped_disks_of_three_begin_no_new_cluster() {
    let (mut cluster, disk) = two_wiped_of_three();
    cluster.advance_ms(60_000);
    assert_eq!(awaited(&mut cluster), ["n3"]);
    for node in [1, 2] {
        assert_eq!(cluster.node(node).core.arbiter_leader(), None);
        assert_eq!(cluster.node(node).exit, None);
    }
    // The third one does not lead. It is enough that it has a log.
    cluster.start_with(config(3, &ROLES), disk, 5_003, 73);
    for node in [1, 2] {
        assert_eq!(cluster.node(node).exit, Some(Exit::UnknownDisk), "node {node}");
    }
    cluster.advance_ms(5_000);
    assert_eq!(cluster.node(3).core.arbiter_leader(), None, "one of three is no majority");
}

#[test]
fn voters_without_a_connection_hear_of_each_other_through_a_relay() {
    let mut cluster = TestCluster::new([1, 2].map(|node| config(node, &ROLES)).to_vec());
    cluster.start_beside(config(3, &ROLES), &[2]);
    cluster.advance_ms(1_000);
    for node in [1, 2, 3] {
        assert!(cluster.node(node).core.arbiter_leader().is_some(), "node {node}");
    }
}

#[test]
fn the_log_of_who_does_not_vote_hides_nobody_whom_a_new_cluster_waits_for() {
    let mut cluster = TestCluster::new(vec![config(1, &[&ROLES[..], &[(4, Role::Observer)]].concat())]);
    let used = DiskPosition { term: 5, log_term: 5, index: 50 };
    // An observer, and a guest.
    for other in [4, 9] {
        cluster.drive(1, |core, now| core.handle_connected(Id(other), incarnation(other), now));
        cluster.deliver(other, 1, candidacy(incarnation(other), 70 + other, used));
        assert_eq!(awaited(&mut cluster), ["n2", "n3"], "member {other}");
    }
    cluster.drive(1, |core, now| core.handle_connected(Id(2), incarnation(2), now));
    cluster.deliver(2, 1, candidacy(incarnation(2), 72, used));
    assert_eq!(awaited(&mut cluster), [] as [String; 0], "there is a cluster, which this node waits for");
}

#[test]
fn a_single_voter_begins_at_once() {
    let mut cluster = TestCluster::new(vec![config(1, &[(1, Role::Elector), (2, Role::Observer)])]);
    cluster.advance_ms(200);
    assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)));
}
