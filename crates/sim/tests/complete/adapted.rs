//! Crete's exercise: bully adapted to temporary partitions, slow communication and slow processes. Each run stands
//! beside the plain one, which it breaks.

use hustings_algorithms::complete::Bully;
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Delay, FaultKind, Notice, Scenario};
use proptest::prelude::*;

use super::{chosen, fault, greatest_down, is_settled, network, run, start, with_faults};

fn plain(scenario: &Scenario) -> Outcome {
    run::<Bully>(&[], scenario)
}

fn adapted(scenario: &Scenario) -> Outcome {
    run::<Bully>(&["adapt=on"], scenario)
}

/// Positions below `border` are cut off from the others for a while.
fn split(size: u32, border: u32, from: u64, to: u64) -> Scenario {
    let groups = (0..size).map(|at| u32::from(at < border)).collect();
    let faults = vec![fault(from, FaultKind::Partition(groups)), fault(to, FaultKind::HealAll)];
    Scenario { starts: vec![start(0, 0)], faults, until: 2_000, ..network(size) }
}

/// A temporary partition after the election. Without the leader's word, the plain version never notices (and is right
/// again by luck); with polls it elects a second leader, and keeps both.
#[test]
fn a_temporary_partition() {
    for border in 1..5 {
        let quiet = split(5, border, 20, 200);
        let polled = Scenario { notice: Notice::Poll(5), ..quiet.clone() };
        let outcome = plain(&polled);
        assert_eq!((outcome.leaders.len(), outcome.agreement), (2, false), "border {border}: {outcome:?}");
        for scenario in [quiet, polled] {
            let outcome = adapted(&scenario);
            assert_eq!((outcome.leaders.as_slice(), outcome.agreement), (&[4][..], true), "border {border}");
        }
    }
}

/// While it lasts, each part has its own leader.
#[test]
fn each_part_has_its_leader_while_the_partition_lasts() {
    let mut scenario = split(6, 3, 20, 1_000);
    scenario.until = 999;
    assert_eq!(adapted(&scenario).leaders, [2, 5]);
    scenario.until = 1_100;
    assert_eq!((adapted(&scenario).leaders, adapted(&scenario).agreement), (vec![5], true));
}

/// A partition in the middle of an election.
#[test]
fn a_partition_during_the_election() {
    let mut broken = 0;
    for border in 1..5 {
        for from in 1..5 {
            let scenario = split(5, border, from, from + 3);
            let outcome = adapted(&scenario);
            assert_eq!((outcome.leaders.as_slice(), outcome.agreement), (&[4][..], true), "{border}, {from}");
            broken += u32::from(!is_settled(&scenario, &plain(&scenario)));
        }
    }
    assert!(broken > 0, "nothing of this was a danger to the plain version");
}

/// Answers that come after the timeout: the plain version ends with several leaders, or with
/// nodes that name one that does not lead.
#[test]
fn slow_communication() {
    let mut broken = 0;
    for seed in 0..150 {
        let mut scenario = greatest_down(6, 1 + seed as u32 % 5);
        (scenario.seed, scenario.until, scenario.unordered) = (seed, 20_000, true);
        scenario.delay = [Delay::Uniform(1, 9), Delay::Exponential(6.0), Delay::Uniform(30, 40)][seed as usize % 3];
        let outcome = adapted(&scenario);
        assert!(is_settled(&scenario, &outcome), "seed {seed}: {outcome:?}");
        broken += u32::from(!is_settled(&scenario, &plain(&scenario)));
    }
    assert!(broken > 5, "only {broken} runs were a danger to the plain version");
}

/// One in five messages is lost.
#[test]
fn loss() {
    let mut broken = 0;
    for seed in 0..100 {
        let scenario = Scenario { loss: 0.2, seed, until: 3_000, ..greatest_down(6, 1 + seed as u32 % 5) };
        let outcome = adapted(&scenario);
        assert!(is_settled(&scenario, &outcome), "seed {seed}: {outcome:?}");
        broken += u32::from(!is_settled(&scenario, &plain(&scenario)));
    }
    assert!(broken > 5, "only {broken} runs were a danger to the plain version");
}

/// A leader that dies is noticed without any other help: nobody hears it for six periods.
#[test]
fn silence_is_noticed() {
    let faults = vec![fault(50, FaultKind::Crash(4))];
    let scenario = Scenario { starts: vec![start(0, 0)], faults, until: 1_000, ..network(5) };
    assert!(!plain(&scenario).agreement);
    let outcome = run::<Bully>(&["adapt=on", "period=4"], &scenario);
    assert!(is_settled(&scenario, &outcome), "{outcome:?}");
    // It spoke last at 47, was heard at 48, is given up at 72; the next one waits for an answer, and is heard.
    assert_eq!((outcome.time.elected, outcome.time.agreed, outcome.time.quiescent), (Some(74), Some(75), Some(75)));
}

/// Where nothing goes wrong, it costs what the plain one costs, and the leader's repeated word.
#[test]
fn nothing_more_where_nothing_goes_wrong() {
    for size in 2..12 {
        let scenario = Scenario { until: 103, ..greatest_down(size, 1) };
        let (plain, adapted) = (plain(&scenario), adapted(&scenario));
        assert_eq!(adapted.by_kind[..2], plain.by_kind[..2]);
        assert_eq!(adapted.by_kind[2], plain.by_kind[2] * 11, "it wins at 3, and says so again every ten ticks");
        assert_eq!(adapted.time, plain.time, "traffic that never ends does not count for quiescent");
        assert!(!adapted.hung);
    }
}

proptest! {
    #![proptest_config(chosen(150))]

    #[test]
    fn anything(scenario in with_faults(2)) {
        let scenario = Scenario { until: 12_000, ..scenario };
        let outcome = adapted(&scenario);
        prop_assert!(is_settled(&scenario, &outcome), "{:?}", outcome);
    }
}
