//! Who gets an office: the rules by which the coordinator evaluates it.

use std::time::Duration;

use hustings_protocol::Id;

use super::{CLAIM_PATIENCE, Coordinator, Known, REFUSAL_TIME, is_available};
use crate::api::ChangeReason;
use crate::clock::Timestamp;
use crate::config::{Mode, Preempt};
use crate::core::context::Context;
use crate::core::table::{Holder, Office, OfficeName};
use crate::timing::LeaseTerms;
use crate::wire::Claim;

impl Coordinator {
    pub(super) fn evaluate_office(&mut self, office: &OfficeName, known: &mut Known<'_>, context: &mut Context<'_>) {
        self.expire_handover(office, known, context);
        if known.arbiter.table().is_paused() || self.proposals.contains(office) {
            return;
        }
        let record = known.arbiter.table().offices.get(office).cloned();
        let claim = self.best_claim(office, known, context);
        match record.as_ref().and_then(|record| record.holder) {
            Some(holder) => {
                self.unclaimed_since.remove(office);
                let record = record.expect("it has a holder");
                self.evaluate_held(office, holder, &record, claim, known, context);
            }
            None => {
                let cause = record.as_ref().map_or(ChangeReason::Vacant, |record| record.cause);
                let mode = record.as_ref().map(|record| record.mode);
                let claim = claim.or_else(|| self.claim_on_behalf(office, known, context));
                if let Some((to, claim)) = claim
                    && self.may_grant_vacant(office, mode.unwrap_or(claim.mode), known, context)
                {
                    self.grant(office, to, claim.mode, claim.terms, cause, false, known, context);
                }
            }
        }
    }

    /// The claim of the highest-ranked claimant that is up.
    fn best_claim(&self, office: &OfficeName, known: &Known<'_>, context: &Context<'_>) -> Option<(Holder, Claim)> {
        let claims = self.claims.get(office)?.iter().filter(|(id, _)| is_available(**id, office, known, context));
        let (&id, claim) = claims.max_by_key(|(id, _)| context.liveness.rank(**id))?;
        Some((Holder { id, incarnation: context.liveness.incarnation_of(id)? }, claim.clone()))
    }

    /// If nobody who could be granted a vacant office has claimed it for a while: a claim on behalf of the best
    /// candidate.
    fn claim_on_behalf(
        &mut self,
        office: &OfficeName,
        known: &Known<'_>,
        context: &Context<'_>,
    ) -> Option<(Holder, Claim)> {
        let now = context.now;
        let is_refusing = |id: &Id| self.refusals.contains(&(office.clone(), *id));
        let available = |id: &Id| is_available(*id, office, known, context) && !is_refusing(id);
        let best =
            context.liveness.view().iter().copied().filter(available).max_by_key(|id| context.liveness.rank(*id));
        let Some(id) = best else {
            self.unclaimed_since.remove(office);
            return None;
        };
        let since = *self.unclaimed_since.entry(office.clone()).or_insert(now);
        if now < since + CLAIM_PATIENCE {
            self.schedule(office, since + CLAIM_PATIENCE, now);
            return None;
        }
        self.unclaimed_since.remove(office);
        let policy = context.settings.policy(office);
        let record = known.arbiter.table().offices.get(office);
        let claim = Claim {
            office: office.clone(),
            mode: record.map_or(policy.mode, |record| record.mode),
            preempt: policy.preempt,
            terms: policy.terms(&context.settings.timing),
        };
        Some((Holder { id, incarnation: context.liveness.incarnation_of(id)? }, claim))
    }

    /// A member gave a grant back at once. For a while, it is granted the office only if it claims it.
    pub(super) fn remember_refusal(&mut self, office: &OfficeName, id: Id, now: Timestamp) {
        let key = (office.clone(), id);
        // The report is repeated until the table shows it.
        if !self.refusals.contains(&key) {
            self.refusal_ends.push_back((now + REFUSAL_TIME, office.clone(), id));
            self.refusals.insert(key);
        }
    }

    /// Forgets the refusals that no longer count.
    pub(super) fn forget_refusals(&mut self, now: Timestamp) {
        while let Some((_, office, id)) = self.refusal_ends.pop_front_if(|(until, ..)| *until <= now) {
            self.refusals.remove(&(office, id));
        }
    }

    fn evaluate_held(
        &mut self,
        office: &OfficeName,
        holder: Holder,
        record: &Office,
        claim: Option<(Holder, Claim)>,
        known: &mut Known<'_>,
        context: &mut Context<'_>,
    ) {
        if let Some(cause) = self.loss_cause(office, holder, known, context) {
            if !self.is_lease_over(office, holder, record, known, context) {
                return;
            }
            // An office that nobody claims becomes vacant, so that a lost member is not shown as its holder.
            match claim {
                Some((to, claim)) => self.grant(office, to, record.mode, claim.terms, cause, false, known, context),
                None => self.vacate(office, record.token, cause, known, context),
            }
            if self.proposals.contains(office) {
                known.arbiter.revoke(holder.id);
            }
            return;
        }
        let Some((to, claim)) = claim else { return };
        if holder == to || !context.liveness.is_up(holder.id) {
            // The claimant is the holder, or it is not certain yet that the holder is lost.
        } else if !known.candidates.contains(holder.id, office) {
            self.begin_handover(office, record, Some(to.id), ChangeReason::Resigned, None, context);
        } else if !record.pinned && self.may_preempt(office, to.id, holder.id, claim.preempt, context) {
            self.begin_handover(office, record, Some(to.id), ChangeReason::Preempted, None, context);
        }
    }

    /// Whether the claimant ranks higher than the holder and has been up for long enough.
    fn may_preempt(
        &mut self,
        office: &OfficeName,
        claimant: Id,
        holder: Id,
        preempt: Preempt,
        context: &Context<'_>,
    ) -> bool {
        let base = match preempt {
            Preempt::Never => return false,
            Preempt::Better => context.settings.timing.settle,
            Preempt::BetterAfter(time) => time,
        };
        if context.liveness.rank(claimant) <= context.liveness.rank(holder) {
            return false;
        }
        let peer = context.liveness.peer(claimant);
        let settled_at =
            peer.map_or(context.settings.started + base, |peer| peer.since + peer.settle_time(base, context.now));
        self.schedule(office, settled_at, context.now);
        settled_at <= context.now
    }

    /// Why a holder counts as lost; `None` if it does not.
    pub(super) fn loss_cause(
        &mut self,
        office: &OfficeName,
        holder: Holder,
        known: &Known<'_>,
        context: &Context<'_>,
    ) -> Option<ChangeReason> {
        let liveness = context.liveness;
        if !known.arbiter.table().members.contains_key(&holder.id) {
            return Some(ChangeReason::Removed);
        }
        if liveness.incarnation_of(holder.id).is_some_and(|incarnation| incarnation != holder.incarnation) {
            return Some(ChangeReason::Disconnected);
        }
        if liveness.is_up(holder.id) {
            return None;
        }
        let floor = context.settings.timing.silence_floor;
        let coordinator_since = known.arbiter.coordinator_since();
        let (since, cause, down_reports) = match liveness.peer(holder.id) {
            Some(peer) => (peer.since.max(coordinator_since), peer.down_cause, peer.recent_down_reports(floor)),
            None => (coordinator_since, ChangeReason::Silent, 0),
        };
        // A lost connection may mean that only one link is cut. The holder is lost if enough voters report it down, or
        // if it stays silent.
        let is_other_up = |id: &Id| *id != holder.id && liveness.is_up(*id);
        let others = known.arbiter.voters().into_iter().filter(is_other_up).count();
        let is_confirmed_down = cause == ChangeReason::Disconnected && 2 * (1 + down_reports) > others;
        let is_timed_out = cause == ChangeReason::Silent || since + floor <= context.now;
        if is_confirmed_down || is_timed_out || cause == ChangeReason::Left {
            return Some(cause);
        }
        self.schedule(office, since + floor, context.now);
        None
    }

    /// Whether the lease of a lost holder has certainly expired, or does not matter because the office is fenced.
    fn is_lease_over(
        &mut self,
        office: &OfficeName,
        holder: Holder,
        record: &Office,
        known: &Known<'_>,
        context: &Context<'_>,
    ) -> bool {
        let has_left = context.liveness.peer(holder.id).is_some_and(|peer| peer.has_left(holder.incarnation));
        if record.mode == Mode::Fenced || has_left {
            return true;
        }
        // What counts is the lease that was granted, whatever the configuration says by now.
        let expiry = known.arbiter.lease_start(holder) + context.settings.takeover_delay(record.terms);
        self.schedule(office, expiry, context.now);
        expiry <= context.now
    }

    /// Whether an office that seems to be vacant may be granted. After a recovery from one member's disk, an exclusive
    /// one may have been granted in an entry that is lost, to a holder that does not know that. So every lease runs its
    /// full length first.
    fn may_grant_vacant(&mut self, office: &OfficeName, mode: Mode, known: &Known<'_>, context: &Context<'_>) -> bool {
        let table = known.arbiter.table();
        if !table.recovered || mode == Mode::Fenced {
            return true;
        }
        let granted = table.offices.iter().map(|(_, record)| record.terms);
        let longest = granted.chain([context.settings.timing.terms()]).map(|terms| terms.lease).max();
        let terms = LeaseTerms { lease: longest.unwrap_or_default(), stop: Duration::ZERO };
        let over = known.arbiter.coordinator_since() + context.settings.takeover_delay(terms);
        self.schedule(office, over, context.now);
        over <= context.now
    }
}
