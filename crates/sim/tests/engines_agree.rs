//! The fast engine and the general one agree event for event: on random protocols, rings, complete networks and graphs, with
//! crashes, late starts, timers and coins.
//!
//! The random protocol is a gossip whose nodes fold everything they see, in order, into a hash, and let that hash decide what
//! they do and say. One event out of place, and counts, bytes and times come out different.

use hustings_protocol::{Context, Id, Port, Protocol, Summons, Timer, kinds};
use hustings_sim::engine::{fast, general};
use hustings_sim::outcome::Outcome;
use hustings_sim::rng::{Purpose, Stream, hash};
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::{Complete, Graph, Network, Ring};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

#[derive(Clone, Copy, Debug)]
struct Gossip {
    seed: u64,
    /// How often a rumour is passed on at most.
    life: u8,
    /// What it may do, as bits.
    talents: u8,
}

const DIRECT: u8 = 1;
const TIMERS: u8 = 2;
const SKIPS: u8 = 4;
const COINS: u8 = 8;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Rumour {
    Quiet { life: u8, seen: u16 },
    Loud { life: u8, seen: u64 },
    Told(std::sync::Arc<u64>, u8),
}
kinds!(Rumour: Quiet = "quiet", Loud = "loud", Told = "told");

impl Rumour {
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

impl Gossip {
    fn act<C: Context<Self>>(&self, seen: &mut u64, what: u64, life: u8, cx: &mut C) {
        *seen = hash(self.seed, *seen, what ^ (u64::from(cx.index()) << 32));
        if self.talents & COINS != 0 && *seen % 5 == 0 {
            *seen = hash(*seen, cx.draw(7), 0);
        }
        let Some(life) = life.checked_sub(1) else { return };
        let mut choices = *seen;
        for _ in 0..choices % 3 {
            choices = hash(choices, 0, 0);
            let rumour = match choices >> 8 & 3 {
                0 | 1 => Rumour::Quiet { life, seen: *seen as u16 },
                2 => Rumour::Loud { life, seen: *seen },
                _ => Rumour::Told(std::sync::Arc::new(*seen), life),
            };
            let port = Port((choices >> 16) as u32 % cx.degree());
            match choices >> 24 & 15 {
                0 => cx.send_all_but(Some(port), rumour),
                1 => cx.send_range(port.0..cx.degree(), rumour),
                2 if self.talents & DIRECT != 0 => cx.send_direct(Id(choices >> 32 & 15), rumour),
                3 => cx.follow(Id(*seen % u64::from(cx.size()))),
                4 => cx.lead(),
                5 => cx.forget(),
                6 | 7 if self.talents & TIMERS != 0 => {
                    cx.set_timer(choices >> 32 & 7, Timer { kind: life, token: choices as u32 & 1 });
                }
                _ => cx.send(port, rumour),
            }
        }
    }
}

impl Protocol for Gossip {
    type Rank = Id;
    type State = u64;
    type Message = Rumour;

    fn init(&self) -> u64 {
        0
    }
    fn start<C: Context<Self>>(&self, seen: &mut u64, summons: Summons, cx: &mut C) {
        self.act(seen, 100 + summons as u64, self.life, cx);
        cx.send(Port::NEXT, Rumour::Loud { life: self.life, seen: *seen });
    }
    fn receive<C: Context<Self>>(&self, seen: &mut u64, from: Port, rumour: Rumour, cx: &mut C) {
        self.act(seen, hash(200, u64::from(from.0), rumour.digest()), rumour.life(), cx);
    }
    fn receive_direct<C: Context<Self>>(&self, seen: &mut u64, from: Id, rumour: Rumour, cx: &mut C) {
        self.act(seen, hash(300, from.0, rumour.digest()), rumour.life(), cx);
    }
    fn unreachable<C: Context<Self>>(&self, seen: &mut u64, port: Port, rumour: Rumour, cx: &mut C) {
        if self.talents & SKIPS != 0 {
            cx.skip(port);
        }
        self.act(seen, hash(400, u64::from(port.0), rumour.digest()), rumour.life().min(1), cx);
    }
    fn unreachable_direct<C: Context<Self>>(&self, seen: &mut u64, to: Id, rumour: Rumour, cx: &mut C) {
        self.act(seen, hash(500, to.0, rumour.digest()), rumour.life().min(1), cx);
    }
    fn timer<C: Context<Self>>(&self, seen: &mut u64, timer: Timer, cx: &mut C) {
        // An odd token is a stale timer: it changes nothing.
        if timer.token == 0 {
            self.act(seen, 600, timer.kind, cx);
        }
    }
}

/// A connected random graph: a random tree and some links more.
fn graph(size: u32, more: u32, seed: u64) -> Network {
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

fn network() -> impl Strategy<Value = Network> {
    prop_oneof![
        (3..40u32).prop_map(|size| Network::Ring(Ring { size })),
        (2..12u32).prop_map(|size| Network::Complete(Complete { size })),
        (2..40u32, 0..60u32, any::<u64>()).prop_map(|(size, more, seed)| graph(size, more, seed)),
    ]
}

prop_compose! {
    fn scenario()(network in network())(
        starts in proptest::collection::btree_set((0..9u64, 0..network.size()), 1..12),
        crashes in proptest::collection::btree_map(0..network.size(), 0..15u64, 0..4),
        seed in any::<u64>(),
        until in prop_oneof![9 => Just(5_000), 1 => 0..20u64],
        network in Just(network),
    ) -> Scenario {
        let mut scenario = Scenario::new(network);
        scenario.starts = starts.into_iter().map(|(tick, at)| Start { tick, at }).collect();
        scenario.faults = crashes.into_iter().map(|(at, tick)| Fault { tick, what: FaultKind::Crash(at) }).collect();
        scenario.faults.sort_by_key(|fault| fault.tick);
        scenario.seed = seed;
        scenario.until = until;
        scenario
    }
}

fn fast(gossip: &Gossip, scenario: &Scenario) -> Option<Outcome> {
    let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    fast::run::<_, fast::Full>(gossip, &ranks, scenario)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn fast_and_general_agree(mut scenario in scenario(), seed in any::<u64>(), life in 1..14u8, talents in 0..16u8) {
        let gossip = Gossip { seed, life, talents };
        let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
        let general = general::run(&gossip, &ranks, &scenario, None);
        if let Some(quick) = fast(&gossip, &scenario) {
            prop_assert_eq!(&quick, &general);
        }
        scenario.threads = 3;
        if let Some(quick) = fast(&gossip, &scenario) {
            prop_assert_eq!(&quick, &general);
        }
    }
}

#[test]
fn the_fast_engine_serves_most_of_these() {
    // Guards the test above: if the fast engine refused everything, it would prove nothing.
    let gossip = Gossip { seed: 1, life: 8, talents: TIMERS | SKIPS | COINS };
    let networks = [Network::Ring(Ring { size: 9 }), Network::Complete(Complete { size: 6 }), graph(20, 30, 1)];
    for network in networks {
        let mut scenario = Scenario::new(network).started_by_all();
        scenario.faults = vec![Fault { tick: 2, what: FaultKind::Crash(3) }];
        let outcome = fast(&gossip, &scenario).expect("the fast engine serves crashes on every network");
        assert!(outcome.total() > 20 && outcome.lost > 0, "{outcome:?}");
    }
}
