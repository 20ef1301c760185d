//! docs/model.md#invitation: groups, how they merge, and how they part.

use hustings_algorithms::complete::Invitation;
use hustings_sim::scenario::{Delay, FaultKind, Notice, Scenario};
use proptest::prelude::*;

use super::{
    any_ids, chosen, detected, fault, greatest, is_settled, network, run, start, times, with_faults, with_ids,
};

/// All up, the lowest starts: it calls, the greatest calls, all answer, the greatest invites, they accept, it is ready.
#[test]
fn one_group_of_all() {
    for size in 2..30u64 {
        let scenario = Scenario { starts: vec![start(0, 0)], ..network(size as u32) };
        let outcome = run::<Invitation>(&[], &scenario);
        let others = size - 1;
        assert_eq!(outcome.by_kind, [2 * others, 2 * others, others, others, others]);
        // The greatest leads itself from 1 on; it calls at 1, invites at 3, is ready at 6.
        assert_eq!(times(&outcome), [Some(1), Some(4), Some(7)]);
        assert_eq!((outcome.leaders.as_slice(), outcome.agreement), (&[size as u32 - 1][..], true));
    }
}

/// A node alone is a group.
#[test]
fn a_group_of_one() {
    let scenario = Scenario { starts: vec![start(0, 0)], ..network(1) };
    let outcome = run::<Invitation>(&[], &scenario);
    assert_eq!((outcome.total(), outcome.leaders.as_slice(), outcome.agreement), (0, &[0][..], true));
}

/// Each id above that is down costs the next one 2(2T+M) ticks of waiting, and no message.
#[test]
fn the_higher_the_sooner() {
    for dead in 1..6 {
        let faults = super::down(8 - dead..8);
        let scenario = Scenario { starts: vec![start(0, 0)], faults, ..network(8) };
        let outcome = run::<Invitation>(&[], &scenario);
        assert_eq!((outcome.leader, outcome.time.agreed), (Some(7 - dead), Some(4 + 4 * u64::from(dead))));
        let live = u64::from(8 - dead);
        assert_eq!(outcome.by_kind, [14, 2 * (live - 1), live - 1, live - 1, live - 1]);
    }
}

proptest! {
    #![proptest_config(chosen(200))]
    /// Any ids, any nodes down, any starters: the greatest live one leads all that are up.
    #[test]
    fn any_starters(scenario in detected()) {
        let outcome = run::<Invitation>(&[], &scenario);
        prop_assert!(is_settled(&scenario, &outcome), "{:?}", outcome);
    }

    /// Late starters find a group, or are found by it.
    #[test]
    fn any_late_starters(ids in any_ids(1..10), ticks in proptest::collection::vec(0..60u64, 10)) {
        let mut scenario = with_ids(&ids);
        scenario.starts = (0..ids.len() as u32).map(|at| start(at, ticks[at as usize])).collect();
        scenario.starts.sort_by_key(|start| (start.tick, start.at));
        let outcome = run::<Invitation>(&[], &scenario);
        prop_assert!(is_settled(&scenario, &outcome), "{:?}", outcome);
    }

    /// It needs no bound on time: whatever the delays, one group of all comes of it.
    #[test]
    fn any_delays(scenario in detected(), slowest in 2..60u64, unordered in any::<bool>(), seed in any::<u64>()) {
        let delay = Delay::Uniform(1, slowest);
        let scenario = Scenario { delay, unordered, seed, until: 100_000, ..scenario };
        let outcome = run::<Invitation>(&[], &scenario);
        prop_assert!(is_settled(&scenario, &outcome), "{:?}", outcome);
    }
}

/// The leader dies: one member is told, the others find out when it calls.
#[test]
fn a_leader_that_dies() {
    for told in 0..5 {
        let faults = vec![fault(50, FaultKind::Crash(5))];
        let scenario = Scenario { starts: vec![start(0, 0), start(told, 60)], faults, ..network(6) };
        let outcome = run::<Invitation>(&[], &scenario);
        assert!(is_settled(&scenario, &outcome), "{told} is told: {outcome:?}");
    }
}

/// One that is back joins the group, or leads it.
#[test]
fn one_that_is_back() {
    for at in 0..6 {
        let faults = vec![fault(20, FaultKind::Crash(at)), fault(40, FaultKind::Recover(at))];
        let scenario = Scenario { starts: vec![start(1, 0)], faults, notice: Notice::Poll(5), ..network(6) };
        let outcome = run::<Invitation>(&[], &scenario);
        assert!(is_settled(&scenario, &outcome), "{at}: {outcome:?}");
    }
}

fn split(groups: &[u32], from: u64, to: u64) -> Scenario {
    let faults = vec![fault(from, FaultKind::Partition(groups.to_vec())), fault(to, FaultKind::HealAll)];
    Scenario { starts: vec![start(0, 0)], faults, until: 2_000, ..network(groups.len() as u32) }
}

/// docs/model.md#invitation: each partition has its leader, and groups merge when it heals.
#[test]
fn partitions() {
    for groups in [[0, 0, 0, 1, 1, 1], [1, 0, 1, 0, 1, 0], [0, 0, 0, 0, 0, 1], [1, 0, 0, 0, 0, 0], [0, 1, 2, 2, 1, 0]] {
        let scenario = split(&groups, 30, 1_000);
        let during = Scenario { until: 999, ..scenario.clone() };
        let leaders: Vec<u32> = (0..6u32)
            .filter(|&at| {
                greatest(&during, (0..6).filter(|&other| groups[other as usize] == groups[at as usize])) == Some(at)
            })
            .collect();
        let outcome = run::<Invitation>(&["period=10"], &during);
        assert_eq!((outcome.leaders, outcome.hung), (leaders, false), "{groups:?}");
        let outcome = run::<Invitation>(&["period=10"], &scenario);
        assert!(is_settled(&scenario, &outcome), "{groups:?}: {outcome:?}");
    }
}

/// Without a period nobody calls, and nothing is noticed; with one, calls never end, and count neither for `quiescent`
/// nor for `hung`.
#[test]
fn periodic_calls() {
    let scenario = Scenario { until: 1_000, ..super::greatest_down(5, 1) };
    let quiet = run::<Invitation>(&[], &scenario);
    let outcome = run::<Invitation>(&["period=10"], &scenario);
    assert!(outcome.by_kind[0] > 300 && !outcome.hung, "{outcome:?}");
    assert_eq!((outcome.time, &outcome.by_kind[2..]), (quiet.time, &quiet.by_kind[2..]));
}

proptest! {
    #![proptest_config(chosen(150))]

    #[test]
    fn anything(scenario in with_faults(3)) {
        let scenario = Scenario { until: 20_000, ..scenario };
        let outcome = run::<Invitation>(&["period=20"], &scenario);
        prop_assert!(is_settled(&scenario, &outcome), "{:?}", outcome);
    }
}
