//! What belongs to an earlier start of a node, or to another disk, does not count for this one.

use hustings_cluster::member::Role;
use hustings_cluster::wire::{Candidacy, Follow, Heartbeat, Message};
use hustings_protocol::Id;

use crate::town::{Town, config, incarnation};

const ROLES: [(u64, Role); 3] = [(1, Role::Elector), (2, Role::Observer), (3, Role::Observer)];

/// Node 1 decides alone; nodes 2 and 3, which the test plays, are connected.
fn lone_voter() -> Town {
    let mut town = Town::new(vec![config(1, &ROLES)]);
    town.pass(100);
    town.act(1, |core, now| core.up(Id(2), 7, now));
    town.act(1, |core, now| core.up(Id(3), 9, now));
    town
}

/// Node 2 answers the last round that it was sent, with this number of its own.
fn answer(town: &mut Town, number: u64) {
    let lead = town.last_lead(1, 2);
    let follow = Follow { term: lead.term, round: lead.round, applied: u64::MAX };
    town.say(2, 1, Message::Heartbeat(Heartbeat { number, lead: None, follow: Some(follow) }));
    town.pass(60);
}

#[test]
fn what_is_confirmed_is_confirmed_to_one_life_only() {
    let mut town = lone_voter();
    answer(&mut town, 5);
    assert_eq!(town.last_lead(1, 2).confirmed, 5);
    town.act(1, |core, now| core.down(Id(2), now));
    town.act(1, |core, now| core.up(Id(2), 8, now));
    // Its fifth heartbeat is one that it has not sent yet: it would count its lease from then.
    assert_eq!(town.last_lead(1, 2).confirmed, 0, "the new incarnation has answered nothing");
    answer(&mut town, 1);
    assert_eq!(town.last_lead(1, 2).confirmed, 1);
}

#[test]
fn what_is_relayed_counts_for_the_life_that_said_it() {
    let mut town = lone_voter();
    let says = |incarnation| {
        let bytes = Message::Prepare { office: "leader".to_string() }.encode();
        Message::Relay { from: Id(2), incarnation, to: Id(1), bytes }
    };
    let answers = |town: &mut Town| {
        let sent = std::mem::take(&mut town.node(1).sent);
        let answers = sent.into_iter().filter_map(|(_, message)| match message {
            Message::Prepared { .. } => Some(None),
            Message::Relay { from: Id(1), incarnation, to: Id(2), bytes } => {
                matches!(Message::decode(&bytes), Ok(Message::Prepared { .. })).then_some(Some(incarnation))
            }
            _ => None,
        });
        answers.collect::<Vec<_>>()
    };
    town.say(3, 1, says(6));
    assert_eq!(answers(&mut town), [], "that incarnation of node 2 is over");
    town.say(3, 1, says(7));
    assert_eq!(answers(&mut town), [None]);
    // Without a connection the answer is relayed, too, and says which incarnation of node 1 gives it.
    town.act(1, |core, now| core.down(Id(2), now));
    town.say(3, 1, says(7));
    assert_eq!(answers(&mut town), [Some(incarnation(1))]);
}

#[test]
fn who_passes_something_on_does_not_change_whose_life_it_is() {
    let mut town = lone_voter();
    let relay = Message::Relay { from: Id(2), incarnation: 6, to: Id(3), bytes: Message::Farewell.encode() };
    town.say(2, 1, relay.clone());
    assert!(town.node(1).sent.contains(&(Id(3), relay)));
}

#[test]
fn a_disk_that_is_the_known_one_again_is_trusted_again() {
    let mut town = lone_voter();
    let candidacy =
        |incarnation, store| Candidacy { incarnation, store, health: 100, waits_us: 0, offices: Vec::new() };
    town.say(2, 1, Message::Candidacy(candidacy(7, 22)));
    town.pass(100);
    // Another start, with another disk: what it answers proves nothing.
    town.act(1, |core, now| core.up(Id(2), 8, now));
    town.say(2, 1, Message::Candidacy(candidacy(8, 33)));
    assert!(town.node(1).sent.contains(&(Id(2), Message::Unknown)));
    answer(&mut town, 3);
    assert_eq!(town.last_lead(1, 2).confirmed, 0);
    // The right disk is back.
    town.act(1, |core, now| core.up(Id(2), 10, now));
    town.say(2, 1, Message::Candidacy(candidacy(10, 22)));
    answer(&mut town, 4);
    assert_eq!(town.last_lead(1, 2).confirmed, 4);
}
