//! Without an arbiter, the node itself decides what happens after a client has stopped.

use super::harness::{TestCluster, config};
use crate::api::{OfficeStatus, Reply, Request};
use crate::config::{ArbiterKind, Config};
use crate::core::ClientId;
use crate::member::Role;

fn leader(cluster: &mut TestCluster, node: u64) -> OfficeStatus {
    cluster.request(node, 9, Request::Leader { office: "job".to_string() });
    let replies = cluster.take_replies(node, 9);
    let [Reply::Office(status)] = &replies[..] else { panic!("{replies:?}") };
    status.clone()
}

/// Two nodes without an arbiter. Two clients on node 2, which ranks higher, and one on node 1 campaign for the office.
/// Also returns the token of the first grant.
fn cluster_with_campaigns() -> (TestCluster, u64) {
    let roles = [(1, Role::Elector), (2, Role::Elector)];
    let configs = [1, 2].map(|node| Config { arbiter: ArbiterKind::None, ..config(node, &roles) });
    let mut cluster = TestCluster::new(configs.to_vec());
    for (node, client) in [(2, 1), (2, 2), (1, 3)] {
        cluster.campaign(node, client, "job", None);
    }
    cluster.advance_ms(500);
    let first = cluster.token(2, "job").expect("node 2 ranks higher");
    (cluster, first)
}

#[test]
fn the_office_of_a_disconnected_client_goes_to_the_next_client() {
    let (mut cluster, first) = cluster_with_campaigns();
    cluster.drive(2, |core, now| core.handle_client_gone(ClientId(1), now));
    cluster.advance_ms(100);
    let replies = cluster.take_replies(2, 2);
    assert!(matches!(replies.last(), Some(Reply::Held(next)) if next.token > first), "{replies:?}");
}

#[test]
fn a_node_that_is_no_longer_a_candidate_names_nobody() {
    let (mut cluster, _) = cluster_with_campaigns();
    cluster.request(1, 3, Request::Withdraw { office: "job".to_string() });
    cluster.advance_ms(500);
    let status = leader(&mut cluster, 1);
    assert_eq!(status.holder, None, "the node does not learn who holds it: {status:?}");
}

#[test]
fn an_office_goes_to_the_next_client_and_then_to_the_next_node() {
    let (mut cluster, first) = cluster_with_campaigns();
    let withdraw = Request::Withdraw { office: "job".to_string() };
    cluster.request(2, 1, withdraw.clone());
    cluster.advance_ms(100);
    let replies = cluster.take_replies(2, 2);
    let Some(Reply::Held(next)) = replies.last() else { panic!("{replies:?}") };
    assert!(next.token > first, "{next:?} after {first}");
    cluster.request(2, 2, withdraw);
    cluster.advance_ms(500);
    assert!(
        matches!(cluster.take_replies(1, 3).last(), Some(Reply::Held(_))),
        "no client of node 2 campaigns any more"
    );
    assert_eq!(leader(&mut cluster, 1).holder.as_deref(), Some("n1"));
    assert_ne!(leader(&mut cluster, 2).holder.as_deref(), Some("n2"), "node 2 gave it up");
}
