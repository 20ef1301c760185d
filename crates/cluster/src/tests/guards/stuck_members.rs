//! Members that are up and cannot do their part do not keep an office vacant.

use hustings_protocol::Id;

use super::harness::{TestCluster, config};
use crate::api::{Reply, Request, RequestError};
use crate::config::{AlgorithmConfig, Config, Mode, Policy, Preempt};
use crate::member::Role;
use crate::wire::{Candidacy, Heartbeat, Message};

const THREE: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

/// Three nodes of which the first leads the arbiter, and the third ranks highest.
fn cluster(mode: Mode) -> TestCluster {
    let policy = Policy { mode, preempt: Preempt::Better, ..Policy::default() };
    let mut cluster =
        TestCluster::new([1, 2, 3].map(|node| Config { default_policy: policy, ..config(node, &THREE) }).to_vec());
    cluster.advance_ms(1_000);
    assert_eq!(cluster.node(1).core.arbiter_leader(), Some(Id(1)));
    cluster
}

#[test]
fn an_office_goes_to_the_next_best_if_the_disk_of_the_best_hangs() {
    for (mode, ms) in [(Mode::Fenced, 500), (Mode::Exclusive, 900)] {
        let mut cluster = cluster(mode);
        cluster.node(3).is_disk_stuck = true;
        [3, 2].into_iter().for_each(|node| cluster.campaign(node, node, "job", None));
        cluster.advance_ms(ms);
        assert_eq!(cluster.token(3, "job"), None, "{mode:?}: it cannot learn that the office is its own");
        assert!(cluster.token(2, "job").is_some(), "{mode:?}");
        cluster.advance_ms(1_000);
        assert!(cluster.token(2, "job").is_some(), "{mode:?}: the better member is not tried again at once");
        cluster.complete_writes(3);
        cluster.advance_ms(5_000);
        assert!(cluster.token(3, "job").is_some(), "{mode:?}: its disk works again");
        assert_eq!(cluster.token(2, "job"), None, "{mode:?}");
    }
}

#[test]
fn a_member_whose_disk_is_slow_keeps_the_offices_that_it_knows_of() {
    for mode in [Mode::Fenced, Mode::Exclusive] {
        let mut cluster = cluster(mode);
        cluster.campaign(3, 3, "work", None);
        cluster.advance_ms(100);
        let token = cluster.token(3, "work");
        assert!(token.is_some(), "{mode:?}");
        cluster.node(3).is_disk_stuck = true;
        [3, 2].into_iter().for_each(|node| cluster.campaign(node, node, "job", None));
        cluster.advance_ms(3_000);
        assert_eq!(cluster.token(3, "work"), token, "{mode:?}: its renewals do not wait for its disk");
        cluster.complete_writes(3);
        cluster.node(3).is_disk_stuck = false;
        cluster.advance_ms(100);
        assert!(cluster.token(3, "job").is_some(), "{mode:?}");
        assert_eq!(cluster.token(3, "work"), token, "{mode:?}");
    }
}

#[test]
fn a_member_with_other_offices_whose_disk_hangs_does_not_keep_one_vacant_for_good() {
    let mut cluster = cluster(Mode::Fenced);
    cluster.campaign(3, 3, "work", None);
    cluster.advance_ms(100);
    cluster.node(3).is_disk_stuck = true;
    [3, 2].into_iter().for_each(|node| cluster.campaign(node, node, "job", None));
    cluster.advance_ms(7_000);
    assert!(cluster.token(2, "job").is_some());
}

#[test]
fn a_member_whose_disk_fails_is_no_candidate() {
    let mut cluster = cluster(Mode::Fenced);
    cluster.drive(3, |core, now| core.handle_disk_failed("cannot write log", now));
    (2..=3).for_each(|node| cluster.campaign(node, node, "job", None));
    cluster.advance_ms(50);
    assert!(cluster.token(2, "job").is_some());
}

/// What a node says of its own disk, and which members it says have one that fails.
fn disks(cluster: &mut TestCluster, node: u64) -> (Option<String>, Vec<String>) {
    cluster.request(node, 9, Request::Status);
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(node, 9);
    let [Reply::Status(status)] = &replies[..] else { panic!("{replies:?}") };
    let failing = status.members.iter().filter(|member| member.disk_fails).map(|member| member.name.clone());
    (status.disk.as_ref().map(|failure| failure.error.clone()), failing.collect())
}

#[test]
fn a_member_whose_disk_fails_says_so_and_the_others_know() {
    let mut cluster = cluster(Mode::Fenced);
    for node in [2, 3] {
        cluster.node(node).is_disk_stuck = true;
        cluster.drive(node, |core, now| core.handle_disk_failed("cannot write log", now));
    }
    let failing = || vec!["n2".to_string(), "n3".to_string()];
    assert_eq!(disks(&mut cluster, 1), (None, failing()));
    assert_eq!(disks(&mut cluster, 3), (Some("cannot write log".to_string()), failing()));
    // Nothing can be decided: one node's own disk is the cause, and the other one knows whose it is.
    cluster.isolate(1);
    cluster.advance_ms(5_000);
    cluster.request(3, 8, Request::Pause);
    assert_eq!(
        cluster.take_replies(3, 8),
        [Reply::Error(refused("disk", "this node's disk does not take writes: cannot write log; since 7 s"))]
    );
    for node in [2, 3] {
        cluster.complete_writes(node);
    }
    cluster.advance_ms(1_000);
    assert_eq!(disks(&mut cluster, 3), (None, Vec::new()));
}

fn refused(code: &str, message: &str) -> RequestError {
    RequestError { code: code.to_string(), message: message.to_string() }
}

#[test]
fn a_leader_of_the_arbiter_whose_disk_fails_is_replaced_at_once() {
    for heals in [false, true] {
        let mut cluster = cluster(Mode::Fenced);
        assert_eq!(cluster.node(2).core.arbiter_leader(), Some(Id(1)));
        cluster.drive(1, |core, now| core.handle_disk_failed("no space", now));
        if heals {
            cluster.drive(1, |core, now| core.handle_persisted(0, now));
        }
        cluster.advance_ms(200);
        let leader = cluster.node(2).core.arbiter_leader();
        assert!(leader.is_some() && leader == cluster.node(3).core.arbiter_leader(), "{leader:?}");
        assert!(heals || leader != Some(Id(1)), "it cannot lead");
    }
}

#[test]
fn a_leader_of_the_arbiter_whose_disk_hangs_makes_room() {
    let mut cluster = cluster(Mode::Fenced);
    cluster.node(1).is_disk_stuck = true;
    cluster.campaign(2, 2, "job", None);
    cluster.advance_ms(6_000);
    assert_ne!(cluster.node(2).core.arbiter_leader(), Some(Id(1)), "its table stands still");
    assert_eq!(cluster.node(2).core.arbiter_leader(), cluster.node(3).core.arbiter_leader());
    assert!(cluster.token(2, "job").is_some());
}

#[test]
fn an_office_is_granted_although_its_election_does_not_end() {
    // Without timers of its own, the algorithm waits forever for messages that must pass the third member.
    let algorithm = AlgorithmConfig::named("chang-roberts", Some(Vec::new()));
    let configure = |node| Config { algorithm: algorithm.clone(), ..config(node, &THREE) };
    let mut cluster = TestCluster::new([1, 2].map(configure).to_vec());
    cluster.advance_ms(500);
    // The highest-ranked member is up, and takes part in nothing.
    for node in [1, 2] {
        cluster.drive(node, |core, now| core.handle_connected(Id(3), 7, now));
        let (incarnation, store_id, health, digest, version, base) = (7, 73, 100, Default::default(), 1, None);
        let disk = Default::default();
        let (added, removed) = (vec!["job".into(), "leader".into()], Vec::new());
        let disk_fails = false;
        let candidacy = Candidacy {
            incarnation,
            store_id,
            disk,
            health,
            disk_fails,
            digest,
            reads: 1,
            version,
            base,
            added,
            removed,
        };
        cluster.deliver(3, node, Message::Candidacy(candidacy));
    }
    cluster.campaign(2, 2, "job", None);
    for _ in 0..40 {
        cluster.advance_ms(50);
        let heartbeat = Heartbeat { number: 0, leader: None, follower: None };
        [1, 2].into_iter().for_each(|node| cluster.deliver(3, node, Message::Heartbeat(heartbeat)));
    }
    assert!(cluster.token(2, "job").is_some(), "the next best gets it");
}

/// Ends the connection between two nodes: what they send to each other goes through the third one.
fn cut(cluster: &mut TestCluster, one: u64, other: u64) {
    cluster.drive(one, |core, now| core.handle_disconnected(Id(other), now));
    cluster.drive(other, |core, now| core.handle_disconnected(Id(one), now));
}

#[test]
fn a_member_without_a_connection_to_the_coordinator_is_a_candidate() {
    let mut cluster = cluster(Mode::Fenced);
    cut(&mut cluster, 1, 3);
    cluster.advance_ms(500);
    cluster.campaign(3, 3, "new", None);
    cluster.advance_ms(200);
    let token = cluster.token(3, "new");
    assert!(token.is_some(), "it announces through the relay that it is a candidate");
    cluster.request(3, 3, Request::Withdraw { office: "new".to_string() });
    cluster.advance_ms(100);
    cluster.node(1).sent.clear();
    cluster.advance_ms(2_000);
    let is_log = |(_, message): &(Id, Message)| matches!(message, Message::Raft(_));
    assert!(!cluster.node(1).sent.iter().any(is_log), "it is not granted again and again");
}

#[test]
fn watchers_are_told_when_a_read_succeeds_again() {
    let mut cluster = cluster(Mode::Fenced);
    cluster.request(2, 9, Request::Watch { office: None });
    cluster.advance_ms(100);
    cluster.take_replies(2, 9);
    // Answers to reads are lost for a while, but nothing else is.
    cluster.lost_reads = true;
    cluster.campaign(2, 2, "job", None);
    cluster.advance_ms(300);
    let is_current = |cluster: &mut TestCluster| {
        cluster.take_replies(2, 9).into_iter().rev().find_map(|reply| match reply {
            Reply::Office(status) if status.office == "job" => Some(status.current),
            _ => None,
        })
    };
    assert_eq!(is_current(&mut cluster), Some(false), "no read could confirm it");
    cluster.lost_reads = false;
    cluster.advance_ms(300);
    assert_eq!(is_current(&mut cluster), Some(true));
}

#[test]
fn a_view_that_arrives_late_is_corrected() {
    let mut cluster = cluster(Mode::Fenced);
    let shows_holder = |cluster: &mut TestCluster| {
        cluster.request(2, 9, Request::Leader { office: "leader".to_string() });
        cluster.advance_ms(20);
        let replies = cluster.take_replies(2, 9);
        let [Reply::Office(status)] = &replies[..] else { panic!("{replies:?}") };
        status.current
    };
    assert!(cluster.token(3, "leader").is_some() && shows_holder(&mut cluster));
    // It was sent before the third member came up, and took the way through a relay.
    cluster.deliver(1, 2, Message::View(vec![Id(1), Id(2)]));
    assert!(!shows_holder(&mut cluster), "the holder seems to be down");
    cluster.advance_ms(1_100);
    assert!(shows_holder(&mut cluster));
}

#[test]
fn a_pending_change_does_not_bring_a_removed_member_back() {
    let mut cluster = cluster(Mode::Fenced);
    cluster.node(1).is_disk_stuck = true;
    cluster.node(2).is_disk_stuck = true;
    cluster.request(1, 8, Request::RemoveMember { name: "n3".to_string(), force: false });
    let (name, priority, role, address, force) = ("n3".to_string(), Some(5), None, None, false);
    cluster.request(1, 9, Request::SetMember { name, priority, role, address, force });
    assert_eq!(cluster.take_refusal_code(1, 9), Some("busy".to_string()));
}

#[test]
fn short_pauses_do_not_hide_the_silence_of_others() {
    let mut cluster = cluster(Mode::Fenced);
    cluster.isolate(3);
    cluster.node(1).sent.clear();
    // The leader is called 50 ms late, again and again.
    for _ in 0..20 {
        cluster.advance_ms(30);
        cluster.now = cluster.now + std::time::Duration::from_millis(100);
        for node in [1, 2] {
            cluster.drive(node, |core, now| core.handle_timeout(now));
        }
    }
    let lacks = |message: &Message| matches!(message, Message::View(view) if !view.contains(&Id(3)));
    assert!(cluster.node(1).sent.iter().any(|(_, message)| lacks(message)));
}
