//! docs/model.md#improved-bully and campaigner: counts, times and states.

use hustings_algorithms::Algorithm;
use hustings_algorithms::complete::{Bully, Campaigner, ImprovedBully};
use hustings_protocol::{Effect, Fact, Message, Record, Stage, TraceEvent};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{FaultKind, Scenario};
use proptest::prelude::*;

use super::{DynRank, detected, fault, greatest_down, network, run, start, times};
use crate::common::erased::run_algorithm;

/// docs/model.md#improved-bully: d=1 takes 3n-4 messages, 11, 26, 56 for n = 5, 10, 20; quiescent 3.
#[test]
fn improved_bully_with_the_lowest_detecting() {
    for (size, total) in [(5, 11), (10, 26), (20, 56)] {
        let outcome = run::<ImprovedBully>(&[], &greatest_down(size, 1));
        assert_eq!((outcome.total(), times(&outcome)), (total, [Some(3); 3]));
        assert_eq!((outcome.leader, outcome.agreement), (Some(size - 2), true));
    }
}

/// docs/model.md#improved-bully: n=64, d=32: 32+31+63 = 126.
#[test]
fn improved_bully_with_the_middle_detecting() {
    let outcome = run::<ImprovedBully>(&[], &greatest_down(64, 32));
    assert_eq!(outcome.by_kind, [32, 31, 63]);
}

/// docs/model.md#campaigner: d=1 takes ⌈n/2⌉+(⌈n/2⌉-1)+(n-1): 9, 18, 38 for n = 5, 10, 20.
#[test]
fn campaigner_with_the_lowest_detecting() {
    for (size, total) in [(5, 9), (10, 18), (20, 38)] {
        let outcome = run::<Campaigner>(&[], &greatest_down(size, 1));
        assert_eq!((outcome.total(), times(&outcome)), (total, [Some(3); 3]));
        assert_eq!((outcome.leader, outcome.agreement), (Some(size - 2), true));
    }
}

/// Datley's example: 12 processes, 12 down, 2 detects: 6 questions, 5 answers, 11 told, 11 leads.
#[test]
fn the_example_of_the_text() {
    let outcome = run::<Campaigner>(&[], &greatest_down(12, 2));
    assert_eq!(outcome.by_kind, [6, 5, 11]);
    assert_eq!(outcome.leader, Some(10));
}

/// docs/model.md#complete-networks: best case (d=n-1), all three: n.
#[test]
fn best_cases() {
    for size in 2..50 {
        let scenario = greatest_down(size, size - 1);
        for outcome in
            [run::<Bully>(&[], &scenario), run::<ImprovedBully>(&[], &scenario), run::<Campaigner>(&[], &scenario)]
        {
            assert_eq!(outcome.total(), u64::from(size));
            assert_eq!((outcome.leader, outcome.agreement), (Some(size - 2), true));
        }
    }
}

proptest! {
    /// docs/model.md#improved-bully, for any ids, any nodes down and any detectors: each runs to the end.
    #[test]
    fn improved_bully_with_any_detectors(scenario in detected()) {
        let outcome = run::<ImprovedBully>(&[], &scenario);
        let standing = DynRank::of(&scenario);
        let (asked, answered) = standing.starters.iter().map(|&place| standing.above(place)).fold((0, 0), add);
        let detectors = standing.starters.len() as u64;
        prop_assert_eq!(&outcome.by_kind, &[asked, answered, detectors * (standing.size - 1)]);
        let winner_detects = standing.starters.contains(&standing.highest_live());
        let alone = standing.live() == 1;
        let told = if alone { 2 } else { 3 };
        let elected = if winner_detects { 2 } else { 3 };
        let agreed = if standing.starters.len() as u64 == standing.live() { 2 } else { 3 };
        prop_assert_eq!(times(&outcome), [Some(elected), Some(agreed), Some(told)]);
        prop_assert!(super::is_settled(&scenario, &outcome));
    }

    /// docs/model.md#campaigner, for any ids, any nodes down and any detectors.
    #[test]
    fn campaigner_with_any_detectors(scenario in detected()) {
        let outcome = run::<Campaigner>(&[], &scenario);
        let standing = DynRank::of(&scenario);
        let (mut asked, mut answered) = (0, 0);
        let first = standing.up.len() / 2; // the lowest campaigner
        let mut last_round = 0;
        for &place in &standing.starters {
            let all = standing.up.len();
            let second = (place < first).then_some(place + 1..first);
            let rounds = [Some(first.max(place + 1)..all), second];
            for (number, round) in rounds.into_iter().flatten().enumerate() {
                let (all, live) = standing.among(round);
                (asked, answered) = (asked + all, answered + live);
                last_round = last_round.max(number as u64);
                if live > 0 {
                    break;
                }
            }
        }
        let detectors = standing.starters.len() as u64;
        prop_assert_eq!(&outcome.by_kind, &[asked, answered, detectors * (standing.size - 1)]);
        let quiescent = if standing.live() == 1 { 2 } else { 3 } + 2 * last_round;
        prop_assert_eq!(outcome.time.quiescent, Some(quiescent));
        prop_assert!(super::is_settled(&scenario, &outcome));
    }
}

fn add(sum: (u64, u64), (all, live): (u64, u64)) -> (u64, u64) {
    (sum.0 + all, sum.1 + live)
}

/// docs/model.md#campaigner: no campaigner answers: the higher ids of the general set are asked; quiescent 5.
#[test]
fn campaigner_failure() {
    for size in 3..30u32 {
        let general = size / 2;
        for detector in 1..=general {
            let faults = super::down(general..size);
            let scenario = Scenario { starts: vec![start(detector - 1, 0)], faults, ..network(size) };
            let outcome = run::<Campaigner>(&[], &scenario);
            let (campaigners, above) = (size - general, general - detector);
            assert_eq!(outcome.by_kind, [campaigners + above, above, size - 1].map(u64::from));
            let quiescent = if general == 1 { 4 } else { 5 };
            assert_eq!(outcome.time.quiescent, Some(quiescent), "{detector} of {size}");
            assert_eq!((outcome.leader, outcome.agreement), (Some(general - 1), true));
        }
    }
}

/// docs/model.md#campaigner: revival of the coordinator: n-1, at once. Datley's table: the same for all three.
#[test]
fn revival() {
    for size in 3..20u32 {
        let top = size - 1;
        let faults = vec![fault(0, FaultKind::Crash(top)), fault(30, FaultKind::Recover(top))];
        let with = Scenario { starts: vec![start(0, 0)], faults, ..network(size) };
        let without = greatest_down(size, 1);
        let revival = |with: Outcome, without: Outcome| {
            assert_eq!((with.leader, with.agreement, with.time.agreed), (Some(top), true, with.time.quiescent));
            let more: Vec<u64> =
                with.by_kind.iter().zip(&without.by_kind).map(|(with, without)| with - without).collect();
            (more.iter().sum::<u64>(), with.time.agreed)
        };
        let announced = (u64::from(size) - 1, Some(31));
        let elected = (u64::from(size) - 1, Some(33));
        let (campaigner, texts) = (run::<Campaigner>, ["recovery=announce"]);
        assert_eq!(revival(campaigner(&[], &with), campaigner(&[], &without)), announced);
        assert_eq!(revival(run::<Bully>(&texts, &with), run::<Bully>(&texts, &without)), announced);
        assert_eq!(revival(run::<Bully>(&[], &with), run::<Bully>(&[], &without)), elected);
        assert_eq!(revival(run::<ImprovedBully>(&texts, &with), run::<ImprovedBully>(&texts, &without)), announced);
        assert_eq!(revival(run::<ImprovedBully>(&[], &with), run::<ImprovedBully>(&[], &without)), elected);
    }
}

/// docs/model.md#improved-bully: a node that is told of a winner lower than itself starts a new election:
/// 5 is back just before 1 announces 4.
#[test]
fn a_winner_below_oneself_starts_a_new_election() {
    let faults = vec![fault(0, FaultKind::Crash(4)), fault(3, FaultKind::Join(4))];
    let mut scenario = Scenario { starts: vec![start(0, 0)], faults, ..network(5) };
    let outcome = run::<ImprovedBully>(&["recovery=announce"], &scenario);
    // At 3 it announces itself, and is told of 4: it asks nobody, waits, and announces itself again.
    assert_eq!(outcome.by_kind, [4, 3, 4 + 4 + 4]);
    assert_eq!((outcome.leader, outcome.agreement), (Some(4), true));
    scenario.faults[1].tick = 4;
    assert_eq!(run::<ImprovedBully>(&["recovery=announce"], &scenario).by_kind, [4, 3, 4 + 4]);
}

/// What each node was told to show, in order.
fn stages<A: Algorithm>(scenario: &Scenario) -> Vec<Vec<Stage>> {
    let mut records: Vec<Record<_>> = Vec::new();
    run_algorithm::<A>(&A::Params::default(), scenario, Some(&mut records));
    let mut shown = vec![Vec::new(); scenario.ids.len()];
    for record in &records {
        if let TraceEvent::Handled { effects, .. } = &record.what {
            shown[record.node as usize].extend(effects.iter().filter_map(stage));
        }
    }
    shown
}

fn stage<M: Message>(effect: &Effect<M>) -> Option<Stage> {
    if let Effect::Learn(Fact::Stage(stage)) = effect { Some(*stage) } else { None }
}

/// docs/model.md#campaigner: the states `normal`, `elect`, `hold` and `cdr` appear in the trace.
#[test]
fn the_states_of_the_text_show() {
    let [detector, general, campaigner, coordinator, dead] =
        <[Vec<Stage>; 5]>::try_from(stages::<Campaigner>(&greatest_down(5, 1))).expect("there are five nodes");
    assert_eq!(detector, [Stage::Elect, Stage::Normal]);
    assert_eq!(general, [Stage::Normal]);
    assert_eq!(campaigner, [Stage::Hold, Stage::Normal]);
    assert_eq!(coordinator, [Stage::Hold, Stage::Normal]);
    assert_eq!(dead, []);
}
