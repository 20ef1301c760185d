//! Members that lag follow leaders that they have never heard of.

use super::harness::{TestCluster, config};
use super::senders::{CLIENT, ROLES, VOTERS, leads, term};
use crate::api::Request;
use crate::config::Config;
use crate::member::Role;

/// A cluster of three grows to five while the third member is away, and one of the new ones leads when it returns.
#[test]
fn a_member_that_was_away_follows_a_leader_that_was_added_meanwhile() {
    // The lowest priority leads the log first.
    let founders = VOTERS.map(|node| {
        let mut config = config(node, &ROLES[..3]);
        config.members.iter_mut().for_each(|member| member.priority = 5);
        config
    });
    let mut cluster = TestCluster::new(founders.to_vec());
    cluster.advance_ms(1_000);
    let third = cluster.kill_for_now(3);
    for id in [4, 5] {
        let (name, address) = (format!("n{id}"), format!("h{id}:1"));
        cluster.request(1, 7, Request::AddMember { id, name, address, priority: 0, role: Role::Elector });
        cluster.advance_ms(500);
        let roles: Vec<_> = (1..=id).map(|id| (id, Role::Elector)).collect();
        cluster.start(Config { join: true, ..config(id, &roles) });
        cluster.advance_ms(1_000);
    }
    let former = cluster.arbiter_leader(4).expect("there is one");
    let killed = cluster.kill_for_now(former);
    cluster.advance_ms(2_000);
    cluster.start_killed(killed);
    cluster.advance_ms(2_000);
    let leader = cluster.arbiter_leader(4);
    assert!(matches!(leader, Some(4 | 5)), "{leader:?}");
    cluster.start_killed(third);
    cluster.advance_ms(3_000);
    assert_eq!((cluster.arbiter_leader(3), cluster.arbiter_leader(4)), (leader, leader), "others say that it votes");
    cluster.campaign(3, CLIENT, "other", None);
    cluster.advance_ms(1_000);
    assert!(cluster.token(3, "other").is_some(), "the leader has heard of its candidacy");
}

#[test]
fn a_member_that_joins_follows_whoever_leads() {
    let mut cluster = TestCluster::new(VOTERS.map(|node| config(node, &ROLES[..3])).to_vec());
    cluster.advance_ms(1_000);
    // A hostile voter has raised the term by as much as it can.
    let before = term(&mut cluster);
    cluster.deliver(3, 1, leads(before + (1 << 32), 0));
    cluster.advance_ms(2_000);
    let (name, address) = ("n4".to_string(), "h4:1".to_string());
    cluster.request(1, 7, Request::AddMember { id: 4, name, address, priority: 0, role: Role::Elector });
    cluster.advance_ms(500);
    let roles = [1, 2, 3, 4].map(|id| (id, Role::Elector));
    cluster.start(Config { join: true, ..config(4, &roles) });
    cluster.advance_ms(2_000);
    assert!(cluster.arbiter_leader(4).is_some());
}

#[test]
fn a_member_that_runs_before_it_is_added_is_asked_what_it_is() {
    let mut cluster = TestCluster::new(VOTERS.map(|node| config(node, &ROLES[..3])).to_vec());
    cluster.advance_ms(1_000);
    let roles = [1, 2, 3, 4].map(|id| (id, Role::Elector));
    cluster.start(Config { join: true, ..config(4, &roles) });
    // The connection of a guest does not last, because nobody sends it heartbeats.
    cluster.advance_ms(50);
    let (name, address) = ("n4".to_string(), "h4:1".to_string());
    cluster.request(1, 7, Request::AddMember { id: 4, name, address, priority: 0, role: Role::Elector });
    cluster.advance_ms(2_000);
    cluster.campaign(4, CLIENT, "other", None);
    cluster.advance_ms(2_000);
    assert!(cluster.token(4, "other").is_some());
}
