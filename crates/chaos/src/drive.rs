//! Drives a run: starts everything, breaks and mends by the schedule, and notes it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::client::{Part, Player};
use crate::clock::{self, HostClock, MILLISECOND};
use crate::history::{Event, Facts, Recorder};
use crate::net::Links;
use crate::reader;
use crate::rng::Rng;
use crate::scene::Scene;
use crate::schedule::{Aim, Episode, Kind, Schedule, Step};
use crate::setup::Cluster;
use crate::socket::Socket;
use crate::watchdog;
use crate::world::{Damage, World};

/// How long the nodes have to answer for the first time, and clients to campaign again before a calm.
const PATIENCE: u64 = 20_000 * MILLISECOND;
/// How often the driver looks whether somebody ended or interrupted it.
const LOOKS: Duration = Duration::from_millis(10);

/// What a run came to, besides its record.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcome {
    /// How many episodes of each kind there were.
    pub(crate) faults: BTreeMap<Kind, u64>,
    /// The greatest term of the arbiter that anybody was told.
    pub(crate) terms: u64,
    /// What went wrong that no record shows: nodes that ended of themselves, clients that were refused.
    pub(crate) problems: Vec<String>,
    /// Why something could not be judged: the machine stood still.
    pub(crate) stalled: Option<String>,
    /// Whether somebody interrupted it.
    pub(crate) interrupted: bool,
}

/// A run under way. The clients are told to end when it is dropped, the nodes are killed.
pub(crate) struct Drive<'a> {
    facts: Facts,
    schedule: Schedule,
    cluster: Cluster,
    recorder: Arc<Recorder>,
    scene: Arc<Scene>,
    players: Vec<Player>,
    readers: Vec<JoinHandle<()>>,
    world: World,
    /// At whom running episodes turned out to be aimed.
    aimed: BTreeMap<usize, usize>,
    majority: bool,
    interrupt: &'a AtomicBool,
    progress: &'a dyn Fn(&str),
    outcome: Outcome,
}

impl<'a> Drive<'a> {
    /// Ready to start; the record is written to this file.
    pub(crate) fn new(
        cluster: Cluster,
        record: &Path,
        interrupt: &'a AtomicBool,
        progress: &'a dyn Fn(&str),
    ) -> io::Result<Self> {
        let recorder = Arc::new(Recorder::create(record)?);
        let facts = cluster.facts.clone();
        recorder.note(&Event::Facts(facts.clone()));
        Ok(Drive {
            schedule: Schedule::new(&cluster.plan),
            world: World::new(facts.nodes.len()),
            facts,
            scene: Arc::new(Scene::new(Arc::clone(&recorder), cluster.restless)),
            cluster,
            recorder,
            players: Vec::new(),
            readers: Vec::new(),
            aimed: BTreeMap::new(),
            majority: false,
            interrupt,
            progress,
            outcome: Outcome::default(),
        })
    }

    /// From the first start to the last stop.
    pub(crate) fn run(mut self, clients: u8) -> io::Result<Outcome> {
        self.start_nodes()?;
        self.readers.push(watchdog::start(&self.scene)?);
        // Where it is about who is elected, only what is broken changes that, and not the whims of clients.
        self.scene.set_calm(self.cluster.plan.late_mail);
        self.start_clients(clients)?;
        self.note_majority(true);
        let mut start = clock::now();
        let steps = self.schedule.steps.clone();
        for (at, step) in steps {
            if !self.wait_until(start + at * MILLISECOND)? {
                break;
            }
            match step {
                Step::Begin(index) => self.begin(index)?,
                Step::End(index) => self.end(index)?,
                Step::Calm => start += self.calm_down()?,
                Step::CalmOver => {
                    self.recorder.note(&Event::CalmOver { at: clock::now() });
                    self.scene.set_calm(self.cluster.plan.late_mail);
                }
            }
        }
        self.finish()
    }

    fn start_nodes(&mut self) -> io::Result<()> {
        self.cluster.net.set(&Links::open(self.facts.nodes.len()))?;
        (0..self.facts.nodes.len()).try_for_each(|node| self.start_node(node))?;
        let deadline = clock::now() + PATIENCE;
        for (node, socket) in self.cluster.sockets.iter().enumerate() {
            while Socket::connect(socket).and_then(|mut socket| reader::status(&mut socket)).is_err() {
                if let Some(status) = self.cluster.nodes.ended(node)? {
                    return Err(io::Error::other(format!("{} ended: {status}", self.facts.nodes[node].name)));
                }
                if clock::now() > deadline {
                    return Err(io::Error::other(format!("{} does not answer", self.facts.nodes[node].name)));
                }
                thread::sleep(LOOKS);
            }
        }
        Ok(())
    }

    fn start_node(&mut self, node: usize) -> io::Result<()> {
        let pid = self.cluster.nodes.start(node)?;
        self.cluster.net.set_process(node, pid);
        Ok(())
    }

    fn start_clients(&mut self, clients: u8) -> io::Result<()> {
        let offices: Vec<String> = self.facts.offices.iter().map(|office| office.name.clone()).collect();
        for (index, node) in self.facts.nodes.iter().enumerate() {
            let socket = &self.cluster.sockets[index];
            for (place, office) in self.facts.offices.iter().enumerate() {
                for number in 0..usize::from(clients) {
                    let purpose = 1000 + (index * 100 + place * 10 + number) as u64;
                    let part = Part {
                        node: node.name.clone(),
                        number,
                        office: office.name.clone(),
                        exclusive: office.exclusive,
                        socket: socket.clone(),
                        clock: HostClock { ppm: node.ppm },
                        rng: Rng::of(self.facts.seed, purpose),
                    };
                    self.players.push(Player::start(&self.scene, part)?);
                }
            }
            let reader = reader::start(&self.scene, node.name.clone(), socket.clone(), offices.clone())?;
            self.readers.push(reader);
        }
        Ok(())
    }

    /// False if somebody interrupts.
    fn wait_until(&mut self, moment: u64) -> io::Result<bool> {
        loop {
            self.look_after_nodes()?;
            if self.interrupt.load(Ordering::Relaxed) {
                self.outcome.interrupted = true;
                return Ok(false);
            }
            let now = clock::now();
            if now >= moment {
                return Ok(true);
            }
            thread::sleep(Duration::from_nanos(moment - now).min(LOOKS));
        }
    }

    /// A node that ends though nobody killed it is a problem; it is started again all the same.
    fn look_after_nodes(&mut self) -> io::Result<()> {
        for node in 0..self.facts.nodes.len() {
            if self.world.ill(node) {
                continue;
            }
            if let Some(status) = self.cluster.nodes.ended(node)? {
                let name = self.facts.nodes[node].name.clone();
                let what = format!("{name} ended though nobody killed it: {status}");
                self.note_fault("ended", &what);
                // One that ends again and again is told once.
                if !self.outcome.problems.contains(&what) {
                    (self.progress)(&what);
                    self.outcome.problems.push(what);
                }
                self.start_node(node)?;
            }
        }
        Ok(())
    }

    /// The node an episode is aimed at.
    fn whom(&self, episode: &Episode) -> Option<usize> {
        let named = match episode.aim {
            Aim::Node(_) => None,
            Aim::Holder(office) => {
                self.facts.offices.get(office).and_then(|office| self.recorder.last_holder(&office.name))
            }
            Aim::Arbiter => self.scene.arbiter().1,
        };
        let found = named.and_then(|name| self.facts.nodes.iter().position(|node| node.name == name));
        let wanted = match episode.aim {
            Aim::Node(node) => node,
            // Nobody yet.
            _ => found.unwrap_or(episode.order[0]),
        };
        let breaks_node = !Damage::of(episode, wanted).ill.is_empty();
        if breaks_node { self.world.first_well(wanted) } else { Some(wanted) }
    }

    fn begin(&mut self, index: usize) -> io::Result<()> {
        let episode = self.schedule.episodes[index].clone();
        let Some(whom) = self.whom(&episode) else { return Ok(()) };
        let damage = Damage::of(&episode, whom);
        self.note_fault(episode.kind.name(), &self.describe(&episode, whom, &damage));
        *self.outcome.faults.entry(episode.kind).or_default() += 1;
        self.aimed.insert(index, whom);
        let ill = damage.ill.clone();
        let links = !damage.links.is_empty();
        self.world.begin(index, damage);
        self.note_majority(false);
        if links {
            self.cluster.net.set(&self.world.links())?;
        }
        match episode.kind {
            Kind::Kill | Kind::KillAll | Kind::HostAway | Kind::WallClock => {
                ill.into_iter().try_for_each(|node| self.cluster.nodes.kill(node))
            }
            Kind::Freeze => self.cluster.nodes.freeze(whom),
            Kind::DiskFull | Kind::Blackout => ill.into_iter().try_for_each(|node| self.fill_disk(node)),
            Kind::Wipe => {
                self.cluster.nodes.kill(whom)?;
                self.cluster.forget(whom)
            }
            Kind::CutClosed | Kind::CutSilent | Kind::OneWay | Kind::Overlap | Kind::Slow => Ok(()),
        }
    }

    fn end(&mut self, index: usize) -> io::Result<()> {
        let Some(whom) = self.aimed.remove(&index) else { return Ok(()) };
        let Some(damage) = self.world.end(index) else { return Ok(()) };
        let episode = self.schedule.episodes[index].clone();
        self.note_fault("mend", &format!("{} of {}", episode.kind, self.facts.nodes[whom].name));
        if !damage.links.is_empty() {
            self.cluster.net.set(&self.world.links())?;
        }
        match episode.kind {
            Kind::Kill | Kind::KillAll | Kind::HostAway => {
                damage.ill.into_iter().try_for_each(|node| self.start_node(node))?;
            }
            Kind::WallClock => {
                self.cluster.shift_wall_clock(whom, episode.amount);
                self.start_node(whom)?;
            }
            Kind::Freeze => self.cluster.nodes.thaw(whom)?,
            Kind::Blackout => {
                // All are dead before the first of them can write again.
                damage.ill.iter().try_for_each(|node| self.cluster.nodes.kill(*node))?;
                damage.ill.iter().try_for_each(|node| self.cluster.disks.free(*node))?;
                damage.ill.into_iter().try_for_each(|node| self.start_node(node))?;
            }
            Kind::DiskFull => {
                self.cluster.disks.free(whom)?;
                self.cluster.nodes.limit(whom, None)?;
                // It may have stopped because it could not write: that is allowed.
                if self.cluster.nodes.ended(whom)?.is_some() {
                    self.start_node(whom)?;
                }
            }
            Kind::Wipe => {
                self.cluster.admit(whom)?;
                self.start_node(whom)?;
            }
            Kind::CutClosed | Kind::CutSilent | Kind::OneWay | Kind::Overlap | Kind::Slow => {}
        }
        self.note_majority(true);
        Ok(())
    }

    /// No write succeeds any more: the disk is full, and because nodes keep room in reserve, files may not be written.
    fn fill_disk(&mut self, node: usize) -> io::Result<()> {
        self.cluster.disks.fill(node)?;
        self.cluster.nodes.limit(node, Some(0))
    }

    /// Everything is mended: waits until all clients campaign. How long that took, in nanoseconds.
    fn calm_down(&mut self) -> io::Result<u64> {
        let began = clock::now();
        self.scene.set_calm(true);
        while !self.players.iter().all(Player::engaged) {
            if !self.wait_until(clock::now() + 5 * MILLISECOND)? {
                return Ok(0);
            }
            if clock::now() > began + PATIENCE {
                let waiting = self.players.iter().filter(|player| !player.engaged()).count();
                let what = format!("{waiting} clients could not campaign though everything was mended");
                match self.scene.stalled_since(began) {
                    true => self.outcome.stalled = Some(format!("{what}: the machine stalled")),
                    false => self.outcome.problems.push(what),
                }
                break;
            }
        }
        let now = clock::now();
        self.recorder.note(&Event::Calm { at: now });
        let faults: u64 = self.outcome.faults.values().sum();
        (self.progress)(&format!("calm after {faults} faults"));
        Ok(now - began)
    }

    fn finish(mut self) -> io::Result<Outcome> {
        self.scene.end();
        // The nodes first: a client may be stuck in a connection that nobody takes.
        let stopped = self.cluster.nodes.stop(Duration::from_secs(5));
        for player in self.players.drain(..) {
            player.join()?;
        }
        for reader in self.readers.drain(..) {
            reader.join().map_err(|_| io::Error::other("a reader panicked"))?;
        }
        stopped?;
        self.recorder.finish()?;
        self.outcome.terms = self.scene.arbiter().0;
        Ok(std::mem::take(&mut self.outcome))
    }

    fn note_fault(&self, kind: &str, what: &str) {
        let (kind, what) = (kind.to_string(), what.to_string());
        self.recorder.note(&Event::Fault { kind, what, at: clock::now() });
    }

    /// Notes a change: losses before they are caused, gains after.
    fn note_majority(&mut self, gains: bool) {
        let well = self.world.majority_well();
        if well != self.majority && well == gains {
            self.majority = well;
            self.recorder.note(&Event::Majority { well, at: clock::now() });
        }
    }

    fn describe(&self, episode: &Episode, whom: usize, damage: &Damage) -> String {
        let name = |node: usize| self.facts.nodes[node].name.as_str();
        let links: Vec<String> =
            damage.links.iter().map(|(from, to, link)| format!("{}>{} {link:?}", name(*from), name(*to))).collect();
        format!("{} {} for {} ms {}", episode.kind, name(whom), episode.end - episode.begin, links.join(", "))
    }
}

impl Drop for Drive<'_> {
    fn drop(&mut self) {
        self.scene.end();
    }
}
