//! What holders of offices have completed, so that no other holder does it again.

use std::collections::VecDeque;

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

use super::{OfficeName, Table};

/// How many completions of all offices together are remembered.
pub(crate) const MAX_COMPLETIONS: usize = 1_000;
/// The longest key, in bytes.
const MAX_KEY_BYTES: usize = 128;

/// A holder of an office has completed what a key names.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct CompletionEntry {
    pub(crate) office: OfficeName,
    pub(crate) key: String,
    /// The member that held the office, and its token.
    pub(crate) holder: Id,
    pub(crate) token: u64,
    /// Wall-clock time, for display.
    pub(crate) unix_ms: u64,
}

/// The last completions, oldest first; at most one for each office and key.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Completions(VecDeque<CompletionEntry>);

impl Completions {
    pub(crate) fn get(&self, office: &str, key: &str) -> Option<&CompletionEntry> {
        // The latest ones are asked for most.
        self.0.iter().rev().find(|entry| &*entry.office == office && entry.key == key)
    }

    /// Adds a completion, unless there is one for the same office and key.
    pub(super) fn add(&mut self, entry: CompletionEntry) {
        if self.get(&entry.office, &entry.key).is_some() {
            return;
        }
        self.0.push_back(entry);
        self.0.drain(..self.0.len().saturating_sub(MAX_COMPLETIONS));
    }

    #[cfg(test)]
    pub(super) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Table {
    /// Records that the holder of an office has completed something, if it holds the office with this token.
    pub(super) fn complete(&mut self, office: &str, token: u64, key: String, unix_ms: u64) -> bool {
        let holder = self.offices.get(office).filter(|known| known.token == token).and_then(|known| known.holder);
        let (Some(holder), Some(office)) = (holder, self.offices.stored_name(office).cloned()) else { return false };
        if check_key(&key).is_err() {
            return false;
        }
        self.completions.add(CompletionEntry { office, key, holder: holder.id, token, unix_ms });
        true
    }
}

/// Checks the key of a completion.
pub(crate) fn check_key(key: &str) -> Result<(), String> {
    if key.is_empty() || key.len() > MAX_KEY_BYTES {
        return Err(format!("a key has 1 to {MAX_KEY_BYTES} bytes, but this one has {}", key.len()));
    }
    if key.chars().any(char::is_control) {
        return Err(format!("the key `{}` contains a control character", key.escape_debug()));
    }
    Ok(())
}
