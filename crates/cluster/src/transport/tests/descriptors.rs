//! A node without free file descriptors.

use std::fs::File;
use std::net::TcpStream;
use std::process::Command;

use rustix::process::{Resource, getrlimit, setrlimit};

use super::*;

/// Drives a transport for a while. Returns how many times it woke up.
fn drive(poll: &mut Poll, node: &mut Transport, time: Duration, done: impl Fn(&Transport) -> bool) -> usize {
    let (clock, mut events, mut out) = (Clock::new(), Events::with_capacity(64), Vec::new());
    let end = clock.now() + time;
    let mut wakes = 0;
    while clock.now() < end && !done(node) {
        let due = node.next_tick().min(end);
        poll.poll(&mut events, Some(due.since(clock.now()) + Duration::from_micros(100))).expect("poll for events");
        wakes += 1;
        events.iter().for_each(|event| node.ready(event, clock.now(), &mut out));
        node.tick(clock.now(), &mut out);
        node.flush(clock.now(), &mut out);
    }
    wakes
}

/// Set in the process that lowers its limit of descriptors.
const CHILD: &str = "HUSTINGS_TEST_WITHOUT_DESCRIPTORS";

/// The limit of descriptors applies to a whole process, so the test runs itself again in a process of its own.
#[test]
fn a_node_without_descriptors_neither_spins_nor_loses_a_connection() {
    if std::env::var_os(CHILD).is_some() {
        return exhaust_descriptors();
    }
    let program = std::env::current_exe().expect("the path of this test program");
    let test = "transport::tests::descriptors::a_node_without_descriptors_neither_spins_nor_loses_a_connection";
    let child = Command::new(program).args([test, "--exact", "--nocapture"]).env(CHILD, "1").output();
    let child = child.expect("start this test program");
    let output = String::from_utf8_lossy(&child.stdout);
    assert!(
        child.status.success() && output.contains("1 passed"),
        "{output}{}",
        String::from_utf8_lossy(&child.stderr)
    );
}

fn exhaust_descriptors() {
    let config = TransportConfig {
        own: Id(1),
        incarnation: 1,
        listen: "127.0.0.1:0".to_owned(),
        limits: Limits::default(),
        identity: identity_for(&member(1), time::Duration::DAY),
    };
    let mut poll = Poll::new().expect("create a poll");
    let node = Transport::bind(config, &[member(1)], poll.registry(), 0..100, Clock::new().now());
    let mut node = node.expect("bind a free port");

    let mut limit = getrlimit(Resource::Nofile);
    limit.current = Some(64);
    setrlimit(Resource::Nofile, limit).expect("lower the limit");
    let connection = TcpStream::connect(node.local_addr()).expect("connect to the node");
    let mut files = Vec::new();
    while let Ok(file) = File::open("/dev/null") {
        files.push(file);
    }

    let wakes = drive(&mut poll, &mut node, Duration::from_millis(500), |_| false);
    let failures = node.counters().accept_failures;
    assert_eq!(node.counters().accepted, 0);
    assert!((2..=6).contains(&failures) && wakes < 30, "{failures} failures, {wakes} wakes");
    drop(files);
    drive(&mut poll, &mut node, Duration::from_secs(10), |node| node.counters().accepted == 1);
    assert_eq!(node.counters().accepted, 1, "the connection was waiting, and no further event announced it");
    drop(connection);
}
