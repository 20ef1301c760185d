//! AEFA with probes and beacons: what it survives by itself.

use crate::lookout::{QUIET, run, survives};
use hustings_sim::scenario::{Delay, Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::{Network, Shape};
use proptest::prelude::*;

fn small_graphs() -> Vec<Network> {
    let shapes = [
        ("line", 2),
        ("line", 5),
        ("ring", 5),
        ("star", 5),
        ("complete", 4),
        ("complete", 5),
        ("tree:2", 7),
        ("grid:2x3", 6),
    ];
    let graph = |(shape, size): &(&str, u32)| shape.parse::<Shape>().unwrap().build(*size, 0).unwrap();
    shapes.iter().map(graph).collect()
}

/// Laboratory.md §3.6: a child or parent that answers no probe is struck off. Every node, every tick.
#[test]
fn one_crash_of_any_node_at_any_tick() {
    for network in small_graphs() {
        let size = network.size();
        for source in 0..size {
            for down in 0..size {
                for tick in 0..24 {
                    let faults = vec![Fault { tick, what: FaultKind::Crash(down) }];
                    let starts = vec![Start { at: source, tick: 0 }];
                    let scenario = Scenario { faults, starts, until: tick + QUIET, ..Scenario::new(network.clone()) };
                    if let Err(problem) = survives(&scenario) {
                        panic!("{network:?} from {source}, {down} down at {tick}: {problem}");
                    }
                }
            }
        }
    }
}

/// One node goes down and comes back with nothing in its memory, perhaps before anybody notices.
#[test]
fn one_crash_and_recovery_at_any_ticks() {
    for network in small_graphs().into_iter().filter(|network| network.size() < 7) {
        let size = network.size();
        for source in [0, size - 1] {
            for down in 0..size {
                for tick in 0..16 {
                    for after in [1, 2, 4, 9, 60] {
                        let faults = vec![
                            Fault { tick, what: FaultKind::Crash(down) },
                            Fault { tick: tick + after, what: FaultKind::Recover(down) },
                        ];
                        let starts = vec![Start { at: source, tick: 0 }];
                        let until = tick + after + QUIET;
                        let scenario = Scenario { faults, starts, until, ..Scenario::new(network.clone()) };
                        if let Err(problem) = survives(&scenario) {
                            panic!("{network:?} from {source}, {down} down at {tick}, up {after} later: {problem}");
                        }
                    }
                }
            }
        }
    }
}

/// Any number of crashes, recoveries, cuts and partitions, any sources.
fn rough_runs() -> impl Strategy<Value = Scenario> {
    let fault = (0u8..6, 0u32..64, 0u32..64, 1u64..160);
    let graph = (2u32..14, 0u32..16, any::<u64>());
    (graph, prop::collection::vec(fault, 0..9), prop::collection::vec((0u32..64, 0u64..40), 1..4), any::<bool>())
        .prop_map(|((size, more, seed), faults, starts, slow)| {
            let network = crate::gossip::graph(size, more, seed);
            let mut faults: Vec<Fault> = faults
                .into_iter()
                .map(|(kind, a, b, tick)| Fault { tick, what: fault_of(kind, a, b, &network) })
                .collect();
            faults.sort_by_key(|fault| fault.tick);
            let mut starts: Vec<Start> = starts.into_iter().map(|(at, tick)| Start { at: at % size, tick }).collect();
            starts.sort_by_key(|start| (start.tick, start.at));
            let until = faults.last().map_or(0, |fault| fault.tick) + 2 * QUIET;
            let delay = if slow { Delay::Uniform(1, 2) } else { Delay::Unit };
            Scenario { faults, starts, delay, seed, until, ..Scenario::new(network) }
        })
}

fn fault_of(kind: u8, a: u32, b: u32, network: &Network) -> FaultKind {
    let at = a % network.size();
    let peer = crate::waves::neighbours(network, at).nth(b as usize % network.degree(at) as usize).unwrap();
    match kind {
        0 => FaultKind::Crash(at),
        1 => FaultKind::Recover(at),
        2 => FaultKind::Cut(at, peer),
        3 => FaultKind::Heal(at, peer),
        4 => FaultKind::Partition((0..network.size()).map(|at| u32::from((a ^ b) >> (at % 6) & 1 != 0)).collect()),
        _ => FaultKind::HealAll,
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2500, ..ProptestConfig::default() })]

    #[test]
    fn anything_may_fail_for_a_while(scenario in rough_runs()) {
        let result = survives(&scenario);
        prop_assert!(result.is_ok(), "{result:?}");
    }
}

/// The fault runs are no child's play: without probes and beacons, some of them end badly.
#[test]
fn without_looking_out_a_crash_can_be_too_much() {
    let line = "line".parse::<Shape>().unwrap().build(5, 0).unwrap();
    let faults = vec![Fault { tick: 2, what: FaultKind::Crash(1) }];
    let scenario = Scenario { faults, ..crate::waves::started(line, 0) };
    let (parts, _) = run(&scenario, 0, 0);
    assert!(parts.check(&scenario.network, &scenario.ids).is_err());
    assert_eq!(survives(&Scenario { until: QUIET, ..scenario }), Ok(()));
}
