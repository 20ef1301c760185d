//! What applies without an arbiter: whoever is elected holds the office, and tokens grow on each node.

use crate::api::{Reply, Request};
use crate::tests::cluster::SimCluster;
use crate::tests::faults::Options;

fn cluster() -> SimCluster {
    let mut cluster = SimCluster::new(3, 1, Options { without_arbiter: true, jitter: false, ..Options::default() });
    cluster.run_ms(2_000);
    cluster
}

fn tokens(cluster: &mut SimCluster, node: usize) -> Vec<u64> {
    cluster.take_operator_replies();
    cluster.request(node, Request::History { office: Some("job".to_string()) });
    match cluster.take_operator_replies().pop() {
        Some(Reply::History { changes }) => {
            changes.iter().filter(|change| change.holder.is_some()).map(|change| change.token).collect()
        }
        other => panic!("node {node} answers {other:?}"),
    }
}

#[test]
fn the_elected_node_holds_the_office_and_tokens_grow_on_each_node() {
    let mut cluster = cluster();
    for _ in 0..3 {
        assert_eq!(cluster.leaders("job"), vec![Some("n3".to_string()); 3]);
        cluster.kill(2);
        cluster.run_ms(1_000);
        assert_eq!(cluster.leaders("job")[..2], vec![Some("n2".to_string()); 2]);
        cluster.start(2);
        cluster.run_ms(2_000);
    }
    let seen = tokens(&mut cluster, 0);
    assert!(seen.len() >= 7 && seen.is_sorted_by(|one, next| one < next), "tokens {seen:?}");
}

#[test]
fn each_part_of_a_partitioned_cluster_has_its_own_holder() {
    let mut cluster = cluster();
    cluster.isolate(2);
    cluster.run_ms(2_000);
    let leaders = cluster.leaders("job");
    assert_eq!(leaders, ["n2", "n2", "n3"].map(|name| Some(name.to_string())));
    cluster.heal_everything();
    cluster.run_ms(3_000);
    assert_eq!(cluster.leaders("job"), vec![Some("n3".to_string()); 3]);
}

#[test]
fn what_needs_an_arbiter_is_refused() {
    let mut cluster = cluster();
    let transfer = Request::Transfer { office: "job".to_string(), to: "n1".to_string() };
    for request in [Request::Pause, Request::Resume, transfer] {
        cluster.take_operator_replies();
        cluster.request(0, request);
        match cluster.take_operator_replies().pop() {
            Some(Reply::Error(refusal)) => assert_eq!(refusal.code, "no-arbiter"),
            other => panic!("{other:?}"),
        }
    }
}
