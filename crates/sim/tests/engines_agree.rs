//! The fast engine and the general one agree event for event: on random protocols, rings, complete networks and graphs,
//! with crashes, late starts, timers and coins.

#[path = "common/gossip.rs"]
mod gossip;

use hustings_protocol::Id;
use hustings_sim::engine::{fast, general};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::{Complete, Network, Ring};
use proptest::prelude::*;

use gossip::{COINS, Gossip, SKIPS, TIMERS, graph};

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
    fn fast_and_general_agree(mut scenario in scenario(), seed in any::<u64>(), life in 1..14u8, talents in 0..32u8) {
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
