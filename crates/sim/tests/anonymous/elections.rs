//! Elections among nodes that are alike: itai-rodeh and anonymous-echo, over and over.

use hustings_algorithms::anonymous::{
    AnonymousEcho, AnonymousEchoParams, IdRange, ItaiRodeh, ItaiRodehParams, RingSize,
};
use hustings_algorithms::{Algorithm, Params};
use hustings_protocol::{Best, Record, TraceEvent, Value};
use hustings_sim::outcome::{Outcome, Times};
use hustings_sim::scenario::{Delay, Scenario, Start};
use hustings_sim::simulate::{ElectionSpec, simulate_fast};
use hustings_sim::topology::Network;
use hustings_sim::trace::Observer;
use proptest::prelude::*;

use crate::common::elections::{election, simulate};
use crate::common::erased::run_algorithm;
use crate::common::gossip::graph;
use crate::common::sample::Sample;

const RUNS: u64 = 100_000;
const SIZES: std::ops::RangeInclusive<u32> = 2..=8;

fn ring(size: u32) -> Scenario {
    Scenario::new(Network::Ring(size)).started_by_all()
}

fn itai_rodeh(scenario: &Scenario) -> Outcome {
    simulate::<ItaiRodeh>(&ItaiRodehParams::default(), scenario)
}

fn anonymous_echo(scenario: &Scenario) -> Outcome {
    simulate::<AnonymousEcho>(&AnonymousEchoParams::default(), scenario)
}

fn assert_one_leader(outcome: &Outcome, scenario: &Scenario) {
    let sound = outcome.leaders.len() == 1 && outcome.agreement && !outcome.hung;
    assert!(sound, "{} nodes, seed {}: {outcome:?}", scenario.network.size(), scenario.seed);
}

fn choose(from: u64, how_many: u64) -> f64 {
    (0..how_many).map(|i| (from - i) as f64 / (i + 1) as f64).product()
}

/// How many rounds itai-rodeh takes on average when `active` nodes draw from 1 to `ids`.
///
/// In a round only those stay who drew the greatest id: just `m` of `k` did with probability Σ_j
/// C(k,m)·(1/K)^m·((j-1)/K)^(k-m), over the greatest id j. If it is one, its message comes home clean, and it leads;
/// else all of theirs come home dirty, and the m go on. So E_k = 1 + Σ_{m≥2} p_k(m)·E_m, solved for E_k.
fn expected_rounds(active: u64, ids: u64) -> f64 {
    let share = 1.0 / ids as f64;
    let stay = |k: u64, m: u64| -> f64 {
        let below = (0..ids).map(|less| (less as f64 * share).powi((k - m) as i32));
        choose(k, m) * share.powi(m as i32) * below.sum::<f64>()
    };
    let mut rounds = vec![0.0, 1.0];
    for k in 2..=active {
        let fewer: f64 = (2..k).map(|m| stay(k, m) * rounds[m as usize]).sum();
        rounds.push((1.0 + fewer) / (1.0 - stay(k, k)));
    }
    rounds[active as usize]
}

/// By hand: two nodes with two ids toss a coin each round; with three nodes and two ids, one is left with 3/8, two with
/// 3/8, all with 2/8.
#[test]
fn the_expectation_by_hand() {
    assert!((expected_rounds(1, 5) - 1.0).abs() < 1e-12);
    assert!((expected_rounds(2, 2) - 2.0).abs() < 1e-12);
    assert!((expected_rounds(3, 2) - (1.0 + 0.375 * 2.0) / 0.75).abs() < 1e-12);
}

/// docs/model.md#itai-rodeh: exactly one leader every time, and as many rounds as probability says. A round takes n
/// ticks, because those who stay hear their own message after a lap.
#[test]
fn a_hundred_thousand_times_itai_rodeh() {
    for size in SIZES {
        let (mut scenario, mut rounds) = (ring(size), Sample::default());
        for seed in 0..=RUNS / 7 {
            scenario.seed = seed;
            let outcome = itai_rodeh(&scenario);
            assert_one_leader(&outcome, &scenario);
            assert_eq!(outcome.by_kind[1..], [size.into(), 0, 0, 0], "seed {seed}");
            let elected = outcome.time.elected.expect("somebody leads");
            assert_eq!(elected % u64::from(size), 0, "seed {seed}");
            rounds.add(elected as f64 / f64::from(size));
        }
        rounds.assert_mean(expected_rounds(size.into(), size.into()), &format!("rounds of {size} nodes"));
    }
}

/// The same with fewer ids, and with more.
#[test]
fn the_number_of_ids_decides_how_many_rounds_it_takes() {
    for (size, ids) in [(5, 2), (5, 3), (8, 2), (4, 100), (3, 1_000_000)] {
        let params = ItaiRodehParams { ids: IdRange::Of(ids), ..ItaiRodehParams::default() };
        let (mut scenario, mut rounds) = (ring(size), Sample::default());
        // With very many ids, two are the same once in a while only.
        for seed in 0..if ids > 100 { 1_000 } else { 4_000 } {
            scenario.seed = seed;
            let outcome = simulate::<ItaiRodeh>(&params, &scenario);
            assert_one_leader(&outcome, &scenario);
            rounds.add(outcome.time.elected.expect("somebody leads") as f64 / f64::from(size));
        }
        if ids > 100 {
            assert!(rounds.mean() < 1.01);
        } else {
            rounds.assert_mean(expected_rounds(size.into(), ids.into()), &format!("{size} nodes, {ids} ids"));
        }
    }
}

/// Runs anonymous-echo, and counts its rounds: whoever enters one draws an id for it, and nobody leaves one out.
fn anonymous_echo_by_rounds(scenario: &Scenario) -> (Outcome, u32) {
    struct Draws(Vec<u32>);
    impl<M> Observer<M> for Draws {
        fn record(&mut self, record: &Record<M>) {
            if let TraceEvent::Handled { coins, .. } = &record.what {
                self.0[record.node as usize] += coins.len() as u32;
            }
        }
    }
    let mut draws = Draws(vec![0; scenario.ids.len()]);
    let outcome = run_algorithm::<AnonymousEcho>(&AnonymousEchoParams::default(), scenario, Some(&mut draws));
    (outcome, draws.0.into_iter().max().unwrap_or(0))
}

/// docs/model.md#anonymous-echo: exactly one leader every time, on complete networks, rings and random graphs.
/// `cargo test -p hustings-sim --test anonymous echo -- --nocapture` prints the means with their intervals (99.9 %) as
/// the rows of the table in docs/families/anonymous.md.
#[test]
#[expect(clippy::print_stdout, reason = "the means are for people to read")]
fn a_hundred_thousand_times_anonymous_echo() {
    for size in SIZES {
        let networks = [
            ("complete", Network::Complete(size)),
            ("sparse", graph(size, 1, u64::from(size))),
            ("dense", graph(size, 2 * size, u64::from(size))),
        ];
        for (name, network) in networks {
            let mut scenario = Scenario::new(network).started_by_all();
            let links = scenario.network.links();
            let (mut waves, mut rounds) = (Sample::default(), Sample::default());
            for seed in 0..=RUNS / 21 {
                scenario.seed = seed;
                let (outcome, entered) = anonymous_echo_by_rounds(&scenario);
                assert_one_leader(&outcome, &scenario);
                assert_eq!(outcome.by_kind[1..], [2 * links + 1 - u64::from(size), 0, 0, 0], "seed {seed}");
                waves.add(outcome.by_kind[0] as f64);
                rounds.add(entered.into());
            }
            println!(
                "| {size} | {name}, {links} link{} | {:.3} ± {:.3} | {:.1} ± {:.1} |",
                if links == 1 { "" } else { "s" },
                rounds.mean(),
                rounds.margin(),
                waves.mean(),
                waves.margin()
            );
            assert!(waves.mean() > 2.0 * links as f64 && rounds.mean() > 1.0);
        }
    }
}

/// Two nodes with one link: as in itai-rodeh among two, each round is a toss; a round takes two ticks.
#[test]
fn the_mean_of_anonymous_echo_among_two() {
    let mut scenario = Scenario::new(Network::Complete(2)).started_by_all();
    let mut rounds = Sample::default();
    for seed in 0..10_000 {
        scenario.seed = seed;
        let (outcome, entered) = anonymous_echo_by_rounds(&scenario);
        // Equal ids cross at once and each node decides for itself, after one tick; the last wave goes there and back.
        assert_eq!(outcome.time.elected, Some(u64::from(entered) + 1), "seed {seed}");
        rounds.add(entered.into());
    }
    rounds.assert_mean(expected_rounds(2, 2), "rounds of two nodes");
}

/// docs/model.md#anonymous-networks: one initiator meets nobody. n `candidate` and n `elected` on a ring, 2E and
/// 2E-(n-1) else.
#[test]
fn one_initiator_leads_after_one_lap() {
    for size in 1..=9u32 {
        let mut scenario = ring(size);
        scenario.starts = vec![Start { at: size / 2, tick: 0 }];
        let n = u64::from(size);
        let outcome = itai_rodeh(&scenario);
        assert_eq!(outcome.by_kind, [n, n, 0, 0, 0]);
        assert_eq!(outcome.time, Times { elected: Some(n), agreed: Some(2 * n - 1), quiescent: Some(2 * n) });
        scenario.network = graph(size, size, 5);
        let (links, outcome) = (scenario.network.links(), anonymous_echo(&scenario));
        assert_eq!(outcome.by_kind, [2 * links, 2 * links + 1 - n, 0, 0, 0]);
        assert_eq!(outcome.leaders, [size / 2]);
    }
}

/// The theorem that no election among nodes that are alike always ends: without coins they stay alike.
#[test]
fn without_coins_it_goes_on_for_ever() {
    let params = ItaiRodehParams { ids: IdRange::Of(1), ..ItaiRodehParams::default() };
    let outcome = simulate::<ItaiRodeh>(&params, &ring(5));
    assert!(outcome.hung && outcome.leaders.is_empty());
    let mut alone = ring(5);
    alone.starts.truncate(1);
    assert_eq!(simulate::<ItaiRodeh>(&params, &alone).leaders, [0]);
}

#[test]
fn how_many_ids_is_n_or_a_number() {
    let mut params = ItaiRodehParams::default();
    assert_eq!(params.get("ids").as_deref(), Some("n"));
    params.set("ids", "7").expect("it is a number");
    assert_eq!((params.ids, params.get("ids").as_deref()), (IdRange::Of(7), Some("7")));
    for wrong in ["0", "-1", "m", "4294967296"] {
        assert!(params.set("ids", wrong).is_err(), "{wrong}");
    }
}

/// docs/model.md#model: anonymous algorithms never read the id. With other ids, values and ends of the order, the same
/// node leads after the same messages.
#[test]
fn ids_make_no_difference() {
    for seed in 0..200 {
        let mut plain = ring(6);
        plain.seed = seed;
        let mut odd = plain.clone();
        odd.ids = vec![900, 4, 77, 3, 50, 6];
        odd.values = Some([3.0, 1.0, 2.0, 9.0, 8.0, 8.0].map(|value| Value::new(value).expect("it is finite")).into());
        odd.best = Best::Min;
        let same =
            |one: Outcome, other: Outcome| assert_eq!(Outcome { bytes: 0, ..one }, Outcome { bytes: 0, ..other });
        same(itai_rodeh(&plain), itai_rodeh(&odd));
        for scenario in [&mut plain, &mut odd] {
            scenario.network = graph(6, 4, seed);
        }
        same(anonymous_echo(&plain), anonymous_echo(&odd));
    }
}

/// So what is to be compared is refused, as votes are where nobody votes.
#[test]
fn what_would_be_compared_is_refused() {
    fn refused<A: Algorithm>(request: &ElectionSpec) -> String {
        request.build::<A>(&Default::default()).expect_err("it is refused").to_string()
    }
    let least = || ElectionSpec { best: Best::Min, ..ElectionSpec::default() };
    let valued = ElectionSpec { values: Some("3,2,1".parse().expect("these are values")), ..least() };
    let says = |field, name| {
        format!(
            "{field}: nodes of {name} are anonymous and compare nothing; allowed: only with algorithms that compare nodes"
        )
    };
    assert_eq!(refused::<ItaiRodeh>(&valued), says("values", "itai-rodeh"));
    assert_eq!(refused::<AnonymousEcho>(&least()), says("best", "anonymous-echo"));
    assert_eq!(refused::<RingSize>(&least()), says("best", "ring-size"));
}

/// They run in the fast engine, and it agrees with the general one.
#[test]
fn the_fast_engine_serves_them() {
    fn both<A: Algorithm>(params: &A::Params, scenario: &Scenario) {
        let general = run_algorithm::<A>(params, scenario, None);
        // Some algorithms have a fast engine of their own.
        assert_eq!(simulate::<A>(params, scenario), general, "seed {}", scenario.seed);
        let (protocol, ranks) = election::<A>(params).protocol(scenario);
        let quick = simulate_fast(&protocol, &ranks, scenario, false);
        assert_eq!(quick, Some(general), "seed {}", scenario.seed);
    }
    for seed in 0..100 {
        let mut scenario = ring(3 + seed as u32 % 20);
        scenario.seed = seed;
        both::<ItaiRodeh>(&ItaiRodehParams::default(), &scenario);
        scenario.network = graph(scenario.network.size(), seed as u32 % 30, seed);
        both::<AnonymousEcho>(&AnonymousEchoParams::default(), &scenario);
    }
}

prop_compose! {
    fn starts(size: u32)(
        starts in proptest::collection::btree_map(0..size, 0..9u64, 1..=size as usize),
    ) -> Vec<Start> {
        let mut starts: Vec<Start> = starts.into_iter().map(|(at, tick)| Start { at, tick }).collect();
        starts.sort_by_key(|start| (start.tick, start.at));
        starts
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// Any starters, any delays, any order: one leader, and it is a starter.
    #[test]
    fn whoever_starts_and_however_messages_travel(
        (size, starts) in (1..14u32).prop_flat_map(|size| (Just(size), starts(size))),
        more in 0..20u32,
        seed: u64,
        delayed: bool,
        unordered: bool,
    ) {
        let mut scenario = Scenario { starts, seed, unordered, ..ring(size) };
        if delayed {
            scenario.delay = Delay::Uniform(1, 9);
        }
        let is_starter = |outcome: &Outcome| scenario.starts.iter().any(|start| Some(start.at) == outcome.leader);
        let outcome = itai_rodeh(&scenario);
        assert_one_leader(&outcome, &scenario);
        prop_assert!(is_starter(&outcome));
        let scenario = Scenario { network: graph(size, more, seed), ..scenario.clone() };
        let outcome = anonymous_echo(&scenario);
        assert_one_leader(&outcome, &scenario);
        prop_assert!(is_starter(&outcome));
        prop_assert_eq!(outcome.by_kind[1], 2 * scenario.network.links() + 1 - u64::from(size));
    }
}
