//! Every algorithm of the catalogue that elects among nodes with ids, driven as a node drives it.

mod bus;

use bus::{Bus, Dice, TICK};
use hustings_algorithms::catalogue::ENTRIES;
use hustings_algorithms::{Goal, Identity};
use hustings_cluster::config::Choice;
use hustings_cluster::member::Worth;
use hustings_protocol::Id;

/// Long enough for everything: the last resorts of the rings take eight ticks for each node, twice that, and so on.
const LONG: u64 = 400 * TICK;

fn choice(name: &str, params: &[&str]) -> Choice {
    Choice { name: name.to_string(), params: params.iter().map(|text| text.to_string()).collect() }
}

/// All algorithms as they stand, and some with parameters that matter here.
fn choices() -> Vec<Choice> {
    let elects = |about: &hustings_algorithms::About| {
        about.goal == Goal::Leader && about.assumptions.identity == Identity::Unique
    };
    let plain = ENTRIES.iter().filter(|entry| elects(&entry.about)).map(|entry| choice(entry.about.name, &[]));
    plain.chain(VARIANTS.iter().map(|(name, params)| choice(name, params))).collect()
}

const VARIANTS: [(&str, &[&str]); 12] = [
    ("bully", &["highest=announce"]),
    ("bully", &["highest=announce", "adapt=on"]),
    ("improved-bully", &["highest=announce"]),
    ("campaigner", &["highest=announce"]),
    ("invitation", &["period=20"]),
    ("sun", &["u=2", "depth=max"]),
    ("sun", &["u=3", "aggregate=eager"]),
    ("divided", &["u=2", "backoff=2"]),
    ("sun-divided", &["u=2"]),
    ("two-tier", &["subordinates=3"]),
    ("aefa", &["probe=25", "beacon=25"]),
    ("token-ring", &[]),
];

/// Candidates with ids that have gaps, and worths that do not follow them.
fn candidates(size: u64, dice: &mut Dice) -> Vec<Worth> {
    (0..size)
        .map(|at| Worth { priority: dice.below(2) as u32, health: dice.below(3) as u8, id: Id(3 * at + 1) })
        .collect()
}

fn ids(candidates: &[Worth]) -> Vec<Id> {
    candidates.iter().map(|one| one.id).collect()
}

fn greatest(candidates: &[Worth]) -> Id {
    candidates.iter().max().expect("there is one").id
}

#[track_caller]
fn expect_agreement(bus: &Bus, candidates: &[Worth], case: &str) {
    let leader = greatest(candidates);
    let (choice, says) = (&bus.choice, bus.says(candidates));
    assert!(bus.agree(candidates, leader), "{choice:?} {case}: {candidates:?} should name {leader}, say {says:?}");
}

#[test]
fn whoever_enters_when_all_name_the_greatest_in_the_end_also_when_it_goes_and_comes_back() {
    for choice in choices() {
        for size in 1..=7 {
            for seed in 0..6 {
                let mut dice = Dice::new(seed * 100 + size);
                let all = candidates(size, &mut dice);
                let mut bus = Bus::new(&choice, ids(&all), seed);
                bus.all_enter(&all, 3 * TICK);
                bus.run_for(LONG);
                expect_agreement(&bus, &all, "at first");
                if size == 1 {
                    continue;
                }
                let gone = greatest(&all);
                let rest: Vec<Worth> = all.iter().copied().filter(|one| one.id != gone).collect();
                for time in 0..3 {
                    bus.kill(gone);
                    bus.all_enter(&rest, if time == 1 { 100 } else { 3 * TICK });
                    bus.run_for(LONG);
                    expect_agreement(&bus, &rest, "without it");
                    bus.boot(gone);
                    bus.all_enter(&all, if time == 1 { 100 } else { 3 * TICK });
                    bus.run_for(LONG);
                    expect_agreement(&bus, &all, "with it again");
                }
            }
        }
    }
}
