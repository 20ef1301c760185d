//! Who votes, as far as a node can tell that may lag.
//!
//! The table and the log name the voters. A node that was away knows those of then, and one of them tells it who votes
//! now: every voter tells whom it connects to, and everybody when that changes. What it says counts until this node has
//! applied as much of the log. One lying voter could thus make somebody else count as a voter, which gives it nothing
//! that it cannot do itself.

use std::collections::{BTreeMap, BTreeSet};

use hustings_protocol::Id;

use super::RaftArbiter;
use crate::config::Config;
use crate::wire::Message;

/// Voters that the table does not name.
pub(super) struct KnownVoters {
    /// Those of this node's configuration.
    configured: BTreeSet<Id>,
    /// What known voters say, each with how much of the log it had applied then.
    told: BTreeMap<Id, (u64, Vec<Id>)>,
}

impl KnownVoters {
    pub(super) fn new(config: &Config) -> Self {
        let voters = config.members.iter().filter(|member| member.role.votes());
        let configured = voters.map(|member| member.id).collect();
        KnownVoters { configured, told: BTreeMap::new() }
    }
}

impl RaftArbiter {
    /// Whether somebody votes, or is about to.
    pub(super) fn is_voter(&self, id: Id) -> bool {
        self.is_known_voter(id) || self.is_told_to_vote(id)
    }

    /// The same, by what this node knows itself.
    fn is_known_voter(&self, id: Id) -> bool {
        match self.table.member(id) {
            Some(member) => member.role.votes() || self.consensus.is_voter(id),
            None => id.0 > self.table.max_member_id && self.known_voters.configured.contains(&id),
        }
    }

    fn is_told_to_vote(&self, id: Id) -> bool {
        let was_removed = id.0 <= self.table.max_member_id && self.table.member(id).is_none();
        let applied = self.consensus.applied();
        let says_so = |(by, (at, voters)): (&Id, &(u64, Vec<Id>))| {
            *at > applied && voters.binary_search(&id).is_ok() && self.is_known_voter(*by)
        };
        !was_removed && self.known_voters.told.iter().any(says_so)
    }

    /// A voter says who votes.
    pub(super) fn handle_voters(&mut self, from: Id, applied: u64, voters: Vec<Id>) {
        if self.is_known_voter(from) {
            self.known_voters.told.insert(from, (applied, voters));
        }
    }

    /// Who votes now.
    pub(super) fn own_voters(&self) -> Message {
        Message::Voters { applied: self.consensus.applied(), voters: self.consensus.voters() }
    }

    /// Somebody was removed.
    pub(super) fn forget_voter(&mut self, id: Id) {
        self.known_voters.told.remove(&id);
    }
}
