//! Clients never get an office in another mode than they asked for.

use super::harness::{TestCluster, config};
use crate::api::{ChangeReason, Reply, Request};
use crate::config::{Mode, Policy};
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
fn an_office_of_another_mode_goes_to_the_next_client_that_accepts_it() {
    let mut cluster = cluster_with_different_modes();
    cluster.campaign(1, 3, "job", None);
    assert_eq!(cluster.take_replies(1, 3), [Reply::Done]);
    cluster.request(2, 2, Request::Withdraw { office: "job".to_string() });
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(1, 1);
    assert!(is_mode_mismatch(&replies), "{replies:?}");
    let replies = cluster.take_replies(1, 3);
    assert!(matches!(&replies[0], Reply::Held(holding) if holding.office == "job"), "{replies:?}");
    assert!(replies[1..].iter().all(|reply| matches!(reply, Reply::Renewed { .. })), "{replies:?}");
}

#[test]
fn an_office_of_another_mode_is_given_back_if_no_client_accepts_it() {
    let mut cluster = cluster_with_different_modes();
    cluster.request(2, 2, Request::Withdraw { office: "job".to_string() });
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(1, 1);
    assert!(is_mode_mismatch(&replies), "{replies:?}");
    assert_eq!(cluster.token(1, "job"), None, "the office was given back");
    cluster.request(1, 9, Request::History { office: Some("job".to_string()) });
    let replies = cluster.take_replies(1, 9);
    let [Reply::History { changes }] = &replies[..] else { panic!("{replies:?}") };
    assert!(changes.len() <= 4, "the office is not granted again and again: {changes:?}");
    // The campaign is over. The same request is now refused, and a request without a mode gets the office.
    cluster.campaign(1, 1, "job", Some(Mode::Exclusive));
    assert_eq!(cluster.take_refusal_code(1, 1), Some("other-mode".to_string()));
    cluster.campaign(1, 1, "job", None);
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(1, 1);
    assert!(matches!(replies[1], Reply::Held(_)), "{replies:?}");
}
