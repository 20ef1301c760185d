//! Authenticated connections between the members, one for each pair: TLS 1.3 over TCP, frames inside.
//!
//! Everything happens on the caller's thread, between two waits of its poll loop; only names are looked up elsewhere.
//! The caller gives [`Transport::ready`] every event of its tokens, calls [`Transport::tick`] when
//! [`Transport::next_tick`] has come, and [`Transport::flush`] at the end of each pass.
//!
//! **Which connection stays.** Everybody dials everybody it has no connection with. The one who dialled says Hello, the
//! other answers with its own, and only that makes the connection. Each Hello of a node has a greater `turn` than the
//! one before, and a node says Hello to a member only when it has given up every other connection with it. So:
//!
//! - A Hello on a second connection that has a greater turn than the established one tells that the peer has lost that
//!   one, even if this end has not noticed: the new one replaces it. A smaller turn tells that the peer gave up the
//!   second one before it answered on the first: it is closed. Another incarnation is a new process: it replaces, too.
//! - If both dial at once, the member with the smaller id holds its answer back until its own attempt has succeeded or
//!   failed; the other one answers at once and gives its attempt up. The connection dialled by the smaller id stays.
//!
//! **Bounds.** Before a peer is known: so many connections, so much time, frames of a KiB. After that: a limit for a
//! frame, for what waits to be sent, for what is handled in one pass, and for frames a second. A peer beyond the last
//! two is read more slowly, which is felt by nobody but itself.

mod bucket;
mod connection;
mod counters;
mod dialling;
pub mod frame;
mod hello;
mod link;
mod listener;
mod peer;
mod resolve;
mod slots;
#[cfg(test)]
mod tests;
mod wire;

use std::io;
use std::ops::Range;
use std::time::Duration;

use hustings_protocol::Id;
use mio::{Registry, Token};

pub use counters::{Counters, Ended};
pub use hello::{MAX_HELLO_BYTES, PROTOCOL_VERSION};
pub use wire::Wire;

use crate::clock::Moment;
use crate::identity::Identity;
use crate::member::Member;
use listener::Listener;
use peer::{Jitter, Peers};
use resolve::Resolver;
use slots::Slots;

/// What happened.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Event {
    /// A member can be spoken to.
    Up {
        /// Which.
        peer: Id,
        /// What it drew when it started.
        incarnation: u64,
    },
    /// A member said something.
    Frame {
        /// Which.
        peer: Id,
        /// What. To be handed to [`Transport::recycle`] afterwards, if it is hot.
        bytes: Vec<u8>,
    },
    /// A member can no longer be spoken to. Everything it said before has been told.
    Down {
        /// Which.
        peer: Id,
        /// Why.
        why: Ended,
    },
}

/// How much of everything.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Limits {
    /// Bytes of a frame's payload.
    pub frame: usize,
    /// Bytes that wait to be sent to a peer.
    pub queue: usize,
    /// Connections that came in and have not said who they are.
    pub unauthenticated: usize,
    /// How long it may take to make a connection, from the first packet to the Hello.
    pub handshake: Duration,
    /// Frames of a peer in a second, in the long run.
    pub frames_a_second: u32,
    /// Frames of a peer at once.
    pub burst: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            frame: 4 << 20,
            queue: 8 << 20,
            unauthenticated: 32,
            handshake: Duration::from_secs(2),
            frames_a_second: 20_000,
            burst: 40_000,
        }
    }
}

/// What a transport is told.
#[derive(Clone, Debug)]
pub struct Settings {
    /// Which member this node is.
    pub own: Id,
    /// A number drawn at random at every start.
    pub incarnation: u64,
    /// Where to listen: host and port.
    pub listen: String,
    /// How much of everything.
    pub limits: Limits,
    /// Who this node is, and whom it believes; also names the cluster.
    pub identity: Identity,
}

/// The transport could not begin.
#[derive(Debug, thiserror::Error)]
#[error("cannot listen for peers on {address}: {error}")]
pub struct BindError {
    address: String,
    #[source]
    error: io::Error,
}

/// The connections of one node with all other members.
pub struct Transport {
    own: Id,
    incarnation: u64,
    limits: Limits,
    identity: Identity,
    registry: Registry,
    tokens: Range<usize>,
    listener: Listener,
    resolver: Resolver,
    slots: Slots,
    peers: Peers,
    jitter: Jitter,
    turn: u64,
    counters: Counters,
    /// What connections that have ended sent.
    wire: Wire,
    /// Connections with something to write since the last flush.
    dirty: Vec<usize>,
    /// Connections to be ended as soon as it can be told.
    doomed: Vec<(usize, Ended)>,
    spare: Vec<Vec<u8>>,
}

/// Tokens before those of the connections.
const OWN_TOKENS: usize = 2;
/// Buffers kept for the next frames: so many, and none larger than this.
const SPARE_BUFFERS: usize = 64;
const SPARE_BYTES: usize = 16 * 1024;

impl Transport {
    /// Listens, and begins to dial with the first [`Transport::tick`], which is due at once. Of the tokens, two are
    /// for its own use and one for each connection: there should be `2 + 3 × members + limits.unauthenticated`.
    pub fn bind(
        settings: Settings,
        members: &[Member],
        registry: &Registry,
        tokens: Range<usize>,
        now: Moment,
    ) -> Result<Transport, BindError> {
        let Settings { own, incarnation, listen, limits, identity } = settings;
        let begin = || {
            let listener = Listener::open(&listen, registry, Token(tokens.start))?;
            let resolver = Resolver::new(registry, Token(tokens.start + 1))?;
            Ok((listener, resolver, registry.try_clone()?))
        };
        let (listener, resolver, registry) = match begin() {
            Ok(parts) => parts,
            Err(error) => return Err(BindError { address: listen, error }),
        };
        let mut transport = Transport {
            own,
            incarnation,
            limits,
            identity,
            registry,
            slots: Slots::new(tokens.len().saturating_sub(OWN_TOKENS)),
            tokens,
            listener,
            resolver,
            peers: Peers::default(),
            jitter: Jitter::new(incarnation ^ own.0),
            turn: 0,
            counters: Counters::default(),
            wire: Wire::default(),
            dirty: Vec::new(),
            doomed: Vec::new(),
            spare: Vec::new(),
        };
        transport.set_members(members, now, &mut Vec::new());
        Ok(transport)
    }

    /// Where it listens.
    pub fn local_addr(&self) -> std::net::SocketAddr {
        self.listener.address()
    }

    /// Something can be read or written.
    pub fn ready(&mut self, event: &mio::event::Event, now: Moment, out: &mut Vec<Event>) {
        let token = event.token().0;
        if !self.tokens.contains(&token) {
            return;
        }
        match token - self.tokens.start {
            0 => self.welcome_callers(now, out),
            1 => self.dial_resolved(now, out),
            place => self.connection_ready(place - OWN_TOKENS, event, now, out),
        }
    }

    /// Does what is due: dialling, time-outs, and what was left over by fairness.
    pub fn tick(&mut self, now: Moment, out: &mut Vec<Event>) {
        if self.listener.due() <= now {
            self.welcome_callers(now, out);
        }
        for slot in 0..self.slots.len() {
            let Some(link) = self.slots.get(slot) else { continue };
            if link.overdue(self.limits.handshake) <= now {
                self.end(slot, Ended::TooSlow, now, out);
            } else if link.due() <= now {
                self.read(slot, now, out);
            }
        }
        self.end_doomed(now, out);
        while let Some(peer) = self.peers.next_due(now) {
            self.dial(peer, now, out);
        }
    }

    /// When [`Transport::tick`] is due. In the past if there is something to do at once.
    pub fn next_tick(&self) -> Moment {
        if !self.doomed.is_empty() {
            return Moment::ZERO;
        }
        let links = self.slots.iter().map(|link| link.overdue(self.limits.handshake).min(link.due()));
        links.chain([self.listener.due(), self.peers.due()]).min().unwrap_or(Moment::NEVER)
    }

    /// Takes a payload for a peer; the next [`Transport::flush`] sends it. False if there is no connection with it, if
    /// the payload is larger than a frame may be, or if the peer has not read for so long that the queue is full: then
    /// its connection ends.
    pub fn send(&mut self, peer: Id, payload: &[u8]) -> bool {
        let Some(slot) = self.peers.get(peer).and_then(|peer| peer.link) else { return false };
        let Some(link) = self.slots.get_mut(slot) else { return false };
        if payload.len() > self.limits.frame {
            return false;
        }
        // With something in it already, it is in the list, or waits for the socket to take more.
        let clean = link.queued() == 0;
        if !link.queue(payload, self.limits.queue) {
            self.doomed.push((slot, Ended::SlowReader));
            return false;
        }
        if clean {
            self.dirty.push(slot);
        }
        self.counters.frames_out += 1;
        true
    }

    /// Writes what was taken since the last time: what goes to one peer, in one piece.
    pub fn flush(&mut self, now: Moment, out: &mut Vec<Event>) {
        self.end_doomed(now, out);
        while let Some(slot) = self.dirty.pop() {
            let Some(link) = self.slots.get_mut(slot) else { continue };
            link.write(&mut self.counters);
            if link.is_broken() {
                self.read(slot, now, out);
            }
        }
    }

    /// From now on these are the members. New ones are dialled, connections of others end.
    pub fn set_members(&mut self, members: &[Member], now: Moment, out: &mut Vec<Event>) {
        for gone in self.peers.replace(members, self.own, now) {
            let made = gone.link.into_iter().chain(gone.parked).chain(gone.dial.slot());
            for slot in made {
                self.end(slot, Ended::Removed, now, out);
            }
        }
    }

    /// Ends the connection with a peer on purpose; it is dialled again a little later.
    pub fn drop_peer(&mut self, peer: Id, now: Moment, out: &mut Vec<Event>) {
        if let Some(slot) = self.peers.get(peer).and_then(|peer| peer.link) {
            self.end(slot, Ended::Dropped, now, out);
        }
    }

    /// Says good-bye to everybody, and ends.
    pub fn close(mut self, now: Moment) {
        for slot in 0..self.slots.len() {
            self.end(slot, Ended::Dropped, now, &mut Vec::new());
        }
    }

    /// Takes back a frame's buffer, to be used for another.
    pub fn recycle(&mut self, mut bytes: Vec<u8>) {
        if self.spare.len() < SPARE_BUFFERS && bytes.capacity() <= SPARE_BYTES {
            bytes.clear();
            self.spare.push(bytes);
        }
    }

    /// What was counted since the start.
    pub fn counters(&self) -> &Counters {
        &self.counters
    }

    /// What was sent since the start as it went over the wire. This asks the kernel: not for every pass.
    pub fn wire(&self) -> Wire {
        let mut total = self.wire;
        self.slots.iter().for_each(|link| total += link.wire());
        total
    }

    fn end_doomed(&mut self, now: Moment, out: &mut Vec<Event>) {
        while let Some((slot, why)) = self.doomed.pop() {
            self.end(slot, why, now, out);
        }
    }
}
