//! Authenticated connections between members, one per pair: TLS 1.3 over TCP, with frames inside.
//!
//! Everything runs on the caller's thread, between two waits of its poll loop; only host names are resolved and TLS
//! handshakes are computed elsewhere, because both may take long.
//! The caller passes every event of its tokens to [`Transport::ready`], calls [`Transport::tick`] when
//! [`Transport::next_tick`] has come, and [`Transport::flush`] at the end of each pass.
//!
//! **Which connection stays.** Every node dials every peer to which it has no connection. The dialling node sends its
//! Hello, and the other one accepts the connection by answering with its own. Every Hello of a node has a greater
//! `sequence` than the one before, and a node sends a Hello to a peer only after it has given up every other connection
//! to it. It follows:
//!
//! - If a second connection brings a greater sequence than the established one, the peer has lost the established one,
//!   even if this node has not noticed: the new one replaces it. With a smaller sequence the peer gave the second
//!   connection up before it answered on the first: it is closed. Another incarnation is a new process, which replaces
//!   the old one too.
//! - If both nodes dial at once, the member with the smaller id holds its answer back until its own attempt has
//!   succeeded or failed. The other one answers at once and gives its own attempt up. So the connection dialled by the
//!   smaller id stays.
//!
//! **Bounds.** Before a peer is authenticated, the number of connections, the time and the size of frames (1 KiB) are
//! limited. After that there are limits for the size of a frame, for queued bytes, for the work of one pass and for the
//! rate of frames. A peer that exceeds the last two is read more slowly, which only it notices.

mod connection;
mod counters;
mod dialling;
pub(crate) mod frame;
mod handshakes;
mod hello;
mod link;
mod listener;
mod peer;
mod resolve;
mod seals;
mod slots;
#[cfg(test)]
pub(crate) mod tests;
mod token_bucket;
mod traffic;

use std::ops::Range;
use std::time::Duration;

use hustings_protocol::{Id, SplitMix64};
use mio::{Registry, Token};

pub(crate) use counters::{CloseReason, Counters};
#[cfg(test)]
pub(crate) use hello::{MAX_HELLO_BYTES, PROTOCOL_VERSION};
pub(crate) use listener::BindError;
pub(crate) use traffic::SentTraffic;

use crate::clock::Timestamp;
use crate::identity::{Identity, not_after};
use crate::member::Member;
use handshakes::{Handshakes, MAX_AT_ONCE};
use link::{Link, Stage};
use listener::Listener;
use peer::{Jitter, Peers};
use resolve::Resolver;
use seals::Seals;
use slots::Slots;

/// An event of the transport.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Event {
    /// A connection to a member was established.
    Up {
        /// The member.
        peer: Id,
        /// The random number that identifies the member's process.
        incarnation: u64,
        /// Identifies the frames on this connection, at both ends of it.
        streams: Streams,
    },
    /// A member sent a frame.
    Frame {
        /// The member.
        peer: Id,
        /// The payload. Pass the buffer to [`Transport::recycle`] after use.
        bytes: Vec<u8>,
    },
    /// The connection to a member was closed. Every frame received before has been reported.
    Down {
        /// The member.
        peer: Id,
        /// Why it was closed.
        reason: CloseReason,
    },
}

/// The two streams of frames on a connection. Both ends give a stream the same number, which differs from those of all
/// other connections.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Streams {
    /// The frames from this node to the peer.
    pub outgoing: u64,
    /// The frames from the peer to this node.
    pub incoming: u64,
}

/// The number of the stream of frames that follow a Hello. It has 53 bits, so that no JSON parser rounds it.
fn stream_number(incarnation: u64, sequence: u64) -> u64 {
    SplitMix64::mix(incarnation ^ SplitMix64::mix(sequence)) >> 11
}

/// Limits of the transport.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Limits {
    /// The largest payload of a frame, in bytes.
    pub frame: usize,
    /// The most bytes queued for one peer.
    pub queue: usize,
    /// The most incoming connections that have not authenticated yet.
    pub unauthenticated: usize,
    /// How long a connection may take from the first packet to the Hello.
    pub handshake: Duration,
    /// The sustained rate of frames of one peer.
    pub frames_per_second: u32,
    /// The largest burst of frames of one peer.
    pub burst: u32,
}

impl Default for Limits {
    fn default() -> Self {
        Limits {
            frame: 4 << 20,
            queue: 8 << 20,
            unauthenticated: 32,
            handshake: Duration::from_secs(2),
            frames_per_second: 20_000,
            burst: 40_000,
        }
    }
}

/// The configuration of a transport.
#[derive(Clone, Debug)]
pub(crate) struct TransportConfig {
    /// The id of this node.
    pub own: Id,
    /// A random number that identifies this process.
    pub incarnation: u64,
    /// The address to listen on, `host:port`.
    pub listen: String,
    /// Limits.
    pub limits: Limits,
    /// The TLS identity of this node, which also names the cluster.
    pub identity: Identity,
}

/// The connections of a node to all other members.
pub(crate) struct Transport {
    own: Id,
    incarnation: u64,
    limits: Limits,
    identity: Identity,
    registry: Registry,
    tokens: Range<usize>,
    listener: Listener,
    resolver: Resolver,
    handshakes: Handshakes,
    slots: Slots,
    peers: Peers,
    jitter: Jitter,
    sequence: u64,
    /// See [`Transport::set_max_member_id`]. Before it is set, no unknown member may connect.
    max_member_id: u64,
    seals: Seals,
    counters: Counters,
    /// The traffic of closed connections.
    wire: SentTraffic,
    /// Connections with unsent data since the last flush.
    dirty: Vec<usize>,
    /// Connections to close as soon as an event can be reported.
    closing: Vec<(usize, CloseReason)>,
    spare_buffers: Vec<Vec<u8>>,
}

/// Tokens before those of the connections.
const OWN_TOKENS: usize = 3;
/// How many buffers are kept for reuse, and the largest capacity of one.
const MAX_SPARE_BUFFERS: usize = 64;
const MAX_SPARE_BUFFER_BYTES: usize = 16 * 1024;

impl Transport {
    /// How many tokens a transport uses: a few of its own, and one for each connection that there may be.
    pub(crate) const fn tokens(members: usize, limits: &Limits) -> usize {
        OWN_TOKENS + 3 * members + limits.unauthenticated + MAX_AT_ONCE
    }

    /// Listens, and starts to dial at the first [`Transport::tick`], which is due at once. The range should have as
    /// many tokens as [`Transport::tokens`] says.
    pub(crate) fn bind(
        settings: TransportConfig,
        members: &[Member],
        registry: &Registry,
        tokens: Range<usize>,
        now: Timestamp,
    ) -> Result<Transport, BindError> {
        let TransportConfig { own, incarnation, listen, limits, identity } = settings;
        let begin = || {
            let listener = Listener::open(&listen, registry, Token(tokens.start))?;
            let resolver = Resolver::new(registry, Token(tokens.start + 1))?;
            let handshakes = Handshakes::start(registry, Token(tokens.start + 2))?;
            Ok((listener, resolver, handshakes, registry.try_clone()?))
        };
        let (listener, resolver, handshakes, registry) = match begin() {
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
            handshakes,
            peers: Peers::default(),
            jitter: Jitter::new(incarnation ^ own.0),
            sequence: 0,
            max_member_id: u64::MAX,
            seals: Seals::default(),
            counters: Counters::default(),
            wire: SentTraffic::default(),
            dirty: Vec::new(),
            closing: Vec::new(),
            spare_buffers: Vec::new(),
        };
        transport.set_members(members, now, &mut Vec::new());
        Ok(transport)
    }

    /// The address it listens on.
    pub(crate) fn local_addr(&self) -> std::net::SocketAddr {
        self.listener.address()
    }

    /// Handles an event of the poll.
    pub(crate) fn ready(&mut self, event: &mio::event::Event, now: Timestamp, out: &mut Vec<Event>) {
        let token = event.token().0;
        if !self.tokens.contains(&token) {
            return;
        }
        match token - self.tokens.start {
            0 => self.accept_connections(now, out),
            1 => self.dial_resolved(now, out),
            2 => self.continue_handshakes(now, out),
            place => self.connection_ready(place - OWN_TOKENS, event, now, out),
        }
    }

    /// Handles timers: dialling, timeouts, and reads that were postponed for fairness.
    pub(crate) fn tick(&mut self, now: Timestamp, out: &mut Vec<Event>) {
        if self.listener.due() <= now {
            self.accept_connections(now, out);
        }
        for slot in 0..self.slots.len() {
            let Some(link) = self.slots.get(slot) else { continue };
            if link.overdue(self.limits.handshake) <= now {
                self.close_slot(slot, CloseReason::HandshakeTimeout, now, out);
            } else if link.due() <= now {
                self.read(slot, now, out);
            }
        }
        self.close_pending(now, out);
        while let Some(peer) = self.peers.next_due(now) {
            self.dial(peer, now, out);
        }
    }

    /// When [`Transport::tick`] must be called. In the past if there is something to do at once.
    pub(crate) fn next_tick(&self) -> Timestamp {
        if !self.closing.is_empty() {
            return Timestamp::ZERO;
        }
        let links = self.slots.iter().map(|link| link.overdue(self.limits.handshake).min(link.due()));
        links.chain([self.listener.due(), self.peers.due()]).min().unwrap_or(Timestamp::NEVER)
    }

    /// Queues a payload for a peer; the next [`Transport::flush`] sends it. Returns false if there is no connection, if
    /// the payload is too large, or if the queue is full because the peer does not read. In the last case the
    /// connection is closed.
    pub(crate) fn send(&mut self, peer: Id, payload: &[u8]) -> bool {
        self.queue(peer, payload, Link::queue)
    }

    /// Queues a payload that those of [`Transport::send`] may overtake. Its own kind stays in order.
    pub(crate) fn send_bulk(&mut self, peer: Id, payload: &[u8]) -> bool {
        self.queue(peer, payload, Link::queue_bulk)
    }

    fn queue(&mut self, peer: Id, payload: &[u8], queue: fn(&mut Link, &[u8], usize) -> bool) -> bool {
        let Some(slot) = self.peers.get(peer).and_then(|peer| peer.link) else { return false };
        let Some(link) = self.slots.get_mut(slot) else { return false };
        if payload.len() > self.limits.frame {
            return false;
        }
        // A queue that is not empty is already in the list, or waits for the socket.
        let clean = link.queued() == 0;
        if !queue(link, payload, self.limits.queue) {
            self.closing.push((slot, CloseReason::SlowReader));
            return false;
        }
        if clean {
            self.dirty.push(slot);
        }
        self.counters.frames_out += 1;
        true
    }

    /// Writes all queued payloads, those for one peer together.
    pub(crate) fn flush(&mut self, now: Timestamp, out: &mut Vec<Event>) {
        self.close_pending(now, out);
        while let Some(slot) = self.dirty.pop() {
            let Some(link) = self.slots.get_mut(slot) else { continue };
            link.write(&mut self.counters);
            if link.is_broken() {
                self.read(slot, now, out);
            }
        }
    }

    /// Replaces the members. New ones are dialled, connections to removed ones are closed.
    pub(crate) fn set_members(&mut self, members: &[Member], now: Timestamp, out: &mut Vec<Event>) {
        for gone in self.peers.replace(members, self.own, self.max_member_id, now) {
            let made = gone.link.into_iter().chain(gone.parked).chain(gone.dial.slot());
            for slot in made {
                self.close_slot(slot, CloseReason::Removed, now, out);
            }
        }
    }

    /// Replaces the identity of this node. New connections use it; the others stay as they are.
    pub(crate) fn set_identity(&mut self, identity: Identity) {
        self.identity = identity;
        self.seals.forget_checked();
    }

    /// Until when the certificate of a connected peer is valid, in seconds since 1970.
    pub(crate) fn certificate_end(&self, peer: Id) -> Option<u64> {
        let link = self.peers.get(peer).and_then(|peer| peer.link).and_then(|slot| self.slots.get(slot))?;
        link.certificate().and_then(not_after)
    }

    /// Sets the highest member id that this node has ever seen. Members with higher ids may connect although this node
    /// does not know them: it may have missed their addition. Other unknown ids belong to members that were removed.
    pub(crate) fn set_max_member_id(&mut self, id: u64) {
        self.max_member_id = id;
    }

    /// Closes the connection to a peer. It is dialled again a little later.
    pub(crate) fn drop_peer(&mut self, peer: Id, now: Timestamp, out: &mut Vec<Event>) {
        if let Some(slot) = self.peers.get(peer).and_then(|peer| peer.link) {
            self.close_slot(slot, CloseReason::Dropped, now, out);
        }
    }

    /// Closes all connections.
    pub(crate) fn close(mut self, now: Timestamp) {
        for slot in 0..self.slots.len() {
            self.close_slot(slot, CloseReason::Dropped, now, &mut Vec::new());
        }
    }

    /// Takes the buffer of a frame back for reuse.
    pub(crate) fn recycle(&mut self, mut bytes: Vec<u8>) {
        if self.spare_buffers.len() < MAX_SPARE_BUFFERS && bytes.capacity() <= MAX_SPARE_BUFFER_BYTES {
            bytes.clear();
            self.spare_buffers.push(bytes);
        }
    }

    /// Counters since the start.
    pub(crate) fn counters(&self) -> &Counters {
        &self.counters
    }

    /// The traffic sent since the start. This asks the kernel, so it is not for every pass.
    pub(crate) fn wire(&self) -> SentTraffic {
        let mut total = self.wire;
        // The others come and go while their handshakes are made elsewhere, and count in the end.
        let established = self.slots.iter().filter(|link| link.stage == Stage::Established);
        established.for_each(|link| total += link.wire());
        total
    }

    fn close_pending(&mut self, now: Timestamp, out: &mut Vec<Event>) {
        while let Some((slot, reason)) = self.closing.pop() {
            self.close_slot(slot, reason, now, out);
        }
    }
}
