//! What the end of a process means, and how the office is given up.

use hustings_cluster::api::{Request, RequestError};
use hustings_cluster::clock::Timestamp;

use super::phase::Ended;
use super::{
    Action, Asked, FIRST_BACKOFF, LATE_HOOK_TIMEOUT, MAX_BACKOFF, Next, Phase, Process, RELEASE_TIMEOUT, RETRY,
    STABLE_AFTER, STAND_BACK, Tenure,
};
use crate::messages::{CommandEnd, Event, Outcome, StopReason};
use crate::spec::Restart;

impl Tenure {
    /// A process that the guardian started has ended.
    pub(crate) fn handle_exit(&mut self, process: Process, end: CommandEnd, now: Timestamp) {
        match (process, self.phase.clone()) {
            (Process::Command, Phase::Running { since, .. }) => {
                self.ran_for = now.since(since);
                self.report(Event::Ended { end });
                self.clear(Ended::Exited(end), now);
            }
            (Process::OnAcquire, Phase::Acquiring) if end.is_success() => self.start_command(now),
            (Process::OnAcquire, Phase::Acquiring) => {
                self.hook_failed(Process::OnAcquire, &end.to_string());
                self.clear(Ended::Exited(end), now);
            }
            (Process::Command | Process::OnAcquire, Phase::Stopping { reason, kill_at, is_killed }) => {
                self.report(Event::Ended { end });
                if !is_killed {
                    self.phase = Phase::Stopping { reason, kill_at, is_killed: true };
                    self.kill_all(now);
                }
            }
            (Process::Health, Phase::Running { since, health_at, is_checking: true }) => {
                if end.is_success() {
                    self.phase = Phase::Running { since, health_at, is_checking: false };
                } else {
                    self.stop(StopReason::Unhealthy, now);
                }
            }
            (Process::OnLose, Phase::Losing(_) | Phase::LosingLate(..)) => {
                if !end.is_success() {
                    self.hook_failed(Process::OnLose, &end.to_string());
                }
                self.report(Event::LoseHookDone);
                self.kill_all(now);
            }
            _ => {}
        }
    }

    /// A process could not be started.
    pub(crate) fn handle_start_failed(&mut self, process: Process, problem: String, now: Timestamp) {
        match (process, self.phase.clone()) {
            (Process::Command, Phase::Running { .. }) => self.clear(Ended::NotStarted(problem), now),
            (Process::OnAcquire, Phase::Acquiring) => {
                self.clear(Ended::NotStarted(format!("--on-acquire: {problem}")), now);
            }
            (Process::Health, Phase::Running { .. }) => {
                self.hook_failed(Process::Health, &problem);
                self.stop(StopReason::Unhealthy, now);
            }
            (Process::OnLose, Phase::Losing(next)) => {
                self.hook_failed(Process::OnLose, &problem);
                self.release(next, now);
            }
            (Process::OnLose, Phase::LosingLate(next, _)) => {
                self.hook_failed(Process::OnLose, &problem);
                self.proceed(next, now);
            }
            _ => {}
        }
    }

    /// No process of the tree is left.
    pub(crate) fn handle_tree_empty(&mut self, now: Timestamp) {
        self.kill_again_at = Timestamp::NEVER;
        match self.phase.clone() {
            Phase::Clearing(ended) => {
                self.act(Action::SetDeadline(Timestamp::ZERO));
                self.decide(ended, now);
            }
            Phase::Stopping { reason, .. } => {
                self.act(Action::SetDeadline(Timestamp::ZERO));
                self.lose(self.after_loss(reason), now);
            }
            Phase::Losing(next) => self.release(next, now),
            Phase::LosingLate(next, _) => self.proceed(next, now),
            _ => {}
        }
    }

    /// The node answered the oldest request.
    pub(super) fn handle_answer(&mut self, answer: Result<(), RequestError>, now: Timestamp) {
        match (self.take_asked(answer.is_ok()), answer, self.phase.clone()) {
            (Some(Asked::Campaign), Err(RequestError { message, .. }), Phase::Campaigning) => {
                self.finish(Outcome::Failure { message });
            }
            (Some(Asked::IsCompleted), Err(_), Phase::Checking(_)) => self.phase = Phase::Checking(now + RETRY),
            (Some(Asked::Complete), Ok(()), Phase::Completing(end, _)) => {
                self.lose(Next::Finish(Outcome::Command { end }), now);
            }
            (Some(Asked::Complete), Err(error), Phase::Completing(end, _)) => {
                // To record it twice does no harm.
                match matches!(error.code.as_str(), "no-majority" | "disk" | "timed-out" | "busy") {
                    true => self.phase = Phase::Completing(end, now + RETRY),
                    false => self.finish_unrecorded(end, &error.message, now),
                }
            }
            (Some(Asked::Withdraw), _, Phase::Releasing(next, _)) => self.proceed(next, now),
            _ => {}
        }
    }

    /// The request that an answer belongs to. Requests are answered in order, except for reads, which wait for other
    /// members and whose answer is never a plain confirmation.
    fn take_asked(&mut self, is_done: bool) -> Option<Asked> {
        let at = self.unanswered.iter().position(|asked| !is_done || *asked != Asked::IsCompleted)?;
        self.unanswered.remove(at)
    }

    /// Kills what is left of the tree.
    fn clear(&mut self, ended: Ended, now: Timestamp) {
        self.phase = Phase::Clearing(ended);
        self.kill_all(now);
    }

    /// The command has ended by itself, and its tree is gone.
    fn decide(&mut self, ended: Ended, now: Timestamp) {
        let end = match ended {
            Ended::Exited(end) => end,
            Ended::NotStarted(message) => return self.lose(Next::Finish(Outcome::Failure { message }), now),
        };
        let finish = Next::Finish(Outcome::Command { end });
        if self.policy.once.is_some() && end.is_success() {
            return self.complete(end, now);
        }
        if self.terminated_by.is_some() {
            return self.lose(finish, now);
        }
        match self.policy.restart {
            Restart::Never => self.lose(finish, now),
            Restart::OnFailure { .. } if end.is_success() => self.lose(finish, now),
            Restart::OnFailure { max_failures } => {
                self.failures = if self.ran_for >= STABLE_AFTER { 1 } else { self.failures + 1 };
                if max_failures.is_some_and(|max| self.failures >= max) {
                    self.failures = 0;
                    self.lose(Next::StandBack, now);
                } else {
                    self.back_off(now);
                }
            }
            Restart::Always => self.back_off(now),
        }
    }

    /// Records the success.
    pub(super) fn complete(&mut self, end: CommandEnd, now: Timestamp) {
        let Some(key) = self.policy.once.clone() else { return };
        self.phase = Phase::Completing(end, Timestamp::NEVER);
        if !self.is_connected {
            return self.finish_unrecorded(end, "the node is gone", now);
        }
        let (office, token) = (self.policy.office.clone(), self.token());
        self.ask(Asked::Complete, Request::Complete { office, token, key });
    }

    fn back_off(&mut self, now: Timestamp) {
        if self.held.is_none_or(|held| held.is_final) {
            return self.lose(self.after_loss(StopReason::LeaseEnds), now);
        }
        if self.ran_for >= STABLE_AFTER {
            self.backoff = FIRST_BACKOFF;
        }
        let pause = self.backoff;
        self.backoff = (self.backoff * 2).min(MAX_BACKOFF);
        self.phase = Phase::Backoff(now + pause);
        self.report(Event::Restarting { after_ms: pause.as_millis() as u64 });
    }

    /// What follows the loss of the office.
    pub(super) fn after_loss(&self, reason: StopReason) -> Next {
        match (self.terminated_by, self.policy.restart, reason) {
            (Some(signal), _, _) => Next::Finish(Outcome::Signal { signal }),
            (None, Restart::Never, _) => Next::Finish(Outcome::LostLeadership { reason }),
            (None, _, StopReason::Unhealthy) => Next::StandBack,
            (None, _, _) => Next::Campaign,
        }
    }

    /// Gives the office up, after the hook if there is time for it. No process is alive.
    pub(super) fn lose(&mut self, next: Next, now: Timestamp) {
        self.phase = Phase::Losing(next.clone());
        let Some(held) = self.held.filter(|_| self.policy.has_on_lose && self.kill_at() > now) else {
            return self.release(next, now);
        };
        self.owes_lose_hook = false;
        self.begin_work(held.deadline);
        self.start(Process::OnLose);
    }

    /// Gives the office up, or the campaign. Nothing that needs it is alive.
    pub(super) fn release(&mut self, next: Next, now: Timestamp) {
        self.act(Action::SetDeadline(Timestamp::ZERO));
        let has_campaign = !matches!(self.phase, Phase::Connecting(_) | Phase::StandingBack(_));
        if !self.is_connected || !has_campaign {
            return self.proceed(next, now);
        }
        let office = self.policy.office.clone();
        if let Some(held) = self.held.filter(|held| held.is_final) {
            self.ask(Asked::Stopped, Request::Stopped { office: office.clone(), token: held.token });
        }
        self.ask(Asked::Withdraw, Request::Withdraw { office });
        self.phase = Phase::Releasing(next, now + RELEASE_TIMEOUT);
    }

    /// The office is given up.
    pub(super) fn proceed(&mut self, next: Next, now: Timestamp) {
        let token = self.token();
        if self.held.take().is_some() {
            self.report(Event::Released);
        }
        // What the hook undoes must not stay until the office is held again. If this is the end, `run` makes up for it.
        if !matches!(next, Next::Finish(_)) && std::mem::take(&mut self.owes_lose_hook) {
            self.phase = Phase::LosingLate(next, now + LATE_HOOK_TIMEOUT);
            return self.act(Action::Start(Process::OnLose, token));
        }
        match next {
            Next::Finish(outcome) => self.finish(outcome),
            Next::Campaign => self.campaign(),
            Next::StandBack => {
                self.phase = Phase::StandingBack(now + STAND_BACK);
                self.report(Event::StandingBack { for_ms: STAND_BACK.as_millis() as u64 });
            }
        }
    }

    pub(super) fn finish(&mut self, outcome: Outcome) {
        self.phase = Phase::Finished;
        self.act(Action::Finish(outcome));
    }

    pub(super) fn finish_unrecorded(&mut self, end: CommandEnd, problem: &str, now: Timestamp) {
        let key = self.policy.once.as_deref().unwrap_or_default();
        let message = format!(
            "the command {end}, but that could not be recorded under `{key}`: {problem}; it may run again elsewhere"
        );
        self.lose(Next::Finish(Outcome::Failure { message }), now);
    }

    pub(super) fn hook_failed(&mut self, hook: Process, problem: &str) {
        let hook = match hook {
            Process::Command => "the command",
            Process::OnAcquire => "--on-acquire",
            Process::OnLose => "--on-lose",
            Process::Health => "--health",
        };
        self.report(Event::HookFailed { hook: hook.to_string(), problem: problem.to_string() });
    }
}
