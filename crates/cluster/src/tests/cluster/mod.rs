//! A simulated cluster: hosts, and the links, disks and clocks that connect or drive them.

mod authority;
mod clients;
mod copies;
mod events;
mod hosts;
mod links;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, BinaryHeap};
use std::time::Duration;

use hustings_protocol::SplitMix64;

use crate::api::{OfficeStatus, Reply};
use crate::clock::Timestamp;
use crate::config::{AlgorithmConfig, ArbiterKind, Config, Mode, Policy, Preempt};
use crate::core::{ClientId, Core, Exit, Output, Setup};
use crate::format::Formats;
use crate::member::Role;
use crate::timing::Timing;

pub(crate) use self::authority::{Authority, BuiltIn, External};
use self::events::{Event, EventKind};
use self::hosts::Host;
use crate::tests::faults::Options;
use crate::tests::lease_checker::LeaseChecker;
use crate::tests::{config, member};

pub(crate) const MS: u64 = 1_000_000;

/// A SplitMix64 generator.
pub(crate) struct Rng(SplitMix64);

impl Rng {
    pub(crate) fn new(seed: u64) -> Self {
        Rng(SplitMix64::new(seed))
    }

    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0.next_u64() % bound
    }
}

/// A cluster of cores, with simulated time.
pub(crate) struct SimCluster {
    pub(crate) now: u64,
    pub(crate) seed: u64,
    options: Options,
    rng: Rng,
    serial: u64,
    events: BinaryHeap<Reverse<Event>>,
    hosts: Vec<Host>,
    /// The serial number of the connection of each connected pair.
    links: BTreeMap<(usize, usize), u64>,
    /// When the last message on a directed link arrives. Links preserve the order of messages.
    last_arrival: BTreeMap<(usize, usize), u64>,
    /// Directed links that lose all messages.
    pub(crate) cut: BTreeSet<(usize, usize)>,
    /// How much longer messages to a node take, in milliseconds.
    receiving_delays_ms: BTreeMap<usize, u64>,
    pub(crate) leases: LeaseChecker,
    /// The answers to reads of an office's holder.
    answers: BTreeMap<ClientId, OfficeStatus>,
    /// What decides.
    authority: Box<dyn Authority>,
    /// The answers to operators, and whatever else they are told.
    operator_replies: Vec<Reply>,
    /// The answers to those who read and store states.
    state_replies: Vec<(ClientId, Reply)>,
    /// How far the hosts' wall clocks are ahead, in milliseconds.
    pub(crate) wall_offset_ms: u64,
    /// How the configuration of each host differs from the common one, from its next start on.
    pub(crate) changes: BTreeMap<usize, fn(&mut Config)>,
    /// What hosts know of versions from their next start on, if it is not what this program knows.
    pub(crate) formats: BTreeMap<usize, Formats>,
}

fn pair(one: usize, other: usize) -> (usize, usize) {
    (one.min(other), one.max(other))
}

impl SimCluster {
    pub(crate) fn new(nodes: usize, seed: u64, options: Options) -> Self {
        SimCluster::with_authority(nodes, seed, options, Box::new(BuiltIn))
    }

    pub(crate) fn with_authority(nodes: usize, seed: u64, options: Options, authority: Box<dyn Authority>) -> Self {
        let mut rng = Rng::new(seed ^ 0x5eed);
        let hosts = (0..nodes).map(|node| {
            let ppm = match options.slow_clocks {
                Some(slow) if slow.contains(&node) => -(options.drift_ppm as i64),
                Some(_) => options.drift_ppm as i64,
                None => rng.below(2 * options.drift_ppm + 1) as i64 - options.drift_ppm as i64,
            };
            Host { ppm, ..Host::default() }
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
            receiving_delays_ms: BTreeMap::new(),
            leases: LeaseChecker::new(seed),
            answers: BTreeMap::new(),
            authority,
            operator_replies: Vec::new(),
            state_replies: Vec::new(),
            wall_offset_ms: 0,
            changes: BTreeMap::new(),
            formats: BTreeMap::new(),
        };
        cluster.authority.advance(cluster.now);
        (0..nodes).for_each(|node| cluster.start(node));
        cluster
    }

    pub(crate) fn size(&self) -> usize {
        self.hosts.len()
    }

    pub(crate) fn config(&self, node: usize) -> Config {
        let members = (1..=self.hosts.len() as u64).map(|id| member(id, Role::Elector)).collect();
        let preempt = if self.options.preempt { Preempt::Better } else { Preempt::Never };
        let mode = if self.options.fenced { Mode::Fenced } else { Mode::Exclusive };
        let (arbiter, algorithm, params) = match self.options.without_arbiter {
            true => (ArbiterKind::None, "chang-roberts", vec![]),
            false => (ArbiterKind::Raft, "bully", vec!["highest=announce".to_string()]),
        };
        let mut config = Config {
            algorithm: AlgorithmConfig::named(algorithm, Some(params)),
            arbiter,
            timing: Timing {
                lease: Duration::from_millis(self.options.lease_ms),
                settle: Duration::from_millis(50),
                ..Timing::default()
            },
            offices: vec![("fast".to_string(), Policy { mode: Mode::Fenced, preempt, ..Policy::default() })],
            default_policy: Policy { mode, preempt, ..Policy::default() },
            ..config(node as u64 + 1, members)
        };
        (self.options.timing)(&mut config.timing);
        if let Some(change) = self.changes.get(&node) {
            change(&mut config);
        }
        config
    }

    /// What a host's clock shows at a true time.
    fn clock(&self, node: usize, now: u64) -> Timestamp {
        let gained = i128::from(now) * i128::from(self.hosts[node].ppm) / 1_000_000;
        Timestamp((i128::from(now) + gained) as u64)
    }

    /// The true time at which a host's clock shows this.
    fn true_time(&self, node: usize, shown: Timestamp) -> u64 {
        (i128::from(shown.0) * 1_000_000 / (1_000_000 + i128::from(self.hosts[node].ppm))) as u64
    }

    pub(crate) fn start(&mut self, node: usize) {
        if self.hosts[node].core.is_some() || self.hosts[node].is_removed {
            return;
        }
        let Some(storage) = self.hosts[node].open_store(node) else { return };
        self.hosts[node].incarnation += 1;
        // Who was woken was an earlier process.
        self.hosts[node].wake = 0;
        let incarnation = self.hosts[node].incarnation * 1_000 + node as u64;
        let setup = Setup {
            config: self.config(node),
            incarnation,
            store_id: self.hosts[node].store_id(node),
            storage,
            seed: self.rng.below(u64::MAX),
            disabled_rules: self.options.disabled_rules,
            formats: self.formats.get(&node).copied().unwrap_or_default(),
        };
        let now = self.clock(node, self.now);
        let core = self.authority.core(setup, now);
        self.hosts[node].core = Some(core);
        self.process_outputs(node);
        self.start_client(node);
        (0..self.size()).filter(|peer| *peer != node).for_each(|peer| self.dial(node, peer));
    }

    fn drive(&mut self, node: usize, act: impl FnOnce(&mut Core, Timestamp)) {
        let now = self.clock(node, self.now);
        if let Some(core) = &mut self.hosts[node].core {
            core.set_unix_ms(self.now / MS + self.wall_offset_ms);
            act(core, now);
            self.process_outputs(node);
        }
    }

    /// Carries out the outputs of a core.
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
                Output::Members { .. }
                | Output::ConfigDiffers { .. }
                | Output::MissingFounders(_)
                | Output::Outcome { .. } => {}
                Output::Exit(Exit::Left) => {
                    self.kill(node);
                    return;
                }
                Output::Exit(Exit::Removed) => {
                    self.hosts[node].is_removed = true;
                    self.kill(node);
                    return;
                }
                Output::Exit(Exit::UnknownDisk) if self.hosts[node].has_blank_disk() => {
                    self.kill(node);
                    self.hosts[node].restore_disk();
                    return;
                }
                Output::Exit(Exit::OldDisk) if self.hosts[node].newest.is_some() => {
                    self.kill(node);
                    self.put_newest_disk_back(node);
                    return;
                }
                Output::Exit(why) => panic!("seed {}: node {node} exits: {why:?}", self.seed),
            }
        }
        let wake = self.hosts[node].core.as_ref().map_or(Timestamp::NEVER, |core| core.poll_timeout());
        if wake != Timestamp::NEVER {
            let at = self.true_time(node, wake).max(self.now) + 1_000 + self.rng.below(MS / 5);
            let incarnation = self.hosts[node].incarnation;
            if self.hosts[node].wake <= self.now || at < self.hosts[node].wake {
                self.hosts[node].wake = at;
                self.schedule(at - self.now, EventKind::Wake { at: node, incarnation });
            }
        }
    }

    pub(crate) fn kill(&mut self, node: usize) {
        if self.hosts[node].core.take().is_none() {
            return;
        }
        self.hosts[node].crash(&mut self.rng);
        self.hosts[node].frozen = false;
        self.hosts[node].held.clear();
        self.hosts[node].client = None;
        self.hosts[node].is_leaving = false;
        self.hosts[node].deferred.clear();
        (0..self.size()).filter(|peer| *peer != node).for_each(|peer| self.disconnect(node, peer));
    }

    pub(crate) fn freeze(&mut self, node: usize) {
        self.hosts[node].frozen = self.hosts[node].core.is_some();
    }

    pub(crate) fn resume(&mut self, node: usize) {
        self.resume_and_read(node, None);
    }

    /// Resumes a frozen host. If an office is given, a client reads its holder before the host handles any deferred
    /// event.
    pub(crate) fn resume_and_read(&mut self, node: usize, office: Option<&str>) {
        if std::mem::take(&mut self.hosts[node].frozen) {
            office.into_iter().for_each(|office| _ = self.read_leader(node, office));
            let deferred = std::mem::take(&mut self.hosts[node].deferred);
            deferred.into_iter().for_each(|kind| self.handle_event(kind));
        }
    }

    /// A link that was cut in both directions works again.
    pub(crate) fn heal_link(&mut self, one: usize, other: usize) {
        self.cut.retain(|(from, to)| pair(*from, *to) != pair(one, other));
        self.disconnect(one, other);
    }

    /// Ends all faults.
    pub(crate) fn heal(&mut self) {
        let was_cut = std::mem::take(&mut self.cut);
        was_cut.into_iter().for_each(|(one, other)| self.disconnect(one, other));
        (0..self.size()).for_each(|node| {
            self.resume(node);
            self.repair_disk(node);
            self.heal_disk(node);
            if self.hosts[node].is_leaving {
                self.kill(node);
            }
            self.start(node);
            self.start_client(node);
        });
    }

    /// Which start of its process a host is in; `None` if it does not run, or is frozen.
    pub(crate) fn process_of(&self, node: usize) -> Option<u64> {
        let host = &self.hosts[node];
        (host.core.is_some() && !host.frozen).then_some(host.incarnation)
    }

    pub(crate) fn is_running(&self, node: usize) -> bool {
        self.hosts[node].core.is_some()
    }

    /// The leader of the arbiter, as known to a node.
    pub(crate) fn arbiter_leader(&self, node: usize) -> Option<usize> {
        let core = self.hosts[node].core.as_ref()?;
        core.arbiter_leader().map(|id| id.0 as usize - 1)
    }

    /// The highest version of the formats that a node may write, as far as it knows.
    pub(crate) fn version(&self) -> u8 {
        let cores = self.hosts.iter().filter_map(|host| host.core.as_ref());
        cores.map(Core::version).max().unwrap_or(0)
    }

    /// The state of all cores, for failure messages.
    pub(crate) fn debug_state(&self) -> String {
        let cores = self.hosts.iter().filter_map(|host| host.core.as_ref());
        cores.map(|core| format!("{core:#?}\n")).collect()
    }

    /// Checks that all nodes name the same holder after a time without faults, and the best node if preemption is on.
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
