//! Interventions: they come exactly where they are asked for, and change nothing before.

use hustings_algorithms::complete::{Bully, BullyParams};
use hustings_protocol::{Loss, TraceEvent};
use hustings_sim::erased::DynMessage;
use hustings_sim::replay;
use hustings_sim::simulate::{ElectionSpec, Field, erased, simulate, simulate_observed};
use hustings_sim::trace::Observer;
use proptest::prelude::*;

use super::*;

/// The outcome and the records of an election with these interventions.
fn watched<A: Algorithm>(options: &[(Field, &str)], interventions: &[&str]) -> (Outcome, Vec<Record<DynMessage>>) {
    let scenario = scenario::<A>(options, interventions);
    let mut records: Vec<Record<DynMessage>> = Vec::new();
    let outcome = simulate_observed::<A>(&A::Params::default(), &scenario, &mut records);
    assert_eq!(outcome, simulate::<A>(&A::Params::default(), &scenario), "an observer changes nothing");
    (outcome, records)
}

fn scenario<A: Algorithm>(options: &[(Field, &str)], interventions: &[&str]) -> Scenario {
    let mut spec = ElectionSpec::default();
    let interventions = interventions.iter().map(|one| (Field::Interventions, *one));
    for (field, text) in options.iter().copied().chain(interventions) {
        spec.set(field, text).expect(text);
    }
    spec.build::<A>(&Default::default()).expect("the election is valid").scenario
}

const CRETE: &[(Field, &str)] = &[(Field::Ids, "0,1,2,3,4,5,6,7"), (Field::Crashes, "7@0"), (Field::Initiators, "4")];

fn lost(records: &[Record<DynMessage>]) -> Vec<(u64, u64, u32)> {
    let by_hand = |record: &&Record<DynMessage>| matches!(record.what, TraceEvent::Lost { why: Loss::Dropped, .. });
    records.iter().filter(by_hand).map(|record| (record.number, record.cause.unwrap_or(0), record.nth)).collect()
}

#[test]
fn a_crash_comes_at_its_point_and_the_next_node_wins() {
    let (before, plain) = watched::<Bully>(CRETE, &[]);
    assert_eq!((before.leader, before.total()), (Some(6), 16));
    for after in 1..plain.len() as u64 {
        let (outcome, records) = watched::<Bully>(CRETE, &[&format!("{after}:crash:6")]);
        assert_eq!(outcome.refused, []);
        assert_eq!(records[..after as usize], plain[..after as usize]);
        assert_eq!(records[after as usize].what, TraceEvent::Crashed);
        assert_eq!((records[after as usize].node, records[after as usize].tick), (6, plain[after as usize - 1].tick));
        let leads =
            |record: &Record<DynMessage>| record.node == 6 && matches!(&record.what, TraceEvent::Handled { .. });
        assert!(!records[after as usize..].iter().any(leads), "a dead node does nothing");
    }
}

#[test]
fn a_run_that_has_ended_goes_on_after_an_intervention() {
    let (_, plain) = watched::<Bully>(CRETE, &[]);
    let end = plain.len();
    let (outcome, _) = watched::<Bully>(CRETE, &[&format!("{end}:crash:6"), &format!("{}:start:0", end + 1)]);
    assert_eq!((outcome.leader, outcome.agreement, outcome.refused.len()), (Some(5), true, 0));
    let (outcome, _) = watched::<Bully>(CRETE, &[&format!("{end}:revive:7")]);
    assert_eq!((outcome.leader, outcome.agreement), (Some(7), true));
}

#[test]
fn a_dropped_message_is_lost_at_once_and_only_it() {
    // Record 0 is the start of node 4, whose messages go to 5, 6 and 7; record 1 is the crash.
    let (outcome, records) = watched::<Bully>(CRETE, &["2:drop:0.1"]);
    assert_eq!(lost(&records), [(2, 0, 1)]);
    assert_eq!((outcome.leader, outcome.agreement, outcome.lost), (Some(6), true, 5));
    let arrived = records.iter().filter(|record| (record.cause, record.nth) == (Some(0), 1)).count();
    assert_eq!(arrived, 1, "there is its loss, and nothing else");
}

#[test]
fn a_delayed_message_arrives_later_and_those_behind_it_wait() {
    let ring: &[(Field, &str)] = &[(Field::Nodes, "4"), (Field::Ids, "3,0,1,2")];
    let (plain, _) = watched::<ChangRoberts>(ring, &[]);
    // The first record is the start of node 0 with id 3, whose candidate goes all the way round.
    let (outcome, records) = watched::<ChangRoberts>(ring, &["1:delay:0.0+5"]);
    let arrival = records.iter().find(|record| record.cause == Some(0)).expect("it arrives");
    assert_eq!(arrival.tick, 6);
    assert_eq!(outcome.by_kind, plain.by_kind);
    assert_eq!(outcome.time.elected, plain.time.elected.map(|tick| tick + 5));
    let mut last = std::collections::BTreeMap::new();
    for record in records.iter().filter(|record| record.cause.is_some()) {
        let TraceEvent::Handled { peer: Some(peer), .. } = record.what else { continue };
        let sent = (record.cause, record.nth);
        let before = last.insert((peer, record.node), sent);
        assert!(before.is_none_or(|before| before < sent), "the order on each link is kept");
    }
}

#[test]
fn a_message_can_arrive_now_or_twice() {
    let (_, plain) = watched::<Bully>(CRETE, &[]);
    let (outcome, records) = watched::<Bully>(CRETE, &["2:deliver:0.0"]);
    assert_eq!((records[2].cause, records[2].nth, records[2].tick), (Some(0), 0, 0));
    assert_eq!(outcome.leader, Some(6));
    let (outcome, records) = watched::<Bully>(CRETE, &["2:duplicate:0.0"]);
    let arrivals = |records: &[Record<DynMessage>]| {
        // The timer that record 0 has set is due to no message.
        let is_arrival = |record: &&Record<DynMessage>| {
            (record.cause, record.nth) == (Some(0), 0)
                && matches!(record.what, TraceEvent::Handled { peer: Some(_), .. })
        };
        let same = records.iter().filter(is_arrival);
        same.map(|record| record.copy).collect::<Vec<_>>()
    };
    assert_eq!((arrivals(&plain), arrivals(&records)), (vec![false], vec![false, true]));
    assert_eq!(outcome.leader, Some(6));
}

#[test]
fn links_are_cut_and_healed_at_once() {
    let line: &[(Field, &str)] = &[(Field::Nodes, "4"), (Field::Ids, "3,0,1,2")];
    let (outcome, records) = watched::<ChangRoberts>(line, &["1:cut:0-1"]);
    assert_eq!(records[1].what, TraceEvent::LinkCut { peer: 1 });
    assert_eq!((outcome.leader, outcome.agreement), (None, false), "the greatest candidate is lost");
    let (outcome, _) = watched::<ChangRoberts>(line, &["1:cut:0-1", "3:heal:0-1"]);
    assert_eq!((outcome.leader, outcome.agreement), (Some(0), true), "the link works again before it arrives");
    let (outcome, _) = watched::<Bully>(&[(Field::Nodes, "4")], &["0:split:0-1/2-3"]);
    assert_eq!(outcome.leaders.len(), 1, "only the part of the initiator holds an election");
}

#[test]
fn what_cannot_be_done_is_refused_with_a_reason() {
    let refused = |interventions: &[&str]| {
        let (outcome, _) = watched::<Bully>(CRETE, interventions);
        outcome.refused.into_iter().map(|one| format!("{}: {}", one.index, one.reason)).collect::<Vec<_>>()
    };
    for (intervention, part) in [
        ("2:crash:7", "0: node 7 is down then"),
        ("2:revive:6", "0: node 6 is up then"),
        ("2:start:7", "0: node 7 is down then"),
        ("2:heal:0-1", "0: the link between 0 and 1 is whole then"),
        ("2:heal:all", "0: no link is cut then"),
        ("2:drop:1.7", "0: message 7 of record 1 is not in flight then"),
        ("9:drop:0.0", "0: message 0 of record 0 is not in flight then"),
        ("900:crash:6", "0: the run ends after"),
    ] {
        let found = refused(&[intervention]);
        assert!(found.len() == 1 && found[0].starts_with(part), "{intervention}: {found:?}");
    }
    assert!(refused(&["2:cut:0-1", "4:cut:0-1"])[0].starts_with("1: the link between 0 and 1 is cut then"));
    assert!(refused(&["2:duplicate:0.0", "2:duplicate:0.0"])[0].starts_with("1: it has a copy already"));
    // Two messages of the same sender on the same link: the second cannot overtake the first.
    let twice: &[(Field, &str)] = &[(Field::Nodes, "3"), (Field::Ids, "2,0,1"), (Field::Delay, "uniform:9-9")];
    let (outcome, _) = watched::<ChangRoberts>(twice, &["0:start:0"]);
    assert_eq!(outcome.refused, [], "a start signal may come early");
}

#[test]
fn an_observer_can_end_the_run() {
    struct Few(usize);
    impl Observer<DynMessage> for Few {
        fn record(&mut self, _: &Record<DynMessage>) {
            self.0 += 1;
        }
        fn is_satisfied(&self) -> bool {
            self.0 >= 10
        }
    }
    let mut few = Few(0);
    let scenario = scenario::<Bully>(&[(Field::Nodes, "200")], &[]);
    let outcome = simulate_observed::<Bully>(&BullyParams::default(), &scenario, &mut few);
    assert!(outcome.hung && few.0 < 500, "it saw {}", few.0);
}

/// Any action, on few nodes and early messages, so that many of them are possible.
fn actions() -> impl Strategy<Value = String> {
    let message = (0u64..12, 0u32..3).prop_map(|(record, nth)| format!("{record}.{nth}"));
    prop_oneof![
        (0u32..5).prop_map(|at| format!("crash:{at}")),
        (0u32..5).prop_map(|at| format!("revive:{at}")),
        (0u32..5).prop_map(|at| format!("start:{at}")),
        (0u32..4).prop_map(|at| format!("cut:{at}-{}", at + 1)),
        Just("heal:all".to_string()),
        Just("split:0-1/2-4".to_string()),
        message.clone().prop_map(|one| format!("drop:{one}")),
        (message.clone(), 1u64..9).prop_map(|(one, ticks)| format!("delay:{one}+{ticks}")),
        message.clone().prop_map(|one| format!("duplicate:{one}")),
        message.prop_map(|one| format!("deliver:{one}")),
    ]
}

fn check_prefix<A: Algorithm>(options: &[(Field, &str)], listed: &[(u64, String)]) -> Result<(), TestCaseError> {
    let mut listed = listed.to_vec();
    listed.sort_by_key(|(after, _)| *after);
    let texts: Vec<String> = listed.iter().map(|(after, action)| format!("{after}:{action}")).collect();
    let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
    let (mut before, mut point) = (watched::<A>(options, &[]).1, 0);
    for count in 1..=texts.len() {
        let (_, records) = watched::<A>(options, &texts[..count]);
        point = listed[count - 1].0.max(point);
        let same = (point as usize).min(before.len());
        prop_assert_eq!(&records[..same], &before[..same], "nothing changes before {}", texts[count - 1]);
        // The records are a run of the protocol: a replay gives the same outcome.
        let scenario = scenario::<A>(options, &texts[..count]);
        let (protocol, ranks) = erased::<A>(&A::Params::default(), &scenario);
        let replayed = replay::replay(&protocol, &ranks, &scenario, records.clone());
        let outcome = simulate::<A>(&A::Params::default(), &scenario);
        let replayed = replayed.map_err(|error| TestCaseError::fail(format!("{:?}: {error}", texts)))?;
        prop_assert_eq!(&replayed.by_kind, &outcome.by_kind);
        prop_assert_eq!((replayed.leaders, replayed.lost), (outcome.leaders, outcome.lost));
        before = records;
    }
    Ok(())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn interventions_change_nothing_before_their_point_and_replay(
        listed in prop::collection::vec((0u64..25, actions()), 1..5),
        delay in prop_oneof![Just("unit"), Just("uniform:1-5")],
        seed in 0u64..1000,
    ) {
        let seed = seed.to_string();
        let options = [(Field::Nodes, "5"), (Field::Delay, delay), (Field::Seed, seed.as_str())];
        check_prefix::<Bully>(&options, &listed)?;
        check_prefix::<ChangRoberts>(&options, &listed)?;
    }
}
