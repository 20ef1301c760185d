//! The ring size algorithm: nodes that are alike estimate how many they are.

use std::num::NonZeroU64;

use hustings_algorithms::anonymous::{RingSize, RingSizeParams};
use hustings_algorithms::{Algorithm, Setting};
use hustings_protocol::{Effect, Event, Fact, Id, NodeInfo, Peers, Port, Protocol, Recorder, StartReason};
use hustings_sim::outcome::{Outcome, Times};
use hustings_sim::scenario::{Delay, Scenario, Start};
use hustings_sim::simulate::{ElectionSpec, Field, params};
use hustings_sim::topology::Network;
use proptest::prelude::*;

use crate::common::elections::{simulate, with};
use crate::common::sample::Sample;

fn ring(size: u32) -> Scenario {
    Scenario::new(Network::Ring(size)).started_by_all()
}

/// Ids from 1 to this.
fn ids(range: u64) -> RingSizeParams {
    RingSizeParams { range: NonZeroU64::new(range).expect("there is an id to draw") }
}

fn estimate(range: u64, scenario: &Scenario) -> Outcome {
    simulate::<RingSize>(&ids(range), scenario)
}

/// How often a ring of four ends with less than four.
///
/// An estimate e stands if everybody has the id of the node e before it: 2 if opposite nodes have the same (two
/// coincidences), 3 if all four have (three). Otherwise everybody comes to e+1 and draws again: whoever learns of it
/// does so from a message that still has some way to go.
fn error_among_four(range: u64) -> f64 {
    let same = 1.0 / range as f64;
    1.0 - (1.0 - same.powi(2)) * (1.0 - same.powi(3))
}

/// The estimate that a ring of four comes to in lock step, with these coins; the rest of them fall on 0. How many were
/// tossed is noted.
fn in_lock_step(range: u64, coins: &mut Vec<u64>) -> u64 {
    let ranks = [Id(0); 4];
    let rules = RingSize::protocol::<Id>(&ids(range), &Setting::of(&ranks));
    let mut states = ranks.map(|_| rules.init());
    let (mut sizes, mut tossed) = ([0; 4], 0);
    let mut inboxes: [Vec<Event<_>>; 4] = ranks.map(|_| vec![Event::Start(StartReason::Start)]);
    while inboxes.iter().any(|inbox| !inbox.is_empty()) {
        let mut next = ranks.map(|_| Vec::new());
        for (at, inbox) in inboxes.into_iter().enumerate() {
            for event in inbox {
                let place = NodeInfo { rank: Id(0), index: at as u32, size: 4, peers: Peers::Unknown(2) };
                let (mut effects, toss) = (Vec::new(), |bound| {
                    assert_eq!(bound, range);
                    tossed += 1;
                    coins.resize(coins.len().max(tossed), 0);
                    coins[tossed - 1]
                });
                rules.handle(&mut states[at], event, &mut Recorder::new(&place, toss, &mut effects));
                for effect in effects {
                    match effect {
                        Effect::Learn(Fact::Size(size)) => sizes[at] = size,
                        Effect::Send(Port::NEXT, message) => {
                            next[(at + 1) % 4].push(Event::Message { from: Port::PREVIOUS, message });
                        }
                        other => panic!("it has no use for {other:?}"),
                    }
                }
            }
        }
        inboxes = next;
    }
    coins.truncate(tossed);
    assert!(sizes.iter().all(|size| *size == sizes[0]), "{sizes:?}");
    sizes[0]
}

/// The prediction against all there is: every way in which the coins can fall, for two ids.
#[test]
fn the_prediction_is_exact() {
    let (mut coins, mut wrong, mut all) = (Vec::new(), 0.0, 0.0);
    loop {
        let size = in_lock_step(2, &mut coins);
        let chance = 0.5f64.powi(coins.len() as i32);
        all += chance;
        wrong += if size == 4 { 0.0 } else { chance };
        // The next way: as in counting, the last coin that shows 0 shows 1, and those after it are tossed again.
        while coins.pop_if(|coin| *coin == 1).is_some() {}
        match coins.last_mut() {
            Some(coin) => *coin = 1,
            None => break,
        }
    }
    assert_eq!(all, 1.0);
    assert_eq!(wrong, error_among_four(2));
}

/// docs/model.md#ring-size: equal to n with a probability that goes to 1 as R grows; for n = 4, as predicted.
#[test]
fn errors_become_rare_as_ids_become_many() {
    let mut scenario = ring(4);
    let mut rates = Vec::new();
    for range in [2, 4, 8] {
        let mut wrong = Sample::default();
        for seed in 0..30_000 {
            scenario.seed = seed;
            let outcome = estimate(range, &scenario);
            let size = outcome.estimate.expect("all agree");
            assert!((2..=4).contains(&size), "seed {seed}");
            wrong.add(f64::from(u8::from(size != 4)));
        }
        wrong.assert_mean(error_among_four(range), &format!("errors with R = {range}"));
        rates.push(wrong.mean());
    }
    assert!(rates.is_sorted_by(|one, other| one > other), "{rates:?}");
}

/// Three nodes err if all three draw the same.
#[test]
fn errors_among_three() {
    let (mut scenario, mut wrong) = (ring(3), Sample::default());
    for seed in 0..20_000 {
        scenario.seed = seed;
        wrong.add(f64::from(u8::from(estimate(4, &scenario).estimate != Some(3))));
    }
    wrong.assert_mean(1.0 / 16.0, "errors of three nodes with R = 4");
}

/// By hand: two nodes find their own ids after two hops each, and are right from the start.
#[test]
fn two_nodes_are_two() {
    for seed in 0..50 {
        let outcome = estimate(16, &Scenario { seed, ..ring(2) });
        assert_eq!((outcome.by_kind, outcome.estimate, outcome.agreement), (vec![4], Some(2), true));
        assert_eq!(outcome.time, Times { elected: None, agreed: None, quiescent: Some(2) });
    }
}

/// With one id nobody ever sees a difference.
#[test]
fn without_coins_every_ring_seems_to_be_of_two() {
    for size in 2..20 {
        let outcome = estimate(1, &ring(size));
        assert_eq!((outcome.by_kind, outcome.estimate), (vec![2 * u64::from(size)], Some(2)));
        assert_eq!(outcome.time.quiescent, Some(2));
    }
}

/// It is no election: nobody leads, and agreement is that all found the same.
#[test]
fn nobody_leads() {
    let outcome = estimate(16, &ring(9));
    assert_eq!((outcome.leader, outcome.leaders, outcome.agreement), (None, vec![], true));
    assert_eq!(outcome.estimate, Some(9));
}

#[test]
fn one_node_or_no_id_is_refused() {
    let asked = |nodes, crashes: &[&str]| {
        let crashes: Vec<_> = crashes.iter().map(|one| (Field::Crashes, *one)).collect();
        let request = with(ElectionSpec { nodes: Some(nodes), ..ElectionSpec::default() }, &crashes);
        request.build::<RingSize>(&Default::default()).map(|_| ()).map_err(|error| error.to_string())
    };
    let refused = Err("ring-size takes 2 nodes or more, and 1 would be up at tick 0".to_string());
    assert_eq!((asked(2, &[]), asked(4, &["1@0", "3@0"])), (Ok(()), Ok(())));
    assert_eq!(asked(1, &[]), refused);
    assert_eq!(asked(4, &["1@0", "2@0", "3@0"]), refused, "its first estimate is 2, which would be too great");
    assert!(params::<RingSize>(&["R=0".to_string()]).is_err_and(|error| error.to_string().contains("of at least 1")));
}

/// Of two nodes one is left, alone in its view: no estimate of two any more.
#[test]
fn whoever_is_left_alone_has_no_estimate() {
    let two = ElectionSpec { nodes: Some(2), runs: true, ..ElectionSpec::default() };
    let request = with(two, &[(Field::Crashes, "1@50")]);
    let outcome = estimate(16, &request.build::<RingSize>(&Default::default()).expect("it is sound").scenario);
    assert_eq!((outcome.live, outcome.estimate, outcome.agreement), (1, None, false));
}

/// About n²/2 ticks are more than a few laps: the last tick is later by default.
#[test]
fn a_large_ring_has_time_enough_by_default() {
    let request = ElectionSpec { nodes: Some(250), ..ElectionSpec::default() };
    let scenario = request.build::<RingSize>(&Default::default()).expect("it is sound").scenario;
    assert_eq!(scenario.until, 100 * 250 + 10_000 + 250 * 251 / 2);
    let outcome = estimate(16, &scenario);
    assert_eq!((outcome.hung, outcome.estimate), (false, Some(250)));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// docs/model.md#ring-size: the same estimate everywhere, never above n, whoever starts and however messages
    /// travel; and no more messages than the catalogue says.
    #[test]
    fn the_same_everywhere_and_never_above_n(
        (size, starters) in (2..12u32).prop_flat_map(|size| {
            (Just(size), proptest::collection::btree_map(0..size, 0..9u64, 1..=size as usize))
        }),
        range in 1..9u64,
        seed: u64,
        delayed: bool,
        unordered: bool,
    ) {
        let mut starts: Vec<Start> = starters.into_iter().map(|(at, tick)| Start { at, tick }).collect();
        starts.sort_by_key(|start| (start.tick, start.at));
        let delay = if delayed { Delay::Uniform(1, 9) } else { Delay::Unit };
        let outcome = estimate(range, &Scenario { starts, seed, unordered, delay, ..ring(size) });
        prop_assert!(outcome.estimate.is_some_and(|found| (2..=u64::from(size)).contains(&found)), "{:?}", outcome);
        prop_assert!(!outcome.hung && outcome.agreement);
        let n = u64::from(size);
        prop_assert!((2 * n..=n * (n * (n + 1) / 2 - 1)).contains(&outcome.total()));
    }
}
