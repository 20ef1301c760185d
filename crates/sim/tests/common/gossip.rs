//! A random protocol and random graphs for it.
//!
//! The nodes of the protocol hash everything they observe, in order. The hash decides what they do and send. So a
//! single event out of order changes counts, bytes and times.

use std::marker::PhantomData;

use hustings_protocol::{Context, Id, Message, Port, Protocol, SplitMix64, StartReason, Timer, kinds};
use hustings_sim::topology::{Graph, Network};
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug)]
pub(crate) struct Gossip<W = Rumour> {
    /// Determines its behaviour.
    pub(crate) seed: u64,
    /// How often a message is forwarded at most.
    pub(crate) hops: u8,
    /// What it may do, as bits.
    pub(crate) abilities: u8,
    /// The type of its messages.
    pub(crate) words: PhantomData<W>,
}

impl<W> Gossip<W> {
    pub(crate) const fn new(seed: u64, hops: u8, abilities: u8) -> Self {
        Gossip { seed, hops, abilities, words: PhantomData }
    }
}

/// Sends by id.
pub(crate) const DIRECT: u8 = 1;
/// Sets timers.
pub(crate) const TIMERS: u8 = 2;
/// Skips peers that are unreachable.
pub(crate) const SKIPS: u8 = 4;
/// Draws coins.
pub(crate) const COINS: u8 = 8;
/// Sends the same message two or three times.
pub(crate) const REPEATS: u8 = 16;
/// Skips peers without a reason.
pub(crate) const SKIPS_AT_RANDOM: u8 = 32;
/// Sends by index.
pub(crate) const BY_INDEX: u8 = 64;
/// Records stale timers in the lowest bit of its state, which is not progress.
pub(crate) const RECORDS_TIMERS: u8 = 128;

/// The messages of a gossip. Engines store small messages and large ones in different ways.
pub(crate) trait GossipMessage: Message {
    fn new(choice: u64, hops: u8, seen: u64) -> Self;
    fn hops(&self) -> u8;
    fn digest(&self) -> u64;
}

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) enum Rumour {
    Quiet { hops: u8, seen: u16 },
    Loud { hops: u8, seen: u64 },
    Told(std::sync::Arc<u64>, u8),
}
kinds!(Rumour: Quiet = "quiet", Loud = "loud", Told = "told");

impl GossipMessage for Rumour {
    fn new(choice: u64, hops: u8, seen: u64) -> Self {
        match choice & 3 {
            0 | 1 => Rumour::Quiet { hops, seen: seen as u16 },
            2 => Rumour::Loud { hops, seen },
            _ => Rumour::Told(std::sync::Arc::new(seen), hops),
        }
    }

    fn hops(&self) -> u8 {
        match self {
            Rumour::Quiet { hops, .. } | Rumour::Loud { hops, .. } | Rumour::Told(_, hops) => *hops,
        }
    }

    fn digest(&self) -> u64 {
        match self {
            Rumour::Quiet { hops, seen } => SplitMix64::hash(1, u64::from(*hops), u64::from(*seen)),
            Rumour::Loud { hops, seen } => SplitMix64::hash(2, u64::from(*hops), *seen),
            Rumour::Told(seen, hops) => SplitMix64::hash(3, u64::from(*hops), **seen),
        }
    }
}

/// A message of one byte: a hop count below 16 and some bits of the hash.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
pub(crate) struct Hint(u8);

impl Message for Hint {
    const KINDS: &'static [&'static str] = &["hint", "nudge"];

    fn kind(&self) -> usize {
        usize::from(self.0 >> 7)
    }
}

impl GossipMessage for Hint {
    fn new(choice: u64, hops: u8, seen: u64) -> Self {
        Hint(hops | (seen as u8 & 7) << 4 | (choice as u8 & 1) << 7)
    }
    fn hops(&self) -> u8 {
        self.0 & 15
    }
    fn digest(&self) -> u64 {
        u64::from(self.0)
    }
}

impl<W: GossipMessage> Gossip<W> {
    fn act<C: Context<Self>>(&self, seen: &mut u64, what: u64, hops: u8, cx: &mut C) {
        *seen = SplitMix64::hash(self.seed, *seen, what ^ (u64::from(cx.index()) << 32));
        if self.abilities & COINS != 0 && seen.is_multiple_of(5) {
            *seen = SplitMix64::hash(*seen, cx.draw(7), 0);
        }
        let Some(hops) = hops.checked_sub(1) else { return };
        let mut choices = *seen;
        for _ in 0..choices % 3 {
            choices = SplitMix64::hash(choices, 0, 0);
            let rumour = W::new(choices >> 8, hops, *seen);
            if cx.degree() == 0 {
                // An outside informer has no ports and sends by index.
                cx.send_to((choices >> 32) as u32 % (cx.size() + 2), rumour);
                continue;
            }
            let port = Port((choices >> 16) as u32 % cx.degree());
            match choices >> 24 & 15 {
                0 => cx.send_all_but(Some(port), rumour),
                1 => cx.send_range(port.0..cx.degree(), rumour),
                2 if self.abilities & DIRECT != 0 => cx.send_direct(Id(choices >> 32 & 15), rumour),
                3 => cx.follow(Id(*seen % u64::from(cx.size()))),
                4 => cx.lead(),
                5 => cx.forget(),
                8..=10 if self.abilities & REPEATS != 0 => {
                    (0..2 + (choices >> 40 & 1)).for_each(|_| cx.send(port, rumour.clone()));
                }
                6 | 7 if self.abilities & TIMERS != 0 => {
                    cx.set_timer(choices >> 32 & 7, Timer { kind: hops, token: choices as u32 & 1 });
                }
                12 | 13 if self.abilities & BY_INDEX != 0 => {
                    cx.send_to((choices >> 32) as u32 % (cx.size() + 2), rumour)
                }
                11 if self.abilities & SKIPS_AT_RANDOM != 0 => cx.skip(port),
                _ => cx.send(port, rumour),
            }
        }
    }
}

impl<W: GossipMessage> Protocol for Gossip<W> {
    type Rank = Id;
    type State = u64;
    type Message = W;

    fn init(&self) -> u64 {
        0
    }
    fn handle_start<C: Context<Self>>(&self, seen: &mut u64, reason: StartReason, cx: &mut C) {
        self.act(seen, 100 + reason as u64, self.hops, cx);
        if cx.degree() > 0 {
            cx.send(Port::NEXT, W::new(2, self.hops, *seen));
        }
    }
    fn handle_message<C: Context<Self>>(&self, seen: &mut u64, from: Port, rumour: W, cx: &mut C) {
        self.act(seen, SplitMix64::hash(200, u64::from(from.0), rumour.digest()), rumour.hops(), cx);
    }
    fn handle_direct<C: Context<Self>>(&self, seen: &mut u64, from: Id, rumour: W, cx: &mut C) {
        self.act(seen, SplitMix64::hash(300, from.0, rumour.digest()), rumour.hops(), cx);
    }
    fn handle_unreachable<C: Context<Self>>(&self, seen: &mut u64, port: Port, rumour: W, cx: &mut C) {
        if self.abilities & SKIPS != 0 {
            cx.skip(port);
        }
        self.act(seen, SplitMix64::hash(400, u64::from(port.0), rumour.digest()), rumour.hops().min(1), cx);
    }
    fn handle_unreachable_direct<C: Context<Self>>(&self, seen: &mut u64, to: Id, rumour: W, cx: &mut C) {
        self.act(seen, SplitMix64::hash(500, to.0, rumour.digest()), rumour.hops().min(1), cx);
    }
    fn handle_timer<C: Context<Self>>(&self, seen: &mut u64, timer: Timer, cx: &mut C) {
        // An odd token marks a stale timer: it is recorded, or changes nothing.
        if timer.token == 0 {
            self.act(seen, 600, timer.kind, cx);
        } else if self.abilities & RECORDS_TIMERS != 0 {
            *seen ^= 1;
        }
    }
    fn is_progress(&self, before: &u64, after: &u64) -> bool {
        let recorded = u64::from(self.abilities & RECORDS_TIMERS != 0);
        before | recorded != after | recorded
    }
    fn handle_retire<C: Context<Self>>(&self, seen: &mut u64, cx: &mut C) {
        self.act(seen, 700, 2, cx);
    }
}

/// A connected random graph: a random tree and some more links.
pub(crate) fn graph(size: u32, more: u32, seed: u64) -> Network {
    let mut rng = SplitMix64::new(seed);
    let mut links = std::collections::BTreeSet::new();
    for at in 1..size {
        links.insert((rng.below(u64::from(at)) as u32, at));
    }
    for _ in 0..more {
        let (a, b) = (rng.below(u64::from(size)) as u32, rng.below(u64::from(size)) as u32);
        if a != b {
            links.insert((a.min(b), a.max(b)));
        }
    }
    Network::Graph(
        Graph::new(size, |link| links.iter().for_each(|&(a, b)| link(a, b))).expect("the links are distinct"),
    )
}
