//! Who may lead: what the leader of the arbiter decides.
//!
//! Whoever a race has elected *claims* the office. The leader of the arbiter grants it, by an entry of the log, when
//! nobody holds it, when its holder is lost (and, for an exclusive office, its lease is over for certain), or when its
//! holder has been asked to stop and has.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hustings_protocol::Id;

use super::table::{Command, Holder, Office};
use super::{LEADER, Machine, asks};
use crate::api::{Cause, Refusal};
use crate::clock::Moment;
use crate::config::{Mode, Preempt};
use crate::wire::{Claim, Message};

/// No lease is longer: an hour and what a clock may gain.
const LONGEST_LEASE_US: u64 = 4_000_000_000;

/// What the leader of the arbiter knows beside the table.
#[derive(Default)]
pub(super) struct Granter {
    /// What everybody claims, itself included.
    claims: BTreeMap<Id, Vec<Claim>>,
    /// Grants and vacations that are on their way through the log, by office: the token that they follow.
    proposed: BTreeMap<String, u64>,
    /// Offices that are being handed over.
    handing: BTreeMap<String, Handing>,
    /// When to look again.
    next: Moment,
    /// How many offices more can become held.
    room: usize,
}

/// An office that is being handed over.
struct Handing {
    /// The token of the one who hands it over.
    token: u64,
    /// To whom; whoever claims it, if it is nobody in particular.
    to: Option<Id>,
    why: Cause,
    stage: Stage,
    /// It is given up then.
    until: Moment,
    /// Who asked for it.
    ask: Option<asks::Asker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// The one who is to have it was asked whether it is ready.
    Preparing,
    /// The holder was asked not to stand any more; somebody else is to be elected.
    Resting,
    /// The holder was asked to stop.
    Yielding,
}

impl Granter {
    /// This node is the leader of the arbiter from now on.
    pub(super) fn begin(&mut self) -> Vec<asks::Asker> {
        let asked = std::mem::take(&mut self.handing).into_values().filter_map(|handing| handing.ask).collect();
        *self = Granter { next: Moment::ZERO, ..Granter::default() };
        asked
    }

    pub(super) fn next(&self) -> Moment {
        self.next
    }
}

impl Machine {
    /// Somebody claims all of these, and nothing else.
    pub(super) fn got_claims(&mut self, from: Id, claims: Vec<Claim>) {
        self.granter.claims.insert(from, claims);
    }

    /// An entry that concerns an office was applied, whether it counted or not.
    pub(super) fn office_decided(&mut self, office: &str) {
        self.granter.proposed.remove(office);
        if self.shown.len() > self.table.offices.len() {
            self.shown.retain(|office, _| self.table.offices.contains_key(office));
        }
        let token = self.table.token(office);
        let holder = self.table.offices.get(office).and_then(|known| known.holder);
        if let Some(handing) = self.granter.handing.get(office)
            && (handing.token != token || holder.is_none())
        {
            let handing = self.granter.handing.remove(office).expect("it is there");
            let is_as_wished = handing.to.is_none_or(|to| holder.is_some_and(|holder| holder.id == to));
            if let Some(asker) = handing.ask {
                self.answer(asker, if is_as_wished { Ok(()) } else { Err(asks::elsewhere(office)) });
            }
        }
    }

    /// Looks at all claims and grants what may be granted.
    pub(super) fn decide(&mut self) {
        self.granter.next = Moment::NEVER;
        if !self.council.as_ref().is_some_and(|council| council.is_established()) || self.disk_failed {
            return;
        }
        self.give_up_late_hand_overs();
        if self.table.paused {
            return;
        }
        let mut best: BTreeMap<String, (Id, Claim)> = BTreeMap::new();
        for (&id, claims) in &self.granter.claims {
            if !self.view.contains(&id) {
                continue;
            }
            for claim in claims.iter().filter(|claim| self.stands_for(id, &claim.office)) {
                let is_better = best.get(&claim.office).is_none_or(|(other, _)| self.worth(id) > self.worth(*other));
                if is_better {
                    best.insert(claim.office.clone(), (id, claim.clone()));
                }
            }
        }
        self.granter.room = self.room();
        for (office, (id, claim)) in &best {
            self.consider(office, *id, claim);
        }
        self.vacate_the_lost(&best);
    }

    /// How many offices can become held beside those that are on their way.
    fn room(&self) -> usize {
        let is_held = |office: &String| self.table.offices.get(office).is_some_and(|known| known.holder.is_some());
        let coming = self.granter.proposed.keys().filter(|office| !is_held(office)).count();
        self.table.room().saturating_sub(coming)
    }

    /// Considers the best claim to an office.
    fn consider(&mut self, office: &str, claimant: Id, claim: &Claim) {
        let Some(life) = self.life_of(claimant) else { return };
        let to = Holder { id: claimant, life };
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
        if self.worth(claimant) <= self.worth(holder) {
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
    fn lost(&mut self, holder: Holder) -> Option<Cause> {
        if !self.table.members.contains_key(&holder.id) {
            return Some(Cause::Removed);
        }
        if self.life_of(holder.id).is_some_and(|life| life != holder.life) {
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
        // One link may be cut while the peer lives: others must have seen its end, too; or it stays silent.
        let others = self
            .council
            .as_ref()
            .map_or(0, |council| council.voters().into_iter().filter(|&id| id != holder.id && self.is_up(id)).count());
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
        let has_left =
            self.peers.get(&holder.id).is_some_and(|peer| peer.why == Cause::Left && peer.life == holder.life);
        if mode == Mode::Fenced || has_left {
            return true;
        }
        // A holder that was told of a longer lease acts for longer.
        let standing = self.peers.get(&holder.id).and_then(|peer| peer.standing.as_ref());
        let its_own = standing.map_or(0, |standing| standing.waits_us);
        let waits_for = self.setup.waits_for.max(Duration::from_micros(its_own.min(LONGEST_LEASE_US)));
        let over = self.rounds.lease_counts_from(holder.id, holder.life) + waits_for;
        self.look_again_at(over);
        over <= self.now
    }

    fn look_again_at(&mut self, moment: Moment) {
        if moment > self.now {
            self.granter.next = self.granter.next.min(moment);
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
            .filter(|(_, holder, ..)| !self.is_up(holder.id) || self.life_of(holder.id) != Some(holder.life))
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

    fn grant(&mut self, office: &str, to: Holder, mode: Mode, why: Cause, pinned: bool) {
        let after = self.table.token(office);
        // One that would not fit would be proposed again and again.
        if office != LEADER && self.granter.room == 0 && !self.table.offices.contains_key(office) {
            return;
        }
        let unix_ms = self.unix_ms;
        let command = Command::Grant { office: office.to_string(), to, after, mode, why, pinned, unix_ms };
        if self.propose_for(office, after, &command) {
            self.granter.room = self.granter.room.saturating_sub(1);
        }
    }

    /// The office is taken from a holder that is lost: from now on, it is confirmed nothing until it knows.
    fn revoke(&mut self, office: &str, holder: Id) {
        if self.granter.proposed.contains_key(office)
            && let Some(council) = &self.council
        {
            self.rounds.must_know(holder, council.last_index());
        }
    }

    fn vacate(&mut self, office: &str, token: u64, why: Cause) {
        let command = Command::Vacate { office: office.to_string(), token, why, unix_ms: self.unix_ms };
        self.propose_for(office, token, &command);
    }

    /// Proposes a change of an office, once. Tells whether it is on its way now, and was not before.
    fn propose_for(&mut self, office: &str, after: u64, command: &Command) -> bool {
        if self.granter.proposed.get(office) == Some(&after) {
            return false;
        }
        let is_proposed = self.council.as_mut().is_some_and(|council| council.propose(command.encode()));
        if is_proposed {
            self.granter.proposed.insert(office.to_string(), after);
        }
        is_proposed
    }

    /// Begins to hand an office over: its holder is asked to stop.
    fn hand_over(&mut self, office: &str, known: &Office, to: Option<Id>, why: Cause, ask: Option<asks::Asker>) {
        let Some(holder) = known.holder else { return };
        let token = known.token;
        if self.granter.proposed.contains_key(office) {
            return;
        }
        if let Some(handing) = self.granter.handing.get_mut(office) {
            if handing.stage == Stage::Resting {
                (handing.stage, handing.to) = (Stage::Yielding, None);
                self.ask_to_yield(holder.id, office, token, Cause::Resigned);
            }
            return;
        }
        let until = self.now + self.setup.timing.hand_over;
        let handing = Handing { token, to, why, stage: Stage::Yielding, until, ask };
        self.granter.handing.insert(office.to_string(), handing);
        self.look_again_at(until);
        self.ask_to_yield(holder.id, office, token, why);
    }

    fn ask_to_yield(&mut self, holder: Id, office: &str, token: u64, why: Cause) {
        if holder == self.setup.own {
            self.yield_office(office, token, why);
        } else {
            self.send(holder, Message::Yield { office: office.to_string(), token, why });
        }
    }

    /// A holder has stopped: the office goes to the one it was meant for, to whoever else claims it, or to nobody.
    pub(super) fn got_yielded(&mut self, from: Id, office: &str, token: u64, unasked: Cause) {
        let Some(known) = self.table.offices.get(office).cloned() else { return };
        if known.token != token || known.holder.is_none_or(|holder| holder.id != from) || !self.leads() {
            return;
        }
        let handing = self.granter.handing.get(office).filter(|handing| handing.token == token);
        let (wished, why) = handing.map_or((None, unasked), |handing| (handing.to, handing.why));
        let is_free = |id: &Id| self.is_up(*id) && self.stands_for(*id, office);
        let claimant = self.granter.claims.iter().filter(|(_, claims)| claims.iter().any(|one| one.office == office));
        let next = wished
            .filter(is_free)
            .or_else(|| claimant.map(|(id, _)| *id).filter(is_free).max_by_key(|id| self.worth(*id)));
        match next.and_then(|id| Some(Holder { id, life: self.life_of(id)? })) {
            Some(to) if !self.table.paused => {
                let pinned = why == Cause::Transferred && wished == Some(to.id);
                self.grant(office, to, known.mode, why, pinned);
            }
            _ => self.vacate(office, token, why),
        }
    }

    /// A member says whether it is ready to take an office over.
    pub(super) fn got_prepared(&mut self, from: Id, office: &str, ready: bool) {
        let is_meant = |handing: &Handing| handing.to == Some(from) && handing.stage == Stage::Preparing;
        let Some(handing) = self.granter.handing.get_mut(office).filter(|handing| is_meant(handing)) else { return };
        if !ready {
            let asker = self.granter.handing.remove(office).and_then(|handing| handing.ask);
            let name = self.table.name(from);
            asker.into_iter().for_each(|asker| self.answer(asker, Err(asks::not_ready(&name, office))));
            return;
        }
        handing.stage = Stage::Yielding;
        let (token, why) = (handing.token, handing.why);
        match self.table.offices.get(office).and_then(|known| known.holder) {
            Some(holder) if self.lost(holder).is_none() => self.ask_to_yield(holder.id, office, token, why),
            _ => {}
        }
    }

    fn give_up_late_hand_overs(&mut self) {
        let late: BTreeSet<String> = self
            .granter
            .handing
            .iter()
            .filter(|(_, handing)| handing.until <= self.now)
            .map(|(office, _)| office.clone())
            .collect();
        for office in late {
            let handing = self.granter.handing.remove(&office).expect("it was just there");
            if handing.stage == Stage::Resting {
                // Nobody else wants it: it is given up all the same.
                let known = self.table.offices.get(&office).cloned();
                if let Some(known) = known.filter(|known| known.token == handing.token) {
                    self.hand_over(&office, &known, None, Cause::Resigned, handing.ask);
                }
            } else if let Some(asker) = handing.ask {
                self.answer(asker, Err(asks::too_late(&office)));
            }
        }
        let next = self.granter.handing.values().map(|handing| handing.until).min();
        next.into_iter().for_each(|moment| self.look_again_at(moment));
    }

    /// An operator wants an office to go to a member.
    pub(super) fn transfer(&mut self, office: &str, to: &str, asker: asks::Asker) -> Result<(), Refusal> {
        let id = self.table.named(to).map(|member| member.id).ok_or_else(|| asks::unknown_member(to))?;
        let known = self.table.offices.get(office).cloned().ok_or_else(|| asks::not_held(office))?;
        let holder = known.holder.ok_or_else(|| asks::not_held(office))?;
        if self.table.paused {
            return Err(asks::paused());
        }
        if holder.id == id {
            self.answer(asker, Ok(()));
            return Ok(());
        }
        if !self.is_up(id) || !self.stands_for(id, office) {
            return Err(asks::not_ready(to, office));
        }
        if self.granter.handing.contains_key(office) {
            return Err(asks::busy(office));
        }
        let until = self.now + self.setup.timing.hand_over;
        let (token, why) = (known.token, Cause::Transferred);
        let handing = Handing { token, to: Some(id), why, stage: Stage::Preparing, until, ask: Some(asker) };
        self.granter.handing.insert(office.to_string(), handing);
        self.granter.next = self.granter.next.min(until);
        if id == self.setup.own {
            let ready = self.stands_for(id, office);
            self.got_prepared(id, office, ready);
        } else {
            self.send(id, Message::Prepare { office: office.to_string() });
        }
        Ok(())
    }

    /// An operator wants the holder of an office to let go.
    pub(super) fn resign(&mut self, office: &str, asker: asks::Asker) -> Result<(), Refusal> {
        let known = self.table.offices.get(office).cloned().ok_or_else(|| asks::not_held(office))?;
        let holder = known.holder.ok_or_else(|| asks::not_held(office))?;
        if self.granter.handing.contains_key(office) {
            return Err(asks::busy(office));
        }
        let until = self.now + self.setup.timing.hand_over / 2;
        let (token, why) = (known.token, Cause::Resigned);
        let handing = Handing { token, to: None, why, stage: Stage::Resting, until, ask: Some(asker) };
        self.granter.handing.insert(office.to_string(), handing);
        self.granter.next = self.granter.next.min(until);
        if holder.id == self.setup.own {
            self.rest(office);
        } else {
            self.send(holder.id, Message::Rest { office: office.to_string() });
        }
        Ok(())
    }
}
