//! What voters and leaders of the log believe, and whom.

use hustings_protocol::Id;
use raft::eraftpb::{self, MessageType};

use super::harness::{TestCluster, config};
use crate::api::{Base64, Reply, Request};
use crate::config::Config;
use crate::member::Role;
use crate::store::{DiskPosition, KnownDisk};
use crate::wire::{FollowerHeartbeat, Heartbeat, LeaderHeartbeat, Message, RaftMessage};

const THREE: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];
const CLIENT: u64 = 1;

/// Three nodes of which the first leads the arbiter and holds an office.
fn three() -> TestCluster {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &THREE)).to_vec());
    cluster.campaign(1, CLIENT, "own", None);
    cluster.advance_ms(1_000);
    assert_eq!(cluster.arbiter_leader(1), Some(1));
    cluster
}

/// The same, and from now on the test speaks for the others.
fn leader_alone() -> TestCluster {
    let mut cluster = three();
    [2, 3].into_iter().for_each(|node| cluster.isolate(node));
    cluster
}

fn leads(term: u64, commit: u64) -> Message {
    let leader = Some(LeaderHeartbeat { term, commit, round: 1, confirmed: 0 });
    Message::Heartbeat(Heartbeat { number: 1, leader, follower: None })
}

/// Node 1, which follows node 2 in term 5. The test speaks for the others.
fn follower() -> TestCluster {
    let mut cluster = TestCluster::new(vec![config(1, &THREE)]);
    [2, 3].into_iter().for_each(|member| cluster.introduce_blank(member, 1));
    cluster.deliver(2, 1, leads(5, 0));
    assert_eq!(cluster.arbiter_leader(1), Some(2));
    cluster.node(1).sent.clear();
    cluster
}

#[test]
fn a_leader_that_is_cut_off_steps_down() {
    let mut cluster = leader_alone();
    cluster.advance_ms(10_000);
    assert_eq!(cluster.arbiter_leader(1), None);
    assert_eq!(cluster.token(1, "own"), None);
}

/// How often the leader's own leases are renewed after this answer to one of its rounds, with this difference to the
/// present term and round.
fn renewals_after(term: u64, round: u64) -> usize {
    let mut cluster = leader_alone();
    cluster.advance_ms(60);
    let leader = cluster.last_leader_heartbeat(1, 2);
    cluster.take_replies(1, CLIENT);
    let (term, round) = (leader.term.wrapping_add(term), leader.round + round);
    let follower = Some(FollowerHeartbeat { term, round, applied: 1 << 40 });
    cluster.deliver(2, 1, Message::Heartbeat(Heartbeat { number: 1 << 20, leader: None, follower }));
    cluster.advance_ms(100);
    cluster.take_replies(1, CLIENT).iter().filter(|reply| matches!(reply, Reply::Renewed { .. })).count()
}

#[test]
fn an_answer_confirms_only_rounds_of_this_leader_that_have_begun() {
    assert_eq!(renewals_after(0, 0), 1, "an answer to the last round");
    assert_eq!(renewals_after(0, 1 << 20), 0, "nobody was asked that yet");
    assert_eq!(renewals_after(1, 0), 0, "the voter is in a later term");
    assert_eq!(renewals_after(u64::MAX, 0), 0, "the voter was in the term before when it answered");
}

#[test]
fn a_voter_confirms_a_poll_of_the_leader_that_it_follows_now() {
    let answers = |from: u64, term: u64| {
        let mut cluster = follower();
        cluster.deliver(from, 1, Message::PollRequest { term, poll: 7 });
        cluster.node(1).sent.contains(&(Id(from), Message::PollResponse { term, poll: 7 }))
    };
    assert!(answers(2, 5));
    assert!(!answers(2, 4), "of an earlier term");
    assert!(!answers(3, 5), "of another node");
}

/// The disk of a voter that is doubted may have forgotten that it voted in a later term.
#[test]
fn a_voter_confirms_no_poll_while_its_disk_is_doubted() {
    let mut cluster = follower();
    let reached = DiskPosition { term: 9, log_term: 9, index: 9 };
    let known = KnownDisk { store_id: 71, incarnation: 5, reached, refused_as: None };
    cluster.deliver(3, 1, Message::OldDisk(known));
    assert_eq!((cluster.arbiter_leader(1), cluster.node(1).exit), (None, None), "one of two says so");
    cluster.deliver(2, 1, Message::PollRequest { term: 5, poll: 7 });
    assert!(!cluster.node(1).sent.iter().any(|(_, message)| matches!(message, Message::PollResponse { .. })));
}

#[test]
fn a_leader_that_was_deposed_forgets_its_polls() {
    let mut cluster = leader_alone();
    cluster.request(1, 8, Request::Leader { office: "own".to_string() });
    let polls = |cluster: &mut TestCluster| {
        let is_poll = |(_, message): &&(Id, Message)| matches!(message, Message::PollRequest { .. });
        cluster.node(1).sent.iter().filter(is_poll).count()
    };
    let asked = polls(&mut cluster);
    assert!(asked > 0);
    let term = cluster.last_leader_heartbeat(1, 2).term;
    cluster.deliver(2, 1, leads(term + 1, 0));
    assert_eq!(cluster.arbiter_leader(1), Some(2));
    cluster.advance_ms(20);
    assert_eq!(polls(&mut cluster), asked);
    let now = cluster.now;
    assert!(cluster.node(1).core.poll_timeout() > now, "nothing is due all the time");
}

/// What remains of a poll would keep the next one from beginning, when this node leads again.
#[test]
fn who_leads_again_confirms_reads() {
    let mut cluster = leader_alone();
    cluster.request(1, 8, Request::Leader { office: "own".to_string() });
    let term = cluster.last_leader_heartbeat(1, 2).term;
    cluster.deliver(2, 1, leads(term + 1, 0));
    assert_eq!(cluster.arbiter_leader(1), Some(2));
    [2, 3].into_iter().for_each(|node| cluster.rejoin(node));
    cluster.advance_ms(3_000);
    assert_eq!(cluster.arbiter_leader(1), Some(1));
    cluster.request(1, 9, Request::Leader { office: "own".to_string() });
    cluster.advance_ms(100);
    let replies = cluster.take_replies(1, 9);
    assert!(matches!(&replies[..], [Reply::Office(status)] if status.current), "{replies:?}");
}

#[test]
fn a_commit_index_beyond_the_log_is_cut_off() {
    let mut cluster = follower();
    cluster.deliver(2, 1, leads(5, 1 << 40));
    assert_eq!(cluster.arbiter_leader(1), Some(2));
}

/// Otherwise a majority would seem to have what the leader appends later.
#[test]
fn an_acknowledgement_beyond_the_log_is_ignored() {
    let granted = |beyond: u64| {
        let mut cluster = leader_alone();
        let term = cluster.last_leader_heartbeat(1, 2).term;
        // Every token is the index of an entry, and the log has at least one more.
        let last = cluster.token(1, "own").expect("it holds the office");
        cluster.campaign(1, CLIENT, "more", None);
        let mut response = eraftpb::Message { term, index: last + beyond, ..Default::default() };
        response.set_msg_type(MessageType::MsgAppendResponse);
        cluster.deliver(2, 1, Message::Raft(RaftMessage::from(&response)));
        assert_eq!(cluster.arbiter_leader(1), Some(1));
        cluster.advance_ms(20);
        cluster.token(1, "more").is_some()
    };
    let in_the_log = (0..20).any(granted);
    assert!(in_the_log, "two of three are a majority");
    assert!(!granted(1 << 40));
}

#[test]
fn a_follower_is_told_no_commit_index_beyond_what_it_has_acknowledged() {
    let mut cluster = three();
    let acknowledged = cluster.last_leader_heartbeat(1, 3).commit;
    cluster.lost = [(1, 3)].into();
    cluster.campaign(1, CLIENT, "more", None);
    cluster.advance_ms(1_000);
    assert!(cluster.token(1, "more").is_some_and(|token| token > acknowledged), "two of three are a majority");
    assert_eq!(cluster.last_leader_heartbeat(1, 3).commit, acknowledged, "its entries may be others");
    assert!(cluster.last_leader_heartbeat(1, 2).commit > acknowledged);
}

/// Whether node 2 campaigns when the leader is lost, and node 3 hears nothing.
fn campaigns(prepare: impl FnOnce(&mut TestCluster)) -> bool {
    let mut cluster = three();
    // It holds an office whose program takes its time to stop.
    cluster.campaign(2, CLIENT, "other", None);
    cluster.advance_ms(500);
    assert!(cluster.token(2, "other").is_some());
    prepare(&mut cluster);
    cluster.isolate(3);
    cluster.node(2).sent.clear();
    cluster.kill(1);
    cluster.advance_ms(50);
    assert_eq!(cluster.node(2).exit, None);
    cluster.node(2).sent.iter().any(|(to, message)| {
        let Message::Raft(message) = message else { return false };
        message.to_raft(2, to.0).is_some_and(|message| message.get_msg_type() == MessageType::MsgRequestPreVote)
    })
}

#[test]
fn a_node_that_leaves_or_has_no_disk_does_not_campaign() {
    assert!(campaigns(|_| ()));
    assert!(!campaigns(|cluster| cluster.drive(2, |core, now| core.leave(now))));
    assert!(!campaigns(|cluster| cluster.drive(2, |core, now| core.handle_disk_failed("full", now))));
}

#[test]
fn a_snapshot_is_not_installed_before_every_piece_of_its_states_is_there_and_right() {
    for damaged in [0, 1, 3] {
        let mut cluster = three();
        let token = cluster.token(1, "own").expect("it holds the office");
        let data: Vec<u8> = (0..30_000u32).map(|number| (number / 100) as u8).collect();
        let (office, bytes, offset) = ("own".to_string(), data.len() as u64, 0);
        cluster.request(1, 7, Request::PutState { office, token, bytes, offset, data: Base64(data.clone().into()) });
        cluster.advance_ms(100);
        assert_eq!(cluster.take_replies(1, 7), [Reply::Done]);
        let (name, address) = ("n4".to_string(), "h4:1".to_string());
        cluster.request(1, 9, Request::AddMember { id: 4, name, address, priority: 0, role: Role::Observer });
        cluster.advance_ms(200);
        cluster.damaged_pieces = damaged;
        cluster.start(Config { join: true, ..config(4, &[(1, Role::Elector), (4, Role::Observer)]) });
        cluster.advance_ms(5_000);
        cluster.request(4, 8, Request::GetState { office: "own".to_string(), offset: 0 });
        cluster.advance_ms(100);
        let replies = cluster.take_replies(4, 8);
        let [Reply::State { state: Some(part) }] = &replies[..] else { panic!("{damaged} damaged: {replies:?}") };
        assert!(part.data.0 == data, "{damaged} damaged");
        assert_eq!(cluster.damaged_pieces, 0);
    }
}
