//! Infinite executions: the checker reports them only if they are fair.

use crate::support;

use hustings_algorithms::Goal;
use hustings_algorithms::ring::ChangRoberts;
use hustings_check::{Findings, Model, Property};
use hustings_protocol::{Context, Fact, Id, Port, Protocol, StartReason, kinds};
use serde::{Deserialize, Serialize};

use support::{Checked, check_protocol, ring, spec};

/// A ball circulates on the ring forever, or until a whistle has reached the node that has the ball.
#[derive(Clone, Copy)]
struct Game {
    has_whistle: bool,
}

#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
enum Word {
    Ball,
    Whistle,
}
kinds!(Word: Ball = "ball", Whistle = "whistle");

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
        cx.send(Port::NEXT, Word::Ball);
        if self.has_whistle {
            cx.send(Port::PREVIOUS, Word::Whistle);
        }
    }
    fn handle_message<C: Context<Self>>(&self, state: &mut Heard, _: Port, word: Word, cx: &mut C) {
        cx.learn(Fact::Size(1));
        match word {
            Word::Ball if *state => {}
            Word::Ball => cx.send(Port::NEXT, Word::Ball),
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
    check_protocol(|_| Game { has_whistle }, model, spec)
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
    assert_eq!(checked.findings.of(Property::Termination), Some(hustings_check::Verdict::Holds));
    assert_eq!(checked.findings.max_messages, hustings_check::MaxMessages::Unbounded);
}
