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
//! - An exclusive office becomes vacant only when its holder has certainly stopped. Former holders of a fenced one may
//!   still act, which matters if it comes back as an exclusive one: the table remembers their longest lease.

mod completions;
mod encoding;
mod members;
mod offices;
mod states;

use std::collections::{BTreeMap, VecDeque};
use std::sync::Arc;
use std::time::Duration;

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

pub(crate) use self::completions::{Completions, check_key};
pub(crate) use self::offices::Offices;
pub(crate) use self::states::{
    BlobRef, MAX_STATE_BYTES, MAX_STATES, MAX_TOTAL_BYTES, States, checksum_of, piece_count,
};
pub(crate) use self::states::{PIECE_BYTES, PieceEffect, StatePiece, UploadId};
use super::LEADER;
use crate::api::ChangeReason;
use crate::config::{MAX_OFFICES, Mode};
use crate::member::Member;
use crate::timing::{LeaseTerms, microseconds};
#[cfg(test)]
pub(crate) use states::StateEntry;

pub(crate) use self::encoding::{
    EntryEffect, MALFORMED_MEMBERSHIP, decode_entry, decode_membership, encode_membership, parse_membership,
};

/// How many changes of one office are remembered.
pub(crate) const MAX_CHANGES: usize = 100;
/// How many changes of all offices together are remembered. If there are many offices, each gets an equal share.
const MAX_TOTAL_CHANGES: usize = 70_000;

/// How many settings the table stores, and how long their keys and values may be.
const MAX_SETTINGS: usize = 32;
const MAX_SETTING_KEY: usize = 128;
const MAX_SETTING_BYTES: usize = 1_024;
/// The setting that is present while elections are paused.
const PAUSED: &str = "paused";

/// The name of an office. Its many copies share their memory.
pub(crate) type OfficeName = Arc<str>;

/// The holder of an office: a member in one of its incarnations.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Holder {
    /// The member.
    pub id: Id,
    /// Identifies the member's process.
    pub incarnation: u64,
}

/// A log entry.
#[derive(Clone, PartialEq, Eq, Debug, Serialize, Deserialize)]
pub(crate) enum Command {
    /// Grants an office, if its last token is still the one that the proposer saw.
    Grant {
        /// The office.
        office: OfficeName,
        /// The new holder.
        holder: Holder,
        /// The office's last token, as the proposer saw it; 0 if it was unknown.
        expected_token: u64,
        /// The mode of the grant, which becomes the office's.
        mode: Mode,
        /// How long the holder's lease lasts, and how long it needs to stop.
        terms: LeaseTerms,
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
        office: OfficeName,
        /// The holder's token.
        token: u64,
        /// Why it becomes vacant.
        cause: ChangeReason,
        /// Wall-clock time, for display.
        unix_ms: u64,
    },
    /// Sets a setting, or removes it, if its revision is still the one that the proposer saw.
    Put {
        /// The key.
        key: String,
        /// The revision that the proposer saw; 0 if there was no such setting. `None` overwrites any revision.
        expected_revision: Option<u64>,
        /// The new value; `None` removes the setting.
        value: Option<Vec<u8>>,
    },
    /// Registers the disk of a member that has none registered, and which formats its program reads.
    RegisterStore {
        /// The member.
        id: Id,
        /// Identifies the disk.
        store_id: u64,
        /// The highest version of the formats that the member reads.
        reads: u8,
    },
    /// Adds a member, or replaces its description.
    SetMember(Member),
    /// Removes a member for good.
    RemoveMember(Id),
    /// An address of a member is outdated, although the table never had it: members had it in their configuration.
    RetireAddress {
        /// The member.
        id: Id,
        /// The outdated address.
        address: String,
    },
    /// Records that the holder of an office has completed something, if it still holds the office with this token. A
    /// record that exists already is kept.
    Complete {
        /// The office.
        office: OfficeName,
        /// The holder's token.
        token: u64,
        /// What was completed.
        key: String,
        /// The leader's wall-clock time, for display and to tell which records are old.
        unix_ms: u64,
    },
    /// A piece of the state that the holder of an office stores, if it still holds the office with this token.
    StatePiece(StatePiece),
    /// Deletes the state of an office.
    DeleteState {
        /// The office.
        office: OfficeName,
        /// The token with which the office must still be held; `None` if an operator deletes it.
        token: Option<u64>,
    },
}

/// An office: a named lease, like an etcd election or a Kubernetes Lease.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Office {
    /// Whether its last grant is exclusive or fenced.
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
    /// The terms of the last grant.
    pub(crate) terms: LeaseTerms,
    /// The longest lease of its fenced grants since the last exclusive one. Several of their holders may still act.
    #[serde(with = "microseconds")]
    pub(crate) fenced_lease: Duration,
    /// The last changes, oldest first.
    pub(crate) history: VecDeque<HistoryEntry>,
}

/// A member of the cluster.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct MemberEntry {
    /// Its description.
    pub(crate) member: Member,
    /// Identifies the disk that holds its votes; 0 before one is registered.
    pub(crate) store_id: u64,
    /// Whether it is to become a voter, but has not caught up with the log yet.
    pub(crate) is_joining: bool,
    /// Its former addresses, oldest first. A configuration that still has one of them is outdated.
    pub(crate) former_addresses: Vec<String>,
    /// The highest version of the formats that it reads, as it last said; 0 before it has.
    pub(crate) reads: u8,
}

/// A change of an office.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
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

/// A setting of the cluster.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Setting {
    /// The index of the entry that set it.
    pub(crate) revision: u64,
    pub(crate) value: Vec<u8>,
}

/// The fenced offices that were forgotten.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct ForgottenFenced {
    /// The index of the entry that forgot the last one.
    pub(crate) index: u64,
    /// The longest lease of their grants.
    #[serde(with = "microseconds")]
    pub(crate) lease: Duration,
}

/// The replicated state.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Table {
    /// All known offices, by name.
    pub(crate) offices: Offices,
    /// All members, by id.
    pub(crate) members: BTreeMap<Id, MemberEntry>,
    /// A small map of settings with revisions, such as whether elections are paused.
    pub(crate) settings: BTreeMap<String, Setting>,
    /// The highest member id so far. Ids are never reused.
    pub(crate) max_member_id: u64,
    /// Whether the cluster was recovered from one member's disk, and no office was granted since. The table
    /// may then lack grants whose leases are not over yet.
    pub(crate) recovered: bool,
    /// What holders of offices have completed.
    pub(crate) completions: Completions,
    /// What holders of offices have stored, without the bytes.
    pub(crate) states: States,
    /// The fenced offices that were forgotten.
    pub(crate) forgotten_fenced: ForgottenFenced,
    /// The highest version of the formats that all members have read at the same time; 0 before the first has said it.
    pub(crate) raised: u8,
}

impl Table {
    /// The initial table of a cluster with these members.
    pub(crate) fn with_members(members: &[Member]) -> Self {
        let mut table = Table::default();
        members.iter().for_each(|member| table.set_member(member.clone()));
        table
    }

    /// The last token of an office; 0 if the office is unknown.
    pub(crate) fn token(&self, office: &str) -> u64 {
        self.offices.get(office).map_or(0, |office| office.token)
    }

    /// How long the holders of an office's fenced grants may still act, counted from the end of the last of these
    /// grants: the longest of their leases.
    pub(crate) fn fenced_lease(&self, office: &str) -> Duration {
        self.offices.get(office).map_or(self.forgotten_fenced.lease, |known| known.fenced_lease)
    }

    /// The holder of an office; `None` if it is vacant or unknown.
    #[cfg(test)]
    pub(crate) fn holder(&self, office: &str) -> Option<Holder> {
        self.offices.get(office).and_then(|office| office.holder)
    }

    /// Whether elections are paused.
    pub(crate) fn is_paused(&self) -> bool {
        self.settings.contains_key(PAUSED)
    }

    /// Applies the entry at `index`. Returns whether it took effect.
    pub(crate) fn apply(&mut self, index: u64, command: Command) -> bool {
        match command {
            Command::Grant { office, holder, expected_token, mode, terms, cause, pinned, unix_ms } => {
                let is_new = !self.offices.contains(&office);
                if self.token(&office) != expected_token || (is_new && !self.make_room(index, &office)) {
                    return false;
                }
                self.states.handle_office_change(&office);
                self.offices.update(
                    &office,
                    || Office::new(mode),
                    |known| {
                        (known.holder, known.token, known.cause, known.unix_ms, known.pinned) =
                            (Some(holder), index, cause, unix_ms, pinned);
                        (known.mode, known.terms) = (mode, terms.bounded());
                        known.fenced_lease = match mode {
                            Mode::Fenced => known.fenced_lease.max(known.terms.lease),
                            Mode::Exclusive => Duration::ZERO,
                        };
                    },
                );
                if is_new && history_limit(self.offices.len()) < history_limit(self.offices.len() - 1) {
                    self.offices.trim_histories(history_limit(self.offices.len()));
                }
                self.offices.record(&office, history_limit(self.offices.len()));
                // The first one was granted when all leases from before the recovery were over.
                self.recovered = false;
                true
            }
            Command::Vacate { office, token, cause, unix_ms } => {
                let is_held = |known: &Office| known.token == token && known.holder.is_some();
                let Some(mode) = self.offices.get(&office).filter(|known| is_held(known)).map(|known| known.mode)
                else {
                    return false;
                };
                self.states.handle_office_change(&office);
                self.offices.update(
                    &office,
                    || Office::new(mode),
                    |known| {
                        (known.holder, known.cause, known.unix_ms, known.pinned) = (None, cause, unix_ms, false);
                    },
                );
                self.offices.record(&office, history_limit(self.offices.len()));
                true
            }
            Command::Put { key, expected_revision, value } => self.put(index, key, expected_revision, value),
            Command::RegisterStore { id, store_id, reads } => self.register(id, store_id, reads),
            Command::SetMember(member) => {
                self.set_member(member);
                true
            }
            Command::RetireAddress { id, address } => match self.members.get_mut(&id) {
                Some(known) => {
                    known.retire_address(address);
                    true
                }
                None => false,
            },
            Command::RemoveMember(id) => self.remove_members(&[id]),
            Command::Complete { office, token, key, unix_ms } => self.complete(&office, token, key, unix_ms),
            Command::StatePiece(piece) => matches!(self.receive_piece(index, &piece), PieceEffect::Appended { .. }),
            Command::DeleteState { office, token } => self.delete_state(&office, token),
        }
    }

    fn put(&mut self, index: u64, key: String, expected_revision: Option<u64>, value: Option<Vec<u8>>) -> bool {
        let revision = self.settings.get(&key).map_or(0, |setting| setting.revision);
        if expected_revision.is_some_and(|expected| expected != revision) {
            return false;
        }
        let Some(value) = value else { return self.settings.remove(&key).is_some() };
        let has_room = self.settings.len() < MAX_SETTINGS || revision != 0;
        if !has_room || key.len() > MAX_SETTING_KEY || value.len() > MAX_SETTING_BYTES {
            return false;
        }
        self.settings.insert(key, Setting { revision: index, value });
        true
    }

    /// How many more offices may become held, counting both vacant and unknown ones.
    pub(crate) fn remaining_capacity(&self) -> usize {
        MAX_OFFICES.saturating_sub(self.offices.held_count())
    }

    /// Makes room for a new office, and returns whether there is any. There is always room for `leader`.
    fn make_room(&mut self, index: u64, office: &str) -> bool {
        if office == LEADER || self.offices.count_without_leader() < MAX_OFFICES {
            return true;
        }
        let Some(forgotten) = self.offices.forget_oldest_vacant() else { return false };
        if !forgotten.fenced_lease.is_zero() {
            let lease = self.forgotten_fenced.lease.max(forgotten.fenced_lease);
            self.forgotten_fenced = ForgottenFenced { index, lease };
        }
        true
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
        let (terms, fenced_lease) = (LeaseTerms::default(), Duration::ZERO);
        let (holder, cause) = (None, ChangeReason::Vacant);
        Office { mode, holder, token: 0, cause, unix_ms: 0, pinned: false, terms, fenced_lease, history }
    }
}

impl Command {
    /// The office that the command changes.
    pub(crate) fn office(&self) -> Option<&OfficeName> {
        match self {
            Command::Grant { office, .. } | Command::Vacate { office, .. } => Some(office),
            _ => None,
        }
    }

    /// Pauses or resumes elections.
    pub(crate) fn set_paused(on: bool) -> Command {
        Command::Put { key: PAUSED.to_string(), expected_revision: None, value: on.then(Vec::new) }
    }
}

#[cfg(test)]
mod tests;
