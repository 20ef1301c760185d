//! The members of the cluster, as the table knows them.

use hustings_protocol::Id;
use raft::eraftpb::{ConfChangeSingle, ConfChangeType, ConfChangeV2};

use super::{MemberEntry, Table};
use crate::format::FIRST;
use crate::member::Member;

/// How many former addresses of a member are remembered.
pub(super) const MAX_FORMER_ADDRESSES: usize = 2;

impl Table {
    /// Adds a member, or replaces its description. A member that did not vote before is joining if it is to vote.
    pub(crate) fn set_member(&mut self, member: Member) {
        self.max_member_id = self.max_member_id.max(member.id.0);
        let Some(known) = self.members.get_mut(&member.id) else {
            let entry = MemberEntry { member, store_id: 0, is_joining: false, former_addresses: Vec::new(), reads: 0 };
            self.members.insert(entry.member.id, entry);
            return;
        };
        let did_vote = known.member.role.votes() && !known.is_joining;
        known.is_joining = member.role.votes() && !did_vote;
        if known.member.address != member.address {
            known.retire_address(known.member.address.clone());
            known.former_addresses.retain(|former| *former != member.address);
        }
        known.member = member;
    }

    /// A member begins to vote, or is to vote when it has caught up.
    pub(crate) fn set_joining(&mut self, id: Id, is_joining: bool) {
        if let Some(known) = self.members.get_mut(&id) {
            known.is_joining = is_joining && known.member.role.votes();
        }
    }

    /// Applies a membership change: adds or changes this member, lets it vote, or removes those that the change names.
    /// Returns the removed ones.
    pub(crate) fn apply_membership(&mut self, change: &ConfChangeV2, member: Option<Member>) -> Vec<Id> {
        let is_promotion = self.is_promotion(change, member.as_ref());
        if let Some(member) = member {
            let id = member.id;
            // The description may have changed since the promotion was proposed.
            if !is_promotion {
                self.set_member(member);
            }
            self.set_joining(id, has_kind(change, ConfChangeType::AddLearnerNode));
            return Vec::new();
        }
        let removes = |single: &&ConfChangeSingle| single.get_change_type() == ConfChangeType::RemoveNode;
        let removed: Vec<Id> = change.get_changes().iter().filter(removes).map(|single| Id(single.node_id)).collect();
        self.remove_members(&removed);
        removed
    }

    /// Removes members. Returns whether there was one of them.
    pub(super) fn remove_members(&mut self, ids: &[Id]) -> bool {
        let count = self.members.len();
        self.members.retain(|id, _| !ids.contains(id));
        self.raise_version();
        self.members.len() < count
    }

    /// Registers the disk of a member that has none, and which formats the program reads that runs with it.
    pub(super) fn register(&mut self, id: Id, store_id: u64, reads: u8) -> bool {
        let is_its_disk = |known: &&mut MemberEntry| [0, store_id].contains(&known.store_id);
        let Some(known) = self.members.get_mut(&id).filter(is_its_disk) else { return false };
        let former = (known.store_id, known.reads);
        (known.store_id, known.reads) = (store_id, reads);
        self.raise_version();
        former != (store_id, reads)
    }

    /// The version of the formats that may be written now: what all members read. It never becomes lower, so a member
    /// that does not read it any more is no use to the cluster (`core::arbiter::raft::formats`).
    pub(crate) fn version(&self) -> u8 {
        self.raised.max(FIRST)
    }

    fn raise_version(&mut self) {
        let lowest = self.members.values().map(|known| known.reads).min();
        self.raised = self.raised.max(lowest.unwrap_or(0));
    }

    /// Whether a membership change must not take effect: since it was proposed, the member that it would let vote has
    /// become an observer.
    pub(crate) fn is_void(&self, change: &ConfChangeV2, member: Option<&Member>) -> bool {
        let votes = |member: &Member| self.member(member.id).is_some_and(|known| known.role.votes());
        self.is_promotion(change, member) && !member.is_some_and(votes)
    }

    fn is_promotion(&self, change: &ConfChangeV2, member: Option<&Member>) -> bool {
        has_kind(change, ConfChangeType::AddNode) && member.is_some_and(|member| self.members.contains_key(&member.id))
    }

    /// The cluster continues with this member alone, after the others were lost with whatever they had committed last.
    pub(crate) fn recover(&mut self, survivor: Id) {
        self.members.retain(|id, _| *id == survivor);
        self.raise_version();
        self.recovered = true;
    }

    /// The description of a member.
    pub(crate) fn member(&self, id: Id) -> Option<&Member> {
        self.members.get(&id).map(|known| &known.member)
    }

    /// The name of a member.
    pub(crate) fn member_name(&self, id: Id) -> String {
        self.member(id).map_or_else(|| format!("#{id}"), |member| member.name.clone())
    }

    /// The member with this name.
    pub(crate) fn member_by_name(&self, name: &str) -> Option<&Member> {
        self.members.values().map(|known| &known.member).find(|member| member.name == name)
    }
}

impl MemberEntry {
    pub(super) fn retire_address(&mut self, address: String) {
        self.former_addresses.retain(|former| *former != address);
        self.former_addresses.push(address);
        let excess = self.former_addresses.len().saturating_sub(MAX_FORMER_ADDRESSES);
        self.former_addresses.drain(..excess);
    }
}

fn has_kind(change: &ConfChangeV2, kind: ConfChangeType) -> bool {
    change.get_changes().iter().any(|single| single.get_change_type() == kind)
}
