//! Echo and echo with extinction.

use hustings_algorithms::NoParams;
use hustings_algorithms::graph::EchoExtinction;
use hustings_algorithms::graph::echo::Echo;
use hustings_protocol::{Best, Id, Protocol};
use hustings_sim::outcome::{Outcome, Times};
use hustings_sim::scenario::{Delay, Fault, FaultKind, Scenario, Start};
use hustings_sim::topology::Network;
use proptest::prelude::*;

use crate::common::elections::{expected, simulate};
use crate::common::erased;
use crate::common::gossip::graph;
use crate::common::waves::{distances, neighbours};

fn elect(scenario: &Scenario) -> Outcome {
    simulate::<EchoExtinction>(&NoParams, scenario)
}

fn started_by(network: Network, initiators: impl IntoIterator<Item = u32>) -> Scenario {
    let mut scenario = Scenario::new(network);
    scenario.starts = initiators.into_iter().map(|at| Start { at, tick: 0 }).collect();
    scenario
}

fn shaped(shape: &str, size: u32) -> Network {
    let shape: hustings_sim::topology::Topology = shape.parse().expect("it is written correctly");
    shape.build(size, 1).expect("it can be built")
}

/// The three times of a single wave and its announcement, from distances alone: a node is reached after as many ticks
/// as it is far, by the lowest of those before it; it answers when the last of its neighbours has passed the wave on or
/// answered.
fn times(network: &Network, root: u32) -> Times {
    let (distance, outwards) = distances(network, root);
    let far = |at: u32| distance[at as usize];
    let parent = |at: u32| neighbours(network, at).find(|&peer| far(peer) + 1 == far(at));
    let mut answered = distance.clone();
    for &at in outwards.iter().rev() {
        let heard = neighbours(network, at).map(|peer| match peer {
            peer if parent(at) == Some(peer) => far(at),
            peer if parent(peer) == Some(at) => answered[peer as usize] + 1,
            peer => far(peer) + 1,
        });
        answered[at as usize] = heard.max().unwrap_or(0);
    }
    let elected = answered[root as usize];
    let agreed = elected + distance.iter().max().expect("the root is there");
    let passes_on = |at: &u32| network.degree(*at) > u32::from(*at != root);
    let last = (0..network.size()).filter(passes_on).map(|at| elected + far(at) + 1).max();
    Times { elected: Some(elected), agreed: Some(agreed), quiescent: last }
}

/// docs/model.md#echo-extinction: one initiator takes exactly 2E; docs/model.md#counting: the announcement 2E-(n-1).
#[test]
fn one_initiator_takes_2e_on_every_shape() {
    for shape in ["complete", "line", "star", "tree:3", "grid:4x3", "torus:4x3", "random:3-5"] {
        let network = shaped(shape, 12);
        let links = network.links();
        for root in 0..12 {
            let scenario = started_by(network.clone(), [root]);
            let outcome = elect(&scenario);
            assert_eq!(outcome.by_kind, [2 * links, 2 * links - 11], "{shape} from {root}");
            assert_eq!(Some(outcome.by_kind), expected::<EchoExtinction>(&NoParams, &scenario), "{shape}");
            assert_eq!((outcome.leaders, outcome.agreement), (vec![root], true), "{shape} from {root}");
            assert_eq!(outcome.time, times(&network, root), "{shape} from {root}");
        }
    }
}

/// By hand: on a complete network the wave is out at 1, has met itself at 2, is home at 3; everybody knows at 4, and
/// the last have been told again at 5.
#[test]
fn the_times_on_a_complete_network() {
    let outcome = elect(&started_by(shaped("complete", 6), [2]));
    assert_eq!(outcome.time, Times { elected: Some(3), agreed: Some(4), quiescent: Some(5) });
    let both = elect(&Scenario::new(shaped("complete", 2)).started_by_all());
    assert_eq!((both.by_kind, both.leaders), (vec![3, 1], vec![1]));
    assert_eq!(both.time, Times { elected: Some(2), agreed: Some(3), quiescent: Some(3) });
}

#[test]
fn a_node_alone_leads_at_once() {
    let outcome = elect(&Scenario::new(shaped("line", 1)).started_by_all());
    assert_eq!((outcome.by_kind, outcome.leaders, outcome.agreement), (vec![0, 0], vec![0], true));
    assert_eq!(outcome.time, Times { elected: Some(0), agreed: Some(0), quiescent: None });
}

#[test]
fn nobody_starts_nothing() {
    let outcome = elect(&started_by(shaped("line", 4), []));
    assert_eq!((outcome.total(), outcome.leader), (0, None));
}

/// The machine that all waves share, on its own: exactly 2E and no announcement.
#[test]
fn echo_is_the_same_wave_without_an_announcement() {
    for (shape, size) in [("complete", 7), ("grid:3x5", 15), ("star", 9), ("line", 1)] {
        let scenario = started_by(shaped(shape, size), [0]);
        let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
        let outcome = erased::run(Echo::new(), &ranks, &scenario, None);
        assert_eq!((outcome.by_kind, outcome.leaders), (vec![2 * scenario.network.links()], vec![0]), "{shape}");
        assert_eq!(outcome.time.elected, elect(&scenario).time.elected, "{shape}");
    }
}

/// The benchmark's workload is a million of these: a node's state is as small as ever.
#[test]
fn a_part_in_an_echo_fits_in_8_bytes() {
    assert_eq!(size_of::<<Echo<Id> as Protocol>::State>(), 8);
}

/// A start signal is for those who were not drawn in: position 8 would win, but the wave is there first.
#[test]
fn who_is_drawn_in_does_not_start() {
    let mut scenario = started_by(shaped("line", 9), [0]);
    scenario.starts.push(Start { at: 8, tick: 9 });
    assert_eq!(elect(&scenario).leaders, [0]);
    scenario.starts[1].tick = 8;
    assert_eq!(elect(&scenario).leaders, [8]);
}

/// Not claimed: a wave waits for the answer of everybody.
#[test]
fn with_a_node_down_from_the_start_nobody_leads() {
    for shape in ["complete", "line", "star", "grid:2x3", "tree:2"] {
        for at in 0..6 {
            let faults = vec![Fault { tick: 0, what: FaultKind::Crash(at) }];
            let starters = (0..6).filter(|&starter| starter != at);
            let outcome = elect(&Scenario { faults, ..started_by(shaped(shape, 6), starters) });
            assert_eq!((outcome.leaders, outcome.hung), (vec![], false), "{shape} without {at}");
        }
    }
}

prop_compose! {
    fn scenario()(size in 1..24u32, more in 0..40u32, seed in any::<u64>())(
        network in Just(graph(size, more, seed)),
        ids in Just((0..u64::from(size)).collect::<Vec<_>>()).prop_shuffle(),
        starters in proptest::collection::btree_set(0..size, 1..=size as usize),
        seed in Just(seed),
    ) -> Scenario {
        let mut scenario = started_by(network, starters);
        scenario.ids = ids;
        scenario.seed = seed;
        scenario
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// docs/model.md#echo-extinction: the greatest initiator wins, whatever the order of messages.
    #[test]
    fn the_greatest_initiator_wins(mut scenario in scenario(), delayed: bool, unordered: bool, least: bool) {
        if delayed {
            scenario.delay = Delay::Uniform(1, 9);
        }
        scenario.unordered = unordered;
        scenario.best = if least { Best::Min } else { Best::Max };
        let id = |start: &&Start| scenario.ids[start.at as usize];
        let starts = &scenario.starts;
        let wins = if least { starts.iter().min_by_key(id) } else { starts.iter().max_by_key(id) };
        let outcome = elect(&scenario);
        prop_assert_eq!((outcome.leader, outcome.leaders.len()), (wins.map(|start| start.at), 1));
        prop_assert!(outcome.agreement && !outcome.hung);
        let (links, size) = (scenario.network.links(), u64::from(scenario.network.size()));
        prop_assert_eq!(outcome.by_kind[1], 2 * links + 1 - size);
        prop_assert!((2 * links..=2 * links * starts.len() as u64).contains(&outcome.by_kind[0]));
    }

    /// docs/model.md#echo-extinction and #times, on any graph: 2E, 2E-(n-1), and the three times.
    #[test]
    fn a_single_wave_takes_what_its_distances_say(mut scenario in scenario()) {
        scenario.starts.truncate(1);
        let outcome = elect(&scenario);
        prop_assert_eq!(Some(outcome.by_kind), expected::<EchoExtinction>(&NoParams, &scenario));
        prop_assert_eq!(outcome.time, times(&scenario.network, scenario.starts[0].at));
    }

    /// It is not made for crashes, but they give it no second leader, and it stops.
    #[test]
    fn a_crash_leaves_at_most_one_leader(mut scenario in scenario(), who: prop::sample::Index, tick in 0..12u64) {
        let at = who.index(scenario.network.size() as usize) as u32;
        scenario.faults = vec![Fault { tick, what: FaultKind::Crash(at) }];
        let outcome = elect(&scenario);
        prop_assert!(outcome.leaders.len() <= 1 && !outcome.hung);
    }
}
