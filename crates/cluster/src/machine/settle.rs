//! What follows from what happened: everything is looked at again until nothing changes.

use std::time::Duration;

use hustings_protocol::Id;
use raft::eraftpb::{ConfChangeType, ConfChangeV2};

use super::council::Committed;
use super::table::{Command, Table};
use super::{Exit, LISTEN, Machine, Output};
use crate::api::Cause;
use crate::clock::Moment;
use crate::member::Member;
use crate::wire::Message;

/// How often a claim that nothing came of is said again.
const CLAIM_AGAIN: Duration = Duration::from_millis(500);

impl Machine {
    /// Draws all conclusions.
    pub(super) fn settle(&mut self) {
        // First: whom to listen to for silence depends on who leads.
        self.notice_leaders();
        let suspects_at = self.suspect();
        self.ring();
        self.stand_if_due();
        self.beat_if_due();
        loop {
            self.run_errands();
            self.notice_leaders();
            self.restate();
            self.look_around();
            self.claim();
            self.decide();
            if !self.has_errands() {
                break;
            }
        }
        self.arrange();
        self.hold();
        self.run_errands();
        self.leave_if_done();
        self.tell_watchers();
        self.answer_readers();
        let questions = self.close_late_questions();
        let stands_at = self.council.as_ref().map_or(Moment::NEVER, |council| council.stands_at());
        let desk = self.desk.next(self.deadline);
        let times = [suspects_at, self.rounds.next, self.races.next(), self.granter.next(), questions, stands_at, desk];
        let times = times.into_iter().chain([self.reads.next()]);
        self.wake = times.min().unwrap_or(Moment::NEVER);
        if self.leaving {
            self.wake = self.wake.min(self.leave_by);
        }
    }

    fn has_errands(&self) -> bool {
        self.council.as_ref().is_some_and(|council| council.has_errands()) || !self.errands.committed.is_empty()
    }

    /// Does what the raft library wants done, until it wants nothing.
    fn run_errands(&mut self) {
        let Some(council) = &mut self.council else { return };
        council.collect(&mut self.errands);
        loop {
            let errands = std::mem::take(&mut self.errands);
            for (to, message) in errands.messages {
                self.send(to, Message::Raft(message));
            }
            self.out.extend(errands.writes.into_iter().map(Output::Write));
            let is_last = errands.committed.is_empty();
            for committed in errands.committed {
                self.apply(committed);
            }
            let Some(council) = &mut self.council else { return };
            council.acted();
            if is_last {
                break;
            }
            // A newcomer gets everything at once, with who votes: the log alone does not say who the founders were. It
            // takes no snapshot that does not know it, so there must be none but one from after its arrival.
            let has_newcomer = council.take_newcomer();
            if has_newcomer || council.wants_snapshot() {
                let state = self.table.encode();
                council.compact(state, has_newcomer, &mut self.errands);
            }
            council.collect(&mut self.errands);
            let applied = council.applied();
            self.answer_agreed(applied);
        }
    }

    fn apply(&mut self, committed: Committed) {
        match committed {
            Committed::Command(index, data) => {
                let Some(command) = Command::decode(&data) else { return };
                let described = matches!(command, Command::Describe(_));
                let office = command.office().map(str::to_string);
                self.table.apply(index, command);
                office.into_iter().for_each(|office| self.office_decided(&office));
                if described {
                    self.members_changed();
                }
            }
            Committed::Membership(change, context) => self.apply_membership(&change, &context),
            Committed::Snapshot(data) => {
                if let Some(table) = Table::decode(&data) {
                    self.table = table;
                    self.members_changed();
                }
            }
            Committed::Nothing => {}
        }
    }

    fn apply_membership(&mut self, change: &ConfChangeV2, context: &[u8]) {
        if let Some(council) = &mut self.council {
            council.apply_membership(change);
        }
        match postcard::from_bytes::<Option<Member>>(context) {
            Ok(Some(member)) => self.table.describe(member),
            _ => {
                let leaves =
                    |single: &&raft::eraftpb::ConfChangeSingle| single.get_change_type() == ConfChangeType::RemoveNode;
                let gone: Vec<Id> =
                    change.get_changes().iter().filter(leaves).map(|single| Id(single.node_id)).collect();
                gone.into_iter().for_each(|id| self.table.remove(id));
            }
        }
        self.members_changed();
    }

    pub(super) fn members_changed(&mut self) {
        let members = self.table.members.values();
        let members: Vec<Member> = members
            .map(|known| Member { address: self.address(&known.member).to_string(), ..known.member.clone() })
            .collect();
        self.peers.retain(|id, _| self.table.members.contains_key(id));
        self.view_is_stale = true;
        if !self.table.members.contains_key(&self.setup.own) {
            self.out.push(Output::Exit(Exit::Removed));
        }
        self.out.push(Output::Members(members));
    }

    /// Notices that the arbiter has another leader, or that this node is it.
    fn notice_leaders(&mut self) {
        let Some(council) = &self.council else { return };
        let (leader, term, leads) = (council.leader(), council.term(), council.is_leader());
        if leads && self.led_in != term {
            self.led_in = term;
            let begins = council.last_index();
            self.rounds.begin(begins, self.now);
            let asked = self.granter.begin();
            drop(asked);
            self.registering.clear();
            let view = Message::View(self.view.clone());
            self.send_all(&view);
            self.beat_if_due();
        }
        if leader == self.followed {
            return;
        }
        self.followed = leader;
        self.restart_silence();
        self.view_is_stale = true;
        self.claims_told = None;
        self.agreeing.clear();
        if let Some(leader) = leader.filter(|_| !leads) {
            let gone = self.peers.iter().filter(|(_, peer)| !peer.up && peer.why == Cause::Disconnected);
            let gone: Vec<Id> = gone.map(|(id, _)| *id).collect();
            gone.into_iter().for_each(|id| self.send(leader, Message::Ended(id)));
        }
    }

    /// The leader of the arbiter has ended, by this node's own evidence.
    pub(super) fn lost_arbiter_leader(&mut self) {
        let (place, now) = (self.place_in_line(), self.now);
        let Some(council) = &mut self.council else { return };
        council.forget_leader();
        council.cast_parked(&mut self.errands);
        council.stand_soon(place, Duration::ZERO, now);
        self.stand_if_due();
    }

    /// This node has just met others: if that makes a majority and nobody leads, it stands soon.
    pub(super) fn stand_when_there_are_enough(&mut self) {
        let (place, now) = (self.place_in_line(), self.now);
        let enough = self.has_majority();
        if let Some(council) = self.council.as_mut().filter(|council| council.leader().is_none() && enough) {
            council.stand_soon(place, LISTEN, now);
        }
    }

    fn stand_if_due(&mut self) {
        let (place, now) = (self.place_in_line(), self.now);
        let may = self.has_majority() && !self.disk_failed && !self.leaving;
        if let Some(council) = &mut self.council {
            council.stand(place, may, now);
        }
    }

    fn has_majority(&self) -> bool {
        self.council.as_ref().is_some_and(|council| council.is_majority(|id| self.is_up(id)))
    }

    /// The place of this node in the order in which voters stand for the lead of the arbiter: those who are worth least
    /// as holders come first, so that the arbiter and the offices are rarely lost together; witnesses come last.
    pub(super) fn place_in_line(&self) -> u32 {
        let Some(council) = &self.council else { return 0 };
        let order = |id: Id| {
            let is_witness = self.table.member(id).is_some_and(|member| member.role == crate::member::Role::Witness);
            (is_witness, self.worth(id))
        };
        let own = order(self.setup.own);
        let before = council.voters().into_iter().filter(|&id| self.is_up(id) && order(id) < own);
        before.count() as u32
    }

    /// Works out who is up, and with that who competes for what.
    fn look_around(&mut self) {
        if !std::mem::take(&mut self.view_is_stale) {
            return;
        }
        let own = self.setup.own;
        let term = self.council.as_ref().map_or(0, |council| council.term());
        let told = self.told_view.as_ref().filter(|(leader, said_in, view)| {
            !self.leads() && self.arbiter_leader() == Some(*leader) && *said_in == term && view.contains(&own)
        });
        let view = match told {
            Some((.., view)) => view.iter().copied().filter(|id| self.table.members.contains_key(id)).collect(),
            None => self.table.members.keys().copied().filter(|id| self.is_up(*id)).collect::<Vec<Id>>(),
        };
        if view != self.view {
            self.view = view;
            if self.leads() {
                let message = Message::View(self.view.clone());
                self.send_all(&message);
            }
        }
        self.check_disks();
        self.recount();
    }

    /// Refuses disks that are not the ones known. The leader of the arbiter registers those that are new.
    fn check_disks(&mut self) {
        let Some(council) = &mut self.council else { return };
        let mut news = Vec::new();
        let own = (self.setup.own, self.setup.store);
        let peers = self.peers.iter().filter_map(|(id, peer)| Some((*id, peer.standing.as_ref()?.store)));
        for (id, store) in peers.chain([own]) {
            match self.table.members.get(&id).map(|known| known.store) {
                Some(0) if council.is_leader() && self.registering.insert(id) => {
                    council.propose(Command::Register { id, store }.encode());
                }
                Some(known) if known != 0 && known != store => news.push(id),
                _ => _ = self.unknown_disks.remove(&id),
            }
        }
        for id in news {
            if self.unknown_disks.insert(id) {
                self.send(id, Message::Unknown);
            }
        }
    }

    /// Tells the leader of the arbiter what this node was elected for.
    fn claim(&mut self) {
        let Some(leader) = self.arbiter_leader() else { return };
        let claims = self.own_claims();
        let term = self.council.as_ref().map_or(0, |council| council.term());
        let told = Some((leader, term, claims.clone()));
        // Said again now and then: what goes by way of others may be lost.
        let is_late = !claims.is_empty() && self.now.since(self.claimed) > CLAIM_AGAIN;
        if told == self.claims_told && !is_late {
            return;
        }
        (self.claims_told, self.claimed) = (told, self.now);
        if leader == self.setup.own {
            self.got_claims(leader, claims);
        } else {
            self.send(leader, Message::Claims(claims));
        }
    }

    /// A node that is to stop does so when it holds nothing any more, or cannot wait longer.
    fn leave_if_done(&mut self) {
        if !self.leaving {
            return;
        }
        let others: Vec<Id> = self.council.as_ref().map_or_else(Vec::new, |council| council.voters());
        let matched = |id: &Id| self.council.as_ref().map_or(0, |council| council.matched(*id));
        let next = others.into_iter().filter(|id| *id != self.setup.own && self.is_up(*id)).max_by_key(matched);
        // Nobody is there to hand anything to.
        let is_late = self.now >= self.leave_by || next.is_none();
        if self.leads() && !is_late && self.desk.is_empty() {
            if let Some((next, council)) = next.zip(self.council.as_mut()) {
                council.hand_lead_to(next);
            }
            self.run_errands();
            return;
        }
        if is_late || (self.desk.is_empty() && !self.leads()) {
            // A promise that nobody acts any more; else leases run out as they do.
            if self.desk.is_empty() {
                self.send_all(&Message::Farewell);
            }
            self.out.push(Output::Exit(Exit::Left));
            self.leave_by = Moment::NEVER;
        }
    }
}
