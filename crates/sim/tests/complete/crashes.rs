//! What the algorithms claim to survive by themselves: nodes that stop during an election, at any tick.

use hustings_algorithms::Algorithm;
use hustings_algorithms::complete::{Bully, Campaigner, ImprovedBully, Invitation};
use hustings_sim::scenario::{FaultKind, Scenario};
use proptest::prelude::*;

use super::{any_ids, fault, is_settled, network, run, start, with_ids};

/// Long after the last fault: those whose leader is gone, or who have none, are told to start.
const LATER: u64 = 400;

/// The same with everybody told to start in the end; those who name a live leader ignore it.
fn told(mut scenario: Scenario) -> Scenario {
    scenario.starts.extend((0..scenario.ids.len() as u32).map(|at| start(at, LATER)));
    scenario
}

/// One crash, of each node, at each tick, with each detector, ids rising and falling by position.
fn every_single_crash<A: Algorithm>(texts: &[&str]) {
    for size in 1..=6u32 {
        for falls in [false, true] {
            let mut ids: Vec<u64> = (1..=u64::from(size)).collect();
            if falls {
                ids.reverse();
            }
            for detector in 0..size {
                for victim in 0..size {
                    for tick in 0..=16 {
                        let faults = vec![fault(tick, FaultKind::Crash(victim))];
                        let scenario = told(Scenario { starts: vec![start(detector, 0)], faults, ..with_ids(&ids) });
                        let outcome = run::<A>(texts, &scenario);
                        let what = format!("{ids:?}: {detector} detects, {victim} stops at {tick}: {outcome:?}");
                        assert!(is_settled(&scenario, &outcome), "{what}");
                    }
                }
            }
        }
    }
}

#[test]
fn bully_survives_every_single_crash() {
    every_single_crash::<Bully>(&[]);
    every_single_crash::<Bully>(&["highest=announce", "tell=lower"]);
    every_single_crash::<Bully>(&["prepare=2"]);
}

#[test]
fn improved_bully_survives_every_single_crash() {
    every_single_crash::<ImprovedBully>(&[]);
    every_single_crash::<ImprovedBully>(&["highest=announce"]);
}

#[test]
fn campaigner_survives_every_single_crash() {
    every_single_crash::<Campaigner>(&[]);
    every_single_crash::<Campaigner>(&["highest=announce"]);
}

#[test]
fn invitation_survives_every_single_crash() {
    every_single_crash::<Invitation>(&[]);
}

/// A node dies after its `ok` and before its `coordinator`: those who wait ask again, by
/// themselves.
#[test]
fn a_promise_that_is_not_kept() {
    let faults = vec![fault(2, FaultKind::Crash(3))];
    let scenario = Scenario { starts: vec![start(0, 0)], faults, ..network(4) };
    let outcome = run::<Bully>(&[], &scenario);
    assert!(is_settled(&scenario, &outcome), "{outcome:?}");
    let scenario = Scenario { faults: vec![fault(1, FaultKind::Crash(0))], ..scenario };
    for outcome in [run::<ImprovedBully>(&[], &scenario), run::<Campaigner>(&[], &scenario)] {
        // The detector is gone before the answers reach it.
        assert!(is_settled(&scenario, &outcome), "{outcome:?}");
    }
}

proptest::prop_compose! {
    /// Any ids, starts and crashes; somebody survives.
    fn crashing()(ids in any_ids(1..9))(
        starts in proptest::collection::btree_map(
            0..ids.len() as u32,
            prop_oneof![2 => Just(0), 1 => 0..12u64],
            1..=ids.len(),
        ),
        crashes in proptest::collection::btree_map(0..ids.len() as u32, 0..25u64, 0..=ids.len()),
        survivor in 0..ids.len() as u32,
        ids in Just(ids),
    ) -> Scenario {
        let mut scenario = with_ids(&ids);
        scenario.starts = starts.into_iter().map(|(at, tick)| start(at, tick)).collect();
        scenario.starts.sort_by_key(|start| (start.tick, start.at));
        let crashes = crashes.into_iter().filter(|(at, _)| *at != survivor);
        scenario.faults = crashes.map(|(at, tick)| fault(tick, FaultKind::Crash(at))).collect();
        scenario.faults.sort_by_key(|fault| fault.tick);
        told(scenario)
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_crashes(scenario in crashing()) {
        for outcome in [
            run::<Bully>(&[], &scenario),
            run::<Bully>(&["prepare=3", "tell=lower"], &scenario),
            run::<Bully>(&["highest=announce"], &scenario),
            run::<ImprovedBully>(&[], &scenario),
            run::<Campaigner>(&[], &scenario),
            run::<Campaigner>(&["highest=announce"], &scenario),
            run::<Invitation>(&[], &scenario),
        ] {
            prop_assert!(is_settled(&scenario, &outcome), "{:?}", outcome);
        }
    }
}
