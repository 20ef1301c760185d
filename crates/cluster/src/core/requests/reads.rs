//! Reads that wait until the arbiter confirms that the node's table is current.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use crate::api::{Effort, Request};
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
/// The weight of a read of a part of a state: up to 256 KiB are copied and put into text.
const BYTES_WEIGHT: usize = 32;
/// Reads of about this weight are answered in one turn.
const MAX_ANSWERED_PER_TURN: usize = 512;

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
        let Reader::Client(client, request) = self else { return None };
        let weight = match request.effort() {
            Effort::Small => 1,
            Effort::Bytes => BYTES_WEIGHT,
            Effort::Offices | Effort::Everything => FULL_READ_WEIGHT,
        };
        Some((*client, weight))
    }
}

#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct PendingRead {
    number: u64,
    reader: Reader,
    deadline: Timestamp,
}

/// Reads that wait for confirmation.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Default)]
pub(super) struct Reads {
    last_number: u64,
    /// The number that the arbiter was last asked to confirm. It confirms those before it as well.
    asked: u64,
    /// Up to which number reads may be answered.
    confirmed: u64,
    /// Those of clients, in ascending order of their numbers and deadlines.
    pending: VecDeque<PendingRead>,
    weights: BTreeMap<ClientId, usize>,
    /// The one for watchers, which has a shorter deadline.
    watchers: Option<PendingRead>,
    /// How much more may be answered in this turn.
    left: usize,
    /// When the request is repeated, because it may be lost or the coordinator may have changed.
    retry_at: Timestamp,
}

impl Reads {
    pub(super) fn new(incarnation: u64) -> Self {
        let last_number = incarnation / 2;
        Reads { last_number, asked: last_number, confirmed: last_number, ..Reads::default() }
    }

    /// Begins a read. [`Reads::take_question`] tells what to ask the arbiter.
    pub(super) fn begin(&mut self, reader: Reader, now: Timestamp, timing: &Timing) {
        if self.is_empty() {
            self.retry_at = now + timing.heartbeat;
        }
        self.last_number += 1;
        let number = self.last_number;
        match reader.weight() {
            Some((client, weight)) => {
                *self.weights.entry(client).or_default() += weight;
                self.pending.push_back(PendingRead { number, reader, deadline: now + timing.lease });
            }
            // They may have been shown a holder that is no longer current, so they wait only for a heartbeat interval.
            None => self.watchers = Some(PendingRead { number, reader, deadline: now + timing.heartbeat }),
        }
    }

    fn is_empty(&self) -> bool {
        self.pending.is_empty() && self.watchers.is_none()
    }

    /// The number that the arbiter must be asked to confirm, if any reads have begun since it was last asked: many
    /// reads of one turn are one question.
    pub(super) fn take_question(&mut self) -> Option<u64> {
        (self.asked < self.last_number).then(|| {
            self.asked = self.last_number;
            self.asked
        })
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
        self.watchers.is_some()
    }

    /// Drops the reads of a client whose connection has ended.
    pub(super) fn remove_client(&mut self, client: ClientId) {
        if self.weights.remove(&client).is_some() {
            self.pending.retain(|pending| pending.reader.weight().is_none_or(|(other, _)| other != client));
        }
    }

    /// The reads up to this number may be answered.
    pub(super) fn confirm(&mut self, number: u64) {
        self.confirmed = self.confirmed.max(number.min(self.last_number));
    }

    /// A turn begins, in which a bounded number of reads is answered.
    pub(super) fn begin_turn(&mut self) {
        self.left = MAX_ANSWERED_PER_TURN;
    }

    /// The next read that is confirmed, or whose time is over, and whether it is confirmed.
    pub(super) fn take_ready(&mut self, now: Timestamp) -> Option<(Reader, bool)> {
        if self.left == 0 {
            return None;
        }
        let confirmed = self.confirmed;
        let is_ready = |pending: &mut PendingRead| pending.number <= confirmed || pending.deadline <= now;
        let ready = self.watchers.take_if(is_ready).or_else(|| self.pending.pop_front_if(is_ready))?;
        let weight = self.removed(&ready.reader);
        self.left = self.left.saturating_sub(weight);
        Some((ready.reader, ready.number <= confirmed))
    }

    /// Returns how much it weighs.
    fn removed(&mut self, reader: &Reader) -> usize {
        let Some((client, weight)) = reader.weight() else { return 0 };
        if let Some(total) = self.weights.get_mut(&client) {
            *total -= weight;
            if *total == 0 {
                self.weights.remove(&client);
            }
        }
        weight
    }

    /// Whether the request must be repeated now.
    pub(super) fn take_retry(&mut self, now: Timestamp, interval: Duration) -> bool {
        let is_due = !self.is_empty() && self.retry_at <= now;
        if is_due {
            self.retry_at = now + interval;
        }
        is_due
    }

    pub(super) fn next_timeout(&self, now: Timestamp) -> Timestamp {
        let due = |pending: &PendingRead| match pending.number <= self.confirmed {
            // It was left over for the next turn.
            true => now,
            false => pending.deadline.min(self.retry_at),
        };
        self.pending.front().into_iter().chain(&self.watchers).map(due).min().unwrap_or(Timestamp::NEVER)
    }
}

impl Normalise for Reads {
    fn normalise(&mut self, now: Timestamp) {
        let Reads { pending, watchers, retry_at, last_number: _, asked: _, confirmed: _, weights: _, left: _ } = self;
        pending.iter_mut().chain(watchers).for_each(|read| read.deadline.normalise(now));
        retry_at.normalise(now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(reads: &mut Reads, client: u64, request: Request) {
        reads.begin(Reader::Client(ClientId(client), request), Timestamp(0), &Timing::default());
    }

    fn leader() -> Request {
        Request::Leader { office: "a".to_string() }
    }

    /// How many reads are answered in one turn, and how many of them as confirmed.
    fn turn(reads: &mut Reads, now: Timestamp) -> (usize, usize) {
        reads.begin_turn();
        let answered: Vec<(Reader, bool)> = std::iter::from_fn(|| reads.take_ready(now)).collect();
        (answered.len(), answered.iter().filter(|(_, is_confirmed)| *is_confirmed).count())
    }

    #[test]
    fn a_turn_answers_a_bounded_number_of_reads() {
        let mut reads = Reads::new(7);
        (0..1_200).for_each(|_| ask(&mut reads, 1, leader()));
        ask(&mut reads, 2, Request::Status);
        ask(&mut reads, 2, Request::Status);
        let (now, last) = (Timestamp(1), reads.last_number());
        assert_eq!(turn(&mut reads, now), (0, 0), "nothing is confirmed");
        assert!(reads.next_timeout(now) > now);
        reads.confirm(last);
        for expected in [512, 512, 177] {
            assert_eq!(reads.next_timeout(now), now, "the rest follows at once");
            assert_eq!(turn(&mut reads, now), (expected, expected));
        }
        assert_eq!(turn(&mut reads, now), (1, 1));
        assert_eq!((reads.next_timeout(now), reads.has_pending(ClientId(2))), (Timestamp::NEVER, false));
    }

    /// A state is up to 256 KiB in each part, and a list of states has a thousand rows.
    #[test]
    fn a_turn_answers_few_reads_that_are_much_work() {
        let mut reads = Reads::new(7);
        (0..40).for_each(|_| ask(&mut reads, 1, Request::GetState { office: "a".to_string(), offset: 0 }));
        (0..2).for_each(|_| ask(&mut reads, 2, Request::States { after: None }));
        reads.confirm(reads.last_number());
        for expected in [16, 16, 9, 1] {
            assert_eq!(turn(&mut reads, Timestamp(1)).0, expected);
        }
    }

    #[test]
    fn many_reads_are_one_question_and_those_after_it_another() {
        let mut reads = Reads::new(7);
        assert_eq!(reads.take_question(), None);
        (0..16).for_each(|_| ask(&mut reads, 1, leader()));
        let asked = reads.take_question().expect("they have begun");
        assert_eq!(reads.take_question(), None);
        ask(&mut reads, 1, leader());
        assert_eq!(reads.take_question(), Some(asked + 1));
        reads.confirm(asked);
        assert_eq!(turn(&mut reads, Timestamp(1)), (16, 16), "the later one is not confirmed");
        let late = Timestamp(0) + Timing::default().lease;
        assert_eq!(turn(&mut reads, late), (1, 0));
    }

    #[test]
    fn watchers_do_not_wait_behind_the_reads_of_clients() {
        let (mut reads, timing) = (Reads::new(7), Timing::default());
        ask(&mut reads, 1, leader());
        reads.begin(Reader::Watchers, Timestamp(0), &timing);
        assert!(reads.has_watchers());
        reads.begin_turn();
        let heartbeat = Timestamp(0) + timing.heartbeat;
        assert_eq!(reads.next_timeout(Timestamp(1)), heartbeat);
        assert_eq!(reads.take_ready(heartbeat), Some((Reader::Watchers, false)));
        assert_eq!((reads.take_ready(heartbeat), reads.has_watchers()), (None, false));
    }
}
