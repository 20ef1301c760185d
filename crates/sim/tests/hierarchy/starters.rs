//! Several starters, slow and unordered links, later elections.

use hustings_protocol::Best;
use hustings_sim::scenario::Delay;
use proptest::prelude::*;

use super::*;

/// Runs with these starts; the last resort is needed only where links are slow.
fn several<A: Algorithm>(texts: &str, random: &mut Random) {
    for _ in 0..60 {
        let size = [16, 64][random.below(2) as usize];
        let count = 1 + random.below(size);
        let starters = random.some(count, size);
        let ids = random.shuffled((0..u64::from(size)).collect());
        let scenario = Scenario { ids, ..ring::<A>(size, &starters) };
        let outcome = run::<A>(texts, &scenario);
        assert_elects_the_greatest(&outcome, &scenario);
        assert!(outcome.time.quiescent < Some(8 * u64::from(size)), "{texts}, {scenario:?}: no last resort");
    }
}

/// docs/model.md#hierarchies: several starters, whatever their ids.
#[test]
fn any_set_of_starters() {
    let random = &mut Random(7);
    each!(several, random);
}

/// One after another, while the first election goes on and after it is over.
#[test]
fn starters_one_after_another() {
    fn late<A: Algorithm>(texts: &str, random: &mut Random) {
        for _ in 0..60 {
            let ids = random.shuffled((0..16).collect());
            let count = 1 + random.below(5);
            let mut starts: Vec<Start> =
                (0..count).map(|_| Start { at: random.below(16), tick: random.below(60).into() }).collect();
            starts.sort_by_key(|start| (start.tick, start.at));
            let scenario = Scenario { ids, starts, ..ring::<A>(16, &[]) };
            let outcome = run::<A>(texts, &scenario);
            assert_elects_the_greatest(&outcome, &scenario);
            assert!(outcome.time.quiescent < Some(8 * 16), "{texts}, {scenario:?}: no last resort");
        }
    }
    let random = &mut Random(11);
    each!(late, random);
}

/// The greatest informer wins, by rank and not by position; the smaller one's run is dropped.
#[test]
fn of_two_informers_the_greater_goes_on() {
    for ids in [(0..64).collect::<Vec<u64>>(), (0..64).rev().collect()] {
        let scenario = Scenario { ids, ..ring::<Sun>(64, &[0, 32]) };
        let outcome = run::<Sun>("", &scenario);
        assert_elects_the_greatest(&outcome, &scenario);
        // The greater informer's run is whole. Of the other's, half a lap of tokens is lost labour.
        assert_eq!(outcome.by_kind[3], 80, "one of them announces");
        assert_eq!(outcome.by_kind[2], 16, "one of them gathers");
        assert!(outcome.by_kind[1] > 80 && outcome.by_kind[1] < 160, "{:?}", outcome.by_kind);
        assert_eq!(outcome.time.quiescent, Some(51));
    }
}

/// Values and the order turned round count for everything that compares.
#[test]
fn the_least_may_win() {
    fn least<A: Algorithm>(texts: &str) {
        let scenario = Scenario { best: Best::Min, ..ring::<A>(16, &[3, 9]) };
        let outcome = run::<A>(texts, &scenario);
        assert_eq!((outcome.leader, outcome.agreement), (Some(0), true), "{texts}");
    }
    each!(least);
}

/// docs/model.md#start-signals: a later start, after a crash, holds a second election; one that finds a leader does
/// not.
#[test]
fn a_second_election_when_the_leader_is_lost() {
    fn again<A: Algorithm>(texts: &str) {
        let first = run::<A>(texts, &ring::<A>(16, &[0]));
        let mut scenario = ring::<A>(16, &[0]);
        scenario.starts.push(Start { at: 7, tick: 100 });
        assert_eq!(run::<A>(texts, &scenario), first, "nobody has a reason to think the leader dead");
        for starters in [vec![0], vec![7], vec![2, 3, 14], (0..15).collect()] {
            scenario.starts = vec![Start { at: 0, tick: 0 }];
            scenario.starts.extend(starters.iter().map(|&at| Start { at, tick: 100 }));
            scenario.faults = vec![crash(15, 90)];
            let outcome = run::<A>(texts, &scenario);
            assert_elects_the_greatest(&outcome, &scenario);
            assert!(outcome.total() > first.total());
        }
    }
    each!(again);
}

/// Dead nodes are skipped on every level, in each election again: no election needs the last resort.
#[test]
fn every_election_skips_the_nodes_that_are_dead_by_then() {
    let mut scenario = ring::<Sun>(16, &[0]);
    scenario.faults = vec![crash(13, 0), crash(15, 400)];
    scenario.starts.push(Start { at: 0, tick: 410 });
    let outcome = run::<Sun>("", &scenario);
    assert_elects_the_greatest(&outcome, &scenario);
    assert_eq!(outcome.time.quiescent, Some(410 + 14));
    // Tokens: round the top and down the segments, past 13; the second time past 15 as well.
    assert_eq!(outcome.by_kind, [0, 20 + 19, 4 + 4, 18 + 19]);
}

/// Whatever the delays and the order of messages; slow links may bring the last resort, once or more.
fn slow<A: Algorithm>(texts: &str, seed: u64, size: u32, count: u32, delay: Delay, unordered: bool) {
    let random = &mut Random(seed);
    let ids = random.shuffled((0..u64::from(size)).collect());
    let starters = random.some(count.min(size), size);
    let until = 1_000_000;
    let scenario = Scenario { ids, seed, delay, unordered, until, ..ring::<A>(size, &starters) };
    let outcome = run::<A>(texts, &scenario);
    assert_elects_the_greatest(&outcome, &scenario);
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(60))]

    #[test]
    fn any_delays_in_any_order(
        seed in any::<u64>(),
        size in 1..40u32,
        count in 1..5u32,
        delay in prop_oneof![
            Just(Delay::Unit),
            (1..4u64, 0..30u64).prop_map(|(least, more)| Delay::Uniform(least, least + more)),
            (1..6u32).prop_map(|mean| Delay::Exponential(mean.into())),
        ],
        unordered in any::<bool>(),
    ) {
        each!(slow, seed, size, count, delay, unordered);
        slow::<Divided>("u=3 backoff=5", seed, size, count, delay, unordered);
    }

    /// docs/model.md#bandwidth: a bandwidth holds messages back; nothing else changes.
    #[test]
    fn any_bandwidth(seed in any::<u64>(), most in 1..6u64, count in 1..4u32) {
        fn narrow<A: Algorithm>(texts: &str, seed: u64, most: u64, count: u32) {
            let starters = Random(seed).some(count, 16);
            let scenario = Scenario { bandwidth: Some(most), ..ring::<A>(16, &starters) };
            assert_elects_the_greatest(&run::<A>(texts, &scenario), &scenario);
        }
        each!(narrow, seed, most, count);
    }
}
