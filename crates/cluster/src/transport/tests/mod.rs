//! Transports on real sockets, several in one process, driven by one loop.

mod abuse;
mod crossing;
mod descriptors;
mod pair;
pub(crate) mod raw;
mod rejections;
mod seals;

use std::collections::VecDeque;
use std::sync::OnceLock;
use std::time::Duration;

use mio::{Events, Poll};

use super::*;
use crate::clock::Clock;
use crate::identity::{Authority, CertifiedKey};
use crate::member::Role;

/// How long anything may take, even on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(30);
const TOKENS: usize = 1000;
const CLUSTER: &str = "town";

pub(super) fn member(id: u64) -> Member {
    let name = format!("m{id}");
    Member { id: Id(id), name, address: String::new(), priority: 0, role: Role::Elector }
}

/// The authority of the cluster of all tests.
fn authority() -> &'static (Authority, CertifiedKey) {
    static AUTHORITY: OnceLock<(Authority, CertifiedKey)> = OnceLock::new();
    AUTHORITY.get_or_init(|| Authority::create(CLUSTER, time::Duration::DAY).expect("create an authority"))
}

/// The identity of a member, with a certificate of this lifetime.
pub(super) fn identity_for(member: &Member, lifetime: time::Duration) -> Identity {
    let (authority, authority_key) = authority();
    let own = authority.issue(CLUSTER, member, lifetime).expect("issue a certificate");
    Identity::from_pem(&authority_key.certificate, &own.certificate, &own.key, CLUSTER).expect("a valid identity")
}

/// One node of a test.
pub(super) struct Node {
    pub(super) transport: Transport,
    pub(super) events: Vec<Event>,
    waiting: VecDeque<mio::event::Event>,
}

impl Node {
    /// How often a peer came up, and how often it went down.
    pub(super) fn ups_and_downs(&self, peer: u64) -> (usize, usize) {
        let count = |wanted: fn(&Event) -> Option<Id>| {
            self.events.iter().filter(|event| wanted(event) == Some(Id(peer))).count()
        };
        let up = |event: &Event| if let Event::Up { peer, .. } = event { Some(*peer) } else { None };
        let down = |event: &Event| if let Event::Down { peer, .. } = event { Some(*peer) } else { None };
        (count(up), count(down))
    }

    pub(super) fn is_up(&self, peer: u64) -> bool {
        self.transport.peers.get(Id(peer)).is_some_and(|peer| peer.link.is_some())
    }

    /// What a peer said.
    pub(super) fn received(&self, from: u64) -> Vec<&[u8]> {
        let said = |event| match event {
            &Event::Frame { peer, ref bytes } if peer == Id(from) => Some(bytes.as_slice()),
            _ => None,
        };
        self.events.iter().filter_map(said).collect()
    }

    /// Why a peer went down, last.
    pub(super) fn down_reason(&self, from: u64) -> Option<CloseReason> {
        let down = |event: &Event| match event {
            Event::Down { peer, reason } if *peer == Id(from) => Some(*reason),
            _ => None,
        };
        self.events.iter().rev().find_map(down)
    }

    /// All connections there are, established or not.
    pub(super) fn links(&self) -> usize {
        self.transport.slots.iter().count() + self.transport.handshakes.away()
    }

    pub(super) fn counters(&self) -> &Counters {
        self.transport.counters()
    }
}

/// Nodes, by id minus one, and the loop that drives them.
pub(super) struct World {
    poll: Poll,
    clock: Clock,
    pub(super) nodes: Vec<Option<Node>>,
    addresses: Vec<String>,
    limits: Limits,
    incarnations: u64,
    /// If set, one event at a time is handled, of a node drawn with this.
    pub(super) rng: Option<u64>,
}

impl World {
    /// Nodes 1 to `count`, which know of each other and have not begun to dial.
    pub(super) fn new(count: usize, limits: Limits) -> World {
        let poll = Poll::new().expect("the system can poll");
        let addresses = vec!["127.0.0.1:0".to_owned(); count];
        let nodes = (0..count).map(|_| None).collect();
        let mut world = World { poll, clock: Clock::new(), nodes, addresses, limits, incarnations: 0, rng: None };
        for id in 1..=count as u64 {
            world.start_alone(id, identity_for(&member(id), time::Duration::DAY));
        }
        world.introduce();
        world
    }

    /// Nodes that are all connected.
    pub(super) fn connected(count: usize, limits: Limits) -> World {
        let mut world = World::new(count, limits);
        world.until("everybody is connected", World::is_settled);
        world
    }

    pub(super) fn all_connected(&self) -> bool {
        let ids = 1..=self.nodes.len() as u64;
        ids.clone().all(|one| ids.clone().all(|other| one == other || self.node(one).is_up(other)))
    }

    /// Whether all are connected, and nothing is left of a second connection that a pair has begun at the same time.
    pub(super) fn is_settled(&mut self) -> bool {
        let others = self.nodes.len() - 1;
        self.all_connected() && self.nodes.iter().flatten().all(|node| node.links() == others)
    }

    pub(super) fn members(&self) -> Vec<Member> {
        let with = |(place, address): (usize, &String)| Member { address: address.clone(), ..member(place as u64 + 1) };
        self.addresses.iter().enumerate().map(with).collect()
    }

    pub(super) fn address(&self, id: u64) -> &str {
        &self.addresses[id as usize - 1]
    }

    /// Starts a node without members, on its previous address if it had one.
    pub(super) fn start_alone(&mut self, id: u64, identity: Identity) {
        self.incarnations += 1;
        let place = id as usize - 1;
        let settings = TransportConfig {
            own: Id(id),
            incarnation: self.incarnations,
            listen: self.addresses[place].clone(),
            limits: self.limits,
            identity,
        };
        let tokens = place * TOKENS..(place + 1) * TOKENS;
        let transport = Transport::bind(settings, &[], self.poll.registry(), tokens, self.clock.now());
        let transport = transport.expect("there is a free port");
        self.addresses[place] = transport.local_addr().to_string();
        self.nodes[place] = Some(Node { transport, events: Vec::new(), waiting: VecDeque::new() });
    }

    /// Gives every node the full list of members.
    pub(super) fn introduce(&mut self) {
        let (members, now) = (self.members(), self.clock.now());
        for node in self.nodes.iter_mut().flatten() {
            node.transport.set_members(&members, now, &mut node.events);
        }
    }

    /// Restarts a node with the same address and name.
    pub(super) fn restart(&mut self, id: u64) {
        self.kill(id);
        self.start_alone(id, identity_for(&member(id), time::Duration::DAY));
        let (members, now) = (self.members(), self.clock.now());
        let node = self.node_mut(id);
        node.transport.set_members(&members, now, &mut node.events);
    }

    /// Ends a node like a killed process: its sockets close without a TLS close.
    pub(super) fn kill(&mut self, id: u64) {
        self.nodes[id as usize - 1] = None;
    }

    pub(super) fn node(&self, id: u64) -> &Node {
        self.nodes[id as usize - 1].as_ref().expect("the test has not ended this node")
    }

    pub(super) fn node_mut(&mut self, id: u64) -> &mut Node {
        self.nodes[id as usize - 1].as_mut().expect("the test has not ended this node")
    }

    /// Sends at once.
    pub(super) fn send(&mut self, from: u64, to: u64, what: &[u8]) -> bool {
        let now = self.clock.now();
        let node = self.node_mut(from);
        let taken = node.transport.send(Id(to), what);
        node.transport.flush(now, &mut node.events);
        taken
    }

    pub(super) fn drop_peer(&mut self, id: u64, peer: u64) {
        let now = self.clock.now();
        let node = self.node_mut(id);
        node.transport.drop_peer(Id(peer), now, &mut node.events);
    }

    /// One pass of the loop.
    pub(super) fn step(&mut self) {
        let due = self.nodes.iter().flatten().map(|node| node.transport.next_tick()).min().unwrap_or(Timestamp::NEVER);
        let waiting = self.nodes.iter().flatten().any(|node| !node.waiting.is_empty());
        let now = self.clock.now();
        let wait = if waiting { Duration::ZERO } else { due.since(now).min(Duration::from_millis(1)) };
        let mut events = Events::with_capacity(256);
        self.poll.poll(&mut events, Some(wait)).expect("the system can poll");
        for event in &events {
            if let Some(Some(node)) = self.nodes.get_mut(event.token().0 / TOKENS) {
                node.waiting.push_back(event.clone());
            }
        }
        let now = self.clock.now();
        let chosen = self.draw();
        for (place, node) in self.nodes.iter_mut().enumerate() {
            let Some(node) = node else { continue };
            let most = match chosen {
                None => usize::MAX,
                Some(drawn) => usize::from(drawn % 3 != place as u64 % 3),
            };
            for _ in 0..most.min(node.waiting.len()) {
                let Some(event) = node.waiting.pop_front() else { break };
                node.transport.ready(&event, now, &mut node.events);
            }
            if node.transport.next_tick() <= now {
                node.transport.tick(now, &mut node.events);
            }
            node.transport.flush(now, &mut node.events);
        }
    }

    /// A random number, if the order of events is to be shuffled.
    pub(super) fn draw(&mut self) -> Option<u64> {
        let state = self.rng.as_mut()?;
        *state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        Some(*state >> 33)
    }

    /// Runs passes until a condition holds.
    pub(super) fn until(&mut self, what: &str, mut condition: impl FnMut(&mut World) -> bool) {
        let end = self.clock.now() + TIMEOUT;
        while !condition(self) {
            assert!(self.clock.now() < end, "timeout: {what}\n{}", self.picture());
            self.step();
        }
    }

    /// Runs passes for a while, to see that nothing happens.
    pub(super) fn pass(&mut self, time: Duration) {
        let end = self.clock.now() + time;
        while self.clock.now() < end {
            self.step();
        }
    }

    fn picture(&self) -> String {
        let show = |node: &Node| {
            let last = &node.events[node.events.len().saturating_sub(5)..];
            let last: Vec<_> = last.iter().filter(|event| !matches!(event, Event::Frame { .. })).collect();
            let stages: Vec<_> = node.transport.slots.iter().map(|link| (link.stage, link.dialled)).collect();
            format!("{} {stages:?} {:?} {last:?}\n", node.transport.own, node.counters().list())
        };
        self.nodes.iter().flatten().map(show).collect()
    }
}
