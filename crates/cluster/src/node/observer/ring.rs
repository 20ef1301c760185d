//! The last messages and events, in a ring of fixed size.

use std::time::Duration;

use hustings_protocol::Id;

use crate::api::{TraceEvent, TraceRecord, TracedMessage};
use crate::clock::Timestamp;
use crate::core::table::OfficeName;
use crate::transport::CloseReason;
use crate::wire::{Message, MessageKind, Subject};

/// How many records are remembered.
const CAPACITY: usize = 4_096;

/// The last records.
pub(super) struct Ring {
    /// Allocated once. A record with sequence number *s* is at *s* modulo the capacity.
    records: Vec<(Timestamp, Happened)>,
    end: u64,
}

/// What happened.
#[derive(Clone, Debug)]
pub(in crate::node) enum Happened {
    Sent(MessageHeader),
    Received(MessageHeader),
    Connected(Id),
    Disconnected(Id, CloseReason),
    /// This node holds an office from now on, with this token.
    Held(OfficeName, u64),
    /// This node no longer holds an office, with this token.
    Lost(OfficeName, u64),
    /// The arbiter's leader and its term.
    ArbiterLeader(Option<Id>, u64),
    /// This node ran late.
    Late(Duration),
}

/// What is remembered of a message.
#[derive(Clone, Debug)]
pub(in crate::node) struct MessageHeader {
    pub(super) kind: MessageKind,
    peer: Id,
    bytes: u32,
    stream: u64,
    number: u64,
    subject: Subject,
}

impl MessageHeader {
    pub(super) fn new(peer: Id, message: &Message, bytes: usize, stream: u64, number: u64) -> Self {
        let bytes = u32::try_from(bytes).unwrap_or(u32::MAX);
        MessageHeader { kind: message.kind(), peer, bytes, stream, number, subject: message.subject() }
    }

    fn to_api(&self, name: &impl Fn(Id) -> String) -> TracedMessage {
        let known = |number: u64| Some(number).filter(|number| *number != 0);
        TracedMessage {
            peer: name(self.peer),
            kind: self.kind.name().to_string(),
            stream: self.stream,
            number: self.number,
            bytes: self.bytes.into(),
            office: self.subject.office.as_deref().map(str::to_string),
            term: known(self.subject.term),
            token: known(self.subject.token),
        }
    }
}

/// A record with its sequence number.
pub(super) struct Record<'a> {
    sequence: u64,
    at: Timestamp,
    happened: &'a Happened,
}

impl Record<'_> {
    pub(super) fn to_api(&self, name: &impl Fn(Id) -> String) -> TraceRecord {
        let event = match self.happened {
            Happened::Sent(header) => TraceEvent::Sent(header.to_api(name)),
            Happened::Received(header) => TraceEvent::Received(header.to_api(name)),
            Happened::Connected(peer) => TraceEvent::Connected { peer: name(*peer) },
            Happened::Disconnected(peer, reason) => {
                TraceEvent::Disconnected { peer: name(*peer), reason: reason.to_string() }
            }
            Happened::Held(office, token) => TraceEvent::Held { office: office.to_string(), token: *token },
            Happened::Lost(office, token) => TraceEvent::Lost { office: office.to_string(), token: *token },
            Happened::ArbiterLeader(leader, term) => {
                TraceEvent::ArbiterLeader { leader: leader.map(name), term: *term }
            }
            Happened::Late(by) => TraceEvent::Late { by_ns: by.as_nanos() as u64 },
        };
        TraceRecord { sequence: self.sequence, at: self.at, event }
    }
}

impl Ring {
    pub(super) fn new() -> Self {
        Ring { records: Vec::with_capacity(CAPACITY), end: 0 }
    }

    pub(super) fn push(&mut self, at: Timestamp, happened: Happened) {
        let place = (self.end % CAPACITY as u64) as usize;
        match self.records.get_mut(place) {
            Some(oldest) => *oldest = (at, happened),
            None => self.records.push((at, happened)),
        }
        self.end += 1;
    }

    /// The sequence number of the oldest record.
    pub(super) fn first(&self) -> u64 {
        self.end - self.records.len() as u64
    }

    /// The sequence number that the next record gets.
    pub(super) fn end(&self) -> u64 {
        self.end
    }

    /// The records from this sequence number on, oldest first.
    pub(super) fn since(&self, sequence: u64) -> impl Iterator<Item = Record<'_>> {
        (sequence.max(self.first())..self.end).filter_map(|sequence| {
            let (at, happened) = self.records.get((sequence % CAPACITY as u64) as usize)?;
            Some(Record { sequence, at: *at, happened })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_ring_forgets_the_oldest_records_and_keeps_its_memory() {
        let mut ring = Ring::new();
        let memory = ring.records.as_ptr();
        for time in 0..3 * CAPACITY as u64 + 5 {
            ring.push(Timestamp(time), Happened::Connected(Id(1)));
        }
        assert_eq!((ring.first(), ring.end()), (2 * CAPACITY as u64 + 5, 3 * CAPACITY as u64 + 5));
        assert_eq!(ring.records.as_ptr(), memory);
        assert!(ring.since(0).all(|record| record.at.0 == record.sequence));
        assert_eq!(ring.since(0).count(), CAPACITY);
        assert_eq!(ring.since(ring.end() - 2).count(), 2);
        assert_eq!(ring.since(u64::MAX).count(), 0);
    }
}
