//! A node's client of the store: its arbiter.
//!
//! A lease counts from when the keepalive was *sent*, and only when the client knows everything that the store had
//! decided when it received the keepalive. So a node that lost an office learns of that before it may go on. The
//! coordinator takes an office from a lost holder only if no other keepalive of the holder has arrived at the store in
//! the meantime: the request names the version of the holder's lease with which the coordinator counted.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};
use std::rc::Rc;
use std::time::Duration;

use hustings_protocol::Id;

use super::Fault;
use super::store::{Client, Coordinator, Entry, LeaseInfo, Request, Response, Store, client};
use crate::api::RequestError;
use crate::clock::Timestamp;
use crate::config::Mode;
use crate::core::arbiter::{Arbiter, ArbiterEvent};
use crate::core::context::Context;
use crate::core::table::{Command, Holder, Table};
use crate::timing::Timing;

/// How many keepalives may wait for their answers.
const MAX_KEEPALIVES: usize = 256;

/// A change that the store has not decided yet.
struct Pending {
    command: Command,
    epoch: u64,
    /// The lease that it cuts short, and the version with which the coordinator counted.
    replaces: Option<(Client, u64)>,
    send_at: Timestamp,
}

/// See the module's documentation.
pub(crate) struct StoreClient {
    own: Holder,
    store: Rc<RefCell<Store>>,
    timing: Timing,
    fault: Fault,
    now: Timestamp,
    table: Table,
    /// Everything up to here is in the table.
    revision: u64,
    coordinator: Coordinator,
    coordinator_since: Timestamp,
    /// When each keepalive was sent, by its number.
    keepalives: BTreeMap<u64, Timestamp>,
    last_keepalive: u64,
    next_keepalive: Timestamp,
    /// Answered keepalives that wait for the table: the revision, and from when they let the lease count.
    answered: Vec<(u64, Timestamp)>,
    confirmed_at: Timestamp,
    /// The version of each lease, and the latest time from which it may count; known as of this revision.
    leases: BTreeMap<Client, (u64, Timestamp)>,
    leases_revision: u64,
    pending: BTreeMap<u64, Pending>,
    last_submitted: u64,
    /// Answered reads that wait for the table: the number, and the revision.
    reads: Vec<(u64, u64)>,
    is_leaving: bool,
    events: VecDeque<ArbiterEvent>,
}

impl StoreClient {
    pub(crate) fn new(
        own: Holder,
        store: Rc<RefCell<Store>>,
        table: Table,
        timing: Timing,
        fault: Fault,
        now: Timestamp,
    ) -> Self {
        StoreClient {
            own,
            store,
            timing,
            fault,
            now,
            table,
            revision: 0,
            coordinator: Coordinator::default(),
            coordinator_since: Timestamp::ZERO,
            keepalives: BTreeMap::new(),
            last_keepalive: 0,
            next_keepalive: now,
            answered: Vec::new(),
            confirmed_at: Timestamp::ZERO,
            leases: BTreeMap::new(),
            leases_revision: 0,
            pending: BTreeMap::new(),
            last_submitted: 0,
            reads: Vec::new(),
            is_leaving: false,
            events: VecDeque::new(),
        }
    }

    fn send(&self, request: Request) {
        self.store.borrow_mut().send(client(self.own), request);
    }

    fn is_coordinator(&self) -> bool {
        self.coordinator.holder == Some(self.own)
    }

    fn keep_alive_if_due(&mut self) {
        if self.now < self.next_keepalive {
            return;
        }
        self.next_keepalive = self.now + self.timing.heartbeat;
        self.last_keepalive += 1;
        self.keepalives.insert(self.last_keepalive, self.now);
        if self.keepalives.len() > MAX_KEEPALIVES {
            self.keepalives.pop_first();
        }
        let (number, applied, wants_coordination) = (self.last_keepalive, self.revision, !self.is_leaving);
        self.send(Request::KeepAlive { number, applied, wants_coordination });
    }

    /// Sends the changes that are not decided yet, again and again.
    fn send_changes(&mut self) {
        let (now, again_at) = (self.now, self.now + 2 * self.timing.heartbeat);
        let mut due = Vec::new();
        for (request, pending) in self.pending.iter_mut().filter(|(_, pending)| pending.send_at <= now) {
            pending.send_at = again_at;
            let (epoch, command, replaces) = (pending.epoch, pending.command.clone(), pending.replaces);
            due.push(Request::Change { request: *request, epoch, command, replaces });
        }
        due.into_iter().for_each(|request| self.send(request));
    }

    fn handle(&mut self, response: Response) {
        match response {
            Response::KeptAlive { number, revision, leases } => {
                self.update_leases(revision, &leases);
                if let Some(sent) = self.keepalives.remove(&number) {
                    let from = if self.fault == Fault::LeaseFromAnswer { self.now } else { sent };
                    self.answered.push((revision, from));
                }
            }
            Response::Entries { after, entries } => {
                // What was sent again is skipped; after a gap, the next keepalive asks for what is missing.
                let known = self.revision.checked_sub(after);
                for entry in known.into_iter().flat_map(|known| entries.iter().skip(known as usize)) {
                    self.apply(entry.clone());
                }
            }
            Response::Snapshot { revision, table, coordinator } => {
                if revision > self.revision || self.fault == Fault::StateLost {
                    (self.revision, self.table) = (revision, *table);
                    self.set_coordinator(coordinator);
                    let removed = Vec::new();
                    self.events.extend([ArbiterEvent::MembersChanged { removed }, ArbiterEvent::Replaced]);
                }
            }
            Response::Rejected { request, leases } => {
                self.update_leases(0, &leases);
                if let Some(pending) = self.pending.remove(&request) {
                    self.events.push_back(outcome(&pending.command, Some(request))(false));
                }
            }
            Response::ReadAt { number, revision } => self.reads.push((number, revision)),
        }
    }

    /// The store received the keepalives at least this long ago, so the leases count from then at the latest. Its clock
    /// may be fast.
    fn update_leases(&mut self, revision: u64, leases: &[LeaseInfo]) {
        self.leases_revision = self.leases_revision.max(revision);
        for lease in leases {
            let drift = u128::from(self.timing.drift_ppm);
            let age = lease.age.as_nanos() * (1_000_000 - drift) / 1_000_000;
            let start = self.now - Duration::from_nanos(age as u64);
            let known = self.leases.entry(lease.client).or_insert((lease.version, start));
            if lease.version > known.0 {
                *known = (lease.version, start);
            } else if lease.version == known.0 {
                known.1 = known.1.min(start);
            }
        }
    }

    fn apply(&mut self, entry: Entry) {
        self.revision += 1;
        let may_skip = self.fault == Fault::EntriesSkipped && self.own.id > Id(2) && !self.is_coordinator();
        let is_skipped = may_skip && self.revision.is_multiple_of(7);
        match entry {
            Entry::Coordinator(holder) => self.set_coordinator(Coordinator { holder, epoch: self.revision }),
            Entry::Table { .. } if is_skipped => {}
            Entry::Table { command, client: from, request } => {
                let request = (from == client(self.own)).then_some(request);
                let outcome = outcome(&command, request);
                let removed = match &command {
                    Command::SetMember(_) => Some(Vec::new()),
                    Command::RemoveMember(id) => Some(vec![*id]),
                    _ => None,
                };
                let took_effect = self.table.apply(self.revision, command);
                request.iter().for_each(|request| _ = self.pending.remove(request));
                self.events.push_back(outcome(took_effect));
                self.events.extend(removed.map(|removed| ArbiterEvent::MembersChanged { removed }));
            }
        }
    }

    fn set_coordinator(&mut self, coordinator: Coordinator) {
        if self.coordinator.epoch != coordinator.epoch {
            self.coordinator = coordinator;
            self.coordinator_since = self.now;
            self.pending.clear();
        }
    }

    /// What the table contains by now.
    fn confirm(&mut self) {
        let revision = self.revision;
        for (_, sent) in self.answered.extract_if(.., |(at, _)| *at <= revision) {
            self.confirmed_at = self.confirmed_at.max(sent);
        }
        let confirmed = self.reads.extract_if(.., |(_, at)| *at <= revision).map(|(number, _)| number).max();
        self.events.extend(confirmed.map(ArbiterEvent::ReadConfirmed));
    }
}

/// The event that a decided command causes, once it is known whether it took effect.
fn outcome(command: &Command, request: Option<u64>) -> impl FnOnce(bool) -> ArbiterEvent + use<> {
    let is_record = matches!(command, Command::Complete { .. } | Command::DeleteState { .. });
    let office = command.office().cloned();
    let is_grant = matches!(command, Command::Grant { .. });
    move |took_effect| match is_record {
        true => ArbiterEvent::Recorded { request, took_effect },
        false => ArbiterEvent::Applied { office, request, took_effect, is_grant: is_grant && took_effect },
    }
}

impl Arbiter for StoreClient {
    fn name(&self) -> &str {
        "memory"
    }

    fn table(&self) -> &Table {
        &self.table
    }

    /// An earlier process of this node may still be registered. This one does not act for it.
    fn coordinator(&self) -> Option<Id> {
        self.coordinator.holder.filter(|holder| holder.id != self.own.id || *holder == self.own).map(|holder| holder.id)
    }

    fn epoch(&self) -> u64 {
        self.coordinator.epoch
    }

    fn is_established(&self) -> bool {
        let has_lease = self.confirmed_at != Timestamp::ZERO && self.confirmed_at + self.timing.lease > self.now;
        self.is_coordinator() && has_lease && self.leases_revision >= self.coordinator.epoch
    }

    fn coordinator_since(&self) -> Timestamp {
        self.coordinator_since
    }

    fn confirmed_at(&self) -> Timestamp {
        self.confirmed_at
    }

    fn lease_start(&self, holder: Holder) -> Timestamp {
        match self.leases.get(&client(holder)) {
            Some((_, start)) if self.fault != Fault::LeasesIgnored => *start,
            // It never kept a lease alive, and the request that replaces it says so.
            _ => Timestamp::ZERO,
        }
    }

    fn submit(&mut self, request: u64, command: Command, _context: &mut Context<'_>) -> Result<(), RequestError> {
        if !self.is_coordinator() {
            let message = "this node does not coordinate".to_string();
            return Err(RequestError { code: "no-majority".to_string(), message });
        }
        let (epoch, send_at) = (self.coordinator.epoch, Timestamp::ZERO);
        self.pending.insert(request, Pending { command, epoch, replaces: None, send_at });
        self.last_submitted = request;
        Ok(())
    }

    fn revoke(&mut self, holder: Id) {
        let Some(pending) = self.pending.get_mut(&self.last_submitted) else { return };
        // Fenced offices may move while the former holder's lease still runs.
        let is_fenced = matches!(pending.command, Command::Grant { mode: Mode::Fenced, .. });
        let Some(office) = pending.command.office().filter(|_| !is_fenced) else { return };
        let Some(replaced) = self.table.holder(office).filter(|replaced| replaced.id == holder) else { return };
        let version = self.leases.get(&client(replaced)).map_or(0, |(version, _)| *version);
        pending.replaces = Some((client(replaced), version));
    }

    fn can_confirm_reads(&self) -> bool {
        true
    }

    fn read(&mut self, number: u64, _context: &mut Context<'_>) {
        self.send(Request::Read { number });
    }

    fn handle_leaving(&mut self) {
        self.is_leaving = true;
    }

    fn release_coordination(&mut self, _context: &mut Context<'_>) -> Option<Id> {
        if self.is_coordinator() {
            self.send(Request::ReleaseCoordination { epoch: self.coordinator.epoch });
        }
        None
    }

    fn process(&mut self, context: &mut Context<'_>) -> bool {
        self.now = context.now;
        let received = self.store.borrow_mut().receive(client(self.own));
        let has_received = !received.is_empty();
        received.into_iter().for_each(|response| self.handle(response));
        self.confirm();
        self.keep_alive_if_due();
        self.send_changes();
        has_received
    }

    fn poll_event(&mut self) -> Option<ArbiterEvent> {
        self.events.pop_front()
    }

    fn poll_timeout(&self) -> Timestamp {
        self.pending.values().map(|pending| pending.send_at).min().unwrap_or(Timestamp::NEVER).min(self.next_keepalive)
    }
}
