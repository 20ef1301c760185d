//! docs/model.md#complete-networks: `T`, `M`, the wait for `coordinator`, `prepare`, and what a bandwidth does to the
//! waits.

use hustings_algorithms::Algorithm;
use hustings_algorithms::complete::{Bully, Campaigner, ImprovedBully, Invitation};
use hustings_sim::scenario::{Delay, FaultKind, Scenario};
use hustings_sim::simulate::{ElectionSpec, params};

use super::{fault, greatest_down, network, run, start, times};

/// docs/model.md#complete-networks: the wait for an answer is 2T+M.
#[test]
fn the_wait_for_an_answer() {
    for (travel, handling) in [(1, 0), (1, 3), (2, 0), (5, 4)] {
        let wait = 2 * travel + handling;
        let texts = [format!("T={travel}"), format!("M={handling}")];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let scenario = greatest_down(9, 1);
        let won = 1 + wait;
        assert_eq!(times(&run::<Bully>(&texts, &scenario)), [Some(won), Some(won + 1), Some(won + 1)]);
        let told = wait + 1;
        assert_eq!(times(&run::<ImprovedBully>(&texts, &scenario)), [Some(told); 3]);
        assert_eq!(times(&run::<Campaigner>(&texts, &scenario)), [Some(told); 3]);
        assert_eq!(run::<Bully>(&texts, &scenario).total(), 9 * 8);
    }
}

/// docs/model.md#complete-networks: with delays of up to T, and T told, bully is right.
#[test]
fn the_bound_on_delays_is_all_that_matters() {
    for seed in 0..200 {
        let scenario = Scenario { delay: Delay::Uniform(1, 7), seed, ..greatest_down(8, 1 + seed as u32 % 7) };
        for outcome in [run::<Bully>(&["T=7"], &scenario), run::<ImprovedBully>(&["T=7"], &scenario)] {
            assert!(super::is_settled(&scenario, &outcome), "seed {seed}: {outcome:?}");
        }
    }
}

/// docs/model.md#bully: with an `ok` but no `coordinator` within 5T+2M of the first `ok`, a node starts over.
#[test]
fn the_wait_for_the_coordinator() {
    for (travel, handling) in [(1, 0), (2, 1), (3, 4)] {
        let texts = [format!("T={travel}"), format!("M={handling}")];
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        // 2 answers 1 at tick 1 and dies at 2. 1 has its answer at 2, gives up later, and asks for another wait.
        let faults = vec![fault(2, FaultKind::Crash(1))];
        let scenario = Scenario { starts: vec![start(0, 0)], faults, ..network(2) };
        let outcome = run::<Bully>(&texts, &scenario);
        let won = 2 + (5 * travel + 2 * handling) + (2 * travel + handling);
        assert_eq!(outcome.by_kind, [2, 1, 1, 0, 0]);
        assert_eq!(times(&outcome), [Some(won); 3]);
    }
}

/// docs/model.md#bully: `prepare=K`: the winner collects state for K ticks before it announces.
#[test]
fn a_winner_prepares() {
    for prepare in 0..=3 {
        let outcome = run::<Bully>(&[&format!("prepare={prepare}")], &greatest_down(10, 1));
        assert_eq!(outcome.total(), 90);
        assert_eq!(times(&outcome), [Some(3 + prepare), Some(4 + prepare), Some(4 + prepare)]);
    }
    // 4 more than the slack of those who wait: the detector asks again, everybody holds on, the winner announces.
    let outcome = run::<Bully>(&["prepare=30"], &greatest_down(10, 1));
    assert!(outcome.total() > 90 && outcome.agreement && outcome.leaders == [8]);
    assert_eq!(outcome.time.elected, Some(33));
}

/// docs/model.md#bandwidth: with a bandwidth the waits become 2(1+⌈n²/B⌉) and 5(1+⌈n²/B⌉), which is long enough.
#[test]
fn a_bandwidth() {
    for size in [2, 3, 5, 8, 13u32] {
        for most in [1, 2, 7, 50, 1_000] {
            for detector in [1, size / 2, size - 1].into_iter().filter(|detector| *detector > 0) {
                let scenario = Scenario { bandwidth: Some(most), until: 100_000, ..greatest_down(size, detector) };
                let free = greatest_down(size, detector);
                let bully = run::<Bully>(&[], &scenario);
                assert_eq!(bully.by_kind, run::<Bully>(&[], &free).by_kind, "{detector} of {size} with {most}");
                assert!(super::is_settled(&scenario, &bully));
                let improved = run::<ImprovedBully>(&[], &scenario);
                assert_eq!(improved.by_kind, run::<ImprovedBully>(&[], &free).by_kind);
                let campaigner = run::<Campaigner>(&[], &scenario);
                assert_eq!(campaigner.by_kind, run::<Campaigner>(&[], &free).by_kind);
                let invitation = run::<Invitation>(&[], &scenario);
                assert!(super::is_settled(&scenario, &invitation), "{detector} of {size} with {most}: {invitation:?}");
            }
        }
    }
}

/// The winner of bully asks when the last question to it has come through; then the wait is 2(1+⌈n²/B⌉).
#[test]
fn a_bandwidth_lengthens_the_wait_by_the_formula() {
    // n = 2, B = 1: 1 asks 2, which is down, and waits 2(1+4) ticks.
    let scenario = Scenario { bandwidth: Some(1), ..greatest_down(2, 1) };
    assert_eq!(times(&run::<Bully>(&[], &scenario)), [Some(10); 3]);
    assert_eq!(run::<ImprovedBully>(&[], &scenario).time.elected, Some(10));
    // 2 answers, and dies: 5(1+4) more, and once more 2(1+4).
    let faults = vec![fault(2, FaultKind::Crash(1))];
    let scenario = Scenario { bandwidth: Some(1), starts: vec![start(0, 0)], faults, ..network(2) };
    assert_eq!(run::<Bully>(&[], &scenario).time.elected, Some(2 + 25 + 10));
}

/// A `T` that is given counts with a bandwidth too: what holds messages up comes on top.
#[test]
fn a_bandwidth_adds_to_the_time_that_messages_travel() {
    let scenario = Scenario { bandwidth: Some(1), ..greatest_down(2, 1) };
    for travel in 1..5 {
        let outcome = run::<Bully>(&[&format!("T={travel}")], &scenario);
        assert_eq!(times(&outcome), [Some(2 * (travel + 4)); 3], "T={travel}, n = 2, B = 1");
    }
}

/// The warning goes by what the algorithm counts on, not by whether delays are random.
#[test]
fn only_delays_beyond_t_are_pointed_out() {
    fn warnings<A: Algorithm>(texts: &[&str], delay: &str) -> Vec<String> {
        let texts: Vec<String> = texts.iter().map(ToString::to_string).collect();
        let request = ElectionSpec { delay: delay.parse().expect("it is a delay"), ..ElectionSpec::default() };
        let planned = request.build::<A>(&params::<A>(&texts).expect("they are parameters")).expect("it is sound");
        planned.warnings.iter().map(ToString::to_string).collect()
    }
    let says = |counts: &str| vec![format!("bully counts on messages that travel for {counts}; it may elect wrongly")];
    assert_eq!(warnings::<Bully>(&[], "uniform:1-2"), says("1 tick at most, and here some take 2"));
    assert_eq!(warnings::<Bully>(&["T=3"], "exponential:2"), says("3 ticks at most, and here there is no bound"));
    for fine in [
        warnings::<Bully>(&[], "unit"),
        warnings::<Bully>(&["T=2"], "uniform:1-2"),
        warnings::<Bully>(&["adapt=on"], "pareto:1,1.5"),
        warnings::<ImprovedBully>(&["T=9"], "uniform:3-9"),
        warnings::<Invitation>(&[], "uniform:1-9"),
    ] {
        assert_eq!(fine, Vec::<String>::new());
    }
    assert_eq!(warnings::<ImprovedBully>(&["T=8"], "uniform:3-9").len(), 1);
    assert_eq!(warnings::<Campaigner>(&["T=8"], "uniform:3-9").len(), 1);
}

#[test]
fn waits_that_make_no_sense_are_refused() {
    let refused = |text: &str| params::<Bully>(&[text.to_string()]).expect_err("it is refused").to_string();
    assert_eq!(refused("T=0"), "params[0]: parameter `T` cannot be `0`; allowed: a whole number of at least 1");
    assert_eq!(refused("T=-1"), "params[0]: parameter `T` cannot be `-1`; allowed: a whole number of at least 1");
    assert_eq!(
        refused("period=0"),
        "params[0]: parameter `period` cannot be `0`; allowed: a whole number of at least 1"
    );
    for outcome in [
        run::<Bully>(&["T=18446744073709551615", "M=18446744073709551615", "prepare=9999999"], &greatest_down(4, 1)),
        run::<Invitation>(&["T=18446744073709551615"], &greatest_down(4, 1)),
    ] {
        assert!(!outcome.agreement, "nobody lives to see the end of the wait");
    }
}
