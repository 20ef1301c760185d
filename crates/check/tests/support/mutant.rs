//! Mutants: real protocols that handle some events differently.

use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use hustings_protocol::{
    Context, Effect, Epoch, Event, Id, NodeInfo, Peers, Port, Protocol, Recorder, StateOrMessage, handle_events,
};

/// A protocol with some events handled differently. Its nodes have an additional state `X`.
pub(crate) struct Mutant<P, X, F> {
    inner: P,
    mutate: F,
    extra: PhantomData<fn() -> X>,
}

impl<P, X, F> Mutant<P, X, F>
where
    P: Protocol,
    F: Fn(&mut NodeEvent<'_, P, X>) -> Vec<Effect<P::Message>>,
{
    /// The protocol, with `mutate` deciding what a node does about an event.
    pub(crate) fn new(inner: P, mutate: F) -> Self {
        Mutant { inner, mutate, extra: PhantomData }
    }
}

/// One event at one node.
pub(crate) struct NodeEvent<'a, P: Protocol, X> {
    inner: &'a P,
    pub(crate) state: &'a mut P::State,
    pub(crate) extra: &'a mut X,
    pub(crate) event: Event<P::Message>,
    pub(crate) place: &'a NodeInfo<P::Rank>,
    coins: &'a mut dyn FnMut(u64) -> u64,
}

impl<P: Protocol, X> NodeEvent<'_, P, X> {
    /// Handles the event as the original protocol does.
    pub(crate) fn original(&mut self) -> Vec<Effect<P::Message>> {
        self.handle(self.event.clone())
    }

    /// Handles another event as the original protocol does.
    pub(crate) fn handle(&mut self, event: Event<P::Message>) -> Vec<Effect<P::Message>> {
        let mut effects = Vec::new();
        let mut context = Recorder::new(self.place, &mut *self.coins, &mut effects);
        self.inner.handle(self.state, event, &mut context);
        effects
    }
}

impl<P, X, F> Mutant<P, X, F>
where
    P: Protocol,
    X: Clone + Eq + Hash + Debug + Default + Send + Sync + 'static,
    F: Fn(&mut NodeEvent<'_, P, X>) -> Vec<Effect<P::Message>> + Send + Sync + 'static,
{
    fn run<C: Context<Self>>(&self, (state, extra): &mut (P::State, X), event: Event<P::Message>, cx: &mut C) {
        let place = node_info(cx);
        let mut coins = |bound| cx.draw(bound);
        let mut node = NodeEvent { inner: &self.inner, state, extra, event, place: &place, coins: &mut coins };
        let effects = (self.mutate)(&mut node);
        apply(effects, |message| message, cx);
    }
}

/// What a node knows about itself, from its context.
pub(crate) fn node_info<P: Protocol, C: Context<P>>(cx: &C) -> NodeInfo<P::Rank> {
    let ranks: Vec<P::Rank> = (0..cx.degree()).filter_map(|port| cx.peer_rank(Port(port))).collect();
    let is_known = ranks.len() == cx.degree() as usize;
    let peers = if is_known { Peers::Known(ranks) } else { Peers::Unknown(cx.degree()) };
    NodeInfo { rank: cx.rank(), index: cx.index(), size: cx.size(), peers }
}

/// Applies the effects of an inner protocol in the context of the outer one.
pub(crate) fn apply<M, P: Protocol, C: Context<P>>(
    effects: Vec<Effect<M>>,
    wrap: impl Fn(M) -> P::Message,
    cx: &mut C,
) {
    for effect in effects {
        cx.emit(effect.map(&wrap));
    }
}

impl<P, X, F> Protocol for Mutant<P, X, F>
where
    P: Protocol,
    X: Clone + Eq + Hash + Debug + Default + Send + Sync + 'static,
    F: Fn(&mut NodeEvent<'_, P, X>) -> Vec<Effect<P::Message>> + Send + Sync + 'static,
{
    type Rank = P::Rank;
    type State = (P::State, X);
    type Message = P::Message;

    fn init(&self) -> Self::State {
        (self.inner.init(), X::default())
    }
    fn observes_reachability(&self) -> bool {
        self.inner.observes_reachability()
    }
    fn handles_rejoin(&self) -> bool {
        self.inner.handles_rejoin()
    }
    handle_events!(run);
    fn epoch(&self, (state, _): &Self::State) -> Epoch {
        self.inner.epoch(state)
    }
    fn candidacy(&self, message: &P::Message) -> Option<Id> {
        self.inner.candidacy(message)
    }
    fn rounds(&self, held: StateOrMessage<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        match held {
            StateOrMessage::State((state, _)) => self.inner.rounds(StateOrMessage::State(state), each),
            StateOrMessage::Message(message) => self.inner.rounds(StateOrMessage::Message(message), each),
        }
    }
}
