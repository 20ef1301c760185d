//! Members are removed without stopping the cluster.

use hustings_cluster::api::{Reply, Request};
use hustings_cluster::core::Exit;
use hustings_cluster::member::Role;
use hustings_protocol::Id;

use crate::harness::{TestCluster, config};

fn cluster_of(size: u64) -> (TestCluster, u64) {
    let roles: Vec<(u64, Role)> = (1..=size).map(|id| (id, Role::Elector)).collect();
    let mut cluster = TestCluster::new((1..=size).map(|id| config(id, &roles)).collect());
    cluster.advance_ms(1_000);
    let leader = cluster.node(1).core.arbiter_leader().expect("the arbiter has a leader").0;
    (cluster, leader)
}

/// Asks `at` to remove `removed`, and lets 500 ms pass. Returns the answer.
fn remove(cluster: &mut TestCluster, at: u64, removed: u64) -> Vec<Reply> {
    cluster.request(at, 9, Request::RemoveMember { name: format!("n{removed}") });
    cluster.advance_ms(500);
    cluster.take_replies(at, 9)
}

#[test]
fn removing_the_leader_of_the_arbiter_does_not_stop_the_others() {
    for size in [2, 3, 5] {
        let (mut cluster, leader) = cluster_of(size);
        let other = if leader == 1 { 2 } else { 1 };
        assert_eq!(remove(&mut cluster, other, leader), [Reply::Done], "{size} members");
        assert_eq!(cluster.node(leader).exit, Some(Exit::Removed));
        for node in (1..=size).filter(|node| *node != leader) {
            let next = cluster.node(node).core.arbiter_leader();
            assert!(next.is_some_and(|next| next != Id(leader)), "{size} members: {node} follows {next:?}");
            assert_eq!(cluster.node(node).exit, None);
        }
    }
}

#[test]
fn a_removal_that_is_asked_for_at_the_member_itself_is_answered() {
    for is_leader in [true, false] {
        let (mut cluster, leader) = cluster_of(3);
        let removed = if is_leader { leader } else { leader % 3 + 1 };
        assert_eq!(remove(&mut cluster, removed, removed), [Reply::Done], "leads the arbiter: {is_leader}");
        assert_eq!(cluster.node(removed).exit, Some(Exit::Removed));
    }
}

#[test]
fn a_cluster_shrinks_to_one_member_with_the_leader_last() {
    let (mut cluster, _) = cluster_of(3);
    let mut left = vec![1, 2, 3];
    while left.len() > 1 {
        let leader = cluster.node(left[0]).core.arbiter_leader().expect("the arbiter has a leader").0;
        let asked = left.iter().copied().find(|node| *node != leader).expect("there is another one");
        assert_eq!(remove(&mut cluster, asked, leader), [Reply::Done]);
        left.retain(|node| *node != leader);
    }
    let last = left[0];
    assert_eq!(cluster.node(last).core.arbiter_leader(), Some(Id(last)));
    cluster.campaign(last, 1, "job", None);
    cluster.advance_ms(1_000);
    assert!(cluster.token(last, "job").is_some(), "the last member still decides");
    assert_eq!(remove(&mut cluster, last, last).len(), 1);
    assert_eq!(cluster.node(last).exit, None, "the last voter is not removed");
}
