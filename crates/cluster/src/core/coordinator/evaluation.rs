//! Who gets an office: the rules by which the coordinator evaluates it.

use std::time::Duration;

use hustings_protocol::Id;

use super::{BUSY_PATIENCE, CLAIM_PATIENCE, Coordinator, Known, LEARN_PATIENCE, REFUSAL_TIME, Unlearned, is_available};
use crate::api::ChangeReason;
use crate::clock::Timestamp;
use crate::config::{Mode, Preempt};
use crate::core::LEADER;
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
                let claim = claim.or_else(|| self.claim_on_behalf(office, known, context));
                if claim.is_none() && record.is_none() {
                    self.vacant_since.remove(office);
                }
                if let Some((to, claim)) = claim
                    && self.are_fenced_leases_over(office, claim.mode, known, context)
                    && self.may_grant_after_recovery(office, known, context)
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
        let Some(best) = self.best_candidate(office, known, context) else {
            self.unclaimed_since.remove(office);
            return None;
        };
        let since = *self.unclaimed_since.entry(office.clone()).or_insert(now);
        if now < since + CLAIM_PATIENCE {
            self.schedule(office, since + CLAIM_PATIENCE, now);
            return None;
        }
        self.unclaimed_since.remove(office);
        Some(best)
    }

    /// The best candidate that did not refuse the office lately, whether it claims it or not.
    fn best_candidate(&self, office: &OfficeName, known: &Known<'_>, context: &Context<'_>) -> Option<(Holder, Claim)> {
        let available = |id: &Id| is_available(*id, office, known, context) && !self.is_refusing(office, *id);
        let candidates = context.liveness.view().iter().copied().filter(available);
        let id = candidates.max_by_key(|id| context.liveness.rank(*id))?;
        let policy = context.settings.policy(office);
        let claim = Claim {
            office: office.clone(),
            mode: policy.mode,
            preempt: policy.preempt,
            terms: policy.terms(&context.settings.timing),
        };
        Some((Holder { id, incarnation: context.liveness.incarnation_of(id)? }, claim))
    }

    /// Whether a holder that is up has not learned for long that the office is its own: its disk accepts nothing, or
    /// nothing reaches it. Nothing is confirmed to it from then on, so that its lease ends.
    fn is_stuck(
        &mut self,
        office: &OfficeName,
        holder: Holder,
        record: &Office,
        known: &mut Known<'_>,
        context: &mut Context<'_>,
    ) -> bool {
        if known.arbiter.has_learned(holder.id, record.token) {
            self.unlearned.remove(office);
            return false;
        }
        let patience = LEARN_PATIENCE.max(4 * context.settings.timing.heartbeat);
        match *self.unlearned.entry(office.clone()).or_insert(Unlearned::Until(context.now + patience)) {
            Unlearned::Until(until) if until > context.now => {
                self.schedule(office, until, context.now);
                return false;
            }
            // A disk that is merely busy is no reason to end what works.
            Unlearned::Until(until) if until + BUSY_PATIENCE > context.now && has_other_work(holder, known) => {
                self.schedule(office, until + BUSY_PATIENCE, context.now);
                return false;
            }
            Unlearned::Until(_) => {
                context.increment("unlearned-grants");
                known.arbiter.revoke(holder.id);
                self.unlearned.insert(office.clone(), Unlearned::Revoked);
                self.remember_refusal(office, holder.id, context.now);
            }
            Unlearned::Revoked => {}
        }
        true
    }

    fn is_refusing(&self, office: &OfficeName, id: Id) -> bool {
        self.refusals.contains(&(office.clone(), id))
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
        let stuck = self.is_stuck(office, holder, record, known, context).then_some(ChangeReason::Silent);
        if let Some(cause) = self.loss_cause(office, holder, known, context).or(stuck) {
            let claim = match claim.filter(|(to, _)| stuck.is_none() || to.id != holder.id) {
                // The others do not claim the office, because they elected the holder.
                None if stuck.is_some() => match self.best_candidate(office, known, context) {
                    None => return,
                    candidate => candidate,
                },
                claim => claim,
            };
            if !self.is_lease_over(office, holder, record, known, context)
                || !self.may_grant_after_recovery(office, known, context)
            {
                return;
            }
            // An office that nobody claims becomes vacant, so that a lost member is not shown as its holder.
            match claim.filter(|(_, claim)| claim.mode == record.mode) {
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
        if self.is_refusing(office, claimant) {
            self.schedule(office, context.now + REFUSAL_TIME, context.now);
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
        let mut others = known.arbiter.voters();
        others.retain(|id| *id != holder.id && liveness.is_up(*id));
        let (since, cause, down_reports) = match liveness.peer(holder.id) {
            Some(peer) => {
                (peer.since.max(coordinator_since), peer.down_cause, peer.recent_down_reports(floor, &others))
            }
            None => (coordinator_since, ChangeReason::Silent, 0),
        };
        // A lost connection may mean that only one link is cut. The holder is lost if enough voters report it down, or
        // if it stays silent.
        let is_confirmed_down = cause == ChangeReason::Disconnected && 2 * (1 + down_reports) > others.len();
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

    /// Whether an office may be granted in this mode, as far as its fenced grants are concerned: for an exclusive one,
    /// all their leases must have certainly expired. Each of them counts from a time before the office became vacant: a
    /// member that lost an office has nothing confirmed to it until it knows, and the client of a lease that the member
    /// released is not told of renewals.
    fn are_fenced_leases_over(
        &mut self,
        office: &OfficeName,
        mode: Mode,
        known: &Known<'_>,
        context: &Context<'_>,
    ) -> bool {
        let table = known.arbiter.table();
        let lease = table.fenced_lease(office);
        if mode == Mode::Fenced || lease.is_zero() {
            return true;
        }
        let vacant = *self.vacant_since.entry(office.clone()).or_insert(context.now);
        let since = match table.offices.contains(office) {
            true => vacant,
            // A forgotten office was vacant when it was forgotten, and others that are forgotten later do not matter.
            false => vacant.min(self.last_forgotten.1.max(known.arbiter.coordinator_since())),
        };
        let over = since + context.settings.takeover_delay(LeaseTerms { lease, stop: Duration::ZERO });
        self.schedule(office, over, context.now);
        over <= context.now
    }

    /// After a recovery from one member's disk, any office may have been granted in an entry that is lost, also as an
    /// exclusive one, to a holder that does not know that. So every lease runs its full length before the first grant.
    fn may_grant_after_recovery(&mut self, office: &OfficeName, known: &Known<'_>, context: &Context<'_>) -> bool {
        let table = known.arbiter.table();
        if !table.recovered {
            return true;
        }
        let over = *self.recovery_ends.get_or_insert_with(|| {
            let settings = context.settings;
            let policies = settings.offices.values().chain([&settings.default_policy]);
            let configured = policies.map(|policy| policy.terms(&settings.timing).lease);
            let granted = table.offices.iter().map(|(_, record)| record.terms.lease);
            let lease = granted.chain(configured).max().unwrap_or_default().max(settings.timing.lease);
            known.arbiter.coordinator_since() + settings.takeover_delay(LeaseTerms { lease, stop: Duration::ZERO })
        });
        self.schedule(office, over, context.now);
        over <= context.now
    }
}

/// Whether a member knows that it holds another office for programs. It would lose all that it holds.
fn has_other_work(holder: Holder, known: &Known<'_>) -> bool {
    let offices = &known.arbiter.table().offices;
    let is_learned = |office: &OfficeName| {
        let token = offices.get(office).map(|record| record.token);
        &**office != LEADER && token.is_some_and(|token| known.arbiter.has_learned(holder.id, token))
    };
    offices.held_by(holder.id).any(is_learned)
}
