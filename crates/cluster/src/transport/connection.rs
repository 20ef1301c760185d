//! What happens on a connection: reading, the Hello, the end.

use std::time::Duration;

use hustings_protocol::Id;

use super::bucket::Bucket;
use super::counters::Ended;
use super::hello::{Hello, PROTOCOL_VERSION};
use super::link::{Link, Next, Stage};
use super::peer::Dial;
use super::{Event, Transport};
use crate::clock::Moment;
use crate::identity::is_member;

/// So much of one connection is handled in one pass; the others come next.
const BYTES_A_PASS: usize = 64 * 1024;
const FRAMES_A_PASS: usize = 256;
/// A peer that sent too many frames is read again when it may send so many: not for each single one.
const FRAMES_AFTER_WAIT: u32 = 64;
/// A peer that sends too many frames for so long is cut off. As long as its frames fill the buffers of both hosts its
/// end could not be noticed either.
const FLOOD_PATIENCE: Duration = Duration::from_secs(1);

/// What becomes of a connection after a pass, or after its peer's Hello.
enum Fate {
    /// It stays as it is.
    Stays,
    /// It waits for the outcome of this node's own attempt.
    Waits,
    /// Both said Hello.
    Begins,
    /// It ends.
    Ends(Ended),
}

impl Transport {
    pub(super) fn bucket(&self) -> Bucket {
        Bucket::new(self.limits.frames_a_second, self.limits.burst)
    }

    /// An event of a connection.
    pub(super) fn connection_ready(
        &mut self,
        slot: usize,
        event: &mio::event::Event,
        now: Moment,
        out: &mut Vec<Event>,
    ) {
        if self.slots.get(slot).is_some_and(|link| link.stage == Stage::Connecting) {
            self.dial_answered(slot, now, out);
        }
        let Some(link) = self.slots.get_mut(slot) else { return };
        if link.stage == Stage::Connecting {
            return;
        }
        if event.is_writable() {
            link.write(&mut self.counters);
        }
        if event.is_readable() || event.is_read_closed() || event.is_error() {
            link.readable = true;
        }
        // The end of a peer is more urgent than what it wanted to say beyond its share.
        if link.throttled.is_some() && (event.is_read_closed() || event.is_error()) {
            return self.end(slot, Ended::Flood, now, out);
        }
        if link.readable || link.is_broken() {
            self.read(slot, now, out);
        }
    }

    /// ReadIndex what is there, as much as one pass allows.
    pub(super) fn read(&mut self, slot: usize, now: Moment, out: &mut Vec<Event>) {
        let Some(mut link) = self.slots.take(slot) else { return };
        match self.read_pass(&mut link, now, out) {
            Fate::Stays => self.slots.put(slot, link),
            Fate::Waits => self.park(link, slot, now, out),
            Fate::Begins => {
                if let Some(peer) = link.peer {
                    self.establish(link, slot, peer, now, out);
                    // It may have said more than its Hello already.
                    self.read(slot, now, out);
                }
            }
            Fate::Ends(why) => self.finish(link, slot, why, now, out),
        }
    }

    fn read_pass(&mut self, link: &mut Link, now: Moment, out: &mut Vec<Event>) -> Fate {
        if link.throttled.is_some_and(|until| until > now) {
            return if link.is_broken() { Fate::Ends(Ended::Flood) } else { Fate::Stays };
        }
        link.throttled = None;
        link.readable = true;
        let mut bytes = BYTES_A_PASS;
        for _ in 0..FRAMES_A_PASS {
            if !link.bucket.has_one(now) {
                self.counters.throttled += 1;
                if now.since(*link.too_much_since.get_or_insert(now)) >= FLOOD_PATIENCE {
                    return Fate::Ends(Ended::Flood);
                }
                link.throttled = Some(link.bucket.has_at(FRAMES_AFTER_WAIT));
                break;
            }
            let next = link.next_frame(&mut bytes, &mut self.counters);
            if link.stage != Stage::Established && link.has_output() {
                link.write(&mut self.counters);
            }
            match (next, link.stage, link.peer) {
                (Ok(Next::Frame(frame)), Stage::Established, Some(peer)) => {
                    link.bucket.take(now);
                    self.counters.frames_in += 1;
                    let mut bytes = self.spare.pop().unwrap_or_default();
                    bytes.extend_from_slice(link.payload(frame));
                    out.push(Event::Frame { peer, bytes });
                }
                (Ok(Next::Frame(frame)), Stage::Greeting, _) => {
                    let hello = Hello::decode(link.payload(frame));
                    return hello.map_or(Fate::Ends(Ended::Garbage), |hello| self.consider(link, hello));
                }
                (Ok(Next::Frame(_)), ..) => return Fate::Ends(Ended::Garbage),
                (Ok(Next::Nothing), ..) => {
                    link.readable = false;
                    link.too_much_since = None;
                    break;
                }
                (Ok(Next::Later), ..) => break,
                (Err(why), ..) => return Fate::Ends(why),
            }
        }
        Fate::Stays
    }

    /// The peer said who it is: whether that is true, and whether this connection is the one to keep.
    fn consider(&mut self, link: &mut Link, hello: Hello) -> Fate {
        if hello.version != PROTOCOL_VERSION {
            return Fate::Ends(Ended::OtherVersion);
        }
        let cluster = self.identity.cluster();
        if hello.cluster != cluster {
            return Fate::Ends(Ended::OtherCluster);
        }
        if hello.id == self.own {
            return Fate::Ends(Ended::OtherId);
        }
        let Some(peer) = self.peers.get(hello.id) else { return Fate::Ends(Ended::Stranger) };
        let Some(certificate) = link.certificate() else { return Fate::Ends(Ended::NotAuthenticated) };
        if !is_member(certificate, cluster, &peer.member) {
            return Fate::Ends(Ended::OtherId);
        }
        (link.peer, link.incarnation, link.turn) = (Some(hello.id), hello.incarnation, hello.turn);
        if link.dialled {
            return Fate::Begins;
        }
        if let Some(old) = peer.link.and_then(|slot| self.slots.get(slot)) {
            let newer = link.incarnation != old.incarnation || link.turn > old.turn;
            return if newer { Fate::Begins } else { Fate::Ends(Ended::Replaced) };
        }
        let attempt = peer.dial.slot().and_then(|slot| self.slots.get(slot));
        match attempt {
            // Not answered yet, so the peer cannot have heard of it: the one at hand is better.
            Some(attempt) if attempt.stage == Stage::Greeting && self.own < hello.id => Fate::Waits,
            _ => Fate::Begins,
        }
    }

    /// Keeps a connection of a peer until this node's own attempt has succeeded or failed.
    fn park(&mut self, mut link: Box<Link>, slot: usize, now: Moment, out: &mut Vec<Event>) {
        link.stage = Stage::Parked;
        let peer = link.peer.and_then(|id| self.peers.get_mut(id));
        self.slots.put(slot, link);
        if let Some(older) = peer.and_then(|peer| peer.parked.replace(slot)) {
            self.end(older, Ended::Replaced, now, out);
        }
    }

    /// Makes a connection the one with this peer. What there was before goes.
    pub(super) fn establish(&mut self, mut link: Box<Link>, slot: usize, id: Id, now: Moment, out: &mut Vec<Event>) {
        let Some(peer) = self.peers.get_mut(id) else {
            return self.finish(link, slot, Ended::Stranger, now, out);
        };
        let attempt = std::mem::replace(&mut peer.dial, Dial::At(Moment::NEVER)).slot();
        let others = [peer.link.take(), peer.parked.take(), attempt];
        for other in others.into_iter().flatten().filter(|other| *other != slot) {
            self.end(other, Ended::Replaced, now, out);
        }
        if !link.dialled {
            let hello = self.hello();
            link.greet(&hello, &mut self.counters);
        }
        if let Some(peer) = self.peers.get_mut(id) {
            // A new connection does not make a peer's share larger.
            link.bucket = peer.bucket.unwrap_or(link.bucket);
            peer.link = Some(slot);
            peer.dial = Dial::At(Moment::NEVER);
            if !link.dialled {
                peer.failures = peer.failures.min(1);
            }
        }
        link.stage = Stage::Established;
        link.since = now;
        link.readable = true;
        link.set_limit(self.limits.frame);
        self.counters.established += 1;
        out.push(Event::Up { peer: id, incarnation: link.incarnation });
        self.slots.put(slot, link);
    }

    /// Ends a connection, if there is one.
    pub(super) fn end(&mut self, slot: usize, why: Ended, now: Moment, out: &mut Vec<Event>) {
        if let Some(link) = self.slots.take(slot) {
            self.finish(link, slot, why, now, out);
        }
    }

    /// Ends a connection that has been taken out of its place, and sees to what follows from that.
    fn finish(&mut self, mut link: Box<Link>, slot: usize, why: Ended, now: Moment, out: &mut Vec<Event>) {
        link.say_goodbye(&mut self.counters);
        self.wire += link.wire();
        // It is closed right after this; that it cannot be deregistered changes nothing.
        let _ = self.registry.deregister(link.socket());
        self.slots.release(slot);
        self.dirty.retain(|dirty| *dirty != slot);
        self.doomed.retain(|(doomed, _)| *doomed != slot);
        let peer = link.peer.and_then(|id| self.peers.get_mut(id));
        if link.stage == Stage::Established {
            self.counters.count_ended(why);
            let Some(id) = link.peer else { return };
            out.push(Event::Down { peer: id, why });
            if let Some(peer) = peer.filter(|peer| peer.link == Some(slot)) {
                peer.link = None;
                peer.bucket = Some(link.bucket);
                peer.lost(now.since(link.since), why == Ended::Dropped, now, &mut self.jitter);
            }
            return;
        }
        self.counters.count_refused(why);
        let (Some(id), Some(peer)) = (link.peer, peer) else { return };
        peer.parked = peer.parked.filter(|parked| *parked != slot);
        if peer.dial.slot() == Some(slot) {
            self.dial_ended(id, link.stage, now, out);
        }
    }
}
