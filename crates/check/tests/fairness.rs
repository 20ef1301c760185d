//! Infinite executions: the checker reports them only if they are fair.

use crate::support;

use hustings_algorithms::Goal;
use hustings_algorithms::anonymous::ItaiRodeh;
use hustings_algorithms::ring::{ChangRoberts, DolevKlaweRodeh};
use hustings_check::{Channels, FaultBudget, Findings, MaxMessages, Model, Property, Verdict};
use hustings_protocol::{Context, Fact, Id, Port, Protocol, StartReason, StateOrMessage, kinds};
use serde::{Deserialize, Serialize};

use support::{Checked, check, check_protocol, ring, spec};

/// A ball circulates on the ring forever, or until a whistle has reached the node that has the ball.
#[derive(Clone, Copy)]
struct Game {
    has_whistle: bool,
    /// The message that circulates.
    first: Word,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Word {
    Ball,
    Whistle,
    /// Like a ball, but periodic.
    Beacon,
}
kinds!(Word: Ball = "ball", Whistle = "whistle", Beacon = "beacon"; periodic Beacon);

/// Whether a node has heard the whistle.
type Heard = bool;

impl Protocol for Game {
    type Rank = Id;
    type State = Heard;
    type Message = Word;

    fn init(&self) -> Heard {
        false
    }
    fn handle_start<C: Context<Self>>(&self, _: &mut Heard, _: StartReason, cx: &mut C) {
        cx.learn(Fact::Size(1));
        cx.send(Port::NEXT, self.first);
        if self.has_whistle {
            cx.send(Port::PREVIOUS, Word::Whistle);
        }
    }
    fn handle_message<C: Context<Self>>(&self, state: &mut Heard, _: Port, word: Word, cx: &mut C) {
        cx.learn(Fact::Size(1));
        match word {
            Word::Ball | Word::Beacon if *state => {}
            Word::Ball | Word::Beacon => cx.send(Port::NEXT, word),
            Word::Whistle => *state = true,
        }
    }
}

fn game(has_whistle: bool) -> Checked {
    let mut model: Model<Id> = Model { initiators: vec![0], ..ring(&[0, 1, 2]) };
    let mut spec = spec::<ChangRoberts>(&mut model);
    spec.properties = vec![Property::Termination];
    // With the whistle the nodes agree on an estimate; without it there is no leader to agree on.
    spec.goal = if has_whistle { Goal::Estimate } else { Goal::Leader };
    check_protocol(|_| Game { has_whistle, first: Word::Ball }, model, spec)
}

#[test]
fn reports_an_infinite_execution_as_a_lasso() {
    let checked = game(false);
    checked.violates(Property::Termination, 6);
    let Findings { counterexample, .. } = &checked.findings;
    // The start and two first deliveries; then a lap of three.
    assert_eq!(counterexample.as_ref().and_then(|counterexample| counterexample.repeats_from), Some(3));
}

/// The ball can circulate forever only if the whistle is never delivered.
#[test]
fn does_not_report_a_cycle_that_starves_a_message() {
    let checked = game(true);
    assert_eq!(checked.findings.of(Property::Termination), Some(Verdict::Holds));
    assert_eq!(checked.findings.max_messages, MaxMessages::Unbounded);
}

/// Node 1 is told a new round, and then asked by a message of the round before, again and again.
struct Chase;

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Chased {
    Round(u32),
    Question(u32),
    Answer(u32),
}
kinds!(Chased: Round = "round", Question = "question", Answer = "answer");

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
struct Chaser {
    round: u32,
    has_stopped: bool,
}

impl Protocol for Chase {
    type Rank = Id;
    type State = Chaser;
    type Message = Chased;

    fn init(&self) -> Chaser {
        Chaser { round: 0, has_stopped: false }
    }
    fn handle_start<C: Context<Self>>(&self, state: &mut Chaser, _: StartReason, cx: &mut C) {
        state.round = 1;
        let first = [Chased::Round(1), Chased::Question(0), Chased::Question(1)];
        first.into_iter().for_each(|message| cx.send(Port::NEXT, message));
    }
    fn handle_message<C: Context<Self>>(&self, state: &mut Chaser, from: Port, message: Chased, cx: &mut C) {
        match message {
            _ if state.has_stopped => {}
            Chased::Round(round) => state.round = round,
            Chased::Question(round) if round < state.round => cx.send(from, Chased::Answer(state.round)),
            Chased::Question(_) => state.has_stopped = true,
            Chased::Answer(round) => {
                state.round = round + 1;
                cx.send(from, Chased::Round(state.round));
                cx.send(from, Chased::Question(state.round));
            }
        }
    }
    fn rounds(&self, item: StateOrMessage<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        match item {
            StateOrMessage::State(state) => each(&mut state.round),
            StateOrMessage::Message(Chased::Round(round) | Chased::Question(round) | Chased::Answer(round)) => {
                each(round);
            }
        }
    }
}

/// Every question is answered a lap later. Rounds are lowered in each lap, so that the question that waits always looks
/// the same, although it is another one.
#[test]
fn a_message_that_is_delivered_in_another_round_was_not_refused() {
    let mut model: Model<Id> = Model { initiators: vec![0], channels: Channels::Unordered, ..ring(&[0, 1]) };
    let mut spec = spec::<ChangRoberts>(&mut model);
    spec.properties = vec![Property::Termination];
    let checked = check_protocol(|_| Chase, model, spec);
    assert_eq!(checked.findings.of(Property::Termination), Some(Verdict::Violated));
}

/// A copy of a message that circulates forever is no termination, although all nodes agree meanwhile.
#[test]
fn a_message_that_circulates_in_agreement_violates_termination() {
    let budget = FaultBudget { duplicates: 1, ..FaultBudget::default() };
    let checked = check::<DolevKlaweRodeh>(&[], Model { budget, ..ring(&[1, 2]) });
    assert_eq!(checked.findings.of(Property::Termination), Some(Verdict::Violated));
    assert!(checked.findings.max_messages == MaxMessages::Unbounded);
    let lasso = checked.findings.counterexample.as_ref().and_then(|counterexample| counterexample.repeats_from);
    assert!(lasso.is_some(), "it is infinite");
}

/// Only periodic messages may go on forever in agreement.
#[test]
fn periodic_messages_in_agreement_do_not_violate_termination() {
    let circulating = |word: Word| {
        let mut model: Model<Id> = Model { initiators: vec![0], ..ring(&[0, 1, 2]) };
        let mut spec = spec::<ChangRoberts>(&mut model);
        (spec.properties, spec.goal) = (vec![Property::Termination], Goal::Estimate);
        let checked = check_protocol(|_| Game { has_whistle: false, first: word }, model, spec);
        assert_eq!(checked.findings.max_messages, MaxMessages::Unbounded);
        checked.findings.of(Property::Termination)
    };
    assert_eq!(circulating(Word::Beacon), Some(Verdict::Holds));
    assert_eq!(circulating(Word::Ball), Some(Verdict::Violated));
}

/// If the only initiator crashes before it starts, there is no election: that is no counterexample to anything.
#[test]
fn an_initiator_that_crashes_before_it_starts_is_no_counterexample() {
    let budget = FaultBudget { crashes: 1, ..FaultBudget::default() };
    let model = Model { initiators: vec![0], budget, ..ring(&[0, 1]) };
    let checked = check::<ItaiRodeh>(&[], model);
    if let Some(counterexample) = &checked.findings.counterexample {
        let trace = checked.replayed.as_ref().map_or("", |replayed| &replayed.trace);
        assert!(trace.contains("starts"), "{:?}, {}:\n{trace}", counterexample.property, counterexample.len());
    }
}
