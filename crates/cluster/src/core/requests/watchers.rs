//! Clients that watch offices are notified of every change.

use std::collections::{BTreeMap, BTreeSet};

use super::errors::refusal;
use super::{Known, office_reply, status};
use crate::api::RequestError;
use crate::core::ClientId;
use crate::core::context::Context;
use crate::core::table::{Holder, OfficeName};

/// What watchers were last told about an office.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Published {
    token: u64,
    holder: Option<Holder>,
    is_current: bool,
}

/// What one client watches.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
struct Watched {
    is_everything: bool,
    offices: BTreeSet<String>,
}

impl Watched {
    fn count(&self) -> usize {
        self.offices.len() + usize::from(self.is_everything)
    }
}

/// The clients that watch, and what they were last told.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Watchers {
    clients: BTreeMap<ClientId, Watched>,
    published: BTreeMap<OfficeName, Published>,
    /// Offices that may have changed.
    marked: BTreeSet<OfficeName>,
    is_everything_marked: bool,
    /// Changed offices that wait for confirmation.
    unconfirmed: BTreeSet<OfficeName>,
    has_quorum: bool,
}

impl Watchers {
    pub(super) fn is_empty(&self) -> bool {
        self.clients.is_empty()
    }

    /// A client watches an office, or all of them.
    pub(super) fn add(
        &mut self,
        client: ClientId,
        office: Option<&str>,
        context: &Context<'_>,
    ) -> Result<(), RequestError> {
        let limit = context.settings.limits.watches;
        self.is_everything_marked |= self.clients.is_empty();
        let watched = self.clients.entry(client).or_default();
        match office {
            None => watched.is_everything = true,
            Some(office) if watched.count() >= limit && !watched.offices.contains(office) => {
                let message = format!(
                    "a connection may watch at most {limit} offices by name (`limits.watches`), or all of them at once"
                );
                return Err(refusal("too-many", message));
            }
            Some(office) => _ = watched.offices.insert(office.to_string()),
        }
        Ok(())
    }

    pub(super) fn remove(&mut self, client: ClientId) {
        self.clients.remove(&client);
    }

    pub(super) fn mark(&mut self, office: &OfficeName) {
        if !self.clients.is_empty() {
            self.marked.insert(office.clone());
        }
    }

    pub(super) fn mark_all(&mut self) {
        self.is_everything_marked = true;
    }

    /// Whether this node is in contact with a quorum. Every office may depend on it.
    pub(super) fn set_quorum(&mut self, has_quorum: bool) {
        self.is_everything_marked |= self.has_quorum != has_quorum;
        self.has_quorum = has_quorum;
    }

    /// Publishes offices that are no longer current at once. Returns whether others changed, which must be confirmed
    /// before they are published.
    pub(super) fn publish_outdated(&mut self, known: &Known<'_>, context: &mut Context<'_>) -> bool {
        if self.clients.is_empty() {
            *self = Watchers { has_quorum: self.has_quorum, ..Watchers::default() };
            return false;
        }
        let offices = &known.arbiter.table().offices;
        if std::mem::take(&mut self.is_everything_marked) {
            self.marked.extend(offices.names().cloned());
            self.published.retain(|office, _| offices.contains(office));
        }
        for office in std::mem::take(&mut self.marked) {
            match state(&office, true, known, context) {
                Some(state) if self.published.get(&office) == Some(&state) => _ = self.unconfirmed.remove(&office),
                Some(state) if state.is_current => _ = self.unconfirmed.insert(office),
                Some(state) => self.publish(office, state, true, known, context),
                None => _ = self.published.remove(&office),
            }
        }
        !self.unconfirmed.is_empty()
    }

    /// Publishes the offices that waited for confirmation.
    pub(super) fn publish_confirmed(&mut self, is_confirmed: bool, known: &Known<'_>, context: &mut Context<'_>) {
        for office in std::mem::take(&mut self.unconfirmed) {
            let Some(state) = state(&office, is_confirmed, known, context) else { continue };
            if !is_confirmed {
                // It is tried again with the next read.
                self.marked.insert(office.clone());
            }
            if self.published.get(&office) != Some(&state) {
                self.publish(office, state, is_confirmed, known, context);
            }
        }
    }

    fn publish(
        &mut self,
        office: OfficeName,
        state: Published,
        is_confirmed: bool,
        known: &Known<'_>,
        context: &mut Context<'_>,
    ) {
        let status = status::office_status(&office, is_confirmed, known, context);
        let is_watching = |watched: &Watched| watched.is_everything || watched.offices.contains(&*office);
        for (client, _) in self.clients.iter().filter(|(_, watched)| is_watching(watched)) {
            context.push(office_reply(*client, status.clone()));
        }
        self.published.insert(office, state);
    }
}

fn state(office: &str, is_confirmed: bool, known: &Known<'_>, context: &Context<'_>) -> Option<Published> {
    let record = known.arbiter.table().offices.get(office)?;
    let is_current = is_confirmed && status::is_current(office, record, known, context);
    Some(Published { token: record.token, holder: record.holder, is_current })
}
