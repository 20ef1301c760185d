//! The store: what it has decided, who keeps its lease alive, and the network between it and its clients.
//!
//! Its state is a log of changes, whose positions are the revisions, and the table that follows from it. Each process
//! of a node has one lease, which it keeps alive. Every keepalive gives the lease a new *version*.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use hustings_protocol::Id;

use super::Fault;
use crate::core::table::{Command, Holder, Table};
use crate::tests::cluster::{External, MS, Rng};

/// How many entries one message carries.
const MAX_ENTRIES: usize = 512;

/// A client of the store: a node's id and the incarnation of its process.
pub(crate) type Client = (u64, u64);

pub(crate) fn client(holder: Holder) -> Client {
    (holder.id.0, holder.incarnation)
}

/// What a client sends.
#[derive(Clone)]
pub(crate) enum Request {
    /// Keeps the client's lease alive. It has applied the log up to this revision.
    KeepAlive { number: u64, applied: u64, wants_coordination: bool },
    /// Changes the table, if the client still coordinates in this epoch, and the lease that the change cuts short still
    /// has this version.
    Change { request: u64, epoch: u64, command: Command, replaces: Option<(Client, u64)> },
    /// Asks for the current revision.
    Read { number: u64 },
    /// Gives up coordination in this epoch.
    ReleaseCoordination { epoch: u64 },
}

/// What a client receives.
#[derive(Clone)]
pub(crate) enum Response {
    /// A keepalive was received, at this revision.
    KeptAlive { number: u64, revision: u64, leases: Vec<LeaseInfo> },
    /// The entries after a revision.
    Entries { after: u64, entries: Vec<Entry> },
    /// Everything up to a revision.
    Snapshot { revision: u64, table: Box<Table>, coordinator: Coordinator },
    /// A change had no effect.
    Rejected { request: u64, leases: Vec<LeaseInfo> },
    /// A read was received, at this revision.
    ReadAt { number: u64, revision: u64 },
}

/// A lease: its version, and how long ago its last keepalive was received, by the store's clock.
#[derive(Clone, Copy)]
pub(crate) struct LeaseInfo {
    pub(crate) client: Client,
    pub(crate) version: u64,
    pub(crate) age: Duration,
}

/// The holder of the office that is reserved for the coordinator, and the revision at which it changed.
#[derive(Clone, Copy, Default)]
pub(crate) struct Coordinator {
    pub(crate) holder: Option<Holder>,
    pub(crate) epoch: u64,
}

/// A change in the log.
#[derive(Clone)]
pub(crate) enum Entry {
    /// A change of the table, and the request of the client that asked for it.
    Table { command: Command, client: Client, request: u64 },
    /// Another coordinator.
    Coordinator(Option<Holder>),
}

/// The delays and losses of messages.
#[derive(Clone, Copy)]
pub(crate) struct Network {
    /// Every message takes at least this long.
    pub(crate) delay_ms: u64,
    /// One message in this many is lost.
    pub(crate) lost_one_in: u64,
}

enum Packet {
    Request(Client, Request),
    Response(Client, Response),
}

struct Lease {
    version: u64,
    received: u64,
}

/// See the module's documentation.
pub(crate) struct Store {
    now: u64,
    rng: Rng,
    network: Network,
    fault: Fault,
    /// How fast its clock runs, in parts per million.
    ppm: i64,
    /// How long the coordinator's lease lasts, by the store's clock.
    coordinator_lease: u64,
    serial: u64,
    in_flight: BTreeMap<(u64, u64), Packet>,
    mailboxes: BTreeMap<Client, Vec<Response>>,
    is_silent: bool,
    unreachable: BTreeSet<usize>,
    /// How much longer messages to a node take, in milliseconds.
    answer_delays_ms: BTreeMap<usize, u64>,
    initial: Table,
    table: Table,
    log: Vec<Entry>,
    coordinator: Coordinator,
    leases: BTreeMap<Client, Lease>,
    last_version: u64,
    /// The requests that were decided, and whether they took effect.
    decided: BTreeMap<(Client, u64), bool>,
    /// The current process of each node, and the revision up to which it was sent the log.
    watchers: BTreeMap<u64, (Client, u64)>,
}

impl Store {
    pub(crate) fn new(table: Table, network: Network, fault: Fault, coordinator_lease: Duration, seed: u64) -> Self {
        Store {
            now: 0,
            rng: Rng::new(seed ^ 0x570e),
            network,
            fault,
            ppm: seed as i64 % 9_000 - 4_500,
            coordinator_lease: coordinator_lease.as_nanos() as u64,
            serial: 0,
            in_flight: BTreeMap::new(),
            mailboxes: BTreeMap::new(),
            is_silent: false,
            unreachable: BTreeSet::new(),
            answer_delays_ms: BTreeMap::new(),
            initial: table.clone(),
            table,
            log: Vec::new(),
            coordinator: Coordinator::default(),
            leases: BTreeMap::new(),
            last_version: 0,
            decided: BTreeMap::new(),
            watchers: BTreeMap::new(),
        }
    }

    /// A client sends a request.
    pub(crate) fn send(&mut self, from: Client, request: Request) {
        self.transmit(from, Packet::Request(from, request));
    }

    /// Takes what has arrived for a client.
    pub(crate) fn receive(&mut self, client: Client) -> Vec<Response> {
        self.mailboxes.remove(&client).unwrap_or_default()
    }

    pub(crate) fn next_event(&self) -> u64 {
        self.in_flight.first_key_value().map_or(u64::MAX, |((at, _), _)| *at)
    }

    /// Delivers what has arrived by now. Returns the nodes that received something.
    pub(crate) fn advance(&mut self, now: u64) -> Vec<usize> {
        let mut woken = BTreeSet::new();
        while let Some(first) = self.in_flight.first_entry().filter(|first| first.key().0 <= now) {
            self.now = self.now.max(first.key().0);
            match first.remove() {
                Packet::Request(from, request) => self.handle(from, request),
                Packet::Response(to, response) => {
                    self.mailboxes.entry(to).or_default().push(response);
                    woken.insert(to.0 as usize - 1);
                }
            }
        }
        self.now = now;
        woken.into_iter().collect()
    }

    fn transmit(&mut self, client: Client, packet: Packet) {
        let node = client.0 as usize - 1;
        if self.is_silent || self.unreachable.contains(&node) || self.rng.below(self.network.lost_one_in) == 0 {
            return;
        }
        let extra_ms = match &packet {
            Packet::Response(..) => self.answer_delays_ms.get(&node).copied().unwrap_or(0),
            Packet::Request(..) => 0,
        };
        // Messages may overtake each other.
        let delay = (self.network.delay_ms + extra_ms) * MS + MS / 20 + self.rng.below(MS);
        self.serial += 1;
        self.in_flight.insert((self.now + delay, self.serial), packet);
    }

    fn respond(&mut self, to: Client, response: Response) {
        self.transmit(to, Packet::Response(to, response));
    }

    fn revision(&self) -> u64 {
        self.log.len() as u64
    }

    /// How much time has passed since then, by the store's clock.
    fn age(&self, then: u64) -> u64 {
        let passed = i128::from(self.now - then);
        (passed + passed * i128::from(self.ppm) / 1_000_000) as u64
    }

    fn lease_infos(&self) -> Vec<LeaseInfo> {
        let info = |(client, lease): (&Client, &Lease)| LeaseInfo {
            client: *client,
            version: lease.version,
            age: Duration::from_nanos(self.age(lease.received)),
        };
        self.leases.iter().map(info).collect()
    }

    fn handle(&mut self, from: Client, request: Request) {
        match request {
            Request::KeepAlive { number, applied, wants_coordination } => {
                self.last_version += 1;
                self.leases.insert(from, Lease { version: self.last_version, received: self.now });
                if wants_coordination && self.is_coordinator_lost() {
                    self.append(Entry::Coordinator(Some(Holder { id: Id(from.0), incarnation: from.1 })));
                }
                let newest = self.watchers.get(&from.0).is_none_or(|(known, _)| known.1 <= from.1);
                if newest {
                    self.watchers.insert(from.0, (from, applied));
                    self.send_log(from, applied);
                }
                let (revision, leases) = (self.revision(), self.lease_infos());
                self.respond(from, Response::KeptAlive { number, revision, leases });
            }
            Request::Change { request, epoch, command, replaces } => {
                self.change(from, request, epoch, command, replaces);
            }
            Request::Read { number } => {
                let revision = self.revision();
                self.respond(from, Response::ReadAt { number, revision });
            }
            Request::ReleaseCoordination { epoch } => {
                if self.coordinator.epoch == epoch && self.coordinator.holder.map(client) == Some(from) {
                    self.append(Entry::Coordinator(None));
                }
            }
        }
    }

    /// Whether nobody coordinates, or the coordinator's lease is over.
    fn is_coordinator_lost(&self) -> bool {
        let Some(holder) = self.coordinator.holder else { return true };
        self.leases.get(&client(holder)).is_none_or(|lease| self.age(lease.received) > self.coordinator_lease)
    }

    fn change(&mut self, from: Client, request: u64, epoch: u64, command: Command, replaces: Option<(Client, u64)>) {
        let is_current = self.coordinator.epoch == epoch && self.coordinator.holder.map(client) == Some(from);
        if !is_current || self.decided.get(&(from, request)) == Some(&true) {
            return;
        }
        let version = |client: Client| self.leases.get(&client).map_or(0, |lease| lease.version);
        let is_expected = replaces.is_none_or(|(client, expected)| version(client) == expected);
        let is_allowed = is_expected || self.fault == Fault::LeasesIgnored;
        let is_first = !self.decided.contains_key(&(from, request));
        let took_effect = is_first && is_allowed && self.table.apply(self.revision() + 1, command.clone());
        self.decided.insert((from, request), took_effect);
        if took_effect {
            self.append(Entry::Table { command, client: from, request });
        } else {
            let leases = self.lease_infos();
            self.respond(from, Response::Rejected { request, leases });
        }
    }

    /// Adds a change to the log, and sends it to everybody.
    fn append(&mut self, entry: Entry) {
        if let Entry::Coordinator(holder) = entry {
            self.coordinator = Coordinator { holder, epoch: self.revision() + 1 };
        }
        self.log.push(entry);
        for (client, sent) in self.watchers.values().copied().collect::<Vec<_>>() {
            self.send_log(client, sent);
        }
    }

    /// Sends a client what it does not have yet.
    fn send_log(&mut self, to: Client, after: u64) {
        if after == self.revision() {
            return;
        }
        let response = if after == 0 || after > self.revision() {
            self.watchers.insert(to.0, (to, self.revision()));
            let (table, coordinator) = (Box::new(self.table.clone()), self.coordinator);
            Response::Snapshot { revision: self.revision(), table, coordinator }
        } else {
            let entries: Vec<Entry> = self.log.iter().skip(after as usize).take(MAX_ENTRIES).cloned().collect();
            self.watchers.insert(to.0, (to, after + entries.len() as u64));
            Response::Entries { after, entries }
        };
        self.respond(to, response);
    }
}

impl External for Store {
    fn set_silent(&mut self, is_silent: bool) {
        self.is_silent = is_silent;
        if is_silent {
            self.in_flight.clear();
        }
    }

    fn restart(&mut self) {
        self.in_flight.clear();
        self.watchers.clear();
        // It does not know how long it was down: every lease may have been kept alive just before.
        for lease in self.leases.values_mut() {
            self.last_version += 1;
            *lease = Lease { version: self.last_version, received: self.now };
        }
        if self.fault == Fault::StateLost {
            (self.table, self.log, self.coordinator) = (self.initial.clone(), Vec::new(), Coordinator::default());
        }
    }

    fn set_reachable(&mut self, node: usize, is_reachable: bool) {
        if is_reachable {
            self.unreachable.remove(&node);
        } else {
            self.unreachable.insert(node);
        }
    }

    fn set_answer_delay(&mut self, node: usize, ms: u64) {
        self.answer_delays_ms.insert(node, ms);
    }
}
