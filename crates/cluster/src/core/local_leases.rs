//! The leases that this node holds, and the clients that it holds them for.
//!
//! A node is always a candidate for the office `leader`, and for every office that a client on its host campaigns for.
//! It holds the offices that the table grants to this incarnation, until its deadline. Clients get an earlier deadline,
//! which leaves them the configured time to stop.

use std::collections::BTreeMap;

use super::table::Holder;
use super::{ClientId, Core, LEADER, Output};
use crate::api::{ChangeReason, Lease, Reply};
use crate::clock::Timestamp;
use crate::config::{MAX_OFFICES, Mode};
use crate::member::Role;
use crate::wire::{Candidacy, Claim, MAX_LIST_LEN, Message};

// A candidacy that lists every office that clients may campaign for, and `leader`, is a valid message.
const _: () = assert!(MAX_OFFICES < MAX_LIST_LEN);

/// How long a node that was asked to resign is not a candidate for the office.
const CAMPAIGN_PAUSE: std::time::Duration = std::time::Duration::from_secs(10);

/// What this node holds and campaigns for.
#[derive(Default)]
pub(super) struct LocalLeases {
    /// The leases that it holds, by office.
    leases: BTreeMap<String, LocalLease>,
    /// The campaigns of clients, by office, in the order in which they began.
    campaigns: BTreeMap<String, Vec<Campaign>>,
    /// Offices that the node is not a candidate for, and until when.
    paused_campaigns: BTreeMap<String, Timestamp>,
    /// Tokens that the node gave up, although the table may still show them.
    relinquished: BTreeMap<String, u64>,
    /// The deadline that clients were last given, plus the time that they have to stop.
    announced_deadline: Timestamp,
}

/// A client that campaigns for an office.
#[derive(Clone, Copy)]
struct Campaign {
    client: ClientId,
    /// If set, the client accepts the office only in this mode.
    mode: Option<Mode>,
}

impl Campaign {
    /// Whether the client accepts an office of this mode.
    fn accepts(&self, mode: Mode) -> bool {
        self.mode.is_none_or(|wanted| wanted == mode)
    }
}

/// An office that this node holds.
struct LocalLease {
    token: u64,
    mode: Mode,
    client: Option<ClientId>,
    state: LeaseState,
    /// Until when the client was told that it may act.
    client_deadline: Timestamp,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum LeaseState {
    Active,
    /// The client was asked to stop.
    Stopping,
    /// The work has stopped. The node reports it to the arbiter until the table shows it. The work never resumes with
    /// this token, because the next grant may already be in the log.
    Stopped,
}

impl LocalLeases {
    /// When the next deadline here is due.
    pub(super) fn next_timeout(&self, deadline: Timestamp) -> Timestamp {
        let mut next = if self.leases.is_empty() { Timestamp::NEVER } else { deadline };
        for lease in self.leases.values() {
            next = next.min(match lease.state {
                LeaseState::Active | LeaseState::Stopping => lease.client_deadline,
                LeaseState::Stopped => Timestamp::NEVER,
            });
        }
        self.paused_campaigns.values().fold(next, |next, until| next.min(*until))
    }

    /// The offices whose leases satisfy `filter`.
    fn offices_where(&self, filter: impl Fn(&str, &LocalLease) -> bool) -> Vec<String> {
        self.leases.iter().filter(|(office, lease)| filter(office, lease)).map(|(office, _)| office.clone()).collect()
    }

    /// Whether the node holds no lease.
    pub(super) fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }
}

impl Core {
    /// The offices that this node holds, by name, with their tokens.
    pub fn held_offices(&self) -> impl Iterator<Item = (&str, u64)> {
        self.local_leases.leases.iter().map(|(office, lease)| (office.as_str(), lease.token))
    }

    /// Whether this node holds an office, and its work has not stopped.
    pub(super) fn is_active_for(&self, office: &str) -> bool {
        self.local_leases.leases.get(office).is_some_and(|lease| lease.state != LeaseState::Stopped)
    }

    /// Whether this node holds an office whose work has stopped.
    pub(super) fn has_stopped(&self, office: &str) -> bool {
        self.local_leases.leases.get(office).is_some_and(|lease| lease.state == LeaseState::Stopped)
    }

    /// Announces the offices that this node is a candidate for, and its health, if either changed.
    pub(super) fn announce_candidacy(&mut self) {
        let now = self.now;
        self.local_leases.paused_campaigns.retain(|_, until| *until > now);
        let is_eligible =
            self.settings.role == Role::Elector && !self.leaving && self.health >= self.settings.threshold;
        let mut offices: Vec<String> = Vec::new();
        if is_eligible {
            let wanted = self.local_leases.campaigns.keys().map(String::as_str).chain([LEADER]);
            let is_paused = |office: &str| self.local_leases.paused_campaigns.contains_key(office);
            offices.extend(wanted.filter(|office| !is_paused(office)).map(str::to_string));
            offices.sort_unstable();
            offices.dedup();
        }
        let (incarnation, store_id, health) = (self.settings.incarnation, self.settings.store_id, self.health);
        let lease_at_arbiter_us = self.candidacy.lease_at_arbiter_us;
        let candidacy = Candidacy { incarnation, store_id, health, lease_at_arbiter_us, offices };
        if candidacy != self.candidacy {
            self.candidacy = candidacy;
            self.view_is_stale = true;
            let message = Message::Candidacy(self.candidacy.clone());
            self.broadcast(&message);
        }
    }

    /// The offices that this node was elected for and does not hold. A node without time left on its deadline claims
    /// nothing, because it could not act as a holder.
    pub(super) fn own_claims(&self) -> Vec<Claim> {
        if self.deadline - self.settings.timing.stop <= self.now {
            return Vec::new();
        }
        let own = self.own_holder();
        let elected = self.elections.elected().filter(|(_, leader)| *leader == Some(self.settings.own));
        let unheld = elected.filter(|(office, _)| {
            let known = self.table.offices.get(*office);
            let has = known.is_some_and(|known| known.holder == Some(own));
            !has || self.has_stopped(office)
                || known.map(|known| known.token) == self.local_leases.relinquished.get(*office).copied()
        });
        unheld.map(|(office, _)| Claim { office: office.to_string(), policy: self.settings.policy(office) }).collect()
    }

    pub(super) fn own_holder(&self) -> Holder {
        Holder { id: self.settings.own, incarnation: self.settings.incarnation }
    }

    /// Compares the leases with the table and the clock.
    pub(super) fn update_leases(&mut self) {
        let own = self.own_holder();
        // A client whose deadline has passed has stopped, even if the lease was extended meanwhile.
        let (now, deadline) = (self.now, self.deadline);
        let is_expired =
            |lease: &LocalLease| deadline <= now || (lease.state == LeaseState::Active && lease.client_deadline <= now);
        let expired = self.local_leases.offices_where(|_, lease| is_expired(lease));
        expired.into_iter().for_each(|office| self.lose_lease(&office, ChangeReason::Expired));
        let lost = self.local_leases.offices_where(|office, lease| {
            let known = self.table.offices.get(office);
            known.is_none_or(|known| known.token != lease.token || known.holder != Some(own))
        });
        for office in lost {
            let cause = self.table.offices.get(&office).map_or(ChangeReason::Removed, |known| known.cause);
            self.lose_lease(&office, cause);
        }
        self.accept_grants(own);
        self.finish_stopping();
        self.renew_leases();
    }

    /// Accepts what the table grants to this node.
    fn accept_grants(&mut self, own: Holder) {
        if self.deadline - self.settings.timing.stop <= self.now {
            // The node has no time left to act on these grants. It gives them back as soon as it reaches the arbiter.
            let granted = self.table.offices.iter().filter(|(_, known)| known.holder == Some(own));
            let unusable: Vec<(String, u64)> = granted.map(|(office, known)| (office.clone(), known.token)).collect();
            self.local_leases.relinquished.extend(unusable);
            return;
        }
        let mut fresh = Vec::new();
        for (office, known) in &self.table.offices {
            let is_own_grant = known.holder == Some(own) && !self.local_leases.leases.contains_key(office);
            if is_own_grant && self.local_leases.relinquished.get(office) != Some(&known.token) {
                fresh.push((office.clone(), known.token, known.mode));
            }
        }
        for (office, token, mode) in fresh {
            self.reject_mismatched_campaigns(&office, token, mode);
            let client = self.local_leases.campaigns.get(&office).and_then(|campaigns| Some(campaigns.first()?.client));
            let client_deadline = self.deadline - self.settings.timing.stop;
            let lease = LocalLease { token, mode, client, state: LeaseState::Active, client_deadline };
            self.local_leases.leases.insert(office.clone(), lease);
            if let Some(client) = client {
                self.reply(client, Reply::Held(Lease { office, token, deadline: client_deadline }));
            } else if office != LEADER {
                // The client that campaigned for the office is gone.
                self.mark_stopped(&office, token);
            }
        }
        self.local_leases.relinquished.retain(|office, token| {
            self.table.offices.get(office).is_some_and(|known| known.token == *token && known.holder == Some(own))
        });
    }

    /// Ends campaigns for another mode than that of the granted office. The mode is fixed by the configuration of the
    /// node that was granted the office first, so these clients would never get it.
    fn reject_mismatched_campaigns(&mut self, office: &str, token: u64, mode: Mode) {
        let Some(campaigns) = self.local_leases.campaigns.get_mut(office) else { return };
        let mismatched = campaigns.extract_if(.., |one| !one.accepts(mode));
        let mismatched: Vec<ClientId> = mismatched.map(|one| one.client).collect();
        if campaigns.is_empty() {
            self.local_leases.campaigns.remove(office);
        }
        for client in mismatched {
            self.reply(client, Reply::Lost { office: office.to_string(), token, reason: ChangeReason::ModeMismatch });
        }
    }

    /// Ends a lease, and tells the client.
    fn lose_lease(&mut self, office: &str, cause: ChangeReason) {
        let Some(lease) = self.local_leases.leases.remove(office) else { return };
        self.local_leases.relinquished.insert(office.to_string(), lease.token);
        if let Some(client) = lease.client {
            self.reply(client, Reply::Lost { office: office.to_string(), token: lease.token, reason: cause });
        }
    }

    /// Clients that were asked to stop have stopped when their deadline has passed.
    fn finish_stopping(&mut self) {
        let is_due = |lease: &LocalLease| lease.state == LeaseState::Stopping && lease.client_deadline <= self.now;
        let due = self.local_leases.leases.iter().filter(|(_, lease)| is_due(lease));
        let due: Vec<(String, u64)> = due.map(|(office, lease)| (office.clone(), lease.token)).collect();
        due.into_iter().for_each(|(office, token)| self.mark_stopped(&office, token));
    }

    /// Extends the deadlines of clients.
    fn renew_leases(&mut self) {
        if self.deadline <= self.local_leases.announced_deadline {
            return;
        }
        self.local_leases.announced_deadline = self.deadline;
        let deadline = self.deadline - self.settings.timing.stop;
        let mut replies = Vec::new();
        let active = self.local_leases.leases.iter_mut().filter(|(_, lease)| lease.state == LeaseState::Active);
        for (office, lease) in active {
            if deadline > lease.client_deadline {
                lease.client_deadline = deadline;
                let holding = Lease { office: office.clone(), token: lease.token, deadline };
                replies.extend(lease.client.map(|client| (client, Reply::Renewed(holding))));
            }
        }
        replies.into_iter().for_each(|(client, reply)| self.reply(client, reply));
    }

    /// The arbiter wants an office back: asks the client to stop.
    pub(super) fn step_down(&mut self, office: &str, token: u64, cause: ChangeReason) {
        let Some(lease) = self.local_leases.leases.get_mut(office).filter(|lease| lease.token == token) else {
            if self.local_leases.relinquished.get(office) == Some(&token) {
                self.report_stopped(office, token, ChangeReason::Expired);
            }
            return;
        };
        if lease.state != LeaseState::Active {
            return;
        }
        match lease.client {
            Some(client) => {
                lease.state = LeaseState::Stopping;
                self.reply(client, Reply::Stop { office: office.to_string(), token, reason: cause });
            }
            None => self.mark_stopped(office, token),
        }
    }

    /// A client reports that its work for an office has stopped. It cannot report that for another client.
    pub(super) fn handle_client_stopped(&mut self, client: ClientId, office: &str, token: u64) {
        let belongs_to_another = |lease: &LocalLease| lease.client.is_some_and(|holder| holder != client);
        if !self.local_leases.leases.get(office).is_some_and(belongs_to_another) {
            self.mark_stopped(office, token);
        }
    }

    /// The work for an office has stopped.
    pub(super) fn mark_stopped(&mut self, office: &str, token: u64) {
        let Some(lease) = self.local_leases.leases.get_mut(office).filter(|lease| lease.token == token) else { return };
        if lease.state != LeaseState::Stopped {
            lease.state = LeaseState::Stopped;
            self.report_stopped(office, token, ChangeReason::Resigned);
        }
    }

    fn report_stopped(&mut self, office: &str, token: u64, cause: ChangeReason) {
        match self.arbiter_leader() {
            Some(leader) if leader == self.settings.own => self.handle_stepped_down(leader, office, token, cause),
            Some(leader) => self.send(leader, Message::SteppedDown { office: office.to_string(), token, cause }),
            None => {}
        }
    }

    /// Reports again what this node gave up and the table still shows.
    pub(super) fn report_relinquished(&mut self) {
        let own = self.own_holder();
        let is_still_granted = |office: &str, token: u64| {
            let known = self.table.offices.get(office);
            known.is_some_and(|known| known.token == token && known.holder == Some(own))
        };
        let stopped = self.local_leases.leases.iter().filter(|(_, lease)| lease.state == LeaseState::Stopped);
        let stopped = stopped.map(|(office, lease)| (office, lease.token, ChangeReason::Resigned));
        let relinquished =
            self.local_leases.relinquished.iter().map(|(office, token)| (office, *token, ChangeReason::Expired));
        let outstanding: Vec<(String, u64, ChangeReason)> = stopped
            .chain(relinquished)
            .filter(|(office, token, _)| is_still_granted(office, *token))
            .map(|(office, token, cause)| (office.clone(), token, cause))
            .collect();
        outstanding.into_iter().for_each(|(office, token, cause)| self.report_stopped(&office, token, cause));
    }

    /// Makes this node no candidate for an office for a while.
    pub(super) fn pause_campaign(&mut self, office: &str) {
        self.local_leases.paused_campaigns.insert(office.to_string(), self.now + CAMPAIGN_PAUSE);
    }

    /// A client begins to campaign for an office.
    pub(super) fn campaign(&mut self, client: ClientId, office: &str, mode: Option<Mode>) {
        let campaigns = self.local_leases.campaigns.entry(office.to_string()).or_default();
        match campaigns.iter_mut().find(|one| one.client == client) {
            Some(known) => known.mode = mode,
            None => campaigns.push(Campaign { client, mode }),
        }
        let client_deadline = self.deadline - self.settings.timing.stop;
        if let Some(lease) = self.local_leases.leases.get_mut(office)
            && lease.client.is_none()
            && lease.state == LeaseState::Active
            && mode.is_none_or(|mode| mode == lease.mode)
        {
            (lease.client, lease.client_deadline) = (Some(client), client_deadline);
            let holding = Lease { office: office.to_string(), token: lease.token, deadline: client_deadline };
            self.reply(client, Reply::Held(holding));
        }
    }

    /// A client no longer campaigns for an office. If it said so, its work has stopped. If its connection ended, it may
    /// act until its deadline.
    pub(super) fn withdraw(&mut self, client: ClientId, office: &str, has_stopped: bool) {
        if let Some(campaigns) = self.local_leases.campaigns.get_mut(office) {
            campaigns.retain(|other| other.client != client);
            if campaigns.is_empty() {
                self.local_leases.campaigns.remove(office);
            }
        }
        let Some(lease) = self.local_leases.leases.get_mut(office).filter(|lease| lease.client == Some(client)) else {
            return;
        };
        lease.client = None;
        let token = lease.token;
        // Without an arbiter there is no lease that could expire.
        if has_stopped || lease.mode == Mode::Fenced || self.consensus.is_none() {
            self.mark_stopped(office, token);
        } else if lease.state == LeaseState::Active {
            lease.state = LeaseState::Stopping;
        }
    }

    /// Ends all campaigns of a client whose connection has ended.
    pub(super) fn withdraw_client(&mut self, client: ClientId) {
        let offices: Vec<String> = self.local_leases.campaigns.keys().cloned().collect();
        offices.iter().for_each(|office| self.withdraw(client, office, false));
    }

    /// How many offices a client campaigns for.
    pub(super) fn campaign_count(&self, client: ClientId) -> usize {
        let is_own = |campaigns: &&Vec<Campaign>| campaigns.iter().any(|one| one.client == client);
        self.local_leases.campaigns.values().filter(is_own).count()
    }

    /// Whether any client campaigns for an office.
    pub(super) fn is_campaigning_for(&self, office: &str) -> bool {
        self.local_leases.campaigns.contains_key(office)
    }

    /// How many offices the clients of this node campaign for.
    pub(super) fn campaigned_offices(&self) -> usize {
        self.local_leases.campaigns.len()
    }

    pub(super) fn reply(&mut self, client: ClientId, reply: Reply) {
        self.outputs.push(Output::Reply(client, reply));
    }
}
