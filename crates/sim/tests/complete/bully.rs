//! docs/model.md#bully: counts, times and parameters.

use hustings_algorithms::complete::Bully;
use hustings_sim::scenario::{FaultKind, Notice, Scenario};
use proptest::prelude::*;

use super::{DynRank, detected, fault, greatest, greatest_down, network, run, start, times, with_ids};

/// docs/model.md#bully: d=1 takes n(n-1) messages, 20, 90, 380 for n = 5, 10, 20; quiescent 4.
#[test]
fn the_lowest_detects() {
    for (size, total) in [(5, 20), (10, 90), (20, 380)] {
        let outcome = run::<Bully>(&[], &greatest_down(size, 1));
        assert_eq!(outcome.total(), total);
        assert_eq!(times(&outcome), [Some(3), Some(4), Some(4)]);
        assert_eq!((outcome.leader, outcome.agreement), (Some(size - 2), true));
    }
}

/// docs/model.md#bully: `election = Σ_{i=d}^{n-1}(n-i)`, `ok = Σ_{i=d}^{n-2}(n-1-i)`, `coordinator = n-1`.
#[test]
fn every_detector() {
    for size in 2..40u32 {
        for detector in 1..size {
            let outcome = run::<Bully>(&[], &greatest_down(size, detector));
            let election: u32 = (detector..size).map(|i| size - i).sum();
            let ok: u32 = (detector..size - 1).map(|i| size - 1 - i).sum();
            assert_eq!(outcome.by_kind, [election, ok, size - 1, 0, 0].map(u64::from), "{detector} of {size}");
            let quiescent = if detector == size - 1 { 3 } else { 4 };
            let quiescent = if size == 2 { 2 } else { quiescent };
            assert_eq!(outcome.time.quiescent, Some(quiescent), "{detector} of {size}");
            assert_eq!((outcome.leader, outcome.agreement), (Some(size - 2), true));
        }
    }
}

/// docs/model.md#bully: all up, d=1: n²-1. "If a process calls an election when the coordinator is still active,
/// the coordinator will win" (Crete).
#[test]
fn all_up() {
    for size in 1..40u64 {
        let scenario = Scenario { starts: vec![start(0, 0)], ..network(size as u32) };
        let outcome = run::<Bully>(&[], &scenario);
        assert_eq!(outcome.total(), size * size - 1);
        assert_eq!((outcome.leader, outcome.agreement), (Some(size as u32 - 1), true));
    }
}

/// docs/model.md#bully: 16 million messages among 4,000 nodes.
#[test]
fn four_thousand() {
    let outcome = run::<Bully>(&[], &greatest_down(4_000, 1));
    assert_eq!((outcome.total(), outcome.by_kind[0]), (15_996_000, 7_998_000));
    assert_eq!(times(&outcome), [Some(3), Some(4), Some(4)]);
}

proptest! {
    /// docs/model.md#bully, for any ids, any nodes down and any detectors: everybody up from the lowest detector
    /// on asks all above, and those that are up answer. "Parallel elections" (Crete) cost nothing more.
    #[test]
    fn any_detectors_and_any_nodes_down(scenario in detected()) {
        let outcome = run::<Bully>(&[], &scenario);
        let standing = DynRank::of(&scenario);
        let lowest = *standing.starters.iter().min().expect("somebody starts");
        let highest = standing.highest_live();
        let holders = (lowest..=highest).filter(|&place| standing.up[place]);
        let (asked, answered) = holders.map(|place| standing.above(place)).fold((0, 0), |sum, (all, live)| {
            (sum.0 + all, sum.1 + live)
        });
        prop_assert_eq!(&outcome.by_kind, &[asked, answered, standing.size - 1, 0, 0]);
        let won = if standing.starters.contains(&highest) { 2 } else { 3 };
        let told = if standing.live() > 1 { won + 1 } else { won };
        prop_assert_eq!(times(&outcome), [Some(won), Some(told), Some(told)]);
        prop_assert!(super::is_settled(&scenario, &outcome));
    }

    /// docs/model.md#bully: `tell=lower` tells only lower ids: as many as the winner has below it.
    #[test]
    fn telling_the_lower_ones_only(scenario in detected()) {
        let all = run::<Bully>(&[], &scenario);
        let lower = run::<Bully>(&["tell=lower"], &scenario);
        let standing = DynRank::of(&scenario);
        prop_assert_eq!(&lower.by_kind[..2], &all.by_kind[..2]);
        prop_assert_eq!(lower.by_kind[2], standing.highest_live() as u64);
        prop_assert_eq!(times(&lower), times(&all));
        prop_assert!(lower.agreement);
    }

    /// `highest=announce` changes nothing where the greatest of all is down: everybody has somebody to ask.
    #[test]
    fn announcing_at_once_is_only_for_the_highest_of_all(mut scenario in detected()) {
        let top = greatest(&scenario, 0..scenario.ids.len() as u32).expect("there is a node");
        scenario.faults.retain(|fault| fault.what != FaultKind::Crash(top));
        scenario.faults.extend(super::down([top]));
        scenario.starts.retain(|start| start.at != top);
        prop_assert_eq!(run::<Bully>(&["highest=announce"], &scenario), run::<Bully>(&[], &scenario));
    }
}

/// docs/model.md#complete-networks: `highest=announce`: the highest wins at once, also when it is asked. Two nodes: 1
/// asks at 0, 2 answers and announces at 1, both have it at 2.
#[test]
fn the_highest_may_announce_at_once() {
    let scenario = Scenario { starts: vec![start(0, 0)], ..network(2) };
    let outcome = run::<Bully>(&["highest=announce"], &scenario);
    assert_eq!(outcome.by_kind, [1, 1, 1, 0, 0]);
    assert_eq!(times(&outcome), [Some(1), Some(2), Some(2)]);
    let scenario = Scenario { starts: vec![start(4, 0)], ..network(5) };
    let outcome = run::<Bully>(&["highest=announce"], &scenario);
    assert_eq!(outcome.by_kind, [0, 0, 4, 0, 0]);
    assert_eq!(times(&outcome), [Some(0), Some(1), Some(1)]);
    let outcome = run::<Bully>(&["highest=wait"], &scenario);
    assert_eq!(times(&outcome), [Some(2), Some(3), Some(3)]);
}

/// docs/model.md#bully: a leader that receives `election` answers and holds one again: with `announce`, each of the
/// questions that come after the first has its own answer, win and n-1 `coordinator`.
#[test]
fn a_leader_that_is_asked_holds_an_election_again() {
    // 1 asks 2, 3 and 4 at 0; 4 announces at 1; 2 and 3 asked 4 at 1 too, so it announces twice more at 2.
    let scenario = Scenario { starts: vec![start(0, 0)], ..network(4) };
    let outcome = run::<Bully>(&["highest=announce"], &scenario);
    assert_eq!(outcome.by_kind, [3 + 2 + 1, 3 + 2 + 1, 3 * 3, 0, 0]);
    assert_eq!(times(&outcome), [Some(1), Some(2), Some(3)]);
    assert!(outcome.agreement);
}

/// Crete: "if a process calls an election when the coordinator is still active, the coordinator will win". It leads
/// all the while.
#[test]
fn an_election_while_the_coordinator_is_alive() {
    let size = 6;
    let faults = vec![fault(0, FaultKind::Crash(2)), fault(20, FaultKind::Recover(2))];
    let scenario = Scenario { starts: vec![start(0, 0)], faults, ..network(size) };
    let outcome = run::<Bully>(&[], &scenario);
    // First all but id 3 hold one; then ids 3 to 6 once more.
    let election = (5 + 4 + 2 + 1) + (3 + 2 + 1);
    let ok = (4 + 3 + 2 + 1) + (3 + 2 + 1);
    assert_eq!(outcome.by_kind, [election, ok, 5 + 5, 0, 0]);
    assert_eq!((outcome.leaders.as_slice(), outcome.agreement), (&[5][..], true));
    assert_eq!(times(&outcome), [Some(3), Some(24), Some(24)]);
}

/// docs/model.md#start-signals: a later start, after a crash, holds a second election; while the leader lives it does
/// nothing.
#[test]
fn a_later_start_holds_a_second_election_only_if_the_leader_is_down() {
    let mut scenario = Scenario { starts: vec![start(0, 0), start(1, 30)], ..network(7) };
    assert_eq!(run::<Bully>(&[], &scenario).total(), 48);
    scenario.faults = vec![fault(20, FaultKind::Crash(6))];
    let outcome = run::<Bully>(&[], &scenario);
    assert_eq!(outcome.by_kind, [21 + 15, 21 + 10, 6 + 6, 0, 0]);
    assert_eq!((outcome.leader, times(&outcome)), (Some(5), [Some(33), Some(34), Some(34)]));
}

/// docs/model.md#notices: `--notice poll:3`, as in Crete's demonstration: every node that names the dead one notices,
/// and all of them hold an election at once.
#[test]
fn processes_that_poll_their_leader() {
    let faults = vec![fault(20, FaultKind::Crash(4))];
    let scenario = Scenario { starts: vec![start(0, 0)], faults, notice: Notice::Poll(3), ..network(5) };
    let outcome = run::<Bully>(&[], &scenario);
    assert!(super::is_settled(&scenario, &outcome));
    // The polls of tick 21 are not answered by 23; 4 wins at 25, the others know at 26.
    assert_eq!(times(&outcome), [Some(25), Some(26), Some(26)]);
    assert_eq!(outcome.by_kind, [10 + 10, 10 + 6, 4 + 4, 0, 0]);
}

/// docs/model.md#bully, Crete's fig. 6-20: ids 0 to 7, 7 down, 4 notices: 3+2+1 `election`, 2+1 `ok`, 7 `coordinator`.
#[test]
fn the_figure_of_the_slides() {
    let ids: Vec<u64> = (0..8).collect();
    let scenario = Scenario { starts: vec![start(4, 0)], faults: super::down([7]), ..with_ids(&ids) };
    let outcome = run::<Bully>(&[], &scenario);
    assert_eq!(outcome.by_kind, [6, 3, 7, 0, 0]);
    assert_eq!(outcome.leader, Some(6));
}
