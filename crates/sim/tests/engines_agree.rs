//! The fast engine and the general engine agree event for event on random protocols: on rings, complete networks and
//! graphs, with crashes, late starts, timers and coins.

use crate::common::{erased, gossip};

use std::collections::BTreeSet;

use hustings_protocol::Id;
use hustings_sim::engine::{on_complete, on_graph, on_mapped_ring, on_ring, run_with};
use hustings_sim::erased::DynProtocol;
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::simulate::simulate_fast;
use hustings_sim::topology::Network;
use proptest::prelude::*;

use gossip::{
    BY_INDEX, COINS, DIRECT, Gossip, GossipMessage, Hint, RECORDS_TIMERS, REPEATS, Rumour, SKIPS, TIMERS, graph,
};

fn network() -> impl Strategy<Value = Network> {
    prop_oneof![
        2 => (1..40u32).prop_map(Network::Ring),
        1 => (1..40u32).prop_map(Network::InformedRing),
        2 => (2..12u32).prop_map(Network::Complete),
        1 => (17..30u32).prop_map(Network::Complete),
        2 => (2..40u32, 0..60u32, any::<u64>()).prop_map(|(size, more, seed)| graph(size, more, seed)),
    ]
}

/// Tick and position of the start signals: of some positions, of all members, or of all positions.
fn starts(network: &Network) -> impl Strategy<Value = BTreeSet<(u64, u32)>> + use<> {
    let at_once = |positions: u32| Just((0..positions).map(|at| (0, at)).collect());
    prop_oneof![
        4 => proptest::collection::btree_set((0..9u64, 0..network.size()), 1..12),
        1 => at_once(network.members()),
        1 => at_once(network.size()),
    ]
}

prop_compose! {
    fn scenario()(network in network())(
        starts in starts(&network),
        crashes in proptest::collection::vec((0..network.size(), 0..15u64), 0..5),
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

/// The ranks of all positions. An outside informer has the rank of the first.
fn ranks(scenario: &Scenario) -> Vec<Id> {
    let outside = (scenario.network.size() - scenario.network.members()) as usize;
    scenario.ids.iter().chain(&scenario.ids[..outside]).copied().map(Id).collect()
}

fn fast<W: GossipMessage>(gossip: &Gossip<W>, scenario: &Scenario) -> Option<Outcome> {
    let ranks = ranks(scenario);
    match scenario.network {
        Network::Ring(_) | Network::InformedRing(_) => run_with(on_ring::<_, true>, gossip, &ranks, scenario)
            .or_else(|| run_with(on_mapped_ring::<_, true>, gossip, &ranks, scenario)),
        Network::Complete(_) => run_with(on_complete::<_, true>, gossip, &ranks, scenario),
        Network::Graph(_) => run_with(on_graph::<_, true>, gossip, &ranks, scenario),
    }
}

/// The same for erased types.
fn fast_erased<W: GossipMessage>(gossip: &Gossip<W>, scenario: &Scenario) -> Option<Outcome> {
    let (erased, ranks) = DynProtocol::new(gossip.clone(), &ranks(scenario));
    simulate_fast(&erased, &ranks, scenario, false)
}

fn agree<W: GossipMessage>(gossip: &Gossip<W>, mut scenario: Scenario) -> Result<(), TestCaseError> {
    let general = erased::run(gossip.clone(), &ranks(&scenario), &scenario, None);
    for threads in [1, 3] {
        scenario.threads = threads;
        if let Some(quick) = fast(gossip, &scenario) {
            prop_assert_eq!(&quick, &general);
        }
        // On rings that the ring driver supports, the graph driver must give the same outcome.
        let quick = run_with(on_mapped_ring::<_, true>, gossip, &ranks(&scenario), &scenario);
        if let Some(quick) = quick {
            prop_assert_eq!(&quick, &general);
        }
        // Nor do erased types change anything.
        if let Some(quick) = fast_erased(gossip, &scenario) {
            prop_assert_eq!(&quick, &general);
        }
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn fast_and_general_agree(
        scenario in scenario(),
        seed in any::<u64>(),
        hops in 1..14u8,
        abilities in (0..32u8, prop_oneof![Just(0), Just(BY_INDEX)], prop_oneof![Just(0), Just(RECORDS_TIMERS)]),
        is_tiny in any::<bool>(),
    ) {
        let abilities = abilities.0 | abilities.1 | abilities.2;
        // On dense networks messages multiply quickly, so they must not be forwarded often.
        let is_dense = matches!(scenario.network, Network::Complete(17..));
        let hops = if is_dense { hops.min(2) } else { hops };
        if is_tiny {
            agree(&Gossip::<Hint>::new(seed, hops, abilities), scenario)?;
        } else {
            agree(&Gossip::<Rumour>::new(seed, hops, abilities), scenario)?;
        }
    }
}

#[test]
fn the_fast_engine_supports_most_cases() {
    // Guards the test above, which proves nothing if the fast engine does not support the cases.
    fn serves<W: GossipMessage>(abilities: u8, network: Network) {
        let mut scenario = Scenario::new(network).started_by_all();
        scenario.faults = vec![Fault { tick: 2, what: FaultKind::Crash(3) }];
        let gossip = Gossip::<W>::new(1, 8, abilities);
        let outcome = fast(&gossip, &scenario).expect("it serves crashes on every network");
        assert!(outcome.total() > 20 && outcome.lost > 0, "{outcome:?}");
        assert_eq!(fast_erased(&gossip, &scenario), Some(outcome), "so it does with erased types");
    }
    for network in [Network::Ring(9), Network::Complete(6), graph(20, 30, 1)] {
        serves::<Rumour>(TIMERS | SKIPS | COINS | REPEATS, network.clone());
        serves::<Hint>(TIMERS | SKIPS | COINS | REPEATS, network);
    }
    for network in [Network::Ring(9), Network::InformedRing(9)] {
        serves::<Rumour>(TIMERS | COINS | REPEATS | DIRECT | BY_INDEX, network.clone());
        serves::<Hint>(TIMERS | COINS | REPEATS | DIRECT | BY_INDEX, network);
    }
}
