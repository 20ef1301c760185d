//! Programs never get an office of another kind than they asked for.

use hustings_cluster::api::{Cause, Reply, Request};
use hustings_cluster::config::{Mode, Policy};
use hustings_cluster::member::Role;

use crate::harness::{TestCluster, config};

/// Two nodes whose configurations differ: `job` is exclusive on the first, and fenced on the second, which is better.
/// A program on each campaigns for it as its node's configuration has it, before anything is granted.
fn cluster_with_different_modes() -> TestCluster {
    let roles = [(1, Role::Elector), (2, Role::Elector)];
    let mut other = config(2, &roles);
    other.offices = vec![("job".to_string(), Policy { mode: Mode::Fenced, ..Policy::default() })];
    let mut cluster = TestCluster::new(vec![config(1, &roles), other]);
    cluster.campaign(1, 1, "job", Some(Mode::Exclusive));
    cluster.campaign(2, 2, "job", Some(Mode::Fenced));
    assert_eq!((cluster.take_replies(1, 1), cluster.take_replies(2, 2)), (vec![Reply::Done], vec![Reply::Done]));
    cluster.advance_ms(1_000);
    assert!(matches!(cluster.take_replies(2, 2)[0], Reply::Held(_)), "the better node's program has it");
    cluster
}

/// What a program was told of an office that it could not have.
fn is_mode_mismatch(replies: &[Reply]) -> bool {
    matches!(replies, [Reply::Lost { office, why: Cause::OtherMode, .. }] if office == "job")
}

#[test]
fn an_office_of_the_other_kind_goes_to_the_next_program_that_takes_it() {
    let mut cluster = cluster_with_different_modes();
    cluster.campaign(1, 3, "job", None);
    assert_eq!(cluster.take_replies(1, 3), [Reply::Done]);
    cluster.request(2, 2, Request::Withdraw { office: "job".to_string() });
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(1, 1);
    assert!(is_mode_mismatch(&replies), "{replies:?}");
    let replies = cluster.take_replies(1, 3);
    assert!(matches!(&replies[0], Reply::Held(holding) if holding.office == "job"), "{replies:?}");
    assert!(replies[1..].iter().all(|reply| matches!(reply, Reply::Renewed(_))), "{replies:?}");
}

#[test]
fn an_office_of_the_other_kind_is_given_back_if_no_program_takes_it() {
    let mut cluster = cluster_with_different_modes();
    cluster.request(2, 2, Request::Withdraw { office: "job".to_string() });
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(1, 1);
    assert!(is_mode_mismatch(&replies), "{replies:?}");
    assert_eq!(cluster.token(1, "job"), None, "it was given back");
    cluster.request(1, 9, Request::History { office: Some("job".to_string()) });
    let replies = cluster.take_replies(1, 9);
    let [Reply::History { changes }] = &replies[..] else { panic!("{replies:?}") };
    assert!(changes.len() <= 4, "and not granted again and again: {changes:?}");
    // Its campaign is over: it is refused if it asks again, and it gets what it asks for without that wish.
    cluster.campaign(1, 1, "job", Some(Mode::Exclusive));
    assert_eq!(cluster.take_refusal_code(1, 1), Some("other-mode".to_string()));
    cluster.campaign(1, 1, "job", None);
    cluster.advance_ms(1_000);
    let replies = cluster.take_replies(1, 1);
    assert!(matches!(replies[1], Reply::Held(_)), "{replies:?}");
}
