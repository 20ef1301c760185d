//! What a node may write is decided by what all members can read.

use std::collections::BTreeSet;

use hustings_protocol::Id;
use raft::{GetEntriesContext, Storage};

use super::harness::{TestCluster, candidacy, config};
use crate::api::Request;
use crate::config::Config;
use crate::core::Exit;
use crate::format::{FIRST, Formats};
use crate::member::Role;
use crate::store::{DiskPosition, RaftStorage};
use crate::wire::{Message, MessageKind};

/// The client that campaigns.
const CLIENT: u64 = 1;
const NEXT: u8 = FIRST + 1;

/// A later program: it reads one version more. Messages about disks came with it, let us say.
fn later() -> Formats {
    let version_of = |kind| if kind == MessageKind::DiskMark { NEXT } else { FIRST };
    Formats { reads: NEXT, version_of }
}

/// The program before it, which knows that kind of message, too, so that it would send it.
fn earlier() -> Formats {
    Formats { reads: FIRST, ..later() }
}

fn configure(node: u64, size: u64) -> Config {
    config(node, &(1..=size).map(|id| (id, Role::Elector)).collect::<Vec<_>>())
}

fn cluster_of(size: u64) -> TestCluster {
    let mut cluster = TestCluster::new(Vec::new());
    cluster.formats = (1..=9).map(|node| (node, earlier())).collect();
    (1..=size).for_each(|node| cluster.start(configure(node, size)));
    cluster.advance_ms(1_000);
    cluster
}

/// A node is started again with the later program.
fn upgrade(cluster: &mut TestCluster, node: u64) {
    cluster.formats.insert(node, later());
    cluster.restart(node);
    cluster.advance_ms(1_000);
}

/// Grants an office, and returns the versions of the entries and the snapshot on a disk from this index on.
fn versions_after(cluster: &mut TestCluster, node: u64, index: u64) -> BTreeSet<u8> {
    let office = format!("office-{}", cluster.now.0);
    cluster.campaign(node, CLIENT, &office, None);
    cluster.advance_ms(1_000);
    assert!(cluster.token(node, &office).is_some(), "a majority is up");
    versions_on(&cluster.node(node).disk, index)
}

fn versions_on(disk: &RaftStorage, index: u64) -> BTreeSet<u8> {
    let (first, last) = (disk.first_index().expect("a disk"), disk.last_index().expect("a disk"));
    let entries = disk.entries(first, last + 1, None, GetEntriesContext::empty(false)).expect("they are there");
    let later = entries.iter().filter(|entry| entry.index > index && !entry.data.is_empty());
    later.map(|entry| if entry.context.is_empty() { entry.data[0] } else { entry.context[0] }).collect()
}

fn last_index(cluster: &mut TestCluster, node: u64) -> u64 {
    cluster.node(node).disk.last_index().expect("a disk")
}

/// Whether a node has sent a message that came with the later program.
fn sends_marks(cluster: &mut TestCluster, node: u64) -> bool {
    cluster.node(node).sent.iter().any(|(_, message)| matches!(message, Message::DiskMark(_)))
}

#[test]
fn a_later_version_is_written_when_all_members_read_it() {
    let mut cluster = cluster_of(3);
    for node in [1, 2] {
        upgrade(&mut cluster, node);
        assert_eq!(versions_after(&mut cluster, node, 0), [FIRST].into(), "one member does not read the next one");
    }
    assert!((1..=3).all(|node| !sends_marks(&mut cluster, node)));
    upgrade(&mut cluster, 3);
    let raised_at = last_index(&mut cluster, 3);
    for node in 1..=3 {
        assert_eq!(versions_after(&mut cluster, node, raised_at), [NEXT].into(), "all members read it");
        assert!(sends_marks(&mut cluster, node));
    }
    // With another leader, and after a restart.
    let leader = cluster.arbiter_leader(1).expect("a majority is up");
    cluster.restart(leader);
    cluster.advance_ms(1_000);
    let index = last_index(&mut cluster, leader);
    assert_eq!(versions_after(&mut cluster, leader, index), [NEXT].into());
}

#[test]
fn a_snapshot_has_the_version_that_is_written() {
    for (is_later, version) in [(false, FIRST), (true, NEXT)] {
        let mut cluster = cluster_of(1);
        if is_later {
            upgrade(&mut cluster, 1);
        }
        // A member that is added needs a snapshot.
        let (name, address) = ("n4".to_string(), "h4:1".to_string());
        cluster.request(1, 9, Request::AddMember { id: 4, name, address, priority: 0, role: Role::Observer });
        cluster.advance_ms(500);
        assert_eq!(cluster.node(1).disk.latest_snapshot().data[0], version);
    }
}

#[test]
fn a_member_that_is_down_counts_with_what_it_last_said() {
    let mut cluster = cluster_of(3);
    cluster.kill(3);
    [1, 2].into_iter().for_each(|node| upgrade(&mut cluster, node));
    assert_eq!(versions_after(&mut cluster, 1, 0), [FIRST].into());
    // Every member is started again, and has heard nothing of the one that is down.
    [1, 2].into_iter().for_each(|node| cluster.restart(node));
    cluster.advance_ms(1_000);
    assert_eq!(versions_after(&mut cluster, 1, 0), [FIRST].into());
    cluster.request(1, 9, Request::RemoveMember { name: "n3".to_string(), force: true });
    cluster.advance_ms(500);
    let removed_at = last_index(&mut cluster, 1);
    assert_eq!(versions_after(&mut cluster, 1, removed_at), [NEXT].into(), "those that are left read it");
}

#[test]
fn a_member_that_was_never_started_holds_the_others_back() {
    let mut cluster = cluster_of(2);
    let (name, address) = ("n4".to_string(), "h4:1".to_string());
    cluster.request(1, 9, Request::AddMember { id: 4, name, address, priority: 0, role: Role::Observer });
    cluster.advance_ms(500);
    [1, 2].into_iter().for_each(|node| upgrade(&mut cluster, node));
    assert_eq!(versions_after(&mut cluster, 1, 0), [FIRST].into());
    cluster.formats.insert(4, later());
    cluster.start(Config { join: true, ..configure(4, 4) });
    cluster.advance_ms(1_000);
    let joined_at = last_index(&mut cluster, 1);
    assert_eq!(versions_after(&mut cluster, 1, joined_at), [NEXT].into());
}

#[test]
fn an_earlier_program_is_set_back_as_long_as_its_version_is_written() {
    let mut cluster = cluster_of(3);
    [1, 2].into_iter().for_each(|node| upgrade(&mut cluster, node));
    cluster.formats.insert(2, earlier());
    cluster.restart(2);
    cluster.advance_ms(1_000);
    upgrade(&mut cluster, 3);
    assert_eq!(versions_after(&mut cluster, 1, 0), [FIRST].into(), "the second one does not read the next version now");
    assert_eq!(cluster.node(2).exit, None);
}

#[test]
fn an_earlier_program_is_refused_once_a_later_version_is_written() {
    let mut cluster = cluster_of(3);
    (1..=3).for_each(|node| upgrade(&mut cluster, node));
    let refused = Some(Exit::OldProgram { version: NEXT, reads: FIRST });
    // Its disk contains nothing that it cannot read, because it was blank.
    let (name, address) = ("n4".to_string(), "h4:1".to_string());
    cluster.request(1, 9, Request::AddMember { id: 4, name, address, priority: 0, role: Role::Elector });
    cluster.advance_ms(500);
    cluster.start(Config { join: true, ..configure(4, 4) });
    assert_eq!(cluster.node(4).exit, refused, "a new member");
    cluster.restart(4);
    assert_eq!(cluster.node(4).exit, refused, "and again");
    let members = |cluster: &mut TestCluster| {
        cluster.request(1, 8, Request::Status);
        cluster.advance_ms(50);
        let replies = cluster.take_replies(1, 8);
        let [crate::api::Reply::Status(status)] = &replies[..] else { panic!("{replies:?}") };
        status.members.iter().map(|member| (member.name.clone(), member.joining)).collect::<Vec<_>>()
    };
    assert!(members(&mut cluster).contains(&("n4".to_string(), true)), "it does not vote");
    // With the later program it is welcome, with the same folder.
    cluster.formats.insert(4, later());
    cluster.restart(4);
    cluster.advance_ms(2_000);
    assert_eq!(cluster.node(4).exit, None);
    assert!(members(&mut cluster).contains(&("n4".to_string(), false)), "it votes");
}

#[test]
fn a_member_that_returns_with_an_earlier_program_is_refused() {
    let mut cluster = cluster_of(3);
    [1, 2].into_iter().for_each(|node| upgrade(&mut cluster, node));
    // The third one says what it reads, but never gets the entries that follow from it.
    cluster.lost = [(1, 3), (2, 3)].into();
    upgrade(&mut cluster, 3);
    let raised_at = last_index(&mut cluster, 1);
    assert_eq!(versions_after(&mut cluster, 1, raised_at), [NEXT].into());
    assert!(versions_on(&cluster.node(3).disk, 0).iter().all(|version| *version == FIRST), "it can read its disk");
    cluster.formats.insert(3, earlier());
    cluster.restart(3);
    assert_eq!(cluster.node(3).exit, Some(Exit::OldProgram { version: NEXT, reads: FIRST }));
}

#[test]
fn a_guest_is_sent_nothing_that_it_does_not_know() {
    let mut cluster = cluster_of(1);
    upgrade(&mut cluster, 1);
    let marks = |cluster: &mut TestCluster, reads: u8| {
        cluster.drive(1, |core, now| core.handle_connected(Id(7), u64::from(reads) + 70, now));
        let Message::Candidacy(introduction) = candidacy(u64::from(reads) + 70, 77, DiskPosition::default()) else {
            panic!("it is a candidacy")
        };
        cluster.deliver(7, 1, Message::Candidacy(crate::wire::Candidacy { reads, ..introduction }));
        cluster.node(1).sent.clear();
        cluster.campaign(1, CLIENT, &format!("office-of-{reads}"), None);
        cluster.advance_ms(500);
        sends_marks(cluster, 1)
    };
    assert!(!marks(&mut cluster, FIRST));
    assert!(!marks(&mut cluster, NEXT), "what a guest says of itself does not count");
    assert_eq!(cluster.node(1).exit, None);
}

#[test]
fn a_program_stops_when_two_voters_say_that_it_is_too_old_and_only_if_it_is() {
    let mut cluster = cluster_of(3);
    let leader = cluster.arbiter_leader(1).expect("a majority is up");
    let (node, other) = (leader % 3 + 1, (leader + 1) % 3 + 1);
    for version in [FIRST, NEXT] {
        assert_eq!(cluster.node(node).exit, None);
        cluster.deliver(other, node, Message::OldProgram { version });
        assert_eq!(cluster.node(node).exit, None, "one may lie");
        cluster.deliver(leader, node, Message::OldProgram { version });
    }
    assert_eq!(cluster.node(node).exit, Some(Exit::OldProgram { version: NEXT, reads: FIRST }));
}
