//! How an office moves from a live holder to the next one: because an operator asked for it, because a better candidate
//! is up, or because its holder is no longer a candidate.
//!
//! The holder always stops first. If it does not stop in time, the handover is abandoned and the holder keeps the
//! office.

use hustings_protocol::Id;

use super::{Coordinator, Known, is_available, respond};
use crate::api::{ChangeReason, RequestError};
use crate::clock::Timestamp;
use crate::core::context::Context;
use crate::core::normalise::Normalise;
use crate::core::requests::{Requester, errors};
use crate::core::table::{Holder, Office, OfficeName};
use crate::wire::Message;

/// A handover in progress.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Handover {
    /// The current holder's token.
    token: u64,
    /// The new holder; `None` if any claimant may get the office.
    to: Option<Id>,
    cause: ChangeReason,
    stage: Stage,
    /// When the handover is abandoned.
    deadline: Timestamp,
    /// Who is told the outcome, if somebody asked for it.
    requester: Option<Requester>,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Stage {
    /// The new holder was asked whether it is ready.
    CheckingReadiness,
    /// The holder was asked to pause its campaign, so that somebody else is elected.
    AwaitingSuccessor,
    /// The holder was asked to step down.
    SteppingDown,
}

impl Normalise for Handover {
    fn normalise(&mut self, now: Timestamp) {
        let Handover { deadline, token: _, to: _, cause: _, stage: _, requester: _ } = self;
        deadline.normalise(now);
    }
}

impl Coordinator {
    /// Begins a handover: asks the holder to step down.
    pub(super) fn begin_handover(
        &mut self,
        office: &OfficeName,
        record: &Office,
        to: Option<Id>,
        cause: ChangeReason,
        requester: Option<Requester>,
        context: &mut Context<'_>,
    ) {
        let Some(holder) = record.holder else { return };
        let token = record.token;
        if self.proposals.contains(office) {
            return;
        }
        if let Some(handover) = self.handovers.get_mut(office) {
            if handover.stage == Stage::AwaitingSuccessor {
                (handover.stage, handover.to) = (Stage::SteppingDown, None);
                // The election has taken a part of the time. The holder gets the rest of what a handover may take.
                let settings = context.settings;
                let stopping = settings.handover_limit(record.terms).saturating_sub(settings.timing.hand_over / 2);
                handover.deadline = handover.deadline + stopping;
                let deadline = handover.deadline;
                self.schedule(office, deadline, context.now);
                request_step_down(holder.id, office, token, ChangeReason::Resigned, context);
            }
            return;
        }
        let deadline = context.now + context.settings.handover_limit(record.terms);
        let handover = Handover { token, to, cause, stage: Stage::SteppingDown, deadline, requester };
        self.insert_handover(office, handover, context.now);
        request_step_down(holder.id, office, token, cause, context);
    }

    fn insert_handover(&mut self, office: &OfficeName, handover: Handover, now: Timestamp) {
        self.schedule(office, handover.deadline, now);
        self.handovers.insert(office.clone(), handover);
    }

    /// An entry for this office was applied. If the handover is over, tells whoever asked for it.
    pub(super) fn finish_handover(&mut self, office: &OfficeName, known: &Known<'_>, context: &mut Context<'_>) {
        let record = known.arbiter.table().offices.get(office);
        let (token, holder) = record.map_or((0, None), |record| (record.token, record.holder));
        let is_over = |handover: &Handover| handover.token != token || holder.is_none();
        if !self.handovers.get(office).is_some_and(is_over) {
            return;
        }
        let Some(handover) = self.handovers.remove(office) else { return };
        let is_as_requested = handover.to.is_none_or(|to| holder.is_some_and(|holder| holder.id == to));
        if let Some(requester) = handover.requester {
            respond(requester, if is_as_requested { Ok(()) } else { Err(errors::went_elsewhere(office)) }, context);
        }
    }

    /// A holder has stopped. The office goes to the intended holder, or else to the best claimant, or becomes vacant.
    /// `default_cause` is recorded if there was no handover in progress.
    pub(in crate::core) fn handle_stepped_down(
        &mut self,
        from: Id,
        office: &OfficeName,
        token: u64,
        default_cause: ChangeReason,
        known: &mut Known<'_>,
        context: &mut Context<'_>,
    ) {
        if known.arbiter.coordinator() != Some(context.own()) {
            return;
        }
        let Some(record) = known.arbiter.table().offices.get(office).cloned() else { return };
        if record.token != token || record.holder.is_none_or(|holder| holder.id != from) {
            return;
        }
        if default_cause == ChangeReason::Expired {
            self.remember_refusal(office, from, context.now);
        }
        let handover = self.handovers.get(office).filter(|handover| handover.token == token);
        let (intended, cause) = handover.map_or((None, default_cause), |handover| (handover.to, handover.cause));
        let available = |id: &Id| is_available(*id, office, known, context);
        let claimants = self.claims.get(office).into_iter().flatten().map(|(id, _)| *id).filter(available);
        let next = intended
            .filter(|id| context.liveness.is_up(*id) && known.candidates.contains(*id, office))
            .or_else(|| claimants.max_by_key(|id| context.liveness.rank(*id)));
        let next = next.and_then(|id| Some(Holder { id, incarnation: context.liveness.incarnation_of(id)? }));
        let pinned = cause == ChangeReason::Transferred && next.is_some_and(|to| intended == Some(to.id));
        let claim = next.and_then(|to| self.claims.get(office)?.get(&to.id));
        let terms = claim.map_or(record.terms, |claim| claim.terms);
        // An operator who chooses the holder does not mean to change the mode.
        let keeps_mode = pinned || claim.is_none_or(|claim| claim.mode == record.mode);
        match next.filter(|_| keeps_mode && !known.arbiter.table().is_paused()) {
            Some(to) => {
                self.grant(office, to, record.mode, terms, cause, pinned, known, context);
            }
            None => self.vacate(office, token, cause, known, context),
        }
    }

    /// A member answered whether it is ready to take over an office.
    pub(in crate::core) fn handle_readiness(
        &mut self,
        from: Id,
        office: &OfficeName,
        is_ready: bool,
        known: &Known<'_>,
        context: &mut Context<'_>,
    ) {
        let is_awaited = |handover: &Handover| handover.to == Some(from) && handover.stage == Stage::CheckingReadiness;
        let Some(handover) = self.handovers.get_mut(office).filter(|handover| is_awaited(handover)) else { return };
        if !is_ready {
            let requester = self.handovers.remove(office).and_then(|handover| handover.requester);
            let name = known.arbiter.table().member_name(from);
            if let Some(requester) = requester {
                respond(requester, Err(errors::not_ready(&name, office)), context);
            }
            return;
        }
        handover.stage = Stage::SteppingDown;
        let (token, cause) = (handover.token, handover.cause);
        if let Some(holder) = known.arbiter.table().offices.get(office).and_then(|record| record.holder)
            && self.loss_cause(office, holder, known, context).is_none()
        {
            request_step_down(holder.id, office, token, cause, context);
        }
    }

    /// Abandons a handover whose time is over.
    pub(super) fn expire_handover(&mut self, office: &OfficeName, known: &Known<'_>, context: &mut Context<'_>) {
        let Some(handover) = self.handovers.get(office) else { return };
        if handover.deadline > context.now {
            return self.schedule(office, handover.deadline, context.now);
        }
        let record = known.arbiter.table().offices.get(office).filter(|record| record.token == handover.token);
        if let Some(record) = record.filter(|_| handover.stage == Stage::AwaitingSuccessor).cloned()
            && !self.proposals.contains(office)
        {
            // No other candidate was elected. The holder must step down nevertheless.
            return self.begin_handover(office, &record, None, ChangeReason::Resigned, None, context);
        }
        let requester = self.handovers.remove(office).and_then(|handover| handover.requester);
        if let Some(requester) = requester {
            respond(requester, Err(errors::timed_out(office)), context);
        }
    }

    /// An operator asked to transfer an office to a member.
    pub(in crate::core) fn transfer(
        &mut self,
        office: &str,
        to: &str,
        requester: Requester,
        known: &Known<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), RequestError> {
        let table = known.arbiter.table();
        let id = table.member_by_name(to).map(|member| member.id).ok_or_else(|| errors::unknown_member(to))?;
        let record = table.offices.get(office).cloned().ok_or_else(|| errors::not_held(office))?;
        let office = table.offices.stored_name(office).cloned().ok_or_else(|| errors::not_held(office))?;
        let holder = record.holder.ok_or_else(|| errors::not_held(&office))?;
        if table.is_paused() {
            return Err(errors::paused());
        }
        if holder.id == id {
            respond(requester, Ok(()), context);
            return Ok(());
        }
        if !context.liveness.is_up(id) || !known.candidates.contains(id, &office) {
            return Err(errors::not_ready(to, &office));
        }
        if self.handovers.contains_key(&office) {
            return Err(errors::busy(&office));
        }
        let handover = Handover {
            token: record.token,
            to: Some(id),
            cause: ChangeReason::Transferred,
            stage: Stage::CheckingReadiness,
            deadline: context.now + context.settings.handover_limit(record.terms),
            requester: Some(requester),
        };
        self.insert_handover(&office, handover, context.now);
        context.send(id, Message::ReadinessRequest { office });
        Ok(())
    }

    /// An operator asked the holder of an office to resign.
    pub(in crate::core) fn resign(
        &mut self,
        office: &str,
        requester: Requester,
        known: &Known<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), RequestError> {
        let table = known.arbiter.table();
        let record = table.offices.get(office).ok_or_else(|| errors::not_held(office))?;
        let office = table.offices.stored_name(office).cloned().ok_or_else(|| errors::not_held(office))?;
        let holder = record.holder.ok_or_else(|| errors::not_held(&office))?;
        if self.handovers.contains_key(&office) {
            return Err(errors::busy(&office));
        }
        let handover = Handover {
            token: record.token,
            to: None,
            cause: ChangeReason::Resigned,
            stage: Stage::AwaitingSuccessor,
            deadline: context.now + context.settings.timing.hand_over / 2,
            requester: Some(requester),
        };
        self.insert_handover(&office, handover, context.now);
        context.send(holder.id, Message::PauseCampaign { office });
        Ok(())
    }
}

fn request_step_down(holder: Id, office: &OfficeName, token: u64, cause: ChangeReason, context: &mut Context<'_>) {
    context.send(holder, Message::StepDown { office: office.clone(), token, cause });
}
