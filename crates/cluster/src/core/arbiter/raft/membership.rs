//! Members join and leave, and their disks are registered.

use hustings_protocol::Id;
use raft::eraftpb::{ConfChangeSingle, ConfChangeTransition, ConfChangeType, ConfChangeV2};

use super::RaftArbiter;
use crate::api::RequestError;
use crate::core::arbiter::ArbiterEvent;
use crate::core::context::Context;
use crate::core::requests::errors;
use crate::core::table::{Command, encode_membership};
use crate::member::Member;
use crate::wire::Message;

impl RaftArbiter {
    /// Proposes to add a member.
    pub(super) fn add_member(&mut self, member: &Member) -> Result<(), RequestError> {
        let kind = if member.role.votes() { ConfChangeType::AddNode } else { ConfChangeType::AddLearnerNode };
        self.change_membership(member.id, kind, encode_membership(Some(member)))
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
        self.change_membership(id, ConfChangeType::RemoveNode, encode_membership(None))
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
        index: u64,
        change: &ConfChangeV2,
        member: Option<Member>,
        context: &mut Context<'_>,
    ) {
        self.consensus.apply_membership(change);
        let removed = self.table.apply_membership(change, member);
        removed.iter().for_each(|id| self.forget_member(*id, context));
        let request = self.submitted.remove(&index);
        self.events.push_back(ArbiterEvent::Applied { office: None, request, took_effect: true });
        self.events.push_back(ArbiterEvent::MembersChanged { removed });
    }

    /// A member was removed. If it led, this node knows that it no longer does, without waiting for its silence. The
    /// leader tells it, because it does not get the entry that removed it.
    pub(super) fn forget_member(&mut self, id: Id, context: &mut Context<'_>) {
        self.unknown_disks.remove(&id);
        self.pending_registrations.remove(&id);
        if self.consensus.is_leader() && id != self.own {
            context.send(id, Message::Removed);
        }
        if self.consensus.leader() == Some(id) && id != self.own {
            self.handle_leader_lost(context);
        }
    }

    /// Rejects members whose disk is not the registered one. The leader registers new disks.
    pub(super) fn check_disks(&mut self, context: &mut Context<'_>) {
        let peers: Vec<(Id, u64)> =
            context.liveness.peers().filter_map(|(id, peer)| Some((id, peer.store_id?))).collect();
        for (id, store_id) in peers.into_iter().chain([(self.own, self.store_id)]) {
            match self.table.members.get(&id).map(|known| known.store_id) {
                Some(0) if self.consensus.is_leader() && self.pending_registrations.insert(id) => {
                    self.consensus.propose(Command::RegisterStore { id, store_id }.encode());
                }
                Some(known) if known != 0 && known != store_id => {
                    if self.unknown_disks.insert(id) {
                        context.send(id, Message::UnknownDisk);
                    }
                }
                _ => _ = self.unknown_disks.remove(&id),
            }
        }
    }
}
