//! How an office goes from a live holder to the next: by an operator's wish, because somebody better is there, or
//! because its holder does not stand any more. The holder stops first; if it does not in time, it stays in office.

use std::collections::BTreeSet;

use hustings_protocol::Id;

use super::table::{Holder, Office};
use super::{Machine, asks};
use crate::api::{Cause, Refusal};
use crate::clock::Moment;
use crate::wire::Message;

/// An office that is being handed over.
pub(super) struct Handing {
    /// The token of the one who hands it over.
    pub(super) token: u64,
    /// To whom; whoever claims it, if it is nobody in particular.
    pub(super) to: Option<Id>,
    pub(super) why: Cause,
    pub(super) stage: Stage,
    /// It is given up then.
    pub(super) until: Moment,
    /// Who asked for it.
    pub(super) ask: Option<asks::Asker>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// The one who is to have it was asked whether it is ready.
    Preparing,
    /// The holder was asked not to stand any more; somebody else is to be elected.
    Resting,
    /// The holder was asked to stop.
    Yielding,
}

impl Machine {
    /// Begins to hand an office over: its holder is asked to stop.
    pub(super) fn hand_over(
        &mut self,
        office: &str,
        known: &Office,
        to: Option<Id>,
        why: Cause,
        ask: Option<asks::Asker>,
    ) {
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

    pub(super) fn give_up_late_hand_overs(&mut self) {
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
