//! Replays: recorded runs replay to the same outcome, and forged records are rejected.

use std::collections::BTreeMap;

use hustings_protocol::{Effect, Event, Id, Loss, Message, NoticeKind, Port, Protocol, StartReason, Timer, TraceEvent};
use hustings_sim::erased::DynProtocol;
use hustings_sim::replay::ReplayError;
use hustings_sim::scenario::{Delay, FaultKind, Medium, Notice};
use hustings_sim::trace::{FileError, Limits, TraceFile, TraceWriter};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

use super::gossip::{self, Gossip};
use super::scripted::*;
use super::token::TokenRing;
use super::*;
use crate::common::erased::replay;

fn faults(size: u32) -> impl Strategy<Value = Vec<Fault>> {
    let at = 0..size;
    let link = (at.clone(), at.clone());
    let what = prop_oneof![
        4 => at.clone().prop_map(FaultKind::Crash),
        4 => at.clone().prop_map(FaultKind::Recover),
        1 => at.clone().prop_map(FaultKind::Join),
        2 => at.prop_map(FaultKind::Retire),
        2 => link.clone().prop_map(|(a, b)| FaultKind::Cut(a, b)),
        1 => link.prop_map(|(a, b)| FaultKind::Heal(a, b)),
        1 => Just(FaultKind::HealAll),
        2 => prop::collection::vec(0..2u32, size as usize).prop_map(FaultKind::Partition),
    ];
    prop::collection::vec((0u64..25, what).prop_map(|(tick, what)| Fault { tick, what }), 0..8)
}

fn networks() -> impl Strategy<Value = Network> {
    prop_oneof![
        3 => (1u32..8).prop_map(Network::Ring),
        1 => (2u32..7).prop_map(Network::Complete),
        1 => (2..9u32, 0..8u32, any::<u64>()).prop_map(|(size, more, seed)| gossip::graph(size, more, seed)),
    ]
}

fn delays() -> impl Strategy<Value = Delay> {
    prop_oneof![
        Just(Delay::Unit),
        Just(Delay::Uniform(1, 6)),
        Just(Delay::Exponential(4.0)),
        Just(Delay::Pareto { min: 1.0, shape: 1.0 }),
    ]
}

fn notices() -> impl Strategy<Value = Notice> {
    prop_oneof![
        2 => Just(Notice::Oracle),
        1 => (0..9u64).prop_map(Notice::Poll),
        1 => (0..9u64).prop_map(Notice::Heartbeat),
        1 => (0..30u64).prop_map(Notice::Term),
    ]
}

prop_compose! {
    /// Everything that a scenario can contain, in any combination.
    fn scenarios()(network in networks())(
        starts in prop::collection::vec((0..network.size(), 0..20u64), 0..9),
        faults in faults(network.size()),
        (delay, unordered) in (delays(), any::<bool>()),
        (loss, duplicate) in (prop_oneof![Just(0.0), Just(0.2)], prop_oneof![Just(0.0), Just(0.3)]),
        (bandwidth, broadcast) in (prop_oneof![3 => Just(None), 1 => (0u64..6).prop_map(Some)], any::<bool>()),
        notice in notices(),
        until in prop_oneof![1 => 0..30u64, 2 => 30..300u64],
        (from_all, seed) in any::<(bool, u64)>(),
        network in Just(network),
    ) -> Scenario {
        let scenario = Scenario::new(network);
        let all = if from_all { scenario.clone().started_by_all().starts } else { Vec::new() };
        let starts = all.into_iter().chain(starts.into_iter().map(|(at, tick)| start(at, tick))).collect();
        let medium = if broadcast { Medium::Broadcast } else { Medium::Links };
        let scenario = Scenario { loss, duplicate, bandwidth, medium, notice, seed, until, ..scenario };
        Scenario { starts, faults, delay, unordered, ..scenario }
    }
}

fn gossips() -> impl Strategy<Value = Gossip> {
    (any::<u64>(), 1..12u8, 0..64u8).prop_map(|(seed, life, abilities)| Gossip::new(seed, life, abilities))
}

fn replays<P: Protocol<Rank = Id> + Clone>(protocol: &P, scenario: &Scenario) {
    let (outcome, records) = watch(protocol, scenario);
    let again = replay(protocol.clone(), &ranks(scenario), scenario, &records);
    assert_eq!(again.as_ref(), Ok(&outcome));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3_000))]

    #[test]
    fn every_run_replays_to_its_outcome(scenario in scenarios(), gossip in gossips()) {
        replays(&gossip, &scenario);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn elections_replay_too(scenario in scenarios()) {
        // A token that circulates forever and is sometimes duplicated becomes millions.
        let until = if scenario.duplicate > 0.0 { scenario.until.min(25) } else { scenario.until };
        let network = Network::Ring(scenario.network.size());
        let scenario = Scenario { network, until, ..scenario };
        replays(&chang_roberts(), &scenario);
        replays(&TokenRing, &scenario);
    }

    #[test]
    fn every_run_replays_from_its_file(scenario in scenarios(), gossip in gossips()) {
        let mut writer = TraceWriter::new(Vec::new(), "gossip", BTreeMap::new(), &scenario).unwrap();
        let outcome = erased::run(gossip.clone(), &ranks(&scenario), &scenario, Some(&mut writer));
        let text = writer.finish().unwrap();
        let mut file = TraceFile::open(&text[..], Limits::default()).unwrap();
        prop_assert_eq!((file.algorithm(), file.has_duplicates()), ("gossip", scenario.duplicate > 0.0));
        let (protocol, ranks) = DynProtocol::new(gossip, &ranks(&scenario));
        let records: Result<Vec<_>, _> = file.records(&protocol).collect();
        let replayed = hustings_sim::replay::replay(&protocol, &ranks, &scenario, records.unwrap());
        prop_assert_eq!(replayed.unwrap(), outcome);
    }
}

/// Guards the properties above: they prove little if the events in question do not occur.
#[test]
fn random_runs_cover_all_events() {
    let mut runner = TestRunner::deterministic();
    let mut seen: BTreeMap<&str, u32> = BTreeMap::new();
    for _ in 0..400 {
        let scenario = scenarios().new_tree(&mut runner).unwrap().current();
        let gossip = gossips().new_tree(&mut runner).unwrap().current();
        let (outcome, records) = watch(&gossip, &scenario);
        let mut see = |what, is_so: bool| *seen.entry(what).or_default() += u32::from(is_so);
        see("hung", outcome.hung);
        see("poll", outcome.notice.iter().any(|&(kind, count)| kind == "alive" && count > 0));
        see("heartbeat", outcome.notice.iter().any(|&(kind, count)| kind == "heartbeat" && count > 0));
        for record in &records {
            see("later message", record.nth > 2);
            see("copy", record.copy);
            match &record.what {
                TraceEvent::Lost { why, .. } => see(["down", "chance", "cut"][*why as usize % 3], true),
                TraceEvent::Handled { event: Event::Unreachable { .. }, effects, .. } => {
                    see("came back", true);
                    see("skip", effects.iter().any(|effect| matches!(effect, Effect::Skip(_))));
                }
                TraceEvent::Handled { event, .. } => {
                    see("direct came back", matches!(event, Event::UnreachableDirect { .. }));
                    see("timer", matches!(event, Event::Timer(_)));
                    see("leader lost", *event == Event::Start(StartReason::LeaderLost));
                    see("retire", *event == Event::Retire);
                }
                what => see("join", *what == TraceEvent::Joined),
            }
        }
    }
    assert!(seen.len() == 15 && seen.values().all(|&count| count > 5), "{seen:?}");
}

type Words = Vec<Record<<Rules as Protocol>::Message>>;

/// A forged run of four nodes with a crashed one.
fn forged(change: impl FnOnce(&mut Words)) -> ReplayError {
    let scenario = Scenario { faults: vec![fault(0, FaultKind::Crash(2))], ..ring(4).started_by_all() };
    let (_, mut records) = watch(&chang_roberts(), &scenario);
    change(&mut records);
    let outcome = replay(chang_roberts(), &ranks(&scenario), &scenario, &records);
    outcome.expect_err("it is forged")
}

fn find(records: &Words, wanted: impl Fn(&TraceEvent<<Rules as Protocol>::Message>) -> bool) -> usize {
    records.iter().position(|record| wanted(&record.what)).expect("there is such a record")
}

fn is_message<M: Message>(what: &TraceEvent<M>) -> bool {
    matches!(what, TraceEvent::Handled { event: Event::Message { .. }, .. })
}

#[test]
fn rejects_forged_records() {
    assert_eq!(forged(|records| drop(records.remove(1))), ReplayError::Number { expected: 1, found: 2 });
    assert_eq!(forged(|records| records[3].node = 9), ReplayError::Position { number: 3, at: 9, size: 4 });
    assert!(matches!(forged(|records| records[0].tick = 5), ReplayError::Tick { number: 1, tick: 0, last: 5 }));
    let effect = forged(|records| {
        if let TraceEvent::Handled { effects, .. } = &mut records[0].what {
            effects.push(Effect::Lead);
        }
    });
    assert_eq!(effect, ReplayError::Effect { number: 0, index: 1, recorded: "Lead".into(), now: "nothing".into() });
    let cause = forged(|records| {
        let at = find(records, is_message);
        records[at].cause = Some(1);
    });
    assert!(matches!(cause, ReplayError::NotInFlight { .. }), "{cause}");
    let sender = forged(|records| {
        let at = find(records, is_message);
        if let TraceEvent::Handled { peer, .. } = &mut records[at].what {
            *peer = Some(2);
        }
    });
    assert!(matches!(sender, ReplayError::NotInFlight { .. }), "{sender}");
}

#[test]
fn rejects_forged_crashes_and_losses() {
    let crash = |what: &TraceEvent<_>| *what == TraceEvent::Crashed;
    let twice = forged(|records| {
        let at = find(records, crash);
        records[at + 1].node = 2;
        records[at + 1].what = TraceEvent::Crashed;
    });
    assert!(matches!(twice, ReplayError::NoTransition { at: 2, state: "down", .. }), "{twice}");
    let back = forged(|records| {
        let at = find(records, crash);
        records[at].what = TraceEvent::Recovered;
    });
    assert!(matches!(back, ReplayError::NoTransition { at: 2, state: "up", .. }), "{back}");
    let up = forged(|records| {
        let at = find(records, crash);
        records[at].what = TraceEvent::LinkCut { peer: 1 };
    });
    assert!(matches!(up, ReplayError::ReceiverUp { at: 2, .. }), "{up}");
    let by_chance = forged(|records| {
        let at = find(records, |what| matches!(what, TraceEvent::Lost { .. }));
        if let TraceEvent::Lost { why, .. } = &mut records[at].what {
            *why = Loss::Chance;
        }
    });
    assert!(matches!(by_chance, ReplayError::NotLost { at: 1, .. }), "{by_chance}");
    let dead = forged(|records| records[0].node = 2);
    assert!(!matches!(dead, ReplayError::Down { .. }), "at its first record it is not down yet: {dead}");
    let timer = forged(|records| {
        let event = Event::Timer(Timer { kind: 3, token: 1 });
        records[0].what = TraceEvent::Handled { event, peer: None, coins: vec![], effects: vec![] };
    });
    assert!(matches!(timer, ReplayError::Timer { number: 0, kind: 3, token: 1, .. }), "{timer}");
    let coins = forged(|records| {
        if let TraceEvent::Handled { coins, .. } = &mut records[0].what {
            coins.push((6, 1));
        }
    });
    assert_eq!(coins, ReplayError::CoinsLeft { number: 0, left: 1 });
}

/// Sends the same message three times over a link; two of them differ only in their number.
fn repeats_itself() -> Scripted {
    Scripted(|at, event| match event {
        Event::Start(_) if at == 0 => vec![say(Port::NEXT, 7), say(Port::PREVIOUS, 7), say(Port::NEXT, 7)],
        _ => Vec::new(),
    })
}

/// A trace as written by hand: `nth` is omitted where it is 0.
fn by_hand(lines: &[&str]) -> Result<Outcome, ReplayError> {
    let scenario = Scenario { duplicate: 0.1, ..ring(3) };
    let start = r#"{"number":0,"tick":0,"node":0,"what":"handled","event":{"start":"start"},
        "effects":[{"send":[0,{"Say":7}]},{"send":[1,{"Say":7}]},{"send":[0,{"Say":7}]}]}"#;
    let records = std::iter::once(&start).chain(lines).map(|line| serde_json::from_str(line).expect("it is a record"));
    let records: Vec<_> = records.collect();
    replay(repeats_itself(), &ranks(&scenario), &scenario, &records)
}

#[test]
fn a_record_identifies_its_message() {
    let arrival = |number: u64, rest: &str| {
        format!(
            r#"{{"number":{number},"tick":{number},"node":1,"cause":0,{rest}"what":"handled","peer":0,
                "event":{{"message":{{"from":1,"message":{{"Say":7}}}}}},"effects":[]}}"#
        )
    };
    let hear = |rests: &[&str]| {
        let lines: Vec<String> = (1..).zip(rests).map(|(number, rest)| arrival(number, rest)).collect();
        by_hand(&lines.iter().map(String::as_str).collect::<Vec<_>>())
    };
    let copy = r#""nth":2,"copy":true,"#;
    let outcome = hear(&["", copy, r#""nth":2,"#]).expect("the first, the copy of the third, the third");
    assert!(outcome.hung, "the second is under way");
    assert_eq!(outcome.load.max, 3);
    let twice = hear(&["", ""]).expect_err("it has arrived already").to_string();
    let expected = "record 2: Say(7) from node 0 to node 1, message 0 of record 0, is not in flight; \
                    message 2 of that record fits";
    assert_eq!(twice, expected);
    let elsewhere = hear(&[r#""nth":1,"#]).expect_err("it goes to the other side").to_string();
    assert!(elsewhere.ends_with("message 1 of record 0, is not in flight; message 0 of that record fits"));
    let none = hear(&[r#""nth":3,"#]).expect_err("there are three").to_string();
    assert!(none.contains("message 3 of record 0, is not in flight"), "{none}");
    let again = hear(&[copy, copy]).expect_err("there is one copy").to_string();
    assert!(again.contains("the copy of message 2 of record 0, is not in flight"), "{again}");
}

#[test]
fn message_numbers_count_all_sends_of_the_cause() {
    let protocol = Scripted(|at, event| match event {
        Event::Start(_) if at == 1 => {
            let all = Effect::SendAllBut(Some(Port(1)), TestMessage::Say(2));
            vec![Effect::Lead, say(Port(2), 1), all, Effect::SendDirect(Id(0), TestMessage::Say(3)), say(Port(0), 4)]
        }
        _ => Vec::new(),
    });
    let scenario = Scenario { starts: vec![start(1, 0)], medium: Medium::Broadcast, ..complete(4) };
    let (_, records) = watch(&protocol, &scenario);
    let arrivals: Vec<(u32, u32)> = records[1..].iter().map(|record| (record.node, record.nth)).collect();
    assert_eq!(arrivals, [(0, 1), (0, 3), (0, 4), (3, 0), (3, 2)]);
}

#[test]
fn rejects_forged_notices() {
    // Node 0 leads from tick 0 on, the others follow. Polls are at 2, 4, …; it crashes at 5.
    let protocol = Scripted(|at, event| match event {
        Event::Start(StartReason::Start) if at == 0 => {
            vec![Effect::Lead, Effect::SendAllBut(None, TestMessage::Say(0))]
        }
        Event::Message { .. } => vec![Effect::Follow(Id(0))],
        _ => Vec::new(),
    });
    let faults = vec![fault(5, FaultKind::Crash(0))];
    let scenario = Scenario { starts: vec![start(0, 0)], faults, notice: Notice::Poll(2), until: 6, ..complete(3) };
    let (outcome, records) = watch(&protocol, &scenario);
    assert_eq!(outcome.notice, [("poll", 6), ("alive", 2)]);
    let forged = |forge: fn(&mut NoticeKind, &mut u64), notice| {
        let mut records = records.clone();
        let polls = records.iter_mut().find_map(|record| match &mut record.what {
            TraceEvent::Notice { kind, count } => Some((kind, count)),
            _ => None,
        });
        let (kind, count) = polls.expect("there are polls");
        forge(kind, count);
        let scenario = Scenario { notice, ..scenario.clone() };
        match replay(protocol, &ranks(&scenario), &scenario, &records) {
            Err(ReplayError::Notice { kind, count, allowed, .. }) => (kind, count, allowed),
            other => panic!("{other:?}"),
        }
    };
    assert_eq!(forged(|_, count| *count = 3, scenario.notice), ("poll", 3, "2".into()));
    assert_eq!(forged(|kind, _| *kind = NoticeKind::Alive, scenario.notice), ("alive", 2, "none".into()));
    assert_eq!(forged(|_, _| {}, Notice::Oracle), ("poll", 2, "none".into()));
}

#[test]
fn rejects_malformed_files() {
    let scenario = ring(2).started_by_all();
    let mut writer = TraceWriter::new(Vec::new(), "chang-roberts", BTreeMap::new(), &scenario).unwrap();
    erased::run(chang_roberts(), &ranks(&scenario), &scenario, Some(&mut writer));
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let first = text.lines().next().unwrap();
    assert!(first.contains(r#""network":{"kind":"ring","size":2}"#), "{first}");
    let (protocol, _) = DynProtocol::new(chang_roberts(), &ranks(&scenario));
    let open = |text: &str, limits| TraceFile::open(text.as_bytes(), limits).map(|_| ());
    let all = |text: &str, limits| {
        let mut file = TraceFile::open(text.as_bytes(), limits)?;
        file.records(&protocol).map(|record| record.map(|_| 1)).sum::<Result<u32, FileError>>()
    };
    let many = Limits::default();
    let count = text.lines().count() as u32 - 1;
    assert_eq!(all(&text, many).unwrap(), count);
    assert_eq!(all(text.trim_end(), Limits { records: count.into(), ..many }).unwrap(), count);
    assert!(matches!(all(&text, Limits { records: 3, ..many }), Err(FileError::TooMany { line: 5, max: 3 })));
    let long = Limits { line: first.len() as u64, ..many };
    assert!(open(&text, long).is_ok());
    let short = Limits { line: first.len() as u64 - 1, ..many };
    assert!(matches!(open(&text, short), Err(FileError::TooLong { line: 1, .. })));
    assert!(matches!(open("", many), Err(FileError::Empty)));
    assert!(matches!(open("{}\n", many), Err(FileError::Json { line: 1, what: "header", .. })));
    let broken = text.replacen("\"number\":2", "\"number\":x", 1);
    assert!(matches!(all(&broken, many), Err(FileError::Json { line: 4, what: "record", .. })));
    let changed = |from: &str, to: &str| open(&text.replacen(from, to, 1), many).unwrap_err();
    assert!(matches!(changed("\"version\":1", "\"version\":7"), FileError::Version(7)));
    assert!(matches!(changed("[0,1]", "[4,4]"), FileError::DuplicateId(4)));
    assert!(matches!(changed("[0,1]", "[4]"), FileError::Length { what: "ids", given: 1, size: 2 }));
    let absent = changed("\"absent\":[]", "\"absent\":[2]");
    assert_eq!(absent.to_string(), "line 1: `absent` names position 2, but there are only 2");
}
