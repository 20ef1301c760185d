//! A protocol that is bent: the real one, with something done differently.

use std::fmt::Debug;
use std::hash::Hash;
use std::marker::PhantomData;

use hustings_protocol::{
    Change, Context, Effect, Epoch, Event, Id, NodeInfo, Peers, Port, Protocol, Recorder, StartReason, StateOrMessage,
    Timer,
};

/// A protocol of which some events are handled differently. Its nodes remember something more, an `X`.
pub(crate) struct Bent<P, X, F> {
    inner: P,
    bend: F,
    extra: PhantomData<fn() -> X>,
}

impl<P, X, F> Bent<P, X, F>
where
    P: Protocol,
    F: Fn(&mut Turn<'_, P, X>) -> Vec<Effect<P::Message>>,
{
    /// What `bend` makes of the protocol: it says what a node does about an event.
    pub(crate) fn new(inner: P, bend: F) -> Self {
        Bent { inner, bend, extra: PhantomData }
    }
}

/// One event at one node.
pub(crate) struct Turn<'a, P: Protocol, X> {
    inner: &'a P,
    pub(crate) state: &'a mut P::State,
    pub(crate) extra: &'a mut X,
    pub(crate) event: Event<P::Message>,
    pub(crate) place: &'a NodeInfo<P::Rank>,
    coins: &'a mut dyn FnMut(u64) -> u64,
}

impl<P: Protocol, X> Turn<'_, P, X> {
    /// What the protocol itself does.
    pub(crate) fn straight(&mut self) -> Vec<Effect<P::Message>> {
        self.handle(self.event.clone())
    }

    /// What the protocol itself does about another event.
    pub(crate) fn handle(&mut self, event: Event<P::Message>) -> Vec<Effect<P::Message>> {
        let mut effects = Vec::new();
        let mut context = Recorder::new(self.place, &mut *self.coins, &mut effects);
        self.inner.handle(self.state, event, &mut context);
        effects
    }
}

impl<P, X, F> Bent<P, X, F>
where
    P: Protocol,
    X: Clone + Eq + Hash + Debug + Default + Send + Sync + 'static,
    F: Fn(&mut Turn<'_, P, X>) -> Vec<Effect<P::Message>> + Send + Sync + 'static,
{
    fn turn<C: Context<Self>>(&self, (state, extra): &mut (P::State, X), event: Event<P::Message>, cx: &mut C) {
        let place = place_of(cx);
        let mut coins = |bound| cx.draw(bound);
        let mut turn = Turn { inner: &self.inner, state, extra, event, place: &place, coins: &mut coins };
        let effects = (self.bend)(&mut turn);
        carry_out(effects, |message| message, cx);
    }
}

/// What a context says of a node's place.
pub(crate) fn place_of<P: Protocol, C: Context<P>>(cx: &C) -> NodeInfo<P::Rank> {
    let ranks: Vec<P::Rank> = (0..cx.degree()).filter_map(|port| cx.peer_rank(Port(port))).collect();
    let is_known = ranks.len() == cx.degree() as usize;
    let peers = if is_known { Peers::Known(ranks) } else { Peers::Unknown(cx.degree()) };
    NodeInfo { rank: cx.rank(), index: cx.index(), size: cx.size(), peers }
}

/// Carries out the effects of a protocol in the context of one around it.
pub(crate) fn carry_out<M, P: Protocol, C: Context<P>>(
    effects: Vec<Effect<M>>,
    wrap: impl Fn(M) -> P::Message,
    cx: &mut C,
) {
    for effect in effects {
        match effect {
            Effect::Send(port, message) => cx.send(port, wrap(message)),
            Effect::SendAllBut(except, message) => cx.send_all_but(except, wrap(message)),
            Effect::SendRange(ports, message) => cx.send_range(ports, wrap(message)),
            Effect::SendDirect(to, message) => cx.send_direct(to, wrap(message)),
            Effect::SendTo(member, message) => cx.send_to(member, wrap(message)),
            Effect::SetTimer(after, timer) => cx.set_timer(after, timer),
            Effect::Lead => cx.lead(),
            Effect::Follow(leader) => cx.follow(leader),
            Effect::Forget => cx.forget(),
            Effect::Learn(fact) => cx.learn(fact),
            Effect::Skip(port) => cx.skip(port),
        }
    }
}

impl<P, X, F> Protocol for Bent<P, X, F>
where
    P: Protocol,
    X: Clone + Eq + Hash + Debug + Default + Send + Sync + 'static,
    F: Fn(&mut Turn<'_, P, X>) -> Vec<Effect<P::Message>> + Send + Sync + 'static,
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
    fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, reason: StartReason, cx: &mut C) {
        self.turn(state, Event::Start(reason), cx);
    }
    fn handle_message<C: Context<Self>>(&self, state: &mut Self::State, from: Port, message: P::Message, cx: &mut C) {
        self.turn(state, Event::Message { from, message }, cx);
    }
    fn handle_direct<C: Context<Self>>(&self, state: &mut Self::State, from: Id, message: P::Message, cx: &mut C) {
        self.turn(state, Event::Direct { from, message }, cx);
    }
    fn handle_unreachable<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        port: Port,
        message: P::Message,
        cx: &mut C,
    ) {
        self.turn(state, Event::Unreachable { port, message }, cx);
    }
    fn handle_unreachable_direct<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        to: Id,
        message: P::Message,
        cx: &mut C,
    ) {
        self.turn(state, Event::UnreachableDirect { to, message }, cx);
    }
    fn handle_timer<C: Context<Self>>(&self, state: &mut Self::State, timer: Timer, cx: &mut C) {
        self.turn(state, Event::Timer(timer), cx);
    }
    fn handle_change<C: Context<Self>>(&self, state: &mut Self::State, change: Change, cx: &mut C) {
        self.turn(state, Event::Change(change), cx);
    }
    fn handle_rejoin<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        self.turn(state, Event::Rejoin, cx);
    }
    fn epoch(&self, (state, _): &Self::State) -> Epoch {
        self.inner.epoch(state)
    }
    fn rounds(&self, held: StateOrMessage<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        match held {
            StateOrMessage::State((state, _)) => self.inner.rounds(StateOrMessage::State(state), each),
            StateOrMessage::Message(message) => self.inner.rounds(StateOrMessage::Message(message), each),
        }
    }
}
