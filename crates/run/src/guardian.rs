//! The guardian's process: the node's client, and the parent of the command.
//!
//! It is small and does nothing but this, so that it is never late. It has one thread.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::PathBuf;
use std::process::Command;

use hustings_cluster::api::{Reply, Request};
use hustings_cluster::clock::{Clock, Timestamp};
use hustings_cluster::node::NICE_VALUE;
use nix::sys::signal::{SigSet, Signal};
use rustix::process::{Pid, WaitId, WaitIdOptions, WaitOptions, wait as wait_any, waitid};

use crate::containment::Containment;
use crate::deadline_file::{DeadlineFile, SharedDeadline};
use crate::messages::{COULD_NOT, CommandEnd, Event, Instruction, Outcome};
use crate::node_link::{LineBuffer, NodeLink, write_line};
use crate::spec::RunSpec;
use crate::tenure::{Action, Policy, Process, Tenure};
use crate::wake::{Signals, Timer, wait};

/// The signals that the guardian must not die or stop from.
const BLOCKED: [Signal; 12] = [
    Signal::SIGCHLD,
    Signal::SIGTERM,
    Signal::SIGINT,
    Signal::SIGQUIT,
    Signal::SIGHUP,
    Signal::SIGTSTP,
    Signal::SIGTTIN,
    Signal::SIGTTOU,
    Signal::SIGUSR1,
    Signal::SIGUSR2,
    Signal::SIGALRM,
    Signal::SIGPIPE,
];

/// What the guardian is given.
pub(crate) struct GuardianSetup {
    pub(crate) spec: RunSpec,
    pub(crate) socket: PathBuf,
    pub(crate) wait_until: Timestamp,
    /// What the command finds in its environment beside the token: the office, the node, the cluster.
    pub(crate) environment: Vec<(&'static str, String)>,
    /// Whether the command stays in the process group of `run`, because both are used from a terminal.
    pub(crate) shares_process_group: bool,
    /// The nice value of `run`, which the command gets.
    pub(crate) nice: i32,
    /// The signal mask of `run` when it was started, which the command gets.
    pub(crate) original_mask: SigSet,
    pub(crate) containment: Containment,
    pub(crate) deadline: DeadlineFile,
    pub(crate) parent: UnixStream,
}

struct Guardian {
    setup: GuardianSetup,
    clock: Clock,
    tenure: Tenure,
    link: Option<NodeLink>,
    instructions: LineBuffer,
    timer: Timer,
    signals: Signals,
    /// The processes that were started and have not ended.
    processes: BTreeMap<Process, Pid>,
    outcome: Option<Outcome>,
}

/// Runs as the guardian. The process ends with it.
pub(crate) fn run(setup: GuardianSetup) -> ! {
    let mut parent = setup.parent.try_clone();
    let outcome = Guardian::new(setup).and_then(Guardian::run);
    if let Ok(parent) = &mut parent {
        // Without an outcome, `run` ends what is left. Without the message, it does so as well.
        let event = match &outcome {
            Ok(outcome) => Event::Finished { outcome: outcome.clone() },
            Err(error) => Event::HookFailed { hook: "the guardian".to_string(), problem: error.to_string() },
        };
        let _ = parent.set_nonblocking(false);
        let _ = write_line(parent, &event);
    }
    std::process::exit(i32::from(if outcome.is_ok() { 0 } else { COULD_NOT }))
}

impl Guardian {
    fn new(setup: GuardianSetup) -> io::Result<Guardian> {
        setup.parent.set_nonblocking(true)?;
        // A guardian that gets no processor is late. Without the privilege it runs like everybody else.
        if setup.nice > NICE_VALUE {
            let _ = rustix::process::setpriority_process(None, NICE_VALUE);
        }
        // A name of its own for `ps`, as a courtesy.
        let _ = std::fs::write("/proc/self/comm", "hustings-guard");
        let spec = &setup.spec;
        let policy = Policy {
            office: spec.office.clone(),
            guard: setup.containment.guard(),
            grace: spec.grace,
            restart: spec.restart,
            once: spec.once.clone(),
            has_on_acquire: spec.on_acquire.is_some(),
            has_on_lose: spec.on_lose.is_some(),
            has_health: spec.health.is_some(),
            health_every: spec.health_every,
        };
        Ok(Guardian {
            tenure: Tenure::new(policy, setup.wait_until),
            setup,
            clock: Clock::new(),
            link: None,
            instructions: LineBuffer::default(),
            timer: Timer::new()?,
            signals: Signals::block(&BLOCKED)?,
            processes: BTreeMap::new(),
            outcome: None,
        })
    }

    fn run(mut self) -> io::Result<Outcome> {
        loop {
            self.act();
            if let Some(outcome) = self.outcome.take() {
                return Ok(outcome);
            }
            let link = self.link.as_ref().map(AsFd::as_fd);
            let descriptors = [link, Some(self.signals.as_fd()), Some(self.setup.parent.as_fd())];
            wait(&self.timer, self.tenure.poll_timeout(), &descriptors)?;
            // First of all: a guardian that was frozen may be too late for everything else.
            self.tenure.handle_time(self.clock.now());
            self.act();
            // Signals are for `run` and the command. Here they only wake the loop when a child has ended.
            while self.signals.read().is_some() {}
            self.reap();
            self.act();
            self.receive();
            self.act();
            self.obey();
        }
    }

    /// Performs the decisions.
    fn act(&mut self) {
        while let Some(action) = self.tenure.poll_action() {
            let now = self.clock.now();
            match action {
                Action::Connect => match NodeLink::connect(&self.setup.socket) {
                    Ok(link) => {
                        self.link = Some(link);
                        self.tenure.handle_connected();
                    }
                    Err(_) => self.tenure.handle_disconnected(now),
                },
                Action::Disconnect => self.link = None,
                Action::Send(request) => {
                    let is_campaign = matches!(request, Request::Campaign { .. });
                    let passed = is_campaign.then(|| self.setup.containment.kill_file()).flatten();
                    let sent = self.link.as_mut().map(|link| match passed {
                        Some(file) => link.send_with(&request, &self.setup.spec.office, file.into()),
                        None => link.send(&request),
                    });
                    if !matches!(sent, Some(Ok(()))) {
                        self.link = None;
                        self.tenure.handle_disconnected(now);
                    }
                }
                Action::SetDeadline(deadline) => {
                    let shared = SharedDeadline { deadline, token: self.tenure.token() };
                    // Memory that is there cannot fail to be written.
                    let _ = self.setup.deadline.write(shared);
                }
                Action::Start(process, token) => match self.start(process, token) {
                    Ok(()) => self.tenure.handle_started(process),
                    Err(error) => {
                        let problem = self.describe_start_failure(process, &error);
                        self.tenure.handle_start_failed(process, problem, now);
                        self.check_empty();
                    }
                },
                Action::Signal(signal) => self.signal(signal),
                Action::Kill(process) => {
                    if let Some(pid) = self.processes.get(&process) {
                        let _ = rustix::process::kill_process(*pid, rustix::process::Signal::KILL);
                    }
                }
                Action::KillAll => {
                    self.setup.containment.kill_from_inside();
                    self.check_empty();
                }
                Action::Report(event) => {
                    // If `run` is frozen for so long that nothing fits, it misses some lines of its log.
                    let _ = write_line(&mut self.setup.parent, &event);
                }
                Action::Finish(outcome) => self.outcome = Some(outcome),
            }
        }
    }

    /// Handles what the node sent.
    fn receive(&mut self) {
        let Some(link) = &mut self.link else { return };
        let mut replies: Vec<Reply> = Vec::new();
        let is_over = link.receive(&mut replies).is_err();
        for reply in replies {
            self.tenure.handle_reply(reply, self.clock.now());
            self.act();
        }
        if is_over && self.link.take().is_some() {
            self.tenure.handle_disconnected(self.clock.now());
        }
    }

    /// Handles what `run` sent.
    fn obey(&mut self) {
        let is_over = self.instructions.fill(&mut self.setup.parent).is_err();
        while let Some(line) = self.instructions.next_line() {
            if let Ok(Instruction::Signal { signal, is_delivered }) = serde_json::from_slice(&line) {
                self.tenure.handle_signal(signal, is_delivered, self.clock.now());
            }
        }
        if is_over {
            self.end_with_parent();
        }
    }

    /// `run` is gone: takes everything with it, and tells the node that it is gone.
    fn end_with_parent(&mut self) -> ! {
        loop {
            self.setup.containment.kill_from_inside();
            // Blocks until one of them has ended; they all got the signal.
            if wait_any(WaitOptions::empty()).is_err_and(|error| error == rustix::io::Errno::CHILD) {
                break;
            }
        }
        if let (Some(link), token @ 1..) = (&mut self.link, self.tenure.token()) {
            let office = self.setup.spec.office.clone();
            let _ = link.send(&Request::Stopped { office, token });
        }
        std::process::exit(i32::from(COULD_NOT))
    }

    /// Reaps the processes that have ended, orphans included.
    fn reap(&mut self) {
        while let Ok(Some((pid, status))) = wait_any(WaitOptions::NOHANG) {
            let end = match (status.exit_status(), status.terminating_signal()) {
                (Some(code), _) => CommandEnd::Code(code),
                (None, Some(signal)) => CommandEnd::Signal(signal),
                (None, None) => continue,
            };
            let found = self.processes.iter().find(|(_, known)| **known == pid).map(|(process, _)| *process);
            if let Some(process) = found {
                self.processes.remove(&process);
                self.tenure.handle_exit(process, end, self.clock.now());
                self.act();
            }
        }
        self.check_empty();
    }

    /// Tells whether no process is left.
    fn check_empty(&mut self) {
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if waitid(WaitId::All, peek).is_err_and(|error| error == rustix::io::Errno::CHILD) {
            self.processes.clear();
            self.tenure.handle_tree_empty(self.clock.now());
        }
    }
}

/// Processes.
impl Guardian {
    fn start(&mut self, process: Process, token: u64) -> io::Result<()> {
        let spec = &self.setup.spec;
        let shell = |script: &Option<OsString>| {
            let mut command = Command::new("/bin/sh");
            command.arg("-c").arg(script.clone().unwrap_or_default());
            command
        };
        let mut command = match process {
            Process::Command => {
                let mut command = Command::new(&spec.command[0]);
                command.args(&spec.command[1..]);
                command
            }
            Process::OnAcquire => shell(&spec.on_acquire),
            Process::OnLose => shell(&spec.on_lose),
            Process::Health => shell(&spec.health),
        };
        command.env("HUSTINGS_TOKEN", token.to_string());
        for (name, value) in &self.setup.environment {
            command.env(name, value);
        }
        // `run` alone speaks to systemd.
        for name in ["NOTIFY_SOCKET", "WATCHDOG_USEC", "WATCHDOG_PID"] {
            command.env_remove(name);
        }
        if !self.setup.shares_process_group {
            command.process_group(0);
        }
        let cgroup = match &self.setup.containment {
            Containment::Cgroup(cgroup) => Some(cgroup.open_procs()?),
            Containment::PidNamespace | Containment::ProcessTree => None,
        };
        let (nice, mask) = (self.setup.nice, self.setup.original_mask);
        let enter = move || {
            mask.thread_set_mask()?;
            if let Some(cgroup) = &cgroup {
                // 0 is the writing process itself.
                (&*cgroup).write_all(b"0")?;
            }
            Ok(rustix::process::setpriority_process(None, nice)?)
        };
        // SAFETY: between fork and exec, the closure only makes system calls on values that it owns. It allocates
        // nothing and takes no lock.
        unsafe { command.pre_exec(enter) };
        let child = command.spawn()?;
        self.processes.insert(process, Pid::from_child(&child));
        Ok(())
    }

    fn describe_start_failure(&self, process: Process, error: &io::Error) -> String {
        match process {
            Process::Command => {
                format!("cannot start `{}`: {error}", self.setup.spec.command[0].display())
            }
            _ => format!("cannot start /bin/sh: {error}"),
        }
    }

    /// Sends a signal to the command, or to the hook that precedes it.
    fn signal(&self, signal: i32) {
        let target = self.processes.get(&Process::Command).or_else(|| self.processes.get(&Process::OnAcquire));
        let Some(pid) = target.map(|pid| pid.as_raw_nonzero().get()) else { return };
        let Ok(signal) = Signal::try_from(signal) else { return };
        // With a process group of its own, all of the group gets the signal; otherwise `run` would get it, too.
        let pid = if self.setup.shares_process_group { pid } else { -pid };
        let _ = nix::sys::signal::kill(nix::unistd::Pid::from_raw(pid), signal);
    }
}
