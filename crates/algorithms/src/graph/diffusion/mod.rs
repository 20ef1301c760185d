//! One diffusing computation with a pluggable aggregate: what graph elections are made of.
//!
//! A source draws in its neighbours, they draw in theirs, and so on: a tree grows. A node reached a second time
//! answers at once, with nothing; one that has all its answers answers its parent with what it gathered. When the
//! source has all of its own, the winner by the [`Aggregate`] is told directly, and spreads by a second computation
//! of the same kind, acknowledged the same way, that it leads. [`Aefa`](super::Aefa) gathers the greatest rank,
//! [`Preference`](super::Preference) votes.
//!
//! # An algorithm on top of it
//!
//! [`Diffusion`] is a [`Protocol`] of its own. An outer algorithm holds a [`State`] in its own state, a [`Message`]
//! as a variant of its own messages, and hands on what is not its own, in a context that wraps
//! ([`Within`](crate::within::Within)):
//!
//! ```
//! use hustings_algorithms::graph::diffusion::{Diffusion, Message, News, State, Top, Value};
//! use hustings_algorithms::within::Within;
//! use hustings_protocol::{Context, Event, Id, Message as _, Port, Protocol, Rank, StartReason, Timer};
//! # use serde::{Deserialize, Serialize};
//!
//! type Inner<R> = Diffusion<R, Top>;
//! type Diffused<R> = Message<R, Value<R, Top>>;
//!
//! #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
//! #[serde(bound = "")]
//! enum Word<R: Rank> {
//!     Diffused(Diffused<R>),
//!     Invite,
//! }
//! impl<R: Rank> hustings_protocol::Message for Word<R> {
//!     const KINDS: &'static [&'static str] =
//!         &["election", "ack", "notify", "leader", "leader-ack", "probe", "reply", "beacon", "invite"];
//!     fn kind(&self) -> usize {
//!         match self {
//!             Word::Diffused(inner) => inner.kind(),
//!             Word::Invite => 8,
//!         }
//!     }
//! }
//!
//! struct Outer<R>(Inner<R>);
//!
//! impl<R: Rank> Outer<R> {
//!     /// Every event that is not the outer algorithm's own goes through here.
//!     fn inner<C: Context<Self>>(
//!         &self,
//!         state: &mut State<R, Value<R, Top>>,
//!         event: Event<Diffused<R>>,
//!         cx: &mut C,
//!     ) {
//!         let news = self.0.step(state, event, &mut Within::new(cx, Word::Diffused));
//!         if news.contains(News::CONFIRMED) {
//!             // The leader-acks of this leader are all in: now invite the next best.
//!             let best = state.result().cloned().flatten();
//!             for rank in best.iter().flat_map(|ranks| ranks.iter().skip(1)) {
//!                 cx.send_direct(rank.id(), Word::Invite);
//!             }
//!         }
//!     }
//! }
//!
//! impl<R: Rank> Protocol for Outer<R> {
//!     type Rank = R;
//!     type State = State<R, Value<R, Top>>;
//!     type Message = Word<R>;
//!
//!     fn init(&self) -> Self::State {
//!         State::new()
//!     }
//!     fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, reason: StartReason, cx: &mut C) {
//!         self.inner(state, Event::Start(reason), cx);
//!     }
//!     fn handle_message<C: Context<Self>>(&self, state: &mut Self::State, from: Port, word: Word<R>, cx: &mut C) {
//!         if let Word::Diffused(message) = word {
//!             self.inner(state, Event::Message { from, message }, cx);
//!         }
//!     }
//!     fn handle_direct<C: Context<Self>>(&self, state: &mut Self::State, from: Id, word: Word<R>, cx: &mut C) {
//!         match word {
//!             Word::Diffused(message) => self.inner(state, Event::Direct { from, message }, cx),
//!             // For example: take over, and spread it over the graph.
//!             Word::Invite => {
//!                 let _news = self.0.spread(state, &mut Within::new(cx, Word::Diffused));
//!             }
//!         }
//!     }
//!     // And so on: `unreachable`, `unreachable_direct`, `rejoin` (and `rejoins`), and `timer` for kinds of its own.
//! }
//! # let _ = |timer: Timer| timer.kind & !Timer::PERIODIC < Diffusion::<Id, Top>::TIMERS;
//! ```
//!
//! [`Diffusion::step`] tells by [`News`] what has come to pass; [`State::leader`], [`State::result`] and so on say the
//! rest. The outer algorithm can call [`Diffusion::elect`] and [`Diffusion::spread`] whenever it likes (both take the
//! next counter, so they prevail over what went before), and says with [`Diffusion::reach`] what it knows of
//! neighbours: those that are gone are not written to any more.

mod aggregate;
mod beacon;
mod message;
mod ports;
mod probe;
mod reach;
mod state;
mod trouble;
mod wave;

use core::marker::PhantomData;

use hustings_protocol::{Context, Event, Id, Port, Protocol, Rank, StartReason, Timer};

pub use aggregate::{Aggregate, Gathered, Greatest, Size, Tally, Top, Votes};
use beacon::Beacon;
pub use message::{Message, Prober};
pub use ports::Ports;
use state::{Computation, Purpose};
pub use state::{News, State};

/// The kinds of timers.
const PROBE: u8 = 0;
const BEACON: u8 = 1 | Timer::PERIODIC;

/// What an aggregate gathers.
pub type Value<R, A> = <A as Aggregate<R>>::Value;

/// The computation: how things are gathered, and how faults are looked out for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Diffusion<R, A> {
    aggregate: A,
    /// How many ticks between two probes; 0 for none.
    probe: u64,
    /// How many ticks between two beacons; 0 for none.
    beacon: u64,
    rank: PhantomData<R>,
}

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// Timers of an outer algorithm have kinds from here on, the periodic bit left aside.
    pub const TIMERS: u8 = 2;

    /// A computation that gathers by this aggregate, and looks out for nothing.
    pub const fn new(aggregate: A) -> Self {
        Diffusion { aggregate, probe: 0, beacon: 0, rank: PhantomData }
    }

    /// The same, with a `probe` to every neighbour that something is expected of and a `beacon` of every leader every
    /// so many ticks; 0 for none.
    pub fn looking_out(self, probe: u64, beacon: u64) -> Self {
        Diffusion { probe, beacon, ..self }
    }

    #[inline(always)]
    fn looks_out(&self) -> bool {
        self.probe | self.beacon != 0
    }

    /// Handles any event, and tells what came of it.
    #[inline(always)]
    pub fn step<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        event: Event<Message<R, A::Value>>,
        cx: &mut C,
    ) -> News {
        match event {
            Event::Start(reason) => self.summoned(state, reason, cx),
            Event::Message { from, message } => self.heard(state, from, message, cx),
            Event::Direct { from, message } => match message {
                Message::Notify { counter, gathered } => self.notified(state, from, counter, gathered, cx),
                _ => News::NOTHING,
            },
            Event::Unreachable { port, message } => self.bounced(state, port, message, cx),
            Event::UnreachableDirect { message, .. } => self.winner_is_down(state, message, cx),
            Event::Timer(timer) => self.rings(state, timer, cx),
            Event::Rejoin => {
                self.watch_out(state, cx);
                News::NOTHING
            }
            Event::Change(_) | Event::Retire => News::NOTHING,
        }
    }

    /// A start signal is ignored while the node takes part in an election, or names a leader that nobody says is lost.
    fn summoned<C: Context<Self>>(&self, state: &mut State<R, A::Value>, reason: StartReason, cx: &mut C) -> News {
        let is_wanted = match state.part.as_ref().map(|part| part.purpose) {
            None => true,
            Some(Purpose::Elect(_)) => false,
            Some(Purpose::Lead(_)) => reason == StartReason::LeaderLost,
        };
        if is_wanted { self.elect(state, cx) } else { News::NOTHING }
    }

    #[cold]
    #[inline(never)]
    fn rings<C: Context<Self>>(&self, state: &mut State<R, A::Value>, timer: Timer, cx: &mut C) -> News {
        match timer.kind {
            PROBE => self.probes(state, timer.token, cx),
            BEACON => self.watches(state, cx),
            _ => News::NOTHING,
        }
    }

    /// Sets the timers of a computation that the node takes part in from now on.
    #[cold]
    #[inline(never)]
    fn look_out<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) {
        let turn = state.part.as_ref().map_or(0, |part| part.turn);
        let has_leader = state.leader().is_some();
        let rough = state.rough();
        rough.late &= !has_leader;
        rough.silent = [Ports::NONE; 3];
        (rough.rounds, rough.missed, rough.number) = (0, 0, 0);
        if self.probe != 0 {
            cx.set_timer(self.probe, Timer { kind: PROBE, token: u32::from(turn) });
        }
        self.watch_out(state, cx);
    }

    #[inline(always)]
    fn heard<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        message: Message<R, A::Value>,
        cx: &mut C,
    ) -> News {
        let asked = |state: &State<R, A::Value>, leads, turn, counter| {
            state.part.as_ref().is_some_and(|part| part.asked(turn, counter) && part.purpose.leads() == leads)
        };
        match message {
            Message::Election { turn, counter, source } => {
                self.called(state, from, Computation { purpose: Purpose::Elect(source), counter }, turn, cx)
            }
            Message::Leader { turn, counter, leader } => {
                self.called(state, from, Computation { purpose: Purpose::Lead(leader), counter }, turn, cx)
            }
            Message::Ack { turn, counter, gathered } if asked(state, false, turn, counter) => {
                self.answered(state, from, Some(gathered), cx)
            }
            Message::LeaderAck { turn, counter } if asked(state, true, turn, counter) => {
                self.answered(state, from, None, cx)
            }
            Message::Ack { .. } | Message::LeaderAck { .. } | Message::Notify { .. } => News::NOTHING,
            Message::Probe { by, turn, counter, source } => {
                self.probed(state, from, by, turn, (counter, source, by.leads()), cx)
            }
            Message::Reply { leads, counter, source } => self.replied(state, from, (counter, source, leads), cx),
            Message::Beacon { again, number, counter, leader } => {
                self.shone(state, from, Beacon { again, number, counter, leader }, cx)
            }
        }
    }
}

impl<R: Rank, A: Aggregate<R>> Protocol for Diffusion<R, A> {
    type Rank = R;
    type State = State<R, A::Value>;
    type Message = Message<R, A::Value>;

    fn init(&self) -> Self::State {
        State::new()
    }

    fn handles_rejoin(&self) -> bool {
        self.beacon != 0
    }

    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, reason: StartReason, cx: &mut C) {
        let _ = self.step(state, Event::Start(reason), cx);
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        from: Port,
        message: Self::Message,
        cx: &mut C,
    ) {
        let _ = self.step(state, Event::Message { from, message }, cx);
    }

    fn handle_direct<C: Context<Self>>(&self, state: &mut Self::State, from: Id, message: Self::Message, cx: &mut C) {
        let _ = self.step(state, Event::Direct { from, message }, cx);
    }

    fn handle_unreachable<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        port: Port,
        message: Self::Message,
        cx: &mut C,
    ) {
        let _ = self.step(state, Event::Unreachable { port, message }, cx);
    }

    fn handle_unreachable_direct<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        to: Id,
        message: Self::Message,
        cx: &mut C,
    ) {
        let _ = self.step(state, Event::UnreachableDirect { to, message }, cx);
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut Self::State, timer: Timer, cx: &mut C) {
        let _ = self.step(state, Event::Timer(timer), cx);
    }

    fn handle_rejoin<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        let _ = self.step(state, Event::Rejoin, cx);
    }
}
