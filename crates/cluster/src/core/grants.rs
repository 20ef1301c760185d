//! Who may lead: what the leader of the arbiter decides.
//!
//! Whoever a election has elected *claims* the office. The leader of the arbiter grants it, by an entry of the log, when
//! nobody holds it, when its holder is lost (and, for an exclusive office, its lease is over for certain), or when its
//! holder has been asked to stop and has.

use std::collections::BTreeMap;
use std::time::Duration;

use hustings_protocol::Id;

use super::handover::Handover;
use super::table::{Command, Holder};
use super::{Core, LEADER, requests};
use crate::api::Cause;
use crate::clock::Moment;
use crate::config::{Mode, Preempt};
use crate::wire::Claim;

/// No lease is longer: an hour and what a clock may gain.
const MAX_LEASE_US: u64 = 4_000_000_000;

/// What the leader of the arbiter knows beside the table.
#[derive(Default)]
pub(super) struct Grants {
    /// What everybody claims, itself included.
    pub(super) claims: BTreeMap<Id, Vec<Claim>>,
    /// Grants and vacations that are on their way through the log, by office: the token that they follow.
    pub(super) proposed: BTreeMap<String, u64>,
    /// Offices that are being handed over.
    pub(super) handover: BTreeMap<String, Handover>,
    /// When to look again.
    pub(super) next: Moment,
    /// How many offices more can become held.
    room: usize,
}

impl Grants {
    /// This node is the leader of the arbiter from now on.
    pub(super) fn begin(&mut self) -> Vec<requests::Asker> {
        let asked = std::mem::take(&mut self.handover).into_values().filter_map(|handover| handover.ask).collect();
        *self = Grants { next: Moment::ZERO, ..Grants::default() };
        asked
    }

    pub(super) fn next(&self) -> Moment {
        self.next
    }
}

impl Core {
    /// Somebody claims all of these, and nothing else.
    pub(super) fn handle_claims(&mut self, from: Id, claims: Vec<Claim>) {
        self.grants.claims.insert(from, claims);
    }

    /// An entry that concerns an office was applied, whether it counted or not.
    pub(super) fn office_decided(&mut self, office: &str) {
        self.grants.proposed.remove(office);
        let token = self.table.token(office);
        let holder = self.table.offices.get(office).and_then(|known| known.holder);
        if let Some(handover) = self.grants.handover.get(office)
            && (handover.token != token || holder.is_none())
        {
            let handover = self.grants.handover.remove(office).expect("it is there");
            let is_as_wished = handover.to.is_none_or(|to| holder.is_some_and(|holder| holder.id == to));
            if let Some(asker) = handover.ask {
                self.answer(asker, if is_as_wished { Ok(()) } else { Err(requests::elsewhere(office)) });
            }
        }
    }

    /// Looks at all claims and grants what may be granted.
    pub(super) fn decide(&mut self) {
        self.grants.next = Moment::NEVER;
        if !self.consensus.as_ref().is_some_and(|consensus| consensus.is_established()) || self.disk_failed {
            return;
        }
        self.give_up_late_hand_overs();
        if self.table.paused {
            return;
        }
        let mut best: BTreeMap<String, (Id, Claim)> = BTreeMap::new();
        for (&id, claims) in &self.grants.claims {
            if !self.view.contains(&id) {
                continue;
            }
            for claim in claims.iter().filter(|claim| self.stands_for(id, &claim.office)) {
                let is_better = best.get(&claim.office).is_none_or(|(other, _)| self.rank(id) > self.rank(*other));
                if is_better {
                    best.insert(claim.office.clone(), (id, claim.clone()));
                }
            }
        }
        self.grants.room = self.room();
        for (office, (id, claim)) in &best {
            self.consider(office, *id, claim);
        }
        self.vacate_the_lost(&best);
    }

    /// How many offices can become held beside those that are on their way.
    fn room(&self) -> usize {
        let is_held = |office: &String| self.table.offices.get(office).is_some_and(|known| known.holder.is_some());
        let coming = self.grants.proposed.keys().filter(|office| !is_held(office)).count();
        self.table.room().saturating_sub(coming)
    }

    /// Considers the best claim to an office.
    fn consider(&mut self, office: &str, claimant: Id, claim: &Claim) {
        let Some(incarnation) = self.life_of(claimant) else { return };
        let to = Holder { id: claimant, incarnation };
        let known = self.table.offices.get(office).cloned();
        let Some((holder, known)) = known.as_ref().and_then(|known| Some((known.holder?, known))) else {
            let why = known.map_or(Cause::Vacant, |known| known.why);
            self.grant(office, to, claim.wish.mode, why, false);
            return;
        };
        if let Some(why) = self.lost(holder) {
            if self.is_over(holder, known.mode) {
                self.grant(office, to, known.mode, why, false);
                self.revoke(office, holder.id);
            }
        } else if holder == to || !self.is_up(holder.id) {
            // It has it; or it is not clear yet what became of the holder.
        } else if !self.stands_for(holder.id, office) {
            self.hand_over(office, known, Some(claimant), Cause::Resigned, None);
        } else if !known.pinned && self.may_preempt(claimant, holder.id, claim.wish.preempt) {
            self.hand_over(office, known, Some(claimant), Cause::Preempted, None);
        }
    }

    /// Whether somebody better has been there for long enough.
    fn may_preempt(&mut self, claimant: Id, holder: Id, preempt: Preempt) -> bool {
        let base = match preempt {
            Preempt::Never => return false,
            Preempt::Better => self.setup.timing.settle,
            Preempt::BetterAfter(time) => time,
        };
        if self.rank(claimant) <= self.rank(holder) {
            return false;
        }
        let settled = self
            .peers
            .get(&claimant)
            .map_or(self.setup.started + base, |peer| peer.since + peer.settles_in(base, self.now));
        self.look_again_at(settled);
        settled <= self.now
    }

    /// Whether a holder is lost, and why.
    pub(super) fn lost(&mut self, holder: Holder) -> Option<Cause> {
        if !self.table.members.contains_key(&holder.id) {
            return Some(Cause::Removed);
        }
        if self.life_of(holder.id).is_some_and(|incarnation| incarnation != holder.incarnation) {
            return Some(Cause::Disconnected);
        }
        if self.is_up(holder.id) {
            return None;
        }
        let floor = self.setup.timing.silence_floor;
        let (since, why, witnesses) = match self.peers.get(&holder.id) {
            Some(peer) => {
                // What was seen long before is about another end.
                let recent = peer.witnesses.values().filter(|at| **at + floor >= peer.since).count();
                (peer.since.max(self.rounds.elected), peer.why, recent)
            }
            None => (self.rounds.elected, Cause::Silent, 0),
        };
        // One link may be cut while the peer incarnations: others must have seen its end, too; or it stays silent.
        let others = self.consensus.as_ref().map_or(0, |consensus| {
            consensus.voters().into_iter().filter(|&id| id != holder.id && self.is_up(id)).count()
        });
        let is_seen_by_enough = why == Cause::Disconnected && 2 * (1 + witnesses) > others;
        let is_late = why == Cause::Silent || since + floor <= self.now;
        if is_seen_by_enough || is_late || why == Cause::Left {
            return Some(why);
        }
        self.look_again_at(since + floor);
        None
    }

    /// Whether a lost holder has stopped for certain, or need not have.
    fn is_over(&mut self, holder: Holder, mode: Mode) -> bool {
        let has_left = self
            .peers
            .get(&holder.id)
            .is_some_and(|peer| peer.why == Cause::Left && peer.incarnation == holder.incarnation);
        if mode == Mode::Fenced || has_left {
            return true;
        }
        // A holder that was told of a longer lease acts for longer.
        let candidacy = self.peers.get(&holder.id).and_then(|peer| peer.candidacy.as_ref());
        let its_own = candidacy.map_or(0, |candidacy| candidacy.waits_us);
        let waits_for = self.setup.waits_for.max(Duration::from_micros(its_own.min(MAX_LEASE_US)));
        let over = self.rounds.lease_counts_from(holder.id, holder.incarnation) + waits_for;
        self.look_again_at(over);
        over <= self.now
    }

    pub(super) fn look_again_at(&mut self, moment: Moment) {
        if moment > self.now {
            self.grants.next = self.grants.next.min(moment);
        }
    }

    /// Offices whose holder is lost and that nobody claims become vacant, so that nobody is taken for a holder.
    fn vacate_the_lost(&mut self, claimed: &BTreeMap<String, (Id, Claim)>) {
        let held: Vec<(String, Holder, Mode, u64)> = self
            .table
            .offices
            .iter()
            .filter(|(name, _)| !claimed.contains_key(*name))
            .filter_map(|(name, office)| Some((name.clone(), office.holder?, office.mode, office.token)))
            .filter(|(_, holder, ..)| !self.is_up(holder.id) || self.life_of(holder.id) != Some(holder.incarnation))
            .collect();
        for (office, holder, mode, token) in held {
            if let Some(why) = self.lost(holder)
                && self.is_over(holder, mode)
            {
                self.vacate(&office, token, why);
                self.revoke(&office, holder.id);
            }
        }
    }

    pub(super) fn grant(&mut self, office: &str, to: Holder, mode: Mode, why: Cause, pinned: bool) {
        let after = self.table.token(office);
        // One that would not fit would be proposed again and again.
        if office != LEADER && self.grants.room == 0 && !self.table.offices.contains_key(office) {
            return;
        }
        let unix_ms = self.unix_ms;
        let command = Command::Grant { office: office.to_string(), to, after, mode, why, pinned, unix_ms };
        if self.propose_for(office, after, &command) {
            self.grants.room = self.grants.room.saturating_sub(1);
        }
    }

    /// The office is taken from a holder that is lost: from now on, it is confirmed nothing until it knows.
    fn revoke(&mut self, office: &str, holder: Id) {
        if self.grants.proposed.contains_key(office)
            && let Some(consensus) = &self.consensus
        {
            self.rounds.must_know(holder, consensus.last_index());
        }
    }

    pub(super) fn vacate(&mut self, office: &str, token: u64, why: Cause) {
        let command = Command::Vacate { office: office.to_string(), token, why, unix_ms: self.unix_ms };
        self.propose_for(office, token, &command);
    }

    /// Proposes a change of an office, once. Tells whether it is on its way now, and was not before.
    fn propose_for(&mut self, office: &str, after: u64, command: &Command) -> bool {
        if self.grants.proposed.get(office) == Some(&after) {
            return false;
        }
        let is_proposed = self.consensus.as_mut().is_some_and(|consensus| consensus.propose(command.encode()));
        if is_proposed {
            self.grants.proposed.insert(office.to_string(), after);
        }
        is_proposed
    }
}
