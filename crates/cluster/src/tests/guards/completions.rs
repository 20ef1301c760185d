//! Records of what holders have completed.

use super::harness::{TestCluster, config};
use crate::api::{Base64, Completion, Reply, Request};
use crate::config::Config;
use crate::core::{ClientId, Output};
use crate::member::Role;

const ROLES: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

/// Three nodes, of which node 1 holds `job` for its client 1. Also returns the token.
fn cluster_holding_job() -> (TestCluster, u64) {
    let mut cluster = TestCluster::new((1..=3).map(|id| config(id, &ROLES)).collect());
    cluster.campaign(1, 1, "job", None);
    cluster.advance_ms(1_000);
    let token = cluster.token(1, "job").expect("there is no other candidate");
    (cluster, token)
}

fn complete(token: u64, key: &str) -> Request {
    Request::Complete { office: "job".to_string(), token, key: key.to_string() }
}

/// The last answer to a request, after 200 ms.
fn ask(cluster: &mut TestCluster, node: u64, request: Request) -> Reply {
    cluster.take_replies(node, 9);
    cluster.request(node, 9, request);
    cluster.advance_ms(200);
    cluster.take_replies(node, 9).pop().expect("the request is answered")
}

fn refusal_code(reply: Reply) -> String {
    match reply {
        Reply::Error(error) => error.code,
        other => panic!("not refused: {other:?}"),
    }
}

/// The record for a key. It must be current.
fn completed(cluster: &mut TestCluster, node: u64, key: &str) -> Option<Completion> {
    match ask(cluster, node, Request::Completed { office: "job".to_string(), key: key.to_string() }) {
        Reply::Completed { completion, current: true } => completion,
        other => panic!("no current answer: {other:?}"),
    }
}

#[test]
fn a_record_needs_the_current_token() {
    let (mut cluster, token) = cluster_holding_job();
    for stale in [0, token - 1, token + 1, u64::MAX] {
        assert_eq!(refusal_code(ask(&mut cluster, 2, complete(stale, "k"))), "stale-token");
    }
    let other = Request::Complete { office: "other".to_string(), token, key: "k".to_string() };
    assert_eq!(refusal_code(ask(&mut cluster, 2, other)), "stale-token");
    cluster.request(1, 1, Request::Withdraw { office: "job".to_string() });
    cluster.advance_ms(500);
    assert_eq!(refusal_code(ask(&mut cluster, 2, complete(token, "k"))), "stale-token", "nobody holds it");
    assert_eq!(completed(&mut cluster, 3, "k"), None);
}

/// Otherwise the audit log waits forever for what became of it.
#[test]
fn a_state_whose_program_is_gone_has_an_outcome() {
    let (mut cluster, token) = cluster_holding_job();
    cluster.isolate(1);
    let whole = || Request::PutState {
        office: "job".to_string(),
        token,
        bytes: 3,
        offset: 0,
        data: Base64(bytes::Bytes::from_static(b"abc")),
    };
    cluster.request(1, 9, whole());
    assert!(cluster.take_replies(1, 9).is_empty(), "nobody can confirm it");
    let mut outcomes = Vec::new();
    cluster.drive(1, |core, now| {
        core.handle_client_gone(ClientId(9), now);
        outcomes.extend(core.take_outputs().into_iter().filter_map(|output| match output {
            Output::Outcome { client, result, .. } => Some((client, result.map_err(|error| error.code))),
            _ => None,
        }));
    });
    assert_eq!(outcomes, [(ClientId(9), Err("disconnected".to_string()))]);
}

#[test]
fn bad_names_are_refused() {
    let (mut cluster, token) = cluster_holding_job();
    let long = "x".repeat(129);
    for key in ["", "a\nb", "\u{7f}", &long] {
        assert_eq!(refusal_code(ask(&mut cluster, 1, complete(token, key))), "bad-request", "{key:?}");
        let request = Request::Completed { office: "job".to_string(), key: key.to_string() };
        assert_eq!(refusal_code(ask(&mut cluster, 1, request)), "bad-request", "{key:?}");
    }
    assert_eq!(ask(&mut cluster, 1, complete(token, &long[1..])), Reply::Done);
    assert_eq!(ask(&mut cluster, 1, complete(token, "2026-11-18 02:00 täglich")), Reply::Done);
    let request = Request::Completed { office: "No Office".to_string(), key: "k".to_string() };
    assert_eq!(refusal_code(ask(&mut cluster, 1, request)), "bad-request");
    let request = Request::Terms { office: "No Office".to_string() };
    assert_eq!(refusal_code(ask(&mut cluster, 1, request)), "bad-request");
}

#[test]
fn a_record_survives_the_leader_of_the_arbiter_and_reaches_new_members_by_snapshot() {
    let (mut cluster, token) = cluster_holding_job();
    assert_eq!(ask(&mut cluster, 2, complete(token, "k")), Reply::Done);
    let leader = cluster.node(1).core.arbiter_leader().expect("the arbiter has a leader").0;
    cluster.kill(leader);
    cluster.advance_ms(1_000);
    let (asked, other) = if leader == 1 { (2, 3) } else { (1, 5 - leader) };
    for node in [asked, other] {
        let record = completed(&mut cluster, node, "k").expect("it was committed");
        assert_eq!((record.holder.as_str(), record.token), ("n1", token));
    }
    // A new member starts from a snapshot, because the log before its addition is discarded.
    let (name, address) = ("n4".to_string(), "h4:1".to_string());
    let add = Request::AddMember { id: 4, name, address, priority: 0, role: Role::Elector };
    assert_eq!(ask(&mut cluster, asked, add), Reply::Done);
    let roles = [ROLES.as_slice(), &[(4, Role::Elector)]].concat();
    cluster.start(Config { join: true, ..config(4, &roles) });
    cluster.advance_ms(1_000);
    assert_eq!(completed(&mut cluster, 4, "k").map(|record| record.token), Some(token));
}

#[test]
fn terms_are_those_of_a_lease() {
    let (mut cluster, _) = cluster_holding_job();
    let replies = cluster.take_replies(1, 1);
    let held = replies.iter().find_map(|reply| if let Reply::Held(held) = reply { Some(held) } else { None });
    let held = held.expect("client 1 holds the office");
    let Reply::Terms(terms) = ask(&mut cluster, 1, Request::Terms { office: "job".to_string() }) else {
        panic!("no terms");
    };
    assert_eq!((terms.lease, terms.stop), (held.lease, held.stop));
    assert_eq!((terms.cluster.as_str(), terms.node.as_str(), terms.office.as_str()), ("test", "n1", "job"));
    assert_eq!(terms.mode, config(1, &ROLES).default_policy.mode);
}
