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

/// The clients that watch, and what they were last told.
///
/// Offices that nobody watches cost nothing.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Watchers {
    /// The clients that watch offices by name, with those names.
    offices_of: BTreeMap<ClientId, BTreeSet<OfficeName>>,
    /// The same by office.
    clients_of: BTreeMap<OfficeName, BTreeSet<ClientId>>,
    /// The clients that watch every office.
    of_everything: BTreeSet<ClientId>,
    published: BTreeMap<OfficeName, Published>,
    /// Offices that may have changed.
    marked: BTreeSet<OfficeName>,
    is_everything_marked: bool,
    /// Changed offices that wait for confirmation.
    unconfirmed: BTreeSet<OfficeName>,
    /// The clients that began to watch after the pending confirmation was asked for. It may be older than what they
    /// asked, so it tells them nothing. A read of their own does.
    joined: BTreeSet<ClientId>,
    has_quorum: bool,
}

impl Watchers {
    pub(super) fn is_empty(&self) -> bool {
        self.offices_of.is_empty() && self.of_everything.is_empty()
    }

    /// A client watches an office, or all of them.
    pub(super) fn add(
        &mut self,
        client: ClientId,
        office: Option<&str>,
        context: &Context<'_>,
    ) -> Result<(), RequestError> {
        let Some(office) = office else {
            self.is_everything_marked |= self.of_everything.is_empty();
            self.of_everything.insert(client);
            self.joined.insert(client);
            return Ok(());
        };
        let limit = context.settings.limits.watches;
        let count = self.offices_of.get(&client).map_or(0, BTreeSet::len);
        let is_known = self.clients_of.get(office).is_some_and(|clients| clients.contains(&client));
        if count >= limit && !is_known {
            let message = format!(
                "a connection may watch at most {limit} offices by name (`limits.watches`), or all of them at once"
            );
            return Err(refusal("too-many", message));
        }
        self.joined.insert(client);
        let office = OfficeName::from(office);
        self.offices_of.entry(client).or_default().insert(office.clone());
        self.clients_of.entry(office.clone()).or_default().insert(client);
        self.marked.insert(office);
        Ok(())
    }

    /// The read for a client that began to watch is answered.
    pub(super) fn admit(&mut self, client: ClientId) {
        self.joined.remove(&client);
    }

    pub(super) fn remove(&mut self, client: ClientId) {
        self.joined.remove(&client);
        let (of_everything, by_name) = (self.of_everything.remove(&client), self.offices_of.remove(&client));
        if !of_everything && by_name.is_none() {
            return;
        }
        for office in by_name.unwrap_or_default() {
            if let Some(clients) = self.clients_of.get_mut(&office) {
                clients.remove(&client);
                if clients.is_empty() {
                    self.clients_of.remove(&office);
                }
            }
        }
        let (clients_of, is_everything) = (&self.clients_of, !self.of_everything.is_empty());
        self.published.retain(|office, _| is_everything || clients_of.contains_key(office));
    }

    fn is_watched(&self, office: &str) -> bool {
        !self.of_everything.is_empty() || self.clients_of.contains_key(office)
    }

    pub(super) fn mark(&mut self, office: &OfficeName) {
        if self.is_watched(office) {
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

    /// A client that asked for an office was told its state. If it was confirmed, it need not be told again. If it was
    /// not, all who watch are told when it can be: for the others, nothing may have changed.
    pub(super) fn handle_answer(
        &mut self,
        client: ClientId,
        office: &str,
        is_confirmed: bool,
        known: &Known<'_>,
        context: &Context<'_>,
    ) {
        let by_name = self.clients_of.get(office).is_some_and(|clients| clients.contains(&client));
        if !by_name && !self.of_everything.contains(&client) {
            return;
        }
        let office = OfficeName::from(office);
        if !is_confirmed {
            self.published.remove(&office);
            self.marked.insert(office);
        } else if let Some(state) = state(&office, true, known, context) {
            self.published.entry(office).or_insert(state);
        }
    }

    /// Publishes offices that are no longer current at once. Returns whether others changed, which must be confirmed
    /// before they are published.
    pub(super) fn publish_outdated(&mut self, known: &Known<'_>, context: &mut Context<'_>) -> bool {
        if self.is_empty() {
            *self = Watchers { has_quorum: self.has_quorum, ..Watchers::default() };
            return false;
        }
        let offices = &known.arbiter.table().offices;
        if std::mem::take(&mut self.is_everything_marked) {
            match self.of_everything.is_empty() {
                true => self.marked.extend(self.clients_of.keys().cloned()),
                false => self.marked.extend(offices.names().cloned()),
            }
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

    /// A confirmation is asked for.
    pub(super) fn begin_read(&mut self) {
        self.joined.clear();
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
        if !self.is_watched(&office) {
            return;
        }
        let status = status::office_status(&office, is_confirmed, known, context);
        let by_name = self.clients_of.get(&office).into_iter().flatten();
        let by_name_only = by_name.filter(|client| !self.of_everything.contains(client));
        let is_told = |client: &&ClientId| !is_confirmed || !self.joined.contains(client);
        for client in self.of_everything.iter().chain(by_name_only).filter(is_told) {
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
