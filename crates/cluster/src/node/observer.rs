//! What a node counts and remembers of its messages and events, for metrics and traces.
//!
//! A message costs a few additions and a slot of a ring that is never reallocated. Texts are made when somebody asks.

mod clocks;
mod ring;

use std::collections::BTreeMap;

use hustings_protocol::Id;

pub(super) use self::clocks::PeerClocks;
pub(super) use self::ring::Happened;
use self::ring::{MessageHeader, Ring};
use crate::api::{MessageCount, PeerClock, Trace};
use crate::clock::Timestamp;
use crate::transport::{CloseReason, Streams};
use crate::wire::{Message, MessageKind};

/// How many records one page of a trace has at most. A page is much shorter than the longest line of the socket.
const MAX_PAGE_RECORDS: usize = 1_024;

/// The messages and events of a node.
pub(super) struct Observer {
    /// How many messages of each kind were sent.
    sent: [u64; MessageKind::ALL.len()],
    /// How many messages of each kind were received.
    received: [u64; MessageKind::ALL.len()],
    streams: BTreeMap<Id, PeerStreams>,
    ring: Ring,
    pub(super) clocks: PeerClocks,
}

/// The messages on the present connection to a peer. Some may be overtaken by others, so each direction has two
/// streams, in each of which messages stay in order.
struct PeerStreams {
    numbers: Streams,
    /// How many messages were sent: those that stay in order among all, and those that may be overtaken.
    sent: [u64; 2],
    received: [u64; 2],
}

/// Counts a message of a stream. Returns the number of the stream, whose last bit says whether its messages may be
/// overtaken, and the position of the message in it.
fn count(stream: u64, counts: &mut [u64; 2], message: &Message) -> (u64, u64) {
    let is_bulk = message.is_bulk();
    let count = &mut counts[usize::from(is_bulk)];
    *count += 1;
    (stream & !1 | u64::from(is_bulk), *count - 1)
}

impl Observer {
    pub(super) fn new() -> Self {
        Observer {
            sent: [0; MessageKind::ALL.len()],
            received: [0; MessageKind::ALL.len()],
            streams: BTreeMap::new(),
            ring: Ring::new(),
            clocks: PeerClocks::default(),
        }
    }

    /// A connection to a peer was established.
    pub(super) fn handle_up(&mut self, peer: Id, incarnation: u64, numbers: Streams, now: Timestamp) {
        self.streams.insert(peer, PeerStreams { numbers, sent: [0; 2], received: [0; 2] });
        self.clocks.handle_up(peer, incarnation, now);
        self.ring.push(now, Happened::Connected(peer));
    }

    /// The connection to a peer ended.
    pub(super) fn handle_down(&mut self, peer: Id, reason: CloseReason, now: Timestamp) {
        self.streams.remove(&peer);
        self.clocks.handle_down(peer);
        self.ring.push(now, Happened::Disconnected(peer, reason));
    }

    /// The members changed: forgets the clocks of those that are gone.
    pub(super) fn handle_members(&mut self, is_member: impl Fn(Id) -> bool) {
        self.clocks.retain(is_member);
    }

    /// A message was queued for a peer.
    pub(super) fn record_sent(&mut self, peer: Id, message: &Message, bytes: usize, now: Timestamp) {
        let Some(streams) = self.streams.get_mut(&peer) else { return };
        let (stream, number) = count(streams.numbers.outgoing, &mut streams.sent, message);
        let header = MessageHeader::new(peer, message, bytes, stream, number);
        self.sent[header.kind as usize] += 1;
        self.ring.push(now, Happened::Sent(header));
    }

    /// A message arrived from a peer. After one that is invalid, it is not known which messages follow it in which
    /// stream: they get the number of a stream that no sender has.
    pub(super) fn record_received(&mut self, peer: Id, message: Option<&Message>, bytes: usize, now: Timestamp) {
        let Some(streams) = self.streams.get_mut(&peer) else { return };
        let Some(message) = message else { return streams.numbers.incoming = 0 };
        let (stream, number) = count(streams.numbers.incoming, &mut streams.received, message);
        let header = MessageHeader::new(peer, message, bytes, stream, number);
        self.received[header.kind as usize] += 1;
        self.ring.push(now, Happened::Received(header));
    }

    /// Something happened on this node.
    pub(super) fn record(&mut self, happened: Happened, now: Timestamp) {
        self.ring.push(now, happened);
    }

    /// How many messages there were, by kind.
    pub(super) fn message_counts(&self) -> Vec<MessageCount> {
        let count = |(place, kind): (usize, &MessageKind)| MessageCount {
            kind: kind.name().to_string(),
            sent: self.sent[place],
            received: self.received[place],
        };
        MessageKind::ALL.iter().enumerate().map(count).collect()
    }

    /// Completes a page of a trace, which begins with the record `page.next`.
    pub(super) fn complete_page(&self, page: &mut Trace, name: impl Fn(Id) -> String, now: Timestamp) {
        let clock = |(peer, estimate): (Id, clocks::Estimate)| PeerClock {
            peer: name(peer),
            offset_ns: estimate.offset_ns,
            error_ns: estimate.error_ns,
            rtt_ns: estimate.rtt_ns,
            samples: estimate.samples,
        };
        (page.now, page.first, page.end) = (now, self.ring.first(), self.ring.end());
        page.clocks = self.clocks.estimates(now).map(clock).collect();
        page.records = self.ring.since(page.next).take(MAX_PAGE_RECORDS).map(|record| record.to_api(&name)).collect();
        page.next = page.records.last().map_or(page.end, |record| record.sequence + 1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::api::{MAX_LINE_BYTES, Reply, TraceEvent};
    use crate::wire::{Candidacy, Claims};

    fn empty_page(next: u64) -> Trace {
        Trace {
            cluster: "c".repeat(63),
            node: "n".repeat(63),
            incarnation: "f".repeat(16),
            now: Timestamp(0),
            now_unix_ms: u64::MAX,
            first: 0,
            next,
            end: 0,
            clocks: Vec::new(),
            records: Vec::new(),
        }
    }

    fn connected() -> Observer {
        let mut observer = Observer::new();
        observer.handle_up(Id(2), 7, Streams { outgoing: 11, incoming: 22 }, Timestamp(1));
        observer
    }

    #[test]
    fn messages_are_numbered_by_their_connection_and_direction() {
        let mut observer = connected();
        let bulk = Message::BlobRequest { blob: 1, piece: 1 };
        observer.record_sent(Id(2), &Message::Leave, 1, Timestamp(2));
        observer.record_sent(Id(2), &bulk, 1, Timestamp(2));
        observer.record_sent(Id(2), &Message::Leave, 1, Timestamp(2));
        observer.record_received(Id(2), Some(&Message::Removed), 1, Timestamp(3));
        observer.record_received(Id(2), None, 1, Timestamp(4));
        observer.record_received(Id(2), Some(&Message::Leave), 1, Timestamp(5));
        observer.record_sent(Id(3), &Message::Leave, 1, Timestamp(6));
        let mut page = empty_page(0);
        observer.complete_page(&mut page, |id| format!("n{id}"), Timestamp(9));
        let numbered = page.records.iter().filter_map(|record| match &record.event {
            TraceEvent::Sent(message) => Some(("sent", message.stream, message.number, message.kind.as_str())),
            TraceEvent::Received(message) => Some(("received", message.stream, message.number, message.kind.as_str())),
            _ => None,
        });
        let numbered: Vec<_> = numbered.collect();
        assert_eq!(
            numbered,
            [
                ("sent", 10, 0, "leave"),
                ("sent", 11, 0, "blob-request"),
                ("sent", 10, 1, "leave"),
                ("received", 22, 0, "removed"),
                ("received", 0, 1, "leave")
            ],
            "what follows an invalid message matches nothing, and a message without a connection is not sent"
        );
        let counts = observer.message_counts();
        let leave = counts.iter().find(|count| count.kind == "leave").expect("every kind is listed");
        assert_eq!((leave.sent, leave.received), (2, 1));
    }

    #[test]
    fn the_largest_page_fits_into_a_line() {
        let mut observer = connected();
        let office: crate::core::table::OfficeName = "x".repeat(63).into();
        let removed = vec![office];
        let claims = Message::Claims(Claims { replaces_all: false, added: Vec::new(), removed });
        for _ in 0..MAX_PAGE_RECORDS * 2 {
            observer.record_sent(Id(2), &claims, usize::MAX, Timestamp(u64::MAX));
        }
        let mut page = empty_page(0);
        observer.complete_page(&mut page, |_| "p".repeat(63), Timestamp(u64::MAX));
        assert_eq!((page.records.len(), page.has_more()), (MAX_PAGE_RECORDS, true));
        let line = serde_json::to_string(&Reply::Trace(Box::new(page))).expect("plain data");
        assert!(line.len() < MAX_LINE_BYTES / 2, "{}", line.len());
    }

    #[test]
    fn pages_cover_everything_that_is_remembered() {
        let mut observer = connected();
        let candidacy = Candidacy {
            incarnation: 1,
            store_id: 1,
            disk: Default::default(),
            health: 1,
            disk_fails: false,
            digest: Default::default(),
            reads: 1,
            version: 1,
            base: None,
            added: Vec::new(),
            removed: Vec::new(),
        };
        let message = Message::Candidacy(candidacy);
        (0..10_000).for_each(|time| observer.record_sent(Id(2), &message, 9, Timestamp(time)));
        let mut trace = empty_page(0);
        observer.complete_page(&mut trace, |id| id.to_string(), Timestamp(0));
        while trace.has_more() {
            let mut page = empty_page(trace.next);
            observer.complete_page(&mut page, |id| id.to_string(), Timestamp(0));
            trace.append(page);
        }
        let sequences: Vec<u64> = trace.records.iter().map(|record| record.sequence).collect();
        assert_eq!(sequences, (10_001 - 4_096..10_001).collect::<Vec<u64>>());
    }
}
