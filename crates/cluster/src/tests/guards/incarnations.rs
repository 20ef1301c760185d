//! Messages of an earlier incarnation of a node, or of another disk, have no effect.

use hustings_protocol::Id;

use super::harness::{TestCluster, config, incarnation};
use crate::member::Role;
use crate::wire::{Candidacy, FollowerHeartbeat, Heartbeat, Message};

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

fn candidacy(incarnation: u64, store_id: u64) -> Message {
    Message::Candidacy(Candidacy {
        incarnation,
        store_id,
        disk_fails: false,
        health: 100,
        digest: Default::default(),
        version: 1,
        base: None,
        added: Vec::new(),
        removed: Vec::new(),
    })
}

/// A message of an incarnation of node 2 to node 1, through a relay.
fn relayed(incarnation: u64, message: &Message) -> Message {
    Message::Relay { from: Id(2), incarnation, to: Id(1), bytes: message.encode() }
}

/// A question of an incarnation of node 2, through a relay.
fn says(incarnation: u64) -> Message {
    relayed(incarnation, &Message::ReadinessRequest { office: "leader".into() })
}

/// What node 1 sent to node 2 through a relay, and with which incarnation of its own.
fn sent_through_relays(sent: &[(Id, Message)]) -> Vec<(u64, Message)> {
    let relayed = sent.iter().filter_map(|(_, message)| match message {
        Message::Relay { from: Id(1), incarnation, to: Id(2), bytes } => {
            Some((*incarnation, Message::decode(bytes).expect("a node relays valid messages")))
        }
        _ => None,
    });
    relayed.collect()
}

/// The answers to node 2: for each that is relayed, the incarnation of node 1.
fn answers(cluster: &mut TestCluster) -> Vec<Option<u64>> {
    let sent = std::mem::take(&mut cluster.node(1).sent);
    let is_answer = |message: &Message| matches!(message, Message::ReadinessResponse { .. });
    let direct = sent.iter().filter(|(_, message)| is_answer(message)).map(|_| None);
    let relayed = sent_through_relays(&sent).into_iter().filter(|(_, message)| is_answer(message));
    direct.chain(relayed.map(|(incarnation, _)| Some(incarnation))).collect()
}

#[test]
fn relayed_messages_carry_the_incarnation_of_their_sender() {
    let mut cluster = single_voter();
    cluster.deliver(3, 1, says(6));
    assert_eq!(answers(&mut cluster), [], "the message is from an earlier incarnation of node 2");
    cluster.deliver(3, 1, says(7));
    assert_eq!(answers(&mut cluster), [None]);
    // Without a connection, the response is relayed as well, and carries the incarnation of node 1.
    cluster.drive(1, |core, now| core.handle_disconnected(Id(2), now));
    cluster.deliver(3, 1, says(7));
    assert_eq!(answers(&mut cluster), [Some(incarnation(1))]);
}

#[test]
fn a_member_that_is_restarted_without_a_connection_introduces_itself() {
    let mut cluster = single_voter();
    cluster.drive(1, |core, now| core.handle_disconnected(Id(2), now));
    answers(&mut cluster);
    cluster.deliver(3, 1, says(8));
    let sent = sent_through_relays(&cluster.node(1).sent);
    let introduces =
        |message: &Message| matches!(message, Message::Candidacy(candidacy) if candidacy.incarnation == incarnation(1));
    assert!(sent.iter().any(|(_, message)| introduces(message)), "{sent:?}");
    assert_eq!(answers(&mut cluster), [], "nothing is known of its disk");
    cluster.deliver(3, 1, relayed(8, &candidacy(9, 22)));
    cluster.deliver(3, 1, says(8));
    assert_eq!(answers(&mut cluster), [], "the candidacy is not its own");
    cluster.deliver(3, 1, relayed(8, &candidacy(8, 22)));
    cluster.deliver(3, 1, says(8));
    assert_eq!(answers(&mut cluster), [Some(incarnation(1))]);
    // What an earlier incarnation sent may arrive late, through another relay.
    cluster.advance_ms(1_500);
    cluster.drive(1, |core, now| core.handle_connected(Id(3), 9, now));
    cluster.deliver(3, 1, relayed(7, &candidacy(7, 22)));
    cluster.deliver(3, 1, says(7));
    assert_eq!(answers(&mut cluster), [], "it is no longer running");
    cluster.deliver(3, 1, says(8));
    assert_eq!(answers(&mut cluster), [Some(incarnation(1))]);
}

#[test]
fn a_relay_does_not_change_the_incarnation() {
    let mut cluster = single_voter();
    let relay = Message::Relay { from: Id(2), incarnation: 6, to: Id(3), bytes: Message::Leave.encode() };
    cluster.deliver(2, 1, relay.clone());
    assert!(cluster.node(1).sent.contains(&(Id(3), relay)));
}

#[test]
fn trusts_the_registered_disk_again_when_it_is_back() {
    let mut cluster = single_voter();
    cluster.deliver(2, 1, candidacy(7, 22));
    cluster.advance_ms(100);
    // Another incarnation with another disk: its answers prove nothing.
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 8, now));
    cluster.deliver(2, 1, candidacy(8, 33));
    assert!(cluster.node(1).sent.contains(&(Id(2), Message::UnknownDisk)));
    answer(&mut cluster, 3);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 0);
    // The registered disk is back.
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 10, now));
    cluster.deliver(2, 1, candidacy(10, 22));
    answer(&mut cluster, 4);
    assert_eq!(cluster.last_leader_heartbeat(1, 2).confirmed, 4);
}
