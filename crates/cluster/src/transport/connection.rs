//! The life of a connection: reading, the Hello, the end.

use std::ops::Range;
use std::time::Duration;

use hustings_protocol::Id;

use super::counters::CloseReason;
use super::handshakes::Stepped;
use super::hello::{Hello, PROTOCOL_VERSION};
use super::link::{Link, Next, Stage};
use super::peer::Dial;
use super::token_bucket::TokenBucket;
use super::{Event, Streams, Transport, stream_number};
use crate::clock::Timestamp;
use crate::identity::{is_certificate_of, member_name};

/// How much of one connection is handled in one pass, so that it cannot starve the others.
pub(super) const MAX_BYTES_PER_PASS: usize = 64 * 1024;
const MAX_FRAMES_PER_PASS: usize = 256;
/// A throttled peer is read again when it may send this many frames, not for each single one.
const FRAMES_AFTER_WAIT: u32 = 64;
/// A peer that exceeds its rate for this long is disconnected. While its frames fill the buffers of both hosts, its end
/// could not be noticed either.
const MAX_OVERLOAD: Duration = Duration::from_secs(1);

/// What to do with a connection after a pass, or after the peer's Hello.
enum NextStep {
    /// Leave it as it is.
    Keep,
    /// Hold it until this node's own attempt has succeeded or failed.
    Park,
    /// Both sides sent their Hello: establish it.
    Establish,
    /// Close it.
    Close(CloseReason),
}

impl Transport {
    pub(super) fn token_bucket(&self) -> TokenBucket {
        TokenBucket::new(self.limits.frames_per_second, self.limits.burst)
    }

    /// Handles an event of a connection.
    pub(super) fn connection_ready(
        &mut self,
        slot: usize,
        event: &mio::event::Event,
        now: Timestamp,
        out: &mut Vec<Event>,
    ) {
        if self.slots.get(slot).is_some_and(|link| link.stage == Stage::Connecting) {
            self.dial_answered(slot, now, out);
        }
        let Some(link) = self.slots.get_mut(slot) else { return self.handshakes.note_event(slot) };
        if link.stage == Stage::Connecting {
            return;
        }
        if event.is_writable() {
            link.write(&mut self.counters);
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            link.readable = true;
        }
        // The end of a peer is more urgent than the frames beyond its rate.
        if link.throttled.is_some() && (event.is_read_closed() || event.is_error()) {
            return self.close_slot(slot, CloseReason::RateLimitExceeded, now, out);
        }
        if link.readable || link.is_broken() {
            self.read(slot, now, out);
        }
    }

    /// Reads as much as one pass allows.
    pub(super) fn read(&mut self, slot: usize, now: Timestamp, out: &mut Vec<Event>) {
        let Some(mut link) = self.slots.take(slot) else { return };
        if link.is_handshaking() {
            return self.shake_hands(link, slot, now, out);
        }
        let step = self.read_pass(&mut link, now, out);
        self.take_step(step, link, slot, now, out);
    }

    fn take_step(&mut self, step: NextStep, link: Box<Link>, slot: usize, now: Timestamp, out: &mut Vec<Event>) {
        match step {
            NextStep::Keep => self.slots.put(slot, link),
            NextStep::Park => self.park(link, slot, now, out),
            NextStep::Establish => {
                if let Some(peer) = link.peer {
                    self.establish(link, slot, peer, now, out);
                    // The peer may already have sent more than its Hello.
                    self.read(slot, now, out);
                }
            }
            NextStep::Close(reason) => self.close_link(link, slot, reason, now, out),
        }
    }

    /// Continues with a connection that comes back from the thread of handshakes.
    pub(super) fn handle_stepped(&mut self, stepped: Stepped, now: Timestamp, out: &mut Vec<Event>) {
        let Stepped { slot, mut link, next, is_ready } = stepped;
        let is_attempt = |id| self.peers.get(id).is_some_and(|peer| peer.dial.slot() == Some(slot));
        let is_given_up = link.dialled && !link.peer.is_some_and(is_attempt);
        link.readable = true;
        let step = match next {
            _ if is_given_up => NextStep::Close(CloseReason::Replaced),
            _ if link.overdue(self.limits.handshake) <= now => NextStep::Close(CloseReason::HandshakeTimeout),
            Ok(Next::Frame(frame)) => self.handle_hello(&mut link, frame),
            Ok(Next::Blocked) => {
                link.readable = is_ready;
                NextStep::Keep
            }
            Ok(Next::BudgetSpent) => NextStep::Keep,
            Err(reason) => NextStep::Close(reason),
        };
        let has_more = matches!(step, NextStep::Keep) && (link.readable || link.is_broken());
        // It does not go back to the thread at once: others may have waited for longer, or come first.
        link.waits = has_more && link.is_handshaking();
        let goes_on = has_more && !link.waits;
        self.take_step(step, link, slot, now, out);
        if goes_on {
            self.read(slot, now, out);
        }
    }

    fn handle_hello(&mut self, link: &mut Link, frame: Range<usize>) -> NextStep {
        let hello = Hello::decode(link.payload(frame));
        hello.map_or(NextStep::Close(CloseReason::Malformed), |hello| self.check_hello(link, hello))
    }

    fn read_pass(&mut self, link: &mut Link, now: Timestamp, out: &mut Vec<Event>) -> NextStep {
        if link.throttled.is_some_and(|until| until > now) {
            return if link.is_broken() { NextStep::Close(CloseReason::RateLimitExceeded) } else { NextStep::Keep };
        }
        link.throttled = None;
        link.readable = true;
        let mut bytes = MAX_BYTES_PER_PASS;
        for _ in 0..MAX_FRAMES_PER_PASS {
            if !link.token_bucket.has_token(now) {
                self.counters.throttled += 1;
                if now.since(*link.overloaded_since.get_or_insert(now)) >= MAX_OVERLOAD {
                    return NextStep::Close(CloseReason::RateLimitExceeded);
                }
                link.throttled = Some(link.token_bucket.available_at(FRAMES_AFTER_WAIT));
                break;
            }
            let next = link.next_frame(&mut bytes, &mut self.counters);
            if link.stage != Stage::Established && link.has_output() {
                link.write(&mut self.counters);
            }
            match (next, link.stage, link.peer) {
                (Ok(Next::Frame(frame)), Stage::Established, Some(peer)) => {
                    link.token_bucket.take(now);
                    self.counters.frames_in += 1;
                    let mut bytes = self.spare_buffers.pop().unwrap_or_default();
                    bytes.extend_from_slice(link.payload(frame));
                    out.push(Event::Frame { peer, bytes });
                }
                (Ok(Next::Frame(frame)), Stage::Greeting, _) => return self.handle_hello(link, frame),
                (Ok(Next::Frame(_)), ..) => return NextStep::Close(CloseReason::Malformed),
                (Ok(Next::Blocked), ..) => {
                    link.readable = false;
                    link.overloaded_since = None;
                    break;
                }
                (Ok(Next::BudgetSpent), ..) => break,
                (Err(reason), ..) => return NextStep::Close(reason),
            }
        }
        NextStep::Keep
    }

    /// Checks the peer's Hello: whether it is authentic, and whether this connection is the one to keep.
    fn check_hello(&mut self, link: &mut Link, hello: Hello) -> NextStep {
        if hello.version != PROTOCOL_VERSION {
            return NextStep::Close(CloseReason::VersionMismatch);
        }
        let cluster = self.identity.cluster();
        if hello.cluster != cluster {
            return NextStep::Close(CloseReason::WrongCluster);
        }
        if hello.id == self.own {
            return NextStep::Close(CloseReason::WrongId);
        }
        let Some(certificate) = link.certificate() else { return NextStep::Close(CloseReason::NotAuthenticated) };
        if self.peers.get(hello.id).is_none() && hello.id.0 > self.max_member_id {
            let Some(name) = member_name(certificate, cluster, hello.id) else {
                return NextStep::Close(CloseReason::WrongId);
            };
            self.peers.admit_guest(hello.id, name);
        }
        let Some(peer) = self.peers.get(hello.id) else { return NextStep::Close(CloseReason::UnknownMember) };
        if !is_certificate_of(certificate, cluster, &peer.member) {
            return NextStep::Close(CloseReason::WrongId);
        }
        (link.peer, link.incarnation, link.sequence) = (Some(hello.id), hello.incarnation, hello.sequence);
        if link.dialled {
            return NextStep::Establish;
        }
        if let Some(old) = peer.link.and_then(|slot| self.slots.get(slot)) {
            let newer = link.incarnation != old.incarnation || link.sequence > old.sequence;
            return if newer { NextStep::Establish } else { NextStep::Close(CloseReason::Replaced) };
        }
        let is_greeting = |slot| {
            self.handshakes.is_away(slot)
                || self.slots.get(slot).is_some_and(|attempt| attempt.stage == Stage::Greeting)
        };
        // This node's own attempt is not answered yet. The member with the smaller id waits for it.
        let waits = peer.dial.slot().is_some_and(is_greeting) && self.own < hello.id;
        if waits { NextStep::Park } else { NextStep::Establish }
    }

    /// Holds an incoming connection until this node's own attempt has succeeded or failed.
    fn park(&mut self, mut link: Box<Link>, slot: usize, now: Timestamp, out: &mut Vec<Event>) {
        link.stage = Stage::Parked;
        let peer = link.peer.and_then(|id| self.peers.get_mut(id));
        self.slots.put(slot, link);
        if let Some(older) = peer.and_then(|peer| peer.parked.replace(slot)) {
            self.close_slot(older, CloseReason::Replaced, now, out);
        }
    }

    /// Establishes a connection, and closes every other one to the peer.
    pub(super) fn establish(&mut self, mut link: Box<Link>, slot: usize, id: Id, now: Timestamp, out: &mut Vec<Event>) {
        let Some(peer) = self.peers.get_mut(id) else {
            return self.close_link(link, slot, CloseReason::UnknownMember, now, out);
        };
        let attempt = std::mem::replace(&mut peer.dial, Dial::At(Timestamp::NEVER)).slot();
        let others = [peer.link.take(), peer.parked.take(), attempt];
        for other in others.into_iter().flatten().filter(|other| *other != slot) {
            self.close_slot(other, CloseReason::Replaced, now, out);
        }
        if !link.dialled {
            let hello = self.hello();
            link.own_sequence = self.sequence;
            link.greet(&hello, &mut self.counters);
        }
        if let Some(peer) = self.peers.get_mut(id) {
            // A new connection does not reset the rate limit.
            link.token_bucket = peer.token_bucket.unwrap_or(link.token_bucket);
            peer.link = Some(slot);
            peer.dial = Dial::At(Timestamp::NEVER);
            if !link.dialled {
                peer.failures = peer.failures.min(1);
            }
        }
        link.stage = Stage::Established;
        link.since = now;
        link.readable = true;
        link.set_limit(self.limits.frame);
        self.counters.established += 1;
        let streams = Streams {
            outgoing: stream_number(self.incarnation, link.own_sequence),
            incoming: stream_number(link.incarnation, link.sequence),
        };
        out.push(Event::Up { peer: id, incarnation: link.incarnation, streams });
        self.slots.put(slot, link);
    }

    /// Closes a connection, if there is one.
    pub(super) fn close_slot(&mut self, slot: usize, reason: CloseReason, now: Timestamp, out: &mut Vec<Event>) {
        if let Some(link) = self.slots.take(slot) {
            self.close_link(link, slot, reason, now, out);
        }
    }

    /// Closes a connection that was taken out of its slot, and updates its peer.
    pub(super) fn close_link(
        &mut self,
        mut link: Box<Link>,
        slot: usize,
        reason: CloseReason,
        now: Timestamp,
        out: &mut Vec<Event>,
    ) {
        link.close(&mut self.counters);
        self.wire += link.wire();
        // The socket is closed next, so a failure to deregister does not matter.
        let _ = self.registry.deregister(link.socket());
        self.slots.release(slot);
        self.dirty.retain(|dirty| *dirty != slot);
        self.closing.retain(|(closing, _)| *closing != slot);
        let peer = link.peer.and_then(|id| self.peers.get_mut(id));
        if link.stage == Stage::Established {
            self.counters.count_closed(reason);
            let Some(id) = link.peer else { return };
            out.push(Event::Down { peer: id, reason });
            if let Some(peer) = peer.filter(|peer| peer.link == Some(slot)) {
                peer.link = None;
                peer.token_bucket = Some(link.token_bucket);
                peer.lost(now.since(link.since), reason == CloseReason::Dropped, now, &mut self.jitter);
            }
            return;
        }
        self.counters.count_rejected(reason);
        let (Some(id), Some(peer)) = (link.peer, peer) else { return };
        peer.parked = peer.parked.filter(|parked| *parked != slot);
        if peer.dial.slot() == Some(slot) {
            self.dial_ended(id, link.stage, now, out);
        }
    }
}
