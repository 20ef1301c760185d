//! What belongs to an earlier start of a node, or to another disk, does not count for this one.

use hustings_cluster::member::Role;
use hustings_cluster::wire::{Candidacy, FollowerHeartbeat, Heartbeat, Message};
use hustings_protocol::Id;

use crate::harness::{TestCluster, config, incarnation};

const ROLES: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Observer), (3, Role::Observer)];

/// Node 1 decides alone; nodes 2 and 3, which the test plays, are connected.
fn single_voter() -> TestCluster {
    let mut cluster = TestCluster::new(vec![config(1, &ROLES)]);
    cluster.advance_ms(100);
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 7, now));
    cluster.drive(1, |core, now| core.handle_connected(Id(3), 9, now));
    cluster
}

/// Node 2 answers the last round that it was sent, with this number of its own.
fn answer(cluster: &mut TestCluster, number: u64) {
    let leader = cluster.last_leader_heartbeat(1, 2);
    let follower = FollowerHeartbeat { term: leader.term, round: leader.round, applied: u64::MAX };
    cluster.deliver(2, 1, Message::Heartbeat(Heartbeat { number, leader: None, follower: Some(follower) }));
    cluster.advance_ms(60);
}

#[test]
fn what_is_confirmed_is_confirmed_to_one_life_only() {
    let mut cluster = single_voter();
    answer(&mut cluster, 5);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 5);
    cluster.drive(1, |core, now| core.handle_disconnected(Id(2), now));
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 8, now));
    // Its fifth heartbeat is one that it has not sent yet: it would count its lease from then.
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 0, "the new incarnation has answered nothing");
    answer(&mut cluster, 1);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 1);
}

#[test]
fn what_is_relayed_counts_for_the_life_that_said_it() {
    let mut cluster = single_voter();
    let says = |incarnation| {
        let bytes = Message::ReadinessRequest { office: "leader".to_string() }.encode();
        Message::Relay { from: Id(2), incarnation, to: Id(1), bytes }
    };
    let answers = |cluster: &mut TestCluster| {
        let sent = std::mem::take(&mut cluster.node(1).sent);
        let answers = sent.into_iter().filter_map(|(_, message)| match message {
            Message::ReadinessResponse { .. } => Some(None),
            Message::Relay { from: Id(1), incarnation, to: Id(2), bytes } => {
                matches!(Message::decode(&bytes), Ok(Message::ReadinessResponse { .. })).then_some(Some(incarnation))
            }
            _ => None,
        });
        answers.collect::<Vec<_>>()
    };
    cluster.deliver(3, 1, says(6));
    assert_eq!(answers(&mut cluster), [], "that incarnation of node 2 is over");
    cluster.deliver(3, 1, says(7));
    assert_eq!(answers(&mut cluster), [None]);
    // Without a connection the answer is relayed, too, and says which incarnation of node 1 gives it.
    cluster.drive(1, |core, now| core.handle_disconnected(Id(2), now));
    cluster.deliver(3, 1, says(7));
    assert_eq!(answers(&mut cluster), [Some(incarnation(1))]);
}

#[test]
fn who_passes_something_on_does_not_change_whose_life_it_is() {
    let mut cluster = single_voter();
    let relay = Message::Relay { from: Id(2), incarnation: 6, to: Id(3), bytes: Message::Leave.encode() };
    cluster.deliver(2, 1, relay.clone());
    assert!(cluster.node(1).sent.contains(&(Id(3), relay)));
}

#[test]
fn a_disk_that_is_the_known_one_again_is_trusted_again() {
    let mut cluster = single_voter();
    let candidacy = |incarnation, store_id| Candidacy {
        incarnation,
        store_id,
        health: 100,
        lease_at_arbiter_us: 0,
        offices: Vec::new(),
    };
    cluster.deliver(2, 1, Message::Candidacy(candidacy(7, 22)));
    cluster.advance_ms(100);
    // Another start, with another disk: what it answers proves nothing.
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 8, now));
    cluster.deliver(2, 1, Message::Candidacy(candidacy(8, 33)));
    assert!(cluster.node(1).sent.contains(&(Id(2), Message::UnknownDisk)));
    answer(&mut cluster, 3);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 0);
    // The right disk is back.
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 10, now));
    cluster.deliver(2, 1, Message::Candidacy(candidacy(10, 22)));
    answer(&mut cluster, 4);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 4);
}
