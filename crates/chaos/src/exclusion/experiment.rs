//! One run: starts the hosts, injects and heals faults by the schedule, and records them.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use rustix::process::{Pid, Signal};
use serde_json::json;

use super::active::Active;
use super::options::ExclusionOptions;
use super::processes::{self, Handle};
use super::schedule::{Damage, Fault, Kind, Victim, schedule};
use super::site::Site;
use crate::clock::{self, MILLISECOND};
use crate::reader;
use crate::socket::Socket;
use crate::watchdog;
use hustings_cluster::api::NODE_KILL_MARGIN;

/// How long nodes may take to answer, and the command to start, when there is no fault.
const TIMEOUT: u64 = 20_000 * MILLISECOND;
/// How long nothing else happens where a guard was killed alone, in milliseconds: until the command is certainly gone.
const ALONE: u64 = 1_000;
/// The pause before `hustings run` is started again after it exited by itself.
const RESTART_PAUSE: u64 = 200 * MILLISECOND;
/// How often the state of processes is looked at. Short, because some faults hit a command that has just started.
const POLL_INTERVAL: Duration = Duration::from_millis(1);

/// The result of a run, besides the recordings.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Outcome {
    /// How many faults of each kind were injected.
    pub(crate) faults: BTreeMap<Damage, u64>,
    /// How many faults could not be injected, because too many others were active.
    pub(crate) skipped: u64,
    /// How often `hustings run` gave up at its start because its node was gone.
    pub(crate) gave_up: u64,
    /// Violations that the recordings do not show: processes that exited by themselves, a command that did not start.
    pub(crate) problems: Vec<String>,
    /// The number of stalls of the machine, and the longest in nanoseconds.
    pub(crate) stalls: (u64, u64),
    /// When the machine stalled for longer than the last killer has: the beginning and the end of each stall.
    pub(crate) stall_times: Vec<(u64, u64)>,
    /// Whether the run was interrupted.
    pub(crate) is_interrupted: bool,
}

/// What happens at a moment.
#[derive(Clone, Copy, Debug)]
enum Step {
    Begin(usize),
    End(usize),
    StartRun(usize),
}

/// A run.
pub(crate) struct Experiment<'a> {
    site: Site,
    faults: Vec<Fault>,
    active: Active,
    /// What happens when; the second number keeps those apart that happen at the same moment.
    steps: BTreeMap<(u64, usize), Step>,
    /// How many steps were planned.
    planned: usize,
    /// Faults that wait for the next start of a command.
    awaiting: Vec<usize>,
    /// The processes that each active fault has frozen, beside nodes and `run`.
    frozen: BTreeMap<usize, Vec<Handle>>,
    /// The `hustings run` process of each host.
    runs: Vec<Option<Pid>>,
    /// Whether that process has started a guardian, so that it must go on whatever happens to its node.
    is_guarded: Vec<bool>,
    /// The command of each host, when it was last looked at.
    commands: Vec<Option<Pid>>,
    /// The host whose command started last.
    holder: usize,
    log: File,
    stalls: Arc<Mutex<Vec<(u64, u64)>>>,
    last_stall: Arc<AtomicU64>,
    is_over: Arc<AtomicBool>,
    interrupt: &'a AtomicBool,
    outcome: Outcome,
}

impl<'a> Experiment<'a> {
    /// Prepares a run whose faults are logged to this file.
    pub(crate) fn new(
        options: &ExclusionOptions,
        site: Site,
        log: &Path,
        interrupt: &'a AtomicBool,
    ) -> io::Result<Self> {
        let hosts = site.names.len();
        let max_frozen = if options.breaks.is_some() { 3 } else { usize::from(options.max_frozen) };
        Ok(Experiment {
            faults: schedule(options),
            active: Active::new(hosts, max_frozen).with_kills_alone(!options.containment.ends_with_its_guards()),
            steps: BTreeMap::new(),
            planned: 0,
            awaiting: Vec::new(),
            frozen: BTreeMap::new(),
            runs: vec![None; hosts],
            is_guarded: vec![false; hosts],
            commands: vec![None; hosts],
            holder: 0,
            log: File::create(log)?,
            stalls: Arc::default(),
            last_stall: Arc::default(),
            is_over: Arc::default(),
            site,
            interrupt,
            outcome: Outcome::default(),
        })
    }

    /// Runs from the start of the hosts to their stop.
    pub(crate) fn run(mut self) -> io::Result<Outcome> {
        let watchdog = self.start_watchdog()?;
        self.start_hosts()?;
        let start = clock::now();
        for index in 0..self.faults.len() {
            self.plan(start + self.faults[index].at * MILLISECOND, Step::Begin(index));
        }
        let end = start + self.faults.last().map_or(0, |fault| fault.at) * MILLISECOND;
        while clock::now() <= end && self.poll()? {}
        if !self.outcome.is_interrupted {
            self.heal()?;
            self.check_recovery()?;
        }
        self.site.runs.stop(Duration::from_secs(5))?;
        self.site.nodes.stop(Duration::from_secs(5))?;
        self.is_over.store(true, Ordering::Relaxed);
        watchdog.join().map_err(|_| io::Error::other("the watchdog panicked"))?;
        let times = std::mem::take(&mut *self.stalls.lock().unwrap_or_else(PoisonError::into_inner));
        let lengths = times.iter().map(|(from, at)| at - from).filter(|length| *length > watchdog::STALL);
        self.outcome.stalls = lengths.fold((0, 0), |(count, longest), length| (count + 1, longest.max(length)));
        self.outcome.stall_times = times;
        Ok(std::mem::take(&mut self.outcome))
    }

    fn start_watchdog(&self) -> io::Result<thread::JoinHandle<()>> {
        let (is_over, stalls, last) =
            (Arc::clone(&self.is_over), Arc::clone(&self.stalls), Arc::clone(&self.last_stall));
        let shortest = NODE_KILL_MARGIN.as_nanos() as u64;
        watchdog::start(
            shortest,
            move || is_over.load(Ordering::Relaxed),
            move |from, at| {
                stalls.lock().unwrap_or_else(PoisonError::into_inner).push((from, at));
                if at - from > watchdog::STALL {
                    last.store(at, Ordering::Relaxed);
                }
            },
        )
    }

    fn start_hosts(&mut self) -> io::Result<()> {
        for host in 0..self.site.names.len() {
            self.start_node(host)?;
        }
        let deadline = clock::now() + TIMEOUT;
        for host in 0..self.site.names.len() {
            let socket = &self.site.sockets[host];
            while Socket::connect(socket).and_then(|mut socket| reader::status(&mut socket)).is_err() {
                if let Some(status) = self.site.nodes.take_exit_status(host)? {
                    return Err(io::Error::other(format!("the node of {} exited: {status}", self.site.names[host])));
                }
                if clock::now() > deadline {
                    return Err(io::Error::other(format!("the node of {} does not answer", self.site.names[host])));
                }
                thread::sleep(POLL_INTERVAL);
            }
        }
        for host in 0..self.site.names.len() {
            self.start_run(host)?;
        }
        while self.commands.iter().all(Option::is_none) {
            if clock::now() > deadline {
                return Err(io::Error::other("no command was started; the logs of `hustings run` say why"));
            }
            if !self.poll()? {
                return Ok(());
            }
        }
        Ok(())
    }

    fn start_node(&mut self, host: usize) -> io::Result<()> {
        let pid = self.site.nodes.start(host)?;
        self.site.net.set_process(host, pid);
        Ok(())
    }

    fn start_run(&mut self, host: usize) -> io::Result<()> {
        self.runs[host] = Some(self.site.runs.start(host)?);
        self.is_guarded[host] = false;
        Ok(())
    }

    fn plan(&mut self, at: u64, step: Step) {
        self.planned += 1;
        self.steps.insert((at, self.planned), step);
    }

    /// Does what is due, and waits a moment. Returns false if the run is interrupted.
    fn poll(&mut self) -> io::Result<bool> {
        if self.interrupt.load(Ordering::Relaxed) {
            self.outcome.is_interrupted = true;
            return Ok(false);
        }
        self.look_at_commands()?;
        self.restart_exited()?;
        while let Some(entry) = self.steps.first_entry().filter(|entry| entry.key().0 <= clock::now()) {
            match entry.remove() {
                Step::Begin(index) if self.faults[index].awaits_start => self.awaiting.push(index),
                Step::Begin(index) => {
                    let fault = &self.faults[index];
                    let wanted = if fault.hits_holder { self.holder } else { fault.host };
                    match self.active.find_host(wanted, fault.damage) {
                        Some(host) => self.begin(index, host)?,
                        None => self.outcome.skipped += 1,
                    }
                }
                Step::End(index) => self.end(index)?,
                Step::StartRun(host) if !self.active.is_down(host, Victim::Run) => self.start_run(host)?,
                Step::StartRun(_) => {}
            }
        }
        thread::sleep(POLL_INTERVAL);
        Ok(true)
    }

    /// Notices commands that have started, and begins faults that wait for it.
    fn look_at_commands(&mut self) -> io::Result<()> {
        for host in 0..self.site.names.len() {
            let guardian = self.runs[host].and_then(processes::first_child);
            self.is_guarded[host] |= guardian.is_some();
            let command = guardian.and_then(processes::first_child);
            let has_started = command.is_some() && command != self.commands[host];
            self.commands[host] = command;
            if !has_started {
                continue;
            }
            self.holder = host;
            let allowed = |index: &usize| self.active.allows(host, self.faults[*index].damage);
            if let Some(place) = self.awaiting.iter().position(allowed) {
                let index = self.awaiting.remove(place);
                self.begin(index, host)?;
            }
        }
        Ok(())
    }

    /// Handles processes that have exited by themselves.
    fn restart_exited(&mut self) -> io::Result<()> {
        for host in 0..self.site.names.len() {
            if let Some(status) = self.site.nodes.take_exit_status(host)? {
                self.report_problem(format!("the node of {} exited by itself: {status}", self.site.names[host]));
                self.start_node(host)?;
            }
            if let Some(status) = self.site.runs.take_exit_status(host)? {
                self.runs[host] = None;
                match status.code() {
                    Some(3) if !self.is_guarded[host] => self.outcome.gave_up += 1,
                    _ => self.report_problem(format!("`run` of {} exited by itself: {status}", self.site.names[host])),
                }
                self.plan(clock::now() + RESTART_PAUSE, Step::StartRun(host));
            }
        }
        Ok(())
    }

    fn report_problem(&mut self, what: String) {
        // One that happens again and again is reported once.
        if !self.outcome.problems.contains(&what) {
            crate::say(&what);
            self.outcome.problems.push(what);
        }
    }

    fn log(&mut self, host: usize, damage: Damage, event: &str) -> io::Result<()> {
        let (host, kind) = (&self.site.names[host], damage.name());
        writeln!(self.log, "{}", json!({ "at": clock::now(), "host": host, "kind": kind, "event": event }))
    }
}

/// Faults.
impl Experiment<'_> {
    fn begin(&mut self, index: usize, host: usize) -> io::Result<()> {
        let Fault { damage, length, awaits_start, .. } = self.faults[index];
        let kind = damage.kind;
        for victim in kind.victims() {
            self.hit(index, host, kind, *victim)?;
        }
        self.log(host, damage, if awaits_start { "begin-at-start" } else { "begin" })?;
        *self.outcome.faults.entry(damage).or_default() += 1;
        let is_alone = self.active.must_be_alone(kind);
        let length = if is_alone { length.max(ALONE) } else { length };
        // What starts again by itself needs no end.
        if is_alone || !matches!(kind, Kind::KillGuardian | Kind::KillCommand) {
            self.active.begin(index, host, damage);
            self.plan(clock::now() + length * MILLISECOND, Step::End(index));
        }
        if damage.has_cut {
            self.site.net.set_links(&self.active.links())?;
        }
        Ok(())
    }

    fn hit(&mut self, index: usize, host: usize, kind: Kind, victim: Victim) -> io::Result<()> {
        match (victim, kind.kills()) {
            (Victim::Node, true) => self.site.nodes.kill(host),
            (Victim::Node, false) => self.site.nodes.freeze(host),
            (Victim::Run, true) => {
                self.runs[host] = None;
                self.site.runs.kill(host)
            }
            (Victim::Run, false) => self.site.runs.freeze(host),
            (Victim::Guardian | Victim::Command, kills) => {
                let find = if victim == Victim::Guardian { processes::guardian } else { processes::command };
                let Some(handle) = self.runs[host].and_then(find) else { return Ok(()) };
                if kills {
                    return handle.signal(Signal::KILL);
                }
                handle.signal(Signal::STOP)?;
                self.frozen.entry(index).or_default().push(handle);
                Ok(())
            }
        }
    }

    fn end(&mut self, index: usize) -> io::Result<()> {
        let Some((host, damage)) = self.active.end(index) else { return Ok(()) };
        let kind = damage.kind;
        self.log(host, damage, "end")?;
        if damage.has_cut {
            self.site.net.set_links(&self.active.links())?;
        }
        for handle in self.frozen.remove(&index).unwrap_or_default() {
            handle.signal(Signal::CONT)?;
        }
        for victim in kind.victims() {
            match (victim, kind.kills()) {
                (Victim::Node, true) => self.start_node(host)?,
                (Victim::Node, false) => self.site.nodes.thaw(host)?,
                (Victim::Run, true) => self.start_run(host)?,
                (Victim::Run, false) => self.site.runs.thaw(host)?,
                (Victim::Guardian | Victim::Command, _) => {}
            }
        }
        Ok(())
    }

    /// Ends all faults.
    fn heal(&mut self) -> io::Result<()> {
        self.steps.retain(|_, step| matches!(step, Step::StartRun(_)));
        self.awaiting.clear();
        for index in self.active.indices() {
            self.end(index)?;
        }
        Ok(())
    }

    /// Waits until a command runs after all faults were healed.
    fn check_recovery(&mut self) -> io::Result<()> {
        let healed = clock::now();
        loop {
            if !self.poll()? || self.commands.iter().any(Option::is_some) {
                return Ok(());
            }
            // After a stall of the machine the hosts get the full time again.
            if clock::now() > healed.max(self.last_stall.load(Ordering::Relaxed)) + TIMEOUT {
                self.report_problem("no command runs although all faults were healed".to_string());
                return Ok(());
            }
        }
    }
}
