//! Backoff: every node waits a random time before it says anything for the first time.

use alloc::boxed::Box;
use alloc::vec::Vec;

use hustings_protocol::{Change, Context, Effect, Fact, Id, Port, Protocol, StartReason, Timer};

/// A protocol whose nodes hold their first message back for a random 0 to `most` ticks, and what follows it meanwhile.
#[derive(Clone, Copy, Debug)]
pub struct Hesitant<P> {
    pub(super) inner: P,
    pub(super) most: u64,
}

/// What a hesitant node remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<S, M> {
    inner: S,
    /// Nothing before the first message, or where nobody hesitates.
    mouth: Option<Box<Mouth<M>>>,
}

/// Whether a node that has something to say says it.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Mouth<M> {
    /// Not yet.
    Shut(Vec<Effect<M>>),
    /// At once.
    Open,
}

/// The kind of the timer that opens the mouth.
const SPEAK: Timer = Timer { kind: 2, token: 0 };

/// The surroundings that the inner protocol sees.
struct Before<'a, C, M> {
    cx: &'a mut C,
    mouth: &'a mut Option<Box<Mouth<M>>>,
    most: u64,
}

impl<C, M> Before<'_, C, M> {
    /// Says it, or keeps it for later.
    fn say<P>(&mut self, effect: Effect<M>)
    where
        P: Protocol<Message = M>,
        C: Context<Hesitant<P>>,
    {
        if self.mouth.is_none() {
            let wait = self.cx.draw(self.most.saturating_add(1));
            let mouth = if wait == 0 { Mouth::Open } else { Mouth::Shut(Vec::new()) };
            *self.mouth = Some(Box::new(mouth));
            if wait > 0 {
                self.cx.set_timer(wait, SPEAK);
            }
        }
        match self.mouth.as_deref_mut() {
            Some(Mouth::Shut(kept)) => kept.push(effect),
            _ => speak(effect, self.cx),
        }
    }
}

fn speak<P: Protocol, C: Context<P>>(effect: Effect<P::Message>, cx: &mut C) {
    match effect {
        Effect::Send(port, message) => cx.send(port, message),
        Effect::SendDirect(to, message) => cx.send_direct(to, message),
        Effect::SendTo(member, message) => cx.send_to(member, message),
        // Nothing else is kept: what goes to many ports comes one by one.
        _ => {}
    }
}

impl<P: Protocol, C: Context<Hesitant<P>>> Context<P> for Before<'_, C, P::Message> {
    #[inline(always)]
    fn rank(&self) -> P::Rank {
        self.cx.rank()
    }
    #[inline(always)]
    fn index(&self) -> u32 {
        self.cx.index()
    }
    #[inline(always)]
    fn size(&self) -> u32 {
        self.cx.size()
    }
    fn degree(&self) -> u32 {
        self.cx.degree()
    }
    fn peer_rank(&self, port: Port) -> Option<P::Rank> {
        self.cx.peer_rank(port)
    }
    fn draw(&mut self, bound: u64) -> u64 {
        self.cx.draw(bound)
    }
    #[inline(always)]
    fn send(&mut self, port: Port, message: P::Message) {
        if self.most == 0 {
            self.cx.send(port, message);
        } else {
            self.say::<P>(Effect::Send(port, message));
        }
    }
    fn send_direct(&mut self, to: Id, message: P::Message) {
        if self.most == 0 {
            self.cx.send_direct(to, message);
        } else {
            self.say::<P>(Effect::SendDirect(to, message));
        }
    }
    #[inline(always)]
    fn send_to(&mut self, member: u32, message: P::Message) {
        if self.most == 0 {
            self.cx.send_to(member, message);
        } else {
            self.say::<P>(Effect::SendTo(member, message));
        }
    }
    fn set_timer(&mut self, after: u64, timer: Timer) {
        self.cx.set_timer(after, timer);
    }
    fn lead(&mut self) {
        self.cx.lead();
    }
    fn follow(&mut self, leader: Id) {
        self.cx.follow(leader);
    }
    fn forget(&mut self) {
        self.cx.forget();
    }
    fn learn(&mut self, fact: Fact) {
        self.cx.learn(fact);
    }
    fn skip(&mut self, port: Port) {
        self.cx.skip(port);
    }
}

impl<P: Protocol> Hesitant<P> {
    /// Hands the inner protocol its state and its surroundings.
    #[inline(always)]
    fn with<'a, C>(
        &self,
        state: &'a mut State<P::State, P::Message>,
        cx: &'a mut C,
    ) -> (&'a mut P::State, Before<'a, C, P::Message>) {
        (&mut state.inner, Before { cx, mouth: &mut state.mouth, most: self.most })
    }
}

impl<P: Protocol> Protocol for Hesitant<P> {
    type Rank = P::Rank;
    type State = State<P::State, P::Message>;
    type Message = P::Message;

    fn init(&self) -> Self::State {
        State { inner: self.inner.init(), mouth: None }
    }
    fn observes_reachability(&self) -> bool {
        self.inner.observes_reachability()
    }
    fn handles_rejoin(&self) -> bool {
        self.inner.handles_rejoin()
    }
    fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, reason: StartReason, cx: &mut C) {
        let (inner, mut cx) = self.with(state, cx);
        self.inner.handle_start(inner, reason, &mut cx);
    }
    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut Self::State, from: Port, message: P::Message, cx: &mut C) {
        let (inner, mut cx) = self.with(state, cx);
        self.inner.handle_message(inner, from, message, &mut cx);
    }
    #[inline(always)]
    fn handle_direct<C: Context<Self>>(&self, state: &mut Self::State, from: Id, message: P::Message, cx: &mut C) {
        let (inner, mut cx) = self.with(state, cx);
        self.inner.handle_direct(inner, from, message, &mut cx);
    }
    fn handle_unreachable<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        port: Port,
        message: P::Message,
        cx: &mut C,
    ) {
        let (inner, mut cx) = self.with(state, cx);
        self.inner.handle_unreachable(inner, port, message, &mut cx);
    }
    fn handle_unreachable_direct<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        to: Id,
        message: P::Message,
        cx: &mut C,
    ) {
        let (inner, mut cx) = self.with(state, cx);
        self.inner.handle_unreachable_direct(inner, to, message, &mut cx);
    }
    fn handle_timer<C: Context<Self>>(&self, state: &mut Self::State, timer: Timer, cx: &mut C) {
        if timer == SPEAK {
            if let Some(Mouth::Shut(kept)) = state.mouth.replace(Box::new(Mouth::Open)).map(|mouth| *mouth) {
                kept.into_iter().for_each(|effect| speak(effect, cx));
            }
            return;
        }
        let (inner, mut cx) = self.with(state, cx);
        self.inner.handle_timer(inner, timer, &mut cx);
    }
    fn handle_change<C: Context<Self>>(&self, state: &mut Self::State, change: Change, cx: &mut C) {
        let (inner, mut cx) = self.with(state, cx);
        self.inner.handle_change(inner, change, &mut cx);
    }
    fn handle_rejoin<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        let (inner, mut cx) = self.with(state, cx);
        self.inner.handle_rejoin(inner, &mut cx);
    }
    fn handle_retire<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        let (inner, mut cx) = self.with(state, cx);
        self.inner.handle_retire(inner, &mut cx);
    }
}
