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

use crate::claims::Claims;
use crate::faults::Plan;

pub(crate) const MS: u64 = 1_000_000;
const CLIENT: ClientId = ClientId(1);
const OPERATOR: ClientId = ClientId(2);

/// A generator that tests may rely on.
pub(crate) struct Rng(pub(crate) u64);

impl Rng {
    pub(crate) fn roll(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (z ^ (z >> 31)) % bound
    }
}

enum What {
    Deliver { from: usize, to: usize, link: u64, message: Box<Message> },
    Up { at: usize, peer: usize, link: u64 },
    Down { at: usize, peer: usize, link: u64 },
    Persisted { at: usize, incarnation: u64, number: u64 },
    Wake { at: usize, incarnation: u64 },
    Stopped { at: usize, incarnation: u64, office: String, token: u64 },
    Ask { at: usize, incarnation: u64, client: ClientId, office: String },
    Dial { one: usize, other: usize },
}

struct Event(u64, u64, What);
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
    late: Vec<What>,
    ppm: i64,
    wake: u64,
}

/// A cluster.
pub(crate) struct World {
    pub(crate) now: u64,
    pub(crate) seed: u64,
    plan: Plan,
    rng: Rng,
    serial: u64,
    events: BinaryHeap<Reverse<Event>>,
    hosts: Vec<Host>,
    /// The connection of each pair, by a number.
    links: BTreeMap<(usize, usize), u64>,
    /// When the last message on a directed link arrives: links keep the order.
    busy: BTreeMap<(usize, usize), u64>,
    /// Directed links that lose everything.
    pub(crate) cut: BTreeSet<(usize, usize)>,
    pub(crate) claims: Claims,
    /// What was answered to programs that asked who holds an office.
    answers: BTreeMap<ClientId, OfficeStatus>,
}

fn pair(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}

impl World {
    pub(crate) fn new(nodes: usize, seed: u64, plan: Plan) -> Self {
        let mut rng = Rng(seed ^ 0x5eed);
        let hosts = (0..nodes).map(|node| {
            let ppm = match plan.slow_best {
                true if node + 1 == nodes => -(plan.drift as i64),
                true => plan.drift as i64,
                false => rng.roll(2 * plan.drift + 1) as i64 - plan.drift as i64,
            };
            Host {
                core: None,
                incarnation: 0,
                disk: Vec::new(),
                queue: Vec::new(),
                frozen: false,
                late: Vec::new(),
                ppm,
                wake: 0,
            }
        });
        let hosts = hosts.collect();
        let mut world = World {
            now: 1_000 * MS,
            seed,
            plan,
            rng,
            serial: 0,
            events: BinaryHeap::new(),
            hosts,
            links: BTreeMap::new(),
            busy: BTreeMap::new(),
            cut: BTreeSet::new(),
            claims: Claims::new(seed),
            answers: BTreeMap::new(),
        };
        (0..nodes).for_each(|node| world.start(node));
        world
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
        let preempt = if self.plan.preempt { Preempt::Better } else { Preempt::Never };
        let mode = if self.plan.fenced { Mode::Fenced } else { Mode::Exclusive };
        let (arbiter, algorithm, params) = match self.plan.alone {
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
                lease: Duration::from_millis(self.plan.lease_ms),
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
            store: node as u64 + 77,
            mirror,
            seed: self.rng.roll(u64::MAX),
            broken: self.plan.broken,
        };
        let core = Core::new(setup, self.clock(node, self.now)).expect("the disk is in order");
        self.hosts[node].core = Some(core);
        self.collect(node);
        let more = (0..self.plan.offices).map(|number| format!("office-{number}"));
        for office in ["job".to_string(), "fast".to_string()].into_iter().chain(more) {
            let request = Request::Campaign { office, mode: None };
            self.with(node, |core, now| core.request(CLIENT, request, now));
        }
        (0..self.size()).filter(|peer| *peer != node).for_each(|peer| self.dial(node, peer));
    }

    fn dial(&mut self, one: usize, other: usize) {
        let delay = self.rng.roll(5 * MS) + MS / 10;
        self.at(delay, What::Dial { one, other });
    }

    fn at(&mut self, delay: u64, what: What) {
        self.serial += 1;
        self.events.push(Reverse(Event(self.now + delay, self.serial, what)));
    }

    fn with(&mut self, node: usize, act: impl FnOnce(&mut Core, Moment)) {
        let now = self.clock(node, self.now);
        if let Some(core) = &mut self.hosts[node].core {
            core.set_unix_ms(self.now / MS);
            act(core, now);
            self.collect(node);
        }
    }

    /// Does what a core wants done.
    fn collect(&mut self, node: usize) {
        let Some(core) = &mut self.hosts[node].core else { return };
        let outputs = core.outputs();
        for output in outputs {
            match output {
                Output::Send(to, message) => self.send(node, to.0 as usize - 1, message),
                Output::Drop(peer) => self.hang_up(node, peer.0 as usize - 1),
                Output::Write(write) => {
                    let (number, incarnation) = (write.number, self.hosts[node].incarnation);
                    self.hosts[node].queue.push(write);
                    let slow = if self.plan.slow && self.rng.roll(50) == 0 { 60 * MS } else { 0 };
                    let lazy = if self.plan.lazy_disk { 300 * MS + self.rng.roll(1_000 * MS) } else { 0 };
                    let delay = MS / 10 + self.rng.roll(MS) + slow + lazy;
                    self.at(delay, What::Persisted { at: node, incarnation, number });
                }
                Output::Reply(client, reply) => self.told(node, client, reply),
                Output::Members(_) => {}
                Output::Exit(why) => panic!("seed {}: node {node} ends: {why:?}", self.seed),
            }
        }
        let wake = self.hosts[node].core.as_ref().map_or(Moment::NEVER, |core| core.wake_at());
        if wake != Moment::NEVER {
            let at = self.true_time(node, wake).max(self.now) + 1_000 + self.rng.roll(MS / 5);
            let incarnation = self.hosts[node].incarnation;
            if self.hosts[node].wake <= self.now || at < self.hosts[node].wake {
                self.hosts[node].wake = at;
                self.at(at - self.now, What::Wake { at: node, incarnation });
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
        let delay = self.plan.late_ms * MS
            + self.rng.roll(MS / 2)
            + if self.plan.slow && self.rng.roll(200) == 0 { self.rng.roll(30 * MS) } else { MS / 20 };
        let earliest = self.busy.get(&(from, to)).copied().unwrap_or(0);
        let arrives = (self.now + delay).max(earliest + 1);
        self.busy.insert((from, to), arrives);
        self.at(arrives - self.now, What::Deliver { from, to, link, message: Box::new(message) });
    }

    /// A program on a host is told something.
    fn told(&mut self, node: usize, client: ClientId, reply: Reply) {
        let now = self.now;
        let exclusive = |office: &str| office != "fast" && !self.plan.fenced;
        match reply {
            Reply::Office(status) if client != CLIENT => {
                self.claims.shown(client.0, &status);
                self.answers.insert(client, status);
            }
            // Without an arbiter claims may overlap, and tokens say nothing.
            _ if self.plan.alone => {}
            Reply::Held(holding) => {
                let until = self.true_time(node, holding.deadline);
                let exclusive = exclusive(&holding.office);
                self.claims.held(&holding.office, node, holding.token, (now, until), exclusive);
            }
            Reply::Renewed(holding) => {
                let until = self.true_time(node, holding.deadline);
                self.claims.renewed(&holding.office, node, holding.token, (now, until));
            }
            Reply::Stop { office, token, .. } => {
                let (delay, incarnation) = (self.rng.roll(5 * MS), self.hosts[node].incarnation);
                self.at(delay, What::Stopped { at: node, incarnation, office, token });
            }
            Reply::Lost { office, .. } => self.claims.ended(&office, node),
            _ => {}
        }
    }

    pub(crate) fn run_ms(&mut self, ms: u64) {
        let end = self.now + ms * MS;
        while self.events.peek().is_some_and(|Reverse(Event(at, ..))| *at <= end) {
            let Some(Reverse(Event(at, _, what))) = self.events.pop() else { break };
            self.now = at;
            self.happen(what);
        }
        self.now = end;
    }

    fn happen(&mut self, what: What) {
        let host = match &what {
            What::Deliver { to, .. } => *to,
            What::Up { at, .. }
            | What::Down { at, .. }
            | What::Persisted { at, .. }
            | What::Wake { at, .. }
            | What::Ask { at, .. }
            | What::Stopped { at, .. } => *at,
            What::Dial { one, .. } => *one,
        };
        if self.hosts[host].frozen && !matches!(what, What::Dial { .. }) {
            self.hosts[host].late.push(what);
            return;
        }
        match what {
            What::Deliver { from, to, link, message } => {
                if self.links.get(&pair(from, to)) == Some(&link) {
                    self.with(to, |core, now| core.message(Id(from as u64 + 1), *message, now));
                }
            }
            What::Up { at, peer, link } => {
                if self.links.get(&pair(at, peer)) == Some(&link) {
                    let incarnation = self.hosts[peer].incarnation * 1_000 + peer as u64;
                    self.with(at, |core, now| core.up(Id(peer as u64 + 1), incarnation, now));
                }
            }
            What::Down { at, peer, link } => {
                if self.links.get(&pair(at, peer)).is_none_or(|current| *current <= link) {
                    self.with(at, |core, now| core.down(Id(peer as u64 + 1), now));
                }
            }
            What::Persisted { at, incarnation, number } => {
                if self.hosts[at].incarnation == incarnation && self.hosts[at].core.is_some() {
                    let done = self.hosts[at].queue.iter().take_while(|write| write.number <= number).count();
                    let durable: Vec<Write> = self.hosts[at].queue.drain(..done).collect();
                    self.hosts[at].disk.extend(durable);
                    self.with(at, |core, now| core.persisted(number, now));
                }
            }
            What::Wake { at, incarnation } => {
                if self.hosts[at].incarnation == incarnation {
                    self.with(at, |core, now| core.tick(now));
                }
            }
            What::Stopped { at, incarnation, office, token } => {
                self.claims.ended(&office, at);
                if self.hosts[at].incarnation == incarnation {
                    self.with(at, |core, now| core.request(CLIENT, Request::Stopped { office, token }, now));
                }
            }
            What::Ask { at, incarnation, client, office } => {
                if self.hosts[at].incarnation == incarnation {
                    self.with(at, |core, now| core.request(client, Request::Leader { office }, now));
                }
            }
            What::Dial { one, other } => self.connect(one, other),
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
        let delays = (self.rng.roll(MS), self.rng.roll(MS));
        self.at(delays.0, What::Up { at: one, peer: other, link });
        self.at(delays.1, What::Up { at: other, peer: one, link });
        let arrives = self.now + MS + 1;
        self.busy.insert((one, other), arrives);
        self.busy.insert((other, one), arrives);
    }

    fn dial_again(&mut self, one: usize, other: usize) {
        self.at(20 * MS, What::Dial { one, other });
    }

    /// The connection of a pair ends; both notice, if they live.
    pub(crate) fn disconnect(&mut self, one: usize, other: usize) {
        let Some(link) = self.links.remove(&pair(one, other)) else { return };
        for (at, peer) in [(one, other), (other, one)] {
            let delay = MS / 10 + self.rng.roll(MS / 2);
            self.at(delay, What::Down { at, peer, link });
        }
        let delay = MS + self.rng.roll(20 * MS);
        self.at(delay, What::Dial { one, other });
    }

    /// One side ends the connection; whether the other notices depends on the link.
    fn hang_up(&mut self, at: usize, peer: usize) {
        let Some(link) = self.links.remove(&pair(at, peer)) else { return };
        if !self.cut.contains(&(at, peer)) {
            self.at(MS / 10, What::Down { at: peer, peer: at, link });
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
        let survives = self.rng.roll(self.hosts[node].queue.len() as u64 + 1) as usize;
        let durable: Vec<Write> = self.hosts[node].queue.drain(..survives).collect();
        self.hosts[node].disk.extend(durable);
        self.hosts[node].queue.clear();
        self.hosts[node].frozen = false;
        self.hosts[node].late.clear();
        (0..self.size()).filter(|peer| *peer != node).for_each(|peer| self.disconnect(node, peer));
    }

    pub(crate) fn freeze(&mut self, node: usize) {
        self.hosts[node].frozen = self.hosts[node].core.is_some();
    }

    pub(crate) fn thaw(&mut self, node: usize) {
        self.thaw_and_ask(node, None);
    }

    /// A host goes on; a program asks it something before it has heard anything else.
    pub(crate) fn thaw_and_ask(&mut self, node: usize, office: Option<&str>) {
        if std::mem::take(&mut self.hosts[node].frozen) {
            office.into_iter().for_each(|office| _ = self.ask(node, office));
            let late = std::mem::take(&mut self.hosts[node].late);
            late.into_iter().for_each(|what| self.happen(what));
        }
    }

    /// Everything is well from now on.
    pub(crate) fn heal(&mut self) {
        let was_cut = std::mem::take(&mut self.cut);
        was_cut.into_iter().for_each(|(one, other)| self.disconnect(one, other));
        (0..self.size()).for_each(|node| {
            self.thaw(node);
            self.start(node);
        });
    }

    /// A program on a host asks who holds an office. The answer is judged when it comes.
    pub(crate) fn ask(&mut self, node: usize, office: &str) -> ClientId {
        self.serial += 1;
        let (client, incarnation) = (ClientId(1_000 + self.serial), self.hosts[node].incarnation);
        self.claims.asked(client.0, office);
        self.happen(What::Ask { at: node, incarnation, client, office: office.to_string() });
        client
    }

    /// An operator on a host wants an office to go to another one.
    pub(crate) fn transfer(&mut self, node: usize, office: &str, to: usize) {
        let request = Request::Transfer { office: office.to_string(), to: format!("n{}", to + 1) };
        self.with(node, |core, now| core.request(OPERATOR, request, now));
    }

    /// Who leads the arbiter, says a host.
    pub(crate) fn arbiter_leader(&self, node: usize) -> Option<usize> {
        let core = self.hosts[node].core.as_ref()?;
        core.arbiter_leader().map(|id| id.0 as usize - 1)
    }

    /// Whom each host that runs takes for the current holder of an office. It takes the time that the answers take.
    pub(crate) fn leaders(&mut self, office: &str) -> Vec<Option<String>> {
        let asked: Vec<ClientId> = (0..self.size()).map(|node| self.ask(node, office)).collect();
        let is_open =
            |world: &World, node: usize| world.hosts[node].core.is_some() && !world.answers.contains_key(&asked[node]);
        let latest = self.now + 1_000 * MS;
        while (0..self.size()).any(|node| is_open(self, node)) && self.now < latest {
            self.run_ms(1);
        }
        let shown = asked.iter().map(|client| self.answers.remove(client));
        shown.map(|status| status.filter(|status| status.current).and_then(|status| status.holder)).collect()
    }

    /// What each host thinks.
    pub(crate) fn dump(&self) -> String {
        let cores = self.hosts.iter().filter_map(|host| host.core.as_ref());
        cores.map(|core| format!("{core:#?}\n")).collect()
    }

    /// After a while without faults: everybody names the same holder, and the best one, if it may take over.
    pub(crate) fn check_calm(&mut self) {
        for office in ["leader", "job", "fast"] {
            let leaders = self.leaders(office);
            let first = leaders[0].clone();
            let is_agreed = first.is_some() && leaders.iter().all(|one| *one == first);
            let is_best = !self.plan.preempt || first == Some(format!("n{}", self.size()));
            assert!(is_agreed && is_best, "seed {}: {office}: {leaders:?}: {}", self.seed, self.dump());
        }
    }
}
