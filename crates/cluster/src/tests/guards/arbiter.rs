//! The arbiter: its members, its disk, and how long it waits for a lost holder.

use std::time::Duration;

use hustings_protocol::Id;

use super::harness::{TestCluster, config};
use crate::api::{ChangeReason, Reply, Request};
use crate::config::{Config, Mode, Policy, Preempt};
use crate::member::Role;
use crate::timing::Timing;
use crate::wire::{Claim, Claims, Message};

fn single_voter() -> TestCluster {
    let mut cluster = TestCluster::new(vec![config(1, &[(1, Role::Elector), (2, Role::Observer)])]);
    cluster.advance_ms(500);
    assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)));
    cluster
}

fn add(cluster: &mut TestCluster, client: u64, name: &str) {
    let (id, name, address) = (10 + client, name.to_string(), "h:1".to_string());
    cluster.request(1, client, Request::AddMember { id, name, address, priority: 0, role: Role::Observer });
}

#[test]
fn rejects_the_removal_of_the_last_voter() {
    let mut cluster = single_voter();
    cluster.request(1, 1, Request::RemoveMember { name: "n1".to_string(), force: false });
    assert_eq!(cluster.take_refusal_code(1, 1), Some("last-voter".to_string()));
    cluster.request(1, 1, Request::RemoveMember { name: "n2".to_string(), force: false });
    assert_eq!(cluster.take_replies(1, 1), [Reply::Done], "other members can be removed");
}

#[test]
fn membership_changes_happen_one_at_a_time() {
    let mut cluster = single_voter();
    cluster.node(1).is_disk_stuck = true;
    add(&mut cluster, 1, "first");
    assert_eq!(cluster.take_replies(1, 1), [], "the change is not committed yet");
    add(&mut cluster, 2, "second");
    assert_eq!(cluster.take_refusal_code(1, 2), Some("busy".to_string()));
    cluster.complete_writes(1);
    assert_eq!(cluster.take_replies(1, 1), [Reply::Done]);
    add(&mut cluster, 2, "second");
    assert_eq!(cluster.take_replies(1, 2), [Reply::Done]);
}

/// A cluster with a single voter that has stepped down because its disk failed, and has entries that are not durable.
/// Also returns the number of the last durable write.
fn cluster_with_unwritten_entries() -> (TestCluster, u64) {
    let mut cluster = single_voter();
    cluster.node(1).is_disk_stuck = true;
    cluster.request(1, 1, Request::Pause);
    cluster.drive(1, |core, now| core.handle_disk_failed("full", now));
    assert_eq!(cluster.node(1).core.arbiter_leader(), None);
    let earlier = cluster.node(1).unwritten[0] - 1;
    (cluster, earlier)
}

#[test]
fn does_not_campaign_while_its_log_is_not_durable() {
    let (mut cluster, earlier) = cluster_with_unwritten_entries();
    // The disk works again, but only an earlier write is durable. The library must not win an election now.
    cluster.drive(1, |core, now| core.handle_persisted(earlier, now));
    cluster.advance_ms(2_000);
    assert_eq!(cluster.node(1).core.arbiter_leader(), None);
    cluster.complete_writes(1);
    cluster.advance_ms(10_000);
    assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)));
}

#[test]
fn the_library_does_not_campaign_while_its_log_is_not_durable() {
    let (mut cluster, _) = cluster_with_unwritten_entries();
    cluster.advance_ms(60_000);
    assert_eq!(cluster.node(1).core.arbiter_leader(), None);
    cluster.complete_writes(1);
    cluster.advance_ms(10_000);
    assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)));
}

const THREE: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

#[test]
fn waits_for_a_holder_that_is_configured_with_a_longer_lease() {
    let timing = |lease| Timing { lease: Duration::from_millis(lease), ..config(1, &THREE).timing };
    let long = timing(2_000);
    let mut cluster =
        TestCluster::new(vec![config(1, &THREE), config(2, &THREE), Config { timing: long, ..config(3, &THREE) }]);
    for node in [1, 2, 3] {
        cluster.campaign(node, node, "job", None);
    }
    cluster.advance_ms(1_000);
    let before = cluster.token(3, "job");
    assert!(before.is_some(), "the highest-ranked node holds the office");
    cluster.kill(3);
    // The leader may have heard from the holder a moment before it was killed.
    let waits = long.takeover_delay().as_millis() as u64 - 100;
    cluster.advance_ms(waits);
    assert_eq!((cluster.token(1, "job"), cluster.token(2, "job")), (None, None), "the lost holder may still act");
    cluster.advance_ms(200);
    assert!(cluster.token(2, "job") > before, "the lost holder has certainly stopped");
}

#[test]
fn ignores_reports_of_an_earlier_failure() {
    let fenced = Policy { mode: Mode::Fenced, preempt: Preempt::Better, ..Policy::default() };
    // Node 1 has the lowest rank and leads the arbiter; node 3 has the highest rank and holds the office.
    let configs = [1, 2, 3].map(|node| Config { default_policy: fenced, ..config(node, &THREE) });
    let token_after_disconnect = |ms_before: u64| {
        let mut cluster = TestCluster::new(configs.to_vec());
        cluster.advance_ms(1_000);
        assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)));
        let before = cluster.token(3, "leader");
        assert!(before.is_some(), "the highest-ranked node holds the office");
        cluster.deliver(2, 1, Message::PeerDown(Id(3)));
        cluster.advance_ms(ms_before);
        cluster.drive(1, |core, now| core.handle_disconnected(Id(3), now));
        cluster.advance_ms(1);
        (before, cluster.token(2, "leader"))
    };
    let (before, after) = token_after_disconnect(0);
    assert!(after > before, "both voters report the failure");
    let (_, after) = token_after_disconnect(1_000);
    assert_eq!(after, None, "the other report is about an earlier failure");
}

#[test]
fn a_holder_that_stopped_with_an_earlier_token_still_holds_the_office() {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &THREE)).to_vec());
    (1..=3).for_each(|node| cluster.campaign(node, node, "job", None));
    cluster.advance_ms(1_000);
    assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)));
    let token = cluster.token(3, "job").expect("the highest-ranked node holds the office");
    let stepped_down = |token| Message::SteppedDown { office: "job".into(), token, cause: ChangeReason::Resigned };
    // Somebody would take the office.
    let terms = Timing { lease: Duration::from_millis(300), ..Timing::default() }.terms();
    let claim = Claim { office: "job".into(), mode: Mode::Exclusive, preempt: Preempt::Never, terms };
    cluster.deliver(2, 1, Message::Claims(Claims { replaces_all: false, added: vec![claim], removed: Vec::new() }));
    cluster.deliver(3, 1, stepped_down(token - 1));
    cluster.deliver(2, 1, stepped_down(token));
    cluster.advance_ms(200);
    assert_eq!(cluster.token(3, "job"), Some(token), "the reports are about another token, or of another member");
    cluster.deliver(3, 1, stepped_down(token));
    cluster.advance_ms(200);
    assert_ne!(cluster.token(3, "job"), Some(token));
}

#[test]
fn a_node_that_was_paused_itself_does_not_blame_the_others() {
    let mut cluster = TestCluster::new([1, 2, 3].map(|node| config(node, &THREE)).to_vec());
    cluster.advance_ms(1_000);
    cluster.node(1).sent.clear();
    let has_blamed = |cluster: &mut TestCluster| {
        let lacks = |message: &Message| matches!(message, Message::View(view) if view.len() < 3);
        cluster.node(1).sent.iter().any(|(_, message)| lacks(message))
    };
    cluster.now = cluster.now + Duration::from_secs(5);
    cluster.drive(1, |core, now| core.handle_timeout(now));
    assert!(!has_blamed(&mut cluster), "the silence is its own");
    cluster.isolate(2);
    cluster.advance_ms(500);
    assert!(has_blamed(&mut cluster), "silence while it runs counts");
}
