//! Reads that wait until the arbiter confirms that the node's table is current.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::api::Request;
use crate::clock::Timestamp;
use crate::core::ClientId;
use crate::core::normalise::Normalise;
use crate::timing::Timing;

/// How many reads may be pending. Further ones are answered at once, as not current.
const MAX_PENDING: usize = 20_000;
/// How much may be pending for one client, counted in reads of one office.
const MAX_PENDING_PER_CLIENT: usize = 2_560;
/// The weight of a read of all offices.
const FULL_READ_WEIGHT: usize = 512;

/// Who wants to read.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) enum Reader {
    /// A client, with its request.
    Client(ClientId, Request),
    /// All clients that watch.
    Watchers,
}

impl Reader {
    /// The client, and how much its read weighs.
    fn weight(&self) -> Option<(ClientId, usize)> {
        match self {
            Reader::Client(client, Request::Status | Request::Offices { .. } | Request::Watch { office: None }) => {
                Some((*client, FULL_READ_WEIGHT))
            }
            Reader::Client(client, _) => Some((*client, 1)),
            Reader::Watchers => None,
        }
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct PendingRead {
    number: u64,
    reader: Reader,
    deadline: Timestamp,
}

/// Reads that wait for confirmation, in ascending order of their numbers.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Reads {
    last_number: u64,
    pending: VecDeque<PendingRead>,
    weights: BTreeMap<ClientId, usize>,
    has_watchers: bool,
    /// When the request is repeated, because it may be lost or the coordinator may have changed.
    retry_at: Timestamp,
}

impl Reads {
    pub(super) fn new(incarnation: u64) -> Self {
        Reads { last_number: incarnation / 2, ..Reads::default() }
    }

    /// Begins a read. Returns its number.
    pub(super) fn begin(&mut self, reader: Reader, now: Timestamp, timing: &Timing) -> u64 {
        self.last_number += 1;
        // Watchers may have been shown a holder that is no longer current, so they wait only for a heartbeat interval.
        let is_watchers = matches!(reader, Reader::Watchers);
        let deadline = now + if is_watchers { timing.heartbeat } else { timing.lease };
        self.has_watchers |= is_watchers;
        if let Some((client, weight)) = reader.weight() {
            *self.weights.entry(client).or_default() += weight;
        }
        if self.pending.is_empty() {
            self.retry_at = now + timing.heartbeat;
        }
        self.pending.push_back(PendingRead { number: self.last_number, reader, deadline });
        self.last_number
    }

    pub(super) fn last_number(&self) -> u64 {
        self.last_number
    }

    pub(super) fn is_full(&self) -> bool {
        self.pending.len() >= MAX_PENDING
    }

    /// Whether too much is pending for a client.
    pub(super) fn is_busy(&self, client: ClientId) -> bool {
        self.weights.get(&client).is_some_and(|weight| *weight > MAX_PENDING_PER_CLIENT)
    }

    /// Whether a client waits for a read.
    pub(super) fn has_pending(&self, client: ClientId) -> bool {
        self.weights.contains_key(&client)
    }

    /// Whether a read for watchers is pending.
    pub(super) fn has_watchers(&self) -> bool {
        self.has_watchers
    }

    /// Drops the reads of a client whose connection has ended.
    pub(super) fn remove_client(&mut self, client: ClientId) {
        if self.weights.remove(&client).is_some() {
            self.pending.retain(|pending| pending.reader.weight().is_none_or(|(other, _)| other != client));
        }
    }

    /// The next read with at most this number.
    pub(super) fn take_confirmed(&mut self, number: u64) -> Option<Reader> {
        let pending = self.pending.pop_front_if(|pending| pending.number <= number)?;
        Some(self.removed(pending))
    }

    /// The next read whose time is over.
    pub(super) fn take_expired(&mut self, now: Timestamp) -> Option<Reader> {
        // Reads of watchers have shorter deadlines than the others, so the first is not always the next to expire.
        let at = self.pending.iter().position(|pending| pending.deadline <= now)?;
        let pending = self.pending.remove(at)?;
        Some(self.removed(pending))
    }

    fn removed(&mut self, pending: PendingRead) -> Reader {
        match pending.reader.weight() {
            Some((client, weight)) => {
                if let Some(total) = self.weights.get_mut(&client) {
                    *total -= weight;
                    if *total == 0 {
                        self.weights.remove(&client);
                    }
                }
            }
            None => self.has_watchers = false,
        }
        pending.reader
    }

    /// Whether the request must be repeated now.
    pub(super) fn take_retry(&mut self, now: Timestamp, interval: Duration) -> bool {
        let is_due = !self.pending.is_empty() && self.retry_at <= now;
        if is_due {
            self.retry_at = now + interval;
        }
        is_due
    }

    pub(super) fn next_timeout(&self) -> Timestamp {
        let Some(first) = self.pending.front() else { return Timestamp::NEVER };
        let watchers = if self.has_watchers {
            self.pending.iter().map(|pending| pending.deadline).min().unwrap_or(Timestamp::NEVER)
        } else {
            Timestamp::NEVER
        };
        first.deadline.min(self.retry_at).min(watchers)
    }
}

impl Normalise for Reads {
    fn normalise(&mut self, now: Timestamp) {
        let Reads { pending, retry_at, last_number: _, weights: _, has_watchers: _ } = self;
        pending.iter_mut().for_each(|read| read.deadline.normalise(now));
        retry_at.normalise(now);
    }
}
