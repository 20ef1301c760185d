//! Consecutive elections: a leader's term ends, and the next election begins before all nodes know the result of the
//! last.

use hustings_algorithms::ring::ChangRoberts;
use hustings_check::{Model, Property};
use hustings_protocol::{Context, Effect, Epoch, Event, Id, Message, Port, Protocol, Recorder, StartReason, Timer};
use serde::{Deserialize, Serialize};

use crate::support::{Checked, apply, check_protocol, node_info, protocol, ring, spec};

/// Runs a protocol twice in a row. With epochs, every message carries the number of its election.
struct Twice<P> {
    inner: P,
    has_epochs: bool,
}

/// A message, with the number of its election.
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

/// The timer for the end of a leader's term.
const TERM: u8 = 0x40;
const ELECTIONS: u32 = 2;

/// The state of a node in one of the elections.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
struct State<S> {
    epoch: u32,
    inner: S,
    /// Whether the timer of the leader's term is set.
    is_set: bool,
}

type StateOf<P> = State<<P as Protocol>::State>;

impl<P: Protocol> Twice<P> {
    fn run<C: Context<Self>>(&self, state: &mut StateOf<P>, event: Event<P::Message>, cx: &mut C) {
        let place = node_info(cx);
        let mut effects = Vec::new();
        self.inner.handle(&mut state.inner, event, &mut Recorder::new(&place, |bound| cx.draw(bound), &mut effects));
        let names = effects.iter().any(|effect| matches!(effect, Effect::Lead | Effect::Follow(_)));
        if names && !state.is_set && state.epoch + 1 < ELECTIONS {
            state.is_set = true;
            effects.push(Effect::SetTimer(1, Timer { kind: TERM, token: state.epoch }));
        }
        let said = if self.has_epochs { state.epoch } else { 0 };
        apply(effects, |message| Said { epoch: said, message }, cx);
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

fn twice(has_epochs: bool, ranks: &[u64], checked: &[Property]) -> Checked {
    let mut model: Model<Id> = ring(ranks);
    let mut spec = spec::<ChangRoberts>(&mut model);
    spec.properties = checked.to_vec();
    check_protocol(|model| Twice { inner: protocol::<ChangRoberts>(&[], model), has_epochs }, model, spec)
}

/// Garavel and Mounier found that the algorithm fails in consecutive elections. Here there are never two leaders, but
/// the second election fails: the leader of the first one swallows its candidates.
#[test]
fn consecutive_elections_interfere_without_epochs() {
    twice(false, &[1, 2], &[Property::Agreement]).violates(Property::Agreement, 10).is_documented();
    twice(false, &[1, 2, 3], &[Property::Agreement]).violates(Property::Agreement, 15);
    twice(false, &[1, 2, 3], &[Property::Termination]).violates(Property::Termination, 25);
    twice(false, &[1, 2, 3], &[Property::OneLeader]).holds();
    for ranks in [&[1, 2][..], &[1, 2, 3], &[3, 2, 1]] {
        twice(true, ranks, &[Property::OneLeader, Property::Agreement, Property::Termination]).holds();
    }
}
