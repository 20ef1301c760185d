//! Those who dial this node.

use std::collections::BTreeMap;
use std::io;
use std::net::{IpAddr, SocketAddr, TcpListener as StdListener};
use std::time::Duration;

use mio::net::TcpListener;
use mio::{Interest, Registry, Token};

use super::counters::Ended;
use super::link::{Link, Stage};
use super::{Event, OWN_TOKENS, Transport};
use crate::clock::Moment;

/// So many are let in in one pass.
const CALLERS_A_PASS: usize = 64;
/// When none can be let in (out of descriptors, for example), it is tried again after this.
const PAUSE: Duration = Duration::from_millis(100);

/// The listening socket.
pub(super) struct Listener {
    listener: TcpListener,
    address: SocketAddr,
    /// When to look although no event tells.
    again: Moment,
}

impl Listener {
    pub(super) fn open(listen: &str, registry: &Registry, token: Token) -> io::Result<Self> {
        let listener = StdListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let mut listener = TcpListener::from_std(listener);
        registry.register(&mut listener, token, Interest::READABLE)?;
        Ok(Listener { listener, address, again: Moment::NEVER })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    pub(super) fn due(&self) -> Moment {
        self.again
    }
}

impl Transport {
    /// Lets in those who wait at the listener.
    pub(super) fn welcome_callers(&mut self, now: Moment, out: &mut Vec<Event>) {
        self.listener.again = Moment::NEVER;
        for _ in 0..CALLERS_A_PASS {
            match self.listener.listener.accept() {
                Ok((socket, address)) => self.let_in(socket, address.ip(), now, out),
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(error) if is_about_the_caller(&error) => {}
                Err(_) => {
                    // No event will come for those who wait already, and trying at once would spin.
                    self.counters.accept_failures += 1;
                    self.listener.again = now + PAUSE;
                    return;
                }
            }
        }
        self.listener.again = Moment::ZERO;
    }

    fn let_in(&mut self, socket: mio::net::TcpStream, host: IpAddr, now: Moment, out: &mut Vec<Event>) {
        self.counters.accepted += 1;
        while let Some(slot) = self.one_too_many() {
            self.end(slot, Ended::TooMany, now, out);
        }
        let Some(slot) = self.slots.reserve() else { return self.counters.count_refused(Ended::TooMany) };
        // Failing means that the caller has gone already: the first read will tell.
        let _ = socket.set_nodelay(true);
        let Ok(tls) = self.identity.accept() else {
            self.slots.release(slot);
            return self.counters.count_refused(Ended::Failed);
        };
        let mut link = Box::new(Link::new(socket, tls, host, self.bucket(), now));
        if self.register(&mut link, slot).is_err() {
            self.slots.release(slot);
            return self.counters.count_refused(Ended::Failed);
        }
        self.slots.put(slot, link);
    }

    pub(super) fn register(&self, link: &mut Link, slot: usize) -> io::Result<()> {
        let token = Token(self.tokens.start + OWN_TOKENS + slot);
        self.registry.register(link.socket(), token, Interest::READABLE | Interest::WRITABLE)
    }

    /// Who must go before another can be let in: the oldest of those who have not said who they are, among those of
    /// the host that has the most of them. So one host alone cannot push the others out.
    fn one_too_many(&self) -> Option<usize> {
        let mut hosts: BTreeMap<IpAddr, (usize, Moment, usize)> = BTreeMap::new();
        let mut count = 0;
        for (slot, link) in self.slots.numbered() {
            if link.dialled || link.stage != Stage::Greeting {
                continue;
            }
            count += 1;
            let (callers, oldest, place) = hosts.entry(link.host).or_insert((0, link.since, slot));
            *callers += 1;
            if link.since < *oldest {
                (*oldest, *place) = (link.since, slot);
            }
        }
        if count < self.limits.unauthenticated.max(1) {
            return None;
        }
        hosts.values().max_by_key(|(callers, ..)| *callers).map(|(_, _, slot)| *slot)
    }
}

/// Whether only this caller failed, and the next may succeed.
fn is_about_the_caller(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::ConnectionAborted | io::ErrorKind::Interrupted)
}
