//! `run` itself: the guardian's parent. It passes signals on, keeps the log, and kills the tree if the guardian does
//! not.

mod late;
mod signals;

use std::io;
use std::os::fd::AsFd;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::time::Duration;

use hustings_cluster::api::{Client, ClientError, OfficeTerms, Reply, Request, RequestError};
use hustings_cluster::clock::{Clock, Timestamp};
use hustings_cluster::config::Mode;
use hustings_cluster::systemd::Systemd;
use nix::sys::signal::SigSet;
use rustix::process::{Pid, WaitOptions, wait as wait_any, waitpid};
use serde_json::json;

use self::signals::{HANDLED, ignored_signals};
use crate::containment::{ContainmentKind, Forked, GuardianProcess, fork_guardian};
use crate::deadline_file::DeadlineFile;
use crate::guardian::{self, GuardianSetup};
use crate::margins::RUN_KILL_MARGIN;
use crate::messages::{Event, Instruction, Outcome, StopReason};
use crate::node_link::{LineBuffer, write_line};
use crate::own_node::OwnNode;
use crate::report::{Log, LogFormat, status, write_status};
use crate::spec::{Requirement, Restart, RunSpec, TimingError, check_timing};
use crate::terminal::Terminal;
use crate::wake::{Signals, Timer, wait};

/// How long to wait for the node to come up, and for its answer.
const NODE_TIMEOUT: Duration = Duration::from_secs(5);
/// The pause before another guardian is started.
const GUARDIAN_RESTART: Duration = Duration::from_millis(200);

/// How to reach a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum NodeAccess {
    /// At this socket.
    Socket(PathBuf),
    /// At the socket of this configuration. If no node answers there, `run` starts one of its own.
    Config {
        /// The configuration file.
        file: PathBuf,
        /// The socket that it names.
        socket: PathBuf,
    },
}

/// Why nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum RunError {
    /// The time that the command has to stop does not fit into the lease.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// The node cannot be reached.
    #[error(transparent)]
    Node(#[from] ClientError),
    /// The node refused.
    #[error(transparent)]
    Rejected(RequestError),
    /// The node that `run` started has ended.
    #[error(
        "the node that was started for this command has ended; `hustings node` with the same configuration says why"
    )]
    OwnNode,
    /// No containment that the user accepts is possible.
    #[error("the command cannot be contained as required: {0}")]
    Containment(String),
    /// A system call failed.
    #[error("cannot {action}: {error}")]
    System {
        /// What was tried.
        action: &'static str,
        /// The error.
        error: io::Error,
    },
}

fn system(action: &'static str) -> impl Fn(io::Error) -> RunError {
    move |error| RunError::System { action, error }
}

/// Runs a command while an office is held. The process must have one thread, and should end with the outcome's exit
/// code.
pub fn run(spec: RunSpec, access: &NodeAccess, format: LogFormat) -> Result<Outcome, RunError> {
    let log = Log { office: spec.office.clone(), format };
    let ignored = ignored_signals().map_err(system("read the signals that are ignored"))?;
    let original_mask = SigSet::thread_get_mask().map_err(|error| system("read the signal mask")(error.into()))?;
    // What the caller ignores, as `nohup` does with SIGHUP, stays ignored.
    let handled: Vec<_> = HANDLED.into_iter().filter(|signal| !ignored.contains(*signal)).collect();
    let signals = Signals::block(&handled).map_err(system("block signals"))?;
    let (socket, own_node) = reach_node(access, original_mask, format)?;
    let terms = read_terms(&socket, &spec.office)?;
    check_timing(spec.grace, &terms)?;
    if terms.mode == Mode::Fenced {
        let message = "warning: the office is fenced, so the next command may start before this one has ended; \
                       whatever it writes to must reject lower tokens";
        log.say("fenced", message, json!({}));
    }
    let now = Clock::new().now();
    let wait_until = spec.wait.map_or(Timestamp::NEVER, |wait| now + wait);
    let terminal = Terminal::open();
    let mut supervisor = Supervisor {
        clock: Clock::new(),
        systemd: Systemd::new(spec.notify, now),
        timer: Timer::new().map_err(system("create a timer"))?,
        nice: rustix::process::getpriority_process(None).unwrap_or(0),
        spec,
        socket,
        terms,
        wait_until,
        log,
        signals,
        original_mask,
        shares_process_group: terminal.is_some(),
        own_node,
        has_node_ended: false,
        token: None,
        last_token: 0,
        owes_lose_hook: false,
    };
    let outcome = supervisor.supervise();
    supervisor.systemd.stopping();
    if let Some(node) = supervisor.own_node.take() {
        node.stop();
    }
    let outcome = outcome?;
    supervisor.log.outcome(&outcome);
    supervisor.publish("finished", Some(&outcome));
    drop(terminal);
    Ok(outcome)
}

/// Finds the node's socket. If no node is up there, starts one if it may be started, and waits for it.
fn reach_node(access: &NodeAccess, mask: SigSet, format: LogFormat) -> Result<(PathBuf, Option<OwnNode>), RunError> {
    let (file, socket) = match access {
        NodeAccess::Socket(socket) => return Ok((socket.clone(), None)),
        NodeAccess::Config { file, socket } => (file, socket),
    };
    if Client::connect(socket, Duration::ZERO).is_ok() {
        return Ok((socket.clone(), None));
    }
    let mut node = OwnNode::start(file, mask, format == LogFormat::Quiet).map_err(system("start a node"))?;
    let give_up_at = Clock::new().now() + NODE_TIMEOUT;
    loop {
        match Client::connect(socket, Duration::from_millis(50)) {
            Ok(client) if node.answers(&client) => return Ok((socket.clone(), Some(node))),
            // Another node was starting at the same time, and was faster.
            Ok(_) => {
                node.stop();
                return Ok((socket.clone(), None));
            }
            Err(error) if Clock::new().now() >= give_up_at => {
                node.stop();
                return Err(error.into());
            }
            // It may have ended because another one was starting at the same time.
            Err(_) if node.has_ended() => {
                let connected = Client::connect(socket, Duration::from_millis(500));
                return connected.map(|_| (socket.clone(), None)).map_err(|_| RunError::OwnNode);
            }
            Err(_) => {}
        }
    }
}

fn read_terms(socket: &std::path::Path, office: &str) -> Result<OfficeTerms, RunError> {
    let mut client = Client::connect(socket, NODE_TIMEOUT)?;
    match client.call(&Request::Terms { office: office.to_string() }, Some(NODE_TIMEOUT))? {
        Reply::Terms(terms) => Ok(terms),
        Reply::Error(error) => Err(RunError::Rejected(error)),
        _ => Err(RunError::Rejected(RequestError {
            code: "unexpected".to_string(),
            message: "the node gave an unexpected reply; does it run the same version of hustings?".to_string(),
        })),
    }
}

struct Supervisor {
    spec: RunSpec,
    socket: PathBuf,
    terms: OfficeTerms,
    wait_until: Timestamp,
    clock: Clock,
    timer: Timer,
    log: Log,
    signals: Signals,
    original_mask: SigSet,
    systemd: Systemd,
    nice: i32,
    shares_process_group: bool,
    own_node: Option<OwnNode>,
    /// Whether a node of our own has ended by itself.
    has_node_ended: bool,
    /// The token, while the office is held.
    token: Option<u64>,
    /// The token when the office was last acquired.
    last_token: u64,
    /// Whether the hook of `--on-acquire` may have run without that of `--on-lose`.
    owes_lose_hook: bool,
}

/// A guardian, and what connects `run` with it.
struct Guarded {
    process: GuardianProcess,
    stream: UnixStream,
    lines: LineBuffer,
    deadline: DeadlineFile,
    outcome: Option<Outcome>,
    /// Whether it says nothing more.
    is_closed: bool,
    /// Whether `run` had to kill it.
    is_killed: bool,
}

impl Supervisor {
    fn supervise(&mut self) -> Result<Outcome, RunError> {
        let mut is_first = true;
        loop {
            let mut guarded = self.fork()?;
            if is_first {
                let kind = guarded.process.kind();
                let message = format!("the command's processes are contained by: {kind}");
                self.log.say("contained", &message, json!({ "containment": kind.name() }));
                is_first = false;
            }
            self.watch(&mut guarded)?;
            if let Some(outcome) = guarded.outcome.take() {
                self.run_owed_hook();
                return Ok(outcome);
            }
            self.clean_up(&guarded)?;
            if self.has_node_ended {
                return Ok(Outcome::Failure { message: RunError::OwnNode.to_string() });
            }
            if self.spec.restart == Restart::Never {
                return Ok(Outcome::LostLeadership { reason: StopReason::GuardianGone });
            }
            self.pause(GUARDIAN_RESTART)?;
        }
    }

    /// Starts the guardian in the best containment that is possible and allowed.
    fn fork(&mut self) -> Result<Guarded, RunError> {
        let mut problems = Vec::new();
        for kind in ContainmentKind::ALL.into_iter().filter(|kind| self.spec.containment.allows(*kind)) {
            let (own_end, other_end) = UnixStream::pair().map_err(system("create a socket pair"))?;
            let deadline = DeadlineFile::create().map_err(system("create a file in memory"))?;
            match fork_guardian(kind) {
                Err(error) => problems.push(format!("{kind}: {error}")),
                Ok(Forked::Guardian(containment)) => {
                    drop(own_end);
                    let setup = GuardianSetup {
                        spec: self.spec.clone(),
                        socket: self.socket.clone(),
                        wait_until: self.wait_until,
                        environment: environment(&self.terms),
                        shares_process_group: self.shares_process_group,
                        nice: self.nice,
                        original_mask: self.original_mask,
                        containment,
                        deadline,
                        parent: other_end,
                    };
                    guardian::run(setup)
                }
                Ok(Forked::Parent(process)) => {
                    own_end.set_nonblocking(true).map_err(system("use a socket"))?;
                    let lines = LineBuffer::default();
                    let (outcome, is_closed, is_killed) = (None, false, false);
                    return Ok(Guarded { process, stream: own_end, lines, deadline, outcome, is_closed, is_killed });
                }
            }
        }
        if let Requirement::AtLeast(kind) = self.spec.containment {
            problems.push(format!("--require {kind} refuses anything less"));
        }
        Err(RunError::Containment(problems.join("; ")))
    }

    /// Watches a guardian until it has ended and was reaped.
    fn watch(&mut self, guarded: &mut Guarded) -> Result<(), RunError> {
        loop {
            let until = self.kill_at(guarded).min(self.systemd.poll_timeout());
            let stream = (!guarded.is_closed).then(|| guarded.stream.as_fd());
            let descriptors = [Some(self.signals.as_fd()), stream, Some(guarded.process.pidfd.as_fd())];
            wait(&self.timer, until, &descriptors).map_err(system("wait"))?;
            let now = self.clock.now();
            if self.kill_at(guarded) <= now && !std::mem::replace(&mut guarded.is_killed, true) {
                guarded.process.kill_tree(self.own_node.as_ref().map(OwnNode::pid));
                self.log.error("the guardian did not stop the command in time; its processes were killed");
            }
            self.systemd.handle_time(now);
            if self.own_node.as_mut().is_some_and(OwnNode::has_ended) {
                self.own_node = None;
                self.has_node_ended = true;
                guarded.process.kill_tree(None);
            }
            self.pass_signals_on(guarded);
            self.read_events(guarded);
            if self.has_ended(guarded.process.pid) {
                self.read_events(guarded);
                return Ok(());
            }
        }
    }

    /// When `run` must kill the tree.
    fn kill_at(&self, guarded: &Guarded) -> Timestamp {
        if guarded.is_killed {
            return Timestamp::NEVER;
        }
        match guarded.deadline.read() {
            Ok(Some(shared)) if shared.deadline == Timestamp::ZERO => Timestamp::NEVER,
            Ok(Some(shared)) => shared.deadline - RUN_KILL_MARGIN,
            // It is being written, or cannot be read, which does not happen to memory.
            Ok(None) | Err(_) => self.clock.now() + Duration::from_millis(1),
        }
    }

    /// Handles what the guardian reported.
    fn read_events(&mut self, guarded: &mut Guarded) {
        // The end of the stream is the beginning of the guardian's end, which its pidfd tells.
        guarded.is_closed |= guarded.lines.fill(&mut guarded.stream).is_err();
        while let Some(line) = guarded.lines.next_line() {
            let Ok(event) = serde_json::from_slice::<Event>(&line) else { continue };
            self.log.event(&event);
            let state = match event {
                Event::Waiting | Event::NodeGone => "waiting",
                Event::Acquired { token } => {
                    (self.token, self.last_token, self.wait_until) = (Some(token), token, Timestamp::NEVER);
                    self.owes_lose_hook = self.spec.on_lose.is_some();
                    "acquired"
                }
                Event::Started { .. } => "running",
                Event::Ended { .. } | Event::Stopping { .. } | Event::Killing => "stopping",
                Event::Restarting { .. } => "restarting",
                Event::StandingBack { .. } => "standing-back",
                Event::LoseHookDone => {
                    self.owes_lose_hook = false;
                    continue;
                }
                Event::Working => continue,
                Event::Released => {
                    self.token = None;
                    "released"
                }
                Event::HookFailed { .. } => continue,
                Event::Finished { outcome } => {
                    guarded.outcome = Some(outcome);
                    continue;
                }
            };
            self.publish(state, None);
        }
    }

    /// Updates the status file and systemd.
    fn publish(&mut self, state: &str, outcome: Option<&Outcome>) {
        if outcome.is_none() {
            self.systemd.state(&format!("{}: {state}", self.spec.office));
        }
        let Some(path) = &self.spec.status_file else { return };
        if let Err(error) = write_status(path, &status(&self.spec.office, state, self.token, outcome)) {
            self.log.error(&format!("cannot write {}: {error}", path.display()));
        }
    }

    /// Reaps children. Returns whether this one has ended.
    fn has_ended(&mut self, guardian: Pid) -> bool {
        if self.own_node.is_some() {
            // The node is reaped by its owner.
            return waitpid(Some(guardian), WaitOptions::NOHANG).is_ok_and(|reaped| reaped.is_some());
        }
        // Orphans of the guardian are reaped as well.
        let mut reaped = std::iter::from_fn(|| wait_any(WaitOptions::NOHANG).ok().flatten());
        reaped.by_ref().any(|(pid, _)| pid == guardian)
    }
}

/// What the command finds in its environment, beside the token.
fn environment(terms: &OfficeTerms) -> Vec<(&'static str, String)> {
    vec![
        ("HUSTINGS_OFFICE", terms.office.clone()),
        ("HUSTINGS_NODE", terms.node.clone()),
        ("HUSTINGS_CLUSTER", terms.cluster.clone()),
    ]
}
