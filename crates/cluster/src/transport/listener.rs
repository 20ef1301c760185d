//! Incoming connections.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Interest, Registry, Token};

use super::counters::CloseReason;
use super::link::{Link, Stage};
use super::{Event, OWN_TOKENS, Transport};
use crate::clock::Timestamp;

/// The most connections accepted in one pass.
const MAX_ACCEPTS_PER_PASS: usize = 64;
/// The pause after a failed `accept`, for example without free file descriptors.
const PAUSE: Duration = Duration::from_millis(100);

/// Why the transport could not start.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen for peers on {address}: {error}; {}", advice(.error))]
pub(crate) struct BindError {
    pub(super) address: String,
    #[source]
    pub(super) error: io::Error,
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => "is another node running there? `listen` in the configuration sets the address",
        io::ErrorKind::AddrNotAvailable => {
            "no interface of this host has this address; `listen` in the configuration sets it, and 0.0.0.0:PORT listens \
             on all"
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 are for root; `listen` in the configuration sets the port",
        // What resolves names has no error numbers.
        _ if error.raw_os_error().is_none() => {
            "the name in `listen` cannot be resolved: check it and this host's DNS, or use an IP address; 0.0.0.0:PORT \
             listens on all"
        }
        _ => "`listen` in the configuration sets the address",
    }
}

/// The listening socket.
pub(super) struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    /// When to call `accept` although no event announces a connection.
    again: Timestamp,
}

impl Listener {
    pub(super) fn open(listen: &str, registry: &Registry, token: Token) -> io::Result<Self> {
        let listener = StdListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let mut listener = TcpListener::from_std(listener);
        registry.register(&mut listener, token, Interest::READABLE)?;
        Ok(Listener { listener, address, again: Timestamp::NEVER })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn due(&self) -> Timestamp {
        self.again
    }
}

impl Transport {
    /// Accepts waiting connections.
    pub(super) fn accept_connections(&mut self, now: Timestamp, out: &mut Vec<Event>) {
        self.listener.again = Timestamp::NEVER;
        for _ in 0..MAX_ACCEPTS_PER_PASS {
            match self.listener.listener.accept() {
                Ok((socket, address)) => self.add_incoming(socket, address.ip(), now, out),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_transient(&error) => {}
                Err(_) => {
                    // No further event announces the waiting connections, and retrying at once would spin.
                    self.counters.accept_failures += 1;
                    self.listener.again = now + PAUSE;
                    return;
                }
            }
        }
        self.listener.again = Timestamp::ZERO;
    }

    fn add_incoming(&mut self, socket: mio::net::TcpStream, host: IpAddr, now: Timestamp, out: &mut Vec<Event>) {
        self.counters.accepted += 1;
        while let Some(slot) = self.excess_connection() {
            self.close_slot(slot, CloseReason::TooManyPending, now, out);
        }
        let Some(slot) = self.slots.reserve() else { return self.counters.count_rejected(CloseReason::TooManyPending) };
        let Ok(tls) = self.identity.accept() else {
            self.slots.release(slot);
            return self.counters.count_rejected(CloseReason::NetworkError);
        };
        let mut link = Box::new(Link::new(socket, tls, host, self.token_bucket(), now));
        link.tune();
        if self.register(&mut link, slot).is_err() {
            self.slots.release(slot);
            return self.counters.count_rejected(CloseReason::NetworkError);
        }
        self.slots.put(slot, link);
    }

    pub(super) fn register(&self, link: &mut Link, slot: usize) -> io::Result<()> {
        let token = Token(self.tokens.start + OWN_TOKENS + slot);
        self.registry.register(link.socket(), token, Interest::READABLE | Interest::WRITABLE)
    }

    /// The connection to close before another is accepted: the oldest unauthenticated one of the host that has the most
    /// of them. So one host cannot displace the connections of others.
    fn excess_connection(&self) -> Option<usize> {
        let mut hosts: BTreeMap<IpAddr, (usize, Timestamp, usize)> = BTreeMap::new();
        let mut count = 0;
        for (slot, link) in self.slots.numbered() {
            if link.dialled || link.stage != Stage::Greeting {
                continue;
            }
            count += 1;
            let (connections, oldest, place) = hosts.entry(link.host).or_insert((0, link.since, slot));
            *connections += 1;
            if link.since < *oldest {
                (*oldest, *place) = (link.since, slot);
            }
        }
        if count < self.limits.unauthenticated.max(1) {
            return None;
        }
        hosts.values().max_by_key(|(connections, ..)| *connections).map(|(_, _, slot)| *slot)
    }
}

/// Whether the error concerns only this connection, and the next may succeed.
fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted)
}
