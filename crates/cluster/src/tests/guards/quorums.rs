//! What a leader of the arbiter may conclude from the answers of the others.

use hustings_protocol::Id;
use raft::eraftpb::{self, MessageType};

use super::harness::{TestCluster, config};
use crate::api::{Reply, Request};
use crate::clock::Timestamp;
use crate::member::Role;
use crate::wire::{FollowerHeartbeat, Heartbeat, Message, RaftMessage};

const THREE: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

/// Three nodes of which the first leads the arbiter. From now on, the test speaks for the others.
fn leader_alone() -> TestCluster {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &THREE)).to_vec());
    cluster.campaign(1, 1, "own", None);
    cluster.advance_ms(1_000);
    assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)));
    assert!(cluster.token(1, "own").is_some(), "nobody else campaigns for it");
    cluster.isolate(2);
    cluster.isolate(3);
    cluster.node(1).sent.clear();
    cluster
}

#[test]
fn the_leaders_own_lease_counts_from_the_start_of_the_round() {
    let mut cluster = leader_alone();
    let began = loop {
        cluster.advance_ms(1);
        if cluster.node(1).sent.iter().any(|(_, message)| matches!(message, Message::Heartbeat(_))) {
            break cluster.now;
        }
    };
    let leader = cluster.last_leader_heartbeat(1, 2);
    cluster.take_replies(1, 1);
    cluster.advance_ms(20);
    let follower = Some(FollowerHeartbeat { term: leader.term, round: leader.round, applied: u64::MAX });
    cluster.deliver(2, 1, Message::Heartbeat(Heartbeat { number: 1 << 20, leader: None, follower }));
    let renewed: Vec<Timestamp> = cluster
        .take_replies(1, 1)
        .into_iter()
        .filter_map(|reply| if let Reply::Renewed { from } = reply { Some(from) } else { None })
        .collect();
    assert_eq!(renewed, [began], "the voter may have supported another leader since it answered");
}

/// The last poll that the leader has sent.
fn last_poll(cluster: &mut TestCluster, node: u64) -> Option<(u64, u64)> {
    let mut polls = cluster.node(node).sent.iter().filter_map(|(_, message)| match message {
        Message::PollRequest { term, poll } => Some((*term, *poll)),
        _ => None,
    });
    polls.next_back()
}

/// Reads the holder of `own` at the leader. Returns the poll that the leader begins.
fn read(cluster: &mut TestCluster, client: u64) -> (u64, u64) {
    cluster.request(1, client, Request::Leader { office: "own".to_string() });
    last_poll(cluster, 1).expect("the leader polls the voters")
}

fn is_answered(cluster: &mut TestCluster, client: u64) -> bool {
    cluster.take_replies(1, client).iter().any(|reply| matches!(reply, Reply::Office(status) if status.current))
}

#[test]
fn answers_to_an_earlier_poll_do_not_count_in_polls_that_follow() {
    let mut cluster = leader_alone();
    let (term, first) = read(&mut cluster, 8);
    cluster.deliver(2, 1, Message::PollResponse { term, poll: first });
    assert!(is_answered(&mut cluster, 8), "two of three voters follow the leader");
    let (term, second) = read(&mut cluster, 9);
    assert_ne!(first, second);
    cluster.deliver(3, 1, Message::PollResponse { term, poll: first });
    assert!(!is_answered(&mut cluster, 9), "the third voter may have followed another leader since");
    cluster.deliver(3, 1, Message::PollResponse { term, poll: second });
    assert!(is_answered(&mut cluster, 9));
}

/// The raft messages of this kind that node 2 has sent, each with its receiver.
fn raft_sent(cluster: &mut TestCluster, kind: MessageType) -> Vec<eraftpb::Message> {
    let sent = cluster.node(2).sent.iter().filter_map(|(to, message)| match message {
        Message::Raft(raft) => raft.to_raft(2, to.0),
        _ => None,
    });
    sent.filter(|message| message.get_msg_type() == kind).collect()
}

fn respond(cluster: &mut TestCluster, kind: MessageType, term: u64, index: u64) {
    let mut response = eraftpb::Message { term, index, ..Default::default() };
    response.set_msg_type(kind);
    cluster.deliver(3, 2, Message::Raft(RaftMessage::from(&response)));
}

#[test]
fn polls_begin_when_the_leader_knows_what_is_committed() {
    // The test speaks for nodes 1 and 3.
    let mut cluster = TestCluster::new(vec![config(2, &THREE)]);
    [1, 3].into_iter().for_each(|member| cluster.introduce_blank(member, 2));
    let campaigns = |cluster: &mut TestCluster| raft_sent(cluster, MessageType::MsgRequestPreVote).pop();
    let request = (0..2_000).find_map(|_| {
        cluster.advance_ms(1);
        campaigns(&mut cluster)
    });
    let term = request.expect("it campaigns").term;
    respond(&mut cluster, MessageType::MsgRequestPreVoteResponse, term, 0);
    respond(&mut cluster, MessageType::MsgRequestVoteResponse, term, 0);
    assert_eq!(cluster.node(2).core.arbiter_leader(), Some(Id(2)));
    cluster.deliver(3, 2, Message::ReadIndexRequest { number: 1 });
    cluster.advance_ms(10);
    assert_eq!(last_poll(&mut cluster, 2), None, "it does not know yet what earlier leaders committed");
    let entries = raft_sent(&mut cluster, MessageType::MsgAppend).pop().expect("the first entry of its term").entries;
    let last = entries.last().expect("the entry").index;
    respond(&mut cluster, MessageType::MsgAppendResponse, term, last);
    cluster.advance_ms(1);
    assert!(last_poll(&mut cluster, 2).is_some());
}

/// Three nodes of which the third held an office until it was killed. Returns its token, too.
fn holder_killed() -> (TestCluster, Option<u64>) {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &THREE)).to_vec());
    (1..=3).for_each(|node| cluster.campaign(node, node, "job", None));
    cluster.advance_ms(1_000);
    let token = cluster.token(3, "job");
    assert!(token.is_some(), "the highest-ranked node holds it");
    cluster.kill(3);
    (cluster, token)
}

#[test]
fn a_farewell_of_a_later_incarnation_does_not_end_the_lease_of_an_earlier_one() {
    let (mut cluster, before) = holder_killed();
    for node in [1, 2] {
        cluster.drive(node, |core, now| core.handle_connected(Id(3), 7, now));
        cluster.deliver(3, node, Message::Leave);
    }
    cluster.advance_ms(200);
    assert_eq!(cluster.token(2, "job"), None, "programs of the earlier incarnation may still act");
    cluster.advance_ms(200);
    assert!(cluster.token(2, "job") > before);
}

/// Its second incarnation leaves, or is killed, so soon that nothing could be confirmed to it.
#[test]
fn the_lease_of_an_incarnation_outlives_a_short_one_that_follows() {
    for leaves in [true, false] {
        let (mut cluster, before) = holder_killed();
        let leader = cluster.last_leader_heartbeat(1, 3);
        for (incarnation, applied) in [(7, 0), (8, u64::MAX)] {
            for node in [1, 2] {
                cluster.drive(node, |core, now| core.handle_connected(Id(3), incarnation, now));
            }
            let follower = Some(FollowerHeartbeat { term: leader.term, round: leader.round, applied });
            cluster.deliver(3, 1, Message::Heartbeat(Heartbeat { number: 1, leader: None, follower }));
            for node in [1, 2] {
                if leaves {
                    cluster.deliver(3, node, Message::Leave);
                }
                cluster.drive(node, |core, now| core.handle_disconnected(Id(3), now));
            }
        }
        cluster.advance_ms(200);
        assert_eq!(cluster.token(2, "job"), None, "programs of the first incarnation may still act");
        cluster.advance_ms(200);
        assert!(cluster.token(2, "job") > before);
    }
}
