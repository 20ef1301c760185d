//! Every algorithm of the catalogue that elects among nodes with ids, driven as a node drives it.

mod failover;
mod malformed;
mod network;

use hustings_algorithms::Synchrony;
use hustings_algorithms::catalogue::ENTRIES;
use hustings_cluster::config::Choice;
use hustings_cluster::election::Flaw;
use hustings_cluster::member::MemberRank;
use hustings_protocol::Id;
use network::{Rng, Routing, SimNetwork, TICK};

/// Long enough for everything: the last resorts of the rings take eight ticks for each node, twice that, and so on.
const LONG: u64 = 400 * TICK;

fn choice(name: &str, params: &[&str]) -> Choice {
    Choice::named(name, Some(params.iter().map(|text| text.to_string()).collect()))
}

/// All algorithms as they stand, and some with parameters that matter here.
fn choices() -> Vec<Choice> {
    let plain = ENTRIES.iter().filter(|entry| entry.about.elects_by_id()).map(|entry| {
        // Those that rely on a bound on delays also count the time between the first and the last that enters. With
        // the default they may end with the wrong leader where answers are late.
        let relies_on_delays = entry.about.assumptions.synchrony == Synchrony::Synchronous
            && entry.parameters.iter().any(|parameter| parameter.name == "T");
        choice(entry.about.name, if relies_on_delays { &["T=4"] } else { &[] })
    });
    plain.chain(VARIANTS.iter().map(|(name, params)| choice(name, params))).collect()
}

const VARIANTS: [(&str, &[&str]); 15] = [
    // A late answer does it no harm that lasts.
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

/// Candidates with ids that have gaps, and ranks that do not follow them.
fn candidates(size: u64, rng: &mut Rng) -> Vec<MemberRank> {
    (0..size)
        .map(|at| MemberRank { priority: rng.below(2) as u32, health: rng.below(3) as u8, id: Id(3 * at + 1) })
        .collect()
}

fn ids(candidates: &[MemberRank]) -> Vec<Id> {
    candidates.iter().map(|one| one.id).collect()
}

fn highest(candidates: &[MemberRank]) -> Id {
    candidates.iter().max().expect("there is one").id
}

#[track_caller]
fn expect_agreement(network: &SimNetwork, candidates: &[MemberRank], case: &str) {
    let leader = highest(candidates);
    let (choice, leaders) = (&network.choice, network.leaders(candidates));
    assert!(
        network.agree(candidates, leader),
        "{choice:?} {case}: {candidates:?} should name {leader}, say {leaders:?}"
    );
}

#[test]
fn whoever_enters_when_all_name_the_greatest_in_the_end_also_when_it_goes_and_comes_back() {
    for choice in choices() {
        for size in 1..=7 {
            for seed in 0..6 {
                let mut rng = Rng::new(seed * 100 + size);
                let all = candidates(size, &mut rng);
                let mut network = SimNetwork::new(&choice, ids(&all), seed);
                network.start_all(&all, 3 * TICK);
                network.run_for(LONG);
                expect_agreement(&network, &all, "at first");
                if size == 1 {
                    continue;
                }
                let gone = highest(&all);
                let rest: Vec<MemberRank> = all.iter().copied().filter(|one| one.id != gone).collect();
                for time in 0..3 {
                    network.kill(gone);
                    network.start_all(&rest, if time == 1 { 100 } else { 3 * TICK });
                    network.run_for(LONG);
                    expect_agreement(&network, &rest, "without it");
                    network.boot(gone);
                    network.start_all(&all, if time == 1 { 100 } else { 3 * TICK });
                    network.run_for(LONG);
                    expect_agreement(&network, &all, "with it again");
                }
            }
        }
    }
}

/// Connections break, nodes see different candidates for a while, and in the end all see the same. Whoever has seen no
/// change stays in its election. Whether all then name the greatest.
fn random_faults(choice: &Choice, seed: u64, set: impl FnOnce(&mut SimNetwork)) -> bool {
    let mut rng = Rng::new(seed ^ 0xABCD);
    let size = 2 + rng.below(4);
    let all = candidates(size, &mut rng);
    let mut network = SimNetwork::new(choice, [], seed);
    set(&mut network);
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
                let seen: Vec<MemberRank> =
                    all.iter().copied().filter(|each| each.id == one || rng.below(3) > 0).collect();
                network.start_in(rng.below(TICK), one, &seen);
            }
        }
    }
    // Every plan above is carried out by then.
    network.run_for(TICK + rng.below(TICK));
    network.start_where_needed(&all, 2 * TICK);
    network.run_for(LONG);
    network.agree(&all, highest(&all))
}

#[test]
fn after_a_storm_all_name_the_greatest() {
    for choice in choices() {
        for seed in 0..400 {
            assert!(random_faults(&choice, seed, |_| ()), "{choice:?} seed {seed}");
        }
    }
}

/// Whether some storm ends badly.
fn some_seed_fails(choice: &Choice, set: impl Fn(&mut SimNetwork)) -> bool {
    (0..3000).any(|seed| !random_faults(choice, seed, &set))
}

#[test]
fn a_storm_shows_whatever_is_missing() {
    let ring = choice("chang-roberts", &[]);
    assert!(!some_seed_fails(&ring, |_| ()), "nothing is missing");
    assert!(some_seed_fails(&ring, |network| network.routing = Routing::AnyElection), "the key matters");
    for flaw in [Flaw::NotHeld, Flaw::NoLosses, Flaw::NotCounted, Flaw::NoFloors, Flaw::NotDropped] {
        assert!(some_seed_fails(&ring, |network| network.flaw = Some(flaw)), "{flaw:?} goes unnoticed");
    }
}
