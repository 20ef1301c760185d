//! Members join and leave.

use std::time::Duration;

use hustings_protocol::Id;
use raft::eraftpb::{ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2};

use super::RaftArbiter;
use super::consensus::Place;
use crate::api::RequestError;
use crate::clock::Timestamp;
use crate::core::arbiter::ArbiterEvent;
use crate::core::context::Context;
use crate::core::requests::errors;
use crate::core::table::{MemberEntry, encode_membership};
use crate::member::Member;
use crate::wire::Message;

/// A joining member votes when its log is at most this many entries behind the leader's.
const MAX_VOTER_LAG: u64 = 64;
/// How long the leader waits for a member to install a snapshot before it sends one again. Messages to a member that
/// hears nothing are lost without any sign of it, as long as its own messages arrive.
const SNAPSHOT_PATIENCE: Duration = Duration::from_secs(1);

impl RaftArbiter {
    /// Proposes to add a member: as a learner of the log, which does not vote. [`RaftArbiter::promote_members`] makes
    /// it a voter later.
    pub(super) fn add_member(&mut self, member: &Member) -> Result<(), RequestError> {
        self.change_member(member, ConfChangeType::AddLearnerNode)
    }

    /// Proposes that a voter becomes an observer. The leader hands its role over first.
    pub(super) fn demote_member(&mut self, member: &Member, context: &mut Context<'_>) -> Result<(), RequestError> {
        if self.consensus.voters() == [member.id] {
            return Err(errors::last_voter(&member.name));
        }
        if member.id == self.own {
            let _ = super::Arbiter::release_coordination(self, context);
            return Err(errors::moved());
        }
        self.change_member(member, ConfChangeType::AddLearnerNode)
    }

    /// The leader makes a joining member a voter when it is up, its disk is registered, and it has caught up. A member
    /// that nobody can reach therefore never counts for the majority.
    pub(super) fn promote_members(&mut self, context: &Context<'_>) {
        if !self.consensus.is_established() {
            return;
        }
        let last_index = self.consensus.last_index();
        let is_ready = |entry: &&MemberEntry| {
            let (id, matched) = (entry.member.id, self.consensus.matched(entry.member.id));
            let has_caught_up = matched > 0 && matched + MAX_VOTER_LAG >= last_index;
            let has_disk = entry.store_id != 0 && !super::Arbiter::refuses(self, id);
            entry.is_joining && has_caught_up && has_disk && context.liveness.is_up(id)
        };
        if let Some(member) = self.table.members.values().find(is_ready).map(|entry| entry.member.clone()) {
            // If another change is in progress, the next heartbeat tries again.
            let _ = self.change_member(&member, ConfChangeType::AddNode);
        }
    }

    /// The leader sends a snapshot again to members that seem to have lost it.
    pub(super) fn repeat_snapshots(&mut self, now: Timestamp) {
        let waiting = self.consensus.awaiting_snapshot();
        self.snapshots_since.retain(|id, _| waiting.contains(id));
        for id in waiting {
            if now.since(*self.snapshots_since.entry(id).or_insert(now)) >= SNAPSHOT_PATIENCE {
                self.snapshots_since.remove(&id);
                self.consensus.report_snapshot_lost(id);
            }
        }
    }

    fn change_member(&mut self, member: &Member, kind: ConfChangeType) -> Result<(), RequestError> {
        self.change_membership(member.id, kind, encode_membership(Some(member), self.table.version()))
    }

    /// Proposes to remove a member. The leader is never removed: it hands its role over first.
    pub(super) fn remove_member(&mut self, id: Id, context: &mut Context<'_>) -> Result<(), RequestError> {
        let name = || self.table.member_name(id);
        if self.consensus.voters() == [id] {
            return Err(errors::last_voter(&name()));
        }
        if id == self.own {
            let _ = super::Arbiter::release_coordination(self, context);
            return Err(errors::moved());
        }
        self.propose_removal(id)
    }

    /// Proposes the removal of a member, or of a voter its first step (see [`super::settling`]).
    pub(super) fn propose_removal(&mut self, id: Id) -> Result<(), RequestError> {
        let voter = self.table.member(id).filter(|_| self.consensus.voters().contains(&id)).cloned();
        let Some(voter) = voter else {
            return self.change_membership(
                id,
                ConfChangeType::RemoveNode,
                encode_membership(None, self.table.version()),
            );
        };
        self.change_member(&voter, ConfChangeType::AddLearnerNode)?;
        self.settling.begin_removal(self.consensus.last_proposed(), id);
        Ok(())
    }

    fn change_membership(&mut self, id: Id, kind: ConfChangeType, context: Vec<u8>) -> Result<(), RequestError> {
        let mut change = ConfChangeV2::default();
        let mut single = ConfChangeSingle { node_id: id.0, ..Default::default() };
        single.set_change_type(kind);
        change.mut_changes().push(single);
        change.set_transition(ConfChangeTransition::Auto);
        match self.consensus.propose_membership(change, context) {
            true => Ok(()),
            false => Err(errors::membership_busy()),
        }
    }

    /// A membership change takes effect.
    pub(super) fn apply_membership(
        &mut self,
        (place, request): (Place, Option<u64>),
        change: &ConfChangeV2,
        member: Option<Member>,
        context: &mut Context<'_>,
    ) {
        let former_voters = self.consensus.voters();
        if !self.table.is_void(change, member.as_ref()) {
            self.consensus.apply_membership(change);
        }
        let is_complete = self.consensus.voters() == former_voters;
        if !is_complete {
            self.settling.handle_applied(place, request);
        }
        let request = request.filter(|_| is_complete);
        let removed = self.table.apply_membership(change, member);
        removed.iter().for_each(|id| self.forget_member(*id, context));
        context.broadcast(&self.own_voters());
        self.events.push_back(ArbiterEvent::Applied { office: None, request, took_effect: true, is_grant: false });
        self.events.push_back(ArbiterEvent::MembersChanged { removed });
    }

    /// A member was removed. If it led, this node knows that it no longer does, without waiting for its silence. All
    /// tell it, because it does not get the entry that removed it.
    pub(super) fn forget_member(&mut self, id: Id, context: &mut Context<'_>) {
        self.disks.forget(id);
        self.forget_voter(id);
        self.old_programs.remove(&id);
        if id != self.own {
            context.send(id, Message::Removed);
        }
        if self.consensus.leader() == Some(id) && id != self.own {
            self.handle_leader_lost(context);
        }
    }
}
