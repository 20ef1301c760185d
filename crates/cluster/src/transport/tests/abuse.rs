//! Malicious and broken peers: memory and time are bounded, and other connections are not affected.

use std::io::{Read, Write};
use std::net::TcpStream;

use super::raw::Raw;
use super::rejections::single_node;
use super::*;

/// The thread of handshakes does nothing while this is held.
fn hold(gate: &std::sync::Mutex<()>) -> std::sync::MutexGuard<'_, ()> {
    gate.lock().expect("nothing panics while it is locked")
}

/// Heartbeats do not wait for handshakes of strangers, however long these take.
#[test]
fn handshakes_are_not_made_on_the_thread_that_sends_heartbeats() {
    let limits = Limits { handshake: TIMEOUT, ..Limits::default() };
    let mut world = World::connected(2, limits);
    let gates = world.node(1).transport.handshakes.gates.clone();
    let held = hold(&gates.before);
    let identity = identity_for(&member(3), time::Duration::DAY);
    let mut crowd: Vec<Raw> = (0..50).map(|_| Raw::dial(&world, 1, &identity)).collect();
    world.until("all have begun", |world| {
        crowd.iter_mut().for_each(Raw::pump);
        world.node(1).counters().accepted >= 50
    });
    for round in 0..20 {
        exchange(&mut world, round);
        crowd.iter_mut().for_each(Raw::pump);
    }
    assert_eq!(world.node(1).links(), 1 + limits.unauthenticated, "those with the thread count, too");
    assert!(crowd.iter().all(|raw| raw.tls.is_handshaking()), "a handshake was made meanwhile");
    assert!(world.node(1).transport.next_tick() > world.clock.now(), "to wait for the thread does not spin");
    drop(held);
    world.until("all that were not displaced are through", |_| {
        crowd.iter_mut().for_each(Raw::pump);
        crowd.iter().filter(|raw| !raw.tls.is_handshaking()).count() == limits.unauthenticated
    });
    assert_eq!(world.node(1).ups_and_downs(2), (1, 0));
}

/// What arrives after the thread has looked, and before the connection is back in its slot, is read as well.
#[test]
fn what_arrives_while_a_connection_is_with_the_thread_is_not_lost() {
    let mut world = single_node(Limits::default());
    let gates = world.node(1).transport.handshakes.gates.clone();
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    let mut hello = Vec::new();
    raw.tls.write_tls(&mut hello).expect("memory takes everything");
    let held = hold(&gates.after);
    raw.socket.write_all(&hello[..20]).expect("that fits into the socket");
    world.until("the thread has seen the beginning", |_| gates.steps.load(std::sync::atomic::Ordering::SeqCst) == 1);
    raw.socket.write_all(&hello[20..]).expect("that fits into the socket");
    world.step();
    drop(held);
    world.until("the handshake is through", |_| {
        raw.pump();
        !raw.tls.is_handshaking()
    });
}

/// This node's own attempts do not wait for strangers, and neither do members.
#[test]
fn members_shake_hands_before_strangers() {
    let mut world = World::connected(2, Limits { handshake: TIMEOUT, ..Limits::default() });
    let gates = world.node(1).transport.handshakes.gates.clone();
    let held = hold(&gates.before);
    let identity = identity_for(&member(3), time::Duration::DAY);
    let mut crowd: Vec<Raw> = (0..8).map(|_| Raw::dial(&world, 1, &identity)).collect();
    world.until("six wait behind two", |world| {
        crowd.iter_mut().for_each(Raw::pump);
        world.node(1).transport.slots.iter().filter(|link| link.waits).count() == 6
    });
    let transport = &mut world.node_mut(1).transport;
    let waiting: Vec<usize> = transport.slots.numbered().filter(|(_, link)| link.waits).map(|(slot, _)| slot).collect();
    for (place, slot) in waiting.iter().enumerate() {
        let link = transport.slots.get_mut(*slot).expect("it waits");
        (link.host, link.since) = (std::net::IpAddr::from([10, 0, 0, 1]), Timestamp(100 - place as u64));
    }
    assert_eq!(transport.next_handshake(), Some(waiting[5]), "the oldest of the strangers");
    transport.slots.get_mut(waiting[2]).expect("it waits").host = std::net::IpAddr::from([127, 0, 0, 1]);
    assert_eq!(transport.next_handshake(), Some(waiting[2]), "one from a member's address");
    transport.slots.get_mut(waiting[0]).expect("it waits").dialled = true;
    assert_eq!(transport.next_handshake(), Some(waiting[0]), "this node's own attempt");
    drop(held);
}

/// Strangers who send a few bytes at a time, so that there is always more to read, do not keep the thread to
/// themselves.
#[test]
fn who_drips_waits_for_its_turn() {
    let mut world = single_node(Limits { handshake: TIMEOUT, ..Limits::default() });
    let gates = world.node(1).transport.handshakes.gates.clone();
    let held = hold(&gates.before);
    let identity = identity_for(&member(2), time::Duration::DAY);
    let mut drips: Vec<Raw> = (0..2).map(|_| Raw::dial(&world, 1, &identity)).collect();
    for raw in &mut drips {
        raw.socket.write_all(&[22]).expect("the beginning of a TLS record");
    }
    world.until("both are with the thread", |world| world.node(1).transport.handshakes.away() == 2);
    let mut member = Raw::dial(&world, 1, &identity);
    world.until("another one waits", |world| {
        member.pump();
        world.node(1).transport.slots.iter().any(|link| link.waits)
    });
    let transport = &mut world.node_mut(1).transport;
    let slot = transport.next_handshake().expect("it waits");
    // The oldest comes first.
    transport.slots.get_mut(slot).expect("it waits").since.0 -= 1_000_000_000;
    for raw in &mut drips {
        raw.socket.write_all(&[3]).expect("more of it");
    }
    world.until("that is noticed", |world| world.node(1).transport.handshakes.ready() == 2);
    drop(held);
    while gates.returned.load(std::sync::atomic::Ordering::SeqCst) < 2 {
        std::thread::yield_now();
    }
    let _held = hold(&gates.before);
    world.until("they are taken back", |world| world.node(1).transport.handshakes.ready() == 0);
    assert!(world.node(1).transport.handshakes.is_away(slot), "whoever drips went first");
}

/// A connection on which the peer sends nothing.
fn silent(world: &World, to: u64) -> TcpStream {
    let socket = TcpStream::connect(world.address(to)).expect("the node listens");
    socket.set_nonblocking(true).expect("it is a socket");
    socket
}

/// Nodes 1 and 2 exchange a frame.
fn exchange(world: &mut World, number: u64) {
    let word = number.to_le_bytes();
    assert!(world.send(1, 2, &word) && world.send(2, 1, &word));
    world.until("both hear", |world| {
        world.node(1).received(2).last() == Some(&&word[..]) && world.node(2).received(1).last() == Some(&&word[..])
    });
}

#[test]
fn random_bytes_are_rejected_at_once() {
    let mut world = World::connected(2, Limits::default());
    let mut state = 1u64;
    for round in 0..50u64 {
        let mut socket = silent(&world, 1);
        let mut bytes = [0u8; 300];
        for byte in &mut bytes {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            *byte = (state >> 56) as u8;
        }
        socket.write_all(&bytes).expect("the node listens");
        exchange(&mut world, round);
        let garbage = |world: &World| {
            let counters = world.node(1).counters();
            counters.rejected(CloseReason::Malformed) + counters.rejected(CloseReason::CertificateRejected)
        };
        world.until("it is rejected", |world| garbage(world) == round + 1);
    }
    assert_eq!(world.node(1).ups_and_downs(2), (1, 0));
    assert_eq!(world.node(1).links(), 1);
}

#[test]
fn limits_the_number_and_duration_of_unauthenticated_connections() {
    let limits = Limits { handshake: Duration::from_millis(300), ..Limits::default() };
    let mut world = World::connected(2, limits);
    let mut open = Vec::new();
    for round in 0..200u64 {
        open.push(silent(&world, 1));
        if round % 10 == 0 {
            exchange(&mut world, round);
        }
        assert!(world.node(1).links() <= 1 + limits.unauthenticated);
    }
    world.until("all have been seen", |world| world.node(1).counters().accepted >= 200);
    assert_eq!(world.node(1).links(), 1 + limits.unauthenticated);
    world.until("time is up", |world| world.node(1).links() == 1);
    let counters = world.node(1).counters();
    let (many, slow) =
        (counters.rejected(CloseReason::TooManyPending), counters.rejected(CloseReason::HandshakeTimeout));
    assert!(many > 0 && slow >= limits.unauthenticated as u64 && many + slow >= 199, "{many} {slow}");
    exchange(&mut world, 1000);
    assert_eq!(world.node(1).ups_and_downs(2), (1, 0));
}

#[test]
fn a_member_connects_despite_many_unauthenticated_connections() {
    let mut world = World::connected(2, Limits::default());
    let _crowd: Vec<_> = (0..100).map(|_| silent(&world, 1)).collect();
    world.until("they are there", |world| world.node(1).counters().accepted >= 100);
    world.restart(2);
    world.until("it is up again", |world| world.all_connected());
}

/// Excess connections of one host displace only connections of that host.
#[test]
fn one_host_cannot_displace_the_connections_of_others() {
    let limits = Limits { unauthenticated: 8, ..Limits::default() };
    let mut world = single_node(limits);
    let port: u16 = world.address(1).rsplit(':').next().and_then(|port| port.parse().ok()).expect("it has a port");
    let elsewhere = rustix::net::socket(rustix::net::AddressFamily::INET, rustix::net::SocketType::STREAM, None);
    let elsewhere = elsewhere.expect("there are sockets");
    let other: std::net::SocketAddrV4 = "127.0.0.2:0".parse().expect("an address");
    rustix::net::bind(&elsewhere, &other).expect("all of 127 is this host");
    let node: std::net::SocketAddrV4 = format!("127.0.0.1:{port}").parse().expect("an address");
    rustix::net::connect(&elsewhere, &node).expect("the node listens");
    let mut other = TcpStream::from(elsewhere);
    other.set_nonblocking(true).expect("it is a socket");
    world.until("it is in", |world| world.node(1).counters().accepted == 1);
    let _crowd: Vec<_> = (0..40).map(|_| silent(&world, 1)).collect();
    world.until("the crowd has come", |world| world.node(1).counters().accepted == 41);
    assert_eq!(world.node(1).counters().rejected(CloseReason::TooManyPending), 33);
    let error = other.read(&mut [0]).expect_err("nothing was sent to it, and it was not closed");
    assert_eq!(error.kind(), std::io::ErrorKind::WouldBlock);
}

#[test]
fn a_frame_beyond_the_limit_closes_the_connection() {
    let limits = Limits { frame: 10_000, ..Limits::default() };
    let mut world = single_node(limits);
    let mut raw = Raw::established(&mut world, 1, 2);
    raw.frame(&[1; 10_000]);
    raw.plain(&10_001u32.to_le_bytes());
    world.until("it ends", |world| {
        raw.pump();
        !world.node(1).is_up(2)
    });
    assert_eq!(world.node(1).down_reason(2), Some(CloseReason::FrameTooLarge));
    assert_eq!(world.node(1).received(2), [&[1; 10_000]]);
    let mut world = World::connected(2, limits);
    assert!(!world.send(1, 2, &[1; 10_001]), "nor is one sent");
    assert!(world.send(1, 2, &[1; 10_000]) && world.node(1).is_up(2));
}

#[test]
fn a_peer_that_does_not_read_is_disconnected_when_the_queue_is_full() {
    let limits = Limits { queue: 1 << 20, ..Limits::default() };
    let (mut world, mut raw) = with_a_third(limits);
    raw.pump();
    let payload = vec![3; 100_000];
    let mut taken = 0;
    while world.send(1, 3, &payload) {
        taken += 1;
        assert!(taken < 1000, "the queue has no end");
        exchange(&mut world, taken);
        let queued: usize = world.node(1).transport.slots.iter().map(|link| link.queued()).max().unwrap_or_default();
        assert!(queued <= limits.queue, "{queued}");
    }
    assert!(taken >= 10, "at least the queue was filled: {taken}");
    assert_eq!(world.node(1).down_reason(3), Some(CloseReason::SlowReader));
    assert!(!world.send(1, 3, b"more"));
    exchange(&mut world, 5000);
    assert_eq!(world.node(1).ups_and_downs(2), (1, 0));
}

/// Queues many frames at once.
fn flood(raw: &mut Raw, frames: usize) {
    let mut bytes = Vec::new();
    (0..frames).for_each(|_| frame::encode(b"flood", &mut bytes));
    raw.plain(&bytes);
}

/// Nodes 1 and 2, and a hand-made member 3 of node 1.
fn with_a_third(limits: Limits) -> (World, Raw) {
    let mut world = World::connected(2, limits);
    let now = world.clock.now();
    let nowhere = Member { address: "127.0.0.1:1".to_owned(), ..member(3) };
    let members = [world.members(), vec![nowhere]].concat();
    let node = world.node_mut(1);
    node.transport.set_members(&members, now, &mut Vec::new());
    let raw = Raw::established(&mut world, 1, 3);
    (world, raw)
}

#[test]
fn limits_the_frames_of_one_peer_in_one_pass() {
    let (mut world, mut raw) = with_a_third(Limits::default());
    flood(&mut raw, 20_000);
    raw.pump();
    let (mut before, mut most) = (world.node(1).received(3).len(), 0);
    world.until("all of it is heard, a little in each pass", |world| {
        raw.pump();
        let heard = world.node(1).received(3).len();
        most = most.max(heard - before);
        before = heard;
        heard == 20_000
    });
    // An event and a tick are two passes for the node in one of this loop.
    assert!(most <= 512, "{most} frames in one pass");
}

#[test]
fn limits_the_bytes_of_one_peer_in_one_pass() {
    let (mut world, mut raw) = with_a_third(Limits::default());
    (0..4).for_each(|_| raw.frame(&vec![5; 1 << 20]));
    let (mut before, mut most) = (world.node(1).counters().bytes_in, 0);
    world.until("all of it is heard, a little in each pass", |world| {
        raw.pump();
        let read = world.node(1).counters().bytes_in;
        most = most.max(read - before);
        before = read;
        world.node(1).received(3).len() == 4
    });
    // Again two passes of the node; the last read of each may go beyond by one record.
    assert!(most <= 2 * (64 + 17) * 1024, "{most} bytes in one pass");
}

const FEW: Limits = Limits {
    frames_per_second: 1000,
    burst: 500,
    frame: 4096,
    queue: 1 << 20,
    unauthenticated: 32,
    handshake: TIMEOUT,
};

#[test]
fn a_flooding_peer_is_throttled_without_affecting_others_and_then_disconnected() {
    let (mut world, mut raw) = with_a_third(FEW);
    let begun = world.clock.now();
    flood(&mut raw, 400_000);
    raw.pump();
    let mut rounds = 0;
    while world.node(1).counters().throttled < 4 {
        exchange(&mut world, rounds);
        raw.pump();
        rounds += 1;
    }
    let memory: usize = world.node(1).transport.slots.iter().map(|link| link.memory()).max().unwrap_or_default();
    assert!(memory < 128 * 1024, "what waits, waits with the peer: {memory}");
    while world.node(1).is_up(3) {
        assert!(world.clock.now().since(begun) < TIMEOUT, "nobody stops it");
        exchange(&mut world, rounds);
        raw.pump();
        rounds += 1;
    }
    let passed = world.clock.now().since(begun);
    assert!(passed >= Duration::from_secs(1) && rounds > 20, "{passed:?} {rounds}");
    let (heard, most) = (world.node(1).received(3).len(), 500 + passed.as_millis() as usize + 64);
    assert!((500..=most).contains(&heard), "{heard} frames in {passed:?}");
    assert_eq!(world.node(1).down_reason(3), Some(CloseReason::RateLimitExceeded));
    assert_eq!(world.node(1).ups_and_downs(2), (1, 0));
    // It does not get a new share by coming back.
    let mut again = Raw::established(&mut world, 1, 3);
    flood(&mut again, 1000);
    again.pump();
    world.until("it waits again", |world| {
        again.pump();
        world.node(1).transport.slots.iter().any(|link| link.throttled.is_some())
    });
    let passed = world.clock.now().since(begun);
    let (heard, most) = (world.node(1).received(3).len(), 500 + passed.as_millis() as usize + 64);
    assert!(heard <= most, "{heard} frames in {passed:?}");
}

#[test]
fn notices_the_end_of_a_throttled_peer_at_once() {
    let (mut world, mut raw) = with_a_third(FEW);
    flood(&mut raw, 3000);
    raw.pump();
    world.until("it is slowed down", |world| world.node(1).counters().throttled > 0);
    drop(raw);
    let ended = world.clock.now();
    world.until("its end is noticed", |world| !world.node(1).is_up(3));
    let took = world.clock.now().since(ended);
    assert!(took < Duration::from_millis(700), "{took:?}");
    assert_eq!(world.node(1).down_reason(3), Some(CloseReason::RateLimitExceeded));
}

#[test]
fn a_late_hello_is_a_handshake_timeout() {
    let limits = Limits { handshake: Duration::from_millis(50), ..Limits::default() };
    let mut world = single_node(limits);
    let mut raw = Raw::dial(&world, 1, &identity_for(&member(2), time::Duration::DAY));
    world.until("TLS is through, and no Hello comes", |world| {
        raw.pump();
        world.node(1).counters().rejected(CloseReason::HandshakeTimeout) == 1
    });
    assert!(!raw.tls.is_handshaking());
}

/// Occasional key updates are fine; a peer that does nothing else is disconnected.
#[test]
fn a_flood_of_key_updates_closes_the_connection() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::established(&mut world, 1, 2);
    for _ in 0..200 {
        raw.tls.refresh_traffic_keys().expect("it is established");
    }
    world.until("it ends", |world| {
        raw.pump();
        !world.node(1).is_up(2)
    });
    assert_eq!(world.node(1).down_reason(2), Some(CloseReason::Malformed));
}
