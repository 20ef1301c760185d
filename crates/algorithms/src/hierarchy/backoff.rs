//! Backoff: every node waits a random time before its first message.

use alloc::boxed::Box;
use alloc::vec::Vec;

use hustings_protocol::{Change, Context, Effect, Id, Port, Protocol, StartReason, Timer};

use crate::inner_context::forward_getters;

/// A protocol whose nodes delay their first message by a random 0 to `max` ticks, together with what follows it in that
/// time.
#[derive(Clone, Copy, Debug)]
pub struct Backoff<P> {
    pub(super) inner: P,
    pub(super) max: u64,
}

/// The state of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<S, M> {
    inner: S,
    /// `None` before the first message, or without backoff.
    gate: Option<Box<Gate<M>>>,
}

/// Whether messages are sent or held back.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
enum Gate<M> {
    /// They are held back.
    Closed(Vec<Effect<M>>),
    /// They are sent.
    Open,
}

/// The timer that opens the gate.
const OPEN_GATE: Timer = Timer { kind: 2, token: 0 };

/// The context of the inner protocol.
struct BackoffContext<'a, C, M> {
    cx: &'a mut C,
    gate: &'a mut Option<Box<Gate<M>>>,
    max: u64,
}

impl<C, M> BackoffContext<'_, C, M> {
    /// Sends a message, or holds it back.
    fn send_or_buffer<P>(&mut self, effect: Effect<M>)
    where
        P: Protocol<Message = M>,
        C: Context<Backoff<P>>,
    {
        if self.gate.is_none() {
            let wait = self.cx.draw(self.max.saturating_add(1));
            let gate = if wait == 0 { Gate::Open } else { Gate::Closed(Vec::new()) };
            *self.gate = Some(Box::new(gate));
            if wait > 0 {
                self.cx.set_timer(wait, OPEN_GATE);
            }
        }
        match self.gate.as_deref_mut() {
            Some(Gate::Closed(buffered)) => buffered.push(effect),
            _ => self.cx.emit(effect),
        }
    }
}

impl<P: Protocol, C: Context<Backoff<P>>> Context<P> for BackoffContext<'_, C, P::Message> {
    forward_getters!(P::Rank);

    #[inline(always)]
    fn emit(&mut self, effect: Effect<P::Message>) {
        effect.for_each_port(self.cx.degree(), |effect| {
            let is_send = matches!(effect, Effect::Send(..) | Effect::SendDirect(..) | Effect::SendTo(..));
            if is_send && self.max > 0 { self.send_or_buffer::<P>(effect) } else { self.cx.emit(effect) }
        });
    }
}

impl<P: Protocol> Backoff<P> {
    /// Returns the state and the context of the inner protocol.
    #[inline(always)]
    fn with<'a, C>(
        &self,
        state: &'a mut State<P::State, P::Message>,
        cx: &'a mut C,
    ) -> (&'a mut P::State, BackoffContext<'a, C, P::Message>) {
        (&mut state.inner, BackoffContext { cx, gate: &mut state.gate, max: self.max })
    }
}

impl<P: Protocol> Protocol for Backoff<P> {
    type Rank = P::Rank;
    type State = State<P::State, P::Message>;
    type Message = P::Message;

    fn init(&self) -> Self::State {
        State { inner: self.inner.init(), gate: None }
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
        if timer == OPEN_GATE {
            if let Some(Gate::Closed(buffered)) = state.gate.replace(Box::new(Gate::Open)).map(|gate| *gate) {
                buffered.into_iter().for_each(|effect| cx.emit(effect));
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
