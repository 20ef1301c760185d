//! What the node says about the lease, and what follows from it.

use hustings_cluster::api::{ChangeReason, Lease};
use hustings_cluster::clock::Timestamp;

use super::{Action, Asked, Held, KILL_AGAIN, Next, Phase, Process, Tenure};
use crate::margins::GUARDIAN_KILL_MARGIN;
use crate::messages::{Event, Outcome, StopReason};

impl Tenure {
    pub(super) fn handle_held(&mut self, lease: &Lease, now: Timestamp) {
        let Lease { token, deadline, lease, stop, .. } = *lease;
        match &mut self.held {
            Some(held) if held.token == token => self.extend(deadline),
            // Granted again while the former grant is being given up: it is given back when that is done.
            Some(_) => {}
            None if self.phase == Phase::Campaigning && !self.unanswered.contains(&Asked::Withdraw) => {
                self.held = Some(Held { token, deadline, lease, stop, is_final: false });
                if self.stop_at() <= now {
                    return self.release(Next::Campaign, now);
                }
                match self.policy.once {
                    Some(_) => self.check_completed(),
                    None => self.acquire(now),
                }
            }
            None => {}
        }
    }

    pub(super) fn handle_renewed(&mut self, from: Timestamp) {
        if let Some(held) = self.held.filter(|held| !held.is_final) {
            self.extend(from + held.lease);
        }
    }

    pub(super) fn extend(&mut self, deadline: Timestamp) {
        let Some(held) = self.held.as_mut().filter(|held| !held.is_final && deadline > held.deadline) else { return };
        held.deadline = deadline;
        if self.has_work() {
            self.act(Action::SetDeadline(deadline));
        }
    }

    /// The node wants the office back.
    pub(super) fn handle_stop(&mut self, token: u64, reason: StopReason, now: Timestamp) {
        let Some(held) = self.held.as_mut().filter(|held| held.token == token) else { return };
        held.is_final = true;
        match self.phase.clone() {
            Phase::Acquiring | Phase::Running { .. } => self.stop(reason, now),
            Phase::Checking(_) => self.release(Next::Campaign, now),
            Phase::Backoff(_) => self.lose(self.after_loss(reason), now),
            _ => {}
        }
    }

    /// The office is lost: nothing may go on.
    pub(super) fn handle_lost(&mut self, token: u64, reason: StopReason, now: Timestamp) {
        if self.held.is_none_or(|held| held.token != token) {
            if self.phase == Phase::Campaigning && reason == StopReason::Office(ChangeReason::ModeMismatch) {
                self.finish(Outcome::Failure { message: "the office does not have the expected mode".to_string() });
            }
            return;
        }
        if let Some(held) = &mut self.held {
            held.is_final = true;
            held.deadline = held.deadline.min(now);
        }
        self.handle_stop(token, reason, now);
        self.handle_time(now);
    }

    /// From when on nothing may be alive, or when to kill again what should be dead.
    pub(super) fn kill_at(&self) -> Timestamp {
        match self.held {
            _ if !self.has_work() => Timestamp::NEVER,
            Some(held) if self.kill_again_at == Timestamp::NEVER => held.deadline - GUARDIAN_KILL_MARGIN,
            _ => self.kill_again_at,
        }
    }

    pub(super) fn kill_all(&mut self, now: Timestamp) {
        self.kill_again_at = now + KILL_AGAIN;
        self.act(Action::KillAll);
    }

    /// When the command must be told to stop, unless the lease is renewed.
    pub(super) fn stop_at(&self) -> Timestamp {
        let Some(held) = self.held else { return Timestamp::NEVER };
        let needed = self.policy.grace.unwrap_or_default().saturating_add(GUARDIAN_KILL_MARGIN);
        held.deadline - needed.max(held.stop)
    }

    /// The time for work is over, whatever the phase is.
    pub(super) fn handle_deadline(&mut self, now: Timestamp) {
        if matches!(self.phase, Phase::Acquiring | Phase::Running { .. }) {
            self.stop(StopReason::LeaseEnds, now);
        }
        match &mut self.phase {
            _ if self.kill_again_at != Timestamp::NEVER => {}
            Phase::Stopping { is_killed, .. } => {
                *is_killed = true;
                self.report(Event::Killing);
            }
            Phase::Losing(_) => self.hook_failed(Process::OnLose, "killed at the end of the lease"),
            _ => {}
        }
        if self.has_work() {
            self.kill_all(now);
        }
    }

    /// Whether processes may be alive.
    pub(super) fn has_work(&self) -> bool {
        matches!(
            self.phase,
            Phase::Acquiring | Phase::Running { .. } | Phase::Stopping { .. } | Phase::Clearing(_) | Phase::Losing(_)
        )
    }

    pub(super) fn is_waiting(&self) -> bool {
        matches!(self.phase, Phase::Connecting(_) | Phase::Campaigning)
    }
}
