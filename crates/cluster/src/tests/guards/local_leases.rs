//! The leases that a node holds for clients, and when they end.

use hustings_protocol::Id;

use super::harness::{TestCluster, config};
use crate::api::{Reply, Request};
use crate::core::{ClientId, Exit};
use crate::member::Role;
use crate::wire::Message;

const ROLES: [(u64, Role); 2] = [(1, Role::Elector), (2, Role::Observer)];

/// A single voter, node 1, that holds `job` for its client 1. Also returns the token.
fn cluster_holding_job() -> (TestCluster, u64) {
    let mut cluster = TestCluster::new(vec![config(1, &ROLES)]);
    cluster.campaign(1, 1, "job", None);
    cluster.advance_ms(500);
    let token = cluster.token(1, "job").expect("there is no other candidate");
    cluster.take_replies(1, 1);
    (cluster, token)
}

fn stopped(token: u64) -> Request {
    Request::Stopped { office: "job".to_string(), token }
}

/// Whether a client was told that it holds `job` with this token.
fn may_act(replies: &[Reply], token: u64) -> bool {
    replies.iter().any(|reply| matches!(reply, Reply::Held(one) if one.token == token))
}

#[test]
fn sends_leave_only_if_it_holds_nothing() {
    let sends_leave = |role: Role| {
        let mut cluster = TestCluster::new(vec![config(1, &[(1, role), (2, Role::Observer)])]);
        cluster.drive(1, |core, now| core.handle_connected(Id(2), 7, now));
        // Node 2 sends something now and then, so that the connection to it stays up.
        for _ in 0..10 {
            cluster.advance_ms(50);
            cluster.deliver(2, 1, Message::ReadinessRequest { office: "leader".into() });
        }
        assert_eq!(cluster.token(1, "leader").is_some(), role == Role::Elector);
        // No other voter is up to take anything over.
        cluster.drive(1, |core, now| core.leave(now));
        assert_eq!(cluster.node(1).exit, Some(Exit::Left));
        cluster.node(1).sent.contains(&(Id(2), Message::Leave))
    };
    assert!(sends_leave(Role::Witness), "a witness never holds an office");
    assert!(!sends_leave(Role::Elector), "a client may still act for an office that it holds");
}

#[test]
fn stopped_work_never_resumes_with_the_same_token() {
    let (mut cluster, token) = cluster_holding_job();
    cluster.node(1).is_disk_stuck = true;
    cluster.request(1, 1, stopped(token));
    cluster.request(1, 1, Request::Campaign { office: "job".to_string(), mode: None, guard: None });
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(1, 1);
    assert!(!may_act(&replies, token), "the next grant may already be in the log: {replies:?}");
    // Another client does not resume with the same token either, after the first one has withdrawn.
    cluster.request(1, 1, Request::Withdraw { office: "job".to_string() });
    cluster.campaign(1, 2, "job", None);
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(1, 2);
    assert!(!may_act(&replies, token), "{replies:?}");
    cluster.complete_writes(1);
    cluster.advance_ms(500);
    let next = cluster.token(1, "job").expect("the office is granted again");
    assert!(next > token && may_act(&cluster.take_replies(1, 2), next), "{next} after {token}");
}

#[test]
fn a_vanished_program_of_an_exclusive_office_keeps_it_until_its_deadline() {
    let roles = [1, 2, 3].map(|id| (id, Role::Elector));
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &roles)).to_vec());
    (2..=3).for_each(|node| cluster.campaign(node, node, "job", None));
    cluster.advance_ms(1_000);
    let token = cluster.token(3, "job");
    assert!(token.is_some(), "it ranks highest");
    cluster.drive(3, |core, now| core.handle_client_gone(ClientId(3), now));
    cluster.advance_ms(200);
    assert_eq!((cluster.token(3, "job"), cluster.token(2, "job")), (token, None), "the program may still act");
    cluster.advance_ms(300);
    assert!(cluster.token(2, "job") > token);
}

#[test]
fn a_client_cannot_stop_the_work_of_another() {
    let (mut cluster, token) = cluster_holding_job();
    cluster.campaign(1, 2, "job", None);
    cluster.take_replies(1, 2);
    cluster.request(1, 2, stopped(token));
    cluster.advance_ms(500);
    assert_eq!(cluster.take_refusal_code(1, 2), Some("held-by-another".to_string()));
    assert_eq!(cluster.token(1, "job"), Some(token));
    let replies = cluster.take_replies(1, 1);
    assert!(replies.iter().any(|reply| matches!(reply, Reply::Renewed { .. })), "the holder continues: {replies:?}");
    cluster.request(1, 1, stopped(token));
    cluster.advance_ms(500);
    assert_ne!(cluster.token(1, "job"), Some(token), "the holder itself can stop");
}

#[test]
fn a_client_can_stop_the_work_of_one_that_is_gone() {
    let (mut cluster, token) = cluster_holding_job();
    cluster.campaign(1, 2, "job", None);
    cluster.drive(1, |core, now| core.handle_client_gone(ClientId(1), now));
    cluster.advance_ms(50);
    assert_eq!(cluster.token(1, "job"), Some(token), "it may act until its deadline");
    cluster.take_replies(1, 2);
    cluster.request(1, 2, stopped(token));
    cluster.advance_ms(10);
    let replies = cluster.take_replies(1, 2);
    assert_eq!(replies.first(), Some(&Reply::Done));
    let next = cluster.token(1, "job").expect("the office is granted again");
    assert!(next > token && may_act(&replies, next), "{replies:?}");
    cluster.request(1, 3, stopped(token));
    assert_eq!(cluster.take_replies(1, 3), [Reply::Done], "that lease is over");
    assert_eq!(cluster.token(1, "job"), Some(next));
}

/// The same, but the node itself knows that the work is gone.
#[test]
fn an_office_moves_at_once_when_the_work_is_gone() {
    let (mut cluster, token) = cluster_holding_job();
    cluster.campaign(1, 2, "job", None);
    cluster.drive(1, |core, now| core.handle_client_gone(ClientId(1), now));
    cluster.drive(1, |core, now| core.handle_work_gone(ClientId(1), "job", token, now));
    cluster.advance_ms(10);
    assert!(cluster.token(1, "job").is_some_and(|next| next > token));
}
