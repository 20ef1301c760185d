//! A checker that never fails says nothing: bugs are planted in algorithms that pass, and must be found.
//!
//! What is bent is the real protocol, not a copy of it.

#[allow(dead_code, reason = "every test uses some of it")]
mod support;

use hustings_algorithms::Algorithm;
use hustings_algorithms::graph::diffusion::{Aggregate, Diffusion, Greatest};
use hustings_algorithms::graph::{Aefa, EchoExtinction};
use hustings_algorithms::ring::{ChangRoberts, Franklin};
use hustings_check::{Channels, Property, Scene};
use hustings_protocol::{Context, Effect, Event, Id, Peers, Port, Protocol};

use support::{Bent, Turn, check, examine, ids, promise, protocol, ring};

type Inner<A> = <A as Algorithm>::Protocol<Id>;
type Message<A> = <Inner<A> as Protocol>::Message;
type State<A> = <Inner<A> as Protocol>::State;
type Effects<A> = Vec<Effect<Message<A>>>;

/// An active node passes smaller ids on instead of dropping them.
fn forwards_smaller(turn: &mut Turn<'_, Inner<ChangRoberts>, ()>) -> Effects<ChangRoberts> {
    type Word = Message<ChangRoberts>;
    let is_active = matches!(turn.state, State::<ChangRoberts>::Active(()));
    let mut effects = turn.straight();
    match turn.event {
        Event::Message { message: Word::Candidate(id), .. } if is_active && id < turn.place.rank => {
            effects.push(Effect::Send(Port::NEXT, Word::Candidate(id)));
        }
        _ => {}
    }
    effects
}

#[test]
fn forwarding_smaller_ids_in_chang_roberts_is_found() {
    let scene = || ring(&[1, 2, 3]);
    let mut bent = scene();
    let promise = promise::<ChangRoberts>(&mut bent);
    let make = |scene: &Scene<Id>| Bent::new(protocol::<ChangRoberts>(&[], scene), forwards_smaller);
    // Where links keep order, the greatest candidate is always ahead of smaller ones: it only costs too much.
    examine(make, bent.clone(), promise.clone()).breaks(Property::MessageBound, 18);
    let bent = Scene { channels: Channels::Unordered, ..bent };
    examine(make, bent, promise).breaks(Property::RightLeader, 5).is_on_the_page();
    check::<ChangRoberts>(&[], scene()).holds();
    check::<ChangRoberts>(&[], Scene { channels: Channels::Unordered, ..scene() }).holds();
}

/// Who finds nobody greater than itself is out of the race all the same, if the greatest it hears of is itself: that is
/// `greatest >= own` where the algorithm says `greatest > own`.
fn yields_to_itself(turn: &mut Turn<'_, Inner<Franklin>, ()>) -> Effects<Franklin> {
    let effects = turn.straight();
    if !effects.contains(&Effect::Lead) {
        return effects;
    }
    *turn.state = State::<Franklin>::Passive;
    Vec::new()
}

#[test]
fn comparing_with_greater_or_equal_in_franklin_is_found() {
    let scene = || ring(&[1, 2, 3]);
    let mut bent = scene();
    let promise = promise::<Franklin>(&mut bent);
    let make = |scene: &Scene<Id>| Bent::new(protocol::<Franklin>(&[], scene), yields_to_itself);
    let found = examine(make, bent, promise);
    let shown = found.breaks(Property::Agreement, 9).is_on_the_page();
    assert!(shown.outcome.leaders.is_empty());
    check::<Franklin>(&[], scene()).holds();
}

/// A wave does not go to the last neighbour.
fn does_not_tell_the_last(turn: &mut Turn<'_, Inner<EchoExtinction>, ()>) -> Effects<EchoExtinction> {
    let last = last_port(turn);
    let mut effects = Vec::new();
    for effect in turn.straight() {
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

fn last_port(turn: &Turn<'_, Inner<EchoExtinction>, ()>) -> Port {
    match &turn.place.peers {
        Peers::Known(ranks) => Port(ranks.len() as u32 - 1),
        Peers::Unknown(degree) => Port(degree - 1),
    }
}

/// A wave is taken to be back before the last neighbour has answered: who waits for nobody more than it, decides.
fn does_not_wait_for_the_last(turn: &mut Turn<'_, Inner<EchoExtinction>, ()>) -> Effects<EchoExtinction> {
    let last = last_port(turn);
    let started = matches!(turn.event, Event::Start(_));
    let mut effects = turn.straight();
    let begins = effects.iter().any(|effect| matches!(effect, Effect::SendAllBut(None, _)));
    if started && begins {
        // As if the last one had answered at once.
        let message = Message::<EchoExtinction>::Wave(turn.place.rank);
        effects.extend(turn.handle(Event::Message { from: last, message }));
    }
    effects
}

fn echo(
    bend: fn(&mut Turn<'_, Inner<EchoExtinction>, ()>) -> Effects<EchoExtinction>,
    property: Property,
    steps: usize,
) {
    // A line of three, with the greatest at one end: what it says must pass the one in the middle.
    let scene = || Scene::graph(ids(&[3, 1, 2]), &[(0, 1), (1, 2)]);
    let mut bent = scene();
    let promise = promise::<EchoExtinction>(&mut bent);
    let make = |scene: &Scene<Id>| Bent::new(protocol::<EchoExtinction>(&[], scene), bend);
    examine(make, bent, promise).breaks(property, steps).is_on_the_page();
    check::<EchoExtinction>(&[], scene()).holds();
}

#[test]
fn forgetting_to_tell_a_neighbour_in_echo_is_found() {
    echo(does_not_tell_the_last, Property::Agreement, 4);
}

#[test]
fn forgetting_to_wait_for_a_neighbour_in_echo_is_found() {
    echo(does_not_wait_for_the_last, Property::OneLeader, 2);
}

/// The greatest rank, gathered by nodes that answer before those behind them have.
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
fn acknowledging_before_all_children_in_aefa_is_found() {
    // The greatest is behind the one that does not wait for it.
    let scene = || Scene { starters: vec![0], ..Scene::graph(ids(&[1, 2, 3]), &[(0, 1), (1, 2)]) };
    let mut bent = scene();
    let promise = promise::<Aefa>(&mut bent);
    examine(|_| Diffusion::new(Hasty), bent, promise).breaks(Property::RightLeader, 4).is_on_the_page();
    check::<Aefa>(&[], scene()).holds();
}
