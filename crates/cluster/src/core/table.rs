//! The replicated state: who holds which office with which token, and who belongs to the cluster.
//!
//! The arbiter's log is a sequence of [`Command`]s. Applied in order to a [`Table`], they yield the same table on every
//! node. A token is the log index of its grant. So no two grants have the same token, a later grant has a higher one,
//! and a token is durable on a quorum before anybody learns of it.
//!
//! A table always fits into one frame, so that a snapshot of it can be sent. For this, names, offices and histories are
//! bounded. The bounds are enforced by [`Table::apply`], and are therefore the same on every node.
//!
//! If there is no room for a new office, the vacant office with the lowest token is forgotten. Nothing that anybody
//! relies on is lost with it:
//!
//! - If the office comes back, its token is higher than all its earlier ones, because a token is a log index and the
//!   log only grows.
//! - A grant of an unknown office expects token 0. A forgotten office has token 0 again, but a stale grant of it still
//!   has no effect after a newer one. For the office to be granted, vacated and forgotten, its vacate command must be
//!   in the log before the stale grant. Only a leader that has applied the first grant proposes that command. All later
//!   entries are proposed by a leader that has applied the first grant as well: the same leader, or a later one, which
//!   proposes grants only after it has applied everything before its term. None of these leaders still considers the
//!   office unknown.
//! - An office becomes vacant only when its holder has certainly stopped or need not have stopped. So a new holder need
//!   not wait for a forgotten one.

use std::collections::{BTreeMap, VecDeque};

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

use super::LEADER;
use crate::api::ChangeReason;
use crate::config::{MAX_OFFICES, Mode};
use crate::member::Member;

/// How many changes of one office are remembered.
pub(crate) const MAX_CHANGES: usize = 100;
/// How many changes of all offices together are remembered. If there are many offices, each gets an equal share.
const MAX_TOTAL_CHANGES: usize = 80_000;

/// The holder of an office: a member in one of its incarnations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// The member.
    pub id: Id,
    /// Identifies the member's process.
    pub incarnation: u64,
}

/// A log entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Command {
    /// Grants an office, if its last token is still the one that the proposer saw.
    Grant {
        /// The office.
        office: String,
        /// The new holder.
        holder: Holder,
        /// The office's last token, as the proposer saw it; 0 if it was unknown.
        expected_token: u64,
        /// The office's mode.
        mode: Mode,
        /// Why it is granted.
        cause: ChangeReason,
        /// Whether an operator chose the holder, so that a better candidate does not preempt it.
        pinned: bool,
        /// Wall-clock time, for display.
        unix_ms: u64,
    },
    /// Makes an office vacant, if its token is still this one.
    Vacate {
        /// The office.
        office: String,
        /// The holder's token.
        token: u64,
        /// Why it becomes vacant.
        cause: ChangeReason,
        /// Wall-clock time, for display.
        unix_ms: u64,
    },
    /// Pauses or resumes elections.
    SetPaused(bool),
    /// Registers the disk of a member that has none registered.
    RegisterStore {
        /// The member.
        id: Id,
        /// Identifies the disk.
        store_id: u64,
    },
    /// Adds a member, or replaces its description.
    SetMember(Member),
}

/// An office: a named lease, like an etcd election or a Kubernetes Lease.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct Office {
    /// Whether its leases are exclusive or fenced.
    pub(crate) mode: Mode,
    /// Who holds it; `None` if it is vacant.
    pub(crate) holder: Option<Holder>,
    /// The token of the current or last holder.
    pub(crate) token: u64,
    /// Why it was last granted or vacated.
    pub(crate) cause: ChangeReason,
    /// When it was last granted or vacated, for display.
    pub(crate) unix_ms: u64,
    /// Whether an operator chose the holder, so that a better candidate does not preempt it.
    pub(crate) pinned: bool,
    /// The last changes, oldest first.
    pub(crate) history: VecDeque<HistoryEntry>,
}

/// A member of the cluster.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct MemberEntry {
    /// Its description.
    pub(crate) member: Member,
    /// Identifies the disk that holds its votes; 0 before one is registered.
    pub(crate) store_id: u64,
}

/// A change of an office.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) struct HistoryEntry {
    /// The new holder; `None` if the office became vacant.
    pub(crate) holder: Option<Id>,
    /// The token.
    pub(crate) token: u64,
    /// Why.
    pub(crate) cause: ChangeReason,
    /// Wall-clock time, for display.
    pub(crate) unix_ms: u64,
}

/// The replicated state.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Table {
    /// All known offices, by name.
    pub(crate) offices: BTreeMap<String, Office>,
    /// All members, by id.
    pub(crate) members: BTreeMap<Id, MemberEntry>,
    /// Whether elections are paused.
    pub(crate) paused: bool,
    /// The highest member id so far. Ids are never reused.
    pub(crate) max_member_id: u64,
}

impl Table {
    /// The initial table of a cluster with these members.
    pub fn with_members(members: &[Member]) -> Self {
        let mut table = Table::default();
        members.iter().for_each(|member| table.set_member(member.clone()));
        table
    }

    /// The last token of an office; 0 if the office is unknown.
    pub(crate) fn token(&self, office: &str) -> u64 {
        self.offices.get(office).map_or(0, |office| office.token)
    }

    /// Applies the entry at `index`. Returns the office that was granted or vacated, if one was.
    pub fn apply(&mut self, index: u64, command: Command) -> Option<String> {
        match command {
            Command::Grant { office, holder, expected_token, mode, cause, pinned, unix_ms } => {
                let is_new = !self.offices.contains_key(&office);
                if self.token(&office) != expected_token || (is_new && !self.make_room(&office)) {
                    return None;
                }
                if is_new {
                    self.offices.insert(office.clone(), Office::new(mode));
                    self.trim_histories();
                }
                let limit = self.history_limit();
                let known = self.offices.get_mut(&office)?;
                (known.holder, known.token, known.cause, known.unix_ms, known.pinned) =
                    (Some(holder), index, cause, unix_ms, pinned);
                known.push_history(limit);
                Some(office)
            }
            Command::Vacate { office, token, cause, unix_ms } => {
                let limit = self.history_limit();
                let known = self.offices.get_mut(&office)?;
                if known.token != token || known.holder.is_none() {
                    return None;
                }
                (known.holder, known.cause, known.unix_ms, known.pinned) = (None, cause, unix_ms, false);
                known.push_history(limit);
                Some(office)
            }
            Command::SetPaused(on) => {
                self.paused = on;
                None
            }
            Command::RegisterStore { id, store_id } => {
                if let Some(known) = self.members.get_mut(&id)
                    && known.store_id == 0
                {
                    known.store_id = store_id;
                }
                None
            }
            Command::SetMember(member) => {
                self.set_member(member);
                None
            }
        }
    }

    /// How many more offices may become held, counting both vacant and unknown ones.
    pub(crate) fn remaining_capacity(&self) -> usize {
        let held = self.offices.iter().filter(|(name, known)| *name != LEADER && known.holder.is_some());
        MAX_OFFICES.saturating_sub(held.count())
    }

    /// Makes room for a new office, and returns whether there is any. There is always room for `leader`, which is never
    /// forgotten.
    fn make_room(&mut self, office: &str) -> bool {
        let others = self.offices.len() - usize::from(self.offices.contains_key(LEADER));
        if office == LEADER || others < MAX_OFFICES {
            return true;
        }
        let vacant = self.offices.iter().filter(|(name, known)| *name != LEADER && known.holder.is_none());
        let Some(oldest) = vacant.min_by_key(|(_, known)| known.token).map(|(name, _)| name.clone()) else {
            return false;
        };
        self.offices.remove(&oldest).is_some()
    }

    /// How many changes of each office are remembered.
    fn history_limit(&self) -> usize {
        history_limit(self.offices.len())
    }

    /// Trims all histories if one more office makes the share of each smaller.
    fn trim_histories(&mut self) {
        let limit = self.history_limit();
        if limit < history_limit(self.offices.len() - 1) {
            self.offices.values_mut().for_each(|office| office.trim_history(limit));
        }
    }

    /// Adds a member, or replaces its description.
    pub(crate) fn set_member(&mut self, member: Member) {
        self.max_member_id = self.max_member_id.max(member.id.0);
        let store_id = self.members.get(&member.id).map_or(0, |known| known.store_id);
        self.members.insert(member.id, MemberEntry { member, store_id });
    }

    /// Removes a member.
    pub(crate) fn remove(&mut self, id: Id) {
        self.members.remove(&id);
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

    /// Encodes the table for a snapshot.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a table is plain data")
    }

    /// Decodes the table of a snapshot.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Table> {
        postcard::from_bytes(bytes).ok()
    }
}

/// How many changes of each office are remembered if there are this many offices.
fn history_limit(offices: usize) -> usize {
    (MAX_TOTAL_CHANGES / offices.max(1)).min(MAX_CHANGES)
}

impl Office {
    /// An office that was never held.
    fn new(mode: Mode) -> Self {
        let history = VecDeque::new();
        Office { mode, holder: None, token: 0, cause: ChangeReason::Vacant, unix_ms: 0, pinned: false, history }
    }

    fn push_history(&mut self, limit: usize) {
        let holder = self.holder.map(|holder| holder.id);
        self.history.push_back(HistoryEntry { holder, token: self.token, cause: self.cause, unix_ms: self.unix_ms });
        self.trim_history(limit);
    }

    fn trim_history(&mut self, limit: usize) {
        self.history.drain(..self.history.len().saturating_sub(limit));
    }
}

impl Command {
    /// The office that the command is about.
    pub(crate) fn office(&self) -> Option<&str> {
        match self {
            Command::Grant { office, .. } | Command::Vacate { office, .. } => Some(office),
            Command::SetPaused(_) | Command::RegisterStore { .. } | Command::SetMember(_) => None,
        }
    }

    /// Encodes the command for the log.
    pub(crate) fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a command is plain data")
    }

    /// Decodes a command of the log.
    pub(crate) fn decode(bytes: &[u8]) -> Option<Command> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests;
