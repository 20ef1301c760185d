//! Clients never get an office in another mode than they asked for, and an office whose mode changes is never exclusive
//! while a holder of a fenced grant may still act.

use std::time::Duration;

use hustings_protocol::Id;

use super::harness::{TestCluster, config, disk_with, members};
use crate::api::{ChangeReason, Lease, Reply, Request};
use crate::clock::Timestamp;
use crate::config::{Config, MAX_OFFICES, Mode, Policy, Preempt};
use crate::core::LEADER;
use crate::core::table::{Command, ForgottenFenced, Holder, Table};
use crate::member::Role;

/// Two nodes whose configurations differ: `job` is exclusive on node 1, and fenced on node 2, which ranks higher. A
/// client on each node campaigns for it in the mode of its node's configuration, before anything is granted.
fn cluster_with_different_modes() -> TestCluster {
    let roles = [(1, Role::Elector), (2, Role::Elector)];
    let mut other = config(2, &roles);
    other.offices = vec![("job".to_string(), Policy { mode: Mode::Fenced, ..Policy::default() })];
    let mut cluster = TestCluster::new(vec![config(1, &roles), other]);
    cluster.campaign(1, 1, "job", Some(Mode::Exclusive));
    cluster.campaign(2, 2, "job", Some(Mode::Fenced));
    assert_eq!((cluster.take_replies(1, 1), cluster.take_replies(2, 2)), (vec![Reply::Done], vec![Reply::Done]));
    cluster.advance_ms(1_000);
    assert!(matches!(cluster.take_replies(2, 2)[0], Reply::Held(_)), "the client of the higher-ranked node has it");
    cluster
}

/// Whether a client was told only that the office has another mode.
fn is_mode_mismatch(replies: &[Reply]) -> bool {
    matches!(replies, [Reply::Lost { office, reason: ChangeReason::ModeMismatch, .. }] if office == "job")
}

#[test]
fn a_client_on_a_member_of_another_mode_gets_the_office_when_it_is_granted_next() {
    let mut cluster = cluster_with_different_modes();
    cluster.campaign(1, 3, "job", Some(Mode::Exclusive));
    let replies = cluster.take_replies(1, 3);
    let [Reply::Error(refusal)] = &replies[..] else { panic!("{replies:?}") };
    assert_eq!(refusal.code, "other-mode");
    assert!(refusal.message.contains("becomes exclusive, as this node's configuration says"), "{}", refusal.message);
    cluster.campaign(1, 4, "job", Some(Mode::Fenced));
    assert_eq!(cluster.take_replies(1, 4), [Reply::Done], "that is the mode in which node 2 holds it");
    cluster.request(2, 2, Request::Withdraw { office: "job".to_string() });
    cluster.advance_ms(1_000);
    assert!(held(&cluster.take_replies(1, 1)).is_some(), "node 1 claims the office in this mode");
    let replies = cluster.take_replies(1, 4);
    assert!(is_mode_mismatch(&replies), "{replies:?}");
    assert_eq!(mode(&mut cluster, 2, "job"), Mode::Exclusive);
    cluster.campaign(2, 2, "job", Some(Mode::Fenced));
    assert_eq!(cluster.take_refusal_code(2, 2), Some("other-mode".to_string()));
}

#[test]
fn an_office_takes_the_mode_of_a_better_member_that_it_goes_to() {
    let roles = [(1, Role::Elector), (2, Role::Elector)];
    let with_mode = |node, mode| {
        let default_policy = Policy { mode, preempt: Preempt::Better, ..Policy::default() };
        Config { default_policy, ..config(node, &roles) }
    };
    let mut cluster = TestCluster::new(vec![with_mode(1, Mode::Exclusive), with_mode(2, Mode::Fenced)]);
    cluster.campaign(1, 1, "job", Some(Mode::Exclusive));
    cluster.advance_ms(1_000);
    assert!(held(&cluster.take_replies(1, 1)).is_some());
    cluster.campaign(2, 2, "job", None);
    cluster.advance_ms(200);
    let replies = cluster.take_replies(1, 1);
    let stop = replies.iter().find_map(|reply| match reply {
        Reply::Stop { office, token, .. } => Some((office.clone(), *token)),
        _ => None,
    });
    let (office, token) = stop.unwrap_or_else(|| panic!("node 2 is better: {replies:?}"));
    cluster.request(1, 1, Request::Stopped { office, token });
    granted_at(&mut cluster, 2, 2);
    assert_eq!(mode(&mut cluster, 1, "job"), Mode::Fenced);
}

#[test]
fn an_operator_who_chooses_the_holder_does_not_change_the_mode() {
    let mut cluster = cluster_with_different_modes();
    cluster.request(2, 9, Request::Transfer { office: "job".to_string(), to: "n1".to_string() });
    cluster.advance_ms(20);
    let replies = cluster.take_replies(2, 2);
    let Some(Reply::Stop { office, token, .. }) = replies.last() else { panic!("{replies:?}") };
    cluster.request(2, 2, Request::Stopped { office: office.clone(), token: *token });
    cluster.advance_ms(50);
    assert_eq!(cluster.take_replies(2, 9), [Reply::Done]);
    let replies = cluster.take_replies(1, 1);
    assert!(is_mode_mismatch(&replies), "the client asked for the other mode: {replies:?}");
}

/// The last reply that says that a client holds `job`.
fn held(replies: &[Reply]) -> Option<&Lease> {
    let leases = replies.iter().filter_map(|reply| match reply {
        Reply::Held(lease) if lease.office == "job" => Some(lease),
        _ => None,
    });
    leases.last()
}

/// The mode of an office, as a node shows it.
fn mode(cluster: &mut TestCluster, node: u64, office: &str) -> Mode {
    cluster.request(node, 99, Request::Leader { office: office.to_string() });
    cluster.advance_ms(100);
    match cluster.take_replies(node, 99).pop() {
        Some(Reply::Office(status)) => status.mode,
        reply => panic!("{reply:?}"),
    }
}

/// Runs until the client of a node is granted `job`. Returns when that is.
fn granted_at(cluster: &mut TestCluster, node: u64, client: u64) -> Timestamp {
    for _ in 0..5_000 {
        if held(&cluster.take_replies(node, client)).is_some() {
            return cluster.now;
        }
        cluster.advance_ms(1);
    }
    panic!("the office is not granted");
}

const THREE: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Elector), (3, Role::Elector)];

/// Three nodes, of which node 1 considers `job` exclusive, and the others fenced, with leases of so many milliseconds.
fn three_nodes(leases_ms: [u64; 3]) -> TestCluster {
    let config = |node: u64| {
        let mode = if node == 1 { Mode::Exclusive } else { Mode::Fenced };
        let lease = Some(Duration::from_millis(leases_ms[node as usize - 1]));
        let policy = Policy { mode, lease, ..Policy::default() };
        Config { offices: vec![("job".to_string(), policy)], ..config(node, &THREE) }
    };
    TestCluster::new([1, 2, 3].map(config).to_vec())
}

/// Checks that all offices change their mode when all configurations have, with the office `job` vacant meanwhile.
fn check_change(from: Mode, to: Mode) {
    let with_mode = |node| {
        let config = config(node, &THREE);
        Config { default_policy: Policy { mode: from, ..config.default_policy }, ..config }
    };
    let mut cluster = TestCluster::new([1, 2, 3].map(with_mode).to_vec());
    cluster.campaign(3, 3, "job", Some(from));
    cluster.advance_ms(1_000);
    assert_eq!(mode(&mut cluster, 1, "job"), from);
    cluster.request(3, 3, Request::Withdraw { office: "job".to_string() });
    cluster.advance_ms(100);
    for node in [1, 2, 3] {
        cluster.change_config(node, |config| config.default_policy.mode = to);
        cluster.restart(node);
        cluster.advance_ms(1_000);
    }
    cluster.campaign(3, 3, "job", Some(to));
    let replies = cluster.take_replies(3, 3);
    assert_eq!(replies[0], Reply::Done);
    if held(&replies).is_none() {
        granted_at(&mut cluster, 3, 3);
    }
    cluster.advance_ms(1_000);
    // `leader` was hardly ever vacant, but all its holders were restarted.
    assert_eq!(["job", LEADER].map(|office| mode(&mut cluster, 1, office)), [to, to]);
}

#[test]
fn an_office_takes_the_mode_of_the_changed_configurations() {
    check_change(Mode::Fenced, Mode::Exclusive);
    check_change(Mode::Exclusive, Mode::Fenced);
}

#[test]
fn an_exclusive_grant_waits_for_the_client_of_a_fenced_one_that_vanished() {
    let mut cluster = three_nodes([300, 300, 300]);
    cluster.campaign(2, 2, "job", None);
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(2, 2);
    let lease = held(&replies).expect("the client of node 2 has it").lease;
    let renewals = replies.iter().filter_map(|reply| match reply {
        Reply::Renewed { from } => Some(*from),
        _ => None,
    });
    let deadline = renewals.last().expect("it was renewed") + lease;
    cluster.disconnect(2, 2);
    cluster.advance_ms(10);
    assert_eq!(cluster.token(2, "job"), None, "a fenced office is given up at once");
    cluster.campaign(1, 1, "job", Some(Mode::Exclusive));
    let granted = granted_at(&mut cluster, 1, 1);
    assert!(granted >= deadline, "the client of node 2 may act {:?} longer", deadline.since(granted));
}

#[test]
fn an_exclusive_grant_waits_for_a_lost_holder_of_a_fenced_one() {
    let mut cluster = three_nodes([300, 300, 300]);
    cluster.campaign(3, 3, "job", None);
    cluster.advance_ms(1_000);
    let lease = held(&cluster.take_replies(3, 3)).expect("the client of node 3 has it").lease;
    cluster.campaign(1, 1, "job", None);
    cluster.isolate(3);
    let isolated = cluster.now;
    let granted = granted_at(&mut cluster, 1, 1);
    assert!(granted >= isolated + lease, "node 3 may act for {lease:?}: {:?}", granted.since(isolated));
}

/// Not only the last of the fenced leases counts: node 3 has a long one, and node 2, which follows, a short one.
#[test]
fn an_exclusive_grant_waits_for_all_fenced_leases() {
    let mut cluster = three_nodes([300, 300, 3_000]);
    for node in [3, 2] {
        cluster.campaign(node, node, "job", None);
        cluster.advance_ms(1_000);
        let replies = cluster.take_replies(node, node);
        assert!(held(&replies).is_some(), "node {node}: {replies:?}");
        cluster.disconnect(node, node);
    }
    let vacant = cluster.now;
    cluster.campaign(1, 1, "job", None);
    let waited = granted_at(&mut cluster, 1, 1).since(vacant);
    assert!(waited >= Duration::from_millis(3_000), "{waited:?}");
    cluster.disconnect(1, 1);
    cluster.advance_ms(1_000);
    let vacant = cluster.now;
    cluster.campaign(1, 5, "job", None);
    let waited = granted_at(&mut cluster, 1, 5).since(vacant);
    assert!(waited < Duration::from_millis(500), "no fenced lease is left: {waited:?}");
}

/// The office may be one that the table has forgotten, with a fenced lease that is not over.
#[test]
fn a_new_exclusive_office_waits_for_the_leases_of_forgotten_ones() {
    for (lease_ms, waits) in [(0, false), (2_000, true)] {
        let roles = [(1, Role::Elector)];
        let forgotten_fenced = ForgottenFenced { index: 4, lease: Duration::from_millis(lease_ms) };
        let table = Table { forgotten_fenced, ..Table::with_members(&members(&roles)) };
        let mut cluster = TestCluster::with_disks(vec![(config(1, &roles), disk_with(&table, 5, &[]))]);
        let started = cluster.now;
        cluster.campaign(1, 1, "job", None);
        let waited = granted_at(&mut cluster, 1, 1).since(started);
        assert_eq!(waited >= Duration::from_millis(2_000), waits, "{waited:?}");
    }
}

/// A table that has no room, in which all offices are vacant and were fenced, and the index of its last entry.
fn full_table(roles: &[(u64, Role)]) -> (Table, u64) {
    let mut table = Table::with_members(&members(roles));
    for number in 0..MAX_OFFICES as u64 {
        let (office, token) = (format!("old-{number}"), 2 * number + 1);
        let grant = Command::Grant {
            office: office.as_str().into(),
            holder: Holder { id: Id(1), incarnation: 5 },
            expected_token: 0,
            mode: Mode::Fenced,
            terms: config(1, roles).timing.terms(),
            cause: ChangeReason::Vacant,
            pinned: false,
            unix_ms: 0,
        };
        let cause = ChangeReason::Resigned;
        let vacate = Command::Vacate { office: office.as_str().into(), token, cause, unix_ms: 0 };
        assert!(table.apply(token, grant) && table.apply(token + 1, vacate));
    }
    (table, 2 * MAX_OFFICES as u64)
}

/// Other offices are forgotten all the time. That does not concern one that was claimed before.
#[test]
fn a_new_exclusive_office_does_not_wait_for_those_that_are_forgotten_later() {
    let roles = [(1, Role::Elector)];
    let (table, index) = full_table(&roles);
    let mut config = config(1, &roles);
    config.offices = vec![("job".to_string(), config.default_policy)];
    config.default_policy.mode = Mode::Fenced;
    let lease = config.timing.lease;
    let mut cluster = TestCluster::with_disks(vec![(config, disk_with(&table, index, &[]))]);
    let mut claimed = None;
    for number in 0..40 {
        let (office, client) = (format!("new-{number}"), 100 + number);
        cluster.campaign(1, client, &office, None);
        cluster.advance_ms(90);
        assert!(cluster.token(1, &office).is_some(), "{office}");
        cluster.disconnect(1, client);
        cluster.advance_ms(10);
        if number == 5 {
            cluster.campaign(1, 1, "job", None);
            claimed = Some(cluster.now);
        }
        if let Some(claimed) = claimed.filter(|_| cluster.token(1, "job").is_some()) {
            let waited = cluster.now.since(claimed);
            assert!((lease..2 * lease).contains(&waited), "{waited:?}");
            return;
        }
    }
    panic!("the office is never granted");
}
