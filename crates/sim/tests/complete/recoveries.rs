//! Nodes that come back, or join: bully's `recovery`, and what all of them survive.

use hustings_algorithms::complete::{Bully, Campaigner, ImprovedBully, Invitation};
use hustings_sim::scenario::{FaultKind, Scenario};
use proptest::prelude::*;

use super::{any_ids, fault, is_settled, network, run, start, times, with_ids};

/// `size` nodes, one of them down until 30; the lowest detects at 0.
fn back_at_30(size: u32, at: u32) -> Scenario {
    let faults = vec![fault(0, FaultKind::Crash(at)), fault(30, FaultKind::Recover(at))];
    Scenario { starts: vec![start(0, 0)], faults, ..network(size) }
}

/// docs/model.md#bully: `recovery=elect`: the one that is back holds an election.
#[test]
fn whoever_is_back_holds_an_election() {
    let outcome = run::<Bully>(&[], &back_at_30(5, 4));
    // It is the highest: nobody to ask, two ticks of waiting, 4 messages.
    assert_eq!(outcome.by_kind, [10, 6, 4 + 4, 0, 0]);
    assert_eq!(times(&outcome), [Some(32), Some(33), Some(33)]);
    let outcome = run::<Bully>(&[], &back_at_30(5, 2));
    // Id 3 asks 4 and 5, 4 asks 5; 5 announces itself once more.
    assert_eq!(outcome.by_kind, [4 + 3 + 1 + 3, 3 + 2 + 1 + 3, 4 + 4, 0, 0]);
    assert_eq!(times(&outcome), [Some(3), Some(34), Some(34)]);
}

/// docs/model.md#bully: `announce`: if highest of all, `coordinator` at once, n-1 messages.
#[test]
fn the_highest_announces_itself() {
    let outcome = run::<Bully>(&["recovery=announce"], &back_at_30(5, 4));
    assert_eq!(outcome.by_kind, [10, 6, 4 + 4, 0, 0]);
    assert_eq!(times(&outcome), [Some(30), Some(31), Some(31)]);
    let scenario = back_at_30(5, 2);
    assert_eq!(run::<Bully>(&["recovery=announce"], &scenario), run::<Bully>(&[], &scenario));
}

/// docs/model.md#bully: `defer`: asks all with `query`, 2 ticks for `answer`; keeps still if the leader is higher.
#[test]
fn whoever_is_back_may_ask_first() {
    let outcome = run::<Bully>(&["recovery=defer"], &back_at_30(5, 2));
    assert_eq!(outcome.by_kind, [4 + 3 + 1, 3 + 2 + 1, 4, 4, 4]);
    assert_eq!(times(&outcome), [Some(3), Some(32), Some(32)]);
    assert!(outcome.agreement);
    // The leader is lower: an election after the two ticks.
    let outcome = run::<Bully>(&["recovery=defer"], &back_at_30(5, 4));
    assert_eq!(outcome.by_kind, [10, 6, 4 + 4, 4, 4]);
    assert_eq!(times(&outcome), [Some(34), Some(35), Some(35)]);
    // The leader is dead, and the others do not know it yet.
    let mut scenario = back_at_30(5, 2);
    scenario.faults.push(fault(20, FaultKind::Crash(4)));
    scenario.faults.sort_by_key(|fault| fault.tick);
    let outcome = run::<Bully>(&["recovery=defer"], &scenario);
    assert_eq!((outcome.leaders.as_slice(), outcome.agreement), (&[3][..], true));
}

/// docs/model.md#faults: `--join P@T`, a new process enters: it does as one that is back.
#[test]
fn a_new_process_enters() {
    let faults = vec![fault(30, FaultKind::Join(4))];
    let scenario = Scenario { starts: vec![start(0, 0)], faults, ..network(5) };
    assert_eq!(run::<Bully>(&[], &scenario), run::<Bully>(&[], &back_at_30(5, 4)));
}

/// A start signal in the tick of the return changes nothing: the node is in an election already.
#[test]
fn a_start_on_top_of_a_return() {
    for recovery in ["recovery=elect", "recovery=announce", "recovery=defer"] {
        for at in [2, 4] {
            let scenario = back_at_30(5, at);
            let mut started = scenario.clone();
            started.starts.push(start(at, 30));
            assert_eq!(run::<Bully>(&[recovery], &started), run::<Bully>(&[recovery], &scenario), "{recovery}");
        }
    }
}

/// The highest is back while the next one has just timed out: both announce themselves, and
/// whoever heard them in the wrong order is put right, because a `coordinator` from below starts an election.
#[test]
fn two_coordinators_at_once() {
    let ids = [9, 1, 2, 3, 8];
    for tick in 0..12 {
        let faults = vec![fault(0, FaultKind::Crash(0)), fault(tick + 1, FaultKind::Recover(0))];
        let scenario = Scenario { starts: vec![start(1, 0)], faults, ..with_ids(&ids) };
        for recovery in ["recovery=elect", "recovery=announce", "recovery=defer"] {
            let outcome = run::<Bully>(&[recovery], &scenario);
            assert!(is_settled(&scenario, &outcome), "{recovery}, back at {}: {outcome:?}", tick + 1);
        }
    }
}

proptest::prop_compose! {
    /// Any ids and starts; nodes stop and come back, some for good. In the end everybody is told to start; those who
    /// name a live leader ignore it.
    fn coming_and_going()(ids in any_ids(1..8))(
        starts in proptest::collection::btree_map(0..ids.len() as u32, 0..20u64, 1..=ids.len()),
        turns in proptest::collection::vec(proptest::collection::btree_set(0..40u64, 0..4), ids.len()),
        ids in Just(ids),
    ) -> Scenario {
        let mut scenario = with_ids(&ids);
        for (at, ticks) in (0..).zip(&turns) {
            let kinds = [FaultKind::Crash(at), FaultKind::Recover(at)];
            let turns = ticks.iter().zip(kinds.iter().cycle());
            scenario.faults.extend(turns.map(|(&tick, kind)| fault(tick, kind.clone())));
        }
        scenario.faults.sort_by_key(|fault| fault.tick);
        scenario.starts = starts.into_iter().map(|(at, tick)| start(at, tick)).collect();
        scenario.starts.sort_by_key(|start| (start.tick, start.at));
        scenario.starts.extend((0..ids.len() as u32).map(|at| start(at, 600)));
        scenario
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn any_crashes_and_recoveries(scenario in coming_and_going()) {
        for (name, outcome) in [
            ("bully", run::<Bully>(&[], &scenario)),
            ("bully, announce", run::<Bully>(&["recovery=announce"], &scenario)),
            ("bully, defer", run::<Bully>(&["recovery=defer"], &scenario)),
            ("bully, at once", run::<Bully>(&["highest=announce", "recovery=announce"], &scenario)),
            ("bully, prepare", run::<Bully>(&["prepare=2"], &scenario)),
            ("improved-bully", run::<ImprovedBully>(&[], &scenario)),
            ("improved-bully, announce", run::<ImprovedBully>(&["recovery=announce"], &scenario)),
            ("campaigner", run::<Campaigner>(&[], &scenario)),
            ("campaigner, elect", run::<Campaigner>(&["recovery=elect"], &scenario)),
            ("invitation", run::<Invitation>(&[], &scenario)),
        ] {
            prop_assert!(is_settled(&scenario, &outcome), "{}: {:?}", name, outcome);
        }
    }
}
