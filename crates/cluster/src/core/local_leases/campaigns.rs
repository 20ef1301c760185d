//! The campaigns of the programs on this host.

use std::collections::{BTreeMap, BTreeSet};

use crate::clock::Timestamp;
use crate::config::Mode;
use crate::core::normalise::Normalise;
use crate::core::table::OfficeName;
use crate::core::{ClientId, LEADER};

/// A client that campaigns for an office.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Campaign {
    client: ClientId,
    /// If set, the client accepts the office only in this mode.
    mode: Option<Mode>,
}

impl Campaign {
    fn accepts(&self, mode: Mode) -> bool {
        self.mode.is_none_or(|wanted| wanted == mode)
    }
}

/// Which clients campaign for which offices, and which campaigns are paused.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Campaigns {
    /// By office, in the order in which they began.
    by_office: BTreeMap<OfficeName, Vec<Campaign>>,
    by_client: BTreeMap<ClientId, BTreeSet<OfficeName>>,
    /// Offices that the node is not a candidate for, and until when.
    paused: BTreeMap<OfficeName, Timestamp>,
    /// Offices for which it may have changed whether this node is a candidate.
    changed: BTreeSet<OfficeName>,
}

impl Campaigns {
    pub(super) fn add(&mut self, client: ClientId, office: &OfficeName, mode: Option<Mode>) {
        let campaigns = self.by_office.entry(office.clone()).or_default();
        match campaigns.iter_mut().find(|one| one.client == client) {
            Some(known) => known.mode = mode,
            None => campaigns.push(Campaign { client, mode }),
        }
        self.by_client.entry(client).or_default().insert(office.clone());
        self.changed.insert(office.clone());
    }

    pub(super) fn remove(&mut self, client: ClientId, office: &OfficeName) {
        if let Some(campaigns) = self.by_office.get_mut(office) {
            campaigns.retain(|other| other.client != client);
            if campaigns.is_empty() {
                self.by_office.remove(office);
            }
        }
        if let Some(offices) = self.by_client.get_mut(&client) {
            offices.remove(office);
            if offices.is_empty() {
                self.by_client.remove(&client);
            }
        }
        self.changed.insert(office.clone());
    }

    /// Removes the campaigns for an office that do not accept this mode. Returns their clients.
    pub(super) fn remove_mismatched(&mut self, office: &OfficeName, mode: Mode) -> Vec<ClientId> {
        let campaigns = self.by_office.get(office).into_iter().flatten();
        let mismatched: Vec<ClientId> = campaigns.filter(|one| !one.accepts(mode)).map(|one| one.client).collect();
        mismatched.iter().for_each(|client| self.remove(*client, office));
        mismatched
    }

    /// The client that gets an office.
    pub(super) fn first(&self, office: &str) -> Option<ClientId> {
        self.by_office.get(office).and_then(|campaigns| campaigns.first()).map(|one| one.client)
    }

    pub(super) fn offices_of(&self, client: ClientId) -> Vec<OfficeName> {
        self.by_client.get(&client).into_iter().flatten().cloned().collect()
    }

    pub(super) fn count(&self, client: ClientId) -> usize {
        self.by_client.get(&client).map_or(0, BTreeSet::len)
    }

    pub(super) fn contains(&self, office: &str) -> bool {
        self.by_office.contains_key(office)
    }

    pub(super) fn len(&self) -> usize {
        self.by_office.len()
    }

    /// Makes this node no candidate for an office until a time.
    pub(super) fn pause(&mut self, office: &OfficeName, until: Timestamp) {
        self.paused.insert(office.clone(), until);
        self.changed.insert(office.clone());
    }

    pub(super) fn resume_due(&mut self, now: Timestamp) {
        let due = self.paused.extract_if(.., |_, until| *until <= now);
        self.changed.extend(due.map(|(office, _)| office));
    }

    pub(super) fn next_timeout(&self) -> Timestamp {
        self.paused.values().copied().min().unwrap_or(Timestamp::NEVER)
    }

    /// Whether this node wants to be a candidate for an office. It is always one for `leader`.
    pub(super) fn is_wanted(&self, office: &str) -> bool {
        (office == LEADER || self.by_office.contains_key(office)) && !self.paused.contains_key(office)
    }

    /// Every office that this node may want.
    pub(super) fn offices(&self) -> impl Iterator<Item = OfficeName> {
        self.by_office.keys().cloned().chain([OfficeName::from(LEADER)])
    }

    pub(super) fn take_changed(&mut self) -> BTreeSet<OfficeName> {
        std::mem::take(&mut self.changed)
    }
}

impl Normalise for Campaigns {
    fn normalise(&mut self, now: Timestamp) {
        let Campaigns { paused, by_office: _, by_client: _, changed: _ } = self;
        paused.normalise(now);
    }
}
