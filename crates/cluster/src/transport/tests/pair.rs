//! Two nodes keep exactly one connection and notice its end.

use super::raw::Raw;
use super::rejections::single_node;
use super::*;

#[test]
fn members_connect_exchange_frames_and_notice_a_death() {
    let mut world = World::connected(3, Limits::default());
    assert!(world.send(1, 2, b"good morning"));
    assert!(world.send(2, 1, b"and to you"));
    assert!(world.send(3, 1, &vec![7; 1 << 20]));
    world.until("all is heard", |world| {
        let (one, two) = (world.node(1), world.node(2));
        one.received(2) == [b"and to you"]
            && two.received(1) == [b"good morning"]
            && one.received(3) == [&vec![7; 1 << 20]]
    });
    assert!(!world.send(1, 9, b"nobody"), "there is no such member");
    world.kill(2);
    world.until("both notice", |world| [1, 3].iter().all(|id| world.node(*id).down_reason(2).is_some()));
    assert!(!world.send(1, 2, b"gone"));
    assert!(world.node(1).is_up(3) && world.node(3).is_up(1));
}

/// Sessions are not resumed, so nothing can be replayed.
#[test]
fn every_connection_has_a_full_handshake() {
    let mut world = single_node(Limits::default());
    let identity = identity_for(&member(2), time::Duration::DAY);
    for sequence in 1..4 {
        let mut raw = Raw::dial(&world, 1, &identity);
        raw.hello(CLUSTER, 2, sequence);
        world.until("it is answered", |_| {
            raw.pump();
            !raw.heard.is_empty()
        });
        assert_eq!(raw.tls.handshake_kind(), Some(rustls::HandshakeKind::Full));
        assert_eq!(raw.tls.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
        let rustls::Connection::Client(client) = &raw.tls else { panic!("it has dialled") };
        assert_eq!(client.tls13_tickets_received(), 0);
    }
}

#[test]
fn a_closed_transport_sends_a_tls_close() {
    let mut world = World::connected(2, Limits::default());
    let node = world.nodes[1].take().expect("it was started");
    node.transport.close(world.clock.now());
    world.until("it is noticed", |world| world.node(1).down_reason(2).is_some());
    assert_eq!(world.node(1).down_reason(2), Some(CloseReason::Closed));
}

/// Both ends have the same connection, the one that was dialled by exactly one of them, and nothing else.
fn assert_one_connection(world: &World) {
    let ends: Vec<_> = [1, 2].iter().flat_map(|id| world.node(*id).transport.slots.iter()).collect();
    assert_eq!(ends.len(), 2, "{}", world.picture());
    assert_ne!(ends[0].dialled, ends[1].dialled, "{}", world.picture());
}

#[test]
fn simultaneous_dials_keep_the_connection_of_the_smaller_id() {
    let mut crossed = 0;
    for round in 0..200u64 {
        let mut world = World::new(2, Limits::default());
        // Both dial before either accepts.
        let now = world.clock.now();
        for node in world.nodes.iter_mut().flatten() {
            node.transport.tick(now, &mut node.events);
        }
        world.until("one connection", World::is_settled);
        assert!(world.send(1, 2, &round.to_le_bytes()) && world.send(2, 1, &round.to_le_bytes()));
        world.until("both hear", |world| {
            world.node(1).received(2) == [&round.to_le_bytes()] && world.node(2).received(1) == [&round.to_le_bytes()]
        });
        assert_one_connection(&world);
        assert_eq!((world.node(1).ups_and_downs(2), world.node(2).ups_and_downs(1)), ((1, 0), (1, 0)));
        if world.node(1).counters().accepted == 1 && world.node(2).counters().accepted == 1 {
            crossed += 1;
            let kept = world.node(1).transport.slots.iter().next();
            assert_eq!(kept.map(|link| link.dialled), Some(true), "round {round}\n{}", world.picture());
        }
    }
    assert!(crossed > 100, "the test has lost its point: {crossed}");
}

#[test]
fn any_order_of_events_ends_with_one_connection() {
    for seed in 0..60u64 {
        let mut world = World::new(2, Limits::default());
        world.rng = Some(seed * 0x9e37_79b9);
        for _ in 0..4 {
            world.until("one connection", World::is_settled);
            assert_one_connection(&world);
            // One end or both give it up, some passes apart.
            for id in [1, 2] {
                let drawn = world.draw().unwrap_or_default();
                (0..drawn % 7).for_each(|_| world.step());
                if drawn & 8 != 0 {
                    world.drop_peer(id, 3 - id);
                }
            }
        }
        world.until("one connection", World::is_settled);
        world.rng = None;
        world.until("all events are handled", |world| world.nodes.iter().flatten().all(|node| node.waiting.is_empty()));
        let before = world.node(1).ups_and_downs(2);
        world.pass(Duration::from_millis(5));
        assert_one_connection(&world);
        assert_eq!(world.node(1).ups_and_downs(2), before, "it stays, seed {seed}");
    }
}

#[test]
fn a_restarted_peer_reconnects_at_once_with_a_new_incarnation() {
    let mut world = World::connected(2, Limits::default());
    for _ in 0..5 {
        let ups = world.node(1).ups_and_downs(2).0;
        world.kill(2);
        world.until("the end is noticed", |world| !world.node(1).is_up(2));
        // Down for so long that the waiting time of node 1 has grown.
        world.pass(Duration::from_millis(150));
        world.restart(2);
        let begun = world.clock.now();
        world.until("it is up again", |world| world.all_connected());
        let took = world.clock.now().since(begun);
        world.until("nothing else is left", World::is_settled);
        assert!(took < Duration::from_millis(100), "{took:?}");
        let life_of = |event: &Event| if let Event::Up { incarnation, .. } = event { Some(*incarnation) } else { None };
        let incarnations: Vec<_> = world.node(1).events.iter().filter_map(life_of).collect();
        assert_eq!((incarnations.len(), incarnations.is_sorted_by(|a, b| a < b)), (ups + 1, true), "{incarnations:?}");
    }
}

#[test]
fn frames_before_the_end_are_delivered_before_it() {
    for round in 0..20u32 {
        let mut world = World::connected(2, Limits::default());
        let last: Vec<_> = (0..50 + round).map(|number| vec![number as u8; 100]).collect();
        let now = world.clock.now();
        let node = world.node_mut(2);
        last.iter().for_each(|frame| assert!(node.transport.send(Id(1), frame)));
        node.transport.flush(now, &mut node.events);
        world.kill(2);
        world.until("the end is noticed", |world| !world.node(1).is_up(2));
        assert_eq!(world.node(1).received(2), last);
        assert!(matches!(world.node(1).events.last(), Some(Event::Down { .. })));
    }
}

#[test]
fn frames_before_a_reset_are_delivered() {
    let mut world = single_node(Limits::default());
    let mut raw = Raw::established(&mut world, 1, 2);
    raw.frame(b"last words");
    raw.pump();
    let none = Some(Duration::ZERO);
    rustix::net::sockopt::set_socket_linger(&raw.socket, none).expect("it is a socket");
    drop(raw);
    world.until("the end is noticed", |world| !world.node(1).is_up(2));
    assert_eq!(world.node(1).received(2), [b"last words"]);
    assert_eq!(world.node(1).down_reason(2), Some(CloseReason::Reset));
}

#[test]
fn a_removed_member_is_disconnected_and_an_added_one_is_dialled() {
    let mut world = World::connected(3, Limits::default());
    let (members, now) = (world.members(), world.clock.now());
    let node = world.node_mut(1);
    node.transport.set_members(&members[..2], now, &mut node.events);
    assert_eq!((node.down_reason(3), node.is_up(2)), (Some(CloseReason::Removed), true));
    // Node 3 does not know, and tries again: in vain.
    world.until("node 3 is rejected", |world| world.node(1).counters().rejected(CloseReason::UnknownMember) > 0);
    world.introduce();
    world.until("it is back", |world| world.all_connected());
}

#[test]
fn resolves_host_names() {
    let mut world = World::new(2, Limits::default());
    for address in &mut world.addresses {
        *address = address.replace("127.0.0.1", "localhost");
    }
    world.introduce();
    world.until("everybody is connected", |world| world.all_connected());
}

#[test]
fn counts_sent_traffic_including_headers() {
    let mut world = World::connected(2, Limits::default());
    let tls_bytes = |world: &World| world.node(1).counters().bytes_out;
    let (before, tls) = (world.node(1).transport.wire(), tls_bytes(&world));
    let now = world.clock.now();
    let node = world.node_mut(1);
    (0..100).for_each(|_| assert!(node.transport.send(Id(2), b"together")));
    node.transport.flush(now, &mut node.events);
    world.until("all is heard", |world| world.node(2).received(1).len() == 100);
    let (after, tls) = (world.node(1).transport.wire(), tls_bytes(&world) - tls);
    // A hundred frames of a pass are one record: its own length once, not a hundred times. And one segment.
    assert_eq!(tls, 100 * (8 + frame::HEADER_BYTES as u64) + 22);
    assert_eq!((after.segments - before.segments, after.payload - before.payload), (1, tls));
    assert_eq!(after.bytes(), after.segments * 52 + after.payload);
    world.kill(2);
    world.until("the end is noticed", |world| !world.node(1).is_up(2));
    assert!(world.node(1).transport.wire().payload >= after.payload, "what has ended still counts");
}

#[test]
fn a_heartbeat_overtakes_large_frames() {
    let mut world = World::connected(2, Limits::default());
    let (count, now) = (100, world.clock.now());
    let node = world.node_mut(1);
    for number in 0..count {
        assert!(node.transport.send_bulk(Id(2), &vec![number; 60_000]));
    }
    // As much as the kernel takes, while the other node reads nothing.
    node.transport.flush(now, &mut node.events);
    world.send(1, 2, b"heartbeat");
    world.until("everything has arrived", |world| world.node(2).received(1).len() == usize::from(count) + 1);
    let received = world.node(2).received(1);
    let place = received.iter().position(|frame| *frame == b"heartbeat").expect("it has arrived");
    assert!(place < 40, "{place} large frames were before it");
    let order: Vec<u8> = received.iter().filter(|frame| frame.len() > 9).map(|frame| frame[0]).collect();
    assert!(order.is_sorted(), "large frames stay in order");
}
