//! The fast engine and the general one agree event for event: on random protocols, rings, complete networks and graphs,
//! with crashes, late starts, timers and coins.

#[path = "common/gossip.rs"]
mod gossip;

use std::collections::BTreeSet;

use hustings_protocol::Id;
use hustings_sim::engine::{fast, general};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::{Complete, Network, Ring};
use proptest::prelude::*;

use gossip::{COINS, DIRECT, Gossip, Hint, MAP, RECORDS_TIMERS, Rumour, SKIPS, STUTTERS, TIMERS, Word, graph};

fn network() -> impl Strategy<Value = Network> {
    prop_oneof![
        2 => (1..40u32).prop_map(|size| Network::Ring(Ring { size })),
        1 => (1..40u32).prop_map(|size| Network::InformedRing(Ring { size })),
        2 => (2..12u32).prop_map(|size| Network::Complete(Complete { size })),
        1 => (17..30u32).prop_map(|size| Network::Complete(Complete { size })),
        2 => (2..40u32, 0..60u32, any::<u64>()).prop_map(|(size, more, seed)| graph(size, more, seed)),
    ]
}

/// (tick, position) of the start signals: some positions', all members', or all there are.
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

/// Everybody's rank; an informer outside stands under the first one's.
fn ranks(scenario: &Scenario) -> Vec<Id> {
    let outside = (scenario.network.size() - scenario.network.members()) as usize;
    scenario.ids.iter().chain(&scenario.ids[..outside]).copied().map(Id).collect()
}

fn fast<W: Word>(gossip: &Gossip<W>, scenario: &Scenario) -> Option<Outcome> {
    fast::run::<_, fast::Full>(gossip, &ranks(scenario), scenario)
}

fn agree<W: Word>(gossip: &Gossip<W>, mut scenario: Scenario) -> Result<(), TestCaseError> {
    let general = general::run(gossip, &ranks(&scenario), &scenario, None);
    for threads in [1, 3] {
        scenario.threads = threads;
        if let Some(quick) = fast(gossip, &scenario) {
            prop_assert_eq!(&quick, &general);
        }
        // Where the ring's own driver serves, the one for maps must do the same.
        if let Some(quick) = fast::run_on_mapped_ring::<_, fast::Full>(gossip, &ranks(&scenario), &scenario) {
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
        life in 1..14u8,
        talents in (0..32u8, prop_oneof![Just(0), Just(MAP)], prop_oneof![Just(0), Just(RECORDS_TIMERS)]),
        is_tiny in any::<bool>(),
    ) {
        let talents = talents.0 | talents.1 | talents.2;
        // Where everybody tells so many, a rumour must not be told on for long.
        let is_dense = matches!(scenario.network, Network::Complete(Complete { size: 17.. }));
        let life = if is_dense { life.min(2) } else { life };
        if is_tiny {
            agree(&Gossip::<Hint>::new(seed, life, talents), scenario)?;
        } else {
            agree(&Gossip::<Rumour>::new(seed, life, talents), scenario)?;
        }
    }
}

#[test]
fn the_fast_engine_serves_most_of_these() {
    // Guards the test above: if the fast engine refused everything, it would prove nothing.
    fn serves<W: Word>(talents: u8, network: Network) {
        let mut scenario = Scenario::new(network).started_by_all();
        scenario.faults = vec![Fault { tick: 2, what: FaultKind::Crash(3) }];
        let outcome = fast(&Gossip::<W>::new(1, 8, talents), &scenario).expect("it serves crashes on every network");
        assert!(outcome.total() > 20 && outcome.lost > 0, "{outcome:?}");
    }
    for network in [Network::Ring(Ring { size: 9 }), Network::Complete(Complete { size: 6 }), graph(20, 30, 1)] {
        serves::<Rumour>(TIMERS | SKIPS | COINS | STUTTERS, network.clone());
        serves::<Hint>(TIMERS | SKIPS | COINS | STUTTERS, network);
    }
    for network in [Network::Ring(Ring { size: 9 }), Network::InformedRing(Ring { size: 9 })] {
        serves::<Rumour>(TIMERS | COINS | STUTTERS | DIRECT | MAP, network.clone());
        serves::<Hint>(TIMERS | COINS | STUTTERS | DIRECT | MAP, network);
    }
}
