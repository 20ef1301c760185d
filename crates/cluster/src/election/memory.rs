//! What a node remembers from race to race.
//!
//! A race is dropped when its candidates change. What must outlive it is little, and is here: how far the numbers of
//! views have got, with whom mail was exchanged without a gap since, and mail of races that this node is not in yet.
//!
//! # Why it is sound
//!
//! The rules of runs hold across races because of three things. A number that this node takes is greater than any that
//! it was sent, in whatever race, also in mail that it did not keep. Whoever was out of touch gets a *fresh* view, which
//! makes it answer. And mail is kept for a race only if all mail of the same view was kept: what belongs to views that
//! are not above the race's *floor*, up to which some mail may have gone to an earlier race with the same key or may
//! have been thrown away, is thrown away too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use hustings_protocol::{Coins, Id};

use super::key::Purse;
use super::{Flaw, Garbled};

/// For so many races mail is kept.
const MOST_KEYS: usize = 16;
/// So much mail is kept for each of them.
const MOST_LETTERS: usize = 4096;
/// In all so many bytes.
const MOST_BYTES: usize = 256 << 10;
/// So many races have a floor of their own.
const MOST_FLOORS: usize = 256;
/// A counter that is so far ahead of all that were seen is no counter.
const LEAP: u64 = 1 << 40;

/// What one process remembers of its races. All its races share it.
pub struct Memory {
    pub(super) purse: Purse,
    /// The coin of this process: two processes of one node that count to the same number are told apart by it.
    pub(super) life: u32,
    /// The greatest counter of a view that was seen.
    counter: u64,
    /// How many races were entered.
    races: u64,
    met: BTreeSet<Id>,
    floors: Floors,
    early: EarlyMail,
    pub(super) flaw: Option<Flaw>,
}

impl Memory {
    /// That of a process that has just begun. The seed must be another one for every process.
    pub fn new(seed: u64) -> Self {
        let mut purse = Purse::new(seed);
        let life = 1 + (&mut purse).draw(u64::from(u32::MAX)) as u32;
        Memory {
            purse,
            life,
            counter: 0,
            races: 0,
            met: BTreeSet::new(),
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
    /// before any mail of the next connection is handed over, and before the next race is entered.
    pub fn lost(&mut self, peer: Id) {
        self.met.remove(&peer);
        for (key, floor) in self.early.drop_from(peer) {
            self.floors.raise(key, floor);
        }
    }

    /// Mail of a race that this node is not in. It is kept, within bounds, until the node enters that race.
    pub fn keep(&mut self, key: u64, from: Id, bytes: &[u8]) -> Result<(), Garbled> {
        let counter = self.peek(bytes)?;
        self.see(counter);
        if counter > self.floors.of(key) {
            for (key, floor) in self.early.keep(key, from, bytes, counter) {
                self.floors.raise(key, floor);
            }
        }
        Ok(())
    }

    /// The counter of the view that mail belongs to.
    pub(super) fn peek(&self, bytes: &[u8]) -> Result<u64, Garbled> {
        let (counter, _) = postcard::take_from_bytes::<u64>(bytes).map_err(|_| Garbled::Unreadable)?;
        if counter > self.counter.saturating_add(LEAP) { Err(Garbled::Leap(counter)) } else { Ok(counter) }
    }

    /// A race of this key has had mail of a view with this counter.
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

    /// Enters a race: its serial number, the mail that came before, and who was in touch all the while.
    pub(super) fn enter(&mut self, key: u64) -> (u64, Vec<(Id, Vec<u8>)>, Vec<Id>) {
        self.races += 1;
        (self.races, self.early.take(key), self.met.iter().copied().collect())
    }

    /// These were told of the race just entered.
    pub(super) fn meet(&mut self, candidates: impl Iterator<Item = Id>) {
        self.met.extend(candidates);
    }
}

impl fmt::Debug for Memory {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Memory { counter, races, met, .. } = self;
        f.debug_struct("Memory")
            .field("counter", counter)
            .field("races", races)
            .field("met", met)
            .finish_non_exhaustive()
    }
}

/// Up to which counter mail of a race may be missing, by key.
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
        if self.by_key.len() > MOST_FLOORS
            && let Some((&key, &floor)) = self.by_key.iter().min_by_key(|(_, floor)| **floor)
        {
            self.by_key.remove(&key);
            self.rest = self.rest.max(floor);
        }
    }
}

/// Mail of races that the node is not in yet, by key.
#[derive(Default)]
struct EarlyMail {
    by_key: BTreeMap<u64, Kept>,
    /// How many keys there were so far.
    keys: u64,
}

struct Kept {
    /// Which key this was: the least is the oldest.
    serial: u64,
    letters: Vec<(Id, Vec<u8>)>,
    bytes: usize,
    /// The greatest counter in it.
    counter: u64,
}

/// A key whose mail was thrown away, and the greatest counter in it.
type Thrown = (u64, u64);

impl EarlyMail {
    /// Keeps mail; if there is no room, all mail of that race is thrown away, or that of the race that came first.
    fn keep(&mut self, key: u64, from: Id, bytes: &[u8], counter: u64) -> Vec<Thrown> {
        let serial = self.keys;
        let kept = self.by_key.entry(key).or_insert_with(|| {
            self.keys += 1;
            Kept { serial, letters: Vec::new(), bytes: 0, counter }
        });
        kept.counter = kept.counter.max(counter);
        if kept.letters.len() == MOST_LETTERS || kept.bytes + bytes.len() > MOST_BYTES {
            return self.throw(key).into_iter().collect();
        }
        kept.bytes += bytes.len();
        kept.letters.push((from, bytes.to_vec()));
        let oldest = self.by_key.iter().min_by_key(|(_, kept)| kept.serial).map(|(key, _)| *key);
        match oldest {
            Some(oldest) if self.by_key.len() > MOST_KEYS => self.throw(oldest).into_iter().collect(),
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

    fn take(&mut self, key: u64) -> Vec<(Id, Vec<u8>)> {
        self.by_key.remove(&key).map(|kept| kept.letters).unwrap_or_default()
    }
}
