//! TLS handshakes, on a thread of their own.
//!
//! A step of a handshake takes up to a millisecond of signatures, and strangers can begin as many as they like. The
//! caller's thread has heartbeats to send. So it hands a connection that is in a handshake over together with its TLS
//! state when something has arrived on it, and takes it back when that has been read and answered. Meanwhile its slot
//! stays reserved. Few are handed over at once; the others wait in their slots, where they can be displaced and time
//! out, and this node's own attempts and members come first.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread;

use mio::unix::pipe;
use mio::{Interest, Registry, Token};

use super::connection::MAX_BYTES_PER_PASS;
use super::counters::{CloseReason, Counters};
use super::link::{Link, Next};
use super::listener::network;
use super::{Event, Transport};
use crate::clock::Timestamp;

/// How many connections are handed over at once: enough that the thread always has work.
pub(super) const MAX_AT_ONCE: usize = 2;

/// A connection that was handed back, with what the thread has found on it.
pub(super) struct Stepped {
    pub(super) slot: usize,
    pub(super) link: Box<Link>,
    pub(super) next: Result<Next, CloseReason>,
    /// Whether an event has announced more meanwhile.
    pub(super) is_ready: bool,
}

/// A connection that is with the thread.
#[derive(Clone, Copy, Debug)]
struct Away {
    dialled: bool,
    is_ready: bool,
}

/// What the thread has done.
struct Done {
    slot: usize,
    link: Box<Link>,
    next: Result<Next, CloseReason>,
    /// The bytes that it received and sent.
    bytes: (u64, u64),
}

/// The thread, and the connections that are with it. The thread ends with this value.
pub(super) struct Handshakes {
    begin: Sender<(usize, Box<Link>)>,
    done: Receiver<Done>,
    notified: pipe::Receiver,
    away: BTreeMap<usize, Away>,
    #[cfg(test)]
    pub(super) gates: std::sync::Arc<Gates>,
}

/// Where a test holds the thread: before it looks at a connection, and before it hands it back.
#[cfg(test)]
#[derive(Debug, Default)]
pub(super) struct Gates {
    pub(super) before: std::sync::Mutex<()>,
    pub(super) after: std::sync::Mutex<()>,
    /// How many steps were made, and how many connections were handed back.
    pub(super) steps: std::sync::atomic::AtomicUsize,
    pub(super) returned: std::sync::atomic::AtomicUsize,
}

impl Handshakes {
    /// Starts the thread, which makes this token ready when it hands a connection back.
    pub(super) fn start(registry: &Registry, token: Token) -> io::Result<Self> {
        let (notify, mut notified) = pipe::new()?;
        registry.register(&mut notified, token, Interest::READABLE)?;
        let (begin, begun) = channel::<(usize, Box<Link>)>();
        let (finish, done) = channel();
        #[cfg(test)]
        let (gates, held) = {
            let gates = std::sync::Arc::new(Gates::default());
            (gates.clone(), gates)
        };
        let work = move || {
            for (slot, mut link) in begun {
                #[cfg(test)]
                drop(held.before.lock());
                let mut counters = Counters::default();
                let next = link.next_frame(&mut { MAX_BYTES_PER_PASS }, &mut counters);
                link.write(&mut counters);
                #[cfg(test)]
                {
                    held.steps.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                    drop(held.after.lock());
                }
                let bytes = (counters.bytes_in, counters.bytes_out);
                if finish.send(Done { slot, link, next, bytes }).is_err() {
                    return;
                }
                #[cfg(test)]
                held.returned.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                // A full pipe notifies already; a closed one has no reader.
                let _ = (&notify).write(&[1]);
            }
        };
        thread::Builder::new().name("handshakes".to_owned()).stack_size(512 * 1024).spawn(work)?;
        let away = BTreeMap::new();
        #[cfg(test)]
        return Ok(Handshakes { begin, done, notified, away, gates });
        #[cfg(not(test))]
        Ok(Handshakes { begin, done, notified, away })
    }

    pub(super) fn has_room(&self) -> bool {
        self.away.len() < MAX_AT_ONCE
    }

    /// Hands a connection over. Returns it if the thread is gone.
    pub(super) fn begin(&mut self, slot: usize, link: Box<Link>) -> Result<(), Box<Link>> {
        self.away.insert(slot, Away { dialled: link.dialled, is_ready: false });
        self.begin.send((slot, link)).map_err(|unsent| {
            self.away.remove(&slot);
            unsent.0.1
        })
    }

    pub(super) fn is_away(&self, slot: usize) -> bool {
        self.away.contains_key(&slot)
    }

    /// How many connections are with the thread.
    #[cfg(test)]
    pub(super) fn away(&self) -> usize {
        self.away.len()
    }

    /// On how many of them something has arrived meanwhile.
    #[cfg(test)]
    pub(super) fn ready(&self) -> usize {
        self.away.values().filter(|away| away.is_ready).count()
    }

    /// How many incoming connections are with the thread.
    pub(super) fn incoming(&self) -> usize {
        self.away.values().filter(|away| !away.dialled).count()
    }

    /// Something has arrived on a connection that is with the thread, perhaps after the thread has looked.
    pub(super) fn note_event(&mut self, slot: usize) {
        if let Some(away) = self.away.get_mut(&slot) {
            away.is_ready = true;
        }
    }

    /// Notices that connections were handed back.
    fn drain_notices(&mut self) {
        let mut buffer = [0; 64];
        while matches!(self.notified.read(&mut buffer), Ok(count) if count > 0) {}
    }

    /// Takes one connection that was handed back. The others still count as away, so that what is decided about this
    /// one takes them into account.
    fn take_done(&mut self, counters: &mut Counters) -> Option<Stepped> {
        let Done { slot, link, next, bytes } = self.done.try_recv().ok()?;
        counters.bytes_in += bytes.0;
        counters.bytes_out += bytes.1;
        let is_ready = self.away.remove(&slot).is_some_and(|away| away.is_ready);
        Some(Stepped { slot, link, next, is_ready })
    }
}

impl Transport {
    /// Hands a connection to the thread, or lets it wait for that.
    pub(super) fn shake_hands(&mut self, mut link: Box<Link>, slot: usize, now: Timestamp, out: &mut Vec<Event>) {
        if !self.handshakes.has_room() {
            (link.readable, link.waits) = (true, true);
            return self.slots.put(slot, link);
        }
        link.waits = false;
        if let Err(link) = self.handshakes.begin(slot, link) {
            self.close_link(link, slot, CloseReason::NetworkError, now, out);
        }
    }

    /// Takes back what the thread is done with, and hands others over.
    pub(super) fn continue_handshakes(&mut self, now: Timestamp, out: &mut Vec<Event>) {
        self.handshakes.drain_notices();
        // There were not more at that moment. Those that come back meanwhile have a notice of their own.
        for _ in 0..MAX_AT_ONCE {
            let Some(stepped) = self.handshakes.take_done(&mut self.counters) else { break };
            self.handle_stepped(stepped, now, out);
        }
        while self.handshakes.has_room()
            && let Some(slot) = self.next_handshake()
        {
            self.read(slot, now, out);
        }
    }

    /// Of the connections that wait, the one whose turn it is: this node's own attempts first, then those from hosts of
    /// members, and of equals the oldest.
    pub(super) fn next_handshake(&self) -> Option<usize> {
        let mut waiting = self.slots.numbered().filter(|(_, link)| link.waits).peekable();
        waiting.peek()?;
        let members = self.peers.hosts();
        let turn = |link: &Link| (link.dialled, members.contains(&network(link.host)), Reverse(link.since));
        waiting.max_by_key(|(_, link)| turn(link)).map(|(slot, _)| slot)
    }
}
