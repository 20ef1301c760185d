//! Itai–Rodeh without round numbers: right where links keep order, wrong where they do not.

use hustings_algorithms::anonymous::{IdRange, ItaiRodeh, ItaiRodehParams, Rounds};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Delay, Scenario};
use hustings_sim::topology::Network;

use crate::common::elections::simulate;

const SEEDS: u64 = 20_000;

/// Runs with three nodes, and as many ids as told, on links with random delays.
fn runs(ids: u32, rounds: Rounds, unordered: bool) -> impl Iterator<Item = Outcome> {
    let params = ItaiRodehParams { ids: IdRange::Of(ids), rounds, ..ItaiRodehParams::default() };
    let mut scenario = Scenario::new(Network::Ring(3)).started_by_all();
    scenario.delay = Delay::Uniform(1, 12);
    scenario.unordered = unordered;
    (0..SEEDS).map(move |seed| {
        scenario.seed = seed;
        simulate::<ItaiRodeh>(&params, &scenario)
    })
}

fn is_right(outcome: &Outcome) -> bool {
    outcome.leaders.len() == 1 && outcome.agreement && !outcome.hung
}

/// McMaster: "Without rounds, the algorithm would be flawed (for non-FIFO channels)". Runs come to an end, with every
/// message delivered, and nobody leads; a few go on forever with a candidate that nobody takes for its own. None has
/// two leaders.
#[test]
fn without_rounds_and_without_order_a_run_may_end_with_nobody() {
    for ids in [3, 4] {
        let wrong: Vec<Outcome> = runs(ids, Rounds::Off, true).filter(|outcome| !is_right(outcome)).collect();
        assert!(wrong.iter().any(|outcome| !outcome.hung), "no run of {SEEDS} ended wrong with {ids} ids");
        assert!(wrong.iter().all(|outcome| outcome.leaders.is_empty()), "{ids} ids");
    }
}

/// With two ids to draw from, nothing goes wrong even so.
#[test]
fn two_ids_do_without_rounds_and_without_order() {
    assert!(runs(2, Rounds::Off, true).all(|outcome| is_right(&outcome)));
}

/// docs/model.md#itai-rodeh: `rounds=off` is right on FIFO links.
#[test]
fn without_rounds_order_is_enough() {
    for ids in [3, 4] {
        assert!(runs(ids, Rounds::Off, false).all(|outcome| is_right(&outcome)), "{ids} ids");
    }
}

/// docs/model.md#itai-rodeh: with round numbers, no order is needed.
#[test]
fn with_rounds_no_order_is_needed() {
    for ids in [2, 3, 4] {
        assert!(runs(ids, Rounds::On, true).all(|outcome| is_right(&outcome)), "{ids} ids");
    }
}

/// On links that keep order, round numbers change nothing at all.
#[test]
fn on_links_that_keep_order_rounds_make_no_difference() {
    let told = |outcome: Outcome| (outcome.leaders, outcome.by_kind, outcome.time);
    assert!(runs(3, Rounds::On, false).map(told).eq(runs(3, Rounds::Off, false).map(told)));
}
