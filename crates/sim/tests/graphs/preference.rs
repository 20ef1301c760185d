//! Preference: who wins, and that it costs what aefa costs.

use crate::common::elections::{expected, simulate};
use crate::common::waves::{neighbours, predicted, started};
use hustings_algorithms::graph::{AefaParams, Preference};
use hustings_protocol::Best;
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario, Start};
use hustings_sim::simulate::ElectionSpec;
use hustings_sim::topology::{Network, Topology};
use proptest::prelude::*;

fn run(scenario: &Scenario) -> Outcome {
    simulate::<Preference>(&AefaParams::default(), scenario)
}

/// Who should win: counted by hand, node by node.
fn winner(scenario: &Scenario) -> u32 {
    let size = scenario.network.size();
    let id = |at: u32| scenario.ids[at as usize];
    let mut votes = vec![0u32; size as usize];
    for at in 0..size {
        let listed = scenario.votes.iter().rev().find(|vote| vote.0 == at).map(|vote| vote.1);
        let greatest = neighbours(&scenario.network, at).chain([at]).max_by_key(|&peer| id(peer));
        votes[listed.or(greatest).unwrap() as usize] += 1;
    }
    (0..size).max_by_key(|&at| (votes[at as usize], id(at))).unwrap()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// docs/model.md#preference: most votes win, ties to the greater id; votes are gathered as in aefa.
    #[test]
    fn most_votes_win_on_any_graph(
        size in 1u32..40, more in 0u32..60, seed: u64, source: u32,
        votes in prop::collection::vec((0u32..40, 0u32..40), 0..30),
    ) {
        let network = crate::common::gossip::graph(size, more, seed);
        let mut ids: Vec<u64> = (0..u64::from(size)).collect();
        ids.sort_by_key(|id| (id + 1).wrapping_mul(seed | 1) >> 20);
        let votes = votes.into_iter().map(|(voter, choice)| (voter % size, choice % size)).collect();
        let scenario = Scenario { ids, votes, ..started(network.clone(), source % size) };
        let expected_winner = winner(&scenario);
        let (by_kind, times) = predicted(&network, source % size, expected_winner);
        let outcome = run(&scenario);
        prop_assert_eq!((&outcome.leaders, outcome.agreement), (&vec![expected_winner], true));
        let formula = expected::<Preference>(&AefaParams::default(), &scenario);
        prop_assert_eq!(formula.as_ref(), Some(&by_kind), "the report shows the same");
        prop_assert_eq!((outcome.by_kind, outcome.time), (by_kind, times));
    }
}

fn star() -> Network {
    "star".parse::<Topology>().unwrap().build(6, 0).unwrap()
}

/// On a star everybody knows the centre and itself: the leaves outvote each other, and the centre votes for the last.
#[test]
fn without_votes_everybody_chooses_among_its_neighbours() {
    let outcome = run(&started(star(), 0));
    assert_eq!(outcome.leaders, [5], "5 has its own vote and the centre's, all others one");
    let ids = vec![9, 1, 2, 3, 4, 5];
    assert_eq!(run(&Scenario { ids, ..started(star(), 3) }).leaders, [0], "all six vote for the centre");
}

#[test]
fn given_votes_count_and_a_tie_goes_to_the_greater() {
    let votes = vec![(0, 2), (1, 2), (3, 4), (5, 4), (2, 2), (4, 4)];
    let scenario = Scenario { votes, ..started(star(), 0) };
    assert_eq!(run(&scenario).leaders, [4]);
    assert_eq!(run(&Scenario { best: Best::Min, ..scenario }).leaders, [2], "the least breaks the tie, if it wins");
}

/// A vote for a node that is down is lost.
#[test]
fn the_dead_do_not_win() {
    let votes = (0..6).map(|voter| (voter, 5)).collect();
    let faults = vec![Fault { tick: 0, what: FaultKind::Crash(5) }];
    let outcome = run(&Scenario { votes, faults, ..started(star(), 2) });
    assert_eq!((outcome.leaders, outcome.agreement, outcome.hung), (vec![4], true, false));
}

/// docs/model.md#start-signals: a start after the leader is gone holds another election.
#[test]
fn a_second_election_counts_from_zero() {
    let votes = (0..6).map(|voter| (voter, 3)).collect();
    let faults = vec![Fault { tick: 40, what: FaultKind::Crash(3) }];
    let starts = vec![Start { at: 1, tick: 0 }, Start { at: 2, tick: 50 }];
    let outcome = run(&Scenario { votes, faults, starts, ..Scenario::new(star()) });
    assert_eq!((outcome.leaders, outcome.agreement), (vec![5], true));
}

#[test]
fn votes_are_taken_from_the_request() {
    let votes = Some(vec![(0, 3), (1, 3), (2, 3), (3, 3)]);
    let request = ElectionSpec { nodes: Some(6), votes, ..ElectionSpec::default() };
    let scenario = request.build::<Preference>(&Default::default()).unwrap().scenario;
    assert_eq!(run(&scenario).leader, Some(3));
}
