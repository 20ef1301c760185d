//! What happens when a member of the clique is lost.

use hustings_algorithms::graph::two_tier::TwoTierParams;
use hustings_algorithms::graph::{Aefa, AefaParams};
use hustings_sim::scenario::Scenario;
use proptest::prelude::*;

use super::*;
use crate::common::elections::simulate;

/// How long it takes from one node until everybody has heard, and until every `leader-ack` is in.
fn wave(network: &Network, from: u32) -> (u64, u64) {
    // If the source is the greatest, aefa grows and shrinks a tree and then does it all again.
    let ids = (0..network.size()).map(|at| u64::from(at) + u64::from(at == from) * 1000).collect();
    let time = simulate::<Aefa>(&AefaParams::default(), &Scenario { ids, ..started(network.clone(), from) }).time;
    let elected = time.elected.unwrap_or(0);
    (time.agreed.unwrap_or(0) - elected, time.quiescent.unwrap_or(0) - elected)
}

/// A crash of the leader, long after the election, on a network that stays connected; ids are positions.
fn fails_over(network: &Network, params: &TwoTierParams) {
    let size = network.size();
    let (leader, s) = (size - 1, params.subordinates);
    let crash = 1000;
    let before = run(params, &started(network.clone(), 0));
    let scenario = with_faults(started(network.clone(), 0), &[(crash, FaultKind::Crash(leader))]);
    let (after, records) = watch(params, &scenario);
    let Some((rest, _)) = without(network, &[leader]) else { return };
    let more = |kind| sent(&after, kind) - sent(&before, kind);
    // As many subordinates again, if there are enough nodes left.
    let t = s.min(u64::from(size) - 2);
    let told = 2 * rest.links() - (u64::from(size) - 2);
    let kinds = ["election", "ack", "notify", "leader", "leader-ack", "probe", "reply"].map(more);
    assert_eq!(kinds, [0, 0, 0, told, told, 0, 0]);
    let pairs = t * (t + 1) / 2;
    let kinds = ["failed", "agree", "invite", "ping", "pong", "confirm"].map(more);
    assert_eq!(kinds, [s - 1, s - 1, t, pairs, pairs, t]);
    // The first of the list: the leader's first neighbour.
    let first = network.peer(leader, hustings_protocol::Port(0)).0;
    assert_eq!((&after.leaders, after.agreement, after.live), (&vec![first], true, size - 1));
    // Word of it after 2 ticks, the others agree after 2 more (nobody has to, if there is nobody else), a clique in 4.
    let elected = crash + 2 + if s > 1 { 2 } else { 0 };
    let announced = elected + if t > 0 { 4 } else { 0 };
    let (heard, answered) = wave(&rest, first);
    assert_eq!(after.time.elected, Some(elected));
    assert_eq!(after.time.agreed, Some(announced + heard));
    assert_eq!(after.time.quiescent, Some(announced + answered));
    let roll = cliques::last_roll(&records);
    assert_eq!(roll.map_or(0, |roll| roll.subordinates.len() as u64), t);
}

/// docs/model.md#two-tier: s=3: 2+2+3+6+6+3 = 22 messages, and 2(2E'-(n'-1)) to tell everybody.
#[test]
fn a_lost_leader_costs_twenty_two_messages_and_an_announcement() {
    let scenario = started(shaped("complete", 8, 0), 0);
    let before = run(&TwoTierParams::default(), &scenario);
    let after = run(&TwoTierParams::default(), &with_faults(scenario, &[(40, FaultKind::Crash(7))]));
    let [invite, ping, pong, confirm, failed, agree] = words(&after);
    assert_eq!([failed, agree, invite - 3, ping - 6, pong - 6, confirm - 3], [2, 2, 3, 6, 6, 3]);
    // E' = 21, n' = 7.
    assert_eq!(after.total() - before.total(), 22 + 2 * (2 * 21 - 6));
    assert_eq!((after.leaders, after.agreement), (vec![0], true));
    assert_eq!((after.time.elected, after.time.agreed), (Some(44), Some(49)));
}

/// docs/model.md#two-tier, the same on all shapes and for all s.
#[test]
fn on_every_shape_the_first_subordinate_takes_over() {
    for (shape, size) in
        [("complete", 4), ("complete", 9), ("line", 8), ("tree:2", 15), ("grid:3x4", 12), ("random:5-10", 30)]
    {
        for s in 1..6u64.min(u64::from(size)) {
            let params = TwoTierParams { subordinates: s, ..TwoTierParams::default() };
            fails_over(&shaped(shape, size, 7), &params);
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, ..ProptestConfig::default() })]

    /// docs/model.md#two-tier, on random graphs.
    #[test]
    fn on_random_graphs_too(size in 5u32..25, more in 20u32..60, seed: u64, s in 1u64..5) {
        let params = TwoTierParams { subordinates: s, ..TwoTierParams::default() };
        fails_over(&crate::common::gossip::graph(size, more, seed), &params);
    }
}

/// docs/model.md#two-tier: the next one takes over from the one who took over, and so on, to the last.
#[test]
fn it_happens_again_and_again() {
    let network = shaped("complete", 7, 0);
    let crashes: Vec<(u64, FaultKind)> =
        [6, 0, 1, 2, 3].into_iter().zip(1..).map(|(at, nth)| (100 * nth, FaultKind::Crash(at))).collect();
    for survivors in 0..=crashes.len() {
        let scenario = with_faults(started(network.clone(), 3), &crashes[..survivors]);
        let outcome = run(&TwoTierParams::default(), &scenario);
        let leader = [6, 0, 1, 2, 3, 4][survivors];
        assert_eq!((outcome.leaders, outcome.agreement), (vec![leader], true));
        assert_eq!(outcome.by_kind[0], 2 * 21 - 6, "there is no other election");
    }
}

/// docs/model.md#two-tier: `state=BYTES` is with every subordinate, so that whoever leads after any number of
/// failovers has what the first leader knew, and gives it to the new ones before it announces itself.
#[test]
fn what_the_leader_knew_is_not_lost_with_it() {
    let params = params(&[("state", "64")]);
    let crashes = [7, 0, 1, 2].into_iter().zip(1..).map(|(at, nth)| (100 * nth, FaultKind::Crash(at)));
    let crashes: Vec<(u64, FaultKind)> = crashes.collect();
    let scenario = started(shaped("complete", 8, 0), 0);
    let first = cliques::last_roll(&watch(&params, &scenario).1).expect("there is a clique");
    let (outcome, records) = watch(&params, &with_faults(scenario, &crashes));
    let last = cliques::last_roll(&records).expect("there is a clique");
    assert_eq!((outcome.leaders, outcome.agreement, last.leader), (vec![3], true, Id(3)));
    assert_eq!((first.knowledge.len(), &last.knowledge), (64, &first.knowledge));
    assert!(last.number > first.number && last.number.version == first.number.version + 4);
}

/// docs/model.md#two-tier: two notice at once, and the greater id leads.
#[test]
fn of_two_who_notice_the_greater_leads() {
    let two = params(&[("noticing", "2")]);
    let scenario = with_faults(started(shaped("complete", 8, 0), 0), &[(40, FaultKind::Crash(7))]);
    let outcome = run(&two, &scenario);
    assert_eq!((&outcome.leaders, outcome.agreement), (&vec![1], true));
    // Each asks the other two; the third agrees with both, the smaller with the greater.
    assert_eq!(words(&outcome)[4..], [4, 3]);
    assert_eq!((outcome.time.elected, outcome.time.agreed), (Some(44), Some(49)));
    // So it is with a start signal to one while the first notices by itself.
    let mut starts = scenario.starts.clone();
    starts.push(Start { at: 2, tick: 42 });
    let outcome = run(&TwoTierParams::default(), &Scenario { starts, ..scenario });
    assert_eq!((&outcome.leaders, outcome.agreement, &words(&outcome)[4..]), (&vec![2], true, &[4, 3][..]));
    let all = params(&[("noticing", "3")]);
    let outcome = run(&all, &with_faults(started(shaped("complete", 8, 0), 0), &[(40, FaultKind::Crash(7))]));
    assert_eq!((&outcome.leaders, outcome.agreement, &words(&outcome)[4..]), (&vec![2], true, &[6, 3][..]));
}

/// A subordinate that is told before the word comes asks, and the others look for themselves before they agree.
#[test]
fn who_has_not_heard_looks_first() {
    let scenario = with_faults(started(shaped("complete", 8, 0), 0), &[(40, FaultKind::Crash(7))]);
    let early = |tick| Scenario { starts: vec![Start { at: 0, tick: 0 }, Start { at: 2, tick }], ..scenario.clone() };
    for tick in [40, 41, 42] {
        let outcome = run(&TwoTierParams::default(), &early(tick));
        assert_eq!((&outcome.leaders, outcome.agreement), (&vec![2], true), "{tick}");
        assert_eq!(sent(&outcome, "election"), 49, "{tick}: no election");
    }
    // Told in the tick of the crash, its word is there one tick before the environment's.
    let outcome = run(&TwoTierParams::default(), &early(40));
    assert!(sent(&outcome, "ping") > 12, "they ping the leader");
}

/// docs/model.md#two-tier: a lost subordinate is replaced, as after a failover, and nobody else hears of it.
#[test]
fn a_lost_subordinate_is_replaced() {
    for lost in 0..3 {
        let scenario = with_faults(started(shaped("complete", 8, 0), 5), &[(40, FaultKind::Crash(lost))]);
        let (outcome, records) = watch(&TwoTierParams::default(), &scenario);
        assert_eq!(words(&outcome), [6, 12, 12, 6, 0, 0]);
        assert_eq!((outcome.leaders, outcome.agreement), (vec![7], true));
        assert_eq!((sent_leader(&records), outcome.time.quiescent), (49, Some(46)));
        let mut expected: Vec<Id> = [0, 1, 2, 3].into_iter().filter(|id| *id != u64::from(lost)).map(Id).collect();
        expected.sort();
        assert_eq!(cliques::last_roll(&records).map(|roll| roll.subordinates), Some(expected));
    }
    // Two at once: two are missing, one clique is formed.
    let crashes = [(40, FaultKind::Crash(0)), (40, FaultKind::Crash(2))];
    let outcome = run(&TwoTierParams::default(), &with_faults(started(shaped("complete", 8, 0), 5), &crashes));
    assert_eq!(words(&outcome), [6, 12, 12, 6, 0, 0]);
}

fn sent_leader(records: &[Record<Message<Id>>]) -> usize {
    use hustings_algorithms::graph::diffusion::Message as Diffused;
    use hustings_protocol::{Event, TraceEvent};
    let is_leader = |record: &&Record<Message<Id>>| {
        matches!(
            &record.what,
            TraceEvent::Handled {
                event: Event::Message { message: Message::Diffused(Diffused::Leader { .. }), .. },
                ..
            }
        )
    };
    records.iter().filter(is_leader).count()
}

/// docs/model.md#two-tier: with the leader and some subordinates lost at once, the first live one takes over.
#[test]
fn the_first_live_one_takes_over() {
    for (lost, leader, asked) in [(vec![7, 0], 1, 1), (vec![7, 1], 0, 1), (vec![7, 0, 1], 2, 0)] {
        let crashes: Vec<_> = lost.iter().map(|at| (40, FaultKind::Crash(*at))).collect();
        let outcome = run(&TwoTierParams::default(), &with_faults(started(shaped("complete", 8, 0), 5), &crashes));
        assert_eq!((&outcome.leaders, outcome.agreement), (&vec![leader], true), "{lost:?}");
        assert_eq!(words(&outcome), [6, 12, 12, 6, asked, asked], "{lost:?}");
    }
}

/// docs/model.md#two-tier: the whole clique lost, nobody takes over; whoever is told to start holds an election.
#[test]
fn without_a_clique_it_takes_an_election() {
    let crashes = [7, 0, 1, 2].map(|at| (40, FaultKind::Crash(at)));
    let scenario = with_faults(started(shaped("complete", 8, 0), 5), &crashes);
    let outcome = run(&TwoTierParams::default(), &scenario);
    assert_eq!((&outcome.leaders, outcome.agreement), (&vec![], false));
    let starts = vec![Start { at: 5, tick: 0 }, Start { at: 4, tick: 50 }];
    let outcome = run(&TwoTierParams::default(), &Scenario { starts, ..scenario });
    assert_eq!((&outcome.leaders, outcome.agreement), (&vec![6], true));
    // Four are left, on a complete network: 2E-(n-1) = 9; three of them stand by.
    assert_eq!(["election", "ack", "leader"].map(|kind| sent(&outcome, kind)), [49 + 9, 49 + 9, 49 + 9]);
    assert_eq!(words(&outcome), [6, 12, 12, 6, 0, 0]);
}

/// A start signal at a node whose leader lives changes nothing, whether it stands by or not.
#[test]
fn nobody_takes_over_from_a_leader_that_lives() {
    let scenario = started(shaped("complete", 8, 0), 0);
    let plain = run(&TwoTierParams::default(), &scenario);
    for at in 0..8 {
        let starts = vec![Start { at: 0, tick: 0 }, Start { at, tick: 60 }];
        assert_eq!(run(&TwoTierParams::default(), &Scenario { starts, ..scenario.clone() }), plain);
    }
}

/// docs/model.md#two-tier: with `choice=best` a better newcomer takes the place of a worse subordinate.
#[test]
fn a_better_newcomer_takes_the_place_of_a_worse_one() {
    let best = params(&[("choice", "best")]);
    for (newcomer, expected) in [(6, [6, 5, 4]), (4, [6, 5, 4]), (1, [6, 5, 4])] {
        let scenario = with_faults(started(shaped("complete", 8, 0), 0), &[(60, FaultKind::Join(newcomer))]);
        let (outcome, records) = watch(&best, &scenario);
        assert_eq!((&outcome.leaders, outcome.agreement), (&vec![7], true), "{newcomer}");
        let roll = cliques::last_roll(&records).map(|roll| roll.subordinates);
        assert_eq!(roll, Some(expected.map(Id).to_vec()), "{newcomer}");
        let formed = if newcomer == 1 { 1 } else { 2 };
        assert_eq!(sent(&outcome, "invite"), 3 * formed, "{newcomer}");
    }
    // After a failover the best that is left becomes a subordinate.
    let scenario = with_faults(started(shaped("complete", 8, 0), 0), &[(60, FaultKind::Crash(7))]);
    let (outcome, records) = watch(&best, &scenario);
    assert_eq!((outcome.leaders, outcome.agreement), (vec![6], true));
    assert_eq!(cliques::last_roll(&records).map(|roll| roll.subordinates), Some([5, 4, 3].map(Id).to_vec()));
}
