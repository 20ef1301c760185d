//! What a node remembers from election to election.
//!
//! A election is dropped when its candidates change. What must outlive it is little, and is here: how far the numbers of
//! views have got, whose connection has ended, and mail of elections that this node is not in yet.
//!
//! # Why it is sound
//!
//! A election that is entered is a node that lost its part in the run, but not its count of views. So runs need no fresh
//! views here, and nobody has to wait a tick to answer one:
//!
//! - Mail is lost only where a connection ends, and then both of its nodes enter new elections. A node counts the views in
//!   whatever mail it gets, also in mail that it does not keep. So the number that it takes on entering is greater than
//!   that of every view of which mail to it was lost or has gone to an earlier election, as far as the owner of that view
//!   does not take another number itself.
//! - Instead of taking a number, it adopts a view that came before it entered. It may do so only if it has all mail of
//!   that view, and never had a part in that view or a greater one which it has forgotten. Both hold above the *floor*
//!   of the election: the greatest counter of which mail with the key of that election was thrown away or went to an earlier
//!   election, or of a view that an earlier election was in. Mail that is not above the floor is thrown away.

use std::collections::BTreeMap;
use std::fmt;

use hustings_protocol::{Coins, Id};

use super::key::SplitMix64;
use super::{Flaw, MessageError};

/// For so many elections mail is kept.
const MAX_BUFFERED_ELECTIONS: usize = 16;
/// So much mail is kept for each of them.
const MAX_BUFFERED_MESSAGES: usize = 4096;
/// In all so many bytes.
const MAX_BUFFERED_BYTES: usize = 256 << 10;
/// So many elections have a floor of their own.
const MAX_FLOORS: usize = 256;
/// A counter that is so far ahead of all that were seen is no counter.
const MAX_COUNTER_JUMP: u64 = 1 << 40;

/// What one process remembers of its elections. All its elections share it.
pub struct SharedState {
    pub(super) rng: SplitMix64,
    /// The coin of this process: two processes of one node that count to the same number are told apart by it.
    pub(super) incarnation: u32,
    /// The greatest counter of a view that was seen.
    counter: u64,
    /// How many elections were entered.
    elections: u64,
    /// How many elections had been entered when the connection with a node last ended.
    losses: BTreeMap<Id, u64>,
    floors: Floors,
    early: EarlyMessages,
    pub(super) flaw: Option<Flaw>,
}

impl SharedState {
    /// That of a process that has just begun. The seed must be another one for every process.
    pub fn new(seed: u64) -> Self {
        let mut rng = SplitMix64::new(seed);
        let incarnation = 1 + (&mut rng).draw(u64::from(u32::MAX)) as u32;
        SharedState {
            rng,
            incarnation,
            counter: 0,
            elections: 0,
            losses: BTreeMap::new(),
            floors: Floors::default(),
            early: EarlyMessages::default(),
            flaw: None,
        }
    }

    /// The same without something that it needs: for tests that must fail.
    #[doc(hidden)]
    pub fn with_flaw(self, flaw: Flaw) -> Self {
        SharedState { flaw: Some(flaw), ..self }
    }

    /// The connection with this node has ended, or another one has taken its place: mail may be lost. To be called
    /// before any mail of the next connection is handed over. The node's elections with that candidate are *shaken* from
    /// now on.
    pub fn handle_disconnect(&mut self, peer: Id) {
        if self.flaw != Some(Flaw::NoLosses) {
            self.losses.insert(peer, self.elections);
        }
        for (key, floor) in self.early.discard_from(peer) {
            self.floors.raise(key, floor);
        }
    }

    /// Mail of a election that this node is not in. It is kept, within bounds, until the node enters that election.
    pub fn buffer(&mut self, key: u64, from: Id, bytes: &[u8]) -> Result<(), MessageError> {
        let counter = self.peek_counter(bytes)?;
        if self.flaw != Some(Flaw::NotCounted) {
            self.observe_counter(counter);
        }
        if !self.is_stale(key, bytes) || self.flaw == Some(Flaw::NoFloors) {
            for (key, floor) in self.early.insert(key, from, bytes, counter) {
                self.floors.raise(key, floor);
            }
        }
        Ok(())
    }

    /// Whether mail of a election that this node is not in comes too late: [`Memory::keep`] would throw it away.
    #[doc(hidden)]
    pub fn is_stale(&self, key: u64, bytes: &[u8]) -> bool {
        self.peek_counter(bytes).is_ok_and(|counter| counter <= self.floors.of(key))
    }

    /// The counter of the view that mail belongs to.
    pub(super) fn peek_counter(&self, bytes: &[u8]) -> Result<u64, MessageError> {
        let (counter, _) = postcard::take_from_bytes::<u64>(bytes).map_err(|_| MessageError::Malformed)?;
        if counter > self.counter.saturating_add(MAX_COUNTER_JUMP) {
            Err(MessageError::CounterTooHigh(counter))
        } else {
            Ok(counter)
        }
    }

    /// A election of this key has had mail of a view with this counter, or a part in it.
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

    /// Enters a election, and says its serial number.
    pub(super) fn next_serial(&mut self) -> u64 {
        self.elections += 1;
        self.elections
    }

    /// The mail that came before the election of this key was entered.
    pub(super) fn take_buffered(&mut self, key: u64) -> Vec<EarlyMessage> {
        self.early.take(key)
    }

    /// Whether the connection with this node has ended since that election was entered.
    pub(super) fn has_disconnected_since(&self, peer: Id, election: u64) -> bool {
        self.losses.get(&peer).is_some_and(|elections| *elections >= election)
    }
}

impl fmt::Debug for SharedState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let SharedState { counter, elections, .. } = self;
        f.debug_struct("Memory").field("counter", counter).field("elections", elections).finish_non_exhaustive()
    }
}

/// Up to which counter mail of a election may be missing, by key.
#[derive(Default)]
struct Floors {
    by_key: BTreeMap<u64, u64>,
    /// The floor of all others.
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

/// Mail of elections that the node is not in yet, by key.
#[derive(Default)]
struct EarlyMessages {
    by_key: BTreeMap<u64, Buffered>,
    /// How many keys there were so far.
    keys: u64,
}

/// Who sent it, and what it says.
type EarlyMessage = (Id, Vec<u8>);

struct Buffered {
    /// Which key this was: the least is the oldest.
    serial: u64,
    messages: Vec<EarlyMessage>,
    bytes: usize,
    /// The greatest counter in it.
    counter: u64,
}

/// A key whose mail was thrown away, and the greatest counter in it.
type Discarded = (u64, u64);

impl EarlyMessages {
    /// Keeps mail; if there is no room, all mail of that election is thrown away, or that of the election that came first.
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

    /// Nothing from this one can be relied on any longer.
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

    /// Mail of a view with this counter; what is behind it does not matter here.
    fn message(counter: u64, length: usize) -> Vec<u8> {
        let mut bytes = postcard::to_allocvec(&counter).expect("a number is plain data");
        bytes.resize(bytes.len().max(length), 7);
        bytes
    }

    fn buffered_count(shared: &mut SharedState, key: u64) -> usize {
        shared.take_buffered(key).len()
    }

    #[test]
    fn mail_is_kept_by_key_and_in_order() {
        let mut shared = SharedState::new(1);
        for (key, from, counter) in [(8, 1, 3), (9, 2, 4), (8, 2, 5)] {
            assert_eq!(shared.buffer(key, Id(from), &message(counter, 0)), Ok(()));
        }
        assert_eq!(shared.counter(), 5);
        assert_eq!(shared.take_buffered(8), [(Id(1), message(3, 0)), (Id(2), message(5, 0))]);
        assert_eq!((buffered_count(&mut shared, 8), buffered_count(&mut shared, 9)), (0, 1));
    }

    #[test]
    fn too_much_for_one_race_is_thrown_away_with_all_that_belongs_to_it() {
        let mut shared = SharedState::new(1);
        let half = message(2, MAX_BUFFERED_BYTES / 2);
        for _ in 0..3 {
            assert_eq!(shared.buffer(8, Id(1), &half), Ok(()));
        }
        assert_eq!(buffered_count(&mut shared, 8), 0, "two fit, the third was too much");
        assert_eq!(shared.buffer(8, Id(1), &message(2, 0)), Ok(()));
        assert_eq!(buffered_count(&mut shared, 8), 0, "of that view something is missing");
        assert_eq!(shared.buffer(8, Id(1), &message(3, 0)), Ok(()));
        assert_eq!(buffered_count(&mut shared, 8), 1);
        for _ in 0..=MAX_BUFFERED_MESSAGES {
            assert_eq!(shared.buffer(9, Id(1), &message(4, 0)), Ok(()));
        }
        assert_eq!((buffered_count(&mut shared, 9), shared.counter()), (0, 4), "what is thrown away counts");
    }

    #[test]
    fn of_too_many_races_the_first_is_thrown_away() {
        let mut shared = SharedState::new(1);
        for key in 0..=MAX_BUFFERED_ELECTIONS as u64 {
            assert_eq!(shared.buffer(key, Id(1), &message(2, 0)), Ok(()));
        }
        assert_eq!((buffered_count(&mut shared, 0), buffered_count(&mut shared, 1)), (0, 1));
        assert_eq!(shared.buffer(0, Id(1), &message(2, 0)), Ok(()));
        assert_eq!(buffered_count(&mut shared, 0), 0, "of that view something is missing");
    }

    #[test]
    fn what_came_over_a_lost_connection_is_thrown_away() {
        let mut shared = SharedState::new(1);
        for (key, from) in [(8, 1), (8, 2), (9, 2)] {
            assert_eq!(shared.buffer(key, Id(from), &message(2, 0)), Ok(()));
        }
        shared.handle_disconnect(Id(1));
        assert_eq!((buffered_count(&mut shared, 8), buffered_count(&mut shared, 9)), (0, 1));
    }

    #[test]
    fn a_floor_that_is_forgotten_holds_for_all() {
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
    fn a_counter_out_of_all_proportion_changes_nothing() {
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
