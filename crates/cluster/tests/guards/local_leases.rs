//! What a node holds for programs, and when it stops.

use hustings_cluster::api::{Reply, Request};
use hustings_cluster::core::Exit;
use hustings_cluster::member::Role;
use hustings_cluster::wire::Message;
use hustings_protocol::Id;

use crate::harness::{TestCluster, config};

const ROLES: [(u64, Role); 2] = [(1, Role::Elector), (2, Role::Observer)];

/// Node 1 decides alone, and holds `job` for its program 1. Returns with which token.
fn cluster_holding_job() -> (TestCluster, u64) {
    let mut cluster = TestCluster::new(vec![config(1, &ROLES)]);
    cluster.campaign(1, 1, "job", None);
    cluster.advance_ms(500);
    let token = cluster.token(1, "job").expect("nobody else wants it");
    cluster.take_replies(1, 1);
    (cluster, token)
}

fn stopped(token: u64) -> Request {
    Request::Stopped { office: "job".to_string(), token }
}

/// Whether a program was told that it holds `job` with this token.
fn may_act(replies: &[Reply], token: u64) -> bool {
    replies.iter().any(|reply| matches!(reply, Reply::Held(one) | Reply::Renewed(one) if one.token == token))
}

#[test]
fn only_who_holds_nothing_says_farewell() {
    let sends_leave = |role: Role| {
        let mut cluster = TestCluster::new(vec![config(1, &[(1, role), (2, Role::Observer)])]);
        cluster.drive(1, |core, now| core.handle_connected(Id(2), 7, now));
        // Node 2 is heard now and then, so that there is a connection to it.
        for _ in 0..10 {
            cluster.advance_ms(50);
            cluster.deliver(2, 1, Message::ReadinessRequest { office: "leader".to_string() });
        }
        assert_eq!(cluster.token(1, "leader").is_some(), role == Role::Elector);
        // Nobody is there to hand anything over to.
        cluster.drive(1, |core, now| core.leave(now));
        assert_eq!(cluster.node(1).exit, Some(Exit::Left));
        cluster.node(1).sent.contains(&(Id(2), Message::Leave))
    };
    assert!(sends_leave(Role::Witness), "it never holds anything");
    assert!(!sends_leave(Role::Elector), "somebody may still act for what it holds");
}

#[test]
fn what_has_stopped_never_goes_on_with_the_same_token() {
    let (mut cluster, token) = cluster_holding_job();
    cluster.node(1).is_disk_stuck = true;
    cluster.request(1, 1, stopped(token));
    cluster.request(1, 1, Request::Campaign { office: "job".to_string(), mode: None });
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(1, 1);
    assert!(!may_act(&replies, token), "the next grant may be on its way: {replies:?}");
    // Nor does another program go on with it, when the first has withdrawn.
    cluster.request(1, 1, Request::Withdraw { office: "job".to_string() });
    cluster.campaign(1, 2, "job", None);
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(1, 2);
    assert!(!may_act(&replies, token), "{replies:?}");
    cluster.complete_writes(1);
    cluster.advance_ms(500);
    let next = cluster.token(1, "job").expect("it is granted anew");
    assert!(next > token && may_act(&cluster.take_replies(1, 2), next), "{next} after {token}");
}

#[test]
fn no_program_stops_another_ones_work() {
    let (mut cluster, token) = cluster_holding_job();
    cluster.campaign(1, 2, "job", None);
    cluster.request(1, 2, stopped(token));
    cluster.advance_ms(500);
    assert_eq!(cluster.token(1, "job"), Some(token));
    assert!(may_act(&cluster.take_replies(1, 1), token), "it goes on");
    cluster.request(1, 1, stopped(token));
    cluster.advance_ms(500);
    assert_ne!(cluster.token(1, "job"), Some(token), "the holder itself can stop");
}
