//! Executions that go on for ever: reported where nobody is kept waiting for ever, and only there.

#[allow(dead_code, reason = "every test uses some of it")]
mod support;

use hustings_algorithms::Goal;
use hustings_algorithms::ring::ChangRoberts;
use hustings_check::{Findings, Property, Scene};
use hustings_protocol::{Context, Fact, Id, Port, Protocol, StartReason, kinds};
use serde::{Deserialize, Serialize};

use support::{Found, examine, promise, ring};

/// A ball goes round the ring for ever, or until a whistle has come to the one who has it.
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

fn game(has_whistle: bool) -> Found {
    let mut scene: Scene<Id> = Scene { starters: vec![0], ..ring(&[0, 1, 2]) };
    let mut promise = promise::<ChangRoberts>(&mut scene);
    promise.properties = vec![Property::Termination];
    // All that anybody finds out is that it was asked; to be led would be another goal.
    promise.goal = if has_whistle { Goal::Estimate } else { Goal::Leader };
    examine(|_| Game { has_whistle }, scene, promise)
}

#[test]
fn a_ball_that_nobody_stops_is_a_loop_that_is_shown_whole() {
    let found = game(false);
    found.breaks(Property::Termination, 6);
    let Findings { witness, .. } = &found.findings;
    // The start, and two who have not had the ball yet; then a lap of three.
    assert_eq!(witness.as_ref().and_then(|witness| witness.repeats_from), Some(3));
}

/// The ball can go round for ever only if the whistle is under way for ever.
#[test]
fn a_loop_that_keeps_a_message_waiting_for_ever_is_not_reported() {
    let found = game(true);
    assert_eq!(found.findings.of(Property::Termination), Some(hustings_check::Verdict::Holds));
    assert_eq!(found.findings.most_messages, hustings_check::Most::Unbounded);
}
