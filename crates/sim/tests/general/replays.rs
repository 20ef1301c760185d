//! Replays: what was recorded is what happens again, and what is forged is found out.

use std::collections::BTreeMap;

use hustings_protocol::{Context, Effect, Event, Happening, Id, Loss, Message, Port, Protocol, Summons, Timer, kinds};
use hustings_sim::replay::{Replay, ReplayError, Setting, replay};
use hustings_sim::scenario::{Delay, FaultKind, Medium};
use hustings_sim::trace::file::{FileError, Header, HeaderError, Limits, TraceFile, TraceWriter};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::token::TokenRing;
use super::*;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Gossip {
    Hop(u64),
    Secret(u64),
}
kinds!(Gossip: Hop = "hop", Secret = "secret");

/// Does everything a protocol can do, by the toss of a coin; messages die after some hops.
struct Gossips;

impl Gossips {
    fn gossip<C: Context<Self>>(heard: &mut u64, hops: u64, cx: &mut C) {
        *heard = heard.wrapping_mul(31).wrapping_add(hops);
        let Some(left) = hops.checked_sub(1) else { return };
        let port = Port(cx.draw(u64::from(cx.degree().max(1))) as u32);
        match cx.draw(9) {
            0 => cx.send_all_but(Some(port), Gossip::Hop(left)),
            1 => cx.send_range(0..port.0 + 1, Gossip::Hop(left)),
            2 => {
                let to = cx.draw(u64::from(cx.size()) + 1);
                cx.send_direct(Id(to), Gossip::Secret(left));
            }
            3 => {
                let after = cx.draw(5);
                cx.set_timer(after, Timer { kind: 1, token: left as u32 });
            }
            4 => {
                cx.lead();
                cx.send(port, Gossip::Hop(left));
                cx.send(port, Gossip::Hop(left / 2));
            }
            5 => {
                let leader = cx.draw(u64::from(cx.size()));
                cx.follow(Id(leader));
                cx.send(port, Gossip::Hop(left));
            }
            6 => cx.forget(),
            _ => cx.send(port, Gossip::Hop(left)),
        }
    }
}

impl Protocol for Gossips {
    type Rank = Id;
    type State = u64;
    type Message = Gossip;

    fn init(&self) -> u64 {
        0
    }
    fn start<C: Context<Self>>(&self, heard: &mut u64, _: Summons, cx: &mut C) {
        Self::gossip(heard, 12, cx);
    }
    fn receive<C: Context<Self>>(&self, heard: &mut u64, _: Port, message: Gossip, cx: &mut C) {
        let (Gossip::Hop(hops) | Gossip::Secret(hops)) = message;
        Self::gossip(heard, hops, cx);
    }
    fn receive_direct<C: Context<Self>>(&self, heard: &mut u64, _: Id, message: Gossip, cx: &mut C) {
        let (Gossip::Hop(hops) | Gossip::Secret(hops)) = message;
        Self::gossip(heard, hops, cx);
    }
    fn unreachable<C: Context<Self>>(&self, _: &mut u64, port: Port, _: Gossip, cx: &mut C) {
        if cx.draw(4) > 0 {
            cx.skip(port);
        }
    }
    fn timer<C: Context<Self>>(&self, heard: &mut u64, timer: Timer, cx: &mut C) {
        Self::gossip(heard, timer.token.into(), cx);
    }
    fn retire<C: Context<Self>>(&self, _: &mut u64, cx: &mut C) {
        cx.send_all_but(None, Gossip::Hop(2));
    }
}

fn faults(size: u32) -> impl Strategy<Value = Vec<Fault>> {
    let at = 0..size;
    let what = prop_oneof![
        4 => at.clone().prop_map(FaultKind::Crash),
        4 => at.clone().prop_map(FaultKind::Recover),
        1 => at.clone().prop_map(FaultKind::Join),
        2 => at.clone().prop_map(FaultKind::Retire),
        1 => (at.clone(), at).prop_map(|(a, b)| FaultKind::Cut(a, b)),
        1 => Just(FaultKind::HealAll),
        1 => prop::collection::vec(0..2u32, size as usize).prop_map(FaultKind::Partition),
    ];
    prop::collection::vec((0u64..25, what).prop_map(|(tick, what)| Fault { tick, what }), 0..7)
}

fn scenarios() -> impl Strategy<Value = Scenario> {
    let network = prop_oneof![
        2 => (1u32..7).prop_map(ring),
        1 => (2u32..7).prop_map(complete),
        1 => Just(graph(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (1, 4)])),
    ];
    let delay = prop_oneof![
        Just(Delay::Unit),
        Just(Delay::Uniform(1, 6)),
        Just(Delay::Exponential(4.0)),
        Just(Delay::Pareto { min: 1.0, shape: 1.0 }),
    ];
    let chances = (delay, any::<bool>(), prop_oneof![Just(0.0), Just(0.2)], any::<u64>());
    let rest = (prop_oneof![Just(None), (1u64..4).prop_map(Some)], any::<bool>(), 20u64..400);
    let with_faults = network.prop_flat_map(|network| {
        let size = network.network.size();
        faults(size).prop_map(move |faults| Scenario { faults, ..network.clone().started_by_all() })
    });
    (with_faults, chances, rest).prop_map(
        |(scenario, (delay, unordered, loss, seed), (bandwidth, broadcast, until))| {
            // Equal messages that one handling sends again over an unordered link cannot be told apart by their records.
            let unordered = unordered && (scenario.faults.is_empty() || !matches!(scenario.network, Network::Ring(_)));
            let medium = if broadcast { Medium::Broadcast } else { Medium::Links };
            Scenario { delay, unordered, loss, seed, bandwidth, medium, until, ..scenario }
        },
    )
}

fn ranks(scenario: &Scenario) -> Vec<Id> {
    scenario.ids.iter().copied().map(Id).collect()
}

fn replays<P: Protocol<Rank = Id>>(protocol: &P, scenario: &Scenario) {
    let (outcome, records) = watch(protocol, scenario);
    let again = replay(protocol, &ranks(scenario), &Setting::of(scenario), records);
    assert_eq!(again.as_ref(), Ok(&outcome));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn every_run_replays_to_its_outcome(scenario in scenarios()) {
        replays(&Gossips, &scenario);
        if matches!(scenario.network, Network::Ring(_)) {
            replays(&chang_roberts(), &scenario);
            replays(&TokenRing, &scenario);
        }
    }

    /// With copies too, while every message ends in time and equal ones stay in order.
    #[test]
    fn runs_with_copies_replay(scenario in scenarios()) {
        let scenario = Scenario { duplicate: 0.3, unordered: false, until: 1 << 40, faults: Vec::new(), ..scenario };
        replays(&Gossips, &scenario);
    }

    #[test]
    fn every_run_replays_from_its_file(scenario in scenarios()) {
        let header = Header::new("gossips", BTreeMap::new(), &scenario);
        let mut writer = TraceWriter::new(Vec::new(), &header).unwrap();
        let outcome = general::run(&Gossips, &ranks(&scenario), &scenario, Some(&mut writer));
        let text = writer.finish().unwrap();
        let mut file = TraceFile::open(&text[..], Limits::default()).unwrap();
        prop_assert_eq!(file.header(), &header);
        let network = file.header().network.build().unwrap();
        prop_assert_eq!(&network, &scenario.network);
        let setting = file.header().setting(&network);
        let ranks = ranks(&scenario);
        let mut again = Replay::new(&Gossips, &ranks, &setting).unwrap();
        for record in file.records() {
            again.step(record.unwrap()).unwrap();
        }
        prop_assert_eq!(again.finish(), outcome);
    }
}

type Words = Vec<Record<<Rules as Protocol>::Message>>;

/// A run of four with a dead node, tampered with.
fn forged(change: impl FnOnce(&mut Words)) -> ReplayError {
    let scenario = Scenario { faults: vec![fault(0, FaultKind::Crash(2))], ..ring(4).started_by_all() };
    let (_, mut records) = watch(&chang_roberts(), &scenario);
    change(&mut records);
    let outcome = replay(&chang_roberts(), &ranks(&scenario), &Setting::of(&scenario), records);
    outcome.expect_err("it is forged")
}

fn find(records: &Words, wanted: impl Fn(&Happening<<Rules as Protocol>::Message>) -> bool) -> usize {
    records.iter().position(|record| wanted(&record.what)).expect("there is such a record")
}

fn is_message<M: Message>(what: &Happening<M>) -> bool {
    matches!(what, Happening::Handled { event: Event::Message { .. }, .. })
}

#[test]
fn forged_records_are_found_out() {
    assert_eq!(forged(|records| drop(records.remove(1))), ReplayError::Number { expected: 1, found: 2 });
    assert_eq!(forged(|records| records[3].node = 9), ReplayError::Position { number: 3, at: 9, size: 4 });
    assert!(matches!(forged(|records| records[0].tick = 5), ReplayError::Tick { number: 1, tick: 0, last: 5 }));
    let effect = forged(|records| {
        if let Happening::Handled { effects, .. } = &mut records[0].what {
            effects.push(Effect::Lead);
        }
    });
    assert_eq!(effect, ReplayError::Effect { number: 0, index: 1, recorded: "Lead".into(), now: "nothing".into() });
    let cause = forged(|records| {
        let at = find(records, is_message);
        records[at].cause = Some(1);
    });
    assert!(matches!(cause, ReplayError::NotUnderWay { .. }), "{cause}");
    let sender = forged(|records| {
        let at = find(records, is_message);
        if let Happening::Handled { peer, .. } = &mut records[at].what {
            *peer = Some(2);
        }
    });
    assert!(matches!(sender, ReplayError::NotUnderWay { .. }), "{sender}");
}

#[test]
fn forged_deaths_and_losses_are_found_out() {
    let crash = |what: &Happening<_>| *what == Happening::Crashed;
    let twice = forged(|records| {
        let at = find(records, crash);
        records[at + 1].node = 2;
        records[at + 1].what = Happening::Crashed;
    });
    assert!(matches!(twice, ReplayError::Turnabout { at: 2, state: "down", .. }), "{twice}");
    let back = forged(|records| {
        let at = find(records, crash);
        records[at].what = Happening::Recovered;
    });
    assert!(matches!(back, ReplayError::Turnabout { at: 2, state: "up", .. }), "{back}");
    let up = forged(|records| {
        let at = find(records, crash);
        records[at].what = Happening::LinkCut { peer: 1 };
    });
    assert!(matches!(up, ReplayError::ReceiverUp { at: 2, .. }), "{up}");
    let by_chance = forged(|records| {
        let at = find(records, |what| matches!(what, Happening::Lost { .. }));
        if let Happening::Lost { why, .. } = &mut records[at].what {
            *why = Loss::Chance;
        }
    });
    assert!(matches!(by_chance, ReplayError::NotLost { at: 1, .. }), "{by_chance}");
    let dead = forged(|records| records[0].node = 2);
    assert!(!matches!(dead, ReplayError::Down { .. }), "at its first record it is not down yet: {dead}");
    let timer = forged(|records| {
        let event = Event::Timer(Timer { kind: 3, token: 1 });
        records[0].what = Happening::Handled { event, peer: None, coins: vec![], effects: vec![] };
    });
    assert!(matches!(timer, ReplayError::Timer { number: 0, kind: 3, token: 1, .. }), "{timer}");
    let coins = forged(|records| {
        if let Happening::Handled { coins, .. } = &mut records[0].what {
            coins.push((6, 1));
        }
    });
    assert_eq!(coins, ReplayError::CoinsLeft { number: 0, left: 1 });
}

#[test]
fn files_are_read_with_care() {
    let scenario = ring(2).started_by_all();
    let header = Header::new("chang-roberts", BTreeMap::new(), &scenario);
    let mut writer = TraceWriter::new(Vec::new(), &header).unwrap();
    general::run(&chang_roberts(), &ranks(&scenario), &scenario, Some(&mut writer));
    let text = String::from_utf8(writer.finish().unwrap()).unwrap();
    let first = text.lines().next().unwrap();
    assert!(first.contains(r#""network":{"kind":"ring","size":2}"#), "{first}");
    let open = |text: &str, limits| TraceFile::open(text.as_bytes(), limits).map(|_| ());
    let all = |text: &str, limits| {
        let mut file = TraceFile::open(text.as_bytes(), limits)?;
        file.records::<<Rules as Protocol>::Message>().map(|record| record.map(|_| 1)).sum::<Result<u32, FileError>>()
    };
    let many = Limits::default();
    let count = text.lines().count() as u32 - 1;
    assert_eq!(all(&text, many).unwrap(), count);
    assert_eq!(all(text.trim_end(), Limits { records: count.into(), ..many }).unwrap(), count);
    assert!(matches!(all(&text, Limits { records: 3, ..many }), Err(FileError::TooMany { line: 5, most: 3 })));
    let long = Limits { line: first.len() as u64, ..many };
    assert!(open(&text, long).is_ok());
    let short = Limits { line: first.len() as u64 - 1, ..many };
    assert!(matches!(open(&text, short), Err(FileError::TooLong { line: 1, .. })));
    assert!(matches!(open("", many), Err(FileError::Empty)));
    assert!(matches!(open("{}\n", many), Err(FileError::Json { line: 1, what: "header", .. })));
    let broken = text.replacen("\"number\":2", "\"number\":x", 1);
    assert!(matches!(all(&broken, many), Err(FileError::Json { line: 4, what: "record", .. })));
    let header_error = |from: &str, to: &str| match open(&text.replacen(from, to, 1), many) {
        Err(FileError::Header(error)) => error,
        other => panic!("{other:?}"),
    };
    assert_eq!(header_error("\"version\":1", "\"version\":7"), HeaderError::Version(7));
    assert_eq!(header_error("[0,1]", "[4,4]"), HeaderError::Twice(4));
    assert_eq!(header_error("[0,1]", "[4]"), HeaderError::Length { what: "ids", given: 1, size: 2 });
    assert_eq!(header_error("\"absent\":[]", "\"absent\":[2]"), HeaderError::Absent { at: 2, size: 2 });
}
