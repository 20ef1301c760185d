//! What a node holds for programs, and when it stops.

use hustings_cluster::api::{Reply, Request};
use hustings_cluster::core::Exit;
use hustings_cluster::member::Role;
use hustings_cluster::wire::Message;
use hustings_protocol::Id;

use crate::town::{Town, config};

const ROLES: [(u64, Role); 2] = [(1, Role::Elector), (2, Role::Observer)];

/// Node 1 decides alone, and holds `job` for its program 1. Returns with which token.
fn holding_job() -> (Town, u64) {
    let mut town = Town::new(vec![config(1, &ROLES)]);
    town.campaign(1, 1, "job", None);
    town.pass(500);
    let token = town.token(1, "job").expect("nobody else wants it");
    town.told(1, 1);
    (town, token)
}

fn stopped(token: u64) -> Request {
    Request::Stopped { office: "job".to_string(), token }
}

/// Whether a program was told that it holds `job` with this token.
fn may_act(told: &[Reply], token: u64) -> bool {
    told.iter().any(|reply| matches!(reply, Reply::Held(one) | Reply::Renewed(one) if one.token == token))
}

#[test]
fn only_who_holds_nothing_says_farewell() {
    let says_farewell = |role: Role| {
        let mut town = Town::new(vec![config(1, &[(1, role), (2, Role::Observer)])]);
        town.act(1, |core, now| core.up(Id(2), 7, now));
        // Node 2 is heard now and then, so that there is a connection to it.
        for _ in 0..10 {
            town.pass(50);
            town.say(2, 1, Message::Prepare { office: "leader".to_string() });
        }
        assert_eq!(town.token(1, "leader").is_some(), role == Role::Elector);
        // Nobody is there to hand anything over to.
        town.act(1, |core, now| core.leave(now));
        assert_eq!(town.node(1).exit, Some(Exit::Left));
        town.node(1).sent.contains(&(Id(2), Message::Farewell))
    };
    assert!(says_farewell(Role::Witness), "it never holds anything");
    assert!(!says_farewell(Role::Elector), "somebody may still act for what it holds");
}

#[test]
fn what_has_stopped_never_goes_on_with_the_same_token() {
    let (mut town, token) = holding_job();
    town.node(1).is_disk_stuck = true;
    town.ask(1, 1, stopped(token));
    town.ask(1, 1, Request::Campaign { office: "job".to_string(), mode: None });
    town.pass(1_000);
    let told = town.told(1, 1);
    assert!(!may_act(&told, token), "the next grant may be on its way: {told:?}");
    // Nor does another program go on with it, when the first has withdrawn.
    town.ask(1, 1, Request::Withdraw { office: "job".to_string() });
    town.campaign(1, 2, "job", None);
    town.pass(1_000);
    let told = town.told(1, 2);
    assert!(!may_act(&told, token), "{told:?}");
    town.write(1);
    town.pass(500);
    let next = town.token(1, "job").expect("it is granted anew");
    assert!(next > token && may_act(&town.told(1, 2), next), "{next} after {token}");
}

#[test]
fn no_program_stops_another_ones_work() {
    let (mut town, token) = holding_job();
    town.campaign(1, 2, "job", None);
    town.ask(1, 2, stopped(token));
    town.pass(500);
    assert_eq!(town.token(1, "job"), Some(token));
    assert!(may_act(&town.told(1, 1), token), "it goes on");
    town.ask(1, 1, stopped(token));
    town.pass(500);
    assert_ne!(town.token(1, "job"), Some(token), "the holder itself can stop");
}
