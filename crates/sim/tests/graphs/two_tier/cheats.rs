//! Members that cheat: what the rules of detection make of it, and what they cannot see.

use hustings_algorithms::Cheat;
use hustings_algorithms::graph::two_tier::TwoTierParams;
use hustings_protocol::{Cheating, Effect, TraceEvent};
use hustings_sim::scenario::Scenario;
use proptest::prelude::*;

use super::*;

fn cheated(scenario: Scenario, cheats: &[(u32, Cheat)]) -> Scenario {
    Scenario { cheats: cheats.to_vec(), ..scenario }
}

fn two() -> TwoTierParams {
    params(&[("subordinates", "2")])
}

/// Who became the leader, in order.
fn reigns(scenario: &Scenario) -> Vec<u32> {
    let (_, records) = watch(&two(), scenario);
    let leads = |record: &&Record<Message<Id>>| match &record.what {
        TraceEvent::Handled { effects, .. } => effects.contains(&Effect::Lead),
        _ => false,
    };
    let mut reigns: Vec<u32> = records.iter().filter(leads).map(|record| record.node).collect();
    reigns.dedup();
    reigns
}

/// On a line from 0 to 4, node 2 acknowledges before 3 and 4 have been heard: 2 wins, 4 finds out, and leads.
#[test]
fn one_that_was_passed_over_holds_an_election_of_its_own() {
    let scenario = started(shaped("line", 5, 0), 0);
    assert_eq!(reigns(&scenario), [4]);
    let scenario = cheated(scenario, &[(2, Cheat::Ack)]);
    let outcome = run(&two(), &scenario);
    assert_eq!((&outcome.leaders, outcome.agreement), (&vec![4], true));
    assert_eq!(reigns(&scenario), [2, 4]);
    // The announcement reaches 3 and then 4, and passes over both.
    assert_eq!(outcome.cheating[0], (2, Cheating::Acted));
    assert!(outcome.cheating[1..].iter().all(|(at, rule)| *at > 2 && *rule == Cheating::PassedOver), "{outcome:?}");
    assert!(outcome.cheating.contains(&(4, Cheating::PassedOver)), "{outcome:?}");
}

/// A leaf has nobody behind it, and the source answers nobody: neither can acknowledge too early.
#[test]
fn a_node_without_others_behind_it_has_no_occasion_to_cheat() {
    for cheat in [0, 4] {
        let scenario = cheated(started(shaped("line", 5, 0), 0), &[(cheat, Cheat::Ack)]);
        // The leaf is the leader, which answers nobody; the source is a leaf of the announcement.
        assert_eq!(run(&two(), &scenario).cheating, [], "{cheat}");
    }
}

/// Without a cheat nothing is reported, even where the same rules repair a crash.
#[test]
fn without_a_cheat_nothing_is_reported() {
    let scenario = started(shaped("complete", 5, 0), 0);
    for tick in 0..12 {
        let scenario = with_faults(scenario.clone(), &[(tick, FaultKind::Crash(4))]);
        assert_eq!(run(&two(), &scenario).cheating, [], "crash at {tick}");
    }
}

/// Whoever it is that acknowledges too early, and however many do, the greatest leads in the end.
#[test]
fn early_acknowledgements_are_found_out_everywhere() {
    for (shape, size) in [("line", 7), ("star", 6), ("tree:2", 11), ("grid:3x4", 12), ("complete", 6), ("ring", 8)] {
        let network = shaped(shape, size, 0);
        for source in 0..size {
            for cheat in 0..size {
                let cheats = [(cheat, Cheat::Ack), ((cheat + 2) % size, Cheat::Ack)];
                for cheats in [&cheats[..1], &cheats] {
                    let scenario = cheated(started(network.clone(), source), cheats);
                    let outcome = run(&two(), &scenario);
                    assert_eq!(
                        (&outcome.leaders, outcome.agreement),
                        (&vec![size - 1], true),
                        "{shape} {source} {cheats:?}"
                    );
                    assert!(!outcome.hung);
                }
            }
        }
    }
}

/// A cheat behind which nobody is greater than the winner changes neither the leader nor any count.
#[test]
fn an_early_acknowledgement_that_hides_nobody_is_not_seen() {
    let ids = vec![10, 9, 2, 1, 0];
    let honest = Scenario { ids, ..started(shaped("line", 5, 0), 0) };
    let cheating = cheated(honest.clone(), &[(2, Cheat::Ack)]);
    let (honest, cheating) = (run(&two(), &honest), run(&two(), &cheating));
    assert_eq!((&cheating.by_kind, &cheating.leaders), (&honest.by_kind, &honest.leaders));
    assert!(cheating.time.elected < honest.time.elected);
}

/// A liar that reports a greatest rank that is down: the winner does not answer, twice, and the source leads itself.
/// Whoever is greater has been passed over, and says so: in the end the greatest leads.
#[test]
fn a_winner_that_does_not_answer_twice_is_not_believed_in() {
    for size in [5, 9] {
        let network = shaped("complete", size, 0);
        for source in 0..size - 1 {
            for liar in 0..size - 1 {
                let scenario = with_faults(started(network.clone(), source), &[(0, FaultKind::Crash(size - 1))]);
                let scenario = cheated(scenario, &[(liar, Cheat::Rank)]);
                let outcome = run(&two(), &scenario);
                assert_eq!((&outcome.leaders, outcome.agreement, outcome.hung), (&vec![size - 2], true, false));
                let reigns = reigns(&scenario);
                assert!(reigns[0] == source && reigns[reigns.len() - 1] == size - 2, "{source} {liar}: {reigns:?}");
                assert_eq!(outcome.cheating[0], (liar, Cheating::Acted), "{source} {liar}");
                assert!(outcome.cheating.contains(&(source, Cheating::SilentWinner)), "{source} {liar}");
                let silent = if source == size - 2 { 2 } else { 4 };
                assert_eq!(sent(&outcome, "notify"), silent, "{source} {liar}");
            }
        }
    }
}

/// The same in runs, where the lie is about somebody outside the view: messages to it come back. Guards against a view
/// that waits for it forever.
#[test]
fn a_winner_outside_the_view_is_not_believed_in() {
    for size in [5, 12] {
        for liar in 0..size - 1 {
            for tick in [0, 3, 40] {
                let scenario = started(shaped("complete", size, 0), 0);
                let scenario = with_faults(scenario, &[(tick, FaultKind::Crash(size - 1))]);
                let scenario = Scenario { runs: true, ..cheated(scenario, &[(liar, Cheat::Rank)]) };
                let outcome = run(&two(), &scenario);
                assert_eq!(
                    (&outcome.leaders, outcome.agreement, outcome.hung),
                    (&vec![size - 2], true, false),
                    "{size} nodes, {liar} lies, crash at {tick}"
                );
            }
        }
    }
}

/// The false rank is that of a node that is up but out of reach: no message to it comes back, but the election reveals
/// that it is gone. Guards against endless elections.
#[test]
fn a_winner_that_is_out_of_reach_is_not_believed_in() {
    let careful = params(&[("subordinates", "2"), ("probe", "25"), ("beacon", "25")]);
    for (size, tick) in [5, 6].into_iter().flat_map(|size| (0..12).map(move |tick| (size, tick))) {
        let groups = (0..size).map(|at| u32::from(at == size - 1)).collect();
        let cuts: Vec<_> = (0..size - 1).map(|at| (tick, FaultKind::Cut(at, size - 1))).collect();
        for faults in [vec![(tick, FaultKind::Partition(groups))], cuts] {
            for liar in 0..size - 1 {
                let scenario = with_faults(started(shaped("complete", size, 0), 0), &faults);
                let scenario = Scenario { until: 3000, ..cheated(scenario, &[(liar, Cheat::Rank)]) };
                let mut outcome = run(&careful, &scenario);
                outcome.leaders.retain(|leader| *leader != size - 1);
                // Later a subordinate takes over, and there is no election.
                let is_elected = tick > 3 || outcome.leaders == [size - 2];
                let context = format!("{size} nodes, {liar} lies, parted at {tick}: {outcome:?}");
                assert!(is_elected && outcome.leaders.len() == 1, "{context}");
                let quiet = outcome.time.quiescent.expect("something happened");
                assert!(quiet < tick + 400, "{context}");
            }
        }
    }
}

/// A liar whose lie is the truth is not seen, and does no harm.
#[test]
fn a_lie_that_is_true_changes_nothing() {
    for liar in 0..9 {
        let honest = started(shaped("grid:3x3", 9, 0), 4);
        let mut outcome = run(&two(), &cheated(honest.clone(), &[(liar, Cheat::Rank)]));
        // The greatest node reports its own rank.
        let lie: &[(u32, Cheating)] = if liar == 8 { &[] } else { &[(liar, Cheating::Acted)] };
        assert_eq!(std::mem::take(&mut outcome.cheating), lie);
        assert_eq!(outcome, run(&two(), &honest));
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, ..ProptestConfig::default() })]

    /// Any cheats on any graph, some nodes down: there is an end, and one leader whom all name.
    #[test]
    fn whoever_cheats_there_is_one_leader(
        size in 2u32..14, more in 0u32..25, seed: u64, source: u32,
        cheats in prop::collection::vec((0u32..14, any::<bool>()), 0..6), down: Option<u32>,
    ) {
        let network = crate::common::gossip::graph(size, more, seed);
        let down: Vec<u32> = down.map(|at| at % size).filter(|at| *at != source % size).into_iter().collect();
        prop_assume!(without(&network, &down).is_some());
        let faults: Vec<_> = down.iter().map(|at| (0, FaultKind::Crash(*at))).collect();
        let cheat = |(at, lies)| (at % size, if lies { Cheat::Rank } else { Cheat::Ack });
        let cheats: Vec<(u32, Cheat)> = cheats.into_iter().map(cheat).collect();
        let scenario = cheated(with_faults(started(network, source % size), &faults), &cheats);
        let params = params(&[("subordinates", if size > 2 { "2" } else { "1" })]);
        let outcome = run(&params, &scenario);
        prop_assert!(outcome.agreement && !outcome.hung && outcome.leaders.len() == 1, "{outcome:?}");
        let greatest = (0..size).rev().find(|at| !down.contains(at));
        prop_assert_eq!(outcome.leader, greatest);
    }
}
