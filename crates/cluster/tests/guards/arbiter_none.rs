//! Without an arbiter nobody has to be told that a program has stopped: the node itself sees to what follows.

use hustings_cluster::api::{OfficeStatus, Reply, Request};
use hustings_cluster::config::{ArbiterKind, Config};
use hustings_cluster::core::ClientId;
use hustings_cluster::member::Role;

use crate::harness::{TestCluster, config};

fn leader(cluster: &mut TestCluster, node: u64) -> OfficeStatus {
    cluster.request(node, 9, Request::Leader { office: "job".to_string() });
    let replies = cluster.take_replies(node, 9);
    let [Reply::Office(status)] = &replies[..] else { panic!("{replies:?}") };
    status.clone()
}

/// Two nodes without an arbiter; two programs on node 2, which is better, and one on node 1 want the office.
fn cluster_with_campaigns() -> (TestCluster, u64) {
    let roles = [(1, Role::Elector), (2, Role::Elector)];
    let configs = [1, 2].map(|node| Config { arbiter: ArbiterKind::None, ..config(node, &roles) });
    let mut cluster = TestCluster::new(configs.to_vec());
    for (node, client) in [(2, 1), (2, 2), (1, 3)] {
        cluster.campaign(node, client, "job", None);
    }
    cluster.advance_ms(500);
    let first = cluster.token(2, "job").expect("node 2 is the better one");
    (cluster, first)
}

#[test]
fn an_office_of_a_program_that_is_gone_goes_to_the_next() {
    let (mut cluster, first) = cluster_with_campaigns();
    cluster.drive(2, |core, now| core.handle_client_gone(ClientId(1), now));
    cluster.advance_ms(100);
    let replies = cluster.take_replies(2, 2);
    assert!(matches!(replies.last(), Some(Reply::Held(next)) if next.token > first), "{replies:?}");
}

#[test]
fn who_does_not_stand_any_more_names_nobody() {
    let (mut cluster, _) = cluster_with_campaigns();
    cluster.request(1, 3, Request::Withdraw { office: "job".to_string() });
    cluster.advance_ms(500);
    let status = leader(&mut cluster, 1);
    assert_eq!(status.holder, None, "nobody tells it who holds it: {status:?}");
}

#[test]
fn an_office_goes_to_the_next_program_and_at_last_to_nobody() {
    let (mut cluster, first) = cluster_with_campaigns();
    let withdraw = Request::Withdraw { office: "job".to_string() };
    cluster.request(2, 1, withdraw.clone());
    cluster.advance_ms(100);
    let replies = cluster.take_replies(2, 2);
    let Some(Reply::Held(next)) = replies.last() else { panic!("{replies:?}") };
    assert!(next.token > first, "{next:?} after {first}");
    cluster.request(2, 2, withdraw);
    cluster.advance_ms(500);
    assert!(matches!(cluster.take_replies(1, 3).last(), Some(Reply::Held(_))), "nobody on node 2 wants it any more");
    assert_eq!(leader(&mut cluster, 1).holder.as_deref(), Some("n1"));
    assert_ne!(leader(&mut cluster, 2).holder.as_deref(), Some("n2"), "what it gave up");
}
