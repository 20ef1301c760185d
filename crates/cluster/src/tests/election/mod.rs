//! Every algorithm of the catalogue that elects among nodes with ids, driven as a node drives it.

mod failover;
mod malformed;
mod network;

use hustings_algorithms::Synchrony;
use hustings_algorithms::catalogue::ENTRIES;
use hustings_protocol::Id;

use crate::config::AlgorithmConfig;
use crate::faults::InjectedFault;
use crate::member::MemberRank;
use network::{Rng, Routing, SimNetwork, TICK};

/// Long enough for every algorithm: the fallback timers of the rings take eight ticks per node, and double each time.
const LONG: u64 = 400 * TICK;

fn choice(name: &str, params: &[&str]) -> AlgorithmConfig {
    AlgorithmConfig::named(name, Some(params.iter().map(|text| text.to_string()).collect()))
}

/// All algorithms with their default parameters, and some with other parameters that matter here.
fn choices() -> Vec<AlgorithmConfig> {
    let plain = ENTRIES.iter().filter(|entry| entry.about.elects_by_id()).map(|entry| {
        // The delay bound must include the time between the first and the last node that starts the election.
        // With the default, a late answer may lead to a wrong leader.
        let relies_on_delays = entry.about.assumptions.synchrony == Synchrony::Synchronous
            && entry.parameters.iter().any(|parameter| parameter.name == "T");
        choice(entry.about.name, if relies_on_delays { &["T=4"] } else { &[] })
    });
    plain.chain(VARIANTS.iter().map(|(name, params)| choice(name, params))).collect()
}

const VARIANTS: [(&str, &[&str]); 15] = [
    // Bully recovers from late answers.
    ("bully", &[]),
    ("bully", &["highest=announce"]),
    ("bully", &["highest=announce", "adapt=on"]),
    ("improved-bully", &["highest=announce", "T=4"]),
    ("campaigner", &["highest=announce", "T=4"]),
    ("invitation", &["period=20"]),
    ("sun", &["u=2", "depth=max"]),
    ("sun", &["u=3", "aggregate=eager"]),
    ("divided", &["u=2", "backoff=2"]),
    ("sun-divided", &["u=2"]),
    ("sun", &["u=2", "parts=2,3"]),
    ("divided", &["u=2", "parts=2,3"]),
    ("two-tier", &["subordinates=3"]),
    ("aefa", &["probe=25", "beacon=25"]),
    ("preference", &["probe=25", "beacon=25"]),
];

/// Candidates with gaps between their ids, and with ranks that do not follow the ids.
fn candidates(size: u64, rng: &mut Rng) -> Vec<MemberRank> {
    (0..size)
        .map(|at| MemberRank { priority: rng.below(2) as u32, health: rng.below(3) as u8, id: Id(3 * at + 1) })
        .collect()
}

fn ids(candidates: &[MemberRank]) -> Vec<Id> {
    candidates.iter().map(|one| one.id).collect()
}

fn highest(candidates: &[MemberRank]) -> Id {
    candidates.iter().max().expect("there is a candidate").id
}

#[track_caller]
fn expect_agreement(network: &SimNetwork, candidates: &[MemberRank], case: &str) {
    let leader = highest(candidates);
    let (choice, leaders) = (&network.choice, network.leaders(candidates));
    assert!(
        network.agree(candidates, leader),
        "{choice:?} {case}: {candidates:?} should name {leader}, but name {leaders:?}"
    );
}

#[test]
fn all_name_the_highest_candidate_also_after_it_fails_and_returns() {
    for choice in choices() {
        for size in 1..=7 {
            for seed in 0..6 {
                let mut rng = Rng::new(seed * 100 + size);
                let all = candidates(size, &mut rng);
                let mut network = SimNetwork::new(&choice, ids(&all), seed);
                network.start_all(&all, 3 * TICK);
                network.run_for(LONG);
                expect_agreement(&network, &all, "initially");
                if size == 1 {
                    continue;
                }
                let leader = highest(&all);
                let rest: Vec<MemberRank> = all.iter().copied().filter(|one| one.id != leader).collect();
                for time in 0..3 {
                    network.kill(leader);
                    network.start_all(&rest, if time == 1 { 100 } else { 3 * TICK });
                    network.run_for(LONG);
                    expect_agreement(&network, &rest, "without the highest candidate");
                    network.boot(leader);
                    network.start_all(&all, if time == 1 { 100 } else { 3 * TICK });
                    network.run_for(LONG);
                    expect_agreement(&network, &all, "after its return");
                }
            }
        }
    }
}

/// Breaks connections, and lets nodes see different candidates for a while. In the end, all nodes see the same
/// candidates; a node for which nothing changed stays in its election. Returns whether all nodes then name the
/// candidate with the highest rank.
fn random_faults(choice: &AlgorithmConfig, seed: u64, configure: impl FnOnce(&mut SimNetwork)) -> bool {
    let mut rng = Rng::new(seed ^ 0xABCD);
    let size = 2 + rng.below(4);
    let all = candidates(size, &mut rng);
    let mut network = SimNetwork::new(choice, [], seed);
    configure(&mut network);
    all.iter().for_each(|one| network.boot(one.id));
    network.start_all(&all, TICK);
    for _ in 0..1 + rng.below(8) {
        network.run_for(rng.below(2 * TICK));
        let (one, other) = (all[rng.below(size) as usize].id, all[rng.below(size) as usize].id);
        match rng.below(4) {
            0 if one != other => network.cut(one, other),
            1 => {
                network.kill(one);
                network.boot(one);
            }
            _ => {
                let visible: Vec<MemberRank> =
                    all.iter().copied().filter(|each| each.id == one || rng.below(3) > 0).collect();
                network.start_in(rng.below(TICK), one, &visible);
            }
        }
    }
    // All starts that were scheduled above have happened by then.
    network.run_for(TICK + rng.below(TICK));
    network.start_where_needed(&all, 2 * TICK);
    network.run_for(LONG);
    network.agree(&all, highest(&all))
}

#[test]
fn all_name_the_highest_candidate_after_random_faults() {
    for choice in choices() {
        for seed in 0..400 {
            assert!(random_faults(&choice, seed, |_| ()), "{choice:?} seed {seed}");
        }
    }
}

/// Whether some seed leads to a wrong result.
fn some_seed_fails(choice: &AlgorithmConfig, configure: impl Fn(&mut SimNetwork)) -> bool {
    (0..3000).any(|seed| !random_faults(choice, seed, &configure))
}

#[test]
fn random_faults_detect_every_disabled_mechanism() {
    let ring = choice("chang-roberts", &[]);
    assert!(!some_seed_fails(&ring, |_| ()), "all mechanisms are enabled");
    assert!(
        some_seed_fails(&ring, |network| network.routing = Routing::AnyElection),
        "routing without keys goes undetected"
    );
    for fault in [
        InjectedFault::NotHeld,
        InjectedFault::NoLosses,
        InjectedFault::NotCounted,
        InjectedFault::NoFloors,
        InjectedFault::NotDropped,
    ] {
        assert!(some_seed_fails(&ring, |network| network.fault = Some(fault)), "{fault:?} goes undetected");
    }
}
