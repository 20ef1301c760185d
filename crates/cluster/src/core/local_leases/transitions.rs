//! How a lease begins, is renewed, and ends.

use std::collections::{BTreeMap, BTreeSet};

use super::{Known, LeaseState, LocalLease, LocalLeases, report_stopped};
use crate::api::{ChangeReason, Lease, Reply};
use crate::config::Mode;
use crate::core::context::Context;
use crate::core::table::OfficeName;
use crate::core::{ClientId, LEADER};
use crate::timing::LeaseTerms;

impl LocalLeases {
    /// Ends leases whose time is over. A client whose time to stop has come is told so, even if a renewal has just
    /// arrived.
    pub(super) fn expire(&mut self, known: &Known<'_>, context: &mut Context<'_>) {
        let now = context.now;
        let is_due = |terms: &&LeaseTerms| context.settings.stop_at(self.confirmed_at, **terms) <= now;
        let due: Vec<LeaseTerms> = self.active.keys().filter(is_due).copied().collect();
        for terms in due {
            for office in self.active.get(&terms).cloned().unwrap_or_default() {
                let Some(lease) = self.leases.get(&office).copied() else { continue };
                match lease.client {
                    Some(client) => {
                        self.set_stopping(&office, context);
                        let reason = ChangeReason::Expired;
                        context.reply(client, Reply::Stop { office: office.to_string(), token: lease.token, reason });
                    }
                    None => self.lose(&office, ChangeReason::Expired, context),
                }
            }
        }
        let is_over = |terms: &&LeaseTerms| context.settings.deadline(self.confirmed_at, **terms) <= now;
        let over: Vec<LeaseTerms> = self.stopped.keys().filter(is_over).copied().collect();
        for office in over.iter().filter_map(|terms| self.stopped.get(terms).cloned()).flatten().collect::<Vec<_>>() {
            self.lose(&office, ChangeReason::Expired, context);
        }
        while self.stopping.first().is_some_and(|(deadline, _)| *deadline <= now) {
            let Some((_, office)) = self.stopping.pop_first() else { return };
            let Some(lease) = self.leases.get(&office).copied() else { continue };
            self.lose(&office, ChangeReason::Expired, context);
            report_stopped(&office, lease.token, ChangeReason::Expired, known, context);
        }
    }

    /// Compares the lease of an office with the table.
    pub(super) fn compare(&mut self, office: &OfficeName, known: &Known<'_>, context: &mut Context<'_>) {
        let own = context.settings.own_holder();
        let record = known.table.offices.get(office);
        let granted = record.filter(|record| record.holder == Some(own)).map(|record| record.token);
        if self.relinquished.get(office).is_some_and(|token| granted != Some(*token)) {
            self.relinquished.remove(office);
        }
        if self.leases.get(office).is_some_and(|lease| granted != Some(lease.token)) {
            let cause = record.map_or(ChangeReason::Removed, |record| record.cause);
            self.lose(office, cause, context);
            self.relinquished.remove(office);
        }
        if let (Some(token), Some(record)) = (granted, record)
            && !self.leases.contains_key(office)
            && !self.has_relinquished(office, token)
        {
            self.accept(office, token, record.mode, record.terms, known, context);
        }
    }

    /// Accepts what the table grants to this node.
    fn accept(
        &mut self,
        office: &OfficeName,
        token: u64,
        mode: Mode,
        terms: LeaseTerms,
        known: &Known<'_>,
        context: &mut Context<'_>,
    ) {
        if context.settings.stop_at(known.confirmed_at, terms) <= context.now {
            // The node has no time left to act on this grant. It gives it back as soon as it reaches the coordinator.
            self.relinquished.insert(office.clone(), token);
            self.changed.insert(office.clone());
            report_stopped(office, token, ChangeReason::Expired, known, context);
            return;
        }
        // The mode may be another one than this node claimed: an operator chose this node, or the coordinator did,
        // whose configuration differs. Clients that want another mode would wait for a change of the configuration.
        for client in self.campaigns.remove_mismatched(office, mode) {
            let reason = ChangeReason::ModeMismatch;
            context.reply(client, Reply::Lost { office: office.to_string(), token, reason });
        }
        let client = self.campaigns.first(office);
        let lease = LocalLease { token, mode, terms, client, state: LeaseState::Active };
        self.leases.insert(office.clone(), lease);
        self.active.entry(terms).or_default().insert(office.clone());
        self.log.push((office.clone(), token, true));
        self.changed.insert(office.clone());
        if let Some(client) = client {
            *self.active_clients.entry(client).or_default() += 1;
            self.send_held(client, office, &lease, context);
        } else if &**office != LEADER {
            // The client that campaigned for the office is gone.
            self.mark_stopped(office, token, known, context);
        }
    }

    pub(super) fn send_held(
        &self,
        client: ClientId,
        office: &OfficeName,
        lease: &LocalLease,
        context: &mut Context<'_>,
    ) {
        let holder_lease = context.settings.holder_lease(lease.terms);
        let held = Lease {
            office: office.to_string(),
            token: lease.token,
            deadline: context.settings.deadline(self.confirmed_at, lease.terms),
            lease: holder_lease,
            stop: lease.terms.stop,
        };
        context.reply(client, Reply::Held(held));
    }

    /// Tells clients that their leases count from a later time.
    pub(super) fn renew(&mut self, known: &Known<'_>, context: &mut Context<'_>) {
        if known.confirmed_at <= self.confirmed_at {
            return;
        }
        self.confirmed_at = known.confirmed_at;
        if known.has_leases {
            let from = known.confirmed_at;
            self.active_clients.keys().for_each(|client| context.reply(*client, Reply::Renewed { from }));
        }
    }

    /// Ends a lease, and tells the client. It is not reported here.
    pub(super) fn lose(&mut self, office: &OfficeName, cause: ChangeReason, context: &mut Context<'_>) {
        self.deactivate(office);
        let Some(lease) = self.leases.remove(office) else { return };
        context.out.metrics.count_step_down(cause);
        self.relinquished.insert(office.clone(), lease.token);
        self.log.push((office.clone(), lease.token, false));
        self.changed.insert(office.clone());
        if let Some(client) = lease.client {
            context.reply(client, Reply::Lost { office: office.to_string(), token: lease.token, reason: cause });
        }
    }

    /// The client of a lease is told to stop, or is gone: the lease is not renewed any more.
    pub(super) fn set_stopping(&mut self, office: &OfficeName, context: &Context<'_>) {
        self.deactivate(office);
        if let Some(lease) = self.leases.get_mut(office) {
            let deadline = context.settings.deadline(self.confirmed_at, lease.terms);
            lease.state = LeaseState::Stopping(deadline);
            self.stopping.insert((deadline, office.clone()));
            self.changed.insert(office.clone());
        }
    }

    /// The work for an office has stopped.
    pub(super) fn mark_stopped(
        &mut self,
        office: &OfficeName,
        token: u64,
        known: &Known<'_>,
        context: &mut Context<'_>,
    ) {
        let is_running = |lease: &&LocalLease| lease.token == token && lease.state != LeaseState::Stopped;
        if self.leases.get(office).filter(is_running).is_none() {
            return;
        }
        self.deactivate(office);
        if let Some(lease) = self.leases.get_mut(office) {
            lease.state = LeaseState::Stopped;
            self.stopped.entry(lease.terms).or_default().insert(office.clone());
        }
        self.changed.insert(office.clone());
        report_stopped(office, token, ChangeReason::Resigned, known, context);
    }

    pub(super) fn set_client(&mut self, office: &OfficeName, client: Option<ClientId>) {
        let Some(lease) = self.leases.get_mut(office) else { return };
        if lease.state == LeaseState::Active {
            decrement(&mut self.active_clients, lease.client);
        }
        lease.client = client;
    }

    /// Removes a lease from the index of its state.
    fn deactivate(&mut self, office: &OfficeName) {
        let Some(lease) = self.leases.get(office) else { return };
        match lease.state {
            LeaseState::Active => {
                decrement(&mut self.active_clients, lease.client);
                remove_from(&mut self.active, lease.terms, office);
            }
            LeaseState::Stopping(deadline) => _ = self.stopping.remove(&(deadline, office.clone())),
            LeaseState::Stopped => remove_from(&mut self.stopped, lease.terms, office),
        }
    }
}

fn remove_from(index: &mut BTreeMap<LeaseTerms, BTreeSet<OfficeName>>, terms: LeaseTerms, office: &OfficeName) {
    if let Some(offices) = index.get_mut(&terms) {
        offices.remove(office);
        if offices.is_empty() {
            index.remove(&terms);
        }
    }
}

fn decrement(counts: &mut BTreeMap<ClientId, usize>, client: Option<ClientId>) {
    if let Some(client) = client
        && let Some(count) = counts.get_mut(&client)
    {
        *count -= 1;
        if *count == 0 {
            counts.remove(&client);
        }
    }
}
