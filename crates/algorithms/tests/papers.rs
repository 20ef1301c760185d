//! Every figure that the texts print for rings, measured as docs/model.md#rings defines it. Each test names its source.

use crate::support;

use std::collections::BTreeSet;

use hustings_algorithms::{Case, Initiators, catalogue};
use support::{Random, Setup, is_plain_ring, permutations};

fn log2_floor(n: usize) -> u64 {
    u64::from(n.ilog2())
}

/// McMaster, "Chang-Roberts Algorithm - Example": clockwise N(N+1)/2, counter-clockwise 2N-1.
#[test]
fn chang_roberts_on_sorted_rings() {
    let falling: Vec<u64> = (0..64).rev().collect();
    assert_eq!(Setup::all(falling).run("chang-roberts").by_kind, [2080, 64]);
    let rising: Vec<u64> = (0..64).collect();
    assert_eq!(Setup::all(rising).run("chang-roberts").by_kind, [127, 64]);
}

/// McMaster, "Average-case message complexity: O(N log N)": exactly n·H_n over all rings.
#[test]
fn chang_roberts_on_average() {
    let mut random = Random::new(1);
    let runs = 10_000;
    let sum: u64 = (0..runs).map(|_| Setup::all(random.ring(100)).run("chang-roberts").by_kind[0]).sum();
    let mean = sum as f64 / runs as f64;
    let expected: f64 = 100.0 * (1..=100).map(|k| 1.0 / k as f64).sum::<f64>();
    assert!((mean / expected - 1.0).abs() < 0.01, "{mean} against {expected}");
}

/// docs/model.md#le-lann: k initiators, k·n candidates.
#[test]
fn le_lann_takes_n_messages_for_each_initiator() {
    let mut random = Random::new(2);
    for k in 1..=12 {
        let setup = Setup::some(random.ring(12), &(0..k).collect::<Vec<_>>());
        assert_eq!(setup.run("le-lann").by_kind, [12 * k as u64, 12]);
    }
}

/// McMaster, "Franklin's Algorithm": each round takes 2N messages, and at most log₂ N rounds (and the last one).
/// The same holds for Dolev–Klawe–Rodeh. Franklin's abstract: never more than 2n⌊log n⌋ + 3n.
#[test]
fn franklin_and_dolev_klawe_rodeh_take_2n_a_round() {
    let mut random = Random::new(3);
    for _ in 0..2_000 {
        let n = 1 + random.below(60) as usize;
        let setup = Setup::all(random.ring(n));
        let franklin = setup.run("franklin");
        let dkr = setup.run("dolev-klawe-rodeh");
        let n = n as u64;
        assert_eq!(franklin.by_kind[0] % (2 * n), 0, "{setup:?}");
        let rounds = franklin.by_kind[0] / (2 * n);
        assert!(rounds <= log2_floor(n as usize) + 1, "{setup:?}");
        assert!(franklin.total() <= n * (2 * log2_floor(n as usize) + 3), "{setup:?}");
        assert_eq!(dkr.by_kind, [n * rounds, n * rounds, n], "{setup:?}");
    }
}

/// The exact mean number of rounds over all rings, the same for Franklin and Dolev–Klawe–Rodeh.
#[test]
fn mean_rounds_over_all_rings() {
    let means = [(2, 2, 1), (3, 2, 1), (4, 7, 3), (5, 8, 3), (6, 43, 15), (7, 133, 45)];
    for (n, numerator, denominator) in means {
        let rings = permutations(n);
        for (name, per_round) in [("franklin", 2 * n as u64), ("dkr", n as u64)] {
            let rounds: Vec<u64> =
                rings.iter().map(|ids| Setup::all(ids.clone()).run(name).by_kind[0] / per_round).collect();
            let sum: u64 = rounds.iter().sum();
            assert_eq!(sum * denominator, numerator * rings.len() as u64, "{name}, n = {n}");
            assert_eq!(rounds.iter().max(), Some(&(log2_floor(n) + 1)), "{name}, n = {n}");
        }
    }
}

/// The same for n = 8, by the formula that `rings.rs` compares with runs.
#[test]
fn mean_rounds_over_all_rings_of_eight() {
    let rings = permutations(8);
    let sum: u64 = rings
        .iter()
        .map(|ids| Setup::all(ids.clone()).expect("franklin").expect("franklin has a formula")[0] / 16)
        .sum();
    assert_eq!(sum * 315, 946 * rings.len() as u64);
}

/// docs/model.md#peterson: R rounds, n·R `first` and n(R-1) `second`, R as in Dolev–Klawe–Rodeh.
#[test]
fn peterson_needs_no_second_in_the_last_round() {
    let mut random = Random::new(4);
    for _ in 0..1_000 {
        let n = 1 + random.below(60) as usize;
        let setup = Setup::all(random.ring(n));
        let rounds = setup.run("dkr").by_kind[0] / n as u64;
        let n = n as u64;
        assert_eq!(setup.run("peterson").by_kind, [n * rounds, n * (rounds - 1), n], "{setup:?}");
    }
}

/// Fokkink, after exercise 9.4: a survivor that kept its own id would take n²/2 on a sorted ring.
#[test]
fn dolev_klawe_rodeh_is_quick_on_sorted_rings() {
    for ids in [(0..64).collect::<Vec<u64>>(), (0..64).rev().collect()] {
        assert_eq!(Setup::all(ids).run("dkr").by_kind, [128, 128, 64]);
    }
}

/// docs/model.md#dolev-klawe-rodeh: `time.elected` is when `elected` reaches the node whose own id has won.
#[test]
fn the_announcer_is_usually_not_the_leader() {
    // Position 1 compares on behalf of id 3 from tick 2 on and announces it two laps later; its owner hears of it last.
    let outcome = Setup::all([3, 0, 1, 2]).run("dkr");
    assert_eq!((outcome.agreed_leader(), outcome.elected, outcome.quiescent), (Some(0), Some(13), Some(14)));
    // A single initiator announces itself.
    let outcome = Setup::some([3, 0, 1, 2], &[1]).run("dkr");
    assert_eq!((outcome.agreed_leader(), outcome.elected, outcome.quiescent), (Some(1), Some(8), Some(12)));
}

/// Hirschberg and Sinclair, as quoted in Franklin's abstract: at most 8n + 8⌈n log₂ n⌉, and the announcement.
#[test]
fn hirschberg_sinclair_keeps_its_bound() {
    let mut random = Random::new(5);
    for _ in 0..1_000 {
        let n = 1 + random.below(70) as usize;
        let setup = Setup::all(random.ring(n));
        let bound = 9 * n as u64 + 8 * (n as f64 * (n as f64).log2()).ceil() as u64;
        let total = setup.run("hs").total();
        assert!(total <= bound, "{total} > {bound}: {setup:?}");
    }
}

/// Shirali §3: "Number of messages = 2n", "Latency = 2n".
#[test]
fn token_ring_takes_two_laps() {
    for token in ["max", "collect"] {
        let mut setup = Setup::some((0..64).collect::<Vec<u64>>(), &[0]);
        setup.params = vec![("token", token)];
        let outcome = setup.run("token-ring");
        assert_eq!((outcome.by_kind.as_slice(), outcome.quiescent), (&[64, 64][..], Some(128)));
        assert_eq!((outcome.agreed_leader(), outcome.elected, outcome.agreed), (Some(63), Some(127), Some(127)));
    }
}

/// Shirali §3 b: a node that is down is skipped. docs/model.md#token-ring: election n, coordinator n-f, quiescent 2n.
#[test]
fn token_ring_with_nodes_down_from_the_start() {
    let mut random = Random::new(6);
    for _ in 0..1_000 {
        let n = 1 + random.below(40) as usize;
        let dead: BTreeSet<usize> = (0..n).filter(|_| random.below(3) == 0).collect();
        let live: Vec<usize> = (0..n).filter(|at| !dead.contains(at)).collect();
        let Some(&detector) = live.first() else { continue };
        let setup = Setup::some(random.ring(n), &[detector]).down(&dead);
        let outcome = setup.run("token-ring");
        assert_eq!(outcome.by_kind, [n as u64, live.len() as u64], "{setup:?}");
        assert_eq!(outcome.quiescent, Some(2 * n as u64), "{setup:?}");
        assert_eq!(outcome.agreed_leader(), setup.greatest(live), "{setup:?}");
    }
}

/// Compares the costs in the catalogue with all rings of up to six nodes.
#[test]
fn the_costs_in_the_catalogue_hold() {
    for entry in catalogue::ENTRIES.iter().filter(|entry| is_plain_ring(&entry.about)) {
        let name = entry.about.name;
        for n in 1..=6usize {
            let run = |ids: Vec<u64>| match entry.about.initiators {
                Initiators::LowestLive => Setup::some(ids, &[0]).run(name).total(),
                Initiators::All => Setup::all(ids).run(name).total(),
            };
            let totals: Vec<u64> = permutations(n).into_iter().map(run).collect();
            let (least, most) = (*totals.iter().min().unwrap() as f64, *totals.iter().max().unwrap() as f64);
            let mean = totals.iter().sum::<u64>() as f64 / totals.len() as f64;
            for cost in entry.about.costs {
                let Some(messages) = cost.messages else { continue };
                let measured = match cost.case {
                    Case::Best => least,
                    Case::Average => mean,
                    Case::Worst => most,
                };
                let claimed = messages(n as u64);
                let holds = if cost.exact { (measured - claimed).abs() < 1e-9 } else { measured <= claimed };
                assert!(holds, "{name}, n = {n}, {cost}: claimed {claimed}, measured {measured}");
            }
        }
    }
}
