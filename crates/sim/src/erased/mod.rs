//! Any protocol behind one type: [`Erased`] is a [`Protocol`] itself, with boxed states and shared messages.
//!
//! The general engine, replay and the traces are large, and need not be fast to the last nanosecond. Through this they
//! are compiled once, not once for every algorithm and type of rank. The fast engine does without.

mod parcel;
mod state;

use std::fmt;
use std::ops::Range;

use hustings_algorithms::runs::{Envelope, Runs};
use hustings_protocol::{
    Change, Context, Effect, Epoch, Event, Fact, Happening, Held, Id, Message, Port, Protocol, Rank, Record, Summons,
    Timer,
};
use serde::{Deserialize, Serialize};

pub use parcel::Parcel;
pub use state::AnyState;
use state::Remembered;

/// A protocol of any type, with the ranks of its nodes.
pub struct Erased {
    machine: Box<dyn Machine>,
    kinds: &'static [&'static str],
    /// Its kinds with that of views behind them.
    kinds_in_runs: &'static [&'static str],
}

/// A rank of any type: its place in the order of all ranks of the election.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Standing {
    order: u32,
    id: Id,
}

impl Standing {
    /// The place among all ranks, from 0 for the one that beats nobody.
    pub fn order(self) -> u32 {
        self.order
    }
}

impl fmt::Display for Standing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

impl Rank for Standing {
    fn id(self) -> Id {
        self.id
    }
}

impl Erased {
    /// Hides the type of a protocol and of its ranks.
    pub fn new<P: Protocol>(protocol: P, ranks: &[P::Rank]) -> (Self, Vec<Standing>) {
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        let place = |rank: &P::Rank| sorted.partition_point(|other| other < rank) as u32;
        let standings = ranks.iter().map(|rank| Standing { order: place(rank), id: rank.id() }).collect();
        let kinds = P::Message::KINDS;
        let machine = Box::new(Typed { protocol, ranks: sorted, kinds: kinds.len(), open: |_, message| Ok(message) });
        (Erased { machine, kinds, kinds_in_runs: Envelope::<P::Message>::KINDS }, standings)
    }

    /// Hides runs of a hidden protocol: so they are compiled once for all algorithms. `ranks` are those of all
    /// positions, an informer outside included.
    pub fn in_runs(runs: Runs<Erased>, ranks: &[Standing]) -> Self {
        let kinds = runs.inner().kinds_in_runs;
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        let machine = Box::new(Typed { protocol: runs, ranks: sorted, kinds: kinds.len(), open: open_inner });
        Erased { machine, kinds, kinds_in_runs: kinds }
    }

    /// The names of the protocol's kinds of messages.
    pub fn kinds(&self) -> &'static [&'static str] {
        self.kinds
    }

    /// Turns the messages of a record that was read from somewhere into messages of the protocol.
    pub fn adopt(&self, mut record: Record<Parcel>) -> Result<Record<Parcel>, serde_json::Error> {
        let adopt = |parcel: &mut Parcel| {
            *parcel = self.machine.parse(parcel)?;
            Ok(())
        };
        match &mut record.what {
            Happening::Handled { event, effects, .. } => {
                event_message(event).map_or(Ok(()), adopt)?;
                effects.iter_mut().filter_map(effect_message).try_for_each(adopt)?;
            }
            Happening::Lost { message, .. } => adopt(message)?,
            _ => {}
        }
        Ok(record)
    }
}

fn event_message(event: &mut Event<Parcel>) -> Option<&mut Parcel> {
    match event {
        Event::Message { message, .. }
        | Event::Direct { message, .. }
        | Event::Unreachable { message, .. }
        | Event::UnreachableDirect { message, .. } => Some(message),
        Event::Start(_) | Event::Timer(_) | Event::Change(_) | Event::Rejoin | Event::Retire => None,
    }
}

fn effect_message(effect: &mut Effect<Parcel>) -> Option<&mut Parcel> {
    match effect {
        Effect::Send(_, message)
        | Effect::SendAllBut(_, message)
        | Effect::SendRange(_, message)
        | Effect::SendDirect(_, message)
        | Effect::SendTo(_, message) => Some(message),
        Effect::SetTimer(..)
        | Effect::Lead
        | Effect::Follow(_)
        | Effect::Forget
        | Effect::Learn(_)
        | Effect::Skip(_) => None,
    }
}

impl fmt::Debug for Erased {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Erased").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

impl Protocol for Erased {
    type Rank = Standing;
    type State = AnyState;
    type Message = Parcel;

    fn init(&self) -> AnyState {
        AnyState::new(self.machine.init())
    }
    fn watches(&self) -> bool {
        self.machine.watches()
    }
    fn rejoins(&self) -> bool {
        self.machine.rejoins()
    }
    fn start<C: Context<Self>>(&self, state: &mut AnyState, summons: Summons, cx: &mut C) {
        self.handle(state, Event::Start(summons), cx);
    }
    fn receive<C: Context<Self>>(&self, state: &mut AnyState, from: Port, message: Parcel, cx: &mut C) {
        self.handle(state, Event::Message { from, message }, cx);
    }
    fn receive_direct<C: Context<Self>>(&self, state: &mut AnyState, from: Id, message: Parcel, cx: &mut C) {
        self.handle(state, Event::Direct { from, message }, cx);
    }
    fn unreachable<C: Context<Self>>(&self, state: &mut AnyState, port: Port, message: Parcel, cx: &mut C) {
        self.handle(state, Event::Unreachable { port, message }, cx);
    }
    fn unreachable_direct<C: Context<Self>>(&self, state: &mut AnyState, to: Id, message: Parcel, cx: &mut C) {
        self.handle(state, Event::UnreachableDirect { to, message }, cx);
    }
    fn timer<C: Context<Self>>(&self, state: &mut AnyState, timer: Timer, cx: &mut C) {
        self.handle(state, Event::Timer(timer), cx);
    }
    fn acted(&self, before: &AnyState, after: &AnyState) -> bool {
        self.machine.acted(before.inner(), after.inner())
    }
    fn epoch(&self, state: &AnyState) -> Epoch {
        self.machine.epoch(state.inner())
    }
    fn rounds(&self, held: Held<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        match held {
            Held::State(state) => self.machine.rounds_of(state.inner_mut(), each),
            Held::Message(message) => *message = self.machine.rounds_in(message, each),
        }
    }
    fn changed<C: Context<Self>>(&self, state: &mut AnyState, change: Change, cx: &mut C) {
        self.handle(state, Event::Change(change), cx);
    }
    fn retire<C: Context<Self>>(&self, state: &mut AnyState, cx: &mut C) {
        self.handle(state, Event::Retire, cx);
    }
    fn rejoin<C: Context<Self>>(&self, state: &mut AnyState, cx: &mut C) {
        self.handle(state, Event::Rejoin, cx);
    }
    fn handle<C: Context<Self>>(&self, state: &mut AnyState, event: Event<Parcel>, cx: &mut C) {
        self.machine.handle(state.inner_mut(), event, &mut Outer(cx));
    }
}

/// A protocol whose type is hidden.
trait Machine: Send + Sync {
    fn init(&self) -> Box<dyn Remembered>;
    fn watches(&self) -> bool;
    fn rejoins(&self) -> bool;
    fn acted(&self, before: &dyn Remembered, after: &dyn Remembered) -> bool;
    fn epoch(&self, state: &dyn Remembered) -> Epoch;
    fn rounds_of(&self, state: &mut dyn Remembered, each: &mut dyn FnMut(&mut u32));
    fn rounds_in(&self, parcel: &Parcel, each: &mut dyn FnMut(&mut u32)) -> Parcel;
    fn handle(&self, state: &mut dyn Remembered, event: Event<Parcel>, cx: &mut dyn Surroundings);
    fn parse(&self, parcel: &Parcel) -> Result<Parcel, serde_json::Error>;
}

struct Typed<P: Protocol> {
    protocol: P,
    /// All ranks, ascending: a [`Standing`] is a place in it.
    ranks: Vec<P::Rank>,
    /// How many kinds of messages it has.
    kinds: usize,
    open: Open<P>,
}

/// Why a state is of the type that a protocol expects.
const OWN_STATE: &str = "a state was made by the protocol that it is given to";

/// Reads what is still unread in a message that was read.
type Open<P> = fn(&P, <P as Protocol>::Message) -> Result<<P as Protocol>::Message, serde_json::Error>;

fn open_inner(runs: &Runs<Erased>, message: Envelope<Parcel>) -> Result<Envelope<Parcel>, serde_json::Error> {
    match message {
        Envelope::Inner { says, view, port } => {
            let says = runs.inner().machine.parse(&says)?;
            Ok(Envelope::Inner { says, view, port })
        }
        view @ Envelope::View { .. } => Ok(view),
    }
}

impl<P: Protocol> Machine for Typed<P> {
    fn init(&self) -> Box<dyn Remembered> {
        Box::new(self.protocol.init())
    }

    fn watches(&self) -> bool {
        self.protocol.watches()
    }

    fn rejoins(&self) -> bool {
        self.protocol.rejoins()
    }

    fn acted(&self, before: &dyn Remembered, after: &dyn Remembered) -> bool {
        let [before, after] = [before, after].map(|state| state.as_any().downcast_ref().expect(OWN_STATE));
        self.protocol.acted(before, after)
    }

    fn epoch(&self, state: &dyn Remembered) -> Epoch {
        self.protocol.epoch(state.as_any().downcast_ref().expect(OWN_STATE))
    }

    fn rounds_of(&self, state: &mut dyn Remembered, each: &mut dyn FnMut(&mut u32)) {
        let state = state.as_any_mut().downcast_mut().expect(OWN_STATE);
        self.protocol.rounds(Held::State(state), each);
    }

    fn rounds_in(&self, parcel: &Parcel, each: &mut dyn FnMut(&mut u32)) -> Parcel {
        let mut message = parcel.clone().typed();
        self.protocol.rounds(Held::Message(&mut message), each);
        Parcel::new(message, self.kinds)
    }

    fn handle(&self, state: &mut dyn Remembered, event: Event<Parcel>, cx: &mut dyn Surroundings) {
        let state = state.as_any_mut().downcast_mut().expect(OWN_STATE);
        let event = match event {
            Event::Message { from, message } => Event::Message { from, message: message.typed() },
            Event::Direct { from, message } => Event::Direct { from, message: message.typed() },
            Event::Unreachable { port, message } => Event::Unreachable { port, message: message.typed() },
            Event::UnreachableDirect { to, message } => Event::UnreachableDirect { to, message: message.typed() },
            Event::Start(summons) => Event::Start(summons),
            Event::Timer(timer) => Event::Timer(timer),
            Event::Change(change) => Event::Change(change),
            Event::Rejoin => Event::Rejoin,
            Event::Retire => Event::Retire,
        };
        self.protocol.handle(state, event, &mut Inner { cx, ranks: &self.ranks, kinds: self.kinds });
    }

    fn parse(&self, parcel: &Parcel) -> Result<Parcel, serde_json::Error> {
        let message: P::Message = serde_json::from_value(serde_json::to_value(parcel)?)?;
        Ok(Parcel::new((self.open)(&self.protocol, message)?, self.kinds))
    }
}

/// A [`Context`] of any type.
trait Surroundings {
    fn rank(&self) -> Standing;
    fn index(&self) -> u32;
    fn size(&self) -> u32;
    fn degree(&self) -> u32;
    fn peer_rank(&self, port: Port) -> Option<Standing>;
    fn draw(&mut self, bound: u64) -> u64;
    fn act(&mut self, effect: Effect<Parcel>);
}

/// The context that the engine gives.
struct Outer<'a, C>(&'a mut C);

impl<C: Context<Erased>> Surroundings for Outer<'_, C> {
    fn rank(&self) -> Standing {
        self.0.rank()
    }
    fn index(&self) -> u32 {
        self.0.index()
    }
    fn size(&self) -> u32 {
        self.0.size()
    }
    fn degree(&self) -> u32 {
        self.0.degree()
    }
    fn peer_rank(&self, port: Port) -> Option<Standing> {
        self.0.peer_rank(port)
    }
    fn draw(&mut self, bound: u64) -> u64 {
        self.0.draw(bound)
    }
    fn act(&mut self, effect: Effect<Parcel>) {
        match effect {
            Effect::Send(port, message) => self.0.send(port, message),
            Effect::SendAllBut(except, message) => self.0.send_all_but(except, message),
            Effect::SendRange(ports, message) => self.0.send_range(ports, message),
            Effect::SendDirect(to, message) => self.0.send_direct(to, message),
            Effect::SendTo(member, message) => self.0.send_to(member, message),
            Effect::SetTimer(after, timer) => self.0.set_timer(after, timer),
            Effect::Lead => self.0.lead(),
            Effect::Follow(leader) => self.0.follow(leader),
            Effect::Forget => self.0.forget(),
            Effect::Learn(fact) => self.0.learn(fact),
            Effect::Skip(port) => self.0.skip(port),
        }
    }
}

/// The context that the protocol sees.
struct Inner<'a, R> {
    cx: &'a mut dyn Surroundings,
    ranks: &'a [R],
    kinds: usize,
}

impl<P: Protocol> Context<P> for Inner<'_, P::Rank> {
    fn rank(&self) -> P::Rank {
        self.ranks[self.cx.rank().order as usize]
    }
    fn index(&self) -> u32 {
        self.cx.index()
    }
    fn size(&self) -> u32 {
        self.cx.size()
    }
    fn degree(&self) -> u32 {
        self.cx.degree()
    }
    fn peer_rank(&self, port: Port) -> Option<P::Rank> {
        self.cx.peer_rank(port).map(|standing| self.ranks[standing.order as usize])
    }
    fn draw(&mut self, bound: u64) -> u64 {
        self.cx.draw(bound)
    }
    fn send(&mut self, port: Port, message: P::Message) {
        self.cx.act(Effect::Send(port, Parcel::new(message, self.kinds)));
    }
    fn send_all_but(&mut self, except: Option<Port>, message: P::Message) {
        self.cx.act(Effect::SendAllBut(except, Parcel::new(message, self.kinds)));
    }
    fn send_range(&mut self, ports: Range<u32>, message: P::Message) {
        self.cx.act(Effect::SendRange(ports, Parcel::new(message, self.kinds)));
    }
    fn send_direct(&mut self, to: Id, message: P::Message) {
        self.cx.act(Effect::SendDirect(to, Parcel::new(message, self.kinds)));
    }
    fn send_to(&mut self, member: u32, message: P::Message) {
        self.cx.act(Effect::SendTo(member, Parcel::new(message, self.kinds)));
    }
    fn set_timer(&mut self, after: u64, timer: Timer) {
        self.cx.act(Effect::SetTimer(after, timer));
    }
    fn lead(&mut self) {
        self.cx.act(Effect::Lead);
    }
    fn follow(&mut self, leader: Id) {
        self.cx.act(Effect::Follow(leader));
    }
    fn forget(&mut self) {
        self.cx.act(Effect::Forget);
    }
    fn learn(&mut self, fact: Fact) {
        self.cx.act(Effect::Learn(fact));
    }
    fn skip(&mut self, port: Port) {
        self.cx.act(Effect::Skip(port));
    }
}
