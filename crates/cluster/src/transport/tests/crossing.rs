//! Two connections of one pair: which of them stays.

use std::net::{Shutdown, TcpListener};

use super::raw::{Raw, hello};
use super::refusals::lonely;
use super::*;
use crate::transport::hello::Hello;
use crate::transport::link::Stage;

#[test]
fn a_second_connection_of_a_peer_that_lost_the_first_replaces_it_and_an_older_one_does_not() {
    let mut world = lonely(Limits::default());
    let mut first = Raw::established(&mut world, 1, 2);
    let identity = identity_for(&member(2), time::Duration::DAY);
    let mut older = Raw::dial(&world, 1, &identity);
    older.hello(CLUSTER, 2, (1 << 40) - 1);
    world.until("the older is closed", |_| {
        first.pump();
        older.pump();
        older.ended
    });
    assert_eq!((world.node(1).ups_and_downs(2), first.ended), ((1, 0), false));
    let mut newer = Raw::dial(&world, 1, &identity);
    newer.hello(CLUSTER, 2, (1 << 40) + 1);
    world.until("the newer replaces it", |world| {
        first.pump();
        newer.pump();
        first.ended && world.node(1).ups_and_downs(2) == (2, 1)
    });
    assert_eq!(world.node(1).why_down(2), Some(Ended::Replaced));
    assert!(matches!(world.node(1).events.as_slice(), [Event::Up { .. }, Event::Down { .. }, Event::Up { .. }]));
    // A new process counts from one again.
    let mut reborn = Raw::dial(&world, 1, &identity);
    reborn.frame(&Hello { incarnation: 77, ..hello(CLUSTER, 2, 1) }.encode());
    world.until("the new incarnation replaces it", |world| {
        newer.pump();
        reborn.pump();
        newer.ended && world.node(1).ups_and_downs(2) == (3, 2)
    });
    assert_eq!(world.node(1).events.last(), Some(&Event::Up { peer: Id(2), incarnation: 77 }));
}

#[test]
fn a_new_life_replaces_a_connection_whose_end_was_never_noticed() {
    let mut world = World::connected(2, Limits::default());
    // The old process keeps its sockets and says nothing: as a host that lost its power.
    let old = world.nodes[1].take().expect("it was started");
    world.addresses[1] = "127.0.0.1:0".to_owned();
    world.start_alone(2, identity_for(&member(2), time::Duration::DAY));
    let (members, now) = (world.members(), world.clock.now());
    let node = world.node_mut(2);
    node.transport.set_members(&members, now, &mut node.events);
    world.until("the new one is up", |world| world.node(1).ups_and_downs(2) == (2, 1) && world.node(2).is_up(1));
    assert_eq!(world.node(1).why_down(2), Some(Ended::Replaced));
    drop(old);
}

/// Node 1 has dialled member 2, which took the call and says nothing; and member 2 has dialled node 1. Since node 1 has
/// the smaller id it waits for its own call. The one who took it, and the one who dialled.
fn waiting() -> (World, std::net::TcpStream, Raw) {
    let mut world = World::new(1, Limits::default());
    let mute = TcpListener::bind("127.0.0.1:0").expect("there is a free port");
    mute.set_nonblocking(true).expect("it is a socket");
    let address = mute.local_addr().expect("it listens").to_string();
    let now = world.clock.now();
    let node = world.node_mut(1);
    node.transport.set_members(&[member(1), Member { address, ..member(2) }], now, &mut Vec::new());
    let mut taken = None;
    world.until("the call is taken", |world| {
        taken = taken.take().or_else(|| mute.accept().ok());
        taken.is_some() && world.node(1).transport.slots.iter().any(|link| link.stage == Stage::Greeting)
    });
    let (taken, _) = taken.expect("it was waited for");
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.hello(CLUSTER, 2, 1);
    world.until("it waits", |world| {
        raw.pump();
        world.node(1).transport.slots.iter().any(|link| link.stage == Stage::Parked)
    });
    assert!(raw.heard.is_empty() && !world.node(1).is_up(2));
    (world, taken, raw)
}

#[test]
fn if_the_own_call_fails_the_one_that_waits_is_taken() {
    let (mut world, taken, mut raw) = waiting();
    drop(taken);
    world.until("it is taken", |world| {
        raw.pump();
        world.node(1).is_up(2) && !raw.heard.is_empty()
    });
    assert_eq!((world.node(1).ups_and_downs(2), world.node(1).links()), ((1, 0), 1));
}

#[test]
fn one_that_waits_may_not_speak() {
    let (mut world, _taken, mut raw) = waiting();
    raw.frame(b"impatient");
    world.until("it is refused", |world| {
        raw.pump();
        raw.ended && world.node(1).counters().refused(Ended::Garbage) == 1
    });
    assert!(world.node(1).events.is_empty());
}

#[test]
fn of_those_that_wait_only_the_last_stays() {
    let (mut world, _taken, mut first) = waiting();
    let identity = identity_for(&member(2), time::Duration::DAY);
    let mut others: Vec<_> = (2..12).map(|turn| (Raw::dial(&world, 1, &identity), turn)).collect();
    others.iter_mut().for_each(|(raw, turn)| raw.hello(CLUSTER, 2, *turn));
    world.until("all but one are closed", |world| {
        first.pump();
        others.iter_mut().for_each(|(raw, _)| raw.pump());
        first.ended && world.node(1).counters().refused(Ended::Replaced) == 10
    });
    assert_eq!(world.node(1).links(), 2);
}

/// Nothing can be written any more, and no end can be read.
#[test]
fn a_connection_that_takes_nothing_is_an_end_too() {
    let mut world = World::connected(2, Limits::default());
    let slot = world.node(1).transport.peers.get(Id(2)).and_then(|peer| peer.link).expect("they are connected");
    let link = world.node_mut(1).transport.slots.get_mut(slot).expect("they are connected");
    link.socket().shutdown(Shutdown::Write).expect("it is a socket");
    world.say(1, 2, b"hello?");
    assert_eq!(world.node(1).why_down(2), Some(Ended::Reset));
}
