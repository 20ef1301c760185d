//! What programs are shown: who holds what, who is up, what happened; now, or whenever it changes.

use hustings_protocol::Id;

use super::read_index::Reader;
use super::table::{Holder, MAX_CHANGES, Office};
use super::{Core, Output};
use crate::api::{Change, MemberStatus, OfficeStatus, Reply, Request, Status};
use crate::config::ArbiterKind;
use crate::member::Member;

/// At most so many offices are shown in a status.
const MAX_SHOWN: usize = 1_000;

/// What watchers were last shown of an office.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Seen {
    token: u64,
    holder: Option<Holder>,
    current: bool,
}

impl Core {
    /// Whether a majority was in touch with this node within a lease.
    pub(super) fn is_in_touch(&self) -> bool {
        self.consensus.is_none() || self.deadline > self.now
    }

    /// Whether an office is as the table says, as far as this node knows: it is in touch with the others, and the
    /// holder is there; if that is this node itself, it still acts.
    fn is_as_known(&self, office: &str, known: &Office) -> bool {
        let is_there = |holder: Holder| {
            let is_same_life = self.life_of(holder.id).is_none_or(|incarnation| incarnation == holder.incarnation);
            self.view.contains(&holder.id) && is_same_life && (holder.id != self.setup.own || self.acts_for(office))
        };
        self.is_in_touch() && known.holder.is_none_or(is_there)
    }

    /// Where a member is.
    pub(super) fn address<'a>(&'a self, member: &'a Member) -> &'a str {
        self.setup.addresses.get(&member.id).unwrap_or(&member.address)
    }

    /// Who holds an office. Only what is sure is shown as current.
    fn office(&self, name: &str, is_sure: bool) -> OfficeStatus {
        let known = self.table.offices.get(name);
        let holder = known.and_then(|known| known.holder);
        let member = holder.and_then(|holder| self.table.member(holder.id));
        OfficeStatus {
            office: name.to_string(),
            mode: known.map_or(self.setup.policy(name).mode, |known| known.mode),
            holder: holder.map(|holder| self.table.name(holder.id)),
            address: member.map(|member| self.address(member).to_string()),
            token: known.map_or(0, |known| known.token),
            since_unix_ms: known.map_or(0, |known| known.unix_ms),
            why: known.map_or_else(Default::default, |known| known.why),
            current: is_sure && known.map_or_else(|| self.is_in_touch(), |known| self.is_as_known(name, known)),
        }
    }

    /// The last changes.
    pub(super) fn history(&self, office: Option<&str>) -> Vec<Change> {
        let offices = self.table.offices.iter().filter(|(name, _)| office.is_none_or(|office| office == *name));
        let mut changes: Vec<Change> = offices
            .flat_map(|(name, known)| {
                known.history.iter().map(|turn| Change {
                    office: name.clone(),
                    holder: turn.holder.map(|id| self.table.name(id)),
                    token: turn.token,
                    why: turn.why,
                    unix_ms: turn.unix_ms,
                })
            })
            .collect();
        changes.sort_by_key(|change| (change.unix_ms, change.token));
        if office.is_none() {
            changes.drain(..changes.len().saturating_sub(MAX_CHANGES));
        }
        changes
    }

    fn status(&self, is_sure: bool) -> Status {
        let name = |id: Id| self.table.name(id);
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
            cluster: self.setup.cluster.clone(),
            node: name(self.setup.own),
            algorithm: self.setup.choice.name().to_string(),
            arbiter: if self.consensus.is_some() { ArbiterKind::Raft } else { ArbiterKind::None },
            arbiter_leader: self.arbiter_leader().map(name),
            term: self.consensus.as_ref().map_or(0, |consensus| consensus.term()),
            current: is_sure && self.is_in_touch(),
            paused: self.table.paused,
            members: members.collect(),
            offices: self.table.offices.keys().take(MAX_SHOWN).map(|office| self.office(office, is_sure)).collect(),
            counters: self.counters.iter().map(|(name, count)| (name.to_string(), *count)).collect(),
        }
    }

    /// Tells whoever wanted to know how things are.
    pub(super) fn show(&mut self, who: Reader, is_sure: bool) {
        let (client, offices) = match who {
            Reader::Program(client, Request::Status) => {
                return self.reply(client, Reply::Status(Box::new(self.status(is_sure))));
            }
            Reader::Program(client, Request::Leader { office } | Request::Watch { office: Some(office) }) => {
                (client, vec![office])
            }
            Reader::Program(client, _) => (client, self.table.offices.keys().cloned().collect()),
            Reader::Watchers => return self.show_news(|_| true, is_sure),
        };
        offices.iter().for_each(|office| self.reply(client, Reply::Office(self.office(office, is_sure))));
    }

    /// If there is news for watchers, they are told when it is sure, and at once what is not sure any more.
    pub(super) fn tell_watchers(&mut self) {
        if self.watchers.is_empty() {
            self.shown.clear();
            return;
        }
        if self.shown.len() > self.table.offices.len() {
            self.shown.retain(|office, _| self.table.offices.contains_key(office));
        }
        let seen = self.table.offices.iter().map(|(name, office)| (name, self.seen(name, office, true)));
        let news = seen.filter(|(name, seen)| self.shown.get(*name) != Some(seen));
        let (sure, doubtful): (Vec<bool>, Vec<bool>) = news.map(|(_, seen)| seen.current).partition(|current| *current);
        if !doubtful.is_empty() {
            self.show_news(|seen| !seen.current, true);
        }
        if !sure.is_empty() && !self.read_index.has_watchers() {
            self.read(Reader::Watchers);
        }
    }

    fn show_news(&mut self, wanted: impl Fn(&Seen) -> bool, is_sure: bool) {
        let seen = self.table.offices.iter().map(|(name, office)| (name, self.seen(name, office, is_sure)));
        let news = seen.filter(|(name, seen)| wanted(seen) && self.shown.get(*name) != Some(seen));
        let news: Vec<(String, Seen)> = news.map(|(name, seen)| (name.clone(), seen)).collect();
        for (name, seen) in news {
            let status = self.office(&name, is_sure);
            let wants = |asked: &Vec<Option<String>>| {
                asked.iter().any(|office| office.as_ref().is_none_or(|office| *office == name))
            };
            let clients = self.watchers.iter().filter(|(_, asked)| wants(asked)).map(|(client, _)| *client);
            self.out.extend(clients.map(|client| Output::Reply(client, Reply::Office(status.clone()))));
            self.shown.insert(name, seen);
        }
    }

    /// What watchers see of an office.
    fn seen(&self, name: &str, office: &Office, is_sure: bool) -> Seen {
        Seen { token: office.token, holder: office.holder, current: is_sure && self.is_as_known(name, office) }
    }
}
