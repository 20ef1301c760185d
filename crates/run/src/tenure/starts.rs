//! How a campaign, the command and its hooks begin, and how the command is told to stop.

use hustings_cluster::api::Request;
use hustings_cluster::clock::Timestamp;

use super::{Action, Asked, DEFAULT_GRACE, Next, Phase, Process, Tenure};
use crate::messages::{Event, StopReason};

impl Tenure {
    pub(super) fn campaign(&mut self) {
        self.held = None;
        if !self.is_connected {
            self.phase = Phase::Connecting(Timestamp::NEVER);
            return self.act(Action::Connect);
        }
        self.phase = Phase::Campaigning;
        let (office, guard) = (self.policy.office.clone(), Some(self.policy.guard.clone()));
        self.ask(Asked::Campaign, Request::Campaign { office, mode: None, guard });
        self.report(Event::Waiting);
    }

    /// Asks whether the key is completed.
    pub(super) fn check_completed(&mut self) {
        let Some(key) = self.policy.once.clone() else { return };
        self.phase = Phase::Checking(Timestamp::NEVER);
        let office = self.policy.office.clone();
        self.ask(Asked::IsCompleted, Request::Completed { office, key });
    }

    pub(super) fn acquire(&mut self, now: Timestamp) {
        let Some(held) = self.held else { return };
        if held.is_final || self.stop_at() <= now {
            return self.release(Next::Campaign, now);
        }
        self.wait_until = Timestamp::NEVER;
        self.owes_lose_hook = self.policy.has_on_lose;
        self.report(Event::Acquired { token: held.token });
        if self.policy.has_on_acquire {
            self.phase = Phase::Acquiring;
            self.begin_work(held.deadline);
            self.start(Process::OnAcquire);
        } else {
            self.start_command(now);
        }
    }

    pub(super) fn start_command(&mut self, now: Timestamp) {
        let Some(held) = self.held else { return };
        if held.is_final || self.stop_at() <= now {
            return self.lose(self.after_loss(StopReason::LeaseEnds), now);
        }
        let health_at = if self.policy.has_health { now + self.policy.health_every } else { Timestamp::NEVER };
        self.phase = Phase::Running { since: now, health_at, is_checking: false };
        self.begin_work(held.deadline);
        self.start(Process::Command);
    }

    /// A process was started.
    pub(crate) fn handle_started(&mut self, process: Process) {
        if process == Process::Command {
            self.report(Event::Started { token: self.token() });
        }
    }

    /// Makes the deadline known before anything is started. The report wakes `run`, which sleeps while nothing can be
    /// alive.
    pub(super) fn begin_work(&mut self, deadline: Timestamp) {
        self.act(Action::SetDeadline(deadline));
        self.report(Event::Working);
    }

    /// Begins to stop the command, or the hook that precedes it.
    pub(super) fn stop(&mut self, reason: StopReason, now: Timestamp) {
        self.report(Event::Stopping { reason });
        self.act(Action::Signal(libc::SIGTERM));
        // A stopped process handles the signal when it continues.
        self.act(Action::Signal(libc::SIGCONT));
        let is_losing = self.held.is_some_and(|held| held.is_final);
        let kill_at = match self.policy.grace {
            Some(grace) => now + grace,
            // The deadline comes first.
            None if is_losing => Timestamp::NEVER,
            None => now + DEFAULT_GRACE,
        };
        self.phase = Phase::Stopping { reason, kill_at, is_killed: false };
        // A lease that was not renewed so far may be renewed late. That changes nothing for a command that was told.
        if let Some(held) = &mut self.held
            && reason == StopReason::LeaseEnds
        {
            held.is_final = true;
        }
        if now >= self.kill_at() {
            self.handle_deadline(now);
        }
    }

    pub(super) fn start(&mut self, process: Process) {
        let token = self.token();
        self.act(Action::Start(process, token));
    }

    pub(super) fn act(&mut self, action: Action) {
        self.actions.push_back(action);
    }

    pub(super) fn report(&mut self, event: Event) {
        self.act(Action::Report(event));
    }

    pub(super) fn ask(&mut self, asked: Asked, request: Request) {
        self.unanswered.push_back(asked);
        self.act(Action::Send(request));
    }
}
