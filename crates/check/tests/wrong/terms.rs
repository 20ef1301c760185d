//! Several elections, one after the other: a leader's term ends, and the next election begins where not everybody has
//! heard of the end of the last.

use hustings_algorithms::ring::ChangRoberts;
use hustings_check::{Property, Scene};
use hustings_protocol::{Context, Effect, Epoch, Event, Id, Message, Port, Protocol, Recorder, StartReason, Timer};
use serde::{Deserialize, Serialize};

use crate::support::{Found, carry_out, examine, place_of, promise, protocol, ring};

/// A protocol twice in a row. With epochs, everything that is said carries the number of the election.
struct Twice<P> {
    inner: P,
    has_epochs: bool,
}

/// What is said, and in which election.
#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound = "")]
struct Said<M: Message> {
    epoch: u32,
    #[serde(rename = "says")]
    message: M,
}

impl<M: Message> Message for Said<M> {
    const KINDS: &'static [&'static str] = M::KINDS;
    fn kind(&self) -> usize {
        self.message.kind()
    }
}

/// A leader's term ends.
const TERM: u8 = 0x40;
const ELECTIONS: u32 = 2;

/// Where a node stands in one of the elections.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State<S> {
    epoch: u32,
    inner: S,
    /// Whether it has named a leader, whose term will end.
    is_set: bool,
}

type StateOf<P> = State<<P as Protocol>::State>;

impl<P: Protocol> Twice<P> {
    fn run<C: Context<Self>>(&self, state: &mut StateOf<P>, event: Event<P::Message>, cx: &mut C) {
        let place = place_of(cx);
        let mut effects = Vec::new();
        self.inner.handle(&mut state.inner, event, &mut Recorder::new(&place, |bound| cx.draw(bound), &mut effects));
        let names = effects.iter().any(|effect| matches!(effect, Effect::Lead | Effect::Follow(_)));
        if names && !state.is_set && state.epoch + 1 < ELECTIONS {
            state.is_set = true;
            effects.push(Effect::SetTimer(1, Timer { kind: TERM, token: state.epoch }));
        }
        let said = if self.has_epochs { state.epoch } else { 0 };
        carry_out(effects, |message| Said { epoch: said, message }, cx);
    }

    fn begin<C: Context<Self>>(&self, state: &mut StateOf<P>, epoch: u32, cx: &mut C) {
        *state = State { epoch, inner: self.inner.init(), is_set: false };
        cx.forget();
    }
}

impl<P: Protocol> Protocol for Twice<P> {
    type Rank = P::Rank;
    type State = StateOf<P>;
    type Message = Said<P::Message>;

    fn init(&self) -> StateOf<P> {
        State { epoch: 0, inner: self.inner.init(), is_set: false }
    }
    fn handle_start<C: Context<Self>>(&self, state: &mut StateOf<P>, reason: StartReason, cx: &mut C) {
        self.run(state, Event::Start(reason), cx);
    }
    fn handle_message<C: Context<Self>>(&self, state: &mut StateOf<P>, from: Port, said: Said<P::Message>, cx: &mut C) {
        if self.has_epochs && said.epoch < state.epoch {
            return;
        }
        if self.has_epochs && said.epoch > state.epoch {
            self.begin(state, said.epoch, cx);
        }
        self.run(state, Event::Message { from, message: said.message }, cx);
    }
    fn handle_timer<C: Context<Self>>(&self, state: &mut StateOf<P>, timer: Timer, cx: &mut C) {
        if timer.token == state.epoch {
            self.begin(state, state.epoch + 1, cx);
            self.run(state, Event::Start(StartReason::Start), cx);
        }
    }
    fn epoch(&self, state: &StateOf<P>) -> Epoch {
        if self.has_epochs { Epoch(state.epoch.into(), 0, 0) } else { Epoch::ONLY }
    }
}

fn twice(has_epochs: bool, ranks: &[u64], checked: &[Property]) -> Found {
    let mut scene: Scene<Id> = ring(ranks);
    let mut promise = promise::<ChangRoberts>(&mut scene);
    promise.properties = checked.to_vec();
    examine(|scene| Twice { inner: protocol::<ChangRoberts>(&[], scene), has_epochs }, scene, promise)
}

/// Garavel and Mounier found the algorithm wrong where several elections follow each other. Here nobody ever leads
/// beside another, but the second election is lost: who still leads from the first swallows the candidates.
#[test]
fn two_elections_in_a_row_are_mixed_up_without_epochs() {
    twice(false, &[1, 2], &[Property::Agreement]).breaks(Property::Agreement, 10).is_on_the_page();
    twice(false, &[1, 2, 3], &[Property::Agreement]).breaks(Property::Agreement, 15);
    twice(false, &[1, 2, 3], &[Property::Termination]).breaks(Property::Termination, 9);
    twice(false, &[1, 2, 3], &[Property::OneLeader]).holds();
    for ranks in [&[1, 2][..], &[1, 2, 3], &[3, 2, 1]] {
        twice(true, ranks, &[Property::OneLeader, Property::Agreement, Property::Termination]).holds();
    }
}
