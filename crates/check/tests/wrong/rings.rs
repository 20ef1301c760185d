//! Token ring without the rule that a greater detector kills a token.

use hustings_algorithms::ring::TokenRing;
use hustings_algorithms::runs::Runs;
use hustings_algorithms::{Algorithm, Instance};
use hustings_check::{Budget, Promise, Property, Scene};
use hustings_protocol::{Effect, Event, Id, Protocol};

use crate::support::{Bent, Found, Turn, examine, promise, protocol, ring};

type Inner = <TokenRing as Algorithm>::Protocol<Id>;
type Message = <Inner as Protocol>::Message;
type State = <Inner as Protocol>::State;

/// A detector passes on the tokens of others, whoever they are.
fn spares_tokens(turn: &mut Turn<'_, Inner, ()>) -> Vec<Effect<Message>> {
    match &turn.event {
        Event::Message { message: Message::Election(token), .. }
            if *turn.state == State::Detector && token.detector != turn.place.rank =>
        {
            *turn.state = State::Voter;
            let effects = turn.straight();
            *turn.state = State::Detector;
            effects
        }
        _ => turn.straight(),
    }
}

/// The two lowest detect that there is no leader.
fn two_detectors(crashes: u8, recoveries: u8) -> Scene<Id> {
    let budget = Budget { crashes, recoveries, ..Budget::default() };
    Scene { starters: vec![0, 1], notices: true, budget, ..ring(&[1, 2, 3]) }
}

/// What the rule allows two detectors: the lesser token gets as far as the greater detector.
fn bound() -> u64 {
    let params = <TokenRing as Algorithm>::Params::default();
    let counts = TokenRing::expect(&params, &Instance::of(&[0, 1, 2], &[0, 1]));
    counts.map_or(0, |counts| counts.iter().sum())
}

fn token_ring(kills: bool, mut scene: Scene<Id>, promised: impl Fn(&mut Promise)) -> Found {
    let mut promise = promise::<TokenRing>(&mut scene);
    promised(&mut promise);
    let make = |scene: &Scene<Id>| protocol::<TokenRing>(&[], scene);
    match kills {
        true => examine(make, scene, promise),
        false => examine(|scene| Bent::new(make(scene), spares_tokens), scene, promise),
    }
}

#[test]
fn two_detectors_that_kill_no_tokens_send_too_much() {
    let bounded = |promise: &mut Promise| promise.most_messages = Some(bound());
    token_ring(false, two_detectors(0, 0), bounded).breaks(Property::MessageBound, 14).is_on_the_page();
    token_ring(true, two_detectors(0, 0), bounded).holds();
}

/// One of two tokens finds the greatest up, the other one finds it down; then it is back.
#[test]
fn a_crash_between_two_tokens_makes_two_coordinators() {
    let one = |promise: &mut Promise| promise.properties = vec![Property::OneLeader];
    let found = token_ring(false, two_detectors(1, 1), one);
    let shown = found.breaks(Property::OneLeader, 13).is_on_the_page();
    assert_eq!(shown.outcome.leaders, [1, 2]);
    token_ring(true, two_detectors(1, 1), one).holds();
}

/// What the rule does not mend: a token whose detector is gone goes round for ever. In runs it does not.
#[test]
fn a_token_that_has_lost_its_detector_goes_round_for_ever_but_not_in_runs() {
    let ends = |promise: &mut Promise| promise.properties = vec![Property::Termination];
    let found = token_ring(true, two_detectors(1, 0), ends);
    found.breaks(Property::Termination, 9).is_on_the_page();
    assert_eq!(found.findings.witness.as_ref().and_then(|witness| witness.repeats_from), Some(7));

    let scene = two_detectors(1, 0);
    let promise = Promise::of(&TokenRing::ABOUT, &scene, &[], true);
    let make = |scene: &Scene<Id>| {
        let inner = protocol::<TokenRing>(&[], scene);
        Runs::new(inner, &TokenRing::ABOUT, &scene.ranks).with_incarnations(0)
    };
    examine(make, scene, promise).holds();
}
