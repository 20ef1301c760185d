//! Machines, and the links, disks and clocks between them.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

use hustings_cluster::api::{OfficeStatus, Reply, Request};
use hustings_cluster::clock::Moment;
use hustings_cluster::config::{ArbiterKind, Choice, Config, Mode, Policy, Preempt, Tls};
use hustings_cluster::core::{ClientId, Core, Output, Setup};
use hustings_cluster::member::{Member, Role};
use hustings_cluster::store::{Mirror, Write};
use hustings_cluster::timing::Timing;
use hustings_cluster::wire::Message;
use hustings_protocol::Id;

use crate::faults::Options;
use crate::lease_checker::LeaseChecker;

pub(crate) const MS: u64 = 1_000_000;
const CLIENT: ClientId = ClientId(1);
const OPERATOR: ClientId = ClientId(2);

/// A generator that tests may rely on.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

enum EventKind {
    Deliver { from: usize, to: usize, link: u64, message: Box<Message> },
    Up { at: usize, peer: usize, link: u64 },
    Down { at: usize, peer: usize, link: u64 },
    Persisted { at: usize, incarnation: u64, number: u64 },
    Wake { at: usize, incarnation: u64 },
    Stopped { at: usize, incarnation: u64, office: String, token: u64 },
    Ask { at: usize, incarnation: u64, client: ClientId, office: String },
    Dial { one: usize, other: usize },
}

struct Event(u64, u64, EventKind);
impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

struct Host {
    core: Option<Core>,
    incarnation: u64,
    /// What is durable.
    disk: Vec<Write>,
    /// What is on its way there.
    queue: Vec<Write>,
    frozen: bool,
    deferred: Vec<EventKind>,
    ppm: i64,
    wake: u64,
}

/// A cluster.
pub(crate) struct SimCluster {
    pub(crate) now: u64,
    pub(crate) seed: u64,
    options: Options,
    rng: Rng,
    serial: u64,
    events: BinaryHeap<Reverse<Event>>,
    hosts: Vec<Host>,
    /// The connection of each pair, by a number.
    links: BTreeMap<(usize, usize), u64>,
    /// When the last message on a directed link arrives: links keep the order.
    last_arrival: BTreeMap<(usize, usize), u64>,
    /// Directed links that lose everything.
    pub(crate) cut: BTreeSet<(usize, usize)>,
    pub(crate) leases: LeaseChecker,
    /// What was answered to programs that asked who holds an office.
    answers: BTreeMap<ClientId, OfficeStatus>,
}

fn pair(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}

impl SimCluster {
    pub(crate) fn new(nodes: usize, seed: u64, options: Options) -> Self {
        let mut rng = Rng(seed ^ 0x5eed);
        let hosts = (0..nodes).map(|node| {
            let ppm = match options.slow_clock_on_best {
                true if node + 1 == nodes => -(options.drift_ppm as i64),
                true => options.drift_ppm as i64,
                false => rng.below(2 * options.drift_ppm + 1) as i64 - options.drift_ppm as i64,
            };
            Host {
                core: None,
                incarnation: 0,
                disk: Vec::new(),
                queue: Vec::new(),
                frozen: false,
                deferred: Vec::new(),
                ppm,
                wake: 0,
            }
        });
        let hosts = hosts.collect();
        let mut cluster = SimCluster {
            now: 1_000 * MS,
            seed,
            options,
            rng,
            serial: 0,
            events: BinaryHeap::new(),
            hosts,
            links: BTreeMap::new(),
            last_arrival: BTreeMap::new(),
            cut: BTreeSet::new(),
            leases: LeaseChecker::new(seed),
            answers: BTreeMap::new(),
        };
        (0..nodes).for_each(|node| cluster.start(node));
        cluster
    }

    pub(crate) fn size(&self) -> usize {
        self.hosts.len()
    }

    pub(crate) fn config(&self, node: usize) -> Config {
        let members = (1..=self.hosts.len() as u64).map(|id| Member {
            id: Id(id),
            name: format!("n{id}"),
            address: format!("h{id}:1"),
            priority: 0,
            role: Role::Elector,
        });
        let preempt = if self.options.preempt { Preempt::Better } else { Preempt::Never };
        let mode = if self.options.fenced { Mode::Fenced } else { Mode::Exclusive };
        let (arbiter, algorithm, params) = match self.options.without_arbiter {
            true => (ArbiterKind::None, "chang-roberts", vec![]),
            false => (ArbiterKind::Raft, "bully", vec!["highest=announce".to_string()]),
        };
        Config {
            cluster: "test".to_string(),
            node: Id(node as u64 + 1),
            members: members.collect(),
            listen: String::new(),
            algorithm: Choice::named(algorithm, Some(params)),
            arbiter,
            timing: Timing {
                lease: Duration::from_millis(self.options.lease_ms),
                settle: Duration::from_millis(50),
                ..Timing::default()
            },
            offices: vec![("fast".to_string(), Policy { mode: Mode::Fenced, preempt })],
            default_policy: Policy { mode, preempt },
            health: None,
            data: Default::default(),
            socket: Default::default(),
            tls: Tls { authority: Default::default(), certificate: Default::default(), key: Default::default() },
            join: false,
        }
    }

    /// What a host's clock shows.
    fn clock(&self, node: usize, now: u64) -> Moment {
        let gained = i128::from(now) * i128::from(self.hosts[node].ppm) / 1_000_000;
        Moment((i128::from(now) + gained) as u64)
    }

    /// The true time when a host's clock shows this.
    fn true_time(&self, node: usize, shown: Moment) -> u64 {
        (i128::from(shown.0) * 1_000_000 / (1_000_000 + i128::from(self.hosts[node].ppm))) as u64
    }

    pub(crate) fn start(&mut self, node: usize) {
        if self.hosts[node].core.is_some() {
            return;
        }
        let mirror = Mirror::empty();
        self.hosts[node].disk.iter().for_each(|write| mirror.redo(write).expect("it was written in order"));
        self.hosts[node].incarnation += 1;
        let incarnation = self.hosts[node].incarnation * 1_000 + node as u64;
        let setup = Setup {
            config: self.config(node),
            incarnation,
            store_id: node as u64 + 77,
            mirror,
            seed: self.rng.below(u64::MAX),
            broken: self.options.broken,
        };
        let core = Core::new(setup, self.clock(node, self.now)).expect("the disk is in order");
        self.hosts[node].core = Some(core);
        self.process_outputs(node);
        let more = (0..self.options.extra_offices).map(|number| format!("office-{number}"));
        for office in ["job".to_string(), "fast".to_string()].into_iter().chain(more) {
            let request = Request::Campaign { office, mode: None };
            self.drive(node, |core, now| core.handle_request(CLIENT, request, now));
        }
        (0..self.size()).filter(|peer| *peer != node).for_each(|peer| self.dial(node, peer));
    }

    fn dial(&mut self, one: usize, other: usize) {
        let delay = self.rng.below(5 * MS) + MS / 10;
        self.schedule(delay, EventKind::Dial { one, other });
    }

    fn schedule(&mut self, delay: u64, kind: EventKind) {
        self.serial += 1;
        self.events.push(Reverse(Event(self.now + delay, self.serial, kind)));
    }

    fn drive(&mut self, node: usize, act: impl FnOnce(&mut Core, Moment)) {
        let now = self.clock(node, self.now);
        if let Some(core) = &mut self.hosts[node].core {
            core.set_unix_ms(self.now / MS);
            act(core, now);
            self.process_outputs(node);
        }
    }

    /// Does what a core wants done.
    fn process_outputs(&mut self, node: usize) {
        let Some(core) = &mut self.hosts[node].core else { return };
        let outputs = core.take_outputs();
        for output in outputs {
            match output {
                Output::Send(to, message) => self.send(node, to.0 as usize - 1, message),
                Output::Disconnect(peer) => self.disconnect_one_side(node, peer.0 as usize - 1),
                Output::Write(write) => {
                    let (number, incarnation) = (write.number, self.hosts[node].incarnation);
                    self.hosts[node].queue.push(write);
                    let jitter = if self.options.jitter && self.rng.below(50) == 0 { 60 * MS } else { 0 };
                    let lazy = if self.options.slow_disk { 300 * MS + self.rng.below(1_000 * MS) } else { 0 };
                    let delay = MS / 10 + self.rng.below(MS) + jitter + lazy;
                    self.schedule(delay, EventKind::Persisted { at: node, incarnation, number });
                }
                Output::Reply(client, reply) => self.handle_reply(node, client, reply),
                Output::Members(_) => {}
                Output::Exit(why) => panic!("seed {}: node {node} ends: {why:?}", self.seed),
            }
        }
        let wake = self.hosts[node].core.as_ref().map_or(Moment::NEVER, |core| core.poll_timeout());
        if wake != Moment::NEVER {
            let at = self.true_time(node, wake).max(self.now) + 1_000 + self.rng.below(MS / 5);
            let incarnation = self.hosts[node].incarnation;
            if self.hosts[node].wake <= self.now || at < self.hosts[node].wake {
                self.hosts[node].wake = at;
                self.schedule(at - self.now, EventKind::Wake { at: node, incarnation });
            }
        }
    }

    fn send(&mut self, from: usize, to: usize, message: Message) {
        let Some(&link) = self.links.get(&pair(from, to)) else { return };
        if self.cut.contains(&(from, to)) {
            return;
        }
        // What is sent is what is received, or nothing.
        let message = Message::decode(&message.encode()).expect("it was just encoded");
        let delay = self.options.extra_delay_ms * MS
            + self.rng.below(MS / 2)
            + if self.options.jitter && self.rng.below(200) == 0 { self.rng.below(30 * MS) } else { MS / 20 };
        let earliest = self.last_arrival.get(&(from, to)).copied().unwrap_or(0);
        let arrives = (self.now + delay).max(earliest + 1);
        self.last_arrival.insert((from, to), arrives);
        self.schedule(arrives - self.now, EventKind::Deliver { from, to, link, message: Box::new(message) });
    }

    /// A program on a host is told something.
    fn handle_reply(&mut self, node: usize, client: ClientId, reply: Reply) {
        let now = self.now;
        let exclusive = |office: &str| office != "fast" && !self.options.fenced;
        match reply {
            Reply::Office(status) if client != CLIENT => {
                self.leases.end_read(client.0, &status);
                self.answers.insert(client, status);
            }
            // Without an arbiter claims may overlap, and tokens say nothing.
            _ if self.options.without_arbiter => {}
            Reply::Held(holding) => {
                let until = self.true_time(node, holding.deadline);
                let exclusive = exclusive(&holding.office);
                self.leases.acquire(&holding.office, node, holding.token, (now, until), exclusive);
            }
            Reply::Renewed(holding) => {
                let until = self.true_time(node, holding.deadline);
                self.leases.renew(&holding.office, node, holding.token, (now, until));
            }
            Reply::Stop { office, token, .. } => {
                let (delay, incarnation) = (self.rng.below(5 * MS), self.hosts[node].incarnation);
                self.schedule(delay, EventKind::Stopped { at: node, incarnation, office, token });
            }
            Reply::Lost { office, .. } => self.leases.release(&office, node),
            _ => {}
        }
    }

    pub(crate) fn run_ms(&mut self, ms: u64) {
        let end = self.now + ms * MS;
        while self.events.peek().is_some_and(|Reverse(Event(at, ..))| *at <= end) {
            let Some(Reverse(Event(at, _, kind))) = self.events.pop() else { break };
            self.now = at;
            self.handle_event(kind);
        }
        self.now = end;
    }

    fn handle_event(&mut self, kind: EventKind) {
        let host = match &kind {
            EventKind::Deliver { to, .. } => *to,
            EventKind::Up { at, .. }
            | EventKind::Down { at, .. }
            | EventKind::Persisted { at, .. }
            | EventKind::Wake { at, .. }
            | EventKind::Ask { at, .. }
            | EventKind::Stopped { at, .. } => *at,
            EventKind::Dial { one, .. } => *one,
        };
        if self.hosts[host].frozen && !matches!(kind, EventKind::Dial { .. }) {
            self.hosts[host].deferred.push(kind);
            return;
        }
        match kind {
            EventKind::Deliver { from, to, link, message } => {
                if self.links.get(&pair(from, to)) == Some(&link) {
                    self.drive(to, |core, now| core.handle_message(Id(from as u64 + 1), *message, now));
                }
            }
            EventKind::Up { at, peer, link } => {
                if self.links.get(&pair(at, peer)) == Some(&link) {
                    let incarnation = self.hosts[peer].incarnation * 1_000 + peer as u64;
                    self.drive(at, |core, now| core.handle_connected(Id(peer as u64 + 1), incarnation, now));
                }
            }
            EventKind::Down { at, peer, link } => {
                if self.links.get(&pair(at, peer)).is_none_or(|current| *current <= link) {
                    self.drive(at, |core, now| core.handle_disconnected(Id(peer as u64 + 1), now));
                }
            }
            EventKind::Persisted { at, incarnation, number } => {
                if self.hosts[at].incarnation == incarnation && self.hosts[at].core.is_some() {
                    let done = self.hosts[at].queue.iter().take_while(|write| write.number <= number).count();
                    let durable: Vec<Write> = self.hosts[at].queue.drain(..done).collect();
                    self.hosts[at].disk.extend(durable);
                    self.drive(at, |core, now| core.handle_persisted(number, now));
                }
            }
            EventKind::Wake { at, incarnation } => {
                if self.hosts[at].incarnation == incarnation {
                    self.drive(at, |core, now| core.handle_timeout(now));
                }
            }
            EventKind::Stopped { at, incarnation, office, token } => {
                self.leases.release(&office, at);
                if self.hosts[at].incarnation == incarnation {
                    self.drive(at, |core, now| core.handle_request(CLIENT, Request::Stopped { office, token }, now));
                }
            }
            EventKind::Ask { at, incarnation, client, office } => {
                if self.hosts[at].incarnation == incarnation {
                    self.drive(at, |core, now| core.handle_request(client, Request::Leader { office }, now));
                }
            }
            EventKind::Dial { one, other } => self.connect(one, other),
        }
    }

    fn connect(&mut self, one: usize, other: usize) {
        let both = self.hosts[one].core.is_some() && self.hosts[other].core.is_some();
        let stuck = self.hosts[one].frozen || self.hosts[other].frozen;
        if !both || self.links.contains_key(&pair(one, other)) {
            return;
        }
        if stuck || self.cut.contains(&(one, other)) || self.cut.contains(&(other, one)) {
            self.dial_again(one, other);
            return;
        }
        self.serial += 1;
        let link = self.serial;
        self.links.insert(pair(one, other), link);
        let delays = (self.rng.below(MS), self.rng.below(MS));
        self.schedule(delays.0, EventKind::Up { at: one, peer: other, link });
        self.schedule(delays.1, EventKind::Up { at: other, peer: one, link });
        let arrives = self.now + MS + 1;
        self.last_arrival.insert((one, other), arrives);
        self.last_arrival.insert((other, one), arrives);
    }

    fn dial_again(&mut self, one: usize, other: usize) {
        self.schedule(20 * MS, EventKind::Dial { one, other });
    }

    /// The connection of a pair ends; both notice, if they live.
    pub(crate) fn disconnect(&mut self, one: usize, other: usize) {
        let Some(link) = self.links.remove(&pair(one, other)) else { return };
        for (at, peer) in [(one, other), (other, one)] {
            let delay = MS / 10 + self.rng.below(MS / 2);
            self.schedule(delay, EventKind::Down { at, peer, link });
        }
        let delay = MS + self.rng.below(20 * MS);
        self.schedule(delay, EventKind::Dial { one, other });
    }

    /// One side ends the connection; whether the other notices depends on the link.
    fn disconnect_one_side(&mut self, at: usize, peer: usize) {
        let Some(link) = self.links.remove(&pair(at, peer)) else { return };
        if !self.cut.contains(&(at, peer)) {
            self.schedule(MS / 10, EventKind::Down { at: peer, peer: at, link });
        }
        self.dial_again(at, peer);
    }

    /// Nothing passes between these two, in either direction.
    pub(crate) fn cut(&mut self, one: usize, other: usize) {
        self.cut.extend([(one, other), (other, one)]);
    }

    pub(crate) fn kill(&mut self, node: usize) {
        if self.hosts[node].core.take().is_none() {
            return;
        }
        // Of what was on its way to the disk, nothing or something arrived: always from the front.
        let survives = self.rng.below(self.hosts[node].queue.len() as u64 + 1) as usize;
        let durable: Vec<Write> = self.hosts[node].queue.drain(..survives).collect();
        self.hosts[node].disk.extend(durable);
        self.hosts[node].queue.clear();
        self.hosts[node].frozen = false;
        self.hosts[node].deferred.clear();
        (0..self.size()).filter(|peer| *peer != node).for_each(|peer| self.disconnect(node, peer));
    }

    pub(crate) fn freeze(&mut self, node: usize) {
        self.hosts[node].frozen = self.hosts[node].core.is_some();
    }

    pub(crate) fn resume(&mut self, node: usize) {
        self.resume_and_read(node, None);
    }

    /// A host goes on; a program asks it something before it has heard anything else.
    pub(crate) fn resume_and_read(&mut self, node: usize, office: Option<&str>) {
        if std::mem::take(&mut self.hosts[node].frozen) {
            office.into_iter().for_each(|office| _ = self.read_leader(node, office));
            let deferred = std::mem::take(&mut self.hosts[node].deferred);
            deferred.into_iter().for_each(|kind| self.handle_event(kind));
        }
    }

    /// Everything is well from now on.
    pub(crate) fn heal(&mut self) {
        let was_cut = std::mem::take(&mut self.cut);
        was_cut.into_iter().for_each(|(one, other)| self.disconnect(one, other));
        (0..self.size()).for_each(|node| {
            self.resume(node);
            self.start(node);
        });
    }

    /// A program on a host asks who holds an office. The answer is judged when it comes.
    pub(crate) fn read_leader(&mut self, node: usize, office: &str) -> ClientId {
        self.serial += 1;
        let (client, incarnation) = (ClientId(1_000 + self.serial), self.hosts[node].incarnation);
        self.leases.begin_read(client.0, office);
        self.handle_event(EventKind::Ask { at: node, incarnation, client, office: office.to_string() });
        client
    }

    /// An operator on a host wants an office to go to another one.
    pub(crate) fn transfer(&mut self, node: usize, office: &str, to: usize) {
        let request = Request::Transfer { office: office.to_string(), to: format!("n{}", to + 1) };
        self.drive(node, |core, now| core.handle_request(OPERATOR, request, now));
    }

    /// Who leads the arbiter, says a host.
    pub(crate) fn arbiter_leader(&self, node: usize) -> Option<usize> {
        let core = self.hosts[node].core.as_ref()?;
        core.arbiter_leader().map(|id| id.0 as usize - 1)
    }

    /// Whom each host that runs takes for the current holder of an office. It takes the time that the answers take.
    pub(crate) fn leaders(&mut self, office: &str) -> Vec<Option<String>> {
        let asked: Vec<ClientId> = (0..self.size()).map(|node| self.read_leader(node, office)).collect();
        let is_open = |cluster: &SimCluster, node: usize| {
            cluster.hosts[node].core.is_some() && !cluster.answers.contains_key(&asked[node])
        };
        let latest = self.now + 1_000 * MS;
        while (0..self.size()).any(|node| is_open(self, node)) && self.now < latest {
            self.run_ms(1);
        }
        let shown = asked.iter().map(|client| self.answers.remove(client));
        shown.map(|status| status.filter(|status| status.current).and_then(|status| status.holder)).collect()
    }

    /// What each host thinks.
    pub(crate) fn debug_state(&self) -> String {
        let cores = self.hosts.iter().filter_map(|host| host.core.as_ref());
        cores.map(|core| format!("{core:#?}\n")).collect()
    }

    /// After a while without faults: everybody names the same holder, and the best one, if it may take over.
    pub(crate) fn check_converged(&mut self) {
        for office in ["leader", "job", "fast"] {
            let leaders = self.leaders(office);
            let first = leaders[0].clone();
            let is_agreed = first.is_some() && leaders.iter().all(|one| *one == first);
            let is_best = !self.options.preempt || first == Some(format!("n{}", self.size()));
            assert!(is_agreed && is_best, "seed {}: {office}: {leaders:?}: {}", self.seed, self.debug_state());
        }
    }
}
