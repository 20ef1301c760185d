//! Properties of every ring election: the right node leads, all nodes know it, and the counts are as expected.

use crate::support;

use std::collections::BTreeSet;

use hustings_algorithms::{About, Winner, catalogue};
use hustings_protocol::Best;
use proptest::prelude::*;
use support::{Delay, Setup, is_plain_ring};

/// The plain ring algorithms of the catalogue for which this holds.
fn rings_that(are: impl Fn(&About) -> bool) -> impl Iterator<Item = &'static str> {
    let rings = catalogue::ENTRIES.iter().map(|entry| &entry.about).filter(|about| is_plain_ring(about));
    rings.filter(move |about| are(about)).map(|about| about.name)
}

fn all_rings() -> impl Iterator<Item = &'static str> {
    rings_that(|_| true)
}

/// Those that elect the greatest of the initiators.
fn initiator_elections() -> impl Iterator<Item = &'static str> {
    rings_that(|about| about.winner == Winner::GreatestInitiator)
}

/// The algorithms that need no FIFO links.
fn unordered() -> impl Iterator<Item = &'static str> {
    rings_that(|about| !about.assumptions.fifo)
}

/// Distinct ids in any order.
fn ring(most: usize) -> impl Strategy<Value = Vec<u64>> {
    prop::collection::btree_set(any::<u64>(), 1..=most)
        .prop_map(|ids| ids.into_iter().collect::<Vec<_>>())
        .prop_shuffle()
}

/// A ring and some of its positions, at least one.
fn ring_and_some(most: usize) -> impl Strategy<Value = (Vec<u64>, Vec<usize>)> {
    ring(most).prop_flat_map(|ids| {
        let n = ids.len();
        (Just(ids), prop::sample::subsequence((0..n).collect::<Vec<_>>(), 1..=n))
    })
}

fn random_delay(seed: u64, fifo: bool) -> Delay {
    Delay::Random { seed, most: 1 + seed % 9, fifo }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn the_greatest_initiator_leads_and_the_counts_are_as_expected((ids, initiators) in ring_and_some(40)) {
        let setup = Setup::some(ids, &initiators);
        for name in initiator_elections() {
            let outcome = setup.run(name);
            prop_assert_eq!(outcome.agreed_leader(), setup.greatest(initiators.clone()), "{}", name);
            prop_assert!(!outcome.hung, "{}", name);
            prop_assert_eq!(Some(outcome.by_kind), setup.expect(name), "{}", name);
        }
    }

    #[test]
    fn token_ring_finds_the_greatest_of_all((ids, detectors) in ring_and_some(40)) {
        let mut setup = Setup::some(ids, &detectors);
        for token in ["max", "collect"] {
            setup.params = vec![("token", token)];
            let outcome = setup.run("token-ring");
            prop_assert_eq!(outcome.agreed_leader(), setup.greatest(0..setup.ids.len()));
            prop_assert_eq!(Some(outcome.by_kind), setup.expect("token-ring"));
        }
    }

    #[test]
    fn delays_do_not_change_the_winner((ids, initiators) in ring_and_some(24), seed: u64) {
        let setup = Setup::some(ids, &initiators).delay(random_delay(seed, true));
        for name in initiator_elections() {
            prop_assert_eq!(setup.run(name).agreed_leader(), setup.greatest(initiators.clone()), "{}", name);
        }
        prop_assert_eq!(setup.run("token-ring").agreed_leader(), setup.greatest(0..setup.ids.len()));
    }

    #[test]
    fn overtaking_does_not_change_the_winner_without_fifo((ids, initiators) in ring_and_some(24), seed: u64) {
        let setup = Setup::some(ids, &initiators).delay(random_delay(seed, false));
        for name in unordered() {
            let expected = match name {
                "token-ring" => setup.greatest(0..setup.ids.len()),
                _ => setup.greatest(initiators.clone()),
            };
            prop_assert_eq!(setup.run(name).agreed_leader(), expected, "{}", name);
        }
    }

    #[test]
    fn a_late_start_counts_only_before_the_first_message(
        (ids, initiators) in ring_and_some(24),
        ticks in prop::collection::vec(0u64..30, 24),
        seed: u64,
    ) {
        let mut setup = Setup::some(ids, &[]).delay(random_delay(seed, true));
        setup.starts = initiators.iter().map(|&at| (at, ticks[at])).collect();
        for name in initiator_elections() {
            let outcome = setup.run(name);
            prop_assert!(!outcome.entered.is_empty());
            prop_assert_eq!(outcome.agreed_leader(), setup.greatest(outcome.entered), "{}", name);
        }
        prop_assert_eq!(setup.run("token-ring").agreed_leader(), setup.greatest(0..setup.ids.len()));
    }

    #[test]
    fn nodes_down_from_the_start_are_skipped((ids, live) in ring_and_some(24), delays in any::<Option<u64>>()) {
        let dead: BTreeSet<usize> = (0..ids.len()).filter(|at| !live.contains(at)).collect();
        let mut setup = Setup::all(ids).down(&dead);
        if let Some(seed) = delays {
            setup = setup.delay(random_delay(seed, true));
        }
        for name in all_rings() {
            let outcome = setup.run(name);
            prop_assert_eq!(outcome.agreed_leader(), setup.greatest(live.clone()), "{}", name);
            prop_assert!(!outcome.hung, "{}", name);
        }
    }

    #[test]
    fn values_come_before_ids_and_the_least_can_win(
        ids in ring(16),
        values in prop::collection::vec(-3i8..3, 16),
        min: bool,
    ) {
        let values: Vec<f64> = values.into_iter().take(ids.len()).map(f64::from).collect();
        let key = |at: &usize| (values[*at] as i64, ids[*at]);
        let positions = 0..ids.len();
        let (best, expected) =
            if min { (Best::Min, positions.min_by_key(key)) } else { (Best::Max, positions.max_by_key(key)) };
        let mut setup = Setup::all(ids.clone());
        setup.values = Some((values.clone(), best));
        for name in all_rings() {
            prop_assert_eq!(setup.run(name).agreed_leader(), expected, "{}", name);
        }
    }

    /// Crashes that they do not tolerate at least do not cause two leaders.
    #[test]
    fn crashes_during_the_run_never_cause_two_leaders(
        (ids, crashed) in ring_and_some(12),
        ticks in prop::collection::vec(1u64..60, 12),
    ) {
        let mut setup = Setup::all(ids);
        setup.crashes = crashed.iter().map(|&at| (at, ticks[at])).collect();
        for name in all_rings() {
            let outcome = setup.run(name);
            prop_assert!(outcome.leaders.len() <= 1, "{}: {:?}", name, outcome);
        }
    }
}

/// A single node is its own neighbour, and its messages count.
#[test]
fn a_ring_of_one() {
    let counts: [(&str, &[u64]); 7] = [
        ("chang-roberts", &[1, 1]),
        ("le-lann", &[1, 1]),
        ("franklin", &[2, 1]),
        ("dkr", &[1, 1, 1]),
        ("peterson", &[1, 0, 1]),
        ("hs", &[2, 0, 1]),
        ("token-ring", &[1, 1]),
    ];
    for (name, expected) in counts {
        let outcome = Setup::all([7]).run(name);
        assert_eq!(outcome.by_kind, expected, "{name}");
        assert_eq!((outcome.agreed_leader(), outcome.hung), (Some(0), false), "{name}");
    }
}

/// Both neighbours are the same node.
#[test]
fn a_ring_of_two() {
    let counts: [(&str, &[u64]); 7] = [
        ("chang-roberts", &[3, 2]),
        ("le-lann", &[4, 2]),
        ("franklin", &[8, 2]),
        ("dkr", &[4, 4, 2]),
        ("peterson", &[4, 2, 2]),
        ("hs", &[8, 2, 2]),
        ("token-ring", &[3, 2]),
    ];
    for (name, expected) in counts {
        for (ids, leader) in [([1, 2], 1), ([2, 1], 0)] {
            let outcome = Setup::all(ids).run(name);
            assert_eq!(outcome.by_kind, expected, "{name}");
            assert_eq!((outcome.agreed_leader(), outcome.hung), (Some(leader), false), "{name}");
        }
    }
}

/// Without a start signal nothing happens.
#[test]
fn nobody_starts() {
    for name in all_rings() {
        let setup = Setup::some([3, 1, 2], &[]);
        let outcome = setup.run(name);
        assert_eq!((outcome.total(), outcome.leaders.len()), (0, 0), "{name}");
        assert_eq!(setup.expect(name), Some(outcome.by_kind), "{name}");
    }
}

/// docs/model.md#dead-receivers: a candidate whose sender crashed during the run circulates until the end.
#[test]
fn the_candidate_of_a_dead_node_circulates() {
    let mut setup = Setup::all([1, 5, 2, 9, 3]);
    setup.crashes = vec![(3, 1)];
    for name in ["chang-roberts", "le-lann"] {
        let outcome = setup.run(name);
        assert_eq!((outcome.hung, outcome.leaders.len()), (true, 0), "{name}");
    }
}

/// docs/model.md#hirschberg-sinclair: an initiator that passes on a greater probe starts no further phase, though
/// its own probes are answered.
#[test]
fn a_beaten_initiator_starts_no_further_phase() {
    // 0 (id 9) probes 1, 2, 4, then all 8 each way. 3 starts a tick before the third probe passes it: two probes, two
    // replies, no more.
    let mut setup = Setup::some([9, 0, 1, 5, 2, 3, 4, 6], &[0]);
    setup.starts.push((3, 8));
    let outcome = setup.run("hirschberg-sinclair");
    assert_eq!((outcome.agreed_leader(), outcome.by_kind), (Some(0), vec![2 + 4 + 8 + 16 + 2, 2 + 4 + 8 + 2, 8]));
}

/// A later start signal is ignored because a message has reached every node: plain rings hold one election.
#[test]
fn plain_rings_hold_one_election() {
    for name in initiator_elections() {
        let mut setup = Setup::all([1, 5, 2, 9, 3]);
        let once = setup.run(name).by_kind;
        setup.crashes = vec![(3, 100)];
        setup.starts.push((0, 110));
        let outcome = setup.run(name);
        assert_eq!((outcome.by_kind, outcome.agreement), (once, false), "{name}");
    }
}
