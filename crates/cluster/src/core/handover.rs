//! How an office goes from a live holder to the next: by an operator's wish, because somebody better is there, or
//! because its holder does not stand any more. The holder stops first; if it does not in time, it stays in office.

use std::collections::BTreeSet;

use hustings_protocol::Id;

use super::table::{Holder, Office};
use super::{Core, requests};
use crate::api::{Cause, Refusal};
use crate::clock::Moment;
use crate::wire::Message;

/// An office that is being handed over.
pub(super) struct Handover {
    /// The token of the one who hands it over.
    pub(super) token: u64,
    /// To whom; whoever claims it, if it is nobody in particular.
    pub(super) to: Option<Id>,
    pub(super) why: Cause,
    pub(super) stage: Stage,
    /// It is given up then.
    pub(super) until: Moment,
    /// Who asked for it.
    pub(super) ask: Option<requests::Asker>,
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

impl Core {
    /// Begins to hand an office over: its holder is asked to stop.
    pub(super) fn hand_over(
        &mut self,
        office: &str,
        known: &Office,
        to: Option<Id>,
        why: Cause,
        ask: Option<requests::Asker>,
    ) {
        let Some(holder) = known.holder else { return };
        let token = known.token;
        if self.grants.proposed.contains_key(office) {
            return;
        }
        if let Some(handover) = self.grants.handover.get_mut(office) {
            if handover.stage == Stage::Resting {
                (handover.stage, handover.to) = (Stage::Yielding, None);
                self.ask_to_yield(holder.id, office, token, Cause::Resigned);
            }
            return;
        }
        let until = self.now + self.setup.timing.hand_over;
        let handover = Handover { token, to, why, stage: Stage::Yielding, until, ask };
        self.grants.handover.insert(office.to_string(), handover);
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
    pub(super) fn handle_yielded(&mut self, from: Id, office: &str, token: u64, unasked: Cause) {
        let Some(known) = self.table.offices.get(office).cloned() else { return };
        if known.token != token || known.holder.is_none_or(|holder| holder.id != from) || !self.leads() {
            return;
        }
        let handover = self.grants.handover.get(office).filter(|handover| handover.token == token);
        let (wished, why) = handover.map_or((None, unasked), |handover| (handover.to, handover.why));
        let is_free = |id: &Id| self.is_up(*id) && self.stands_for(*id, office);
        let claimant = self.grants.claims.iter().filter(|(_, claims)| claims.iter().any(|one| one.office == office));
        let next = wished
            .filter(is_free)
            .or_else(|| claimant.map(|(id, _)| *id).filter(is_free).max_by_key(|id| self.rank(*id)));
        match next.and_then(|id| Some(Holder { id, incarnation: self.life_of(id)? })) {
            Some(to) if !self.table.paused => {
                let pinned = why == Cause::Transferred && wished == Some(to.id);
                self.grant(office, to, known.mode, why, pinned);
            }
            _ => self.vacate(office, token, why),
        }
    }

    /// A member says whether it is ready to take an office over.
    pub(super) fn handle_prepared(&mut self, from: Id, office: &str, ready: bool) {
        let is_meant = |handover: &Handover| handover.to == Some(from) && handover.stage == Stage::Preparing;
        let Some(handover) = self.grants.handover.get_mut(office).filter(|handover| is_meant(handover)) else { return };
        if !ready {
            let asker = self.grants.handover.remove(office).and_then(|handover| handover.ask);
            let name = self.table.name(from);
            asker.into_iter().for_each(|asker| self.answer(asker, Err(requests::not_ready(&name, office))));
            return;
        }
        handover.stage = Stage::Yielding;
        let (token, why) = (handover.token, handover.why);
        match self.table.offices.get(office).and_then(|known| known.holder) {
            Some(holder) if self.lost(holder).is_none() => self.ask_to_yield(holder.id, office, token, why),
            _ => {}
        }
    }

    pub(super) fn give_up_late_hand_overs(&mut self) {
        let late: BTreeSet<String> = self
            .grants
            .handover
            .iter()
            .filter(|(_, handover)| handover.until <= self.now)
            .map(|(office, _)| office.clone())
            .collect();
        for office in late {
            let handover = self.grants.handover.remove(&office).expect("it was just there");
            if handover.stage == Stage::Resting {
                // Nobody else wants it: it is given up all the same.
                let known = self.table.offices.get(&office).cloned();
                if let Some(known) = known.filter(|known| known.token == handover.token) {
                    self.hand_over(&office, &known, None, Cause::Resigned, handover.ask);
                }
            } else if let Some(asker) = handover.ask {
                self.answer(asker, Err(requests::too_late(&office)));
            }
        }
        let next = self.grants.handover.values().map(|handover| handover.until).min();
        next.into_iter().for_each(|moment| self.look_again_at(moment));
    }

    /// An operator wants an office to go to a member.
    pub(super) fn transfer(&mut self, office: &str, to: &str, asker: requests::Asker) -> Result<(), Refusal> {
        let id = self.table.named(to).map(|member| member.id).ok_or_else(|| requests::unknown_member(to))?;
        let known = self.table.offices.get(office).cloned().ok_or_else(|| requests::not_held(office))?;
        let holder = known.holder.ok_or_else(|| requests::not_held(office))?;
        if self.table.paused {
            return Err(requests::paused());
        }
        if holder.id == id {
            self.answer(asker, Ok(()));
            return Ok(());
        }
        if !self.is_up(id) || !self.stands_for(id, office) {
            return Err(requests::not_ready(to, office));
        }
        if self.grants.handover.contains_key(office) {
            return Err(requests::busy(office));
        }
        let until = self.now + self.setup.timing.hand_over;
        let (token, why) = (known.token, Cause::Transferred);
        let handover = Handover { token, to: Some(id), why, stage: Stage::Preparing, until, ask: Some(asker) };
        self.grants.handover.insert(office.to_string(), handover);
        self.grants.next = self.grants.next.min(until);
        if id == self.setup.own {
            let ready = self.stands_for(id, office);
            self.handle_prepared(id, office, ready);
        } else {
            self.send(id, Message::Prepare { office: office.to_string() });
        }
        Ok(())
    }

    /// An operator wants the holder of an office to let go.
    pub(super) fn resign(&mut self, office: &str, asker: requests::Asker) -> Result<(), Refusal> {
        let known = self.table.offices.get(office).cloned().ok_or_else(|| requests::not_held(office))?;
        let holder = known.holder.ok_or_else(|| requests::not_held(office))?;
        if self.grants.handover.contains_key(office) {
            return Err(requests::busy(office));
        }
        let until = self.now + self.setup.timing.hand_over / 2;
        let (token, why) = (known.token, Cause::Resigned);
        let handover = Handover { token, to: None, why, stage: Stage::Resting, until, ask: Some(asker) };
        self.grants.handover.insert(office.to_string(), handover);
        self.grants.next = self.grants.next.min(until);
        if holder.id == self.setup.own {
            self.rest(office);
        } else {
            self.send(holder.id, Message::Rest { office: office.to_string() });
        }
        Ok(())
    }
}
