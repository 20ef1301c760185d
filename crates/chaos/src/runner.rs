//! One run: starts nodes and clients, injects and heals faults by the schedule, and records it.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use crate::active_faults::ActiveFaults;
use crate::client::{ClientSpec, ClientThread};
use crate::clock::{self, HostClock, MILLISECOND};
use crate::device::Device;
use crate::history::{Event, Recorder, Scenario};
use crate::holding::Campaign;
use crate::http_client::HttpClientSpec;
use crate::keeper;
use crate::loads::Loads;
use crate::net::Links;
use crate::operator::Operator;
use crate::reader;
use crate::rng::Rng;
use crate::schedule::{FaultKind, Schedule, Step};
use crate::setup::Cluster;
use crate::shared::Shared;
use crate::socket::Socket;
use crate::watchdog;

mod faults;
mod refusals;

use faults::MembershipChange;

/// How long nodes may take to answer for the first time, and clients to campaign again after all faults are healed.
const TIMEOUT: u64 = 20_000 * MILLISECOND;
/// How long clients may take to campaign again if the machine stalls meanwhile.
const MAX_STALLED: u64 = 3 * TIMEOUT;
/// How often the runner checks for exited nodes and interrupts.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// The result of a run, besides its history.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcome {
    /// How many faults of each kind were injected.
    pub(crate) faults: BTreeMap<FaultKind, u64>,
    /// The greatest known term of the arbiter.
    pub(crate) terms: u64,
    /// Violations that the history does not show: nodes that exited by themselves, clients that could not campaign.
    pub(crate) problems: Vec<String>,
    /// Why something could not be checked: the machine stalled.
    pub(crate) stalled: Option<String>,
    /// Whether the run was interrupted.
    pub(crate) interrupted: bool,
}

/// A run. When it is dropped, the clients stop and the nodes are killed.
pub(crate) struct Runner<'a> {
    scenario: Scenario,
    schedule: Schedule,
    cluster: Cluster,
    recorder: Arc<Recorder>,
    shared: Arc<Shared>,
    clients: Vec<ClientThread>,
    readers: Vec<JoinHandle<()>>,
    active_faults: ActiveFaults,
    /// The target of each active episode.
    targets: BTreeMap<usize, usize>,
    /// For requests, and for membership changes, which may take long.
    operators: Vec<Operator>,
    membership_change: Option<MembershipChange>,
    /// What burdens the nodes and the host.
    loads: Loads,
    has_majority: bool,
    interrupt: &'a AtomicBool,
    progress: &'a dyn Fn(&str),
    outcome: Outcome,
}

impl<'a> Runner<'a> {
    /// Prepares a run whose history is written to this file.
    pub(crate) fn new(
        cluster: Cluster,
        history: &Path,
        interrupt: &'a AtomicBool,
        progress: &'a dyn Fn(&str),
    ) -> io::Result<Self> {
        let recorder = Arc::new(Recorder::create(history)?);
        let scenario = cluster.scenario.clone();
        recorder.record(&Event::Scenario(scenario.clone()));
        let shared = Arc::new(Shared::new(Arc::clone(&recorder), cluster.has_churn));
        let operators =
            vec![Operator::start(&shared, cluster.workplace())?, Operator::start(&shared, cluster.workplace())?];
        Ok(Runner {
            schedule: Schedule::new(&cluster.plan),
            active_faults: ActiveFaults::new(scenario.nodes.len()),
            scenario,
            shared,
            operators,
            membership_change: None,
            loads: Loads::default(),
            cluster,
            recorder,
            clients: Vec::new(),
            readers: Vec::new(),
            targets: BTreeMap::new(),
            has_majority: false,
            interrupt,
            progress,
            outcome: Outcome::default(),
        })
    }

    /// Runs from the start of the nodes to their stop.
    pub(crate) fn run(mut self, clients: u8, http_clients: u8) -> io::Result<Outcome> {
        self.start_nodes()?;
        let (watched, recorded) = (Arc::clone(&self.shared), Arc::clone(&self.shared));
        let watchdog = watchdog::start(
            watchdog::STALL,
            move || watched.is_over(),
            move |from, at| recorded.record_stall(from, at),
        );
        self.readers.push(watchdog?);
        // A schedule with delayed messages tests who is elected. Clients must not change that by withdrawing.
        self.shared.set_recovering(self.cluster.plan.delayed_messages);
        self.start_clients(clients)?;
        self.start_http_clients(http_clients)?;
        self.record_majority(true);
        let mut start = clock::now();
        let steps = self.schedule.steps.clone();
        for (at, step) in steps {
            if !self.wait_until(start + at * MILLISECOND)? {
                break;
            }
            match step {
                Step::Begin(index) => self.begin(index)?,
                Step::End(index) => self.end(index)?,
                Step::Recovery => start += self.begin_recovery()?,
                Step::RecoveryOver => {
                    self.recorder.record(&Event::RecoveryOver { at: clock::now() });
                    self.shared.set_recovering(self.cluster.plan.delayed_messages);
                }
            }
        }
        self.finish()
    }

    fn start_nodes(&mut self) -> io::Result<()> {
        self.cluster.net.set_links(&Links::open(self.scenario.nodes.len()))?;
        (0..self.scenario.nodes.len()).try_for_each(|node| self.start_node(node))?;
        let deadline = clock::now() + TIMEOUT;
        for (node, socket) in self.cluster.sockets.iter().enumerate() {
            while Socket::connect(socket).and_then(|mut socket| reader::status(&mut socket)).is_err() {
                if let Some(status) = self.cluster.nodes.take_exit_status(node)? {
                    return Err(io::Error::other(format!("{} exited: {status}", self.scenario.nodes[node].name)));
                }
                if clock::now() > deadline {
                    return Err(io::Error::other(format!("{} does not answer", self.scenario.nodes[node].name)));
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
        Ok(())
    }

    fn start_node(&mut self, node: usize) -> io::Result<()> {
        self.cluster.nodes.kill(node)?;
        // What it reads now is what its disk holds, not what the kernel remembers.
        self.cluster.disks.device(node).map_or(Ok(()), Device::remount)?;
        let pid = self.cluster.nodes.start(node)?;
        self.cluster.net.set_process(node, pid);
        Ok(())
    }

    fn start_clients(&mut self, clients: u8) -> io::Result<()> {
        let offices: Vec<String> = self.scenario.offices.iter().map(|office| office.name.clone()).collect();
        for (index, node) in self.scenario.nodes.iter().enumerate() {
            let socket = &self.cluster.sockets[index];
            for (place, office) in self.scenario.offices.iter().enumerate() {
                for number in 0..usize::from(clients) {
                    let purpose = 1000 + (index * 100 + place * 10 + number) as u64;
                    let spec = ClientSpec {
                        node: node.name.clone(),
                        number,
                        office: office.name.clone(),
                        exclusive: office.exclusive,
                        socket: socket.clone(),
                        clock: HostClock { ppm: node.ppm },
                        rng: Rng::for_purpose(self.scenario.seed, purpose),
                    };
                    self.clients.push(ClientThread::start(&self.shared, spec)?);
                }
            }
            let reader = reader::start(&self.shared, node.name.clone(), socket.clone(), offices.clone())?;
            self.readers.push(reader);
            if self.scenario.arbiter {
                let rng = Rng::for_purpose(self.scenario.seed, 7000 + index as u64);
                let keeper = keeper::start(&self.shared, node.name.clone(), socket.clone(), offices.clone(), rng)?;
                self.readers.push(keeper);
            }
        }
        Ok(())
    }

    /// Starts the clients of the HTTP API. Without an arbiter there are no leases, on which sessions depend.
    fn start_http_clients(&mut self, clients: u8) -> io::Result<()> {
        if !self.scenario.arbiter {
            return Ok(());
        }
        // A session counts on no more drift than the configuration allows.
        let max_ppm = u64::from(self.scenario.drift_ppm / 10 * 9);
        let (min_ttl, max_ttl) = self.cluster.session_ttl;
        for (index, node) in self.scenario.nodes.iter().enumerate() {
            for number in 0..usize::from(clients) {
                let office = &self.scenario.offices[(index + number) % self.scenario.offices.len()];
                let mut rng = Rng::for_purpose(self.scenario.seed, 5000 + (index * 10 + number) as u64);
                let ppm = rng.range(0, 2 * max_ppm) as i32 - max_ppm as i32;
                let spec = HttpClientSpec {
                    campaign: Campaign {
                        node: node.name.clone(),
                        office: office.name.clone(),
                        exclusive: office.exclusive,
                    },
                    number,
                    address: self.cluster.apis[index],
                    namespace: self.cluster.net.namespace(index),
                    clock: HostClock { ppm },
                    ttl_ms: rng.log_uniform(min_ttl, max_ttl),
                    rng,
                };
                self.clients.push(spec.start(&self.shared)?);
            }
        }
        Ok(())
    }

    /// Waits until a moment. Returns false if the run is interrupted.
    fn wait_until(&mut self, moment: u64) -> io::Result<bool> {
        loop {
            self.restart_exited_nodes()?;
            self.handle_finished_tasks()?;
            if self.interrupt.load(Ordering::Relaxed) {
                self.outcome.interrupted = true;
                return Ok(false);
            }
            let now = clock::now();
            if now >= moment {
                return Ok(true);
            }
            thread::sleep(Duration::from_nanos(moment - now).min(POLL_INTERVAL));
        }
    }

    /// Restarts nodes that exited by themselves, and reports them.
    fn restart_exited_nodes(&mut self) -> io::Result<()> {
        for node in 0..self.scenario.nodes.len() {
            if self.active_faults.is_impaired(node) {
                continue;
            }
            if let Some(status) = self.cluster.nodes.take_exit_status(node)? {
                let name = self.scenario.nodes[node].name.clone();
                let what = format!("{name} exited by itself: {status}");
                self.record_fault("exited", &what);
                // A node that exits again and again is reported once.
                if !self.outcome.problems.contains(&what) {
                    (self.progress)(&what);
                    self.outcome.problems.push(what);
                }
                self.start_node(node)?;
            }
        }
        Ok(())
    }

    /// What is still missing before the recovery phase can begin, if anything.
    fn obstacle(&self) -> Option<String> {
        if let Some(change) = &self.membership_change {
            return Some(format!("{change} was not completed"));
        }
        if !self.operators.iter().all(Operator::is_idle) {
            return Some("an operator's request was not carried out".to_string());
        }
        let waiting = self.clients.iter().filter(|client| !client.is_campaigning()).count();
        (waiting > 0).then(|| format!("{waiting} clients could not campaign"))
    }

    /// Waits until all clients campaign and operators are done, after all faults were healed. Returns how long that
    /// took, in nanoseconds.
    fn begin_recovery(&mut self) -> io::Result<u64> {
        let began = clock::now();
        self.recorder.record(&Event::Healed { at: began });
        self.shared.set_recovering(true);
        while let Some(obstacle) = self.obstacle() {
            if !self.wait_until(clock::now() + 5 * MILLISECOND)? {
                return Ok(0);
            }
            // After a stall of the machine the clients get the full time again, but not without end.
            let (now, undisturbed_since) = (clock::now(), began.max(self.shared.last_stall()));
            if now > undisturbed_since + TIMEOUT {
                self.outcome.problems.push(format!("{obstacle} although all faults were healed"));
                break;
            }
            if now > began + MAX_STALLED {
                self.outcome.stalled = Some(format!("{obstacle}: the machine stalled again and again"));
                break;
            }
        }
        let now = clock::now();
        self.recorder.record(&Event::Recovery { at: now });
        let faults: u64 = self.outcome.faults.values().sum();
        (self.progress)(&format!("recovery after {faults} faults"));
        Ok(now - began)
    }

    fn finish(mut self) -> io::Result<Outcome> {
        self.shared.end();
        // The nodes first: a client may be blocked on a connection that its node never accepts.
        let stopped = self.cluster.nodes.stop(Duration::from_secs(5));
        for client in self.clients.drain(..) {
            client.join()?;
        }
        for operator in self.operators.drain(..) {
            operator.join()?;
        }
        for reader in self.readers.drain(..) {
            reader.join().map_err(|_| io::Error::other("a reader panicked"))?;
        }
        stopped?;
        self.recorder.finish()?;
        self.outcome.terms = self.shared.arbiter().0;
        Ok(std::mem::take(&mut self.outcome))
    }

    fn record_fault(&self, kind: &str, what: &str) {
        let (kind, what) = (kind.to_string(), what.to_string());
        self.recorder.record(&Event::Fault { kind, what, at: clock::now() });
    }

    /// Records a change of the majority: a loss before it is caused, a gain after.
    fn record_majority(&mut self, gains: bool) {
        let healthy = self.active_faults.has_healthy_majority();
        if healthy != self.has_majority && healthy == gains {
            self.has_majority = healthy;
            self.recorder.record(&Event::Majority { healthy, at: clock::now() });
        }
    }
}

impl Drop for Runner<'_> {
    fn drop(&mut self) {
        self.shared.end();
    }
}
