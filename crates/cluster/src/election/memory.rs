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
use super::{Flaw, Garbled};

/// For so many elections mail is kept.
const MAX_KEYS: usize = 16;
/// So much mail is kept for each of them.
const MAX_LETTERS: usize = 4096;
/// In all so many bytes.
const MAX_BYTES: usize = 256 << 10;
/// So many elections have a floor of their own.
const MAX_FLOORS: usize = 256;
/// A counter that is so far ahead of all that were seen is no counter.
const LEAP: u64 = 1 << 40;

/// What one process remembers of its elections. All its elections share it.
pub struct Memory {
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
    early: EarlyMail,
    pub(super) flaw: Option<Flaw>,
}

impl Memory {
    /// That of a process that has just begun. The seed must be another one for every process.
    pub fn new(seed: u64) -> Self {
        let mut rng = SplitMix64::new(seed);
        let incarnation = 1 + (&mut rng).draw(u64::from(u32::MAX)) as u32;
        Memory {
            rng,
            incarnation,
            counter: 0,
            elections: 0,
            losses: BTreeMap::new(),
            floors: Floors::default(),
            early: EarlyMail::default(),
            flaw: None,
        }
    }

    /// The same without something that it needs: for tests that must fail.
    #[doc(hidden)]
    pub fn with_flaw(self, flaw: Flaw) -> Self {
        Memory { flaw: Some(flaw), ..self }
    }

    /// The connection with this node has ended, or another one has taken its place: mail may be lost. To be called
    /// before any mail of the next connection is handed over. The node's elections with that candidate are *shaken* from
    /// now on.
    pub fn lost(&mut self, peer: Id) {
        if self.flaw != Some(Flaw::NoLosses) {
            self.losses.insert(peer, self.elections);
        }
        for (key, floor) in self.early.drop_from(peer) {
            self.floors.raise(key, floor);
        }
    }

    /// Mail of a election that this node is not in. It is kept, within bounds, until the node enters that election.
    pub fn keep(&mut self, key: u64, from: Id, bytes: &[u8]) -> Result<(), Garbled> {
        let counter = self.peek(bytes)?;
        if self.flaw != Some(Flaw::NotCounted) {
            self.see(counter);
        }
        if !self.is_over(key, bytes) || self.flaw == Some(Flaw::NoFloors) {
            for (key, floor) in self.early.keep(key, from, bytes, counter) {
                self.floors.raise(key, floor);
            }
        }
        Ok(())
    }

    /// Whether mail of a election that this node is not in comes too late: [`Memory::keep`] would throw it away.
    #[doc(hidden)]
    pub fn is_over(&self, key: u64, bytes: &[u8]) -> bool {
        self.peek(bytes).is_ok_and(|counter| counter <= self.floors.of(key))
    }

    /// The counter of the view that mail belongs to.
    pub(super) fn peek(&self, bytes: &[u8]) -> Result<u64, Garbled> {
        let (counter, _) = postcard::take_from_bytes::<u64>(bytes).map_err(|_| Garbled::Unreadable)?;
        if counter > self.counter.saturating_add(LEAP) { Err(Garbled::Leap(counter)) } else { Ok(counter) }
    }

    /// A election of this key has had mail of a view with this counter, or a part in it.
    pub(super) fn consume(&mut self, key: u64, counter: u64) {
        self.see(counter);
        self.floors.raise(key, counter);
    }

    /// A view with this counter exists.
    pub(super) fn see(&mut self, counter: u64) {
        self.counter = self.counter.max(counter);
    }

    pub(super) fn counter(&self) -> u64 {
        self.counter
    }

    /// Enters a election, and says its serial number.
    pub(super) fn enter(&mut self) -> u64 {
        self.elections += 1;
        self.elections
    }

    /// The mail that came before the election of this key was entered.
    pub(super) fn take(&mut self, key: u64) -> Vec<Letter> {
        self.early.take(key)
    }

    /// Whether the connection with this node has ended since that election was entered.
    pub(super) fn has_lost(&self, peer: Id, election: u64) -> bool {
        self.losses.get(&peer).is_some_and(|elections| *elections >= election)
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Memory { counter, elections, .. } = self;
        f.debug_struct("Memory").field("counter", counter).field("elections", elections).finish_non_exhaustive()
    }
}

/// Up to which counter mail of a election may be missing, by key.
#[derive(Default)]
struct Floors {
    by_key: BTreeMap<u64, u64>,
    /// The floor of all others.
    rest: u64,
}

impl Floors {
    fn of(&self, key: u64) -> u64 {
        self.by_key.get(&key).copied().unwrap_or(self.rest)
    }

    fn raise(&mut self, key: u64, counter: u64) {
        let floor = self.of(key).max(counter);
        self.by_key.insert(key, floor);
        if self.by_key.len() > MAX_FLOORS
            && let Some((&key, &floor)) = self.by_key.iter().min_by_key(|(_, floor)| **floor)
        {
            self.by_key.remove(&key);
            self.rest = self.rest.max(floor);
        }
    }
}

/// Mail of elections that the node is not in yet, by key.
#[derive(Default)]
struct EarlyMail {
    by_key: BTreeMap<u64, Kept>,
    /// How many keys there were so far.
    keys: u64,
}

/// Who sent it, and what it says.
type Letter = (Id, Vec<u8>);

struct Kept {
    /// Which key this was: the least is the oldest.
    serial: u64,
    letters: Vec<Letter>,
    bytes: usize,
    /// The greatest counter in it.
    counter: u64,
}

/// A key whose mail was thrown away, and the greatest counter in it.
type Thrown = (u64, u64);

impl EarlyMail {
    /// Keeps mail; if there is no room, all mail of that election is thrown away, or that of the election that came first.
    fn keep(&mut self, key: u64, from: Id, bytes: &[u8], counter: u64) -> Vec<Thrown> {
        let serial = self.keys;
        let kept = self.by_key.entry(key).or_insert_with(|| {
            self.keys += 1;
            Kept { serial, letters: Vec::new(), bytes: 0, counter }
        });
        kept.counter = kept.counter.max(counter);
        if kept.letters.len() == MAX_LETTERS || kept.bytes + bytes.len() > MAX_BYTES {
            return self.throw(key).into_iter().collect();
        }
        kept.bytes += bytes.len();
        kept.letters.push((from, bytes.to_vec()));
        let oldest = self.by_key.iter().min_by_key(|(_, kept)| kept.serial).map(|(key, _)| *key);
        match oldest {
            Some(oldest) if self.by_key.len() > MAX_KEYS => self.throw(oldest).into_iter().collect(),
            _ => Vec::new(),
        }
    }

    fn throw(&mut self, key: u64) -> Option<Thrown> {
        self.by_key.remove(&key).map(|kept| (key, kept.counter))
    }

    /// Nothing from this one can be relied on any longer.
    fn drop_from(&mut self, peer: Id) -> Vec<Thrown> {
        let is_from = |kept: &Kept| kept.letters.iter().any(|(from, _)| *from == peer);
        let keys: Vec<u64> = self.by_key.iter().filter(|(_, kept)| is_from(kept)).map(|(key, _)| *key).collect();
        keys.into_iter().filter_map(|key| self.throw(key)).collect()
    }

    fn take(&mut self, key: u64) -> Vec<Letter> {
        self.by_key.remove(&key).map(|kept| kept.letters).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Mail of a view with this counter; what is behind it does not matter here.
    fn mail(counter: u64, length: usize) -> Vec<u8> {
        let mut bytes = postcard::to_allocvec(&counter).expect("a number is plain data");
        bytes.resize(bytes.len().max(length), 7);
        bytes
    }

    fn letters(memory: &mut Memory, key: u64) -> usize {
        memory.take(key).len()
    }

    #[test]
    fn mail_is_kept_by_key_and_in_order() {
        let mut memory = Memory::new(1);
        for (key, from, counter) in [(8, 1, 3), (9, 2, 4), (8, 2, 5)] {
            assert_eq!(memory.keep(key, Id(from), &mail(counter, 0)), Ok(()));
        }
        assert_eq!(memory.counter(), 5);
        assert_eq!(memory.take(8), [(Id(1), mail(3, 0)), (Id(2), mail(5, 0))]);
        assert_eq!((letters(&mut memory, 8), letters(&mut memory, 9)), (0, 1));
    }

    #[test]
    fn too_much_for_one_race_is_thrown_away_with_all_that_belongs_to_it() {
        let mut memory = Memory::new(1);
        let half = mail(2, MAX_BYTES / 2);
        for _ in 0..3 {
            assert_eq!(memory.keep(8, Id(1), &half), Ok(()));
        }
        assert_eq!(letters(&mut memory, 8), 0, "two fit, the third was too much");
        assert_eq!(memory.keep(8, Id(1), &mail(2, 0)), Ok(()));
        assert_eq!(letters(&mut memory, 8), 0, "of that view something is missing");
        assert_eq!(memory.keep(8, Id(1), &mail(3, 0)), Ok(()));
        assert_eq!(letters(&mut memory, 8), 1);
        for _ in 0..=MAX_LETTERS {
            assert_eq!(memory.keep(9, Id(1), &mail(4, 0)), Ok(()));
        }
        assert_eq!((letters(&mut memory, 9), memory.counter()), (0, 4), "what is thrown away counts");
    }

    #[test]
    fn of_too_many_races_the_first_is_thrown_away() {
        let mut memory = Memory::new(1);
        for key in 0..=MAX_KEYS as u64 {
            assert_eq!(memory.keep(key, Id(1), &mail(2, 0)), Ok(()));
        }
        assert_eq!((letters(&mut memory, 0), letters(&mut memory, 1)), (0, 1));
        assert_eq!(memory.keep(0, Id(1), &mail(2, 0)), Ok(()));
        assert_eq!(letters(&mut memory, 0), 0, "of that view something is missing");
    }

    #[test]
    fn what_came_over_a_lost_connection_is_thrown_away() {
        let mut memory = Memory::new(1);
        for (key, from) in [(8, 1), (8, 2), (9, 2)] {
            assert_eq!(memory.keep(key, Id(from), &mail(2, 0)), Ok(()));
        }
        memory.lost(Id(1));
        assert_eq!((letters(&mut memory, 8), letters(&mut memory, 9)), (0, 1));
    }

    #[test]
    fn a_floor_that_is_forgotten_holds_for_all() {
        let mut memory = Memory::new(1);
        for key in 0..=MAX_FLOORS as u64 {
            memory.consume(key, 10 + key);
        }
        assert_eq!((memory.floors.by_key.len(), memory.floors.rest), (MAX_FLOORS, 10));
        for (key, counter, kept) in [(0, 10, 0), (0, 11, 1), (7777, 10, 0), (7777, 11, 1), (5, 15, 0), (5, 16, 1)] {
            assert_eq!(memory.keep(key, Id(1), &mail(counter, 0)), Ok(()));
            assert_eq!(letters(&mut memory, key), kept, "{key} {counter}");
        }
    }

    #[test]
    fn a_counter_out_of_all_proportion_changes_nothing() {
        let mut memory = Memory::new(1);
        assert_eq!(memory.keep(8, Id(1), &mail(LEAP + 1, 0)), Err(Garbled::Leap(LEAP + 1)));
        assert_eq!((memory.counter(), letters(&mut memory, 8)), (0, 0));
        assert_eq!(memory.keep(8, Id(1), &[0x80]), Err(Garbled::Unreadable));
        assert_eq!(memory.keep(8, Id(1), &mail(LEAP, 0)), Ok(()));
        assert_eq!(memory.counter(), LEAP);
    }
}
