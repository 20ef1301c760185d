//! The state that all elections of a process share.
//!
//! An election is dropped when its candidates change. Little must outlive it, and that is kept here: the highest view
//! counter seen, the ends of connections, and messages of elections that this node has not started yet.
//!
//! # Why it is sound
//!
//! From the point of view of [`Runs`](hustings_algorithms::runs::Runs), a node that starts a new election is a node
//! that lost its state in the run, but not its view counter. Therefore runs need no fresh views here, and no node has
//! to wait for a tick before it answers:
//!
//! - Messages are lost only when a connection ends, and then both of its ends start new elections. A node takes note of
//!   the counters in all messages that it receives, including those that it discards. So the counter that it picks when
//!   it starts an election is higher than that of every view of which messages to it were lost or were delivered to an
//!   earlier election, unless the owner of such a view picks a new counter itself.
//! - Instead of picking a new counter, a node may adopt a view that it received before it started the election. This is
//!   allowed only if it has all messages of that view, and never took part in that view, or in a higher one, in an
//!   election that it has dropped. Both hold above the *floor* of the election. The floor is the highest counter among
//!   the messages with the election's key that were discarded or delivered to an earlier election, and the views that
//!   an earlier election with this key was in. Messages at or below the floor are discarded.

use std::collections::BTreeMap;
use std::fmt;
use std::hash::{Hash, Hasher};

use hustings_protocol::{Id, SplitMix64};

use super::MessageError;
use crate::faults::{FaultSwitch, InjectedFault};

/// For how many elections messages are buffered.
const MAX_BUFFERED_ELECTIONS: usize = 16;
/// How many messages are buffered for each of them.
const MAX_BUFFERED_MESSAGES: usize = 4096;
/// How many bytes are buffered for each of them.
const MAX_BUFFERED_BYTES: usize = 256 << 10;
/// How many elections have a floor of their own.
const MAX_FLOORS: usize = 256;
/// How far a counter may be ahead of the highest one seen so far.
const MAX_COUNTER_JUMP: u64 = 1 << 40;

/// The state that all elections of one process share.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct SharedState {
    pub(super) rng: SplitMix64,
    /// A random number of this process. It distinguishes two processes of one node that reach the same counter.
    pub(super) incarnation: u32,
    /// The highest view counter seen.
    counter: u64,
    /// How many elections were started.
    elections: u64,
    /// For each node whose connection has ended: how many elections had been started by then.
    losses: BTreeMap<Id, u64>,
    floors: Floors,
    early: EarlyMessages,
    pub(super) fault: FaultSwitch,
}

impl SharedState {
    /// The state of a process that has just started. Each process must use another seed.
    pub(crate) fn new(seed: u64) -> Self {
        let mut rng = SplitMix64::new(SplitMix64::mix(seed));
        let incarnation = 1 + rng.below(u64::from(u32::MAX)) as u32;
        SharedState {
            rng,
            incarnation,
            counter: 0,
            elections: 0,
            losses: BTreeMap::new(),
            floors: Floors::default(),
            early: EarlyMessages::default(),
            fault: FaultSwitch::default(),
        }
    }

    /// Injects a fault, for tests that must fail with it.
    #[cfg(feature = "fault-injection")]
    pub(crate) fn with_fault(self, fault: InjectedFault) -> Self {
        SharedState { fault: FaultSwitch::on(fault), ..self }
    }

    /// The connection to this node has ended or was replaced, so messages may be lost. Must be called before any
    /// message of the next connection is delivered. Interrupts the running elections with that candidate.
    pub(crate) fn handle_disconnect(&mut self, peer: Id) {
        if !self.fault.is(InjectedFault::NoLosses) {
            self.losses.insert(peer, self.elections);
        }
        for (key, floor) in self.early.discard_from(peer) {
            self.floors.raise(key, floor);
        }
    }

    /// Buffers a message of an election that this node has not started, within bounds, until the node starts that
    /// election.
    pub(crate) fn buffer(&mut self, key: u64, from: Id, bytes: &[u8]) -> Result<(), MessageError> {
        let counter = self.peek_counter(bytes)?;
        if !self.fault.is(InjectedFault::NotCounted) {
            self.observe_counter(counter);
        }
        if !self.is_stale(key, bytes) || self.fault.is(InjectedFault::NoFloors) {
            for (key, floor) in self.early.insert(key, from, bytes, counter) {
                self.floors.raise(key, floor);
            }
        }
        Ok(())
    }

    /// Whether a message of an election that this node is not in arrives too late, so that [`SharedState::buffer`]
    /// would discard it.
    pub(crate) fn is_stale(&self, key: u64, bytes: &[u8]) -> bool {
        self.peek_counter(bytes).is_ok_and(|counter| counter <= self.floors.of(key))
    }

    /// Reads the view counter of a message.
    pub(super) fn peek_counter(&self, bytes: &[u8]) -> Result<u64, MessageError> {
        let (counter, _) = postcard::take_from_bytes::<u64>(bytes).map_err(|_| MessageError::Malformed)?;
        if counter > self.counter.saturating_add(MAX_COUNTER_JUMP) {
            Err(MessageError::CounterTooHigh(counter))
        } else {
            Ok(counter)
        }
    }

    /// An election with this key received a message of a view with this counter, or was in that view.
    pub(super) fn record_view(&mut self, key: u64, counter: u64) {
        self.observe_counter(counter);
        self.floors.raise(key, counter);
    }

    /// A view with this counter exists.
    pub(super) fn observe_counter(&mut self, counter: u64) {
        self.counter = self.counter.max(counter);
    }

    pub(super) fn counter(&self) -> u64 {
        self.counter
    }

    /// Counts a new election, and returns its serial number.
    pub(super) fn next_serial(&mut self) -> u64 {
        self.elections += 1;
        self.elections
    }

    /// Takes the messages that arrived before the election with this key was started.
    pub(super) fn take_buffered(&mut self, key: u64) -> Vec<EarlyMessage> {
        self.early.take(key)
    }

    /// Whether the connection to this node has ended since the election with this serial number was started.
    pub(super) fn has_disconnected_since(&self, peer: Id, election: u64) -> bool {
        self.losses.get(&peer).is_some_and(|elections| *elections >= election)
    }
}

impl Hash for SharedState {
    fn hash<H: Hasher>(&self, state: &mut H) {
        let SharedState { rng, incarnation, counter, elections, losses, floors, early, fault } = self;
        // Its next number tells the state of the generator.
        (rng.clone().next_u64(), incarnation, counter, elections).hash(state);
        (losses, floors, early, fault).hash(state);
    }
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SharedState { counter, elections, .. } = self;
        f.debug_struct("SharedState").field("counter", counter).field("elections", elections).finish_non_exhaustive()
    }
}

/// For each key, the counter up to which messages may be missing.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct Floors {
    by_key: BTreeMap<u64, u64>,
    /// The floor of all other keys.
    default_floor: u64,
}

impl Floors {
    fn of(&self, key: u64) -> u64 {
        self.by_key.get(&key).copied().unwrap_or(self.default_floor)
    }

    fn raise(&mut self, key: u64, counter: u64) {
        let floor = self.of(key).max(counter);
        self.by_key.insert(key, floor);
        if self.by_key.len() > MAX_FLOORS
            && let Some((&key, &floor)) = self.by_key.iter().min_by_key(|(_, floor)| **floor)
        {
            self.by_key.remove(&key);
            self.default_floor = self.default_floor.max(floor);
        }
    }
}

/// Messages of elections that the node has not started, by key.
#[derive(Clone, PartialEq, Eq, Hash, Default)]
struct EarlyMessages {
    by_key: BTreeMap<u64, Buffered>,
    /// How many keys were inserted so far.
    keys: u64,
}

/// The sender and the message.
type EarlyMessage = (Id, Vec<u8>);

#[derive(Clone, PartialEq, Eq, Hash)]
struct Buffered {
    /// The insertion order of the keys: the lowest is the oldest.
    serial: u64,
    messages: Vec<EarlyMessage>,
    bytes: usize,
    /// The highest counter among the messages.
    counter: u64,
}

/// A key whose messages were discarded, and the highest counter among them.
type Discarded = (u64, u64);

impl EarlyMessages {
    /// Inserts a message. If there is no room, discards all messages of that election, or those of the oldest election.
    fn insert(&mut self, key: u64, from: Id, bytes: &[u8], counter: u64) -> Vec<Discarded> {
        let serial = self.keys;
        let buffered = self.by_key.entry(key).or_insert_with(|| {
            self.keys += 1;
            Buffered { serial, messages: Vec::new(), bytes: 0, counter }
        });
        buffered.counter = buffered.counter.max(counter);
        if buffered.messages.len() == MAX_BUFFERED_MESSAGES || buffered.bytes + bytes.len() > MAX_BUFFERED_BYTES {
            return self.discard(key).into_iter().collect();
        }
        buffered.bytes += bytes.len();
        buffered.messages.push((from, bytes.to_vec()));
        let oldest = self.by_key.iter().min_by_key(|(_, buffered)| buffered.serial).map(|(key, _)| *key);
        match oldest {
            Some(oldest) if self.by_key.len() > MAX_BUFFERED_ELECTIONS => self.discard(oldest).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn discard(&mut self, key: u64) -> Option<Discarded> {
        self.by_key.remove(&key).map(|buffered| (key, buffered.counter))
    }

    /// Discards the messages of all elections that this node sent a message for.
    fn discard_from(&mut self, peer: Id) -> Vec<Discarded> {
        let is_from = |buffered: &Buffered| buffered.messages.iter().any(|(from, _)| *from == peer);
        let keys: Vec<u64> =
            self.by_key.iter().filter(|(_, buffered)| is_from(buffered)).map(|(key, _)| *key).collect();
        keys.into_iter().filter_map(|key| self.discard(key)).collect()
    }

    fn take(&mut self, key: u64) -> Vec<EarlyMessage> {
        self.by_key.remove(&key).map(|buffered| buffered.messages).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A message of a view with this counter. The remaining bytes do not matter here.
    fn message(counter: u64, length: usize) -> Vec<u8> {
        let mut bytes = postcard::to_allocvec(&counter).expect("a number is plain data");
        bytes.resize(bytes.len().max(length), 7);
        bytes
    }

    fn buffered_count(shared: &mut SharedState, key: u64) -> usize {
        shared.take_buffered(key).len()
    }

    #[test]
    fn buffers_messages_by_key_and_in_order() {
        let mut shared = SharedState::new(1);
        for (key, from, counter) in [(8, 1, 3), (9, 2, 4), (8, 2, 5)] {
            assert_eq!(shared.buffer(key, Id(from), &message(counter, 0)), Ok(()));
        }
        assert_eq!(shared.counter(), 5);
        assert_eq!(shared.take_buffered(8), [(Id(1), message(3, 0)), (Id(2), message(5, 0))]);
        assert_eq!((buffered_count(&mut shared, 8), buffered_count(&mut shared, 9)), (0, 1));
    }

    #[test]
    fn discards_all_messages_of_an_election_that_exceeds_its_bounds() {
        let mut shared = SharedState::new(1);
        let half = message(2, MAX_BUFFERED_BYTES / 2);
        for _ in 0..3 {
            assert_eq!(shared.buffer(8, Id(1), &half), Ok(()));
        }
        assert_eq!(buffered_count(&mut shared, 8), 0, "two messages fit, but the third does not");
        assert_eq!(shared.buffer(8, Id(1), &message(2, 0)), Ok(()));
        assert_eq!(buffered_count(&mut shared, 8), 0, "some messages of that view are missing");
        assert_eq!(shared.buffer(8, Id(1), &message(3, 0)), Ok(()));
        assert_eq!(buffered_count(&mut shared, 8), 1);
        for _ in 0..=MAX_BUFFERED_MESSAGES {
            assert_eq!(shared.buffer(9, Id(1), &message(4, 0)), Ok(()));
        }
        assert_eq!(
            (buffered_count(&mut shared, 9), shared.counter()),
            (0, 4),
            "counters of discarded messages are observed"
        );
    }

    #[test]
    fn discards_the_oldest_of_too_many_elections() {
        let mut shared = SharedState::new(1);
        for key in 0..=MAX_BUFFERED_ELECTIONS as u64 {
            assert_eq!(shared.buffer(key, Id(1), &message(2, 0)), Ok(()));
        }
        assert_eq!((buffered_count(&mut shared, 0), buffered_count(&mut shared, 1)), (0, 1));
        assert_eq!(shared.buffer(0, Id(1), &message(2, 0)), Ok(()));
        assert_eq!(buffered_count(&mut shared, 0), 0, "some messages of that view are missing");
    }

    #[test]
    fn discards_messages_of_a_lost_connection() {
        let mut shared = SharedState::new(1);
        for (key, from) in [(8, 1), (8, 2), (9, 2)] {
            assert_eq!(shared.buffer(key, Id(from), &message(2, 0)), Ok(()));
        }
        shared.handle_disconnect(Id(1));
        assert_eq!((buffered_count(&mut shared, 8), buffered_count(&mut shared, 9)), (0, 1));
    }

    #[test]
    fn an_evicted_floor_applies_to_all_other_keys() {
        let mut shared = SharedState::new(1);
        for key in 0..=MAX_FLOORS as u64 {
            shared.record_view(key, 10 + key);
        }
        assert_eq!((shared.floors.by_key.len(), shared.floors.default_floor), (MAX_FLOORS, 10));
        for (key, counter, buffered) in [(0, 10, 0), (0, 11, 1), (7777, 10, 0), (7777, 11, 1), (5, 15, 0), (5, 16, 1)] {
            assert_eq!(shared.buffer(key, Id(1), &message(counter, 0)), Ok(()));
            assert_eq!(buffered_count(&mut shared, key), buffered, "{key} {counter}");
        }
    }

    #[test]
    fn rejects_an_implausibly_high_counter() {
        let mut shared = SharedState::new(1);
        assert_eq!(
            shared.buffer(8, Id(1), &message(MAX_COUNTER_JUMP + 1, 0)),
            Err(MessageError::CounterTooHigh(MAX_COUNTER_JUMP + 1))
        );
        assert_eq!((shared.counter(), buffered_count(&mut shared, 8)), (0, 0));
        assert_eq!(shared.buffer(8, Id(1), &[0x80]), Err(MessageError::Malformed));
        assert_eq!(shared.buffer(8, Id(1), &message(MAX_COUNTER_JUMP, 0)), Ok(()));
        assert_eq!(shared.counter(), MAX_COUNTER_JUMP);
    }
}
