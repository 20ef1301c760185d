//! Which of two connections between the same members stays.

use std::io::Write;
use std::net::{Shutdown, TcpListener, TcpStream};
use std::sync::atomic::Ordering::SeqCst;

use super::raw::{Raw, hello};
use super::rejections::single_node;
use super::*;
use crate::transport::hello::Hello;
use crate::transport::link::Stage;

#[test]
fn a_newer_connection_replaces_the_established_one_and_an_older_one_does_not() {
    let mut world = single_node(Limits::default());
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
    assert_eq!(world.node(1).down_reason(2), Some(CloseReason::Replaced));
    assert!(matches!(world.node(1).events.as_slice(), [Event::Up { .. }, Event::Down { .. }, Event::Up { .. }]));
    // A new process counts from one again.
    let mut reborn = Raw::dial(&world, 1, &identity);
    reborn.frame(&Hello { incarnation: 77, ..hello(CLUSTER, 2, 1) }.encode());
    world.until("the new incarnation replaces it", |world| {
        newer.pump();
        reborn.pump();
        newer.ended && world.node(1).ups_and_downs(2) == (3, 2)
    });
    let last = world.node(1).events.last();
    assert!(matches!(last, Some(Event::Up { peer: Id(2), incarnation: 77, .. })), "{last:?}");
}

#[test]
fn a_new_incarnation_replaces_a_dead_connection() {
    let mut world = World::connected(2, Limits::default());
    // The old process keeps its sockets open and sends nothing, like a host that lost power.
    let old = world.nodes[1].take().expect("it was started");
    world.addresses[1] = "127.0.0.1:0".to_owned();
    world.start_alone(2, identity_for(&member(2), time::Duration::DAY));
    let (members, now) = (world.members(), world.clock.now());
    let node = world.node_mut(2);
    node.transport.set_members(&members, now, &mut node.events);
    world.until("the new one is up", |world| world.node(1).ups_and_downs(2) == (2, 1) && world.node(2).is_up(1));
    assert_eq!(world.node(1).down_reason(2), Some(CloseReason::Replaced));
    drop(old);
}

/// Node 1 has dialled member 2, which accepted and sends nothing. Returns what member 2 accepted.
fn dialling() -> (World, TcpStream) {
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
    (world, taken)
}

/// Besides, member 2 has dialled node 1, which has the smaller id and therefore waits for its own attempt. Returns both
/// connections.
fn waiting() -> (World, TcpStream, Raw) {
    let (mut world, taken) = dialling();
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.hello(CLUSTER, 2, 1);
    world.until("it waits", |world| {
        raw.pump();
        world.node(1).transport.slots.iter().any(|link| link.stage == Stage::Parked)
    });
    assert!(raw.heard.is_empty() && !world.node(1).is_up(2));
    (world, taken, raw)
}

/// Both connections come back from the thread of handshakes at the same time, the incoming one first. It must not be
/// taken just because the own attempt is not in its slot at that moment.
#[test]
fn an_incoming_connection_waits_for_an_own_attempt_that_comes_back_with_it() {
    let (mut world, mut taken) = dialling();
    let gates = world.node(1).transport.handshakes.gates.clone();
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    raw.hello(CLUSTER, 2, 1);
    // The last pump has read the node's part of the handshake, and has not answered.
    world.until("only the peer's last part is missing", |_| {
        raw.pump();
        !raw.tls.is_handshaking()
    });
    let before = gates.returned.load(SeqCst);
    let held = gates.before.lock().expect("nothing panics while it is locked");
    raw.pump();
    taken.write_all(&[22]).expect("the beginning of a TLS record");
    world.until("both are with the thread", |world| world.node(1).transport.handshakes.away() == 2);
    drop(held);
    while gates.returned.load(SeqCst) < before + 2 {
        std::thread::yield_now();
    }
    world.step();
    let stages: Vec<Stage> = world.node(1).transport.slots.iter().map(|link| link.stage).collect();
    assert!(stages.contains(&Stage::Parked) && !world.node(1).is_up(2), "{stages:?}");
}

#[test]
fn the_parked_connection_is_used_if_the_own_attempt_fails() {
    let (mut world, taken, mut raw) = waiting();
    drop(taken);
    world.until("it is taken", |world| {
        raw.pump();
        world.node(1).is_up(2) && !raw.heard.is_empty()
    });
    assert_eq!((world.node(1).ups_and_downs(2), world.node(1).links()), ((1, 0), 1));
}

#[test]
fn a_parked_connection_must_not_send_frames() {
    let (mut world, _taken, mut raw) = waiting();
    raw.frame(b"impatient");
    world.until("it is rejected", |world| {
        raw.pump();
        raw.ended && world.node(1).counters().rejected(CloseReason::Malformed) == 1
    });
    assert!(world.node(1).events.is_empty());
}

#[test]
fn only_the_last_parked_connection_stays() {
    let (mut world, _taken, mut first) = waiting();
    let identity = identity_for(&member(2), time::Duration::DAY);
    let mut others: Vec<_> = (2..12).map(|sequence| (Raw::dial(&world, 1, &identity), sequence)).collect();
    others.iter_mut().for_each(|(raw, sequence)| raw.hello(CLUSTER, 2, *sequence));
    world.until("all but one are closed", |world| {
        first.pump();
        others.iter_mut().for_each(|(raw, _)| raw.pump());
        first.ended && world.node(1).counters().rejected(CloseReason::Replaced) == 10
    });
    assert_eq!(world.node(1).links(), 2);
}

/// Writing fails although no end can be read.
#[test]
fn a_failed_write_closes_the_connection() {
    let mut world = World::connected(2, Limits::default());
    let slot = world.node(1).transport.peers.get(Id(2)).and_then(|peer| peer.link).expect("they are connected");
    let link = world.node_mut(1).transport.slots.get_mut(slot).expect("they are connected");
    link.socket().shutdown(Shutdown::Write).expect("it is a socket");
    world.send(1, 2, b"hello?");
    assert_eq!(world.node(1).down_reason(2), Some(CloseReason::Reset));
}
