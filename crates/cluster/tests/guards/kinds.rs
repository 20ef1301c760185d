//! Programs never get an office of another kind than they asked for.

use hustings_cluster::api::{Cause, Reply, Request};
use hustings_cluster::config::{Mode, Policy};
use hustings_cluster::member::Role;

use crate::town::{Town, config};

/// Two nodes whose configurations differ: `job` is exclusive on the first, and fenced on the second, which is better.
/// A program on each campaigns for it as its node's configuration has it, before anything is granted.
fn at_odds() -> Town {
    let roles = [(1, Role::Elector), (2, Role::Elector)];
    let mut other = config(2, &roles);
    other.offices = vec![("job".to_string(), Policy { mode: Mode::Fenced, ..Policy::default() })];
    let mut town = Town::new(vec![config(1, &roles), other]);
    town.campaign(1, 1, "job", Some(Mode::Exclusive));
    town.campaign(2, 2, "job", Some(Mode::Fenced));
    assert_eq!((town.told(1, 1), town.told(2, 2)), (vec![Reply::Done], vec![Reply::Done]));
    town.pass(1_000);
    assert!(matches!(town.told(2, 2)[0], Reply::Held(_)), "the better node's program has it");
    town
}

/// What a program was told of an office that it could not have.
fn is_told_so(told: &[Reply]) -> bool {
    matches!(told, [Reply::Lost { office, why: Cause::OtherMode, .. }] if office == "job")
}

#[test]
fn an_office_of_the_other_kind_goes_to_the_next_program_that_takes_it() {
    let mut town = at_odds();
    town.campaign(1, 3, "job", None);
    assert_eq!(town.told(1, 3), [Reply::Done]);
    town.ask(2, 2, Request::Withdraw { office: "job".to_string() });
    town.pass(1_000);
    let told = town.told(1, 1);
    assert!(is_told_so(&told), "{told:?}");
    let told = town.told(1, 3);
    assert!(matches!(&told[0], Reply::Held(holding) if holding.office == "job"), "{told:?}");
    assert!(told[1..].iter().all(|reply| matches!(reply, Reply::Renewed(_))), "{told:?}");
}

#[test]
fn an_office_of_the_other_kind_is_given_back_if_no_program_takes_it() {
    let mut town = at_odds();
    town.ask(2, 2, Request::Withdraw { office: "job".to_string() });
    town.pass(1_000);
    let told = town.told(1, 1);
    assert!(is_told_so(&told), "{told:?}");
    assert_eq!(town.token(1, "job"), None, "it was given back");
    town.ask(1, 9, Request::History { office: Some("job".to_string()) });
    let told = town.told(1, 9);
    let [Reply::History { changes }] = &told[..] else { panic!("{told:?}") };
    assert!(changes.len() <= 4, "and not granted again and again: {changes:?}");
    // Its campaign is over: it is refused if it asks again, and it gets what it asks for without that wish.
    town.campaign(1, 1, "job", Some(Mode::Exclusive));
    assert_eq!(town.refused(1, 1), Some("other-mode".to_string()));
    town.campaign(1, 1, "job", None);
    town.pass(1_000);
    let told = town.told(1, 1);
    assert!(matches!(told[1], Reply::Held(_)), "{told:?}");
}
