//! The leases that this node holds, and the clients that it holds them for.
//!
//! A node is always a candidate for the office `leader`, and for every office that a client on its host campaigns for.
//! It holds the offices that the table grants to this incarnation. All its leases are renewed together, and each ends
//! after its own length from the last renewal: its *deadline*. A client is told to stop when only the time that it
//! needs for that is left. The office is released when the client says that it has stopped, or at the deadline. A
//! client that was told to stop never goes on with the same token.

mod campaigns;
#[cfg(test)]
mod tests;
mod transitions;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hustings_protocol::Id;

use self::campaigns::Campaigns;
use super::ClientId;
use super::context::Context;
use super::normalise::Normalise;
use super::requests::errors;
use super::table::{Holder, OfficeName, Table};
use crate::api::{ChangeReason, Reply, RequestError};
use crate::clock::Timestamp;
use crate::config::Mode;
use crate::timing::LeaseTerms;
use crate::wire::Message;

/// How long a node that was asked to resign is not a candidate for the office.
const CAMPAIGN_PAUSE: Duration = Duration::from_secs(10);
/// How many offices that this node gave up it reports again with one heartbeat.
const MAX_REPORTS: usize = 256;

/// What this node holds and campaigns for.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct LocalLeases {
    leases: BTreeMap<OfficeName, LocalLease>,
    /// Active leases by their terms: those with the same terms have the same deadline.
    active: BTreeMap<LeaseTerms, BTreeSet<OfficeName>>,
    /// Leases whose clients were told to stop, by their deadlines.
    stopping: BTreeSet<(Timestamp, OfficeName)>,
    /// How many active leases each client has.
    active_clients: BTreeMap<ClientId, usize>,
    campaigns: Campaigns,
    /// Tokens that the node gave up, although the table may still show them.
    relinquished: BTreeMap<OfficeName, u64>,
    /// Leases whose work has stopped, which the table may still show, by their terms.
    stopped: BTreeMap<LeaseTerms, BTreeSet<OfficeName>>,
    /// From when leases count, as far as clients were told.
    confirmed_at: Timestamp,
    /// Offices whose table entry changed.
    marked: BTreeSet<OfficeName>,
    /// Offices whose lease changed here.
    changed: BTreeSet<OfficeName>,
    /// Leases that began or ended: office, token, and whether it began.
    log: Vec<(OfficeName, u64, bool)>,
}

/// An office that this node holds.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct LocalLease {
    token: u64,
    mode: Mode,
    terms: LeaseTerms,
    client: Option<ClientId>,
    state: LeaseState,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum LeaseState {
    Active,
    /// The client was told to stop, and must have stopped by this deadline.
    Stopping(Timestamp),
    /// The work has stopped. The node reports it to the coordinator until the table shows it. The work never resumes
    /// with this token, because the next grant may already be in the log.
    Stopped,
}

/// What the node knows of the table and of itself.
pub(super) struct Known<'a> {
    pub(super) table: &'a Table,
    pub(super) coordinator: Option<Id>,
    /// From when this node's leases count.
    pub(super) confirmed_at: Timestamp,
    pub(super) has_leases: bool,
}

/// Questions.
impl LocalLeases {
    /// The offices that this node holds, with their tokens.
    #[cfg(test)]
    pub(super) fn held(&self) -> impl Iterator<Item = (&str, u64)> {
        self.leases.iter().map(|(office, lease)| (&**office, lease.token))
    }

    /// The mode of an office that this node holds.
    #[cfg(test)]
    pub(super) fn held_mode(&self, office: &str) -> Option<Mode> {
        self.leases.get(office).map(|lease| lease.mode)
    }

    pub(super) fn is_empty(&self) -> bool {
        self.leases.is_empty()
    }

    /// Whether this node holds an office, and its work has not stopped.
    pub(super) fn is_active_for(&self, office: &str) -> bool {
        self.leases.get(office).is_some_and(|lease| lease.state != LeaseState::Stopped)
    }

    /// The client that this node holds an office for with this token, if its work has not stopped.
    pub(super) fn client_of(&self, office: &str, token: u64) -> Option<ClientId> {
        let lease = self.leases.get(office).filter(|lease| lease.token == token)?;
        lease.client.filter(|_| lease.state != LeaseState::Stopped)
    }

    /// Whether this node holds an office whose work has stopped.
    pub(super) fn has_stopped(&self, office: &str) -> bool {
        self.leases.get(office).is_some_and(|lease| lease.state == LeaseState::Stopped)
    }

    /// Until when this node may act as the holder of an office, unless the lease is renewed.
    pub(super) fn deadline(&self, office: &str, context: &Context<'_>) -> Option<Timestamp> {
        let lease = self.leases.get(office)?;
        match lease.state {
            LeaseState::Active => Some(context.settings.deadline(self.confirmed_at, lease.terms)),
            LeaseState::Stopping(deadline) => Some(deadline),
            LeaseState::Stopped => None,
        }
    }

    /// Whether this node gave up this grant.
    pub(super) fn has_relinquished(&self, office: &str, token: u64) -> bool {
        self.relinquished.get(office) == Some(&token)
    }

    /// How many offices a client campaigns for.
    pub(super) fn campaign_count(&self, client: ClientId) -> usize {
        self.campaigns.count(client)
    }

    /// Whether any client campaigns for an office.
    pub(super) fn is_campaigning_for(&self, office: &str) -> bool {
        self.campaigns.contains(office)
    }

    /// How many offices the clients of this node campaign for.
    pub(super) fn campaigned_offices(&self) -> usize {
        self.campaigns.len()
    }

    /// Whether this node wants to be a candidate for an office.
    pub(super) fn is_wanted(&self, office: &str) -> bool {
        self.campaigns.is_wanted(office)
    }

    /// Every office that this node may want.
    pub(super) fn wanted_offices(&self) -> impl Iterator<Item = OfficeName> {
        self.campaigns.offices()
    }

    /// When the next deadline is due.
    pub(super) fn poll_timeout(&self, context: &Context<'_>) -> Timestamp {
        let active = self.active.keys().map(|terms| context.settings.stop_at(self.confirmed_at, *terms)).min();
        let stopping = self.stopping.first().map_or(Timestamp::NEVER, |(deadline, _)| *deadline);
        active.unwrap_or(Timestamp::NEVER).min(stopping).min(self.campaigns.next_timeout())
    }
}

/// Inputs.
impl LocalLeases {
    /// The table's entry for an office changed.
    pub(super) fn handle_applied(&mut self, office: &OfficeName, own: Holder, table: &Table) {
        let is_own = table.offices.get(office).is_some_and(|known| known.holder == Some(own));
        if is_own || self.leases.contains_key(office) || self.relinquished.contains_key(office) {
            self.marked.insert(office.clone());
        }
    }

    /// The whole table changed.
    pub(super) fn handle_replaced(&mut self, own: Holder, table: &Table) {
        self.marked.extend(table.offices.held_by(own.id).cloned());
        self.marked.extend(self.leases.keys().cloned());
        self.marked.extend(self.relinquished.keys().cloned());
    }

    /// A client begins to campaign for an office.
    pub(super) fn campaign(
        &mut self,
        client: ClientId,
        office: &OfficeName,
        mode: Option<Mode>,
        context: &mut Context<'_>,
    ) {
        self.campaigns.add(client, office, mode);
        if let Some(lease) = self.leases.get_mut(office)
            && lease.client.is_none()
            && lease.state == LeaseState::Active
            && mode.is_none_or(|mode| mode == lease.mode)
        {
            lease.client = Some(client);
            *self.active_clients.entry(client).or_default() += 1;
            let lease = *lease;
            self.send_held(client, office, &lease, context);
        }
    }

    /// A client no longer campaigns for an office. If it said so, its work has stopped. If its connection ended, it may
    /// act until its deadline.
    pub(super) fn withdraw(
        &mut self,
        client: ClientId,
        office: &OfficeName,
        has_stopped: bool,
        known: &Known<'_>,
        context: &mut Context<'_>,
    ) {
        self.campaigns.remove(client, office);
        let Some(lease) = self.leases.get(office).copied().filter(|lease| lease.client == Some(client)) else { return };
        self.set_client(office, None);
        // Without leases there is nothing that could expire.
        if has_stopped || lease.mode == Mode::Fenced || !known.has_leases {
            self.mark_stopped(office, lease.token, known, context);
        } else if lease.state == LeaseState::Active {
            self.set_stopping(office, context);
        }
    }

    /// A client's connection has ended.
    pub(super) fn handle_client_gone(&mut self, client: ClientId, known: &Known<'_>, context: &mut Context<'_>) {
        for office in self.campaigns.offices_of(client) {
            self.withdraw(client, &office, false, known, context);
        }
    }

    /// A client reports that its work for an office has stopped. It cannot report that for another client.
    pub(super) fn handle_client_stopped(
        &mut self,
        client: ClientId,
        office: &OfficeName,
        token: u64,
        known: &Known<'_>,
        context: &mut Context<'_>,
    ) -> Result<(), RequestError> {
        let is_running = |lease: &LocalLease| lease.token == token && lease.state != LeaseState::Stopped;
        let belongs_to_another = |lease: &LocalLease| lease.client.is_some_and(|holder| holder != client);
        if self.leases.get(office).is_some_and(|lease| is_running(lease) && belongs_to_another(lease)) {
            return Err(errors::held_by_another(office));
        }
        self.mark_stopped(office, token, known, context);
        Ok(())
    }

    /// The coordinator wants an office back: asks the client to stop.
    pub(super) fn step_down(
        &mut self,
        office: &OfficeName,
        token: u64,
        cause: ChangeReason,
        known: &Known<'_>,
        context: &mut Context<'_>,
    ) {
        let Some(lease) = self.leases.get(office).copied().filter(|lease| lease.token == token) else {
            if self.has_relinquished(office, token) {
                report_stopped(office, token, ChangeReason::Expired, known, context);
            }
            return;
        };
        if lease.state != LeaseState::Active {
            return;
        }
        match lease.client {
            Some(client) => {
                self.set_stopping(office, context);
                context.reply(client, Reply::Stop { office: office.to_string(), token, reason: cause });
            }
            None => self.mark_stopped(office, token, known, context),
        }
    }

    /// Makes this node no candidate for an office for a while.
    pub(super) fn pause_campaign(&mut self, office: &OfficeName, now: Timestamp) {
        self.campaigns.pause(office, now + CAMPAIGN_PAUSE);
    }

    /// Compares the leases with the table and the clock.
    pub(super) fn update(&mut self, known: &Known<'_>, context: &mut Context<'_>) {
        self.campaigns.resume_due(context.now);
        self.expire(known, context);
        self.renew(known, context);
        while let Some(office) = self.marked.pop_first() {
            self.compare(&office, known, context);
        }
    }

    /// Reports again what this node gave up and the table still shows.
    pub(super) fn report_again(&mut self, known: &Known<'_>, context: &mut Context<'_>) {
        let stopped =
            self.stopped.values().flatten().filter_map(|office| {
                self.leases.get(office).map(|lease| (office, lease.token, ChangeReason::Resigned))
            });
        let relinquished = self.relinquished.iter().map(|(office, token)| (office, *token, ChangeReason::Expired));
        for (office, token, cause) in stopped.chain(relinquished).take(MAX_REPORTS) {
            report_stopped(office, token, cause, known, context);
        }
    }
}

/// Outputs.
impl LocalLeases {
    /// Offices for which it may have changed whether this node wants to be a candidate.
    pub(super) fn take_campaign_changes(&mut self) -> BTreeSet<OfficeName> {
        self.campaigns.take_changed()
    }

    /// Offices whose lease changed here.
    pub(super) fn take_changed(&mut self) -> BTreeSet<OfficeName> {
        std::mem::take(&mut self.changed)
    }

    /// Leases that began or ended: office, token, and whether it began.
    pub(super) fn take_log(&mut self) -> Vec<(OfficeName, u64, bool)> {
        std::mem::take(&mut self.log)
    }
}

impl Normalise for LocalLeases {
    fn normalise(&mut self, now: Timestamp) {
        let LocalLeases {
            leases,
            stopping,
            campaigns,
            confirmed_at,
            active: _,
            active_clients: _,
            relinquished: _,
            stopped: _,
            marked: _,
            changed: _,
            log: _,
        } = self;
        let parts: [&mut dyn Normalise; 4] = [leases, stopping, campaigns, confirmed_at];
        parts.into_iter().for_each(|part| part.normalise(now));
    }
}

impl Normalise for LocalLease {
    fn normalise(&mut self, now: Timestamp) {
        let LocalLease { state, token: _, mode: _, terms: _, client: _ } = self;
        match state {
            LeaseState::Stopping(deadline) => deadline.normalise(now),
            LeaseState::Active | LeaseState::Stopped => {}
        }
    }
}

fn report_stopped(office: &OfficeName, token: u64, cause: ChangeReason, known: &Known<'_>, context: &mut Context<'_>) {
    if let Some(coordinator) = known.coordinator {
        context.send(coordinator, Message::SteppedDown { office: office.clone(), token, cause });
    }
}
