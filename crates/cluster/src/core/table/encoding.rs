//! The encoding of the replicated state: snapshots of the table, commands and membership changes in the log.
//!
//! The versions here change when a field is added, removed or changes its meaning. Until then the bytes stay the same,
//! which the golden files in `testdata/formats` make sure of.

use protobuf::Message as _;
use raft::eraftpb::{ConfChange, ConfChangeSingle, ConfChangeV2, Entry, EntryType};

use super::{Command, Table};
use crate::format::{self, FormatError};
use crate::member::Member;

/// The version of a snapshot's data.
const SNAPSHOT_VERSION: u8 = 1;
/// The version of commands and of the descriptions in membership changes.
const ENTRY_VERSION: u8 = 1;
const ENTRY: &str = "log entry";

impl Table {
    /// Encodes the table for a snapshot.
    pub(crate) fn encode(&self) -> Vec<u8> {
        format::encode(SNAPSHOT_VERSION, self)
    }

    /// Decodes the table of a snapshot.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Table, FormatError> {
        format::decode("snapshot", SNAPSHOT_VERSION, bytes)
    }
}

impl Command {
    /// Encodes the command for the log.
    pub(crate) fn encode(&self) -> Vec<u8> {
        format::encode(ENTRY_VERSION, self)
    }

    /// Decodes a command of the log.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Command, FormatError> {
        format::decode(ENTRY, ENTRY_VERSION, bytes)
    }
}

/// Encodes what a membership change adds to the raft library's description: the new member, or `None` for a removal.
pub(crate) fn encode_membership(member: Option<&Member>) -> Vec<u8> {
    format::encode(ENTRY_VERSION, &member)
}

/// Decodes what a membership change adds to the raft library's description.
pub(crate) fn decode_membership(bytes: &[u8]) -> Result<Option<Member>, FormatError> {
    format::decode(ENTRY, ENTRY_VERSION, bytes)
}

/// The error for a membership change that the raft library cannot parse.
pub(crate) const MALFORMED_MEMBERSHIP: FormatError = FormatError::Malformed { format: ENTRY, version: ENTRY_VERSION };

/// Parses the raft library's description of a membership change; `None` if it is malformed.
pub(crate) fn parse_membership(kind: EntryType, data: &[u8]) -> Option<ConfChangeV2> {
    if kind == EntryType::EntryConfChangeV2 {
        return ConfChangeV2::parse_from_bytes(data).ok();
    }
    let old = ConfChange::parse_from_bytes(data).ok()?;
    let mut change = ConfChangeV2::default();
    let mut single = ConfChangeSingle { node_id: old.node_id, ..ConfChangeSingle::default() };
    single.set_change_type(old.get_change_type());
    change.mut_changes().push(single);
    Some(change)
}

/// What a log entry does.
pub(crate) enum EntryEffect {
    /// Nothing: the first entry of a leader's term.
    Empty,
    /// Changes the table.
    Command(Command),
    /// Changes the members: adds this one, or removes those that the change names.
    Membership(ConfChangeV2, Option<Member>),
}

/// Decodes a log entry.
pub(crate) fn decode_entry(entry: &Entry) -> Result<EntryEffect, FormatError> {
    match entry.get_entry_type() {
        _ if entry.data.is_empty() => Ok(EntryEffect::Empty),
        EntryType::EntryNormal => Command::decode(&entry.data).map(EntryEffect::Command),
        kind => {
            let change = parse_membership(kind, &entry.data).ok_or(MALFORMED_MEMBERSHIP)?;
            Ok(EntryEffect::Membership(change, decode_membership(&entry.context)?))
        }
    }
}
