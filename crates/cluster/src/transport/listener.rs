//! Incoming connections.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
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
const MAX_ACCEPTS_PER_PASS: usize = 16;
/// How many unauthenticated connections from a member's address are preferred to others: a few members may share one.
const MAX_PREFERRED: usize = 4;
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

    /// The connection to close before another is accepted.
    fn excess_connection(&self) -> Option<usize> {
        let pending = self.slots.numbered().filter(|(_, link)| !link.dialled && link.stage == Stage::Greeting);
        let pending: Vec<Pending> =
            pending.map(|(slot, link)| Pending { slot, host: network(link.host), since: link.since }).collect();
        // Those that are with the thread of handshakes will be back within a moment, and are not displaced.
        if pending.len() + self.handshakes.incoming() < self.limits.unauthenticated.max(1) {
            return None;
        }
        excess(&pending, &self.peers.hosts())
    }
}

/// An unauthenticated connection.
struct Pending {
    slot: usize,
    host: IpAddr,
    since: Timestamp,
}

/// The oldest connection of the host that has the most of them. So one host cannot displace the connections of others.
/// Those from members' addresses go last, unless there are more of them than honest members need.
fn excess(pending: &[Pending], members: &BTreeSet<IpAddr>) -> Option<usize> {
    let mut hosts: BTreeMap<IpAddr, (usize, &Pending)> = BTreeMap::new();
    for one in pending {
        let (count, oldest) = hosts.entry(one.host).or_insert((0, one));
        *count += 1;
        if one.since < oldest.since {
            *oldest = one;
        }
    }
    let is_preferred = |host: &IpAddr, count: usize| count <= MAX_PREFERRED && members.contains(host);
    // Of several, the one whose oldest connection is the oldest.
    let most =
        hosts.iter().max_by_key(|(host, (count, oldest))| (!is_preferred(host, *count), *count, Reverse(oldest.since)));
    most.map(|(_, (_, oldest))| oldest.slot)
}

/// What counts as one host: an IPv6 host has a whole network of addresses, /64.
pub(super) fn network(host: IpAddr) -> IpAddr {
    match host.to_canonical() {
        IpAddr::V6(host) if !host.is_loopback() => IpAddr::V6((u128::from(host) & !u128::from(u64::MAX)).into()),
        host => host,
    }
}

/// Whether the error concerns only this connection, and the next may succeed.
fn is_transient(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pending(hosts: &[&str]) -> Vec<Pending> {
        let one = |(slot, host): (usize, &&str)| Pending {
            slot,
            host: network(host.parse().expect("an address")),
            since: Timestamp(slot as u64),
        };
        hosts.iter().enumerate().map(one).collect()
    }

    #[test]
    fn members_are_displaced_last_unless_they_are_a_crowd() {
        let members = BTreeSet::from([network("10.0.0.1".parse().expect("an address"))]);
        let excess = |hosts: &[&str]| excess(&pending(hosts), &members);
        assert_eq!(excess(&["10.0.0.1", "10.0.0.7", "10.0.0.8"]), Some(1), "the oldest stranger");
        assert_eq!(excess(&["10.0.0.1", "10.0.0.7", "10.0.0.8", "10.0.0.8"]), Some(2), "the host with the most");
        assert_eq!(excess(&["10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.7"]), Some(3), "three members of one host");
        assert_eq!(excess(&["10.0.0.7", "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1", "10.0.0.1"]), Some(1));
        assert_eq!(excess(&["2001:db8::7", "10.0.0.8", "2001:db8::9"]), Some(0), "one network");
        assert_eq!(excess(&[]), None);
    }

    #[test]
    fn the_addresses_of_one_ipv6_network_are_one_host() {
        let of = |host: &str| network(host.parse().expect("an address"));
        assert_eq!(of("2001:db8::1"), of("2001:db8::ffff:0:0:1"));
        assert_ne!(of("2001:db8::1"), of("2001:db8:0:1::1"));
        assert_eq!(of("::ffff:10.0.0.1"), of("10.0.0.1"));
        assert_ne!(of("10.0.0.1"), of("10.0.0.2"));
        assert_ne!(of("::1"), of("::2"));
    }
}
