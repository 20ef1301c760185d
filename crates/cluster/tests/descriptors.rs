//! A host that is out of file descriptors. A process of its own, since the limit is for all of it: one test, no more.

use std::fs::File;
use std::net::TcpStream;
use std::time::Duration;

use hustings_cluster::clock::{Clock, Moment};
use hustings_cluster::identity::{Authority, Identity};
use hustings_cluster::member::{Member, Role};
use hustings_cluster::transport::{Limits, Settings, Transport};
use hustings_protocol::Id;
use mio::{Events, Poll};
use rustix::process::{Resource, getrlimit, setrlimit};

/// Drives a node for a while: how many times it woke up.
fn drive(poll: &mut Poll, node: &mut Transport, time: Duration, done: impl Fn(&Transport) -> bool) -> usize {
    let (clock, mut events, mut out) = (Clock::new(), Events::with_capacity(64), Vec::new());
    let end = clock.now() + time;
    let mut wakes = 0;
    while clock.now() < end && !done(node) {
        let due: Moment = node.next_tick().min(end);
        poll.poll(&mut events, Some(due.since(clock.now()) + Duration::from_micros(100))).expect("the system can poll");
        wakes += 1;
        events.iter().for_each(|event| node.ready(event, clock.now(), &mut out));
        node.tick(clock.now(), &mut out);
        node.flush(clock.now(), &mut out);
    }
    wakes
}

#[test]
fn a_node_out_of_descriptors_neither_spins_nor_forgets_who_waits() {
    let own = Member { id: Id(1), name: "a".into(), address: String::new(), priority: 0, role: Role::Elector };
    let (authority, kept) = Authority::create("town", time::Duration::DAY).expect("an authority can be made");
    let issued = authority.issue("town", &own, time::Duration::DAY).expect("it can sign");
    let identity = Identity::from_pem(&kept.certificate, &issued.certificate, &issued.key, "town");
    let settings = Settings {
        own: Id(1),
        incarnation: 1,
        listen: "127.0.0.1:0".to_owned(),
        limits: Limits::default(),
        identity: identity.expect("what was issued is in order"),
    };
    let mut poll = Poll::new().expect("the system can poll");
    let node = Transport::bind(settings, &[own], poll.registry(), 0..100, Clock::new().now());
    let mut node = node.expect("there is a free port");

    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(64);
    setrlimit(Resource::Nofile, limit).expect("it may be lowered");
    let caller = TcpStream::connect(node.local_addr()).expect("the node listens");
    let mut hoard = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        hoard.push(file);
    }

    let wakes = drive(&mut poll, &mut node, Duration::from_millis(500), |_| false);
    let failures = node.counters().accept_failures;
    assert_eq!(node.counters().accepted, 0);
    assert!((2..=6).contains(&failures) && wakes < 30, "{failures} failures, {wakes} wakes");
    drop(hoard);
    drive(&mut poll, &mut node, Duration::from_secs(10), |node| node.counters().accepted == 1);
    assert_eq!(node.counters().accepted, 1, "the caller waited at the listener, and no event told of it again");
    drop(caller);
}
