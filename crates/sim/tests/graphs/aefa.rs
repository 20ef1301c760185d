//! AEFA where nothing goes wrong: counts and times, on any graph, whoever starts.

use crate::common::elections::{expected, simulate};
use crate::common::waves::{predicted, started};
use hustings_algorithms::graph::{Aefa, AefaParams};
use hustings_protocol::Best;
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Delay, Scenario, Start};
use hustings_sim::simulate::ElectionSpec;
use hustings_sim::topology::{Network, Topology};
use proptest::prelude::*;

fn run(scenario: &Scenario) -> Outcome {
    simulate::<Aefa>(&AefaParams::default(), scenario)
}

/// docs/model.md#aefa: election = ack = leader = leader-ack = 2E-(n-1), notify 0 or 1.
#[test]
fn on_every_shape_counts_and_times_are_those_of_the_specification() {
    for (shape, sizes) in [
        ("complete", 1..12),
        ("line", 1..9),
        ("star", 1..9),
        ("tree:2", 1..20),
        ("grid:3x4", 12..13),
        ("random:5-10", 11..30),
    ] {
        for size in sizes {
            let shape: Topology = shape.parse().unwrap();
            let network = shape.build(size, u64::from(size)).unwrap();
            for source in 0..size {
                let outcome = run(&started(network.clone(), source));
                let (by_kind, times) = predicted(&network, source, size - 1);
                assert_eq!(outcome.by_kind, by_kind, "{shape:?} of {size} from {source}");
                assert_eq!(outcome.time, times, "{shape:?} of {size} from {source}");
                assert_eq!((outcome.leaders, outcome.agreement), (vec![size - 1], true));
            }
        }
    }
}

/// More neighbours than fit into a word.
#[test]
fn nodes_may_have_many_neighbours() {
    for (shape, size) in [("complete", 65), ("complete", 66), ("complete", 130), ("star", 200)] {
        let network = shape.parse::<Topology>().unwrap().build(size, 0).unwrap();
        for source in [0, 1, size - 1] {
            let outcome = run(&started(network.clone(), source));
            let expected = predicted(&network, source, size - 1);
            assert_eq!((outcome.by_kind, outcome.time), expected, "{shape} of {size} from {source}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, ..ProptestConfig::default() })]

    /// docs/model.md#aefa, on random graphs with random ids; the general engine says the same as the fast one.
    #[test]
    fn on_random_graphs_too(size in 1u32..40, more in 0u32..80, seed: u64, place: u32) {
        let network = crate::common::gossip::graph(size, more, seed);
        let mut ids: Vec<u64> = (0..u64::from(size)).map(|at| at * 3 + 1).collect();
        let turn = ids.len() as u64;
        ids.sort_by_key(|id| id.wrapping_mul(seed | 1) >> 20);
        prop_assume!(turn > 0);
        let winner = (0..size).max_by_key(|&at| ids[at as usize]).unwrap();
        let scenario = Scenario { ids, ..started(network.clone(), place % size) };
        let (by_kind, times) = predicted(&network, place % size, winner);
        let outcome = run(&scenario);
        prop_assert_eq!(&outcome.by_kind, &by_kind);
        prop_assert_eq!(outcome.time, times);
        prop_assert_eq!((&outcome.leaders, outcome.agreement), (&vec![winner], true));
        prop_assert_eq!(expected::<Aefa>(&AefaParams::default(), &scenario), Some(by_kind.clone()));
        // A value before the id needs the general engine; values that say the same as the ids change nothing.
        let values = scenario.ids.iter().map(|&id| hustings_protocol::Value::new(id as f64).unwrap()).collect();
        let general = run(&Scenario { values: Some(values), ..scenario });
        prop_assert_eq!((general.by_kind, general.time), (by_kind, times));
    }

    /// Whatever the delays and the bandwidth, one source costs the same.
    #[test]
    fn delays_change_no_count(
        size in 1u32..25, more in 0u32..40, seed: u64, unordered: bool, bandwidth in prop::option::of(1u64..20),
    ) {
        let network = crate::common::gossip::graph(size, more, seed);
        let each = 2 * network.links() + 1 - u64::from(size);
        let scenario = Scenario { delay: Delay::Uniform(1, 9), unordered, bandwidth, seed, ..started(network, 0) };
        let outcome = run(&scenario);
        prop_assert_eq!(outcome.by_kind, [each, each, u64::from(size > 1), each, each, 0, 0, 0]);
        prop_assert!(outcome.agreement && outcome.leader == Some(size - 1));
    }

    /// Several sources: the greatest leads, nobody else, and the announcement costs what it costs with one.
    #[test]
    fn several_sources_have_one_leader(
        size in 2u32..25, more in 0u32..40, seed: u64,
        sources in prop::collection::vec((0u32..25, 0u64..12), 2..6), slow: bool,
    ) {
        let network = crate::common::gossip::graph(size, more, seed);
        let each = 2 * network.links() + 1 - u64::from(size);
        let mut starts: Vec<Start> = sources.iter().map(|&(at, tick)| Start { at: at % size, tick }).collect();
        starts.sort_by_key(|start| (start.tick, start.at));
        let delay = if slow { Delay::Uniform(1, 5) } else { Delay::Unit };
        let scenario = Scenario { starts, delay, seed, ..Scenario::new(network) };
        let outcome = run(&scenario);
        prop_assert_eq!((&outcome.leaders, outcome.agreement), (&vec![size - 1], true));
        prop_assert!(outcome.by_kind[0] >= each && outcome.by_kind[1] >= each && outcome.by_kind[2] <= 1);
        prop_assert_eq!(&outcome.by_kind[3..], &[each, each, 0, 0, 0]);
        // Out of order it may cost more, and ends the same.
        let outcome = run(&Scenario { unordered: true, ..scenario });
        prop_assert_eq!((&outcome.leaders, outcome.agreement, outcome.hung), (&vec![size - 1], true, false));
    }
}

/// docs/model.md#start-signals: a later start, after the leader is gone, holds another election.
#[test]
fn a_second_election_finds_the_next_greatest() {
    let shape: Topology = "random:5-10".parse().unwrap();
    for size in [12, 30] {
        let network = shape.build(size, 3).unwrap();
        let scenario = Scenario {
            starts: vec![Start { at: 0, tick: 0 }, Start { at: 2, tick: 100 }],
            faults: vec![hustings_sim::scenario::Fault {
                tick: 90,
                what: hustings_sim::scenario::FaultKind::Crash(size - 1),
            }],
            ..Scenario::new(network)
        };
        let outcome = run(&scenario);
        assert_eq!((outcome.leaders, outcome.agreement), (vec![size - 2], true));
        assert!(outcome.time.elected > Some(100) && !outcome.hung);
    }
}

/// `--best min` turns the order round; a start while a leader is named does nothing.
#[test]
fn the_least_can_win_and_a_needless_start_is_ignored() {
    let network = Network::Complete(6);
    let starts = vec![Start { at: 3, tick: 0 }, Start { at: 4, tick: 50 }];
    let outcome = run(&Scenario { best: Best::Min, starts, ..Scenario::new(network) });
    assert_eq!((outcome.leaders, outcome.by_kind), (vec![0], vec![25, 25, 1, 25, 25, 0, 0, 0]));
}

/// Without being told anything it runs on a random graph, started by the lowest position.
#[test]
fn its_defaults_make_sense() {
    let request = ElectionSpec { nodes: Some(40), ..ElectionSpec::default() };
    let scenario = request.build::<Aefa>(&Default::default()).unwrap().scenario;
    assert_eq!(scenario.starts, [Start { at: 0, tick: 0 }]);
    let outcome = run(&scenario);
    assert_eq!(Some(&outcome.by_kind), expected::<Aefa>(&AefaParams::default(), &scenario).as_ref());
    assert!(outcome.agreement);
}
