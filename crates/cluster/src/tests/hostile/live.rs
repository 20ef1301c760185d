//! The same against whole nodes, with sockets, TLS and disks: each on a thread, as in a process of its own.

use std::io::Write;
use std::net::{TcpListener, TcpStream};
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use super::frames::{Numbers, message, variants};
use super::{State, budget, is_in_the_promise};
use crate::api::{Client, OfficeStatus, Reply, Request, Status};
use crate::clock::Clock;
use crate::config::{ClusterSpec, Config, add_member, bootstrap};
use crate::identity::Identity;
use crate::node::{Exit, Node, NodeError, Options, ShutdownHandle};
use crate::tests::cluster::Rng;
use crate::timing::Timing;
use crate::transport::tests::raw::Raw;
use crate::wire::{LeaderHeartbeat, MAX_INDEX, Message};

/// How long anything may take, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);
/// How many messages go out before a node is asked whether it is well.
const BATCH: u64 = 50;

struct Running {
    shutdown_handle: ShutdownHandle,
    thread: JoinHandle<Result<Exit, NodeError>>,
}

/// Three electors, the observer `d`, which the test plays, and the guest `e`, whose certificate was issued and which
/// was never added.
struct Cluster {
    folder: tempfile::TempDir,
    nodes: Vec<Option<Running>>,
}

const NAMES: [&str; 5] = ["a", "b", "c", "d", "e"];

impl Cluster {
    fn new() -> Cluster {
        let folder = tempfile::tempdir().expect("a folder");
        let ports: Vec<TcpListener> =
            NAMES.iter().map(|_| TcpListener::bind("127.0.0.1:0").expect("loopback is there")).collect();
        let address = |place: usize| ports[place].local_addr().expect("it is bound").to_string();
        let roles = ["", "", "", ",role=observer"];
        let members = roles
            .iter()
            .enumerate()
            .map(|(place, role)| format!("{}={}{role}", NAMES[place], address(place)).parse().expect("it is a member"));
        // On a busy machine, nobody is suspected for being slow.
        let seconds = Duration::from_secs;
        let timing = Timing {
            silence_floor: seconds(20),
            silence_ceiling: seconds(20),
            lease: seconds(60),
            ..Timing::default()
        };
        let spec = ClusterSpec { timing, ..ClusterSpec::new("cluster", members.collect()) };
        let place = folder.path().join("cluster");
        bootstrap(&place, &spec).expect("the plan is sound");
        add_member(&place, &format!("e={}", address(4)).parse().expect("it is a member"), "").expect("it gets files");
        drop(ports);
        let mut cluster = Cluster { folder, nodes: NAMES.iter().map(|_| None).collect() };
        (0..3).for_each(|node| cluster.start(node));
        cluster.wait_for(|office| office.holder.is_some());
        cluster
    }

    fn place(&self, node: usize) -> PathBuf {
        self.folder.path().join("cluster").join(NAMES[node])
    }

    fn config(&self, node: usize) -> Config {
        Config::read(&self.place(node).join("hustings.toml")).expect("it was just written")
    }

    fn start(&mut self, node: usize) {
        let shutdown_handle = ShutdownHandle::new().expect("descriptors are there");
        let options = Options {
            signals: false,
            raise_priority: false,
            shutdown_handle: Some(shutdown_handle.clone()),
            ..Options::default()
        };
        let (config, (opened, is_open)) = (self.config(node), channel());
        let thread = thread::spawn(move || {
            let node = Node::open(config, options)?;
            opened.send(()).expect("the test waits");
            node.run()
        });
        is_open.recv_timeout(TIMEOUT).expect("it starts");
        self.nodes[node] = Some(Running { shutdown_handle, thread });
    }

    fn kill(&mut self, node: usize) {
        let running = self.nodes[node].take().expect("it runs");
        running.shutdown_handle.abort();
        assert!(matches!(running.thread.join().expect("it does not panic"), Err(NodeError::StoppedAtOnce)));
    }

    fn ask(&self, node: usize, request: &Request) -> Reply {
        let ended = self.nodes[node].as_ref().is_none_or(|running| running.thread.is_finished());
        assert!(!ended, "node {} has ended", NAMES[node]);
        let mut client = Client::connect(self.place(node).join("hustings.sock"), Duration::ZERO).expect("it runs");
        client.call(request, Some(TIMEOUT)).expect("it answers")
    }

    fn status(&self, node: usize) -> Status {
        match self.ask(node, &Request::Status) {
            Reply::Status(status) => *status,
            other => panic!("no status: {other:?}"),
        }
    }

    /// Waits until the first two nodes say the same of `leader`, and it is as wanted.
    fn wait_for(&self, wanted: impl Fn(&OfficeStatus) -> bool) -> OfficeStatus {
        let until = Instant::now() + TIMEOUT;
        loop {
            let said = [0, 1].map(|node| match self.ask(node, &Request::Leader { office: "leader".to_string() }) {
                Reply::Office(office) => office,
                other => panic!("no office: {other:?}"),
            });
            if said.iter().all(|office| office.current && office.token == said[0].token && wanted(office)) {
                let [office, _] = said;
                return office;
            }
            assert!(Instant::now() < until, "{said:#?}");
            thread::yield_now();
        }
    }

    /// A connection of somebody whose files are here to a node.
    fn dial(&self, from: usize, to: usize, sequence: u64) -> Raw {
        let (own, other) = (self.config(from), self.config(to));
        let member = own.own().expect("it is its own configuration");
        let identity = Identity::load(&own.tls, &own.cluster, member, Clock::new()).expect("its files are sound");
        let tls = identity.dial(other.own().expect("it is its own")).expect("the name is a DNS label");
        let mut raw = Raw::connect(&other.listen, tls);
        raw.hello(&own.cluster, own.node.0, sequence);
        raw
    }
}

impl Drop for Cluster {
    fn drop(&mut self) {
        for running in self.nodes.iter_mut().filter_map(Option::take) {
            running.shutdown_handle.abort();
            // A panic was reported when it happened.
            let _ = running.thread.join();
        }
    }
}

/// Sends a frame, and waits until it is on its way. Returns whether the node still listens.
fn deliver(raw: &mut Raw, message: &Message) -> bool {
    raw.frame(&message.encode());
    let until = Instant::now() + TIMEOUT;
    while raw.tls.is_handshaking() || raw.tls.wants_write() {
        raw.pump();
        if raw.ended {
            return false;
        }
        assert!(Instant::now() < until, "the node reads nothing");
        thread::yield_now();
    }
    true
}

/// Somebody sends messages of every kind to these nodes. Returns how many.
fn send_everything(cluster: &Cluster, from: usize, to: &[usize], is_sent: impl Fn(&Message) -> bool) -> u64 {
    let (mut rng, until) = (Rng::new(from as u64), Instant::now() + budget());
    let (mut count, mut sequence) = (0, 1 << 40);
    while count < 2 * BATCH || Instant::now() < until {
        let status = cluster.status(to[0]);
        let office = status.offices.iter().find(|office| office.office == "leader");
        let mut others: Vec<u64> = (1..=5).collect();
        others.extend(office.map(|office| office.token));
        let numbers = Numbers { term: status.term, last_index: 20, others, offices: vec!["leader".to_string()] };
        for node in to {
            sequence += 1;
            let mut raw = cluster.dial(from, *node, sequence);
            for _ in 0..BATCH {
                let variant = rng.below(variants().len() as u64) as usize;
                let message = message(variant, &numbers, &mut rng);
                if is_sent(&message) && !deliver(&mut raw, &message) {
                    break;
                }
                count += 1;
            }
        }
    }
    count
}

/// Somebody who has no vote changes nothing: the same holder and the same leader, in the same term.
fn assert_unchanged(name: &str, act: impl FnOnce(&Cluster) -> u64) {
    let cluster = Cluster::new();
    let (before, held) = (cluster.status(0), cluster.wait_for(|office| office.holder.is_some()));
    let count = act(&cluster);
    println!("{name}, against nodes: {count} messages");
    let after = cluster.wait_for(|office| office.holder.is_some());
    assert_eq!((after.holder, after.token), (held.holder, held.token));
    for node in 0..3 {
        let status = cluster.status(node);
        assert_eq!((status.term, &status.arbiter_leader), (before.term, &before.arbiter_leader), "node {node}");
        assert_eq!((status.paused, status.members.len()), (false, 4), "node {node}");
    }
}

#[test]
fn a_live_node_survives_a_guest() {
    assert_unchanged("Guest", |cluster| send_everything(cluster, 4, &[0, 1, 2], |_| true));
}

#[test]
fn a_live_node_survives_an_observer() {
    assert_unchanged("Observer", |cluster| send_everything(cluster, 3, &[0, 1, 2], |_| true));
}

/// The one frame that once ended a cluster for good: a leader's heartbeat of a certificate that was never added.
#[test]
fn a_heartbeat_of_a_certificate_that_was_never_added_changes_nothing() {
    assert_unchanged("One frame", |cluster| {
        let leader = Some(LeaderHeartbeat { term: MAX_INDEX, commit: 0, round: 1, confirmed: 0 });
        let heartbeat = Message::Heartbeat(crate::wire::Heartbeat { number: 1, leader, follower: None });
        for node in 0..3 {
            assert!(deliver(&mut cluster.dial(4, node, 1 << 40), &heartbeat));
            cluster.status(node);
        }
        3
    });
}

#[test]
fn a_live_node_survives_a_stranger() {
    assert_unchanged("Stranger", |cluster| {
        let (mut rng, until, mut count) = (Rng::new(1), Instant::now() + budget(), 0);
        while count < 20 || Instant::now() < until {
            let to = cluster.config(rng.below(3) as usize).listen;
            let mut socket = TcpStream::connect(&to).expect("the node listens");
            let mut bytes: Vec<u8> = match rng.below(3) {
                // A record of a TLS handshake, whatever is in it.
                0 => vec![22, 3, 1, 0, 200, 1, 0, 0, 196, 3, 3],
                // A frame without TLS.
                1 => {
                    let mut frame = Vec::new();
                    crate::transport::frame::encode(&Message::Leave.encode(), &mut frame);
                    frame
                }
                _ => Vec::new(),
            };
            bytes.extend((0..rng.below(400)).map(|_| rng.below(256) as u8));
            // The node may close it before all is sent.
            let _ = socket.write_all(&bytes);
            count += 1;
            if count % 20 == 0 {
                cluster.status(0);
            }
        }
        count
    });
}

#[test]
fn live_nodes_go_on_after_a_hostile_voter() {
    let mut cluster = Cluster::new();
    cluster.kill(2);
    let until = Instant::now() + TIMEOUT;
    while !matches!(cluster.status(0).arbiter_leader.as_deref(), Some("a" | "b")) {
        assert!(Instant::now() < until, "nobody leads");
        thread::yield_now();
    }
    let count = send_everything(&cluster, 2, &[0, 1], |message| is_in_the_promise(message, State::Settled));
    println!("Voter, against nodes: {count} messages");
    let mut client = Client::connect(cluster.place(0).join("hustings.sock"), Duration::ZERO).expect("it runs");
    let campaign = Request::Campaign { office: "after".to_string(), mode: None, guard: None };
    client.send(&campaign).expect("it runs");
    let until = Instant::now() + 2 * TIMEOUT;
    loop {
        match client.recv(Some(2 * TIMEOUT)) {
            Ok(Reply::Held(_)) => break,
            Ok(_) => assert!(Instant::now() < until, "it is not granted"),
            Err(error) => panic!("{error}"),
        }
    }
}
