//! Who may lead: the decisions of the arbiter's leader.
//!
//! A node that its election has elected *claims* the office. The arbiter's leader grants it with a log entry in one of
//! three cases: the office is vacant; its holder is lost and, if the office is exclusive, the holder's lease has
//! certainly expired; or the holder was asked to step down and has stopped.

use std::collections::BTreeMap;
use std::time::Duration;

use hustings_protocol::Id;

use super::handover::Handover;
use super::table::{Command, Holder};
use super::{Core, LEADER, requests};
use crate::api::ChangeReason;
use crate::clock::Timestamp;
use crate::config::{Mode, Preempt};
use crate::wire::Claim;

/// The longest lease that a member may announce: one hour plus the drift of its clock.
const MAX_LEASE_US: u64 = 4_000_000_000;

/// The state of the arbiter's leader that is not in the table.
#[derive(Default)]
pub(super) struct Grants {
    /// The claims of each member, including this node.
    pub(super) claims: BTreeMap<Id, Vec<Claim>>,
    /// Offices with a change that is proposed but not applied yet, with the token that the change expects.
    pub(super) proposed: BTreeMap<String, u64>,
    /// Handovers in progress, by office.
    pub(super) handovers: BTreeMap<String, Handover>,
    /// When to evaluate the claims again.
    pub(super) next_evaluation: Timestamp,
    /// How many more offices may become held in this evaluation.
    free_capacity: usize,
}

impl Grants {
    /// This node became the arbiter's leader: starts over, without claims and handovers of an earlier term.
    pub(super) fn reset(&mut self) {
        *self = Grants { next_evaluation: Timestamp::ZERO, ..Grants::default() };
    }

    pub(super) fn next_timeout(&self) -> Timestamp {
        self.next_evaluation
    }
}

impl Core {
    /// Replaces the claims of a member.
    pub(super) fn handle_claims(&mut self, from: Id, claims: Vec<Claim>) {
        self.grants.claims.insert(from, claims);
    }

    /// An entry for this office was applied, whether it took effect or not.
    pub(super) fn handle_office_entry(&mut self, office: &str) {
        self.grants.proposed.remove(office);
        let token = self.table.token(office);
        let holder = self.table.offices.get(office).and_then(|known| known.holder);
        if let Some(handover) = self.grants.handovers.get(office)
            && (handover.token != token || holder.is_none())
        {
            let handover = self.grants.handovers.remove(office).expect("it was just found");
            let is_as_requested = handover.to.is_none_or(|to| holder.is_some_and(|holder| holder.id == to));
            if let Some(requester) = handover.requester {
                self.respond(requester, if is_as_requested { Ok(()) } else { Err(requests::went_elsewhere(office)) });
            }
        }
    }

    /// Evaluates all claims, and proposes the grants that are allowed now.
    pub(super) fn evaluate_claims(&mut self) {
        self.grants.next_evaluation = Timestamp::NEVER;
        if !self.consensus.as_ref().is_some_and(|consensus| consensus.is_established()) || self.disk_failed {
            return;
        }
        self.expire_handovers();
        if self.table.paused {
            return;
        }
        let mut best: BTreeMap<String, (Id, Claim)> = BTreeMap::new();
        for (&id, claims) in &self.grants.claims {
            if !self.view.contains(&id) {
                continue;
            }
            for claim in claims.iter().filter(|claim| self.is_candidate_for(id, &claim.office)) {
                let is_better = best.get(&claim.office).is_none_or(|(other, _)| self.rank(id) > self.rank(*other));
                if is_better {
                    best.insert(claim.office.clone(), (id, claim.clone()));
                }
            }
        }
        self.grants.free_capacity = self.free_capacity();
        for (office, (id, claim)) in &best {
            self.evaluate_claim(office, *id, claim);
        }
        self.vacate_lost_offices(&best);
    }

    /// How many more offices may become held, not counting grants that are proposed already.
    fn free_capacity(&self) -> usize {
        let is_held = |office: &String| self.table.offices.get(office).is_some_and(|known| known.holder.is_some());
        let pending = self.grants.proposed.keys().filter(|office| !is_held(office)).count();
        self.table.remaining_capacity().saturating_sub(pending)
    }

    /// Evaluates the best claim to an office.
    fn evaluate_claim(&mut self, office: &str, claimant: Id, claim: &Claim) {
        let Some(incarnation) = self.incarnation_of(claimant) else { return };
        let to = Holder { id: claimant, incarnation };
        let known = self.table.offices.get(office).cloned();
        let Some((holder, known)) = known.as_ref().and_then(|known| Some((known.holder?, known))) else {
            let cause = known.map_or(ChangeReason::Vacant, |known| known.cause);
            self.grant(office, to, claim.policy.mode, cause, false);
            return;
        };
        if let Some(cause) = self.loss_cause(holder) {
            if self.is_lease_over(holder, known.mode) {
                self.grant(office, to, known.mode, cause, false);
                self.revoke(office, holder.id);
            }
        } else if holder == to || !self.is_up(holder.id) {
            // The claimant is the holder, or it is not certain yet that the holder is lost.
        } else if !self.is_candidate_for(holder.id, office) {
            self.begin_handover(office, known, Some(claimant), ChangeReason::Resigned, None);
        } else if !known.pinned && self.may_preempt(claimant, holder.id, claim.policy.preempt) {
            self.begin_handover(office, known, Some(claimant), ChangeReason::Preempted, None);
        }
    }

    /// Whether the claimant ranks higher than the holder and has been up for long enough.
    fn may_preempt(&mut self, claimant: Id, holder: Id, preempt: Preempt) -> bool {
        let base = match preempt {
            Preempt::Never => return false,
            Preempt::Better => self.settings.timing.settle,
            Preempt::BetterAfter(time) => time,
        };
        if self.rank(claimant) <= self.rank(holder) {
            return false;
        }
        let settled_at = self
            .peers
            .get(&claimant)
            .map_or(self.settings.started + base, |peer| peer.since + peer.settle_time(base, self.now));
        self.schedule_evaluation(settled_at);
        settled_at <= self.now
    }

    /// Why a holder counts as lost; `None` if it does not.
    pub(super) fn loss_cause(&mut self, holder: Holder) -> Option<ChangeReason> {
        if !self.table.members.contains_key(&holder.id) {
            return Some(ChangeReason::Removed);
        }
        if self.incarnation_of(holder.id).is_some_and(|incarnation| incarnation != holder.incarnation) {
            return Some(ChangeReason::Disconnected);
        }
        if self.is_up(holder.id) {
            return None;
        }
        let floor = self.settings.timing.silence_floor;
        let (since, cause, down_reports) = match self.peers.get(&holder.id) {
            Some(peer) => {
                // Older reports are about an earlier failure.
                let recent = peer.down_reports.values().filter(|at| **at + floor >= peer.since).count();
                (peer.since.max(self.lease_rounds.leader_since), peer.down_cause, recent)
            }
            None => (self.lease_rounds.leader_since, ChangeReason::Silent, 0),
        };
        // A lost connection may mean that only one link is cut. The holder is lost if enough voters report it down, or
        // if it stays silent.
        let others = self.consensus.as_ref().map_or(0, |consensus| {
            consensus.voters().into_iter().filter(|&id| id != holder.id && self.is_up(id)).count()
        });
        let is_confirmed_down = cause == ChangeReason::Disconnected && 2 * (1 + down_reports) > others;
        let is_timed_out = cause == ChangeReason::Silent || since + floor <= self.now;
        if is_confirmed_down || is_timed_out || cause == ChangeReason::Left {
            return Some(cause);
        }
        self.schedule_evaluation(since + floor);
        None
    }

    /// Whether the lease of a lost holder has certainly expired, or does not matter because the office is fenced.
    fn is_lease_over(&mut self, holder: Holder, mode: Mode) -> bool {
        let has_left = self
            .peers
            .get(&holder.id)
            .is_some_and(|peer| peer.down_cause == ChangeReason::Left && peer.incarnation == holder.incarnation);
        if mode == Mode::Fenced || has_left {
            return true;
        }
        // If the holder is configured with a longer lease, it acts for longer.
        let candidacy = self.peers.get(&holder.id).and_then(|peer| peer.candidacy.as_ref());
        let announced = candidacy.map_or(0, |candidacy| candidacy.lease_at_arbiter_us);
        let lease = self.settings.lease_at_arbiter.max(Duration::from_micros(announced.min(MAX_LEASE_US)));
        let expiry = self.lease_rounds.lease_start(holder.id, holder.incarnation) + lease;
        self.schedule_evaluation(expiry);
        expiry <= self.now
    }

    pub(super) fn schedule_evaluation(&mut self, moment: Timestamp) {
        if moment > self.now {
            self.grants.next_evaluation = self.grants.next_evaluation.min(moment);
        }
    }

    /// Vacates offices whose holder is lost and that nobody claims, so that a lost member is not shown as a holder.
    fn vacate_lost_offices(&mut self, claimed: &BTreeMap<String, (Id, Claim)>) {
        let held: Vec<(String, Holder, Mode, u64)> = self
            .table
            .offices
            .iter()
            .filter(|(name, _)| !claimed.contains_key(*name))
            .filter_map(|(name, office)| Some((name.clone(), office.holder?, office.mode, office.token)))
            .filter(|(_, holder, ..)| {
                !self.is_up(holder.id) || self.incarnation_of(holder.id) != Some(holder.incarnation)
            })
            .collect();
        for (office, holder, mode, token) in held {
            if let Some(cause) = self.loss_cause(holder)
                && self.is_lease_over(holder, mode)
            {
                self.vacate(&office, token, cause);
                self.revoke(&office, holder.id);
            }
        }
    }

    pub(super) fn grant(&mut self, office: &str, holder: Holder, mode: Mode, cause: ChangeReason, pinned: bool) {
        let expected_token = self.table.token(office);
        // The table would reject the grant, and it would be proposed again and again.
        if office != LEADER && self.grants.free_capacity == 0 && !self.table.offices.contains_key(office) {
            return;
        }
        let unix_ms = self.unix_ms;
        let command =
            Command::Grant { office: office.to_string(), holder, expected_token, mode, cause, pinned, unix_ms };
        if self.propose_change(office, expected_token, &command) {
            self.grants.free_capacity = self.grants.free_capacity.saturating_sub(1);
        }
    }

    /// A change that takes an office from a lost holder is proposed. No heartbeat of that holder is confirmed until it
    /// has applied the change.
    fn revoke(&mut self, office: &str, holder: Id) {
        if self.grants.proposed.contains_key(office)
            && let Some(consensus) = &self.consensus
        {
            self.lease_rounds.require_applied(holder, consensus.last_index());
        }
    }

    pub(super) fn vacate(&mut self, office: &str, token: u64, cause: ChangeReason) {
        let command = Command::Vacate { office: office.to_string(), token, cause, unix_ms: self.unix_ms };
        self.propose_change(office, token, &command);
    }

    /// Proposes a change of an office, unless the same change is pending. Returns whether it was proposed now.
    fn propose_change(&mut self, office: &str, expected_token: u64, command: &Command) -> bool {
        if self.grants.proposed.get(office) == Some(&expected_token) {
            return false;
        }
        let is_accepted = self.consensus.as_mut().is_some_and(|consensus| consensus.propose(command.encode()));
        if is_accepted {
            self.grants.proposed.insert(office.to_string(), expected_token);
        }
        is_accepted
    }
}
