//! The checker must find bugs that are seeded into correct algorithms. The mutants wrap the real protocols.

use crate::support;

use hustings_algorithms::graph::diffusion::{Aggregate, Diffusion, Greatest};
use hustings_algorithms::graph::{Aefa, EchoExtinction};
use hustings_algorithms::ring::{ChangRoberts, Franklin, HirschbergSinclair, TokenRing};
use hustings_algorithms::{Algorithm, Instance};
use hustings_check::{Channels, Model, Property, Spec};
use hustings_protocol::{Context, Effect, Event, Id, Peers, Port, Protocol};

use support::{Mutant, NodeEvent, check, check_protocol, ids, protocol, ring, spec};

type Inner<A> = <A as Algorithm>::Protocol<Id>;
type Message<A> = <Inner<A> as Protocol>::Message;
type State<A> = <Inner<A> as Protocol>::State;
type Effects<A> = Vec<Effect<Message<A>>>;

/// An active node forwards smaller ids instead of dropping them.
fn forwards_smaller(node: &mut NodeEvent<'_, Inner<ChangRoberts>, ()>) -> Effects<ChangRoberts> {
    type Word = Message<ChangRoberts>;
    let is_active = matches!(node.state, State::<ChangRoberts>::Active(()));
    let mut effects = node.original();
    match node.event {
        Event::Message { message: Word::Candidate(id), .. } if is_active && id < node.place.rank => {
            effects.push(Effect::Send(Port::NEXT, Word::Candidate(id)));
        }
        _ => {}
    }
    effects
}

#[test]
fn finds_forwarding_of_smaller_ids_in_chang_roberts() {
    let model = || ring(&[1, 2, 3]);
    let mut mutant = model();
    let spec = spec::<ChangRoberts>(&mut mutant);
    let make = |model: &Model<Id>| Mutant::new(protocol::<ChangRoberts>(&[], model), forwards_smaller);
    // On FIFO links the greatest candidate stays ahead of the smaller ones, so the leader is right; but a beaten
    // candidate passes on its own id, and there are too many messages.
    check_protocol(make, mutant.clone(), spec.clone()).violates(Property::Withdrawal, 6);
    let bound = Spec { properties: vec![Property::MessageBound], ..spec.clone() };
    check_protocol(make, mutant.clone(), bound).violates(Property::MessageBound, 18);
    let mutant = Model { channels: Channels::Unordered, ..mutant };
    check_protocol(make, mutant, spec).violates(Property::RightLeader, 5).is_documented();
    check::<ChangRoberts>(&[], model()).holds();
    check::<ChangRoberts>(&[], Model { channels: Channels::Unordered, ..model() }).holds();
}

/// The kill rule of token-ring reversed: a detector drops the tokens of greater detectors, and passes on the others.
fn kills_the_greater(node: &mut NodeEvent<'_, Inner<TokenRing>, ()>) -> Effects<TokenRing> {
    type Word = Message<TokenRing>;
    let is_detector = *node.state == State::<TokenRing>::Detector;
    match &node.event {
        Event::Message { message: Word::Election(token), .. } if is_detector && token.detector > node.place.rank => {
            Vec::new()
        }
        Event::Message { message: Word::Election(token), .. } if is_detector && token.detector < node.place.rank => {
            *node.state = State::<TokenRing>::Voter;
            let effects = node.original();
            *node.state = State::<TokenRing>::Detector;
            effects
        }
        _ => node.original(),
    }
}

/// The leader is right all the same, so only the exact number of messages shows it.
#[test]
fn finds_the_reversed_kill_rule_of_token_ring() {
    let model = || Model { initiators: vec![0, 1], ..ring(&[1, 2, 3]) };
    let mut mutant = model();
    let mut spec = spec::<TokenRing>(&mut mutant);
    spec.max_messages = max_messages::<TokenRing>(&mutant);
    assert_eq!(spec.max_messages, Some(7), "one hop of the lesser token, a lap of the other, a lap of the coordinator");
    let make = |model: &Model<Id>| Mutant::new(protocol::<TokenRing>(&[], model), kills_the_greater);
    check_protocol(make, mutant, spec.clone()).violates(Property::MessageBound, 10);
    check_protocol(|model| protocol::<TokenRing>(&[], model), model(), spec).holds();
}

/// A candidate of Hirschberg–Sinclair that passes on a greater probe forgets that it is beaten.
fn forgets_its_defeat(node: &mut NodeEvent<'_, Inner<HirschbergSinclair>, ()>) -> Effects<HirschbergSinclair> {
    type Word = Message<HirschbergSinclair>;
    let before = *node.state;
    let effects = node.original();
    if matches!(node.event, Event::Message { message: Word::Probe { rank, .. }, .. } if rank > node.place.rank)
        && before != *node.state
        && matches!(before, State::<HirschbergSinclair>::Active(_))
    {
        *node.state = before;
    }
    effects
}

/// A scheduler that lets smaller candidates go first makes the real algorithm send as many messages, so only the
/// property shows it.
#[test]
fn finds_a_forgotten_defeat_in_hirschberg_sinclair() {
    let model = || Model { initiators: vec![0, 2], ..ring(&[4, 1, 3, 2]) };
    let mut mutant = model();
    let mut spec = spec::<HirschbergSinclair>(&mut mutant);
    spec.max_messages = max_messages::<HirschbergSinclair>(&mutant);
    let make = |model: &Model<Id>| Mutant::new(protocol::<HirschbergSinclair>(&[], model), forgets_its_defeat);
    let checked = check_protocol(make, mutant.clone(), spec.clone());
    checked.violates(Property::Withdrawal, 20);
    spec.properties = vec![Property::MessageBound];
    check_protocol(make, mutant, spec).holds();
    check::<HirschbergSinclair>(&[], model()).holds();
}

/// The maximum number of messages over all sets of initiators that start before a message reaches them.
fn max_messages<A: Algorithm>(model: &Model<Id>) -> Option<u64> {
    let order: Vec<u32> =
        model.ranks.iter().map(|rank| model.ranks.iter().filter(|other| *other < rank).count() as u32).collect();
    let sets = (0..1u32 << model.initiators.len()).map(|bits| -> Vec<u32> {
        (0..).zip(&model.initiators).filter(|(nth, _)| bits >> nth & 1 == 1).map(|(_, &at)| at).collect()
    });
    let counts = sets.map(|set| A::expect(&A::Params::default(), &Instance::of(&order, &set)));
    counts.map(|counts| counts.map_or(0, |counts| counts.iter().sum())).max()
}

/// A node becomes passive if the greatest id it receives is its own: `greatest >= own` in place of `greatest > own`.
fn yields_to_itself(node: &mut NodeEvent<'_, Inner<Franklin>, ()>) -> Effects<Franklin> {
    let effects = node.original();
    if !effects.contains(&Effect::Lead) {
        return effects;
    }
    *node.state = State::<Franklin>::Passive;
    Vec::new()
}

#[test]
fn finds_greater_or_equal_in_place_of_greater_in_franklin() {
    let model = || ring(&[1, 2, 3]);
    let mut mutant = model();
    let spec = spec::<Franklin>(&mut mutant);
    let make = |model: &Model<Id>| Mutant::new(protocol::<Franklin>(&[], model), yields_to_itself);
    let checked = check_protocol(make, mutant, spec);
    let replayed = checked.violates(Property::Agreement, 9).is_documented();
    assert!(replayed.outcome.leaders.is_empty());
    check::<Franklin>(&[], model()).holds();
}

/// A node does not send its wave to the last neighbour.
fn skips_last_neighbour(node: &mut NodeEvent<'_, Inner<EchoExtinction>, ()>) -> Effects<EchoExtinction> {
    let last = last_port(node);
    let mut effects = Vec::new();
    for effect in node.original() {
        match effect {
            Effect::SendAllBut(except, message @ Message::<EchoExtinction>::Wave(_)) => {
                let told = (0..last.0).map(Port).filter(|port| Some(*port) != except);
                effects.extend(told.map(|port| Effect::Send(port, message)));
            }
            other => effects.push(other),
        }
    }
    effects
}

fn last_port(node: &NodeEvent<'_, Inner<EchoExtinction>, ()>) -> Port {
    match &node.place.peers {
        Peers::Known(ranks) => Port(ranks.len() as u32 - 1),
        Peers::Unknown(degree) => Port(degree - 1),
    }
}

/// A node decides before the last neighbour has answered its wave.
fn does_not_await_last_neighbour(node: &mut NodeEvent<'_, Inner<EchoExtinction>, ()>) -> Effects<EchoExtinction> {
    let last = last_port(node);
    let started = matches!(node.event, Event::Start(_));
    let mut effects = node.original();
    let begins = effects.iter().any(|effect| matches!(effect, Effect::SendAllBut(None, _)));
    if started && begins {
        // Behaves as if the last neighbour had answered at once.
        let message = Message::<EchoExtinction>::Wave(node.place.rank);
        effects.extend(node.handle(Event::Message { from: last, message }));
    }
    effects
}

fn echo(
    mutate: fn(&mut NodeEvent<'_, Inner<EchoExtinction>, ()>) -> Effects<EchoExtinction>,
    property: Property,
    steps: usize,
) {
    // A line of three with the greatest id at one end, so that its wave must pass the node in the middle.
    let model = || Model::graph(ids(&[3, 1, 2]), &[(0, 1), (1, 2)]);
    let mut mutant = model();
    let spec = spec::<EchoExtinction>(&mut mutant);
    let make = |model: &Model<Id>| Mutant::new(protocol::<EchoExtinction>(&[], model), mutate);
    check_protocol(make, mutant, spec).violates(property, steps).is_documented();
    check::<EchoExtinction>(&[], model()).holds();
}

#[test]
fn finds_a_missing_send_in_echo() {
    echo(skips_last_neighbour, Property::Agreement, 4);
}

#[test]
fn finds_a_missing_wait_in_echo() {
    echo(does_not_await_last_neighbour, Property::OneLeader, 2);
}

/// Aggregates the greatest rank, but nodes answer before their children have.
#[derive(Debug)]
struct Hasty;

impl Aggregate<Id> for Hasty {
    type Value = Id;
    fn own<P: Protocol<Rank = Id>, C: Context<P>>(&self, cx: &C) -> Id {
        Aggregate::<Id>::own::<P, C>(&Greatest, cx)
    }
    fn nothing(&self, own: Id) -> Id {
        Aggregate::<Id>::nothing(&Greatest, own)
    }
    fn merge(&self, gathered: &mut Id, more: Id) {
        Greatest.merge(gathered, more);
    }
    fn winner(&self, gathered: &Id, source: Id) -> Id {
        Greatest.winner(gathered, source)
    }
    fn acks_early(&self, _: Id) -> bool {
        true
    }
}

#[test]
fn finds_early_acknowledgement_in_aefa() {
    // The greatest node is a child of a node that does not wait for it.
    let model = || Model { initiators: vec![0], ..Model::graph(ids(&[1, 2, 3]), &[(0, 1), (1, 2)]) };
    let mut mutant = model();
    let spec = spec::<Aefa>(&mut mutant);
    check_protocol(|_| Diffusion::new(Hasty), mutant, spec).violates(Property::RightLeader, 4).is_documented();
    check::<Aefa>(&[], model()).holds();
}
