//! Token ring without the rule that a greater detector kills a token.

use hustings_algorithms::ring::TokenRing;
use hustings_algorithms::runs::Runs;
use hustings_algorithms::{Algorithm, Instance};
use hustings_check::{FaultBudget, Model, Property, Spec};
use hustings_protocol::{Effect, Event, Id, Protocol};

use crate::support::{Checked, Mutant, NodeEvent, check_protocol, protocol, ring, spec};

type Inner = <TokenRing as Algorithm>::Protocol<Id>;
type Message = <Inner as Protocol>::Message;
type State = <Inner as Protocol>::State;

/// A detector forwards the tokens of all others.
fn spares_tokens(node: &mut NodeEvent<'_, Inner, ()>) -> Vec<Effect<Message>> {
    match &node.event {
        Event::Message { message: Message::Election(token), .. }
            if *node.state == State::Detector && token.detector != node.place.rank =>
        {
            *node.state = State::Voter;
            let effects = node.original();
            *node.state = State::Detector;
            effects
        }
        _ => node.original(),
    }
}

/// The two lowest nodes detect that there is no leader.
fn two_detectors(crashes: u8, recoveries: u8) -> Model<Id> {
    let budget = FaultBudget { crashes, recoveries, ..FaultBudget::default() };
    Model { initiators: vec![0, 1], reports_leader_loss: true, budget, ..ring(&[1, 2, 3]) }
}

/// The number of messages with the rule: the lesser token gets only as far as the greater detector.
fn bound() -> u64 {
    let params = <TokenRing as Algorithm>::Params::default();
    let counts = TokenRing::expect(&params, &Instance::of(&[0, 1, 2], &[0, 1]));
    counts.map_or(0, |counts| counts.iter().sum())
}

fn token_ring(kills: bool, mut model: Model<Id>, adjust: impl Fn(&mut Spec)) -> Checked {
    let mut spec = spec::<TokenRing>(&mut model);
    adjust(&mut spec);
    let make = |model: &Model<Id>| protocol::<TokenRing>(&[], model);
    match kills {
        true => check_protocol(make, model, spec),
        false => check_protocol(|model| Mutant::new(make(model), spares_tokens), model, spec),
    }
}

#[test]
fn without_the_rule_two_detectors_send_too_much() {
    let bounded = |spec: &mut Spec| spec.max_messages = Some(bound());
    token_ring(false, two_detectors(0, 0), bounded).violates(Property::MessageBound, 14).is_documented();
    token_ring(true, two_detectors(0, 0), bounded).holds();
}

/// One token passes the greatest node, the other one finds it down; then that node recovers.
#[test]
fn without_the_rule_a_crash_makes_two_coordinators() {
    let one = |spec: &mut Spec| spec.properties = vec![Property::OneLeader];
    let checked = token_ring(false, two_detectors(1, 1), one);
    let replayed = checked.violates(Property::OneLeader, 13).is_documented();
    assert_eq!(replayed.outcome.leaders, [1, 2]);
    token_ring(true, two_detectors(1, 1), one).holds();
}

/// The rule does not help against a token that circulates forever because its detector has crashed. Runs do.
#[test]
fn a_token_without_its_detector_circulates_forever_except_in_runs() {
    let terminal_states = |spec: &mut Spec| spec.properties = vec![Property::Termination];
    let checked = token_ring(true, two_detectors(1, 0), terminal_states);
    checked.violates(Property::Termination, 9).is_documented();
    assert_eq!(
        checked.findings.counterexample.as_ref().and_then(|counterexample| counterexample.repeats_from),
        Some(7)
    );

    let model = two_detectors(1, 0);
    let spec = Spec::of(&TokenRing::ABOUT, &model, &[], true);
    let make = |model: &Model<Id>| {
        let inner = protocol::<TokenRing>(&[], model);
        Runs::new(inner, &TokenRing::ABOUT, &model.ranks).with_incarnations(0)
    };
    check_protocol(make, model, spec).holds();
}
