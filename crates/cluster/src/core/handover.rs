//! How an office moves from a live holder to the next one: because an operator asked for it, because a better candidate
//! is up, or because its holder is no longer a candidate.
//!
//! The holder always stops first. If it does not stop in time, the handover is abandoned and the holder keeps the
//! office.

use std::collections::BTreeSet;

use hustings_protocol::Id;

use super::table::{Holder, Office};
use super::{Core, requests};
use crate::api::{ChangeReason, RequestError};
use crate::clock::Timestamp;
use crate::wire::Message;

/// A handover in progress.
pub(super) struct Handover {
    /// The current holder's token.
    pub(super) token: u64,
    /// The new holder; `None` if any claimant may get the office.
    pub(super) to: Option<Id>,
    pub(super) cause: ChangeReason,
    pub(super) stage: Stage,
    /// When the handover is abandoned.
    pub(super) deadline: Timestamp,
    /// Who is told the outcome, if somebody asked for it.
    pub(super) requester: Option<requests::Requester>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The new holder was asked whether it is ready.
    CheckingReadiness,
    /// The holder was asked to pause its campaign, so that somebody else is elected.
    AwaitingSuccessor,
    /// The holder was asked to step down.
    SteppingDown,
}

impl Core {
    /// Begins a handover: asks the holder to step down.
    pub(super) fn begin_handover(
        &mut self,
        office: &str,
        known: &Office,
        to: Option<Id>,
        cause: ChangeReason,
        requester: Option<requests::Requester>,
    ) {
        let Some(holder) = known.holder else { return };
        let token = known.token;
        if self.grants.proposed.contains_key(office) {
            return;
        }
        if let Some(handover) = self.grants.handovers.get_mut(office) {
            if handover.stage == Stage::AwaitingSuccessor {
                (handover.stage, handover.to) = (Stage::SteppingDown, None);
                self.request_step_down(holder.id, office, token, ChangeReason::Resigned);
            }
            return;
        }
        let deadline = self.now + self.settings.timing.hand_over;
        let handover = Handover { token, to, cause, stage: Stage::SteppingDown, deadline, requester };
        self.grants.handovers.insert(office.to_string(), handover);
        self.schedule_evaluation(deadline);
        self.request_step_down(holder.id, office, token, cause);
    }

    fn request_step_down(&mut self, holder: Id, office: &str, token: u64, cause: ChangeReason) {
        if holder == self.settings.own {
            self.step_down(office, token, cause);
        } else {
            self.send(holder, Message::StepDown { office: office.to_string(), token, cause });
        }
    }

    /// A holder has stopped. The office goes to the intended holder, or else to the best claimant, or becomes vacant.
    /// `default_cause` is recorded if there was no handover in progress.
    pub(super) fn handle_stepped_down(&mut self, from: Id, office: &str, token: u64, default_cause: ChangeReason) {
        let Some(known) = self.table.offices.get(office).cloned() else { return };
        if known.token != token || known.holder.is_none_or(|holder| holder.id != from) || !self.is_arbiter_leader() {
            return;
        }
        let handover = self.grants.handovers.get(office).filter(|handover| handover.token == token);
        let (intended, cause) = handover.map_or((None, default_cause), |handover| (handover.to, handover.cause));
        let is_available = |id: &Id| self.is_up(*id) && self.is_candidate_for(*id, office);
        let claimant = self.grants.claims.iter().filter(|(_, claims)| claims.iter().any(|one| one.office == office));
        let next = intended
            .filter(is_available)
            .or_else(|| claimant.map(|(id, _)| *id).filter(is_available).max_by_key(|id| self.rank(*id)));
        match next.and_then(|id| Some(Holder { id, incarnation: self.incarnation_of(id)? })) {
            Some(to) if !self.table.paused => {
                let pinned = cause == ChangeReason::Transferred && intended == Some(to.id);
                self.grant(office, to, known.mode, cause, pinned);
            }
            _ => self.vacate(office, token, cause),
        }
    }

    /// A member answered whether it is ready to take over an office.
    pub(super) fn handle_readiness(&mut self, from: Id, office: &str, is_ready: bool) {
        let is_awaited = |handover: &Handover| handover.to == Some(from) && handover.stage == Stage::CheckingReadiness;
        let Some(handover) = self.grants.handovers.get_mut(office).filter(|handover| is_awaited(handover)) else {
            return;
        };
        if !is_ready {
            let requester = self.grants.handovers.remove(office).and_then(|handover| handover.requester);
            let name = self.table.member_name(from);
            requester
                .into_iter()
                .for_each(|requester| self.respond(requester, Err(requests::not_ready(&name, office))));
            return;
        }
        handover.stage = Stage::SteppingDown;
        let (token, cause) = (handover.token, handover.cause);
        match self.table.offices.get(office).and_then(|known| known.holder) {
            Some(holder) if self.loss_cause(holder).is_none() => {
                self.request_step_down(holder.id, office, token, cause)
            }
            _ => {}
        }
    }

    pub(super) fn expire_handovers(&mut self) {
        let expired: BTreeSet<String> = self
            .grants
            .handovers
            .iter()
            .filter(|(_, handover)| handover.deadline <= self.now)
            .map(|(office, _)| office.clone())
            .collect();
        for office in expired {
            let handover = self.grants.handovers.remove(&office).expect("its name was just listed");
            if handover.stage == Stage::AwaitingSuccessor {
                // No other candidate was elected. The holder must step down nevertheless.
                let known = self.table.offices.get(&office).cloned();
                if let Some(known) = known.filter(|known| known.token == handover.token) {
                    self.begin_handover(&office, &known, None, ChangeReason::Resigned, handover.requester);
                }
            } else if let Some(requester) = handover.requester {
                self.respond(requester, Err(requests::timed_out(&office)));
            }
        }
        let next = self.grants.handovers.values().map(|handover| handover.deadline).min();
        next.into_iter().for_each(|moment| self.schedule_evaluation(moment));
    }

    /// An operator asked to transfer an office to a member.
    pub(super) fn transfer(
        &mut self,
        office: &str,
        to: &str,
        requester: requests::Requester,
    ) -> Result<(), RequestError> {
        let id = self.table.member_by_name(to).map(|member| member.id).ok_or_else(|| requests::unknown_member(to))?;
        let known = self.table.offices.get(office).cloned().ok_or_else(|| requests::not_held(office))?;
        let holder = known.holder.ok_or_else(|| requests::not_held(office))?;
        if self.table.paused {
            return Err(requests::paused());
        }
        if holder.id == id {
            self.respond(requester, Ok(()));
            return Ok(());
        }
        if !self.is_up(id) || !self.is_candidate_for(id, office) {
            return Err(requests::not_ready(to, office));
        }
        if self.grants.handovers.contains_key(office) {
            return Err(requests::busy(office));
        }
        let deadline = self.now + self.settings.timing.hand_over;
        let (token, cause) = (known.token, ChangeReason::Transferred);
        let handover = Handover {
            token,
            to: Some(id),
            cause,
            stage: Stage::CheckingReadiness,
            deadline,
            requester: Some(requester),
        };
        self.grants.handovers.insert(office.to_string(), handover);
        self.grants.next_evaluation = self.grants.next_evaluation.min(deadline);
        if id == self.settings.own {
            let is_ready = self.is_candidate_for(id, office);
            self.handle_readiness(id, office, is_ready);
        } else {
            self.send(id, Message::ReadinessRequest { office: office.to_string() });
        }
        Ok(())
    }

    /// An operator asked the holder of an office to resign.
    pub(super) fn resign(&mut self, office: &str, requester: requests::Requester) -> Result<(), RequestError> {
        let known = self.table.offices.get(office).cloned().ok_or_else(|| requests::not_held(office))?;
        let holder = known.holder.ok_or_else(|| requests::not_held(office))?;
        if self.grants.handovers.contains_key(office) {
            return Err(requests::busy(office));
        }
        let deadline = self.now + self.settings.timing.hand_over / 2;
        let (token, cause) = (known.token, ChangeReason::Resigned);
        let handover =
            Handover { token, to: None, cause, stage: Stage::AwaitingSuccessor, deadline, requester: Some(requester) };
        self.grants.handovers.insert(office.to_string(), handover);
        self.grants.next_evaluation = self.grants.next_evaluation.min(deadline);
        if holder.id == self.settings.own {
            self.pause_campaign(office);
        } else {
            self.send(holder.id, Message::PauseCampaign { office: office.to_string() });
        }
        Ok(())
    }
}
