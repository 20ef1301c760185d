//! AEFA with probes and beacons: what it survives by itself.

use crate::common::diffusion::{QUIET, run, survives};
use crate::graphs::random_faults::faulty_runs;
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::{Network, Topology};
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
    let graph = |(shape, size): &(&str, u32)| shape.parse::<Topology>().unwrap().build(*size, 0).unwrap();
    shapes.iter().map(graph).collect()
}

/// docs/model.md#aefa: a child or parent that answers no probe is removed. Every node, every tick.
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

proptest! {
    #![proptest_config(ProptestConfig { cases: 2500, ..ProptestConfig::default() })]

    #[test]
    fn anything_may_fail_for_a_while(scenario in faulty_runs(2, 2 * QUIET)) {
        let result = survives(&scenario);
        prop_assert!(result.is_ok(), "{result:?}");
    }
}

/// The fault runs are no child's play: without probes and beacons, some of them end badly.
#[test]
fn without_looking_out_a_crash_can_be_too_much() {
    let line = "line".parse::<Topology>().unwrap().build(5, 0).unwrap();
    let faults = vec![Fault { tick: 2, what: FaultKind::Crash(1) }];
    let scenario = Scenario { faults, ..crate::common::waves::started(line, 0) };
    let (parts, _) = run(&scenario, 0, 0);
    assert!(parts.check(&scenario.network, &scenario.ids).is_err());
    assert_eq!(survives(&Scenario { until: QUIET, ..scenario }), Ok(()));
}
