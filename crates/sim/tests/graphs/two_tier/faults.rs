//! What two-tier survives by itself.

use hustings_algorithms::Setting;
use hustings_algorithms::graph::two_tier::TwoTierParams;
use hustings_protocol::{Change, Event, TraceEvent};
use hustings_sim::erased::DynMessage;
use hustings_sim::scenario::Scenario;
use hustings_sim::trace::Observer;
use proptest::prelude::*;
use proptest::test_runner::RngSeed;

use super::*;
use crate::common::parts::Parts;
use crate::graphs::random_faults::faulty_runs;

/// How long everything takes to settle after the last fault: beacons missed, probes and invitations unanswered.
const QUIET: u64 = 600;

/// With everything that looks out for faults.
fn careful() -> TwoTierParams {
    params(&[("probe", "4"), ("beacon", "6")])
}

/// Passes on what happens, but for word of who is in reach that a node does nothing about: it draws nobody in.
struct Deaf(Parts);

impl Observer<DynMessage> for Deaf {
    fn record(&mut self, record: &Record<DynMessage>) {
        let is_idle = matches!(
            &record.what,
            TraceEvent::Handled { event: Event::Change(Change::Reachable(_)), effects, .. } if effects.is_empty()
        );
        if !is_idle {
            self.0.record(record);
        }
    }
}

fn survives(params: &TwoTierParams, scenario: &Scenario) -> Result<(), String> {
    let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    let mut parts = Deaf(Parts::of(&scenario.network));
    let protocol = TwoTier::protocol(params, &Setting::of(&ranks));
    let outcome = erased::run(protocol, &ranks, scenario, Some(&mut parts));
    if outcome.hung {
        return Err("hung".to_string());
    }
    parts.0.check(&scenario.network, &scenario.ids)
}

fn small_graphs() -> Vec<Network> {
    let shapes =
        [("line", 5), ("ring", 5), ("star", 5), ("complete", 4), ("complete", 6), ("tree:2", 7), ("grid:3x3", 9)];
    shapes.iter().map(|(shape, size)| shaped(shape, *size, 0)).collect()
}

fn some(params: TwoTierParams, subordinates: u64) -> TwoTierParams {
    TwoTierParams { subordinates, ..params }
}

/// Every node, every tick.
#[test]
fn one_crash_of_any_node_at_any_tick() {
    for network in small_graphs() {
        for source in [0, network.size() - 1] {
            for down in 0..network.size() {
                for tick in (0..30).chain([40, 60]) {
                    let scenario = with_faults(started(network.clone(), source), &[(tick, FaultKind::Crash(down))]);
                    let scenario = Scenario { until: tick + QUIET, ..scenario };
                    for s in [1, 3] {
                        let result = survives(&some(careful(), s), &scenario);
                        assert!(result.is_ok(), "{network:?} from {source}, {down} down at {tick}: {result:?}");
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
        for down in 0..network.size() {
            for tick in (0..26).chain([40]) {
                for after in [1, 2, 3, 5, 9, 40] {
                    let faults = [(tick, FaultKind::Crash(down)), (tick + after, FaultKind::Recover(down))];
                    let scenario = with_faults(started(network.clone(), 0), &faults);
                    let scenario = Scenario { until: tick + after + QUIET, ..scenario };
                    let result = survives(&some(careful(), 2), &scenario);
                    assert!(result.is_ok(), "{network:?}, {down} down at {tick}, up {after} later: {result:?}");
                }
            }
        }
    }
}

/// Without probes and beacons, word of a crash is enough, where what is left hangs together; those who are left without
/// a leader, because there was no clique yet or none of it is left, are told to start.
#[test]
fn word_of_a_crash_is_enough() {
    // On a plain ring nobody knows who its neighbours are.
    for network in small_graphs().into_iter().filter(|network| !matches!(network, Network::Ring(_))) {
        for down in (0..network.size()).filter(|down| without(&network, &[*down]).is_some()) {
            for tick in (0..30).chain([60]) {
                let mut scenario = with_faults(started(network.clone(), 0), &[(tick, FaultKind::Crash(down))]);
                scenario.starts.extend((0..network.size()).map(|at| Start { at, tick: 600 }));
                let scenario = Scenario { until: 600 + QUIET, ..scenario };
                let result = survives(&TwoTierParams::default(), &scenario);
                assert!(result.is_ok(), "{network:?}, {down} down at {tick}: {result:?}");
            }
        }
    }
}

/// Messages get lost by chance, for a time or all the time: what is not answered is said again.
#[test]
fn some_messages_are_lost() {
    for seed in 0..60 {
        for (shape, size) in [("complete", 6), ("grid:3x3", 9), ("line", 4)] {
            let faults = [(40 + seed, FaultKind::Crash(size - 1)), (200 + seed, FaultKind::Recover(size - 1))];
            let scenario = with_faults(started(shaped(shape, size, 0), 0), &faults);
            let scenario = Scenario { loss: 0.05, seed, until: 2500, ..scenario };
            let result = survives(&careful(), &scenario);
            assert!(result.is_ok(), "{shape}, seed {seed}: {result:?}");
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 600, rng_seed: RngSeed::Fixed(7), ..ProptestConfig::default() })]

    #[test]
    fn anything_may_fail_for_a_while(scenario in faulty_runs(3, 3 * QUIET), s in 0u64..4, choice in 0usize..3) {
        let choice = ["neighbours", "best", "random"][choice];
        let params = params(&[("probe", "4"), ("beacon", "6"), ("choice", choice), ("subordinates", &s.to_string())]);
        let result = survives(&params, &scenario);
        prop_assert!(result.is_ok(), "{result:?}");
    }
}
