//! A disk that has lost its votes takes no part in the arbiter's elections.

use hustings_protocol::Id;
use raft::Storage;
use raft::eraftpb::{self, ConfState, Entry, HardState, MessageType, Snapshot};

use super::harness::{self, TestCluster, config, members};
use crate::api::{Reply, Request};
use crate::core::table::{Command, Table};
use crate::member::Role;
use crate::store::{DiskPosition, RaftStorage, Write};
use crate::wire::{Message, RaftMessage};

const ROLES: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

/// A request for a vote in `term`, of a candidate whose log ends at `index`.
fn vote_request(kind: MessageType, term: u64, (index, log_term): (u64, u64)) -> eraftpb::Message {
    let mut message = eraftpb::Message { term, index, log_term, ..Default::default() };
    message.set_msg_type(kind);
    message
}

fn deliver(cluster: &mut TestCluster, from: u64, message: &eraftpb::Message) {
    cluster.deliver(from, 1, Message::Raft(RaftMessage::from(message)));
}

/// The votes that node 1 has given to node 2 since it was asked last.
fn votes(cluster: &mut TestCluster) -> Vec<MessageType> {
    let sent = cluster.node(1).sent.extract_if(.., |(to, message)| *to == Id(2) && matches!(message, Message::Raft(_)));
    let messages = sent.filter_map(|(_, message)| match message {
        Message::Raft(raft) => raft.to_raft(1, 2),
        _ => None,
    });
    messages.filter(|message| !message.reject).map(|message| message.get_msg_type()).collect()
}

/// Node 1 with this disk. The test simulates nodes 2 and 3, which are connected and have blank disks.
fn voter(disk: RaftStorage) -> TestCluster {
    let mut cluster = TestCluster::with_disks(vec![(config(1, &ROLES), disk)]);
    for other in [2, 3] {
        cluster.introduce_blank(other, 1);
    }
    votes(&mut cluster);
    cluster
}

/// A disk with a snapshot at index 3.
pub(super) fn used_disk() -> RaftStorage {
    let mut snapshot = Snapshot { data: Table::with_members(&members(&ROLES)).encode().into(), ..Snapshot::default() };
    (snapshot.mut_metadata().index, snapshot.mut_metadata().term) = (3, 1);
    snapshot.mut_metadata().set_conf_state(ConfState::from((vec![1, 2, 3], Vec::new())));
    let hard_state = Some(HardState { term: 1, commit: 3, ..HardState::default() });
    let disk = RaftStorage::empty();
    let write = Write { number: 1, hard_state, snapshot: Some(snapshot), sync: true, ..Write::default() };
    disk.apply(&write).expect("a valid write");
    disk
}

#[test]
fn a_blank_disk_votes_only_for_blank_disks() {
    for (request, response) in [
        (MessageType::MsgRequestVote, MessageType::MsgRequestVoteResponse),
        (MessageType::MsgRequestPreVote, MessageType::MsgRequestPreVoteResponse),
    ] {
        let votes_for = |disk, log| {
            let mut cluster = voter(disk);
            deliver(&mut cluster, 2, &vote_request(request, 5, log));
            votes(&mut cluster)
        };
        assert_eq!(votes_for(used_disk(), (7, 4)), [response], "the candidate's log is longer");
        assert_eq!(votes_for(RaftStorage::empty(), (0, 0)), [response], "a new cluster elects a leader");
        assert_eq!(votes_for(RaftStorage::empty(), (7, 4)), [], "the disk may have lost a vote, or entries");
    }
}

/// What incarnation 7 of a member announces with this disk, on which much is stored.
fn candidacy(store_id: u64) -> Message {
    harness::candidacy(7, store_id, DiskPosition { term: 1 << 40, log_term: 1 << 40, index: 1 << 40 })
}

/// Three nodes with registered disks. Node 2 is connected to node 1, which leads, in a new incarnation with this disk.
fn leader_with_disk_of_node_2(store_id: u64) -> (TestCluster, u64) {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &ROLES)).to_vec());
    cluster.advance_ms(1_000);
    assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)));
    let term = cluster.last_leader_heartbeat(1, 2).term;
    cluster.kill(2);
    cluster.drive(1, |core, now| core.handle_connected(Id(2), 7, now));
    cluster.deliver(2, 1, candidacy(store_id));
    assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)), "a majority is still there");
    (cluster, term)
}

#[test]
fn raft_messages_of_a_replaced_disk_are_ignored() {
    let leader_after_request = |store_id| {
        let (mut cluster, term) = leader_with_disk_of_node_2(store_id);
        // The leader accepts a request at any time if its sender was asked to take over.
        let mut request = vote_request(MessageType::MsgRequestVote, term + 1, (1 << 20, term));
        request.context = b"CampaignTransfer".to_vec().into();
        deliver(&mut cluster, 2, &request);
        cluster.node(1).core.arbiter_leader()
    };
    assert_eq!(leader_after_request(72), None, "the registered disk may take over");
    assert_eq!(leader_after_request(99), Some(Id(1)), "another disk may have lost its votes");
}

/// Whether node 1 votes for node 2, which asks in this term, whoever leads.
fn votes_for_node_2(cluster: &mut TestCluster, term: u64) -> bool {
    votes(cluster);
    let mut request = vote_request(MessageType::MsgRequestVote, term, (1 << 20, term - 1));
    request.context = b"CampaignTransfer".to_vec().into();
    deliver(cluster, 2, &request);
    votes(cluster) == [MessageType::MsgRequestVoteResponse]
}

fn tells_of_another_disk(cluster: &mut TestCluster) -> bool {
    let is_told = |(to, message): &(Id, Message)| *to == Id(2) && matches!(message, Message::UnknownDisk(_));
    cluster.node(1).sent.iter().any(is_told)
}

#[test]
fn a_replaced_disk_confirms_no_read() {
    for (store_id, is_confirmed) in [(72, true), (99, false)] {
        let (mut cluster, term) = leader_with_disk_of_node_2(store_id);
        cluster.isolate(3);
        cluster.node(1).sent.clear();
        cluster.request(1, 8, Request::Leader { office: "leader".to_string() });
        let poll = cluster.node(1).sent.iter().find_map(|(_, message)| match message {
            Message::PollRequest { poll, .. } => Some(*poll),
            _ => None,
        });
        let poll = poll.expect("the leader polls the voters");
        cluster.deliver(2, 1, Message::PollResponse { term, poll });
        let replies = cluster.take_replies(1, 8);
        let is_current = |reply: &Reply| matches!(reply, Reply::Office(status) if status.current);
        assert_eq!(replies.iter().any(is_current), is_confirmed, "disk {store_id}: {replies:?}");
    }
}

#[test]
fn a_restarted_node_knows_the_disks_that_its_log_registers() {
    for (store_id, is_known) in [(72, true), (99, false)] {
        let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &ROLES)).to_vec());
        cluster.advance_ms(1_000);
        // A node may stop before it has written how much of its log is committed. Only a leader can tell it.
        let disk = cluster.node(1).disk.clone();
        let stored = disk.initial_state().expect("the disk can be read").hard_state;
        disk.set_hard_state(HardState { commit: 0, ..stored });
        let mut cluster = voter(disk);
        cluster.deliver(2, 1, candidacy(store_id));
        assert!(!tells_of_another_disk(&mut cluster), "another disk may be committed by now");
        assert_eq!(votes_for_node_2(&mut cluster, 20), is_known, "disk {store_id}");
    }
}

/// A leader that stopped before it replicated the registration of a disk. The next one has registered another disk.
#[test]
fn a_registration_that_was_not_committed_stops_nobody() {
    let register = |term, store_id| {
        let data = Command::RegisterStore { id: Id(2), store_id, reads: 1 }.encode(1).into();
        Entry { index: 4, term, data, ..Entry::default() }
    };
    let disk = used_disk();
    disk.append(&[register(1, 72)]).expect("it follows the snapshot");
    let mut cluster = voter(disk);
    cluster.deliver(2, 1, candidacy(99));
    assert!(!votes_for_node_2(&mut cluster, 3), "the disk may have lost votes");
    let mut append = eraftpb::Message { term: 5, index: 3, log_term: 1, commit: 4, ..Default::default() };
    append.set_msg_type(MessageType::MsgAppend);
    append.set_entries(vec![register(5, 99)].into());
    deliver(&mut cluster, 3, &append);
    assert!(votes_for_node_2(&mut cluster, 7), "the disk is the registered one");
    assert!(!tells_of_another_disk(&mut cluster));
    // What is committed counts.
    cluster.deliver(2, 1, candidacy(72));
    assert!(cluster.node(1).sent.contains(&(Id(2), Message::UnknownDisk(99))));
}
