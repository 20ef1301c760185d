//! Small traces for the tests of the formats.

use hustings_protocol::{Effect, Event, Id, Loss, Port, Record, StartReason, Timer, TraceEvent, kinds};
use proptest::prelude::*;
use serde::{Deserialize, Serialize};

use super::Names;
use crate::topology::Network;

/// Messages with every form of contents.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Word {
    Candidate(u64),
    Elected(u64),
    Probe { id: u64, phase: u32 },
    Report { tokens: Vec<u64>, dirty: bool, last: bool, next: Option<u64> },
    Label(String),
    Wake,
}
kinds!(Word: Candidate = "candidate", Elected = "elected", Probe = "probe", Report = "report", Label = "label", Wake = "wake");

type Records = Vec<Record<Word>>;

fn push(records: &mut Records, tick: u64, node: u32, cause: Option<u64>, what: TraceEvent<Word>) {
    records.push(Record { number: records.len() as u64, tick, node, cause, nth: 0, copy: false, what });
}

fn handled(event: Event<Word>, peer: Option<u32>, effects: Vec<Effect<Word>>) -> TraceEvent<Word> {
    TraceEvent::Handled { event, peer, coins: vec![], effects }
}

fn next(word: Word) -> Effect<Word> {
    Effect::Send(Port::NEXT, word)
}

pub(super) fn ring_names() -> Names {
    Names::new("a ring of three", vec![3, 4, 5], Network::Ring(3))
}

/// Chang–Roberts with ids 3, 4, 5.
pub(super) fn ring() -> Records {
    use Word::{Candidate, Elected};
    let mut records = Vec::new();
    let mut start = |node: u32, id| {
        push(&mut records, 0, node, None, handled(Event::Start(StartReason::Start), None, vec![next(Candidate(id))]));
    };
    (0..3).for_each(|node| start(node, 3 + u64::from(node)));
    let mut receive = |tick, node: u32, cause, message: Word, effects| {
        let event = Event::Message { from: Port::PREVIOUS, message };
        push(&mut records, tick, node, Some(cause), handled(event, Some((node + 2) % 3), effects));
    };
    receive(1, 0, 2, Candidate(5), vec![next(Candidate(5))]);
    receive(1, 1, 0, Candidate(3), vec![]);
    receive(1, 2, 1, Candidate(4), vec![]);
    receive(2, 1, 3, Candidate(5), vec![next(Candidate(5))]);
    receive(3, 2, 6, Candidate(5), vec![Effect::Lead, next(Elected(5))]);
    receive(4, 0, 7, Elected(5), vec![Effect::Follow(Id(5)), next(Elected(5))]);
    receive(5, 1, 8, Elected(5), vec![Effect::Follow(Id(5)), next(Elected(5))]);
    receive(6, 2, 9, Elected(5), vec![]);
    records
}

pub(super) fn fault_names() -> Names {
    Names::new("faults & <detours>", vec![10, 20, 300], Network::Ring(3))
}

/// All kinds of faults. No algorithm behaves exactly like this.
pub(super) fn faults() -> Records {
    let probe = Word::Probe { id: 10, phase: 2 };
    let report = Word::Report { tokens: vec![10, 20], dirty: true, last: false, next: None };
    let timer = Timer { kind: 1, token: 4 };
    let mut records = Vec::new();
    let mut add = |tick, node, cause, what| push(&mut records, tick, node, cause, what);
    add(0, 1, None, TraceEvent::Crashed);
    add(
        0,
        0,
        None,
        TraceEvent::Handled {
            event: Event::Start(StartReason::Start),
            peer: None,
            coins: vec![(8, 3)],
            effects: vec![next(probe.clone()), Effect::SetTimer(2, timer)],
        },
    );
    add(1, 1, Some(1), TraceEvent::Lost { peer: 0, message: probe.clone(), why: Loss::ReceiverDown });
    let back = Event::Unreachable { port: Port::NEXT, message: probe };
    add(2, 0, Some(1), handled(back, Some(1), vec![Effect::Skip(Port::NEXT), next(Word::Wake)]));
    add(2, 0, Some(1), handled(Event::Timer(timer), None, vec![Effect::SendAllBut(None, Word::Wake)]));
    let wake = Event::Message { from: Port::PREVIOUS, message: Word::Wake };
    add(3, 2, Some(3), handled(wake, Some(0), vec![Effect::SendDirect(Id(10), report.clone())]));
    add(4, 0, Some(5), handled(Event::Direct { from: Id(300), message: report }, Some(2), vec![Effect::Forget]));
    add(5, 1, None, TraceEvent::Recovered);
    add(5, 0, None, TraceEvent::LinkCut { peer: 2 });
    add(5, 2, Some(4), TraceEvent::Lost { peer: 0, message: Word::Wake, why: Loss::Cut });
    add(6, 0, None, TraceEvent::LinkHealed { peer: 2 });
    add(7, 2, None, handled(Event::Retire, None, vec![]));
    add(7, 2, None, TraceEvent::Retired);
    records
}

/// A trace that no engine writes but a file may hold: positions, ports and causes that do not exist, hostile text.
pub(super) fn invalid() -> Records {
    let label = Word::Label("</title><script>;#\n&\"'".to_string());
    let mut records = Vec::new();
    let came = Event::Message { from: Port(77), message: label.clone() };
    let effects =
        vec![Effect::Send(Port(99), label.clone()), Effect::Skip(Port(7)), Effect::SendRange(0..20, Word::Wake)];
    push(&mut records, 9, 40, Some(5), handled(came, None, effects));
    push(&mut records, 3, 41, Some(0), TraceEvent::Lost { peer: 1_000_000, message: label, why: Loss::Chance });
    push(&mut records, u64::MAX, 2, Some(1), handled(Event::Direct { from: Id(1), message: Word::Wake }, None, vec![]));
    records
}

/// Any trace, valid or not.
pub(super) fn any_trace() -> impl Strategy<Value = Records> {
    let word = prop_oneof![
        proptest::num::u64::ANY.prop_map(Word::Candidate),
        ".*".prop_map(Word::Label),
        (proptest::num::u64::ANY, proptest::num::u32::ANY).prop_map(|(id, phase)| Word::Probe { id, phase }),
        Just(Word::Wake),
    ];
    let effect = (0..4u32, word.clone()).prop_map(|(choice, word)| match choice {
        0 => next(word),
        1 => Effect::Lead,
        2 => Effect::Skip(Port::NEXT),
        _ => Effect::Follow(Id(1)),
    });
    let what = (0..6u32, word, proptest::option::of(0..9u32), proptest::collection::vec(effect, 0..3)).prop_map(
        |(choice, message, peer, effects)| match choice {
            0 | 1 => handled(Event::Message { from: Port::PREVIOUS, message }, peer, effects),
            2 => handled(Event::Unreachable { port: Port::NEXT, message }, peer, effects),
            3 => TraceEvent::Lost { peer: peer.unwrap_or(0), message, why: Loss::Chance },
            4 => TraceEvent::Crashed,
            _ => TraceEvent::Joined,
        },
    );
    let record = (prop_oneof![0..20u64, proptest::num::u64::ANY], 0..8u32, proptest::option::of(0..40u64), what);
    proptest::collection::vec(record, 0..40).prop_map(|rows| {
        let mut records = Vec::new();
        rows.into_iter().for_each(|(tick, node, cause, what)| push(&mut records, tick, node, cause, what));
        records
    })
}
