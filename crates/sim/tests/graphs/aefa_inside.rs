//! The diffusing computation as a part of another algorithm: its progress, its aggregates, and what it is told.

use crate::common::erased;
use crate::common::waves::{predicted, started, wave};
use hustings_algorithms::graph::diffusion::{
    Aggregate, AggregateValue, Diffusion, Greatest, Message, Progress, Size, State, Top, Value,
};
use hustings_algorithms::inner_context::InnerContext;
use hustings_protocol::{
    Context, Effect, Event, Fact, Id, NodeInfo, Peers, Port, Protocol, Record, Recorder, StartReason, TraceEvent,
};
use hustings_sim::outcome::Outcome;
use hustings_sim::scenario::{Fault, FaultKind, Scenario};
use proptest::prelude::*;
use serde::{Deserialize, Serialize, de::DeserializeOwned};

/// Says as facts what the inner computation comes to.
#[derive(Clone)]
struct Outer<A: Aggregate<Id>> {
    inner: Diffusion<Id, A>,
    fact: Telling<Value<Id, A>>,
}

/// The fact that some progress is, if any.
type Telling<V> = fn(Progress, &State<Id, V>) -> Option<Fact>;

#[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(bound(serialize = "V: Serialize", deserialize = "V: DeserializeOwned"))]
struct Wrapped<V>(Message<Id, V>);

impl<V: AggregateValue> hustings_protocol::Message for Wrapped<V> {
    const KINDS: &'static [&'static str] = Message::<Id, V>::KINDS;
    fn kind(&self) -> usize {
        self.0.kind()
    }
}

impl<A: Aggregate<Id>> Outer<A> {
    fn inner<C: Context<Self>>(
        &self,
        state: &mut State<Id, A::Value>,
        event: Event<Message<Id, A::Value>>,
        cx: &mut C,
    ) {
        let progress = self.inner.step(state, event, &mut InnerContext::new(cx, Wrapped));
        if let Some(fact) = (self.fact)(progress, state) {
            cx.learn(fact);
        }
    }
}

impl<A: Aggregate<Id>> Protocol for Outer<A> {
    type Rank = Id;
    type State = State<Id, A::Value>;
    type Message = Wrapped<A::Value>;

    fn init(&self) -> Self::State {
        State::new()
    }
    fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, reason: StartReason, cx: &mut C) {
        self.inner(state, Event::Start(reason), cx);
    }
    fn handle_message<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        from: Port,
        message: Self::Message,
        cx: &mut C,
    ) {
        self.inner(state, Event::Message { from, message: message.0 }, cx);
    }
    fn handle_direct<C: Context<Self>>(&self, state: &mut Self::State, from: Id, message: Self::Message, cx: &mut C) {
        self.inner(state, Event::Direct { from, message: message.0 }, cx);
    }
    /// Whoever could not be reached is taken for gone, and nobody else.
    fn handle_unreachable<C: Context<Self>>(&self, state: &mut Self::State, port: Port, _: Self::Message, cx: &mut C) {
        let _progress = self.inner.reach(state, |other, _| other != port, &mut InnerContext::new(cx, Wrapped));
    }
}

/// Runs it, and lists what was learnt: when, where, what.
fn run<A: Aggregate<Id> + Clone>(outer: &Outer<A>, scenario: &Scenario) -> (Outcome, Vec<(u64, u32, Fact)>) {
    let ranks: Vec<Id> = scenario.ids.iter().copied().map(Id).collect();
    let mut records: Vec<Record<_>> = Vec::new();
    let outcome = erased::run(outer.clone(), &ranks, scenario, Some(&mut records));
    let mut facts = Vec::new();
    for record in records {
        let TraceEvent::Handled { effects, .. } = record.what else { continue };
        let learnt = effects.iter().filter_map(|effect| match effect {
            Effect::Learn(fact) => Some((record.tick, record.node, *fact)),
            _ => None,
        });
        facts.extend(learnt);
    }
    (outcome, facts)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 100, ..ProptestConfig::default() })]

    /// The size of the network, counted by a wave.
    #[test]
    fn a_wave_counts_the_nodes(size in 1u32..40, more in 0u32..60, seed: u64, source: u32) {
        let network = crate::common::gossip::graph(size, more, seed);
        let fact = |progress: Progress, state: &State<Id, u64>| {
            progress.contains(Progress::ENDED).then(|| Fact::Size(*state.result().expect("it has ended here")))
        };
        let counting = Outer { inner: Diffusion::new(Size), fact };
        let source = source % size;
        let (outcome, facts) = run(&counting, &started(network.clone(), source));
        prop_assert_eq!(facts, [(wave(&network, source).shrunk, source, Fact::Size(u64::from(size)))]);
        prop_assert_eq!(outcome.leaders, [source], "who counted leads");
    }

    /// The greatest few are known to the winner when its last `leader-ack` is in, just when nothing is under way.
    #[test]
    fn the_winner_knows_the_next_best(size in 1u32..40, more in 0u32..60, seed: u64, source: u32, most in 1u32..6) {
        let network = crate::common::gossip::graph(size, more, seed);
        let fact = |progress: Progress, state: &State<Id, Value<Id, Top>>| {
            let packed = |ranks: &[Id]| ranks.iter().fold(0, |sum, id| sum * 100 + id.0);
            let best = state.result().cloned().flatten();
            progress.contains(Progress::CONFIRMED).then(|| Fact::Name(packed(&best.expect("it leads"))))
        };
        let (outcome, facts) =
            run(&Outer { inner: Diffusion::new(Top { max: most }), fact }, &started(network.clone(), source % size));
        let (by_kind, times) = predicted(&network, source % size, size - 1);
        prop_assert_eq!((outcome.by_kind, outcome.time), (by_kind, times));
        let expected = (0..size).rev().take(most as usize).fold(0, |sum, at| sum * 100 + u64::from(at));
        prop_assert_eq!(facts, [(times.quiescent.unwrap_or(0), size - 1, Fact::Name(expected))]);
    }

    /// Who is told that a neighbour is gone sends nothing there any more: the announcement costs what it costs without
    /// that node.
    #[test]
    fn neighbours_that_are_gone_are_left_out(size in 3u32..30, seed: u64) {
        let network = crate::common::gossip::graph(size, 3 * size, seed);
        let last = size - 1;
        let faults = vec![Fault { tick: 0, what: FaultKind::Crash(last) }];
        let scenario = Scenario { faults, ..started(network.clone(), 0) };
        let (outcome, _) = run(&Outer { inner: Diffusion::new(Greatest), fact: |_, _| None }, &scenario);
        prop_assume!(outcome.agreement);
        let dead = u64::from(network.degree(last));
        let each = 2 * (network.links() - dead) - (u64::from(size) - 2);
        let notified = u64::from(last > 1);
        prop_assert_eq!(outcome.by_kind, [each + dead, each, notified, each, each, 0, 0, 0]);
        prop_assert_eq!((outcome.leaders, outcome.lost), (vec![last - 1], dead));
    }
}

/// Every piece of progress, in order, where everything happens at once, and where it takes its time.
#[test]
fn news_come_when_they_are_due() {
    fn fact<V>(progress: Progress, _: &State<Id, V>) -> Option<Fact> {
        let all = [Progress::ELECTING, Progress::ENDED, Progress::WON, Progress::FOLLOWING, Progress::CONFIRMED];
        let bits =
            all.iter().enumerate().filter(|(_, one)| progress.contains(**one)).map(|(place, _)| 1 << place).sum();
        (!progress.is_none()).then_some(Fact::Name(bits))
    }
    let alone = hustings_sim::topology::Network::Complete(1);
    let outer = Outer { inner: Diffusion::new(Greatest), fact };
    assert_eq!(run(&outer, &started(alone, 0)).1, [(0, 0, Fact::Name(0b10111))]);
    let line = "line".parse::<hustings_sim::topology::Topology>().unwrap().build(3, 0).unwrap();
    let progress: Vec<(u64, u32, u64)> = run(&outer, &started(line, 0))
        .1
        .into_iter()
        .map(|(tick, at, fact)| (tick, at, if let Fact::Name(bits) = fact { bits } else { 0 }))
        .collect();
    let (elects, ended, won, follows, confirmed) = (1, 2, 4, 8, 16);
    assert_eq!(
        progress,
        [
            (0, 0, elects),
            (1, 1, elects),
            (2, 2, elects),
            (4, 0, ended),
            (5, 2, won),
            (6, 1, follows),
            (7, 0, follows),
            (9, 2, confirmed),
        ]
    );
}

/// Who is gone is not written to, until it is back.
#[test]
fn who_is_back_is_written_to_again() {
    let rules = Diffusion::new(Greatest);
    let place = NodeInfo { rank: Id(5), index: 0, size: 4, peers: Peers::Unknown(3) };
    let mut state = rules.init();
    let written_to = |state: &mut State<Id, Id>| {
        let mut effects = Vec::new();
        let _progress = rules.elect(state, &mut Recorder::new(&place, |_| 0, &mut effects));
        effects.iter().flat_map(ports_of).collect::<Vec<_>>()
    };
    assert_eq!(written_to(&mut state), [0, 1, 2]);
    let reach = |state: &mut State<Id, Id>, gone: Option<Port>| {
        let mut effects = Vec::new();
        let context = &mut Recorder::new(&place, |_| 0, &mut effects);
        assert!(rules.reach(state, |port, _| Some(port) != gone, context).is_none());
        effects.iter().flat_map(ports_of).collect::<Vec<_>>()
    };
    assert_eq!(reach(&mut state, Some(Port(1))), [0; 0]);
    assert_eq!(written_to(&mut state), [0, 2]);
    assert_eq!(reach(&mut state, None), [1], "it is told of the election");
    assert_eq!(written_to(&mut state), [0, 1, 2]);
}

/// The ports of a node with three that an effect sends to.
fn ports_of<M>(effect: &Effect<M>) -> Vec<u32> {
    match effect {
        Effect::Send(port, _) => vec![port.0],
        Effect::SendAllBut(except, _) => (0..3).filter(|port| Some(Port(*port)) != *except).collect(),
        _ => Vec::new(),
    }
}
