//! What others say of a node's own disk. One that lies can stop a node, but not make its folder unusable.

use hustings_protocol::Id;

use super::harness::{TestCluster, candidacy, config};
use crate::api::Request;
use crate::core::Exit;
use crate::member::Role;
use crate::store::{DiskPosition, KnownDisk};
use crate::wire::{Heartbeat, LeaderHeartbeat, Message};

const ROLES: [(u64, Role); 4] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector), (4, Role::Observer)];
/// The disk of node 1.
const OWN_DISK: u64 = 71;

fn position(number: u64) -> DiskPosition {
    DiskPosition { term: number, log_term: number, index: number }
}

/// Says that a disk of node 1 is an older copy.
fn old_disk(store_id: u64) -> Message {
    Message::OldDisk(KnownDisk { store_id, incarnation: 5, reached: position(1 << 40), refused_as: None })
}

/// Node 1, which has refused node 2. The test simulates the others, which are connected.
fn node() -> TestCluster {
    let mut cluster = TestCluster::new(vec![config(1, &ROLES)]);
    for other in [2, 3, 4] {
        cluster.introduce_blank(other, 1);
    }
    cluster.deliver(2, 1, Message::DiskMark(position(9)));
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 7, now));
    cluster.deliver(2, 1, candidacy(7, 72, position(8)));
    assert!(cluster.node(1).sent.iter().any(|(_, message)| matches!(message, Message::OldDisk(_))));
    cluster
}

/// Why node 1 stops when a member says this, and the others, which may say something, do not say otherwise.
fn exit(from: u64, message: &Message) -> Option<Exit> {
    let mut cluster = node();
    tell(&mut cluster, from, message.clone());
    cluster.node(1).exit
}

/// A member says this, and time passes until node 1 does not wait for others any more.
fn tell(cluster: &mut TestCluster, from: u64, message: Message) {
    cluster.deliver(from, 1, message);
    for _ in 0..20 {
        cluster.advance_ms(100);
        let heartbeat = Message::Heartbeat(Heartbeat { number: 1, leader: None, follower: None });
        [2, 3, 4].into_iter().for_each(|other| cluster.deliver(other, 1, heartbeat.clone()));
    }
}

#[test]
fn a_node_stops_if_a_voter_that_it_trusts_refuses_its_disk() {
    for (message, why) in [(old_disk(OWN_DISK), Exit::OldDisk), (Message::UnknownDisk(99), Exit::UnknownDisk)] {
        assert_eq!([2, 3, 4].map(|from| exit(from, &message)), [None, Some(why), None]);
    }
}

#[test]
fn what_is_said_of_another_disk_does_not_count() {
    assert_eq!(exit(3, &Message::UnknownDisk(OWN_DISK)), None, "it is the registered one");
    assert_eq!(exit(3, &old_disk(99)), None);
    let reached = Message::OldDisk(KnownDisk {
        store_id: OWN_DISK,
        incarnation: 5,
        reached: DiskPosition::default(),
        refused_as: None,
    });
    assert_eq!(exit(3, &reached), None, "the disk is not older than that");
}

#[test]
fn a_node_that_was_told_so_does_nothing_until_it_has_written_that() {
    let mut cluster = node();
    cluster.node(1).is_disk_stuck = true;
    cluster.deliver(3, 1, old_disk(OWN_DISK));
    assert_eq!((cluster.node(1).exit, cluster.node(1).disk.refused_as()), (None, Some(1_001)));
    let leader = Some(LeaderHeartbeat { term: 30, commit: 0, round: 1, confirmed: 0 });
    let leads = Message::Heartbeat(Heartbeat { number: 1, leader, follower: None });
    cluster.deliver(3, 1, leads.clone());
    assert_eq!(cluster.node(1).core.arbiter_leader(), None);
    tell(&mut cluster, 3, old_disk(OWN_DISK));
    assert_eq!(cluster.node(1).exit, None, "the refusal is not durable");
    // Who said so goes down. Nobody doubts the disk any more, but the node has believed it.
    cluster.drive(1, |core, now| core.handle_disconnected(Id(3), now));
    cluster.advance_ms(100);
    cluster.introduce_blank(3, 1);
    cluster.deliver(3, 1, leads);
    assert_eq!(cluster.node(1).core.arbiter_leader(), None);
    cluster.complete_writes(1);
    assert_eq!(cluster.node(1).exit, Some(Exit::OldDisk));
}

#[test]
fn a_copy_that_was_refused_says_so_from_then_on() {
    let mut cluster = node();
    cluster.deliver(3, 1, old_disk(OWN_DISK));
    cluster.restart(1);
    cluster.introduce_blank(3, 1);
    let is_said = |(to, message): &(Id, Message)| {
        let said = Some(1_001);
        *to == Id(3) && matches!(message, Message::Candidacy(candidacy) if candidacy.disk.refused_as == said)
    };
    assert!(cluster.node(1).sent.iter().any(is_said));
    let refuse = |refused_as| {
        let known = KnownDisk { store_id: OWN_DISK, incarnation: 5, reached: DiskPosition::default(), refused_as };
        Message::OldDisk(known)
    };
    tell(&mut cluster, 3, refuse(Some(1_000)));
    assert_eq!(cluster.node(1).exit, None, "that is another copy");
    tell(&mut cluster, 3, refuse(Some(1_001)));
    assert_eq!(cluster.node(1).exit, Some(Exit::OldDisk));
}

/// Node 3 lies to the others. They go on, and can remove it.
#[test]
fn a_voter_that_lies_ends_no_folder() {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &ROLES)).to_vec());
    cluster.advance_ms(1_000);
    cluster.isolate(3);
    for node in [1, 2] {
        for lie in [old_disk(70 + node), Message::UnknownDisk(99)] {
            cluster.deliver(3, node, lie);
            assert_eq!(cluster.node(node).exit, None);
            cluster.restart(node);
            assert_eq!(cluster.node(node).exit, None);
            cluster.advance_ms(3_000);
        }
    }
    let leader = cluster.arbiter_leader(1).expect("two of three are a majority");
    cluster.request(leader, 9, Request::RemoveMember { name: "n3".to_string(), force: true });
    cluster.advance_ms(1_000);
    for node in [1, 2] {
        cluster.deliver(3, node, old_disk(70 + node));
        cluster.deliver(3, node, Message::UnknownDisk(99));
        cluster.advance_ms(2_000);
        assert_eq!(cluster.node(node).exit, None);
    }
    assert!(cluster.arbiter_leader(1).is_some());
}
