//! What holders of offices have completed, so that no other holder does it again.
//!
//! There is room for a number of records, and offices share it: when it is full, the office with the most records loses
//! its oldest one. So a job that runs every minute does not take the record of another office's daily one, but an
//! office may use all the room that the others do not need.
//!
//! Records that are older than a year and a month go first, whatever their office, so that offices that nobody uses any
//! more do not take room forever. Ages are differences of the wall-clock times in the entries of the log, which the
//! leaders wrote, so that all replicas agree on them. Such a clock may be wrong; therefore nothing is forgotten because
//! of its age alone, and a clock that jumps costs at most one record for each that is added.

use std::collections::{BTreeMap, VecDeque};

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

use super::{OfficeName, Table};

/// How many completions of all offices together are remembered.
pub(crate) const MAX_COMPLETIONS: usize = 1_000;
/// A record that is older than this is forgotten before others: a key may name a year.
const OLD_MS: u64 = 400 * 24 * 60 * 60 * 1_000;
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
    /// The wall-clock time of the arbiter's leader.
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
        if self.0.len() > MAX_COMPLETIONS {
            self.forget_one();
        }
    }

    /// Forgets a record that is old, or else the oldest one of the office that has the most.
    fn forget_one(&mut self) {
        let now_ms = self.0.back().map_or(0, |last| last.unix_ms);
        let is_old = |entry: &CompletionEntry| now_ms.saturating_sub(entry.unix_ms) > OLD_MS;
        let place = self.0.iter().position(is_old).or_else(|| {
            let mut counts: BTreeMap<&OfficeName, usize> = BTreeMap::new();
            self.0.iter().for_each(|entry| *counts.entry(&entry.office).or_default() += 1);
            let most = counts.values().max()?;
            self.0.iter().position(|entry| counts.get(&entry.office) == Some(most))
        });
        if let Some(place) = place {
            self.0.remove(place);
        }
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
