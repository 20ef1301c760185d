//! What the coordinator decides: who is granted which office, and when.
//!
//! A node that its election has elected *claims* the office. The coordinator submits a grant to the arbiter in one of
//! three cases: the office is vacant; its holder is lost and, if the office is exclusive, the holder's lease has
//! certainly expired; or the holder was asked to step down and has stopped.
//!
//! An office passes from one holder to the next in the mode of its grant. If the next holder claims it in another one,
//! because their configurations differ, it becomes vacant first, and a vacant office is granted in the mode in which it
//! is claimed. If it was fenced and becomes exclusive, that waits until all its fenced leases have certainly expired,
//! because a fenced office becomes vacant, or passes on, while those who held it may still act.
//!
//! An event marks the offices that it concerns, and only those are evaluated, a limited number at a time. If nobody who
//! could be granted an office claims it for a while, whatever the reason, the best candidate that the coordinator knows
//! gets it.

mod evaluation;
mod handover;
mod proposals;
mod uploads;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::time::Duration;

use hustings_protocol::Id;

use self::handover::Handover;
use self::proposals::Proposals;
use super::LEADER;
use super::arbiter::Arbiter;
use super::context::Context;
use super::elections::Candidates;
use super::normalise::Normalise;
use super::requests::{Requester, errors};
use super::table::{Command, Holder, OfficeName};
use crate::api::{ChangeReason, RequestError};
use crate::clock::Timestamp;
use crate::config::Mode;
use crate::timing::LeaseTerms;
use crate::wire::{self, Claim, Message};

/// How many changes of offices may be submitted and not decided. More would only wait for the disks, in front of
/// everything that is more urgent.
const MAX_PROPOSALS: usize = 512;
/// After this time without a claim that can be granted, the best candidate gets the office without one.
const CLAIM_PATIENCE: Duration = Duration::from_millis(400);
/// How long a holder may take to learn of its grant, at least.
const LEARN_PATIENCE: Duration = Duration::from_millis(400);
/// How much longer it may take if it would lose other offices, whose leases all go on as long as it answers: as long as
/// a busy disk may take for a write before it counts as failed.
const BUSY_PATIENCE: Duration = Duration::from_secs(5);
/// How long a member that gave a grant back at once is not granted the same office without a claim.
const REFUSAL_TIME: Duration = Duration::from_secs(2);
/// How many offices one member may claim.
const MAX_CLAIMS_PER_MEMBER: usize = 20_000;

/// What the parts around the coordinator know.
pub(super) struct Known<'a> {
    pub(super) arbiter: &'a mut dyn Arbiter,
    pub(super) candidates: &'a Candidates,
}

/// The coordinator's state that is not in the table. On other nodes it is empty.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Coordinator {
    claims: BTreeMap<OfficeName, BTreeMap<Id, Claim>>,
    claimed_by: BTreeMap<Id, BTreeSet<OfficeName>>,
    proposals: Proposals,
    handovers: BTreeMap<OfficeName, Handover>,
    /// Offices to evaluate now, and offices to evaluate later.
    marked: BTreeSet<OfficeName>,
    scheduled: BTreeSet<(Timestamp, OfficeName)>,
    scheduled_at: BTreeMap<OfficeName, Timestamp>,
    /// Since when an office that somebody is a candidate for has had no claim that could be granted.
    unclaimed_since: BTreeMap<OfficeName, Timestamp>,
    /// Since when fenced offices that are about to become exclusive, and new ones that are claimed as such, have been
    /// vacant, at least.
    vacant_since: BTreeMap<OfficeName, Timestamp>,
    /// The last entry that forgot a fenced office, and when this node applied it, or learned of it.
    last_forgotten: (u64, Timestamp),
    /// Members that gave a grant back at once and are passed over, and until when, in order of time.
    refusals: BTreeSet<(OfficeName, Id)>,
    refusal_ends: VecDeque<(Timestamp, OfficeName, Id)>,
    /// New offices for which there was no room.
    waiting_for_room: BTreeSet<OfficeName>,
    /// Grants that their holders have not learned of.
    unlearned: BTreeMap<OfficeName, Unlearned>,
    /// After a recovery: when every lease from before is over.
    recovery_ends: Option<Timestamp>,
    /// Who waits for the outcome of a submitted request, by its number.
    requesters: BTreeMap<u64, Requester>,
    /// The same for pieces of states.
    piece_requesters: BTreeMap<u64, Requester>,
    last_request: u64,
    epoch: u64,
    is_established: bool,
}

/// A holder that is up has not learned of its grant.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Unlearned {
    /// It has time until then.
    Until(Timestamp),
    /// It counts as lost, and nothing is confirmed to it.
    Revoked,
}

/// Inputs.
impl Coordinator {
    /// The coordinator may have changed, or become able to decide.
    pub(super) fn handle_coordinator(&mut self, known: &Known<'_>, own: Id) {
        let is_own = known.arbiter.coordinator() == Some(own);
        if !is_own || self.epoch != known.arbiter.epoch() {
            // A new coordinator starts over, without claims and handovers of an earlier epoch. Requests that were
            // submitted may still be decided.
            let (last_request, epoch) = (self.last_request, known.arbiter.epoch());
            if is_own || self.is_established || !self.claims.is_empty() {
                let (requesters, piece_requesters) =
                    (std::mem::take(&mut self.requesters), std::mem::take(&mut self.piece_requesters));
                *self = Coordinator { last_request, epoch, requesters, piece_requesters, ..Coordinator::default() };
            }
        }
        let is_established = known.arbiter.is_established();
        if is_established && !self.is_established {
            self.mark_everything(known);
        }
        self.is_established = is_established;
    }

    /// Marks every office that is held, claimed or wanted.
    pub(super) fn mark_everything(&mut self, known: &Known<'_>) {
        let table = known.arbiter.table();
        self.marked
            .extend(table.offices.iter().filter(|(_, office)| office.holder.is_some()).map(|(name, _)| name.clone()));
        self.marked.extend(self.claims.keys().cloned());
        for id in table.members.keys() {
            self.marked.extend(known.candidates.offices_of(*id).cloned());
        }
    }

    /// The claims of a member changed.
    pub(super) fn handle_claims(&mut self, from: Id, claims: wire::Claims) {
        let wire::Claims { replaces_all, added, removed } = claims;
        let former = if replaces_all { self.claimed_by.remove(&from).unwrap_or_default() } else { BTreeSet::new() };
        former.iter().chain(&removed).for_each(|office| self.remove_claim(from, office));
        for mut claim in added {
            claim.terms = claim.terms.bounded();
            let offices = self.claimed_by.entry(from).or_default();
            if offices.len() < MAX_CLAIMS_PER_MEMBER || offices.contains(&claim.office) {
                offices.insert(claim.office.clone());
                self.marked.insert(claim.office.clone());
                self.claims.entry(claim.office.clone()).or_default().insert(from, claim);
            }
        }
    }

    fn remove_claim(&mut self, from: Id, office: &OfficeName) {
        if let Some(offices) = self.claimed_by.get_mut(&from) {
            offices.remove(office);
        }
        if let Some(claims) = self.claims.get_mut(office) {
            claims.remove(&from);
            if claims.is_empty() {
                self.claims.remove(office);
            }
        }
        self.marked.insert(office.clone());
    }

    /// Something about a member changed: it went up or down, was restarted, was reported down, or has another rank.
    pub(super) fn handle_member_change(&mut self, id: Id, known: &Known<'_>) {
        if !self.is_established {
            return;
        }
        self.marked.extend(known.arbiter.table().offices.held_by(id).cloned());
        self.marked.extend(self.claimed_by.get(&id).into_iter().flatten().cloned());
        let is_vacant = |office: &&OfficeName| self.unclaimed_since.contains_key(*office);
        self.marked.extend(known.candidates.offices_of(id).filter(is_vacant).cloned().collect::<Vec<_>>());
    }

    /// Somebody became a candidate for an office, or is none any more.
    pub(super) fn handle_candidacy_change(&mut self, office: &OfficeName) {
        if self.is_established {
            self.marked.insert(office.clone());
        }
    }

    /// An entry for this office was applied, whether it took effect or not.
    pub(super) fn handle_applied(&mut self, office: &OfficeName, known: &Known<'_>, context: &mut Context<'_>) {
        self.vacant_since.remove(office);
        let forgotten = known.arbiter.table().forgotten_fenced.index;
        if forgotten != self.last_forgotten.0 {
            self.last_forgotten = (forgotten, context.now);
        }
        if !self.is_established && self.proposals.is_empty() && self.handovers.is_empty() {
            return;
        }
        let submitted = self.proposals.remove(office);
        let is_held = known.arbiter.table().offices.get(office).is_some_and(|record| record.holder.is_some());
        self.unlearned.remove(office);
        if let Some(submitted) = submitted.filter(|_| is_held) {
            // Where the majority needs long, the holder may need long as well.
            let commit = context.now.since(submitted);
            let patience = LEARN_PATIENCE.max(4 * commit).max(4 * context.settings.timing.heartbeat);
            self.unlearned.insert(office.clone(), Unlearned::Until(context.now + patience));
        }
        self.marked.insert(office.clone());
        if !self.waiting_for_room.is_empty() && known.arbiter.table().remaining_capacity() > 0 {
            self.marked.extend(std::mem::take(&mut self.waiting_for_room));
        }
        self.finish_handover(office, known, context);
    }

    /// The change with this number was applied: tells whoever waits for it. Only a record of a completion is refused if
    /// it did not take effect: the holder is another one.
    pub(super) fn handle_completed(&mut self, request: u64, took_effect: bool, context: &mut Context<'_>) {
        if let Some(requester) = self.requesters.remove(&request) {
            respond(requester, if took_effect { Ok(()) } else { Err(errors::stale_token()) }, context);
        }
    }
}

/// Requests.
impl Coordinator {
    /// A request was not answered by what was decided. If it never takes effect, the node that forwarded it sends it to
    /// the next coordinator.
    pub(super) fn handle_unanswered(&mut self, request: u64, is_replaced: bool, context: &mut Context<'_>) {
        if let Some(requester) = self.requesters.remove(&request) {
            let refusal = if is_replaced { errors::moved() } else { errors::unknown_outcome() };
            respond(requester, Err(refusal), context);
        }
        self.forget_piece(request, context);
    }
}

/// Evaluation.
impl Coordinator {
    /// Evaluates marked offices and those that are due: at most this many.
    pub(super) fn evaluate(&mut self, left: &mut usize, known: &mut Known<'_>, context: &mut Context<'_>) {
        if !known.arbiter.is_established() {
            return;
        }
        while let Some((_, office)) = self.scheduled.pop_first_if_due(context.now) {
            self.scheduled_at.remove(&office);
            self.marked.insert(office);
        }
        self.forget_refusals(context.now);
        while *left > 0
            && self.may_submit()
            && let Some(office) = self.marked.pop_first()
        {
            *left -= 1;
            context.increment("office-evaluations");
            self.evaluate_office(&office, known, context);
        }
    }

    /// Whether offices are left that it can evaluate now. With too many changes under way, it goes on when one of them
    /// is decided.
    pub(super) fn has_work(&self, known: &Known<'_>) -> bool {
        known.arbiter.is_established() && self.may_submit() && !self.marked.is_empty()
    }

    fn may_submit(&self) -> bool {
        self.proposals.len() < MAX_PROPOSALS
    }

    /// When offices must be evaluated.
    pub(super) fn poll_timeout(&self) -> Timestamp {
        self.scheduled.first().map_or(Timestamp::NEVER, |(at, _)| *at)
    }

    fn schedule(&mut self, office: &OfficeName, at: Timestamp, now: Timestamp) {
        if at <= now || self.scheduled_at.get(office).is_some_and(|known| *known <= at) {
            return;
        }
        if let Some(former) = self.scheduled_at.insert(office.clone(), at) {
            self.scheduled.remove(&(former, office.clone()));
        }
        self.scheduled.insert((at, office.clone()));
    }

    #[expect(clippy::too_many_arguments, reason = "they are the parts of a grant")]
    fn grant(
        &mut self,
        office: &OfficeName,
        holder: Holder,
        mode: Mode,
        terms: LeaseTerms,
        cause: ChangeReason,
        pinned: bool,
        known: &mut Known<'_>,
        context: &mut Context<'_>,
    ) {
        let table = known.arbiter.table();
        let expected_token = table.token(office);
        // The table would reject the grant, and it would be proposed again and again.
        let is_known = office.as_ref() == LEADER || table.offices.contains(office);
        let fills = office.as_ref() != LEADER && table.offices.get(office).is_none_or(|known| known.holder.is_none());
        if !is_known && table.remaining_capacity() <= self.proposals.filling() {
            self.waiting_for_room.insert(office.clone());
            return;
        }
        let (office, unix_ms) = (office.clone(), context.unix_ms);
        let command =
            Command::Grant { office: office.clone(), holder, expected_token, mode, terms, cause, pinned, unix_ms };
        self.submit_change(&office, expected_token, fills, command, known, context);
    }

    fn vacate(
        &mut self,
        office: &OfficeName,
        token: u64,
        cause: ChangeReason,
        known: &mut Known<'_>,
        context: &mut Context<'_>,
    ) {
        let command = Command::Vacate { office: office.clone(), token, cause, unix_ms: context.unix_ms };
        self.submit_change(office, token, false, command, known, context);
    }

    /// Submits a change of an office, unless the same change is pending.
    fn submit_change(
        &mut self,
        office: &OfficeName,
        expected_token: u64,
        fills: bool,
        command: Command,
        known: &mut Known<'_>,
        context: &mut Context<'_>,
    ) {
        if self.proposals.expects(office, expected_token) {
            return;
        }
        self.last_request += 1;
        match known.arbiter.submit(self.last_request, command, context) {
            Ok(()) => self.proposals.insert(office, expected_token, fills, context.now),
            // The arbiter is busy, for instance with handing its role over.
            Err(_) => self.schedule(office, context.now + context.settings.timing.heartbeat, context.now),
        }
    }

    /// Submits a change that an operator asked for. The requester gets a response when it is applied.
    pub(super) fn submit_for(
        &mut self,
        requester: Requester,
        command: Command,
        known: &mut Known<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), RequestError> {
        if known.arbiter.coordinator() != Some(context.own()) {
            return Err(errors::no_majority());
        }
        self.last_request += 1;
        known.arbiter.submit(self.last_request, command, context)?;
        self.requesters.insert(self.last_request, requester);
        Ok(())
    }
}

impl Normalise for Coordinator {
    fn normalise(&mut self, now: Timestamp) {
        let Coordinator {
            proposals,
            handovers,
            scheduled,
            scheduled_at,
            unclaimed_since,
            vacant_since,
            last_forgotten,
            refusal_ends,
            unlearned,
            recovery_ends,
            claims: _,
            claimed_by: _,
            marked: _,
            refusals: _,
            waiting_for_room: _,
            requesters: _,
            piece_requesters: _,
            last_request: _,
            epoch: _,
            is_established: _,
        } = self;
        let parts: [&mut dyn Normalise; 8] =
            [proposals, handovers, scheduled, scheduled_at, unclaimed_since, vacant_since, unlearned, recovery_ends];
        parts.into_iter().for_each(|part| part.normalise(now));
        last_forgotten.1.normalise(now);
        refusal_ends.iter_mut().for_each(|(at, ..)| at.normalise(now));
    }
}

impl Normalise for Unlearned {
    fn normalise(&mut self, now: Timestamp) {
        match self {
            Unlearned::Until(until) => until.normalise(now),
            Unlearned::Revoked => {}
        }
    }
}

/// Whether a member is up, in the view, and a candidate for an office.
fn is_available(id: Id, office: &str, known: &Known<'_>, context: &Context<'_>) -> bool {
    context.liveness.is_in_view(id) && context.liveness.is_up(id) && known.candidates.contains(id, office)
}

/// Sends the outcome of a forwarded request to the requester.
pub(super) fn respond(requester: Requester, result: Result<(), RequestError>, context: &mut Context<'_>) {
    context.send(requester.node, Message::ForwardedResponse { number: requester.number, result });
}

/// Removes the first element if it is due.
trait PopDue {
    fn pop_first_if_due(&mut self, now: Timestamp) -> Option<(Timestamp, OfficeName)>;
}

impl PopDue for BTreeSet<(Timestamp, OfficeName)> {
    fn pop_first_if_due(&mut self, now: Timestamp) -> Option<(Timestamp, OfficeName)> {
        if self.first().is_some_and(|(at, _)| *at <= now) { self.pop_first() } else { None }
    }
}
