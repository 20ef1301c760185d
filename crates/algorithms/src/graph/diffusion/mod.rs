//! A diffusing computation with a pluggable aggregate, the basis of graph elections.
//!
//! A source asks its neighbours to take part, they ask theirs, and so on: a spanning tree grows. A node that is reached
//! a second time answers at once with an empty value. A node that has all its answers answers its parent with the
//! gathered value. When the source has all its answers, it notifies the winner by the [`Aggregate`] directly. The
//! winner announces itself by a second computation of the same kind. [`Aefa`](super::Aefa) gathers the greatest rank,
//! [`Preference`](super::Preference) votes.
//!
//! # An algorithm on top of it
//!
//! [`Diffusion`] is a [`Protocol`]. An outer algorithm keeps a [`State`] in its own state and a [`Message`] as a
//! variant of its own messages. It hands events of the computation on, in a context that wraps messages
//! ([`InnerContext`](crate::inner_context::InnerContext)):
//!
//! ```
//! use hustings_algorithms::graph::diffusion::{Diffusion, Message, Progress, State, Top, Value};
//! use hustings_algorithms::inner_context::InnerContext;
//! use hustings_protocol::{Context, Event, Id, Message as _, Port, Protocol, Rank, StartReason, Timer};
//! # use serde::{Deserialize, Serialize};
//!
//! type Inner<R> = Diffusion<R, Top>;
//! type Diffused<R> = Message<R, Value<R, Top>>;
//!
//! #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
//! #[serde(bound = "")]
//! enum OuterMessage<R: Rank> {
//!     Diffused(Diffused<R>),
//!     Invite,
//! }
//! impl<R: Rank> hustings_protocol::Message for OuterMessage<R> {
//!     const KINDS: &'static [&'static str] =
//!         &["election", "ack", "notify", "leader", "leader-ack", "probe", "reply", "beacon", "invite"];
//!     fn kind(&self) -> usize {
//!         match self {
//!             OuterMessage::Diffused(inner) => inner.kind(),
//!             OuterMessage::Invite => 8,
//!         }
//!     }
//! }
//!
//! struct Outer<R>(Inner<R>);
//!
//! impl<R: Rank> Outer<R> {
//!     /// Handles every event of the inner computation.
//!     fn inner<C: Context<Self>>(
//!         &self,
//!         state: &mut State<R, Value<R, Top>>,
//!         event: Event<Diffused<R>>,
//!         cx: &mut C,
//!     ) {
//!         let progress = self.0.step(state, event, &mut InnerContext::new(cx, OuterMessage::Diffused));
//!         if progress.contains(Progress::CONFIRMED) {
//!             // All leader-acks have arrived: invite the next best.
//!             let best = state.result().cloned().flatten();
//!             for rank in best.iter().flat_map(|ranks| ranks.iter().skip(1)) {
//!                 cx.send_direct(rank.id(), OuterMessage::Invite);
//!             }
//!         }
//!     }
//! }
//!
//! impl<R: Rank> Protocol for Outer<R> {
//!     type Rank = R;
//!     type State = State<R, Value<R, Top>>;
//!     type Message = OuterMessage<R>;
//!
//!     fn init(&self) -> Self::State {
//!         State::new()
//!     }
//!     fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, reason: StartReason, cx: &mut C) {
//!         self.inner(state, Event::Start(reason), cx);
//!     }
//!     fn handle_message<C: Context<Self>>(
//!         &self,
//!         state: &mut Self::State,
//!         from: Port,
//!         message: OuterMessage<R>,
//!         cx: &mut C,
//!     ) {
//!         if let OuterMessage::Diffused(message) = message {
//!             self.inner(state, Event::Message { from, message }, cx);
//!         }
//!     }
//!     fn handle_direct<C: Context<Self>>(
//!         &self,
//!         state: &mut Self::State,
//!         from: Id,
//!         message: OuterMessage<R>,
//!         cx: &mut C,
//!     ) {
//!         match message {
//!             OuterMessage::Diffused(message) => self.inner(state, Event::Direct { from, message }, cx),
//!             // For example: take over, and announce it over the graph.
//!             OuterMessage::Invite => {
//!                 let _progress = self.0.spread(state, &mut InnerContext::new(cx, OuterMessage::Diffused));
//!             }
//!         }
//!     }
//!     // Likewise the handlers of undeliverable messages, of rejoining and of timers.
//! }
//! # let _ = |timer: Timer| timer.kind & !Timer::PERIODIC < Diffusion::<Id, Top>::TIMERS;
//! ```
//!
//! `Diffusion::step` returns the [`Progress`] of an event; `State::leader`, `State::result` and others give
//! details. The outer algorithm may call `Diffusion::elect` and `Diffusion::spread` at any time: both take the next
//! counter, so they prevail over earlier computations. With `Diffusion::reach` it reports unreachable neighbours;
//! nothing more is sent to them.

mod aggregate;
mod beacon;
mod faults;
mod message;
mod ports;
mod probe;
mod reach;
mod state;
mod wave;

use core::marker::PhantomData;

use hustings_protocol::{Context, Event, Id, Port, Protocol, Rank, StartReason, Timer};

pub use aggregate::{Aggregate, AggregateValue, Greatest, Size, Tally, Top, Votes};
use beacon::Beacon;
pub use message::{Message, Prober};
pub use ports::Ports;
use state::{Computation, Purpose};
pub use state::{Progress, State};

/// The kinds of timers.
const PROBE: u8 = 0;
const BEACON: u8 = 1 | Timer::PERIODIC;

/// The value that an aggregate gathers.
pub type Value<R, A> = <A as Aggregate<R>>::Value;

/// The computation: what it gathers, and how it detects faults.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Diffusion<R, A> {
    aggregate: A,
    /// The number of ticks between two probes; 0: off.
    probe: u64,
    /// The number of ticks between two beacons; 0: off.
    beacon: u64,
    rank: PhantomData<R>,
}

impl<R: Rank, A: Aggregate<R>> Diffusion<R, A> {
    /// Timers of an outer algorithm use kinds from this one on, not counting the periodic bit.
    pub const TIMERS: u8 = 2;

    /// A computation with this aggregate and without fault detection.
    pub const fn new(aggregate: A) -> Self {
        Diffusion { aggregate, probe: 0, beacon: 0, rank: PhantomData }
    }

    /// What is gathered.
    pub(crate) const fn aggregate(&self) -> &A {
        &self.aggregate
    }

    /// The same with fault detection: every `probe` ticks a probe to each neighbour that owes an answer, every `beacon`
    /// ticks a beacon of each leader; 0: off.
    pub fn with_fault_detection(self, probe: u64, beacon: u64) -> Self {
        Diffusion { probe, beacon, ..self }
    }

    #[inline(always)]
    fn detects_faults(&self) -> bool {
        self.probe | self.beacon != 0
    }

    /// Handles any event and reports the progress.
    #[inline(always)]
    pub fn step<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        event: Event<Message<R, A::Value>>,
        cx: &mut C,
    ) -> Progress {
        match event {
            Event::Start(reason) => self.handle_start_signal(state, reason, cx),
            Event::Message { from, message } => self.handle_neighbour_message(state, from, message, cx),
            Event::Direct { from, message } => match message {
                Message::Notify { counter, gathered } => self.handle_notify(state, from, counter, gathered, cx),
                _ => Progress::NONE,
            },
            Event::Unreachable { port, message } => self.handle_undelivered(state, port, message, cx),
            Event::UnreachableDirect { message, .. } => self.handle_undelivered_notify(state, message, cx),
            Event::Timer(timer) => self.handle_any_timer(state, timer, cx),
            Event::Rejoin => {
                self.start_beacon_timer(state, cx);
                Progress::NONE
            }
            Event::Change(_) | Event::Retire => Progress::NONE,
        }
    }

    /// Ignores a start signal while the node takes part in an election, or names a leader that is not reported lost.
    fn handle_start_signal<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        reason: StartReason,
        cx: &mut C,
    ) -> Progress {
        let is_wanted = match state.part.as_ref().map(|part| part.purpose) {
            None => true,
            Some(Purpose::Elect(_)) => false,
            Some(Purpose::Lead(_)) => reason == StartReason::LeaderLost,
        };
        if is_wanted { self.elect(state, cx) } else { Progress::NONE }
    }

    #[cold]
    #[inline(never)]
    fn handle_any_timer<C: Context<Self>>(&self, state: &mut State<R, A::Value>, timer: Timer, cx: &mut C) -> Progress {
        match timer.kind {
            PROBE => self.handle_probe_timer(state, timer.token, cx),
            BEACON => self.handle_beacon_timer(state, cx),
            _ => Progress::NONE,
        }
    }

    /// Sets the timers of a computation that the node has just joined.
    #[cold]
    #[inline(never)]
    fn start_fault_timers<C: Context<Self>>(&self, state: &mut State<R, A::Value>, cx: &mut C) {
        let turn = state.part.as_ref().map_or(0, |part| part.turn);
        let has_leader = state.leader().is_some();
        let faults = state.faults();
        faults.late &= !has_leader;
        faults.silent = [Ports::NONE; 3];
        (faults.rounds, faults.missed, faults.number) = (0, 0, 0);
        if self.probe != 0 {
            cx.set_timer(self.probe, Timer { kind: PROBE, token: u32::from(turn) });
        }
        self.start_beacon_timer(state, cx);
    }

    #[inline(always)]
    fn handle_neighbour_message<C: Context<Self>>(
        &self,
        state: &mut State<R, A::Value>,
        from: Port,
        message: Message<R, A::Value>,
        cx: &mut C,
    ) -> Progress {
        let asked = |state: &State<R, A::Value>, leads, turn, counter| {
            state.part.as_ref().is_some_and(|part| part.asked(turn, counter) && part.purpose.leads() == leads)
        };
        match message {
            Message::Election { turn, counter, source } => {
                self.handle_call(state, from, Computation { purpose: Purpose::Elect(source), counter }, turn, cx)
            }
            Message::Leader { turn, counter, leader } => {
                self.handle_call(state, from, Computation { purpose: Purpose::Lead(leader), counter }, turn, cx)
            }
            Message::Ack { turn, counter, gathered } if asked(state, false, turn, counter) => {
                self.handle_answer(state, from, Some(gathered), cx)
            }
            Message::LeaderAck { turn, counter } if asked(state, true, turn, counter) => {
                self.handle_answer(state, from, None, cx)
            }
            Message::Ack { .. } | Message::LeaderAck { .. } | Message::Notify { .. } => Progress::NONE,
            Message::Probe { by, turn, counter, source } => {
                self.handle_probe(state, from, by, turn, (counter, source, by.leads()), cx)
            }
            Message::Reply { leads, counter, source } => self.handle_reply(state, from, (counter, source, leads), cx),
            Message::Beacon { again, number, counter, leader } => {
                self.handle_beacon(state, from, Beacon { again, number, counter, leader }, cx)
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
