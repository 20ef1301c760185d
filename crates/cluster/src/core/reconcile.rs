//! What follows from what happened: everything is looked at again until nothing changes.

use std::time::Duration;

use hustings_protocol::Id;
use raft::eraftpb::{ConfChangeType, ConfChangeV2};

use super::consensus::Committed;
use super::table::{Command, Table};
use super::{Core, Exit, LISTEN, Output};
use crate::api::Cause;
use crate::clock::Moment;
use crate::member::Member;
use crate::wire::Message;

/// How often a claim that nothing came of is said again.
const CLAIM_AGAIN: Duration = Duration::from_millis(500);

impl Core {
    /// Draws all conclusions.
    pub(super) fn reconcile(&mut self) {
        // First: whom to listen to for silence depends on who leads.
        self.notice_leaders();
        let suspects_at = self.suspect();
        self.fire_timers();
        self.stand_if_due();
        self.beat_if_due();
        loop {
            self.process_ready();
            self.notice_leaders();
            self.announce_candidacy();
            self.refresh_view();
            self.claim();
            self.decide();
            if !self.has_ready() {
                break;
            }
        }
        self.plan_handovers();
        self.hold();
        self.process_ready();
        self.leave_if_done();
        self.tell_watchers();
        self.answer_readers();
        let questions = self.close_late_questions();
        let stands_at = self.consensus.as_ref().map_or(Moment::NEVER, |consensus| consensus.stands_at());
        let local_leases = self.local_leases.next(self.deadline);
        let times = [
            suspects_at,
            self.rounds.next,
            self.elections.next(),
            self.grants.next(),
            questions,
            stands_at,
            local_leases,
        ];
        let times = times.into_iter().chain([self.read_index.next()]);
        self.wake = times.min().unwrap_or(Moment::NEVER);
        if self.leaving {
            self.wake = self.wake.min(self.leave_by);
        }
    }

    fn has_ready(&self) -> bool {
        self.consensus.as_ref().is_some_and(|consensus| consensus.has_ready()) || !self.ready.committed.is_empty()
    }

    /// Does what the raft library wants done, until it wants nothing.
    fn process_ready(&mut self) {
        let Some(consensus) = &mut self.consensus else { return };
        consensus.collect(&mut self.ready);
        loop {
            let ready = std::mem::take(&mut self.ready);
            for (to, message) in ready.messages {
                self.send(to, Message::Raft(message));
            }
            self.out.extend(ready.writes.into_iter().map(Output::Write));
            let is_last = ready.committed.is_empty();
            for committed in ready.committed {
                self.apply(committed);
            }
            let Some(consensus) = &mut self.consensus else { return };
            consensus.acted();
            if is_last {
                break;
            }
            // A newcomer gets everything at once, with who votes: the log alone does not say who the founders were. It
            // takes no snapshot that does not know it, so there must be none but one from after its arrival.
            let has_newcomer = consensus.take_newcomer();
            if has_newcomer || consensus.wants_snapshot() {
                let state = self.table.encode();
                consensus.compact(state, has_newcomer, &mut self.ready);
            }
            consensus.collect(&mut self.ready);
            let applied = consensus.applied();
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
        if let Some(consensus) = &mut self.consensus {
            consensus.apply_membership(change);
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
        let Some(consensus) = &self.consensus else { return };
        let (leader, term, leads) = (consensus.leader(), consensus.term(), consensus.is_leader());
        if leads && self.led_in != term {
            self.led_in = term;
            let begins = consensus.last_index();
            self.rounds.begin(begins, self.now);
            let asked = self.grants.begin();
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
        let Some(consensus) = &mut self.consensus else { return };
        consensus.forget_leader();
        consensus.cast_parked(&mut self.ready);
        consensus.stand_soon(place, Duration::ZERO, now);
        self.stand_if_due();
    }

    /// This node has just met others: if that makes a majority and nobody leads, it stands soon.
    pub(super) fn stand_when_there_are_enough(&mut self) {
        let (place, now) = (self.place_in_line(), self.now);
        let enough = self.has_majority();
        if let Some(consensus) = self.consensus.as_mut().filter(|consensus| consensus.leader().is_none() && enough) {
            consensus.stand_soon(place, LISTEN, now);
        }
    }

    fn stand_if_due(&mut self) {
        let (place, now) = (self.place_in_line(), self.now);
        let may = self.has_majority() && !self.disk_failed && !self.leaving;
        if let Some(consensus) = &mut self.consensus {
            consensus.stand(place, may, now);
        }
    }

    fn has_majority(&self) -> bool {
        self.consensus.as_ref().is_some_and(|consensus| consensus.is_majority(|id| self.is_up(id)))
    }

    /// The place of this node in the order in which voters stand for the lead of the arbiter: those who are worth least
    /// as holders come first, so that the arbiter and the offices are rarely lost together; witnesses come last.
    pub(super) fn place_in_line(&self) -> u32 {
        let Some(consensus) = &self.consensus else { return 0 };
        let order = |id: Id| {
            let is_witness = self.table.member(id).is_some_and(|member| member.role == crate::member::Role::Witness);
            (is_witness, self.rank(id))
        };
        let own = order(self.setup.own);
        let before = consensus.voters().into_iter().filter(|&id| self.is_up(id) && order(id) < own);
        before.count() as u32
    }

    /// Works out who is up, and with that who competes for what.
    fn refresh_view(&mut self) {
        if !std::mem::take(&mut self.view_is_stale) {
            return;
        }
        let own = self.setup.own;
        let term = self.consensus.as_ref().map_or(0, |consensus| consensus.term());
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
        let Some(consensus) = &mut self.consensus else { return };
        let mut news = Vec::new();
        let own = (self.setup.own, self.setup.store);
        let peers = self.peers.iter().filter_map(|(id, peer)| Some((*id, peer.candidacy.as_ref()?.store)));
        for (id, store) in peers.chain([own]) {
            match self.table.members.get(&id).map(|known| known.store) {
                Some(0) if consensus.is_leader() && self.registering.insert(id) => {
                    consensus.propose(Command::Register { id, store }.encode());
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
        let term = self.consensus.as_ref().map_or(0, |consensus| consensus.term());
        let told = Some((leader, term, claims.clone()));
        // Said again now and then: what goes by way of others may be lost.
        let is_late = !claims.is_empty() && self.now.since(self.claimed) > CLAIM_AGAIN;
        if told == self.claims_told && !is_late {
            return;
        }
        (self.claims_told, self.claimed) = (told, self.now);
        if leader == self.setup.own {
            self.handle_claims(leader, claims);
        } else {
            self.send(leader, Message::Claims(claims));
        }
    }

    /// A node that is to stop does so when it holds nothing any more, or cannot wait longer.
    fn leave_if_done(&mut self) {
        if !self.leaving {
            return;
        }
        let others: Vec<Id> = self.consensus.as_ref().map_or_else(Vec::new, |consensus| consensus.voters());
        let matched = |id: &Id| self.consensus.as_ref().map_or(0, |consensus| consensus.matched(*id));
        let next = others.into_iter().filter(|id| *id != self.setup.own && self.is_up(*id)).max_by_key(matched);
        // Nobody is there to hand anything to.
        let is_late = self.now >= self.leave_by || next.is_none();
        if self.leads() && !is_late && self.local_leases.is_empty() {
            if let Some((next, consensus)) = next.zip(self.consensus.as_mut()) {
                consensus.hand_lead_to(next);
            }
            self.process_ready();
            return;
        }
        if is_late || (self.local_leases.is_empty() && !self.leads()) {
            // A promise that nobody acts any more; else leases run out as they do.
            if self.local_leases.is_empty() {
                self.send_all(&Message::Farewell);
            }
            self.out.push(Output::Exit(Exit::Left));
            self.leave_by = Moment::NEVER;
        }
    }
}
