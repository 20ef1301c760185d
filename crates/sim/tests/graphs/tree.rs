//! Election in trees.

use hustings_algorithms::NoParams;
use hustings_algorithms::graph::Tree;
use hustings_protocol::{Best, SplitMix64};
use hustings_sim::outcome::{Outcome, Times};
use hustings_sim::scenario::{Delay, Fault, FaultKind, Scenario, Start};
use hustings_sim::simulate::ElectionSpec;
use hustings_sim::topology::{Graph, Network, Topology};
use proptest::prelude::*;

use crate::common::elections::{expected, simulate};
use crate::common::waves::neighbours;

fn elect(scenario: &Scenario) -> Outcome {
    simulate::<Tree>(&NoParams, scenario)
}

fn all_start(shape: &str, size: u32) -> Scenario {
    let shape: Topology = shape.parse().expect("it is written correctly");
    Scenario::new(shape.build(size, 1).expect("it can be built")).started_by_all()
}

/// A random tree: everybody hangs on somebody before it, in a random order of positions.
fn random_tree(size: u32, seed: u64) -> Network {
    let mut rng = SplitMix64::new(seed);
    let mut order: Vec<u32> = (0..size).collect();
    (1..order.len()).rev().for_each(|last| order.swap(last, rng.below(last as u64 + 1) as usize));
    let links: Vec<(u32, u32)> =
        (1..size as usize).map(|at| (order[rng.below(at as u64) as usize], order[at])).collect();
    let graph = Graph::new(size, |link| links.iter().for_each(|&(a, b)| link(a, b)));
    Network::Graph(graph.expect("the links of a tree are distinct"))
}

fn counts(size: u64) -> [u64; 3] {
    if size == 1 { [0; 3] } else { [2 * (size - 1), size, size - 2] }
}

/// When everybody starts at 0: all are awake at 1, and the rest follows from who asks whom when.
struct Asking<'a>(&'a Network);

impl Asking<'_> {
    /// When `at` would ask `parent`: when the last of its other neighbours has asked.
    fn asks(&self, at: u32, parent: u32) -> u64 {
        let others = neighbours(self.0, at).filter(|&peer| peer != parent);
        others.map(|peer| self.asks(peer, at) + 1).max().unwrap_or(1)
    }

    /// Whom it asks: the one that would be the last to ask it; at the same tick, the highest position.
    fn parent(&self, at: u32) -> u32 {
        neighbours(self.0, at).max_by_key(|&peer| (self.asks(peer, at), peer)).expect("two nodes are linked")
    }

    /// When everybody knows: the two that ask each other when both have, the others as far later as they are away.
    fn knows(&self, at: u32) -> u64 {
        let parent = self.parent(at);
        if self.parent(parent) == at {
            self.asks(at, parent).max(self.asks(parent, at) + 1)
        } else {
            self.knows(parent) + 1
        }
    }

    fn times(&self, greatest: u32) -> Times {
        let last = (0..self.0.size()).map(|at| self.knows(at)).max();
        Times { elected: Some(self.knows(greatest)), agreed: last, quiescent: last }
    }
}

/// docs/model.md#tree: `wakeup` 2(n-1), `parent` n, `info` n-2, whoever starts; n = 1: none.
#[test]
fn every_shape_takes_the_same() {
    for size in 1..=20 {
        for shape in ["tree:1", "tree:2", "tree:3", "line", "star"] {
            let mut scenario = all_start(shape, size);
            for starters in 1..=scenario.starts.len() {
                scenario.starts.truncate(size as usize - starters + 1);
                let outcome = elect(&scenario);
                assert_eq!(outcome.by_kind, counts(size.into()), "{shape}, {size} nodes");
                assert_eq!((outcome.leaders, outcome.agreement), (vec![size - 1], true), "{shape}, {size} nodes");
            }
        }
    }
}

/// docs/model.md#topologies: the default topology of tree is tree:2.
#[test]
fn the_default_is_a_binary_tree() {
    let planned =
        ElectionSpec { nodes: Some(7), ..ElectionSpec::default() }.build::<Tree>(&Default::default()).expect("it fits");
    assert_eq!(planned.scenario.network, all_start("tree:2", 7).network);
    assert_eq!(planned.scenario.starts.len(), 7);
    let circle = ElectionSpec { topology: Some(Topology::Ring), nodes: Some(7), ..ElectionSpec::default() };
    assert!(circle.build::<Tree>(&Default::default()).is_err(), "a ring has a cycle");
}

/// By hand. On a line of 2m everybody asks inwards from tick 1 on, the middle pair know at m+1 and the ends at 2m.
#[test]
fn the_times_on_lines() {
    for m in 1..=8 {
        let outcome = elect(&all_start("line", 2 * m));
        let end = Some(u64::from(2 * m));
        assert_eq!(outcome.time, Times { elected: end, agreed: end, quiescent: end }, "{m}");
    }
}

/// By hand. The leaves of a star ask at 1; the centre asks the last of them at 2 and knows at once; all know at 3.
#[test]
fn the_times_on_stars() {
    for size in 3..=12 {
        let mut scenario = all_start("star", size);
        let (three, two) = (Some(3), Some(2));
        assert_eq!(elect(&scenario).time, Times { elected: three, agreed: three, quiescent: three }, "{size}");
        scenario.ids.reverse();
        assert_eq!(elect(&scenario).time, Times { elected: two, agreed: three, quiescent: three }, "{size}");
    }
}

/// By hand: a line of three that is started at one end is awake at 1, 2 and 2; the middle one, woken from the other end
/// at 3, has been asked by both by then.
#[test]
fn one_starter_at_the_end_of_a_line() {
    let mut scenario = all_start("line", 3);
    scenario.starts.truncate(1);
    let outcome = elect(&scenario);
    // 0 asks 1 at 2 (woken by 1 then), 2 asks 1 at 2 (woken by 1). 1 hears both at 3, is awake then, and asks 2.
    assert_eq!(outcome.time, Times { elected: Some(4), agreed: Some(4), quiescent: Some(4) });
    assert_eq!(outcome.by_kind, [4, 3, 1]);
}

#[test]
fn a_node_alone_leads_at_once_and_nobody_starts_nothing() {
    let mut scenario = all_start("tree:2", 1);
    let outcome = elect(&scenario);
    assert_eq!((outcome.leaders, outcome.agreement), (vec![0], true));
    assert_eq!(outcome.time, Times { elected: Some(0), agreed: Some(0), quiescent: None });
    scenario = all_start("tree:2", 5);
    scenario.starts.clear();
    let outcome = elect(&scenario);
    assert_eq!((outcome.total(), outcome.leader), (0, None));
}

fn crash(at: u32, tick: u64) -> Fault {
    Fault { tick, what: FaultKind::Crash(at) }
}

/// Not claimed: everybody waits for all its neighbours.
#[test]
fn with_a_node_down_from_the_start_nobody_leads() {
    for (shape, size) in [("tree:2", 7), ("line", 5), ("star", 6), ("line", 2)] {
        for at in 0..size {
            let outcome = elect(&Scenario { faults: vec![crash(at, 0)], ..all_start(shape, size) });
            assert_eq!((outcome.leaders, outcome.hung), (vec![], false), "{shape} of {size} without {at}");
        }
    }
}

/// Not claimed either: whoever leads is the greatest of all, but some never hear of it, and it may be dead.
#[test]
fn a_crash_on_the_way_may_leave_nobody_or_not_all_know() {
    let (mut nobody, mut not_all) = (0, 0);
    for (at, tick) in (0..7).flat_map(|at| (1..8).map(move |tick| (at, tick))) {
        let outcome = elect(&Scenario { faults: vec![crash(at, tick)], ..all_start("tree:2", 7) });
        assert!(!outcome.hung && outcome.leaders.iter().all(|&leader| leader == 6), "{at} at {tick}: {outcome:?}");
        nobody += u32::from(outcome.leaders.is_empty());
        not_all += u32::from(!outcome.leaders.is_empty() && !outcome.agreement);
    }
    assert!(nobody > 0 && not_all > 0, "{nobody} times nobody, {not_all} times not all");
}

prop_compose! {
    fn scenario()(size in 1..20u32, seed in any::<u64>())(
        ids in Just((0..u64::from(size)).map(|id| 3 * id + 1).collect::<Vec<_>>()).prop_shuffle(),
        starts in proptest::collection::btree_map(0..size, 0..6u64, 1..=size as usize),
        size in Just(size),
        seed in Just(seed),
    ) -> Scenario {
        let mut scenario = Scenario::new(random_tree(size, seed));
        scenario.ids = ids;
        scenario.starts = starts.into_iter().map(|(at, tick)| Start { at, tick }).collect();
        scenario.starts.sort_by_key(|start| (start.tick, start.at));
        scenario.seed = seed;
        scenario
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// docs/model.md#tree: the greatest of all wins, with the same counts, whoever starts and however messages travel.
    #[test]
    fn the_greatest_of_all_wins(mut scenario in scenario(), delayed: bool, unordered: bool, least: bool) {
        if delayed {
            scenario.delay = Delay::Uniform(1, 9);
        }
        scenario.unordered = unordered;
        scenario.best = if least { Best::Min } else { Best::Max };
        let by_id = |at: &u32| scenario.ids[*at as usize];
        let positions = 0..scenario.network.size();
        let greatest = if least { positions.min_by_key(by_id) } else { positions.max_by_key(by_id) };
        let outcome = elect(&scenario);
        prop_assert_eq!(&outcome.by_kind, &counts(scenario.network.size().into()));
        prop_assert_eq!((outcome.leader, outcome.leaders.len(), outcome.agreement), (greatest, 1, true));
    }

    /// The three times, from who asks whom when.
    #[test]
    fn the_times_follow_from_the_tree(mut scenario in scenario()) {
        scenario = scenario.started_by_all();
        prop_assert_eq!(Some(elect(&scenario).by_kind), expected::<Tree>(&NoParams, &scenario));
        let size = scenario.network.size();
        if size > 1 {
            let greatest = (0..size).max_by_key(|&at| scenario.ids[at as usize]).expect("there are nodes");
            prop_assert_eq!(elect(&scenario).time, Asking(&scenario.network).times(greatest));
        }
    }
}
