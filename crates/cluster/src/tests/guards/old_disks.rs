//! An older copy of a member's disk has forgotten votes and entries. Whoever remembers more of it refuses it.

use hustings_protocol::Id;
use raft::eraftpb::{self, MessageType};

use super::disks::used_disk;
use super::harness::{TestCluster, candidacy_with, config};
use crate::api::Request;
use crate::core::Exit;
use crate::member::Role;
use crate::store::{DiskPosition, DiskState, KnownDisk, RaftStorage};
use crate::wire::{Heartbeat, LeaderHeartbeat, Message, RaftMessage};

const ROLES: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];
/// The client that campaigns.
const CLIENT: u64 = 1;

fn position(term: u64, log_term: u64, index: u64) -> DiskPosition {
    DiskPosition { term, log_term, index }
}

/// An incarnation of node 2 introduces itself to node 1, with this disk. Returns whether it is refused.
fn is_refused(cluster: &mut TestCluster, incarnation: u64, store_id: u64, disk: DiskPosition) -> bool {
    is_refused_with(cluster, incarnation, store_id, DiskState { now: disk, started_at: disk, refused_as: None })
}

/// The same, with all that it says of its disk.
fn is_refused_with(cluster: &mut TestCluster, incarnation: u64, store_id: u64, disk: DiskState) -> bool {
    cluster.drive(1, |core, now| core.handle_connected(Id(2), incarnation, now));
    cluster.node(1).sent.clear();
    cluster.deliver(2, 1, candidacy_with(incarnation, store_id, disk));
    let is_refusal = |(to, message): &(Id, Message)| *to == Id(2) && matches!(message, Message::OldDisk(_));
    cluster.node(1).sent.iter().any(is_refusal)
}

/// Node 1, a voter of three that leads nothing and has a log. It has heard from node 2 how far its disk 72 is.
fn node_that_remembers(reached: DiskPosition) -> TestCluster {
    let mut cluster = TestCluster::with_disks(vec![(config(1, &ROLES), used_disk())]);
    assert!(!is_refused(&mut cluster, 7, 72, reached));
    cluster.deliver(2, 1, Message::DiskMark(reached));
    cluster
}

#[test]
fn a_disk_is_older_if_its_term_or_its_log_ends_earlier() {
    for (disk, is_old) in [
        (position(9, 5, 48), false),
        (position(10, 10, 60), false),
        (position(8, 5, 48), true),
        (position(9, 5, 47), true),
        (position(9, 4, 48), true),
        (position(0, 0, 0), true),
    ] {
        let mut cluster = node_that_remembers(position(9, 5, 48));
        assert_eq!(is_refused(&mut cluster, 8, 72, disk), is_old, "{disk:?}");
        // The right disk is back.
        assert!(!is_refused(&mut cluster, 10, 72, position(9, 5, 48)));
    }
    let mut cluster = node_that_remembers(position(9, 5, 48));
    assert!(!is_refused(&mut cluster, 8, 99, position(0, 0, 0)), "nothing is known of another disk");
}

#[test]
fn what_one_process_says_may_arrive_in_any_order() {
    let mut cluster = node_that_remembers(position(9, 5, 40));
    assert!(!is_refused(&mut cluster, 8, 72, position(9, 5, 44)));
    cluster.deliver(2, 1, Message::DiskMark(position(9, 5, 48)));
    // What it has sent before that through a relay comes later.
    assert!(!is_refused(&mut cluster, 8, 72, position(9, 5, 44)));
    assert!(is_refused(&mut cluster, 9, 72, position(9, 5, 44)));
}

#[test]
fn what_is_remembered_never_becomes_less() {
    let mut cluster = node_that_remembers(position(9, 5, 48));
    // After a restart, a member learns only from a leader how much of its log is committed.
    cluster.deliver(2, 1, Message::DiskMark(position(9, 2, 20)));
    assert!(is_refused(&mut cluster, 8, 72, position(9, 5, 47)));
    // What the refused disk says counts for nothing.
    cluster.deliver(2, 1, Message::DiskMark(position(30, 30, 30)));
    assert!(!is_refused(&mut cluster, 9, 72, position(9, 5, 48)));
}

#[test]
fn a_restarted_member_still_remembers() {
    let mut cluster = node_that_remembers(position(9, 5, 48));
    // What it remembers is written with whatever it writes next, here with a term.
    let leader = Some(LeaderHeartbeat { term: 9, commit: 0, round: 1, confirmed: 0 });
    cluster.deliver(2, 1, Message::Heartbeat(Heartbeat { number: 1, leader, follower: None }));
    let disk = cluster.node(1).disk.copy();
    assert_eq!(
        disk.known_disks().get(&Id(2)),
        Some(&KnownDisk { store_id: 72, incarnation: 7, reached: position(9, 5, 48), refused_as: None })
    );
    let mut cluster = TestCluster::with_disks(vec![(config(1, &ROLES), disk)]);
    assert!(is_refused(&mut cluster, 8, 72, position(9, 5, 47)));
}

#[test]
fn nothing_that_an_old_disk_says_counts() {
    let responses = |disk: DiskPosition| {
        let mut cluster = node_that_remembers(position(9, 5, 48));
        let _ = is_refused(&mut cluster, 8, 72, disk);
        cluster.node(1).sent.clear();
        let leader = Some(LeaderHeartbeat { term: 20, commit: 0, round: 1, confirmed: 0 });
        cluster.deliver(2, 1, Message::Heartbeat(Heartbeat { number: 1, leader, follower: None }));
        let follows = cluster.node(1).core.arbiter_leader();
        let mut request = eraftpb::Message { term: 21, index: 48, log_term: 5, ..Default::default() };
        request.set_msg_type(MessageType::MsgRequestVote);
        request.context = b"CampaignTransfer".to_vec().into();
        cluster.deliver(2, 1, Message::Raft(RaftMessage::from(&request)));
        let is_answer = |message: &Message| match message {
            Message::Heartbeat(heartbeat) => heartbeat.follower.is_some(),
            message => matches!(message, Message::Raft(_)),
        };
        let answers = cluster.node(1).sent.iter().filter(|(to, message)| *to == Id(2) && is_answer(message)).count();
        let leader = Some(LeaderHeartbeat { term: 1 << 40, commit: 0, round: 1, confirmed: 0 });
        cluster.deliver(2, 1, Message::Heartbeat(Heartbeat { number: 2, leader, follower: None }));
        (follows, answers, cluster.node(1).core.arbiter_term() > 1 << 30)
    };
    assert_eq!(responses(position(9, 5, 48)), (Some(Id(2)), 2, true), "the right disk may lead, and gets a vote");
    assert_eq!(responses(position(8, 5, 48)), (None, 0, false));
}

/// Three nodes of which the first two hold everything that was decided: the log of the third is cut off, but not its
/// heartbeats. Returns a copy of the second disk from before the last grants, and the highest token.
fn two_know_more_than_the_third() -> (TestCluster, RaftStorage, u64) {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &ROLES)).to_vec());
    cluster.advance_ms(1_000);
    assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)));
    let old = cluster.node(2).disk.copy();
    cluster.lost = [(1, 3), (2, 3)].into();
    for number in 0..10 {
        cluster.campaign(1, CLIENT, &format!("office-{number}"), None);
        cluster.advance_ms(100);
    }
    let token = cluster.token(1, "office-9").expect("two of three are a majority");
    (cluster, old, token)
}

/// The token that node 3 gets for an office that it campaigns for.
fn next_token(cluster: &mut TestCluster) -> Option<u64> {
    cluster.lost.clear();
    cluster.campaign(3, CLIENT, "next", None);
    cluster.advance_ms(5_000);
    cluster.token(3, "next")
}

#[test]
fn tokens_go_on_although_an_old_copy_and_a_member_that_lags_are_a_majority() {
    let (mut cluster, old, highest) = two_know_more_than_the_third();
    let newest = cluster.node(2).disk.copy();
    cluster.kill(1);
    cluster.restart_with(2, old);
    // Perhaps others come up that trust its disk. Until it is sure, it takes no part in anything.
    cluster.advance_ms(900);
    assert_eq!((cluster.node(2).exit, cluster.arbiter_leader(2), cluster.arbiter_leader(3)), (None, None, None));
    cluster.advance_ms(200);
    assert_eq!(cluster.node(2).exit, Some(Exit::OldDisk));
    assert_eq!(next_token(&mut cluster), None, "one of three is no majority");
    // The newest folder is put back.
    cluster.restart_with(2, newest);
    cluster.campaign(2, CLIENT, "next", None);
    cluster.advance_ms(5_000);
    let token = [2, 3].into_iter().find_map(|node| cluster.token(node, "next")).expect("two of three are a majority");
    assert!(token > highest, "{token} after {highest}");
}

#[test]
fn an_old_copy_is_refused_by_the_leader() {
    let (mut cluster, old, _) = two_know_more_than_the_third();
    cluster.isolate(3);
    cluster.restart_with(2, old);
    // It cannot ask the third one.
    cluster.advance_ms(3_000);
    assert_eq!(cluster.node(2).exit, Some(Exit::OldDisk));
}

#[test]
fn what_nobody_has_heard_of_is_not_noticed() {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &ROLES)).to_vec());
    cluster.advance_ms(1_000);
    let (old, third) = (cluster.node(2).disk.copy(), cluster.node(3).disk.copy());
    cluster.kill(3);
    for number in 0..10 {
        cluster.campaign(1, CLIENT, &format!("office-{number}"), None);
        cluster.advance_ms(100);
    }
    let highest = cluster.token(1, "office-9").expect("two of three are a majority");
    [1, 2].into_iter().for_each(|node| cluster.kill(node));
    let mut cluster = TestCluster::with_disks(vec![(config(2, &ROLES), old), (config(3, &ROLES), third)]);
    let token = next_token(&mut cluster).expect("they are a majority, and remember nothing else");
    assert!(token <= highest, "{token} after {highest}: then docs/operations.md promises too little");
}

#[test]
fn what_was_stored_since_the_last_heartbeat_is_not_noticed() {
    for (ms, exit) in [(0, None), (200, Some(Exit::OldDisk))] {
        let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &ROLES)).to_vec());
        cluster.advance_ms(1_000);
        let old = cluster.node(2).disk.copy();
        cluster.campaign(1, CLIENT, "office", None);
        assert!(cluster.token(1, "office").is_some(), "a majority is up");
        cluster.advance_ms(ms);
        cluster.restart_with(2, old);
        assert_eq!(cluster.node(2).exit, exit, "after {ms} ms: docs/operations.md says when it is noticed");
    }
}

#[test]
fn an_old_copy_that_has_caught_up_is_refused() {
    let (old, newest) = (position(8, 5, 48), position(9, 5, 48));
    let caught_up = DiskState { now: newest, started_at: old, refused_as: None };
    // It has received from somebody else what it lacked, before it introduces itself for the first time, or after.
    let mut cluster = node_that_remembers(newest);
    assert!(is_refused_with(&mut cluster, 8, 72, caught_up));
    let mut cluster = node_that_remembers(newest);
    assert!(is_refused(&mut cluster, 8, 72, old));
    assert!(is_refused_with(&mut cluster, 8, 72, caught_up));
    assert!(is_refused(&mut cluster, 8, 72, newest), "it is the same process");
    assert!(!is_refused(&mut cluster, 10, 72, newest), "the right disk is back");
}

#[test]
fn who_has_refused_an_old_copy_refuses_it_at_its_next_start() {
    let (old, newest) = (position(8, 5, 48), position(9, 5, 48));
    let refused_as = |incarnation| DiskState { now: newest, started_at: newest, refused_as: Some(incarnation) };
    let mut cluster = node_that_remembers(newest);
    assert!(!is_refused_with(&mut cluster, 8, 72, refused_as(5)), "what others have refused does not count");
    let mut cluster = node_that_remembers(newest);
    assert!(is_refused(&mut cluster, 8, 72, old));
    // Its log is complete by now, but votes are missing.
    assert!(is_refused_with(&mut cluster, 9, 72, refused_as(8)));
    assert!(!is_refused(&mut cluster, 10, 72, newest), "the right disk is back");
    cluster.deliver(2, 1, Message::DiskMark(position(9, 5, 50)));
    let later = position(9, 5, 60);
    assert!(is_refused_with(&mut cluster, 11, 72, DiskState { now: later, started_at: later, ..refused_as(8) }));
    // It is remembered on disk.
    let leader = Some(LeaderHeartbeat { term: 30, commit: 0, round: 1, confirmed: 0 });
    cluster.introduce_blank(3, 1);
    cluster.deliver(3, 1, Message::Heartbeat(Heartbeat { number: 1, leader, follower: None }));
    let known = cluster.node(1).disk.known_disks();
    assert_eq!(known.get(&Id(2)).and_then(|known| known.refused_as), Some(8));
}

#[test]
fn a_wiped_member_is_refused_at_every_start() {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &ROLES)).to_vec());
    cluster.advance_ms(1_000);
    let store_id = 99;
    for attempt in 1..=3 {
        cluster.kill(2);
        cluster.start_with(config(2, &ROLES), RaftStorage::empty(), 2_000 + attempt, store_id);
        assert_eq!(cluster.node(2).exit, Some(Exit::UnknownDisk), "start {attempt}");
    }
}

#[test]
fn what_is_remembered_of_a_removed_member_is_forgotten() {
    let (mut cluster, ..) = two_know_more_than_the_third();
    cluster.lost.clear();
    cluster.advance_ms(1_000);
    let remembers = |cluster: &mut TestCluster| cluster.node(1).disk.known_disks().contains_key(&Id(3));
    assert!(remembers(&mut cluster));
    cluster.request(1, 9, Request::RemoveMember { name: "n3".to_string(), force: true });
    cluster.advance_ms(200);
    cluster.campaign(1, CLIENT, "one-more", None);
    cluster.advance_ms(200);
    assert!(!remembers(&mut cluster));
}
