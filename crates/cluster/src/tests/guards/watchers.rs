//! Clients are told of the offices that they watch: of each change once, and of no other office.

use hustings_protocol::Id;

use super::harness::{TestCluster, config};
use crate::api::{Reply, Request};
use crate::member::Role;
use crate::wire::Message;

const THREE: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

/// One node, which holds what a client of it campaigns for.
fn node() -> TestCluster {
    let mut cluster = TestCluster::new(vec![config(1, &[(1, Role::Elector)])]);
    cluster.advance_ms(1_000);
    cluster
}

fn watch(cluster: &mut TestCluster, client: u64, office: Option<&str>) {
    cluster.request(1, client, Request::Watch { office: office.map(str::to_string) });
    cluster.advance_ms(100);
}

/// The offices that a client was told of since the last call, and whether they were held.
fn told(cluster: &mut TestCluster, client: u64) -> Vec<(String, bool)> {
    let statuses = cluster.take_replies(1, client).into_iter().map(|reply| match reply {
        Reply::Office(status) => (status.office, status.holder.is_some()),
        other => panic!("{other:?}"),
    });
    statuses.collect()
}

#[test]
fn a_client_is_told_of_the_offices_that_it_watches_and_of_no_other() {
    let mut cluster = node();
    watch(&mut cluster, 7, Some("job"));
    watch(&mut cluster, 8, Some("other"));
    assert_eq!(told(&mut cluster, 7), [("job".to_string(), false)]);
    assert_eq!(told(&mut cluster, 8), [("other".to_string(), false)]);
    cluster.campaign(1, 1, "job", None);
    cluster.campaign(1, 1, "unwatched", None);
    cluster.advance_ms(500);
    assert_eq!(told(&mut cluster, 7), [("job".to_string(), true)]);
    assert_eq!(told(&mut cluster, 8), []);
}

#[test]
fn a_client_is_told_the_first_state_of_a_held_office_once() {
    let mut cluster = node();
    cluster.campaign(1, 1, "job", None);
    cluster.advance_ms(500);
    watch(&mut cluster, 7, Some("job"));
    assert_eq!(told(&mut cluster, 7), [("job".to_string(), true)]);
    watch(&mut cluster, 8, None);
    let all = told(&mut cluster, 8);
    assert_eq!(all.iter().filter(|(office, _)| office == "job").count(), 1, "{all:?}");
    assert_eq!(told(&mut cluster, 7), []);
}

/// The others were told before that the office is held, and that has not changed.
#[test]
fn a_client_whose_first_state_was_not_confirmed_is_told_when_it_is() {
    for (former, later) in [(Some("job"), Some("job")), (None, Some("job")), (Some("job"), None)] {
        let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &THREE)).to_vec());
        cluster.campaign(2, 2, "job", None);
        cluster.advance_ms(1_000);
        let watch = |cluster: &mut TestCluster, client: u64, office: Option<&str>, ms| {
            cluster.request(2, client, Request::Watch { office: office.map(str::to_string) });
            cluster.advance_ms(ms);
            is_current(cluster, client)
        };
        assert_eq!(watch(&mut cluster, 8, former, 100), Some(true));
        cluster.lost_reads = true;
        assert_eq!(watch(&mut cluster, 9, later, 400), Some(false), "no read can be confirmed");
        cluster.lost_reads = false;
        cluster.advance_ms(300);
        assert_eq!(is_current(&mut cluster, 9), Some(true), "{former:?} {later:?}");
    }
}

/// The confirmation that others wait for may be older than its request.
#[test]
fn a_client_that_begins_to_watch_while_others_wait_is_told_by_a_read_of_its_own() {
    for office in [Some("job"), None] {
        let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &THREE)).to_vec());
        cluster.advance_ms(1_000);
        let leader = cluster.arbiter_leader(1).expect("there is one");
        let node = 1 + leader % 3;
        cluster.campaign(node, 2, "job", None);
        cluster.request(node, 8, Request::Watch { office: Some("job".to_string()) });
        cluster.advance_ms(500);
        cluster.take_replies(node, 8);
        cluster.lost_reads = true;
        cluster.node(leader).sent.clear();
        cluster.request(node, 2, Request::Withdraw { office: "job".to_string() });
        cluster.advance_ms(5);
        let sent = std::mem::take(&mut cluster.node(leader).sent);
        let mut answers = sent
            .into_iter()
            .filter(|(to, message)| *to == Id(node) && matches!(message, Message::ReadIndexResponse { .. }));
        let (_, answer) = answers.next_back().expect("the node has asked, because one watches");
        cluster.request(node, 9, Request::Watch { office: office.map(str::to_string) });
        cluster.deliver(leader, node, answer);
        assert!(cluster.take_replies(node, 8).iter().any(is_vacant), "who watched before is told");
        let told = cluster.take_replies(node, 9);
        assert!(told.is_empty(), "{office:?}: {told:?}");
        cluster.lost_reads = false;
        cluster.advance_ms(300);
        let told = cluster.take_replies(node, 9);
        assert_eq!(told.iter().filter(|reply| is_vacant(reply)).count(), 1, "{office:?}: {told:?}");
    }
}

fn is_vacant(reply: &Reply) -> bool {
    matches!(reply, Reply::Office(status) if status.office == "job" && status.holder.is_none() && status.current)
}

/// What a client of the second node was last told of `job`.
fn is_current(cluster: &mut TestCluster, client: u64) -> Option<bool> {
    cluster.take_replies(2, client).into_iter().rev().find_map(|reply| match reply {
        Reply::Office(status) if status.office == "job" => Some(status.current),
        _ => None,
    })
}

#[test]
fn a_client_that_watches_an_office_in_two_ways_is_told_once() {
    let mut cluster = node();
    watch(&mut cluster, 7, Some("job"));
    watch(&mut cluster, 7, None);
    told(&mut cluster, 7);
    cluster.campaign(1, 1, "job", None);
    cluster.advance_ms(500);
    assert_eq!(told(&mut cluster, 7), [("job".to_string(), true)]);
}

/// Nothing is remembered of an office while nobody watches it, so nothing of what was can suppress what is.
#[test]
fn an_office_that_was_watched_earlier_is_watched_again() {
    let mut cluster = node();
    watch(&mut cluster, 7, Some("job"));
    // Watches go on: the node has not forgotten all of them.
    watch(&mut cluster, 9, Some("other"));
    cluster.campaign(1, 1, "job", None);
    cluster.advance_ms(500);
    assert_eq!(told(&mut cluster, 7).last(), Some(&("job".to_string(), true)));
    cluster.disconnect(1, 7);
    cluster.request(1, 1, Request::Withdraw { office: "job".to_string() });
    cluster.advance_ms(1_000);
    watch(&mut cluster, 8, Some("job"));
    assert_eq!(told(&mut cluster, 8).last(), Some(&("job".to_string(), false)));
    cluster.campaign(1, 1, "job", None);
    cluster.advance_ms(1_000);
    assert_eq!(told(&mut cluster, 8).last(), Some(&("job".to_string(), true)));
}

/// A watch by name and one of everything do not depend on one another.
#[test]
fn a_client_that_leaves_does_not_end_the_watches_of_others() {
    let mut cluster = node();
    for (leaves, stays) in
        [((7, None), (8, Some("job"))), ((9, Some("job")), (10, None)), ((11, Some("job")), (12, Some("job")))]
    {
        watch(&mut cluster, leaves.0, leaves.1);
        watch(&mut cluster, stays.0, stays.1);
        cluster.disconnect(1, leaves.0);
        told(&mut cluster, stays.0);
        cluster.campaign(1, 1, "job", None);
        cluster.advance_ms(500);
        assert_eq!(told(&mut cluster, stays.0), [("job".to_string(), true)], "{leaves:?}");
        cluster.request(1, 1, Request::Withdraw { office: "job".to_string() });
        cluster.advance_ms(1_000);
        assert_eq!(told(&mut cluster, stays.0).last(), Some(&("job".to_string(), false)), "{leaves:?}");
        cluster.disconnect(1, stays.0);
    }
}
