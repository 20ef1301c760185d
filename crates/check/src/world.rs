//! One state of a whole election: what every node remembers, what is under way, and what may still go wrong.
//!
//! Node states and messages stand here as numbers that the [machine](crate::machine) gave out, so a world is small,
//! costs little to copy and to hash, and is the same type for every protocol. It is canonical: two worlds that differ
//! only in the order in which things were written down are equal.

use std::hash::{BuildHasher, Hash, Hasher};

use hustings_protocol::{Port, Timer};

use crate::property::Marks;

/// A node state, as a number.
pub(crate) type StateNo = u32;

/// A message, as a number.
pub(crate) type MessageNo = u32;

/// One state of a whole election.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct World {
    /// Of all the rest: worlds are told apart by it.
    pub(crate) fingerprint: u64,
    pub(crate) seats: Vec<Seat>,
    /// Ordered by channel; within one by age where links keep order, else by what they are.
    pub(crate) letters: Vec<Letter>,
    /// In order.
    pub(crate) alarms: Vec<Alarm>,
    /// What nodes are still to be told about whom they can reach, in the order in which it happened.
    pub(crate) words: Vec<Word>,
    pub(crate) left: Budget,
    /// A node changed its mind although nothing had gone wrong.
    pub(crate) fickle: bool,
    /// What is the case in it.
    pub(crate) marks: Marks,
}

/// A node, as far as anybody can see it.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Seat {
    pub(crate) state: StateNo,
    /// The number of nodes that it has found out, if it has.
    pub(crate) estimate: Option<u32>,
    /// The position that it names as leader.
    pub(crate) names: Option<u8>,
    pub(crate) leads: bool,
    pub(crate) live: bool,
    /// Whether its start signal is still to come.
    pub(crate) starts: bool,
    /// Whether that came before anything else did, where it matters.
    pub(crate) entered: bool,
    /// Whether it says that it is in the middle of an election.
    pub(crate) busy: bool,
    /// On a ring: how many neighbours on either side it has struck off.
    pub(crate) struck: [u8; 2],
}

/// A message under way, or one that comes back.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Letter {
    pub(crate) channel: Channel,
    pub(crate) message: MessageNo,
    /// Within how many ticks it must arrive; 0 where time does not matter.
    pub(crate) left: u32,
    /// Its sender will not hear of its loss.
    pub(crate) orphan: bool,
    /// It has come once already, and comes no third time.
    pub(crate) copied: bool,
}

/// Which way a message goes.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Channel {
    /// It found its receiver down, and is on the way back.
    pub(crate) returns: bool,
    pub(crate) from: u8,
    pub(crate) to: u8,
    /// The sender's port; [`DIRECT`] if it is sent by id.
    pub(crate) out: u8,
}

/// For what is sent by id.
pub(crate) const DIRECT: u8 = u8::MAX;

impl Channel {
    /// Who handles what arrives.
    pub(crate) fn receiver(self) -> u8 {
        if self.returns { self.from } else { self.to }
    }

    /// The sender's port, where it is a link.
    pub(crate) fn port(self) -> Option<Port> {
        (self.out != DIRECT).then_some(Port(self.out.into()))
    }
}

/// A timer that is set.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct Alarm {
    pub(crate) at: u8,
    pub(crate) timer: Timer,
    /// In how many ticks it is due; 0 where it may be due at any time.
    pub(crate) left: u32,
}

/// What a node is to be told.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(crate) struct Word {
    pub(crate) at: u8,
    /// The positions that it reaches, as bits.
    pub(crate) reach: u64,
}

/// What may still go wrong.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Budget {
    /// Nodes that stop.
    pub crashes: u8,
    /// Nodes that come back with fresh state.
    pub recoveries: u8,
    /// Messages that are lost.
    pub losses: u8,
    /// Messages that come twice.
    pub copies: u8,
}

impl World {
    /// A world without anybody: something to put in the place of another.
    pub(crate) fn none() -> Self {
        World {
            fingerprint: 0,
            seats: Vec::new(),
            letters: Vec::new(),
            alarms: Vec::new(),
            words: Vec::new(),
            left: Budget::default(),
            fickle: false,
            marks: Marks::default(),
        }
    }

    /// Works out the fingerprint again, after a change.
    pub(crate) fn seal(&mut self) {
        // Fixed keys: the same world has the same fingerprint in every run.
        let mut hasher = ahash::RandomState::with_seeds(1, 2, 3, 4).build_hasher();
        self.seats.hash(&mut hasher);
        self.letters.hash(&mut hasher);
        self.alarms.hash(&mut hasher);
        self.words.hash(&mut hasher);
        self.left.hash(&mut hasher);
        self.fickle.hash(&mut hasher);
        self.fingerprint = hasher.finish();
    }

    /// Puts a letter in its place.
    pub(crate) fn post(&mut self, letter: Letter, fifo: bool) {
        let place = match fifo {
            true => self.letters.partition_point(|other| other.channel <= letter.channel),
            false => self.letters.partition_point(|other| *other <= letter),
        };
        self.letters.insert(place, letter);
    }

    pub(crate) fn set(&mut self, alarm: Alarm) {
        let place = self.alarms.partition_point(|other| *other <= alarm);
        self.alarms.insert(place, alarm);
    }

    /// The live nodes, as bits.
    pub(crate) fn living(&self) -> u64 {
        self.seats.iter().enumerate().filter(|(_, seat)| seat.live).fold(0, |bits, (at, _)| bits | 1 << at)
    }
}

impl Hash for World {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.fingerprint);
    }
}
