//! What all voters agree on: who holds which office, with which token; who belongs to the cluster.
//!
//! The log of the arbiter is a list of [`Command`]s; applied in order to a [`Table`] they give the same table on every
//! node. A token is the place of its grant in the log: no two grants have the same, later ones have greater ones, and
//! it is durable on a majority before anybody hears of it.
//!
//! A table always fits a frame, so that a snapshot of it can be sent: the names, the offices and the changes that are
//! remembered are bounded. All of that is part of [`Table::apply`], and so it is the same on every node.
//!
//! Where there is no room for a new office, the one with the smallest token that nobody holds is forgotten. Nothing is
//! lost with it that anybody relies on:
//!
//! - If it comes back, its token is greater than all that it had: a token is a place in the log, and the log goes on.
//! - A grant that was proposed for an unknown office, with 0 as the last token, counts only if nobody was granted it
//!   since its proposer looked, although 0 is the last token of a forgotten office again. For an office to be
//!   granted, become vacant and be forgotten, its vacancy must be in the log, before the stale grant. Only a leader
//!   that had acted on the first grant proposes that vacancy, and all entries behind it are proposed by one that had
//!   acted on it, too: by the same leader, or by a later one, which proposes grants only when it has acted on all
//!   that was there before. None of them still takes the office for unknown.
//! - An office becomes vacant only when its holder has stopped for certain or need not have, so a new holder need not
//!   wait for anybody who is forgotten.

use std::collections::{BTreeMap, VecDeque};

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

use super::LEADER;
use crate::api::Cause;
pub use crate::config::MAX_OFFICES;
use crate::config::Mode;
use crate::member::Member;

/// How many changes of an office are remembered.
pub const MAX_CHANGES: usize = 100;
/// How many changes of all offices together are remembered: where there are many, each has an equal share of them.
pub const MAX_TOTAL_CHANGES: usize = 80_000;

/// Who holds an office: which member, in which of its incarnations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub struct Holder {
    /// The member.
    pub id: Id,
    /// Which start of it.
    pub incarnation: u64,
}

/// An entry of the log.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub enum Command {
    /// The office goes to somebody, if the last token is still the one that the proposer saw.
    Grant {
        /// The office.
        office: String,
        /// Who gets it.
        holder: Holder,
        /// The last token of the office.
        expected_token: u64,
        /// What kind of office it is.
        mode: Mode,
        /// Why.
        cause: Cause,
        /// By an operator's wish: nobody better takes it away.
        pinned: bool,
        /// For people.
        unix_ms: u64,
    },
    /// The office becomes vacant, if its token is still this one.
    Vacate {
        /// The office.
        office: String,
        /// Its token.
        token: u64,
        /// Why.
        cause: Cause,
        /// For people.
        unix_ms: u64,
    },
    /// Elections stop or go on.
    SetPaused(bool),
    /// A member's disk is this one.
    RegisterStore {
        /// The member.
        id: Id,
        /// Its disk.
        store_id: u64,
    },
    /// A member's description is this one.
    SetMember(Member),
}

/// An office.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct Office {
    /// What kind.
    pub mode: Mode,
    /// Who holds it.
    pub holder: Option<Holder>,
    /// The token of the holder, or of the last one.
    pub token: u64,
    /// Why it is so.
    pub cause: Cause,
    /// Since when, for people.
    pub unix_ms: u64,
    /// By an operator's wish: nobody better takes it away.
    pub pinned: bool,
    /// The last changes, oldest first.
    pub history: VecDeque<HistoryEntry>,
}

/// Who belongs to the cluster.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct MemberEntry {
    /// The description.
    pub member: Member,
    /// Which disk its votes are kept on; 0 before anybody has seen it.
    pub store_id: u64,
}

/// An office changed hands.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub struct HistoryEntry {
    /// The new holder; none if it became vacant.
    pub holder: Option<Id>,
    /// The token.
    pub token: u64,
    /// Why.
    pub cause: Cause,
    /// For people.
    pub unix_ms: u64,
}

/// What all voters agree on.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
pub struct Table {
    /// By name.
    pub offices: BTreeMap<String, Office>,
    /// By id.
    pub members: BTreeMap<Id, MemberEntry>,
    /// Whether elections are paused.
    pub paused: bool,
    /// The greatest id there ever was: ids are never used again.
    pub max_member_id: u64,
}

impl Table {
    /// The table of a cluster that begins with these members.
    pub fn with_members(members: &[Member]) -> Self {
        let mut table = Table::default();
        members.iter().for_each(|member| table.set_member(member.clone()));
        table
    }

    /// The last token of an office.
    pub fn token(&self, office: &str) -> u64 {
        self.offices.get(office).map_or(0, |office| office.token)
    }

    /// Applies the entry at a place of the log. Tells which office changed hands by it.
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

    /// How many offices can become held that are not, whether they are known or not.
    pub fn remaining_capacity(&self) -> usize {
        let held = self.offices.iter().filter(|(name, known)| *name != LEADER && known.holder.is_some());
        MAX_OFFICES.saturating_sub(held.count())
    }

    /// Whether there can be another office. There is always room for `leader`, which is never forgotten.
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

    /// There is one office more: if that makes the share of each smaller, all forget what is beyond it.
    fn trim_histories(&mut self) {
        let limit = self.history_limit();
        if limit < history_limit(self.offices.len() - 1) {
            self.offices.values_mut().for_each(|office| office.trim_history(limit));
        }
    }

    /// A member is part of the cluster from now on, or its description changed.
    pub fn set_member(&mut self, member: Member) {
        self.max_member_id = self.max_member_id.max(member.id.0);
        let store_id = self.members.get(&member.id).map_or(0, |known| known.store_id);
        self.members.insert(member.id, MemberEntry { member, store_id });
    }

    /// A member has left for good.
    pub fn remove(&mut self, id: Id) {
        self.members.remove(&id);
    }

    /// The description of a member.
    pub fn member(&self, id: Id) -> Option<&Member> {
        self.members.get(&id).map(|known| &known.member)
    }

    /// The name of a member.
    pub fn member_name(&self, id: Id) -> String {
        self.member(id).map_or_else(|| format!("#{id}"), |member| member.name.clone())
    }

    /// Whoever has this name.
    pub fn member_by_name(&self, name: &str) -> Option<&Member> {
        self.members.values().map(|known| &known.member).find(|member| member.name == name)
    }

    /// As bytes, for a snapshot.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a table is plain data")
    }

    /// From a snapshot.
    pub fn decode(bytes: &[u8]) -> Option<Table> {
        postcard::from_bytes(bytes).ok()
    }
}

/// How many changes of each of so many offices are remembered.
fn history_limit(offices: usize) -> usize {
    (MAX_TOTAL_CHANGES / offices.max(1)).min(MAX_CHANGES)
}

impl Office {
    /// One that nobody ever held.
    fn new(mode: Mode) -> Self {
        let history = VecDeque::new();
        Office { mode, holder: None, token: 0, cause: Cause::Vacant, unix_ms: 0, pinned: false, history }
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
    /// The office that it is about.
    pub fn office(&self) -> Option<&str> {
        match self {
            Command::Grant { office, .. } | Command::Vacate { office, .. } => Some(office),
            Command::SetPaused(_) | Command::RegisterStore { .. } | Command::SetMember(_) => None,
        }
    }

    /// As bytes, for the log.
    pub fn encode(&self) -> Vec<u8> {
        postcard::to_allocvec(self).expect("a command is plain data")
    }

    /// From the log.
    pub fn decode(bytes: &[u8]) -> Option<Command> {
        postcard::from_bytes(bytes).ok()
    }
}

#[cfg(test)]
mod tests;
