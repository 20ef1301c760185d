//! What clients are shown: the holders of offices, the members that are up, the history. Watchers are notified of every
//! change.

use hustings_protocol::Id;

use super::read_index::Reader;
use super::table::{Holder, MAX_CHANGES, Office};
use super::{Core, Output};
use crate::api::{Change, MemberStatus, OfficeStatus, Reply, Request, Status};
use crate::config::ArbiterKind;
use crate::member::Member;

/// How many offices a status lists at most.
const MAX_STATUS_OFFICES: usize = 1_000;

/// What watchers were last told about an office.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct PublishedOffice {
    token: u64,
    holder: Option<Holder>,
    current: bool,
}

impl Core {
    /// Whether a quorum was in contact with this node within the last lease.
    pub(super) fn has_recent_quorum(&self) -> bool {
        self.consensus.is_none() || self.deadline > self.now
    }

    /// Whether the table's entry for an office is current, as far as this node knows: a quorum was in contact recently,
    /// the holder is up, and, if the holder is this node, it still acts.
    fn is_current(&self, office: &str, known: &Office) -> bool {
        let is_present = |holder: Holder| {
            let is_same_incarnation =
                self.incarnation_of(holder.id).is_none_or(|incarnation| incarnation == holder.incarnation);
            self.view.contains(&holder.id)
                && is_same_incarnation
                && (holder.id != self.settings.own || self.is_active_for(office))
        };
        self.has_recent_quorum() && known.holder.is_none_or(is_present)
    }

    /// A member's address.
    pub(super) fn address<'a>(&'a self, member: &'a Member) -> &'a str {
        self.settings.addresses.get(&member.id).unwrap_or(&member.address)
    }

    /// The status of an office. It is shown as current only if a read index has confirmed it.
    fn office_status(&self, name: &str, is_confirmed: bool) -> OfficeStatus {
        let known = self.table.offices.get(name);
        let holder = known.and_then(|known| known.holder);
        let member = holder.and_then(|holder| self.table.member(holder.id));
        OfficeStatus {
            office: name.to_string(),
            mode: known.map_or(self.settings.policy(name).mode, |known| known.mode),
            holder: holder.map(|holder| self.table.member_name(holder.id)),
            address: member.map(|member| self.address(member).to_string()),
            token: known.map_or(0, |known| known.token),
            since_unix_ms: known.map_or(0, |known| known.unix_ms),
            reason: known.map_or_else(Default::default, |known| known.cause),
            current: is_confirmed
                && known.map_or_else(|| self.has_recent_quorum(), |known| self.is_current(name, known)),
        }
    }

    /// The last changes of one office, or of all offices.
    pub(super) fn history(&self, office: Option<&str>) -> Vec<Change> {
        let offices = self.table.offices.iter().filter(|(name, _)| office.is_none_or(|office| office == *name));
        let mut changes: Vec<Change> = offices
            .flat_map(|(name, known)| {
                known.history.iter().map(|entry| Change {
                    office: name.clone(),
                    holder: entry.holder.map(|id| self.table.member_name(id)),
                    token: entry.token,
                    reason: entry.cause,
                    since_unix_ms: entry.unix_ms,
                })
            })
            .collect();
        changes.sort_by_key(|change| (change.since_unix_ms, change.token));
        if office.is_none() {
            changes.drain(..changes.len().saturating_sub(MAX_CHANGES));
        }
        changes
    }

    fn status(&self, is_confirmed: bool) -> Status {
        let name = |id: Id| self.table.member_name(id);
        let members = self.table.members.values().map(|known| MemberStatus {
            id: known.member.id.0,
            name: known.member.name.clone(),
            address: self.address(&known.member).to_string(),
            role: known.member.role,
            priority: known.member.priority,
            health: self.rank(known.member.id).health,
            up: self.is_up(known.member.id),
        });
        Status {
            cluster: self.settings.cluster.clone(),
            node: name(self.settings.own),
            algorithm: self.settings.choice.name().to_string(),
            arbiter: if self.consensus.is_some() { ArbiterKind::Raft } else { ArbiterKind::None },
            arbiter_leader: self.arbiter_leader().map(name),
            term: self.consensus.as_ref().map_or(0, |consensus| consensus.term()),
            current: is_confirmed && self.has_recent_quorum(),
            paused: self.table.paused,
            members: members.collect(),
            offices: self
                .table
                .offices
                .keys()
                .take(MAX_STATUS_OFFICES)
                .map(|office| self.office_status(office, is_confirmed))
                .collect(),
            counters: self.counters.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
        }
    }

    /// Answers a client that asked, or all watchers.
    pub(super) fn answer_read(&mut self, reader: Reader, is_confirmed: bool) {
        let (client, offices) = match reader {
            Reader::Client(client, Request::Status) => {
                return self.reply(client, Reply::Status(Box::new(self.status(is_confirmed))));
            }
            Reader::Client(client, Request::Leader { office } | Request::Watch { office: Some(office) }) => {
                (client, vec![office])
            }
            Reader::Client(client, _) => (client, self.table.offices.keys().cloned().collect()),
            Reader::Watchers => return self.publish_changes(|_| true, is_confirmed),
        };
        offices.iter().for_each(|office| self.reply(client, Reply::Office(self.office_status(office, is_confirmed))));
    }

    /// Notifies watchers of changes. An office that is no longer current is reported at once. Others are reported when
    /// a read index has confirmed them.
    pub(super) fn notify_watchers(&mut self) {
        if self.watchers.is_empty() {
            self.published.clear();
            return;
        }
        if self.published.len() > self.table.offices.len() {
            self.published.retain(|office, _| self.table.offices.contains_key(office));
        }
        let states = self.table.offices.iter().map(|(name, office)| (name, self.published_office(name, office, true)));
        let changes = states.filter(|(name, state)| self.published.get(*name) != Some(state));
        let (current, outdated): (Vec<bool>, Vec<bool>) =
            changes.map(|(_, state)| state.current).partition(|current| *current);
        if !outdated.is_empty() {
            self.publish_changes(|state| !state.current, true);
        }
        if !current.is_empty() && !self.read_index.has_pending_watchers() {
            self.begin_read(Reader::Watchers);
        }
    }

    fn publish_changes(&mut self, is_wanted: impl Fn(&PublishedOffice) -> bool, is_confirmed: bool) {
        let states =
            self.table.offices.iter().map(|(name, office)| (name, self.published_office(name, office, is_confirmed)));
        let changes = states.filter(|(name, state)| is_wanted(state) && self.published.get(*name) != Some(state));
        let changes: Vec<(String, PublishedOffice)> = changes.map(|(name, state)| (name.clone(), state)).collect();
        for (name, state) in changes {
            let status = self.office_status(&name, is_confirmed);
            let is_watching = |watched: &Vec<Option<String>>| {
                watched.iter().any(|office| office.as_ref().is_none_or(|office| *office == name))
            };
            let clients = self.watchers.iter().filter(|(_, watched)| is_watching(watched)).map(|(client, _)| *client);
            self.outputs.extend(clients.map(|client| Output::Reply(client, Reply::Office(status.clone()))));
            self.published.insert(name, state);
        }
    }

    /// What watchers are told about an office.
    fn published_office(&self, name: &str, office: &Office, is_confirmed: bool) -> PublishedOffice {
        PublishedOffice {
            token: office.token,
            holder: office.holder,
            current: is_confirmed && self.is_current(name, office),
        }
    }
}
