//! Requests of operators are answered by their own entry of the log, and by no other.

use super::harness::{TestCluster, config};
use crate::api::{Reply, Request};
use crate::core::ClientId;
use crate::member::Role;
use crate::wire::Message;

const ROLES: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

/// Whether elections are paused, as a node shows it.
fn is_paused(cluster: &mut TestCluster, node: u64) -> bool {
    cluster.request(node, 99, Request::Status);
    cluster.advance_ms(200);
    match cluster.take_replies(node, 99).pop() {
        Some(Reply::Status(status)) => status.paused,
        reply => panic!("{reply:?}"),
    }
}

/// Runs until a node knows a leader of the arbiter for which this holds.
#[track_caller]
fn await_leader(cluster: &mut TestCluster, node: u64, is_expected: impl Fn(u64) -> bool) -> u64 {
    for _ in 0..3_000 {
        if let Some(leader) = cluster.arbiter_leader(node).filter(|leader| is_expected(*leader)) {
            return leader;
        }
        cluster.advance_ms(1);
    }
    let known = [1, 2, 3].map(|node| cluster.arbiter_leader(node));
    panic!("there is no such leader: {known:?}");
}

/// A leader that cannot replicate anything accepts a request. Another one is elected, and another request takes the
/// place in the log.
#[test]
fn a_request_is_not_answered_by_the_entry_that_took_its_place() {
    let mut cluster = TestCluster::new((1..=3).map(|id| config(id, &ROLES)).collect());
    cluster.advance_ms(1_000);
    let first = await_leader(&mut cluster, 1, |_| true);
    let [one, another] = [[2, 3], [1, 3], [1, 2]][first as usize - 1];
    cluster.lost_entries = true;
    cluster.isolate(first);
    let second = await_leader(&mut cluster, one, |leader| leader != first);
    let third = if second == one { another } else { one };
    cluster.request(second, 9, Request::Pause);
    cluster.advance_ms(5);
    assert_eq!(cluster.take_replies(second, 9), [], "nothing can be decided");
    cluster.isolate(second);
    cluster.lost_entries = false;
    while cluster.arbiter_leader(third).is_some() {
        cluster.advance_ms(1);
    }
    cluster.rejoin(first);
    await_leader(&mut cluster, third, |leader| leader != second);
    let (name, role, address) = ("n1".to_string(), None, None);
    let set = Request::SetMember { name, priority: Some(5), role, address, force: false };
    cluster.request(third, 8, set);
    cluster.advance_ms(20);
    assert_eq!(cluster.take_replies(third, 8), [Reply::Done]);
    assert!(!is_paused(&mut cluster, third));
    cluster.rejoin(second);
    cluster.advance_ms(500);
    assert_eq!(cluster.take_replies(second, 9), [Reply::Done], "its node sends it to the next leader");
    assert!(is_paused(&mut cluster, third), "who is told that elections are paused can rely on it");
}

/// What many clients ask of a node in one pass costs one question to the arbiter's leader, and one poll of the voters.
#[test]
fn questions_of_one_pass_share_what_they_cost() {
    let mut cluster = TestCluster::new((1..=3).map(|id| config(id, &ROLES)).collect());
    cluster.advance_ms(1_000);
    let leader = await_leader(&mut cluster, 1, |_| true);
    for node in 1..=3 {
        cluster.node(node).sent.clear();
        cluster.drive(node, |core, now| {
            (0..16).for_each(|client| {
                core.handle_question(ClientId(client), Request::Leader { office: "leader".to_string() }, now);
            });
            assert_eq!(core.poll_timeout(), now, "the answers are due at once");
            core.handle_timeout(now);
        });
        cluster.advance_ms(5);
        assert!((0..16).all(|client| matches!(cluster.take_replies(node, client)[..], [Reply::Office(_)])));
        let sent = std::mem::take(&mut cluster.node(node).sent);
        let questions = sent.iter().filter(|(_, message)| matches!(message, Message::ReadIndexRequest { .. })).count();
        assert_eq!(questions, usize::from(node != leader), "of node {node}; {leader} leads");
        let polls = sent.iter().filter(|(_, message)| matches!(message, Message::PollRequest { .. })).count();
        assert_eq!(polls, if node == leader { 2 } else { 0 }, "of node {node}; {leader} leads");
        cluster.node(leader).sent.clear();
    }
}
