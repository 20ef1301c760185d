//! A random protocol and random graphs for it.
//!
//! The protocol is a gossip whose nodes fold everything they see, in order, into a hash, and let that hash decide what
//! they do and say. One event out of place, and counts, bytes and times come out different.

use std::marker::PhantomData;

use hustings_protocol::{Context, Id, Message, Port, Protocol, StartReason, Timer, kinds};
use hustings_sim::rng::{Purpose, Stream, hash};
use hustings_sim::topology::{Graph, Network};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Gossip<W = Rumour> {
    /// Decides what it does.
    pub(crate) seed: u64,
    /// How often a rumour is passed on at most.
    pub(crate) life: u8,
    /// What it may do, as bits.
    pub(crate) talents: u8,
    /// In which words.
    pub(crate) words: PhantomData<W>,
}

impl<W> Gossip<W> {
    pub(crate) const fn new(seed: u64, life: u8, talents: u8) -> Self {
        Gossip { seed, life, talents, words: PhantomData }
    }
}

/// Sends by id.
pub(crate) const DIRECT: u8 = 1;
/// Sets timers.
pub(crate) const TIMERS: u8 = 2;
/// Skips whom it cannot reach.
pub(crate) const SKIPS: u8 = 4;
/// Draws coins.
pub(crate) const COINS: u8 = 8;
/// Says the same thing twice or thrice.
pub(crate) const STUTTERS: u8 = 16;
/// Skips somebody for no reason.
pub(crate) const RASH: u8 = 32;
/// Sends by the map.
pub(crate) const MAP: u8 = 64;
/// Records stale timers in its state, in the lowest bit, and says that this is no progress.
pub(crate) const RECORDS_TIMERS: u8 = 128;

/// What a gossip says. Engines keep small messages and large ones in different ways.
pub(crate) trait Word: Message {
    fn new(choice: u64, life: u8, seen: u64) -> Self;
    fn life(&self) -> u8;
    fn digest(&self) -> u64;
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Rumour {
    Quiet { life: u8, seen: u16 },
    Loud { life: u8, seen: u64 },
    Told(std::sync::Arc<u64>, u8),
}
kinds!(Rumour: Quiet = "quiet", Loud = "loud", Told = "told");

impl Word for Rumour {
    fn new(choice: u64, life: u8, seen: u64) -> Self {
        match choice & 3 {
            0 | 1 => Rumour::Quiet { life, seen: seen as u16 },
            2 => Rumour::Loud { life, seen },
            _ => Rumour::Told(std::sync::Arc::new(seen), life),
        }
    }

    fn life(&self) -> u8 {
        match self {
            Rumour::Quiet { life, .. } | Rumour::Loud { life, .. } | Rumour::Told(_, life) => *life,
        }
    }

    fn digest(&self) -> u64 {
        match self {
            Rumour::Quiet { life, seen } => hash(1, u64::from(*life), u64::from(*seen)),
            Rumour::Loud { life, seen } => hash(2, u64::from(*life), *seen),
            Rumour::Told(seen, life) => hash(3, u64::from(*life), **seen),
        }
    }
}

/// A word of one byte: a life below 16 and a bit of what was seen.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Hint(u8);

impl Message for Hint {
    const KINDS: &'static [&'static str] = &["hint", "nudge"];

    fn kind(&self) -> usize {
        usize::from(self.0 >> 7)
    }
}

impl Word for Hint {
    fn new(choice: u64, life: u8, seen: u64) -> Self {
        Hint(life | (seen as u8 & 7) << 4 | (choice as u8 & 1) << 7)
    }
    fn life(&self) -> u8 {
        self.0 & 15
    }
    fn digest(&self) -> u64 {
        u64::from(self.0)
    }
}

impl<W: Word> Gossip<W> {
    fn act<C: Context<Self>>(&self, seen: &mut u64, what: u64, life: u8, cx: &mut C) {
        *seen = hash(self.seed, *seen, what ^ (u64::from(cx.index()) << 32));
        if self.talents & COINS != 0 && seen.is_multiple_of(5) {
            *seen = hash(*seen, cx.draw(7), 0);
        }
        let Some(life) = life.checked_sub(1) else { return };
        let mut choices = *seen;
        for _ in 0..choices % 3 {
            choices = hash(choices, 0, 0);
            let rumour = W::new(choices >> 8, life, *seen);
            if cx.degree() == 0 {
                // An informer outside has the map and nothing else.
                cx.send_to((choices >> 32) as u32 % (cx.size() + 2), rumour);
                continue;
            }
            let port = Port((choices >> 16) as u32 % cx.degree());
            match choices >> 24 & 15 {
                0 => cx.send_all_but(Some(port), rumour),
                1 => cx.send_range(port.0..cx.degree(), rumour),
                2 if self.talents & DIRECT != 0 => cx.send_direct(Id(choices >> 32 & 15), rumour),
                3 => cx.follow(Id(*seen % u64::from(cx.size()))),
                4 => cx.lead(),
                5 => cx.forget(),
                8..=10 if self.talents & STUTTERS != 0 => {
                    (0..2 + (choices >> 40 & 1)).for_each(|_| cx.send(port, rumour.clone()));
                }
                6 | 7 if self.talents & TIMERS != 0 => {
                    cx.set_timer(choices >> 32 & 7, Timer { kind: life, token: choices as u32 & 1 });
                }
                12 | 13 if self.talents & MAP != 0 => cx.send_to((choices >> 32) as u32 % (cx.size() + 2), rumour),
                11 if self.talents & RASH != 0 => cx.skip(port),
                _ => cx.send(port, rumour),
            }
        }
    }
}

impl<W: Word> Protocol for Gossip<W> {
    type Rank = Id;
    type State = u64;
    type Message = W;

    fn init(&self) -> u64 {
        0
    }
    fn handle_start<C: Context<Self>>(&self, seen: &mut u64, reason: StartReason, cx: &mut C) {
        self.act(seen, 100 + reason as u64, self.life, cx);
        if cx.degree() > 0 {
            cx.send(Port::NEXT, W::new(2, self.life, *seen));
        }
    }
    fn handle_message<C: Context<Self>>(&self, seen: &mut u64, from: Port, rumour: W, cx: &mut C) {
        self.act(seen, hash(200, u64::from(from.0), rumour.digest()), rumour.life(), cx);
    }
    fn handle_direct<C: Context<Self>>(&self, seen: &mut u64, from: Id, rumour: W, cx: &mut C) {
        self.act(seen, hash(300, from.0, rumour.digest()), rumour.life(), cx);
    }
    fn handle_unreachable<C: Context<Self>>(&self, seen: &mut u64, port: Port, rumour: W, cx: &mut C) {
        if self.talents & SKIPS != 0 {
            cx.skip(port);
        }
        self.act(seen, hash(400, u64::from(port.0), rumour.digest()), rumour.life().min(1), cx);
    }
    fn handle_unreachable_direct<C: Context<Self>>(&self, seen: &mut u64, to: Id, rumour: W, cx: &mut C) {
        self.act(seen, hash(500, to.0, rumour.digest()), rumour.life().min(1), cx);
    }
    fn handle_timer<C: Context<Self>>(&self, seen: &mut u64, timer: Timer, cx: &mut C) {
        // An odd token is a stale timer: it is recorded, or changes nothing.
        if timer.token == 0 {
            self.act(seen, 600, timer.kind, cx);
        } else if self.talents & RECORDS_TIMERS != 0 {
            *seen ^= 1;
        }
    }
    fn is_progress(&self, before: &u64, after: &u64) -> bool {
        let recorded = u64::from(self.talents & RECORDS_TIMERS != 0);
        before | recorded != after | recorded
    }
    fn handle_retire<C: Context<Self>>(&self, seen: &mut u64, cx: &mut C) {
        self.act(seen, 700, 2, cx);
    }
}

/// A connected random graph: a random tree and some links more.
pub(crate) fn graph(size: u32, more: u32, seed: u64) -> Network {
    let mut stream = Stream::new(seed, Purpose::Topology, 0);
    let mut links = std::collections::BTreeSet::new();
    for at in 1..size {
        links.insert((stream.below(u64::from(at)) as u32, at));
    }
    for _ in 0..more {
        let (a, b) = (stream.below(u64::from(size)) as u32, stream.below(u64::from(size)) as u32);
        if a != b {
            links.insert((a.min(b), a.max(b)));
        }
    }
    Network::Graph(
        Graph::new(size, |link| links.iter().for_each(|&(a, b)| link(a, b))).expect("the links are distinct"),
    )
}
