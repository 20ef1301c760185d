//! What an event costs depends on the offices that it concerns, not on how many there are.

use hustings_protocol::Id;

use super::harness::{TestCluster, config};
use crate::api::{Reply, Request};
use crate::member::Role;

const THREE: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];
/// The client that campaigns.
const CLIENT: u64 = 1;

/// Three nodes of which the first leads the arbiter. Each holds this many offices, and as many more are vacant.
fn cluster_with(offices: usize) -> TestCluster {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &THREE)).to_vec());
    cluster.advance_ms(500);
    assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)));
    for (node, number) in (1..=3).flat_map(|node| (0..offices).map(move |number| (node, number))) {
        cluster.campaign(node, CLIENT, &format!("held-{node}-{number}"), None);
        cluster.campaign(node, CLIENT, &format!("vacant-{node}-{number}"), None);
    }
    cluster.advance_ms(1_000);
    for (node, number) in (1..=3).flat_map(|node| (0..offices).map(move |number| (node, number))) {
        cluster.request(node, CLIENT, Request::Withdraw { office: format!("vacant-{node}-{number}") });
    }
    cluster.advance_ms(2_000);
    for (node, number) in (1..=3).flat_map(|node| (0..offices).map(move |number| (node, number))) {
        assert!(cluster.token(node, &format!("held-{node}-{number}")).is_some());
        assert_eq!(cluster.token(node, &format!("vacant-{node}-{number}")), None);
    }
    cluster
}

/// How often the arbiter's leader has evaluated an office.
fn evaluations(cluster: &mut TestCluster) -> u64 {
    cluster.request(1, 9, Request::Status);
    cluster.advance_ms(20);
    match &cluster.take_replies(1, 9)[..] {
        [Reply::Status(status)] => {
            status.counters.iter().find(|(name, _)| name == "office-evaluations").map_or(0, |(_, count)| *count)
        }
        other => panic!("{other:?}"),
    }
}

/// What all nodes send while something happens, in bytes, and how many offices are evaluated.
fn cost(cluster: &mut TestCluster, happens: impl FnOnce(&mut TestCluster)) -> (usize, u64) {
    let before = evaluations(cluster);
    (1..=3).for_each(|node| cluster.node(node).sent.clear());
    happens(cluster);
    let sent = (1..=3).flat_map(|node| std::mem::take(&mut cluster.node(node).sent));
    let bytes = sent.map(|(_, message)| message.encode().len()).sum();
    (bytes, evaluations(cluster) - before)
}

#[test]
fn offices_that_do_not_change_cost_nothing() {
    let [few, many] = [1, 60].map(|offices| cost(&mut cluster_with(offices), |cluster| cluster.advance_ms(1_000)));
    assert!(2 * many.0 <= 3 * few.0, "{few:?} with few offices, {many:?} with many");
    assert!(few.1 <= 5 && many.1 <= 5, "{few:?} with few offices, {many:?} with many");
}

#[test]
fn a_new_office_costs_as_much_however_many_there_are() {
    let campaign_and_withdraw = |cluster: &mut TestCluster| {
        for number in 0..10 {
            cluster.campaign(2, CLIENT, &format!("new-{number}"), None);
            cluster.advance_ms(50);
            assert!(cluster.token(2, &format!("new-{number}")).is_some());
            cluster.request(2, CLIENT, Request::Withdraw { office: format!("new-{number}") });
            cluster.advance_ms(50);
        }
    };
    let [few, many] = [1, 60].map(|offices| cost(&mut cluster_with(offices), campaign_and_withdraw));
    assert!(2 * many.0 <= 3 * few.0, "{few:?} with few offices, {many:?} with many");
    assert!(2 * many.1 <= 3 * few.1, "{few:?} with few offices, {many:?} with many");
}
