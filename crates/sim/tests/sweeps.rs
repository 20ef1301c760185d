//! Every algorithm of the catalogue in runs (docs/model.md#runs: one leader per connected part after crashes,
//! recoveries and partitions), and by itself as far as its description claims to tolerate faults: small elections with
//! a fault at every node and tick, and many random ones.
//!
//! A case that fails is shown as the command that runs it. `HUSTINGS_SWEEPS=20` tries twenty times as many random ones.

use crate::common::schedule;
use crate::common::sweep;
use crate::common::tolerance;

use hustings_algorithms::NetworkKind;
use hustings_algorithms::runs::ViewRule;
use hustings_sim::topology::Network;

use crate::common::waves::neighbours;
use schedule::{Menu, at_random};
use sweep::{Case, Subject, Tally, splits, subjects};
use tolerance::by_itself;

/// How many random cases, of each algorithm.
const RANDOM: u64 = 300;

/// Longer elections are swept over their first ticks only.
const LAST_TICK: u64 = 24;

fn many() -> u64 {
    let more = std::env::var("HUSTINGS_SWEEPS").ok().and_then(|text| text.parse().ok());
    RANDOM * more.unwrap_or(1u64)
}

/// A small election in runs, how many nodes it has, and when it is over.
fn small(subject: &Subject) -> (Case, u32, u64) {
    let (case, size) = subject.small(Case::of(subject).with("--runs", ""));
    let (quiescent, verdict) = subject.run(&case);
    assert_eq!(verdict, Ok(()), "without faults: {case}");
    (case, size, (quiescent + 3).min(LAST_TICK))
}

#[test]
fn runs_survive_a_crash_of_any_node_at_any_tick() {
    let mut tally = Tally::default();
    for subject in subjects() {
        let (case, size, last) = small(&subject);
        for (at, tick) in (0..size).flat_map(|at| (0..=last).map(move |tick| (at, tick))) {
            tally.add(&subject, &case.clone().with("--crash", format!("{at}@{tick}")));
        }
    }
    tally.judge();
}

#[test]
fn runs_survive_a_crash_and_a_recovery_at_any_tick() {
    let mut tally = Tally::default();
    for subject in subjects() {
        let (case, size, last) = small(&subject);
        for (at, tick) in (0..size).flat_map(|at| (0..=last).map(move |tick| (at, tick))) {
            tally.add(&subject, &case.clone().restart(at, tick));
            for later in [1, 2, 3, 6] {
                let crashed = case.clone().with("--crash", format!("{at}@{tick}"));
                tally.add(&subject, &crashed.with("--recover", format!("{at}@{}", tick + later)));
            }
        }
    }
    tally.judge();
}

#[test]
fn runs_survive_any_partition_at_any_tick_and_its_healing() {
    let mut tally = Tally::default();
    for subject in subjects() {
        let (case, size, last) = small(&subject);
        for split in splits(size) {
            for tick in 0..=last {
                let parted = case.clone().with("--partition", format!("{split}@{tick}"));
                for later in [1, 7] {
                    tally.add(&subject, &parted.clone().with("--heal", format!("all@{}", tick + later)));
                }
                tally.add(&subject, &parted);
            }
        }
    }
    tally.judge();
}

/// A random case in runs; some seeds have none, because the algorithm does not take so many nodes.
fn random(subject: &Subject, seed: u64) -> Option<Case> {
    let size = [2, 3, 4, 5, 5, 6, 7, 8, 12][(seed % 9) as usize];
    let case = Case::of(subject).with("--runs", "");
    let links = (size, links(subject, size));
    subject.fits(&case, size).then(|| at_random(subject, case, links, Menu::EVERYTHING, seed).0)
}

/// The links that may be cut: those of the network that the algorithm gets when nothing is said.
fn links(subject: &Subject, size: u32) -> Vec<(u32, u32)> {
    let network = match subject.about.network {
        NetworkKind::Ring | NetworkKind::InformedRing => Network::Ring(size),
        // The random ones have other links with every seed.
        NetworkKind::Graph if size > 10 => return Vec::new(),
        NetworkKind::Complete | NetworkKind::Graph => Network::Complete(size),
        NetworkKind::Tree => return (1..size).map(|at| ((at - 1) / 2, at)).collect(),
    };
    let ends = (0..size).flat_map(|at| neighbours(&network, at).map(move |peer| (at, peer)).collect::<Vec<_>>());
    let mut links: Vec<(u32, u32)> = ends.filter(|(a, b)| a < b).collect();
    links.sort_unstable();
    links.dedup();
    links
}

#[test]
fn runs_survive_random_faults() {
    let mut tally = Tally::default();
    for subject in subjects() {
        (0..many()).filter_map(|seed| random(&subject, seed)).for_each(|case| tally.add(&subject, &case));
    }
    tally.judge();
}

/// Guards the sweeps: without the rules that these faults are about, they go wrong.
#[test]
fn runs_without_a_rule_are_found_out() {
    for rule in [ViewRule::Fresh, ViewRule::Hold] {
        let mut tally = Tally::default();
        for subject in subjects().into_iter().take(4) {
            let cases = (0..RANDOM).filter_map(|seed| random(&subject, seed));
            cases.for_each(|case| tally.add(&subject, &case.without(rule)));
        }
        assert!(tally.wrong() > 3, "nobody misses {rule:?}");
    }
}

/// Who is said to do without nodes that are down from the start does, and the others do not.
#[test]
fn some_algorithms_do_without_nodes_that_are_down_from_the_start() {
    for subject in subjects() {
        let (small, size) = subject.small(by_itself(&subject));
        for at in 0..size {
            let case = small.clone().with("--crash", format!("{at}@0"));
            let verdict = subject.run(&case).1;
            assert_eq!(verdict.is_ok(), subject.about.tolerates.down, "{case}: {verdict:?}");
        }
    }
}

#[test]
fn what_an_algorithm_claims_to_survive_by_itself_it_survives() {
    let mut tally = Tally::default();
    for subject in subjects() {
        let (small, size) = subject.small(by_itself(&subject));
        let (quiescent, verdict) = subject.run(&small);
        assert_eq!(verdict, Ok(()), "without faults: {small}");
        let last = (quiescent + 3).min(LAST_TICK);
        tolerance::crashes(&subject, &small, size, last, &mut tally);
        tolerance::partitions(&subject, &small, size, last, &mut tally);
        for seed in 0..many() {
            let size = [2, 3, 5, 7][(seed % 4) as usize];
            let case = by_itself(&subject);
            if subject.fits(&case, size) {
                // In a complete network everybody must reach everybody in its part, not only somehow.
                let is_complete = subject.about.network == NetworkKind::Complete;
                let links = (size, if is_complete { Vec::new() } else { links(&subject, size) });
                let (mut case, last) = at_random(&subject, case, links, Menu::of(subject.about.tolerates), seed);
                if subject.about.tolerates.loss && seed % 3 == 0 {
                    case = case.with("--loss", 0.05);
                }
                tally.add(&subject, &tolerance::started_again(&subject, case, size, last));
            }
        }
    }
    tally.judge();
}
