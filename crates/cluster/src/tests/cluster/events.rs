//! The events of a simulated cluster, in the order of simulated time.

use std::cmp::Reverse;

use hustings_protocol::Id;

use super::{MS, SimCluster, pair};
use crate::api::Request;
use crate::core::ClientId;
use crate::store::Store;
use crate::tests::is_authentic;
use crate::wire::Message;

/// What happens.
pub(super) enum EventKind {
    Deliver { from: usize, to: usize, link: u64, message: Box<Message> },
    Up { at: usize, peer: usize, link: u64 },
    Down { at: usize, peer: usize, link: u64 },
    Persisted { at: usize, incarnation: u64, number: u64 },
    Wake { at: usize, incarnation: u64 },
    Stopped { at: usize, incarnation: u64, client: ClientId, office: String, token: u64 },
    ClientGone { at: usize, incarnation: u64, client: ClientId },
    Read { at: usize, incarnation: u64, client: ClientId, office: String },
    Dial { one: usize, other: usize },
}

/// An event: when it happens, a serial number that orders simultaneous events, and what happens.
pub(super) struct Event(pub(super) u64, pub(super) u64, pub(super) EventKind);

impl PartialEq for Event {
    fn eq(&self, other: &Self) -> bool {
        (self.0, self.1) == (other.0, other.1)
    }
}
impl Eq for Event {}
impl PartialOrd for Event {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}
impl Ord for Event {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.0, self.1).cmp(&(other.0, other.1))
    }
}

impl SimCluster {
    pub(super) fn schedule(&mut self, delay: u64, kind: EventKind) {
        self.serial += 1;
        self.events.push(Reverse(Event(self.now + delay, self.serial, kind)));
    }

    pub(crate) fn run_ms(&mut self, ms: u64) {
        let end = self.now + ms * MS;
        loop {
            let event = self.events.peek().map_or(u64::MAX, |Reverse(Event(at, ..))| *at);
            let next = event.min(self.authority.next_event());
            if next > end {
                break;
            }
            self.now = next.max(self.now);
            for node in self.authority.advance(self.now) {
                let incarnation = self.hosts[node].incarnation;
                self.handle_event(EventKind::Wake { at: node, incarnation });
            }
            if event <= self.now
                && let Some(Reverse(Event(.., kind))) = self.events.pop()
            {
                self.handle_event(kind);
            }
        }
        self.now = end;
        self.authority.advance(end);
    }

    pub(super) fn handle_event(&mut self, kind: EventKind) {
        let host = match &kind {
            EventKind::Deliver { to, .. } => *to,
            EventKind::Up { at, .. }
            | EventKind::Down { at, .. }
            | EventKind::Persisted { at, .. }
            | EventKind::Wake { at, .. }
            | EventKind::Read { at, .. }
            | EventKind::ClientGone { at, .. }
            | EventKind::Stopped { at, .. } => *at,
            EventKind::Dial { one, .. } => *one,
        };
        if self.hosts[host].frozen && !matches!(kind, EventKind::Dial { .. }) {
            self.hosts[host].deferred.push(kind);
            return;
        }
        match kind {
            EventKind::Deliver { from, to, link, message } => {
                if self.links.get(&pair(from, to)) == Some(&link) && is_authentic(to as u64 + 1, &message) {
                    self.drive(to, |core, now| core.handle_message(Id(from as u64 + 1), *message, now));
                }
            }
            EventKind::Up { at, peer, link } => {
                if self.links.get(&pair(at, peer)) == Some(&link) {
                    let incarnation = self.hosts[peer].incarnation * 1_000 + peer as u64;
                    self.drive(at, |core, now| core.handle_connected(Id(peer as u64 + 1), incarnation, now));
                }
            }
            EventKind::Down { at, peer, link } => {
                if self.links.get(&pair(at, peer)).is_none_or(|current| *current <= link) {
                    self.drive(at, |core, now| core.handle_disconnected(Id(peer as u64 + 1), now));
                }
            }
            EventKind::Persisted { at, incarnation, number } => {
                if self.hosts[at].incarnation == incarnation && self.hosts[at].core.is_some() {
                    self.write(at, number);
                }
            }
            EventKind::Wake { at, incarnation } => {
                if self.hosts[at].incarnation == incarnation {
                    self.drive(at, |core, now| core.handle_timeout(now));
                }
            }
            EventKind::Stopped { at, incarnation, client, office, token } => {
                self.leases.release(&office, token);
                if self.hosts[at].incarnation == incarnation && self.hosts[at].client == Some(client) {
                    self.drive(at, |core, now| core.handle_request(client, Request::Stopped { office, token }, now));
                }
            }
            EventKind::ClientGone { at, incarnation, client } => {
                if self.hosts[at].incarnation == incarnation {
                    self.drive(at, |core, now| core.handle_client_gone(client, now));
                }
            }
            EventKind::Read { at, incarnation, client, office } => {
                if self.hosts[at].incarnation == incarnation {
                    self.drive(at, |core, now| core.handle_request(client, Request::Leader { office }, now));
                }
            }
            EventKind::Dial { one, other } => self.connect(one, other),
        }
    }

    /// A host writes to its disk, and tries again later if that fails.
    fn write(&mut self, node: usize, number: u64) {
        match self.hosts[node].write(number) {
            Some(Ok(last)) => {
                self.drive(node, |core, now| core.handle_persisted(last, now));
                self.hosts[node].store.as_mut().into_iter().for_each(Store::maintain);
            }
            Some(Err(error)) if error.is_transient() => {
                self.drive(node, |core, now| core.handle_disk_failed(&error.to_string(), now));
                let incarnation = self.hosts[node].incarnation;
                self.schedule(100 * MS, EventKind::Persisted { at: node, incarnation, number });
            }
            Some(Err(error)) => panic!("seed {}: node {node}: {error}", self.seed),
            None => {}
        }
    }
}
