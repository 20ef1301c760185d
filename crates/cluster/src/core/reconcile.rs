//! Re-evaluates elections, grants and leases after every event, until nothing changes.

use std::time::Duration;

use hustings_protocol::Id;
use raft::eraftpb::{ConfChangeType, ConfChangeV2};

use super::consensus::Committed;
use super::table::{Command, Table};
use super::{Core, Exit, FIRST_CAMPAIGN_DELAY, Output};
use crate::api::ChangeReason;
use crate::clock::Timestamp;
use crate::member::Member;
use crate::wire::Message;

/// How often claims are repeated while they have no effect.
const CLAIM_INTERVAL: Duration = Duration::from_millis(500);

impl Core {
    /// Re-evaluates everything that an event may have changed, and determines when the core must be called next.
    pub(super) fn reconcile(&mut self) {
        // The leader comes first: it determines with whom this node exchanges heartbeats, and thus whose silence
        // counts.
        self.observe_leader();
        let suspect_at = self.detect_failures();
        self.fire_election_timers();
        self.campaign_if_due();
        self.heartbeat_if_due();
        loop {
            self.process_ready();
            self.observe_leader();
            self.announce_candidacy();
            self.refresh_view();
            self.send_claims();
            self.evaluate_claims();
            if !self.has_ready() {
                break;
            }
        }
        self.apply_elections_without_arbiter();
        self.update_leases();
        self.process_ready();
        self.leave_if_done();
        self.notify_watchers();
        self.process_reads();
        let requests = self.expire_requests();
        let campaign_at = self.consensus.as_ref().map_or(Timestamp::NEVER, |consensus| consensus.campaign_at());
        let local_leases = self.local_leases.next_timeout(self.deadline);
        let times = [
            suspect_at,
            self.lease_rounds.next_round,
            self.elections.next_timeout(),
            self.grants.next_timeout(),
            requests,
            campaign_at,
            local_leases,
        ];
        let times = times.into_iter().chain([self.read_index.next_timeout()]);
        self.next_timeout = times.min().unwrap_or(Timestamp::NEVER);
        if self.leaving {
            self.next_timeout = self.next_timeout.min(self.leave_deadline);
        }
    }

    fn has_ready(&self) -> bool {
        self.consensus.as_ref().is_some_and(|consensus| consensus.has_ready()) || !self.ready.committed.is_empty()
    }

    /// Carries out what the raft library wants done, until it wants nothing more.
    fn process_ready(&mut self) {
        let Some(consensus) = &mut self.consensus else { return };
        consensus.collect_ready(&mut self.ready);
        loop {
            let ready = std::mem::take(&mut self.ready);
            for (to, message) in ready.messages {
                self.send(to, Message::Raft(message));
            }
            self.outputs.extend(ready.writes.into_iter().map(Output::Write));
            let is_last = ready.committed.is_empty();
            for committed in ready.committed {
                self.apply(committed);
            }
            let Some(consensus) = &mut self.consensus else { return };
            consensus.advance_apply();
            if is_last {
                break;
            }
            // A new member must start from a snapshot that includes its own addition, because the log alone does not
            // contain the initial members and voters. So the log before this point is discarded.
            let has_new_member = consensus.take_new_member();
            if has_new_member || consensus.wants_snapshot() {
                let state = self.table.encode();
                consensus.compact(state, has_new_member, &mut self.ready);
            }
            consensus.collect_ready(&mut self.ready);
            let applied = consensus.applied();
            self.answer_committed(applied);
        }
    }

    fn apply(&mut self, committed: Committed) {
        match committed {
            Committed::Command(index, data) => {
                let Some(command) = Command::decode(&data) else { return };
                let changes_members = matches!(command, Command::SetMember(_));
                let office = command.office().map(str::to_string);
                self.table.apply(index, command);
                office.into_iter().for_each(|office| self.handle_office_entry(&office));
                if changes_members {
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
            Committed::Empty => {}
        }
    }

    fn apply_membership(&mut self, change: &ConfChangeV2, context: &[u8]) {
        if let Some(consensus) = &mut self.consensus {
            consensus.apply_membership(change);
        }
        match postcard::from_bytes::<Option<Member>>(context) {
            Ok(Some(member)) => self.table.set_member(member),
            _ => {
                let leaves =
                    |single: &&raft::eraftpb::ConfChangeSingle| single.get_change_type() == ConfChangeType::RemoveNode;
                let removed: Vec<Id> =
                    change.get_changes().iter().filter(leaves).map(|single| Id(single.node_id)).collect();
                removed.into_iter().for_each(|id| self.table.remove(id));
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
        if !self.table.members.contains_key(&self.settings.own) {
            self.outputs.push(Output::Exit(Exit::Removed));
        }
        self.outputs.push(Output::Members(members));
    }

    /// Reacts to a change of the arbiter's leader.
    fn observe_leader(&mut self) {
        let Some(consensus) = &self.consensus else { return };
        let (leader, term, leads) = (consensus.leader(), consensus.term(), consensus.is_leader());
        if leads && self.leading_term != term {
            self.leading_term = term;
            let term_start = consensus.last_index();
            self.lease_rounds.reset(term_start, self.now);
            self.grants.reset();
            self.pending_registrations.clear();
            let view = Message::View(self.view.clone());
            self.broadcast(&view);
            self.heartbeat_if_due();
        }
        if leader == self.followed_leader {
            return;
        }
        self.followed_leader = leader;
        self.restart_detectors();
        self.view_is_stale = true;
        self.sent_claims = None;
        self.pending_proposals.clear();
        if let Some(leader) = leader.filter(|_| !leads) {
            let down = self.peers.iter().filter(|(_, peer)| !peer.up && peer.down_cause == ChangeReason::Disconnected);
            let down: Vec<Id> = down.map(|(id, _)| *id).collect();
            down.into_iter().for_each(|id| self.send(leader, Message::PeerDown(id)));
        }
    }

    /// This node has itself observed that the arbiter's leader is down.
    pub(super) fn handle_leader_lost(&mut self) {
        let (position, now) = (self.campaign_position(), self.now);
        let Some(consensus) = &mut self.consensus else { return };
        consensus.forget_leader();
        consensus.release_held_votes(&mut self.ready);
        consensus.schedule_campaign(position, Duration::ZERO, now);
        self.campaign_if_due();
    }

    /// This node has just connected to a peer. If a quorum is up and there is no leader, it campaigns soon.
    pub(super) fn campaign_if_quorum_is_up(&mut self) {
        let (position, now) = (self.campaign_position(), self.now);
        let enough = self.sees_quorum();
        if let Some(consensus) = self.consensus.as_mut().filter(|consensus| consensus.leader().is_none() && enough) {
            consensus.schedule_campaign(position, FIRST_CAMPAIGN_DELAY, now);
        }
    }

    fn campaign_if_due(&mut self) {
        let (position, now) = (self.campaign_position(), self.now);
        let is_allowed = self.sees_quorum() && !self.disk_failed && !self.leaving;
        if let Some(consensus) = &mut self.consensus {
            consensus.campaign_if_due(position, is_allowed, now);
        }
    }

    fn sees_quorum(&self) -> bool {
        self.consensus.as_ref().is_some_and(|consensus| consensus.has_quorum(|id| self.is_up(id)))
    }

    /// This node's position in the order in which voters campaign for leadership of the arbiter. The lowest-ranked
    /// voter campaigns first, so that one failure rarely takes both the arbiter's leader and the holder of offices.
    /// Witnesses come last.
    pub(super) fn campaign_position(&self) -> u32 {
        let Some(consensus) = &self.consensus else { return 0 };
        let order = |id: Id| {
            let is_witness = self.table.member(id).is_some_and(|member| member.role == crate::member::Role::Witness);
            (is_witness, self.rank(id))
        };
        let own = order(self.settings.own);
        let before = consensus.voters().into_iter().filter(|&id| self.is_up(id) && order(id) < own);
        before.count() as u32
    }

    /// Determines which members are up, and from that the candidates of each office.
    fn refresh_view(&mut self) {
        if !std::mem::take(&mut self.view_is_stale) {
            return;
        }
        let own = self.settings.own;
        let term = self.consensus.as_ref().map_or(0, |consensus| consensus.term());
        let leader_view = self.leader_view.as_ref().filter(|(leader, view_term, view)| {
            !self.is_arbiter_leader()
                && self.arbiter_leader() == Some(*leader)
                && *view_term == term
                && view.contains(&own)
        });
        let view = match leader_view {
            Some((.., view)) => view.iter().copied().filter(|id| self.table.members.contains_key(id)).collect(),
            None => self.table.members.keys().copied().filter(|id| self.is_up(*id)).collect::<Vec<Id>>(),
        };
        if view != self.view {
            self.view = view;
            if self.is_arbiter_leader() {
                let message = Message::View(self.view.clone());
                self.broadcast(&message);
            }
        }
        self.check_disks();
        self.refresh_elections();
    }

    /// Rejects members whose disk is not the registered one. The arbiter's leader registers new disks.
    fn check_disks(&mut self) {
        let Some(consensus) = &mut self.consensus else { return };
        let mut mismatched = Vec::new();
        let own = (self.settings.own, self.settings.store_id);
        let peers = self.peers.iter().filter_map(|(id, peer)| Some((*id, peer.candidacy.as_ref()?.store_id)));
        for (id, store_id) in peers.chain([own]) {
            match self.table.members.get(&id).map(|known| known.store_id) {
                Some(0) if consensus.is_leader() && self.pending_registrations.insert(id) => {
                    consensus.propose(Command::RegisterStore { id, store_id }.encode());
                }
                Some(known) if known != 0 && known != store_id => mismatched.push(id),
                _ => _ = self.unknown_disks.remove(&id),
            }
        }
        for id in mismatched {
            if self.unknown_disks.insert(id) {
                self.send(id, Message::UnknownDisk);
            }
        }
    }

    /// Sends this node's claims to the arbiter's leader.
    fn send_claims(&mut self) {
        let Some(leader) = self.arbiter_leader() else { return };
        let claims = self.own_claims();
        let term = self.consensus.as_ref().map_or(0, |consensus| consensus.term());
        let claims_to_send = Some((leader, term, claims.clone()));
        // Relayed messages may be lost, so claims are repeated.
        let is_overdue = !claims.is_empty() && self.now.since(self.claims_sent_at) > CLAIM_INTERVAL;
        if claims_to_send == self.sent_claims && !is_overdue {
            return;
        }
        (self.sent_claims, self.claims_sent_at) = (claims_to_send, self.now);
        if leader == self.settings.own {
            self.handle_claims(leader, claims);
        } else {
            self.send(leader, Message::Claims(claims));
        }
    }

    /// A node that leaves stops when it holds nothing any more, or when its time is over.
    fn leave_if_done(&mut self) {
        if !self.leaving {
            return;
        }
        let others: Vec<Id> = self.consensus.as_ref().map_or_else(Vec::new, |consensus| consensus.voters());
        let matched = |id: &Id| self.consensus.as_ref().map_or(0, |consensus| consensus.matched(*id));
        let next = others.into_iter().filter(|id| *id != self.settings.own && self.is_up(*id)).max_by_key(matched);
        // With no other voter up, there is nobody to hand anything to.
        let is_overdue = self.now >= self.leave_deadline || next.is_none();
        if self.is_arbiter_leader() && !is_overdue && self.local_leases.is_empty() {
            if let Some((next, consensus)) = next.zip(self.consensus.as_mut()) {
                consensus.transfer_leadership(next);
            }
            self.process_ready();
            return;
        }
        if is_overdue || (self.local_leases.is_empty() && !self.is_arbiter_leader()) {
            // `Leave` promises that this node no longer acts as a holder. Without it, the arbiter waits for the leases
            // to expire.
            if self.local_leases.is_empty() {
                self.broadcast(&Message::Leave);
            }
            self.outputs.push(Output::Exit(Exit::Left));
            self.leave_deadline = Timestamp::NEVER;
        }
    }
}
