//! End components, compared with their definition applied to every set of states.

use std::collections::BTreeSet;

use super::*;
use crate::property::Labels;
use crate::state_graph::Expanded;

const ENDLESS: &str = "there is no limit";

/// For each state its actions, and for each action its outcomes.
type Actions = Vec<Vec<Vec<u64>>>;

fn graph(all: &Actions) -> StateGraph {
    let edges = |outcomes: &Vec<u64>| -> Vec<(u64, Edge)> {
        let edge = |place| if outcomes.len() > 1 { Edge::drawn(0, place == 0) } else { Edge::new(0) };
        outcomes.iter().enumerate().map(|(place, &next)| (next, edge(place))).collect()
    };
    let expanded = |(at, actions): (u64, &Vec<Vec<u64>>)| Expanded {
        fingerprint: at,
        labels: Labels::default(),
        next: actions.iter().flat_map(edges).collect(),
    };
    StateGraph::new(0, vec![(0..).zip(all).map(expanded).collect()], Meter::new(|| false)).expect(ENDLESS)
}

fn found(all: &Actions) -> BTreeSet<BTreeSet<u64>> {
    let graph = graph(all);
    let components = end_components(&graph, &graph.strongly_connected_components().expect(ENDLESS)).expect(ENDLESS);
    components.iter().map(|component| component.iter().map(|&at| graph.fingerprint(at)).collect()).collect()
}

/// The states that can be reached from `from` with actions whose outcomes are all in `within`.
fn reachable(all: &Actions, from: u64, within: u64) -> u64 {
    let mut reached = 1 << from;
    loop {
        let inside = |outcomes: &&Vec<u64>| outcomes.iter().all(|next| within >> next & 1 == 1);
        let from_reached = (0..all.len()).filter(|at| reached >> at & 1 == 1);
        let next = from_reached.flat_map(|at| all[at].iter().filter(inside)).flatten();
        let more = next.fold(reached, |reached, next| reached | 1 << next);
        if more == reached {
            return reached;
        }
        reached = more;
    }
}

/// All maximal end components that can be reached, found by trying all sets of states.
fn by_definition(all: &Actions) -> BTreeSet<BTreeSet<u64>> {
    let count = all.len() as u64;
    let reached = reachable(all, 0, u64::MAX);
    let inside = |set: u64, outcomes: &Vec<u64>| outcomes.iter().all(|next| set >> next & 1 == 1);
    let members = |set: u64| (0..count).filter(move |at| set >> at & 1 == 1);
    let is_end_component = |&set: &u64| {
        set & !reached == 0
            && members(set).all(|at| all[at as usize].iter().any(|outcomes| inside(set, outcomes)))
            && members(set).all(|at| reachable(all, at, set) == set)
    };
    let sets: Vec<u64> = (1..1 << count).filter(is_end_component).collect();
    let is_maximal = |&&set: &&u64| sets.iter().all(|&other| other == set || other & set != set);
    sets.iter().filter(is_maximal).map(|&set| members(set).collect()).collect()
}

/// The next of a sequence of numbers below `bound` that look random.
fn draw(seed: &mut u64, bound: u64) -> u64 {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) % bound
}

#[test]
fn end_components_are_those_of_the_definition() {
    let mut seed = 1;
    let (mut with_some, mut smaller_than_connected) = (0, 0);
    for _ in 0..3000 {
        let states = 2 + draw(&mut seed, 5);
        let action = |seed: &mut u64| -> Vec<u64> {
            let outcomes = 1 + draw(seed, 2);
            let all: BTreeSet<u64> = (0..outcomes).map(|_| draw(seed, states)).collect();
            all.into_iter().collect()
        };
        let all: Actions = (0..states)
            .map(|_| {
                let count = draw(&mut seed, 3);
                (0..count).map(|_| action(&mut seed)).collect()
            })
            .collect();
        let found = found(&all);
        assert_eq!(found, by_definition(&all), "{all:?}");
        with_some += u32::from(!found.is_empty());
        let graph = graph(&all);
        let connected = graph.cyclic_components(&graph.strongly_connected_components().expect(ENDLESS)).expect(ENDLESS);
        let is_end_component =
            |component: &Vec<u32>| found.contains(&component.iter().map(|&at| u64::from(at)).collect());
        smaller_than_connected += u32::from(!connected.iter().all(is_end_component));
    }
    assert!(with_some > 500 && smaller_than_connected > 500, "{with_some} {smaller_than_connected}");
}

/// A coin decides between the end and another try: the scheduler cannot stay.
#[test]
fn a_coin_that_may_lead_out_is_no_end_component() {
    let all = vec![vec![vec![1]], vec![vec![0, 2]], vec![]];
    assert_eq!(found(&all), BTreeSet::new());
    // Without the coin the scheduler chooses, and can stay.
    let chosen = vec![vec![vec![1]], vec![vec![0], vec![2]], vec![]];
    assert_eq!(found(&chosen), BTreeSet::from([BTreeSet::from([0, 1])]));
}

/// An outcome that was not explored may lead out.
#[test]
fn an_action_with_an_unexplored_outcome_does_not_stay() {
    for outcomes in [vec![0, 9], vec![9, 0]] {
        let all = vec![vec![vec![1]], vec![outcomes]];
        assert_eq!(found(&all), BTreeSet::new());
        assert!(graph(&all).is_cut_off);
    }
}
