//! The guardian's decisions, without I/O: when to campaign, start, stop, kill, start again and give up.
//!
//! Inputs are what the node says, how processes end, signals, and the time. Outputs are [`Action`]s, in order. The one
//! rule that matters: from [`GUARDIAN_KILL_MARGIN`] before the deadline on, nothing of the command is alive.
//!
//! [`GUARDIAN_KILL_MARGIN`]: crate::margins::GUARDIAN_KILL_MARGIN

mod ends;
mod leases;
mod phase;
mod starts;

use std::collections::VecDeque;
use std::time::Duration;

use hustings_cluster::api::{Guard, Reply, Request};
use hustings_cluster::clock::Timestamp;

use self::phase::{Asked, Held, Next, Phase};
use crate::messages::{Event, Outcome, StopReason};
use crate::spec::Restart;

/// How long a command may take to stop while its lease is renewed, unless the user says otherwise.
const DEFAULT_GRACE: Duration = Duration::from_secs(10);
/// The pause before the second attempt to connect to the node, or to read whether a key is completed.
const RETRY: Duration = Duration::from_millis(50);
/// How long to wait for the node to confirm that the office is given up.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(1);
/// The pause before a command is started again: at first, and at most.
const FIRST_BACKOFF: Duration = Duration::from_millis(500);
const MAX_BACKOFF: Duration = Duration::from_secs(30);
/// A command that ran this long has not failed in a row with an earlier one.
const STABLE_AFTER: Duration = Duration::from_secs(60);
/// How long to wait for killed processes to end before they are killed again: more may have been started meanwhile, or
/// they cannot be interrupted.
const KILL_AGAIN: Duration = Duration::from_millis(10);
/// How long the hook of `--on-lose` may take when the lease has left it no time.
const LATE_HOOK_TIMEOUT: Duration = Duration::from_secs(10);
/// How long a host stands back after a command failed too often.
const STAND_BACK: Duration = Duration::from_secs(60);

/// What the guardian's process must do.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// Drop the connection to the node.
    Disconnect,
    /// Connect to the node; report with `handle_connected` or `handle_disconnected`.
    Connect,
    Send(Request),
    /// Work may be alive until this time; [`Timestamp::ZERO`] if there is none.
    SetDeadline(Timestamp),
    /// Start a process; report with `handle_started` or `handle_start_failed` and, when it ends, with `handle_exit`.
    Start(Process, u64),
    /// Send a signal to the command.
    Signal(i32),
    /// Kill this process.
    Kill(Process),
    /// Kill every process of the tree.
    KillAll,
    Report(Event),
    /// The guardian is done.
    Finish(Outcome),
}

/// The processes that the guardian starts.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) enum Process {
    Command,
    OnAcquire,
    OnLose,
    Health,
}

/// What the decisions depend on.
#[derive(Clone, Debug)]
pub(crate) struct Policy {
    pub(crate) office: String,
    pub(crate) guard: Guard,
    pub(crate) grace: Option<Duration>,
    pub(crate) restart: Restart,
    pub(crate) once: Option<String>,
    pub(crate) has_on_acquire: bool,
    pub(crate) has_on_lose: bool,
    pub(crate) has_health: bool,
    pub(crate) health_every: Duration,
}

/// The guardian's state.
#[derive(Debug)]
pub(crate) struct Tenure {
    policy: Policy,
    phase: Phase,
    held: Option<Held>,
    is_connected: bool,
    /// When to stop waiting for the office. Never once it was held.
    wait_until: Timestamp,
    /// A signal that asks for the end: nothing is started any more.
    terminated_by: Option<i32>,
    /// Whether the hook that precedes the command has run, and that which follows it has not.
    owes_lose_hook: bool,
    failures: u32,
    backoff: Duration,
    /// How long the command ran.
    ran_for: Duration,
    /// When to kill the tree again; never unless it was killed and is not empty yet.
    kill_again_at: Timestamp,
    /// The requests that the node has not answered yet, oldest first.
    unanswered: VecDeque<Asked>,
    actions: VecDeque<Action>,
}

/// Inputs.
impl Tenure {
    pub(crate) fn new(policy: Policy, wait_until: Timestamp) -> Self {
        let mut tenure = Tenure {
            policy,
            phase: Phase::Connecting(Timestamp::NEVER),
            held: None,
            is_connected: false,
            wait_until,
            terminated_by: None,
            owes_lose_hook: false,
            failures: 0,
            backoff: FIRST_BACKOFF,
            ran_for: Duration::ZERO,
            kill_again_at: Timestamp::NEVER,
            unanswered: VecDeque::new(),
            actions: VecDeque::new(),
        };
        tenure.act(Action::Connect);
        tenure
    }

    pub(crate) fn handle_connected(&mut self) {
        self.is_connected = true;
        self.unanswered.clear();
        if matches!(self.phase, Phase::Connecting(_)) {
            self.campaign();
        }
    }

    /// The connection to the node ended, or could not be established.
    pub(crate) fn handle_disconnected(&mut self, now: Timestamp) {
        let was_connected = std::mem::replace(&mut self.is_connected, false);
        self.unanswered.clear();
        if let Some(held) = &mut self.held {
            held.is_final = true;
        }
        match self.phase.clone() {
            Phase::Connecting(_) => self.phase = Phase::Connecting(now + RETRY),
            Phase::Campaigning => {
                if was_connected {
                    self.report(Event::NodeGone);
                }
                self.phase = Phase::Connecting(now + RETRY);
            }
            Phase::Checking(_) => self.proceed(Next::Campaign, now),
            Phase::Acquiring | Phase::Running { .. } => self.stop(StopReason::NodeGone, now),
            Phase::Backoff(_) => self.lose(self.after_loss(StopReason::NodeGone), now),
            Phase::Completing(end, _) => self.finish_unrecorded(end, "the node is gone", now),
            Phase::Releasing(next, _) => self.proceed(next, now),
            Phase::StandingBack(_)
            | Phase::Stopping { .. }
            | Phase::Clearing(_)
            | Phase::Losing(_)
            | Phase::LosingLate(..)
            | Phase::Finished => {}
        }
    }

    pub(crate) fn handle_reply(&mut self, reply: Reply, now: Timestamp) {
        match reply {
            Reply::Done => self.handle_answer(Ok(()), now),
            Reply::Error(error) => self.handle_answer(Err(error), now),
            Reply::Held(lease) => self.handle_held(&lease, now),
            Reply::Renewed { from } => self.handle_renewed(from),
            Reply::Stop { token, reason, .. } => self.handle_stop(token, StopReason::Office(reason), now),
            Reply::Lost { token, reason, .. } => self.handle_lost(token, StopReason::Office(reason), now),
            Reply::Completed { completion, current } => {
                self.unanswered.retain(|asked| *asked != Asked::IsCompleted);
                if let Phase::Checking(_) = self.phase {
                    match completion {
                        Some(known) => {
                            self.release(Next::Finish(Outcome::AlreadyCompleted { token: known.token }), now)
                        }
                        None if current => self.acquire(now),
                        None => self.phase = Phase::Checking(now + RETRY),
                    }
                }
            }
            // Answers to requests that are never sent here.
            Reply::Status(_)
            | Reply::Offices { .. }
            | Reply::Office(_)
            | Reply::History { .. }
            | Reply::Settings { .. }
            | Reply::Terms(_)
            | Reply::State { .. }
            | Reply::States { .. }
            | Reply::Metrics(_)
            | Reply::Trace(_) => {}
        }
    }

    /// `run` received a signal. If it is delivered, the command has received it, too.
    pub(crate) fn handle_signal(&mut self, signal: i32, is_delivered: bool, now: Timestamp) {
        let ends = matches!(signal, libc::SIGTERM | libc::SIGINT | libc::SIGQUIT);
        match self.phase.clone() {
            // The command decides what the signal means; but if it ends, it is not started again.
            Phase::Running { .. } => {
                if !is_delivered {
                    self.act(Action::Signal(signal));
                }
                if ends {
                    self.terminated_by = Some(signal);
                }
            }
            Phase::Stopping { .. } => {
                if !is_delivered {
                    self.act(Action::Signal(signal));
                }
                if ends {
                    self.terminated_by = Some(signal);
                }
            }
            _ if !ends && signal != libc::SIGHUP => {}
            Phase::Acquiring => {
                self.terminated_by = Some(signal);
                self.stop(StopReason::Signal(signal), now);
            }
            Phase::Connecting(_) | Phase::Campaigning | Phase::StandingBack(_) | Phase::Checking(_) => {
                self.release(Next::Finish(Outcome::Signal { signal }), now);
            }
            Phase::Backoff(_) => self.lose(Next::Finish(Outcome::Signal { signal }), now),
            Phase::Clearing(_) | Phase::Completing(..) => self.terminated_by = Some(signal),
            Phase::Losing(Next::Campaign | Next::StandBack) => {
                self.phase = Phase::Losing(Next::Finish(Outcome::Signal { signal }));
            }
            Phase::Releasing(Next::Campaign | Next::StandBack, until) => {
                self.phase = Phase::Releasing(Next::Finish(Outcome::Signal { signal }), until);
            }
            Phase::LosingLate(Next::Campaign | Next::StandBack, until) => {
                self.phase = Phase::LosingLate(Next::Finish(Outcome::Signal { signal }), until);
            }
            Phase::Losing(_) | Phase::Releasing(..) | Phase::LosingLate(..) | Phase::Finished => {}
        }
    }

    pub(crate) fn handle_time(&mut self, now: Timestamp) {
        if now >= self.kill_at() {
            self.handle_deadline(now);
        }
        if self.held.is_none() && now >= self.wait_until && self.is_waiting() {
            return self.release(Next::Finish(Outcome::NeverLed), now);
        }
        match self.phase.clone() {
            Phase::Connecting(at) if at <= now => {
                self.phase = Phase::Connecting(Timestamp::NEVER);
                self.act(Action::Connect);
            }
            Phase::StandingBack(until) if until <= now => self.campaign(),
            // Without work there is nothing to kill, but the node would kill a guardian that keeps the office.
            Phase::Checking(_) if self.stop_at() <= now => self.release(Next::Campaign, now),
            Phase::Backoff(_) if self.stop_at() <= now => self.lose(self.after_loss(StopReason::LeaseEnds), now),
            Phase::Completing(end, _) if self.stop_at() <= now => {
                self.finish_unrecorded(end, "the lease ended meanwhile", now);
            }
            Phase::Checking(at) if at <= now => self.check_completed(),
            Phase::Acquiring | Phase::Running { .. } if self.stop_at() <= now => {
                self.stop(StopReason::LeaseEnds, now);
            }
            Phase::Running { health_at, is_checking, since } if health_at <= now => {
                if is_checking {
                    self.act(Action::Kill(Process::Health));
                    self.stop(StopReason::Unhealthy, now);
                } else {
                    let health_at = now + self.policy.health_every;
                    self.phase = Phase::Running { since, health_at, is_checking: true };
                    self.start(Process::Health);
                }
            }
            Phase::Backoff(until) if until <= now => self.start_command(now),
            Phase::Completing(end, at) if at <= now => self.complete(end, now),
            Phase::Stopping { reason, kill_at, is_killed: false } if kill_at <= now => {
                self.phase = Phase::Stopping { reason, kill_at, is_killed: true };
                self.report(Event::Killing);
                self.kill_all(now);
            }
            Phase::Releasing(next, until) if until <= now => {
                // What the node still has to say concerns the office that was given up, and must not be taken for news
                // about the next campaign: that begins with another connection.
                self.is_connected = false;
                self.unanswered.clear();
                self.act(Action::Disconnect);
                self.proceed(next, now);
            }
            Phase::LosingLate(next, until) if until <= now => {
                self.phase = Phase::LosingLate(next, now + KILL_AGAIN);
                self.act(Action::KillAll);
            }
            _ => {}
        }
    }

    /// When to call [`Tenure::handle_time`] at the latest.
    pub(crate) fn poll_timeout(&self) -> Timestamp {
        let phase = match &self.phase {
            Phase::Connecting(at) | Phase::StandingBack(at) => *at,
            Phase::Checking(at) | Phase::Backoff(at) | Phase::Completing(_, at) => self.stop_at().min(*at),
            Phase::Acquiring => self.stop_at(),
            Phase::Running { health_at, .. } => self.stop_at().min(*health_at),
            Phase::Stopping { kill_at, is_killed: false, .. } => *kill_at,
            Phase::Releasing(_, until) | Phase::LosingLate(_, until) => *until,
            _ => Timestamp::NEVER,
        };
        let wait = if self.held.is_none() && self.is_waiting() { self.wait_until } else { Timestamp::NEVER };
        phase.min(wait).min(self.kill_at())
    }

    pub(crate) fn poll_action(&mut self) -> Option<Action> {
        self.actions.pop_front()
    }

    pub(crate) fn token(&self) -> u64 {
        self.held.map_or(0, |held| held.token)
    }
}

#[cfg(test)]
mod tests;
