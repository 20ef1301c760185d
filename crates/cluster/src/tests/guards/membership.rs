//! Members are added, changed and removed without stopping the cluster.

use hustings_protocol::Id;

use super::harness::{TestCluster, config, incarnation};
use crate::api::{MemberStatus, Reply, Request};
use crate::config::Config;
use crate::core::Exit;
use crate::member::Role;
use crate::wire::{ForwardedRequest, Message};

fn cluster_of(size: u64) -> (TestCluster, u64) {
    let roles: Vec<(u64, Role)> = (1..=size).map(|id| (id, Role::Elector)).collect();
    let mut cluster = TestCluster::new((1..=size).map(|id| config(id, &roles)).collect());
    cluster.advance_ms(1_000);
    let leader = cluster.node(1).core.arbiter_leader().expect("the arbiter has a leader").0;
    (cluster, leader)
}

/// Asks `at` to remove `removed`, and lets 500 ms pass. Returns the answer.
fn remove(cluster: &mut TestCluster, at: u64, removed: u64) -> Vec<Reply> {
    cluster.request(at, 9, Request::RemoveMember { name: format!("n{removed}"), force: false });
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
fn a_removed_member_that_misses_its_removal_is_told() {
    let (mut cluster, leader) = cluster_of(3);
    let removed = leader % 3 + 1;
    // It does not get the entry, and nobody sends it another one.
    cluster.lost.insert((leader, removed));
    assert_eq!(remove(&mut cluster, leader, removed), [Reply::Done]);
    assert_eq!(cluster.node(removed).exit, Some(Exit::Removed));
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
    let token = cluster.token(last, "job");
    cluster.restart(last);
    cluster.campaign(last, 1, "job", None);
    cluster.advance_ms(1_000);
    assert!(cluster.token(last, "job") > token, "the last member decides again after a restart");
    assert_eq!(remove(&mut cluster, last, last).len(), 1);
    assert_eq!(cluster.node(last).exit, None, "the last voter is not removed");
}

/// Asks `at` to add the member 4, and lets 500 ms pass.
fn add(cluster: &mut TestCluster, at: u64) {
    let (name, address) = ("n4".to_string(), "h4:1".to_string());
    cluster.request(at, 9, Request::AddMember { id: 4, name, address, priority: 0, role: Role::Elector });
    cluster.advance_ms(500);
    assert_eq!(cluster.take_replies(at, 9), [Reply::Done]);
}

/// The member 4 starts.
fn start_added(cluster: &mut TestCluster) {
    let roles = [1, 2, 3, 4].map(|id| (id, Role::Elector));
    cluster.start(Config { join: true, ..config(4, &roles) });
}

/// What `at` shows about a member.
fn shown(cluster: &mut TestCluster, at: u64, name: &str) -> Option<MemberStatus> {
    cluster.request(at, 8, Request::Status);
    cluster.advance_ms(50);
    let replies = cluster.take_replies(at, 8);
    let [Reply::Status(status)] = &replies[..] else { panic!("{replies:?}") };
    status.members.iter().find(|member| member.name == name).cloned()
}

fn is_joining(cluster: &mut TestCluster, at: u64) -> bool {
    shown(cluster, at, "n4").expect("it was added").joining
}

/// The codes of the refusals in these replies.
fn refusals(replies: &[Reply]) -> Vec<&str> {
    let refusals = replies.iter().filter_map(|reply| match reply {
        Reply::Error(refusal) => Some(refusal.code.as_str()),
        _ => None,
    });
    refusals.collect()
}

fn change(name: &str) -> (String, Option<u32>, Option<Role>, Option<String>) {
    (name.to_string(), None, None, None)
}

#[test]
fn a_member_that_nobody_reaches_never_counts_for_the_majority() {
    let (mut cluster, leader) = cluster_of(3);
    add(&mut cluster, leader);
    cluster.advance_ms(5_000);
    assert!(is_joining(&mut cluster, leader));
    // Two of three are a majority; two of four would not be.
    cluster.kill(leader % 3 + 1);
    cluster.advance_ms(1_000);
    cluster.campaign(leader, 1, "job", None);
    cluster.advance_ms(1_000);
    assert!(cluster.token(leader, "job").is_some(), "two of three voters decide");
}

#[test]
fn a_new_member_votes_when_it_has_caught_up_even_if_the_coordinator_changed_in_between() {
    for changes in [false, true] {
        let (mut cluster, leader) = cluster_of(3);
        add(&mut cluster, leader);
        assert!(is_joining(&mut cluster, leader));
        let [one, other] = [leader % 3 + 1, (leader + 1) % 3 + 1];
        if changes {
            cluster.kill(leader);
            cluster.advance_ms(1_000);
        }
        start_added(&mut cluster);
        cluster.advance_ms(1_000);
        assert!(!is_joining(&mut cluster, one), "changes: {changes}");
        if !changes {
            // Two of four are no majority, so the new member does count.
            cluster.kill(leader);
            cluster.advance_ms(1_000);
            cluster.kill(other);
            cluster.advance_ms(1_000);
            cluster.campaign(one, 1, "job", None);
            cluster.advance_ms(1_000);
            assert_eq!(cluster.token(one, "job"), None);
        }
    }
}

#[test]
fn a_removal_that_leaves_no_live_majority_is_refused_unless_it_is_forced() {
    let (mut cluster, leader) = cluster_of(3);
    let [one, down] = [leader % 3 + 1, (leader + 1) % 3 + 1];
    cluster.kill(down);
    cluster.advance_ms(1_000);
    let replies = remove(&mut cluster, leader, one);
    assert_eq!(refusals(&replies), ["no-live-majority"]);
    assert!(format!("{replies:?}").contains(&format!("n{down}")), "{replies:?}");
    let (name, priority, _, address) = change(&format!("n{one}"));
    let role = Some(Role::Observer);
    cluster.request(leader, 9, Request::SetMember { name: name.clone(), priority, role, address, force: false });
    cluster.advance_ms(500);
    assert_eq!(refusals(&cluster.take_replies(leader, 9)), ["no-live-majority"]);
    assert_eq!(cluster.node(one).exit, None);
    // The member that is down may go.
    assert_eq!(remove(&mut cluster, leader, down), [Reply::Done]);
    assert_eq!(remove(&mut cluster, leader, one), [Reply::Done]);
    // Forced, it is carried out.
    let (mut cluster, leader) = cluster_of(3);
    let [one, down] = [leader % 3 + 1, (leader + 1) % 3 + 1];
    let disk = cluster.node(down).disk.clone();
    cluster.kill(down);
    cluster.advance_ms(1_000);
    cluster.request(leader, 9, Request::RemoveMember { name: format!("n{one}"), force: true });
    cluster.advance_ms(500);
    assert_eq!(cluster.node(one).exit, None, "the others are no majority yet");
    assert!(shown(&mut cluster, leader, &format!("n{one}")).expect("it is a member").joining, "it does not vote");
    let roles = [1, 2, 3].map(|id| (id, Role::Elector));
    cluster.start_with(config(down, &roles), disk, incarnation(down) + 100, 70 + down);
    cluster.advance_ms(1_000);
    assert_eq!(cluster.node(one).exit, Some(Exit::Removed));
}

#[test]
fn a_voter_leaves_when_a_majority_of_the_others_knows_for_good() {
    let (mut cluster, leader) = cluster_of(3);
    let [leaving, other] = [leader % 3 + 1, (leader + 1) % 3 + 1];
    // The one that leaves is part of the majority that decides this. The others are two, and one of them hears nothing.
    cluster.lost.insert((leader, other));
    assert_eq!(remove(&mut cluster, leader, leaving), []);
    assert_eq!(cluster.node(leaving).exit, None);
    cluster.lost.clear();
    cluster.advance_ms(1_000);
    assert_eq!(cluster.take_replies(leader, 9), [Reply::Done]);
    assert_eq!(cluster.node(leaving).exit, Some(Exit::Removed));
}

#[test]
fn a_voter_that_becomes_an_observer_may_go_when_a_majority_of_the_others_knows_for_good() {
    let (mut cluster, leader) = cluster_of(3);
    let [changed, other] = [leader % 3 + 1, (leader + 1) % 3 + 1];
    cluster.lost.insert((leader, other));
    let (name, priority, _, address) = change(&format!("n{changed}"));
    let role = Some(Role::Observer);
    cluster.request(leader, 9, Request::SetMember { name, priority, role, address, force: false });
    cluster.advance_ms(500);
    assert_eq!(cluster.take_replies(leader, 9), []);
    cluster.lost.clear();
    cluster.advance_ms(1_000);
    assert_eq!(cluster.take_replies(leader, 9), [Reply::Done]);
}

#[test]
fn a_member_gets_another_priority_address_and_role() {
    let (mut cluster, leader) = cluster_of(3);
    let changed = leader % 3 + 1;
    let (name, ..) = change(&format!("n{changed}"));
    let set = |cluster: &mut TestCluster, priority, role, address: Option<&str>| {
        let (name, address) = (name.clone(), address.map(str::to_string));
        cluster.request(leader, 9, Request::SetMember { name, priority, role, address, force: false });
        cluster.advance_ms(1_000);
        cluster.take_replies(leader, 9)
    };
    assert_eq!(set(&mut cluster, Some(7), None, Some("elsewhere:2")), [Reply::Done]);
    for node in 1..=3 {
        let member = shown(&mut cluster, node, &name).expect("it is a member");
        assert_eq!((member.priority, member.address.as_str()), (7, "elsewhere:2"), "at {node}");
        let dialled = cluster.node(node).members.iter().find(|member| member.id == Id(changed)).cloned();
        assert_eq!(dialled.map(|member| member.address), Some("elsewhere:2".to_string()));
    }
    assert_eq!(set(&mut cluster, None, Some(Role::Witness), None), [Reply::Done]);
    cluster.campaign(changed, 1, "job", None);
    assert_eq!(cluster.take_refusal_code(changed, 1).as_deref(), Some("not-an-elector"));
    assert_eq!(set(&mut cluster, None, Some(Role::Observer), None), [Reply::Done]);
    assert_eq!(set(&mut cluster, None, Some(Role::Elector), None), [Reply::Done]);
    assert!(!shown(&mut cluster, leader, &name).expect("it is a member").joining, "it votes again");
    assert_eq!(refusals(&set(&mut cluster, None, None, Some("no address"))), ["bad-request"]);
    assert_eq!(refusals(&set(&mut cluster, None, None, Some(&format!("h{leader}:1")))), ["bad-request"]);
}

#[test]
fn the_leader_of_the_arbiter_becomes_an_observer() {
    let (mut cluster, leader) = cluster_of(3);
    let (name, priority, _, address) = change(&format!("n{leader}"));
    let role = Some(Role::Observer);
    cluster.request(leader, 9, Request::SetMember { name: name.clone(), priority, role, address, force: false });
    cluster.advance_ms(1_000);
    assert_eq!(cluster.take_replies(leader, 9), [Reply::Done]);
    let next = cluster.node(leader).core.arbiter_leader();
    assert!(next.is_some_and(|next| next != Id(leader)), "{next:?}");
    assert_eq!(shown(&mut cluster, leader, &name).map(|member| member.role), Some(Role::Observer));
}

#[test]
fn a_member_that_misses_changes_catches_up_under_the_same_leader() {
    let (mut cluster, leader) = cluster_of(3);
    let deaf = leader % 3 + 1;
    cluster.lost.insert((leader, deaf));
    add(&mut cluster, leader);
    assert_eq!(remove(&mut cluster, leader, 4), [Reply::Done]);
    add_again(&mut cluster, leader);
    cluster.advance_ms(2_000);
    let term = cluster.last_leader_heartbeat(leader, deaf).term;
    cluster.lost.clear();
    // It no longer has what the log continues from. What it gets instead is lost, too.
    cluster.lost_snapshots = true;
    cluster.advance_ms(500);
    cluster.lost_snapshots = false;
    cluster.advance_ms(2_000);
    assert_eq!(cluster.last_leader_heartbeat(leader, deaf).term, term, "nobody else leads");
    assert!(shown(&mut cluster, deaf, "n5").is_some(), "it knows the last change");
}

#[test]
fn a_node_that_the_table_does_not_name_decides_nothing() {
    let (mut cluster, leader) = cluster_of(3);
    cluster.drive(leader, |core, now| core.handle_connected(Id(9), incarnation(9), now));
    let pause = Message::ForwardedRequest(ForwardedRequest::new(1, &Request::Pause));
    cluster.deliver(9, leader, pause.clone());
    cluster.request(leader, 8, Request::Status);
    cluster.advance_ms(50);
    let is_paused = |replies: &[Reply]| matches!(replies, [Reply::Status(status)] if status.paused);
    assert!(!is_paused(&cluster.take_replies(leader, 8)));
    let member = leader % 3 + 1;
    cluster.deliver(member, leader, pause);
    cluster.request(leader, 8, Request::Status);
    cluster.advance_ms(50);
    assert!(is_paused(&cluster.take_replies(leader, 8)), "a member may ask for it");
}

fn add_again(cluster: &mut TestCluster, at: u64) {
    let (name, address) = ("n5".to_string(), "h5:1".to_string());
    cluster.request(at, 9, Request::AddMember { id: 5, name, address, priority: 0, role: Role::Elector });
    cluster.advance_ms(500);
    assert_eq!(cluster.take_replies(at, 9), [Reply::Done]);
}
