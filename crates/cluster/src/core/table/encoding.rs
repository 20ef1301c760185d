//! The encoding of the replicated state: snapshots of the table, commands and membership changes in the log.
//!
//! The version changes when a field is added, removed or changes its meaning. Until then the bytes stay the same, which
//! the golden files in `testdata/formats` make sure of.

use protobuf::Message as _;
use raft::eraftpb::{ConfChange, ConfChangeSingle, ConfChangeV2, Entry, EntryType};

use super::{Command, Table};
use crate::format::{self, FIRST, FormatError};
use crate::member::Member;

const ENTRY: &str = "log entry";

impl Table {
    /// Encodes the table for a snapshot, in the version that all members read.
    pub(crate) fn encode(&self) -> Vec<u8> {
        format::encode(self.version(), self)
    }

    /// Decodes the table of a snapshot, of a version up to `reads`.
    pub(crate) fn decode(bytes: &[u8], reads: u8) -> Result<Table, FormatError> {
        format::decode("snapshot", reads, bytes)
    }
}

impl Command {
    /// Encodes the command for the log.
    pub(crate) fn encode(&self, version: u8) -> Vec<u8> {
        format::encode(version, self)
    }

    /// Decodes a command of the log, of a version up to `reads`.
    pub(crate) fn decode(bytes: &[u8], reads: u8) -> Result<Command, FormatError> {
        format::decode(ENTRY, reads, bytes)
    }
}

/// Encodes what a membership change adds to the raft library's description: the new member, or `None` for a removal.
pub(crate) fn encode_membership(member: Option<&Member>, version: u8) -> Vec<u8> {
    format::encode(version, &member)
}

/// Decodes what a membership change adds to the raft library's description, of a version up to `reads`.
pub(crate) fn decode_membership(bytes: &[u8], reads: u8) -> Result<Option<Member>, FormatError> {
    format::decode(ENTRY, reads, bytes)
}

/// The error for a membership change that the raft library cannot parse.
pub(crate) const MALFORMED_MEMBERSHIP: FormatError = FormatError::Malformed { format: ENTRY, version: FIRST };

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

/// Decodes a log entry of a version up to `reads`.
pub(crate) fn decode_entry(entry: &Entry, reads: u8) -> Result<EntryEffect, FormatError> {
    match entry.get_entry_type() {
        _ if entry.data.is_empty() => Ok(EntryEffect::Empty),
        EntryType::EntryNormal => Command::decode(&entry.data, reads).map(EntryEffect::Command),
        kind => {
            let change = parse_membership(kind, &entry.data).ok_or(MALFORMED_MEMBERSHIP)?;
            Ok(EntryEffect::Membership(change, decode_membership(&entry.context, reads)?))
        }
    }
}
