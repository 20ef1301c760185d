//! All known offices by name, with the indexes that keep the cost of a change independent of their number.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;

use hustings_protocol::Id;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{HistoryEntry, LEADER, MAX_CHANGES, Office, OfficeName};

/// All known offices. Only the map is encoded; the indexes follow from it.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(crate) struct Offices {
    by_name: BTreeMap<OfficeName, Office>,
    by_holder: BTreeMap<Id, BTreeSet<OfficeName>>,
    /// Vacant offices by their last token, without `leader`, which is never forgotten.
    vacant: BTreeSet<(u64, OfficeName)>,
    /// The remembered changes of all offices, so that the last of them are found without looking at the others.
    changes: BTreeSet<ChangeKey>,
}

/// Where a change is in the history of all offices: when it was, its token, whether the office became vacant, and the
/// office. A grant and its end may have the same time.
type ChangeKey = (u64, u64, bool, OfficeName);

impl Offices {
    pub(crate) fn len(&self) -> usize {
        self.by_name.len()
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Office> {
        self.by_name.get(name)
    }

    /// The office's name as it is stored, so that copies of it share their memory.
    pub(crate) fn stored_name(&self, name: &str) -> Option<&OfficeName> {
        self.by_name.get_key_value(name).map(|(stored, _)| stored)
    }

    pub(crate) fn contains(&self, name: &str) -> bool {
        self.by_name.contains_key(name)
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = (&OfficeName, &Office)> {
        self.by_name.iter()
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &OfficeName> {
        self.by_name.keys()
    }

    /// The names that follow this one, in order.
    pub(crate) fn names_after(&self, after: Option<&str>) -> impl Iterator<Item = &OfficeName> {
        let from = after.map_or(Bound::Unbounded, Bound::Excluded);
        self.by_name.range::<str, _>((from, Bound::Unbounded)).map(|(name, _)| name)
    }

    /// The offices that a member holds, in whatever incarnation.
    pub(crate) fn held_by(&self, id: Id) -> impl Iterator<Item = &OfficeName> {
        self.by_holder.get(&id).into_iter().flatten()
    }

    /// How many offices other than `leader` are held.
    pub(crate) fn held_count(&self) -> usize {
        let has_leader = self.by_name.contains_key(LEADER);
        self.by_name.len() - usize::from(has_leader) - self.vacant.len()
    }

    /// How many offices there are other than `leader`.
    pub(super) fn count_without_leader(&self) -> usize {
        self.by_name.len() - usize::from(self.by_name.contains_key(LEADER))
    }

    /// Changes an office, which is added if it is unknown.
    pub(super) fn update(&mut self, name: &OfficeName, new: impl FnOnce() -> Office, change: impl FnOnce(&mut Office)) {
        let name = self.stored_name(name).unwrap_or(name).clone();
        if let Some(office) = self.by_name.get(&name) {
            unindex(&mut self.by_holder, &mut self.vacant, &name, office);
        }
        let office = self.by_name.entry(name.clone()).or_insert_with(new);
        change(office);
        index(&mut self.by_holder, &mut self.vacant, &name, office);
    }

    /// Forgets the vacant office with the lowest token. Returns it, if there was one.
    pub(super) fn forget_oldest_vacant(&mut self) -> Option<Office> {
        let (_, name) = self.vacant.pop_first()?;
        let office = self.by_name.remove(&name)?;
        office.history.iter().for_each(|entry| _ = self.changes.remove(&change_key(&name, entry)));
        Some(office)
    }

    /// Remembers what an office is now as its last change.
    pub(super) fn record(&mut self, name: &OfficeName, limit: usize) {
        let Some(name) = self.stored_name(name).cloned() else { return };
        let Some(office) = self.by_name.get_mut(&name) else { return };
        let holder = office.holder.map(|holder| holder.id);
        let entry = HistoryEntry { holder, token: office.token, cause: office.cause, unix_ms: office.unix_ms };
        office.history.push_back(entry);
        self.changes.insert(change_key(&name, &entry));
        trim_history(&mut self.changes, &name, office, limit);
    }

    pub(super) fn trim_histories(&mut self, limit: usize) {
        self.by_name.iter_mut().for_each(|(name, office)| trim_history(&mut self.changes, name, office, limit));
    }

    /// The last changes of all offices, oldest first.
    pub(crate) fn last_changes(&self) -> Vec<(&OfficeName, &HistoryEntry)> {
        let found = self.changes.iter().rev().take(MAX_CHANGES).filter_map(|key| {
            let history = &self.get(&key.3)?.history;
            history.iter().rfind(|entry| change_key(&key.3, entry) == *key).map(|entry| (&key.3, entry))
        });
        let mut found: Vec<_> = found.collect();
        found.reverse();
        found
    }

    /// The remembered changes of one office, oldest first.
    pub(crate) fn changes_of(&self, name: &str) -> Vec<(&OfficeName, &HistoryEntry)> {
        let Some((name, office)) = self.by_name.get_key_value(name) else { return Vec::new() };
        let mut found: Vec<_> = office.history.iter().map(|entry| (name, entry)).collect();
        found.sort_by_key(|(_, entry)| (entry.unix_ms, entry.token));
        found
    }
}

fn change_key(name: &OfficeName, entry: &HistoryEntry) -> ChangeKey {
    (entry.unix_ms, entry.token, entry.holder.is_none(), name.clone())
}

fn trim_history(changes: &mut BTreeSet<ChangeKey>, name: &OfficeName, office: &mut Office, limit: usize) {
    let excess = office.history.len().saturating_sub(limit);
    office.history.drain(..excess).for_each(|entry| _ = changes.remove(&change_key(name, &entry)));
}

fn index(
    by_holder: &mut BTreeMap<Id, BTreeSet<OfficeName>>,
    vacant: &mut BTreeSet<(u64, OfficeName)>,
    name: &OfficeName,
    office: &Office,
) {
    match office.holder {
        Some(holder) => _ = by_holder.entry(holder.id).or_default().insert(name.clone()),
        None if &**name != LEADER => _ = vacant.insert((office.token, name.clone())),
        None => {}
    }
}

fn unindex(
    by_holder: &mut BTreeMap<Id, BTreeSet<OfficeName>>,
    vacant: &mut BTreeSet<(u64, OfficeName)>,
    name: &OfficeName,
    office: &Office,
) {
    let Some(holder) = office.holder else {
        vacant.remove(&(office.token, name.clone()));
        return;
    };
    if let Some(held) = by_holder.get_mut(&holder.id) {
        held.remove(name);
        if held.is_empty() {
            by_holder.remove(&holder.id);
        }
    }
}

impl From<BTreeMap<OfficeName, Office>> for Offices {
    fn from(by_name: BTreeMap<OfficeName, Office>) -> Self {
        let (mut by_holder, mut vacant) = (BTreeMap::new(), BTreeSet::new());
        by_name.iter().for_each(|(name, office)| index(&mut by_holder, &mut vacant, name, office));
        let changes = |(name, office): (&OfficeName, &Office)| {
            office.history.iter().map(|entry| change_key(name, entry)).collect::<Vec<_>>()
        };
        let changes = by_name.iter().flat_map(changes).collect();
        Offices { by_name, by_holder, vacant, changes }
    }
}

impl Serialize for Offices {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.by_name.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Offices {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        BTreeMap::deserialize(deserializer).map(Offices::from)
    }
}
