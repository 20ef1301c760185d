//! Protocols with an erased type: [`DynProtocol`] is a [`Protocol`] with boxed states and shared messages.
//!
//! The general engine, replay and the traces are large, and their speed is less important. With erased types they are
//! compiled once, not once for every algorithm and type of rank. So is the fast engine, for the algorithms that do not
//! ask for one of their own ([`hustings_algorithms::About::has_own_engine`]).

mod message;
mod rank;

use std::fmt;

use hustings_algorithms::runs::{Envelope, Runs};
use hustings_protocol::{
    Best, Context, DynState, Effect, Epoch, Event, Id, Message, Port, Protocol, Rank, Record, StateOrMessage,
    TraceEvent, handle_events,
};
use serde::{Deserialize, Serialize};

pub use message::DynMessage;
pub(crate) use rank::ScenarioRank;

/// A protocol of any type, with the ranks of its nodes.
pub struct DynProtocol {
    protocol: Box<dyn AnyProtocol>,
    kinds: &'static [&'static str],
    /// Its kinds, followed by the kind of view messages.
    kinds_in_runs: &'static [&'static str],
    /// Which end of the order wins, for ranks that are read from a file.
    best: Best,
}

/// A rank of any type: its position in the order of all ranks of the election.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct DynRank {
    order: u32,
    id: Id,
}

impl DynRank {
    /// The position in the order of all ranks, from 0 for the lowest.
    pub(crate) fn order(self) -> u32 {
        self.order
    }
}

impl fmt::Display for DynRank {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.id.fmt(f)
    }
}

impl Rank for DynRank {
    fn id(self) -> Id {
        self.id
    }
}

impl DynProtocol {
    /// Erases the type of a protocol and of its ranks.
    pub fn new<P: Protocol>(protocol: P, ranks: &[P::Rank]) -> (Self, Vec<DynRank>) {
        DynProtocol::with_ranks(protocol, ranks, listed)
    }

    /// The same for a scenario.
    pub(crate) fn of_scenario<P>(protocol: P, ranks: &[ScenarioRank], best: Best) -> (Self, Vec<DynRank>)
    where
        P: Protocol<Rank = ScenarioRank>,
    {
        // A rank without a value is known from its id. Looking it up would miss the cache for every message.
        let is_plain = ranks.iter().all(|rank| rank.value.is_none());
        let (protocol, ranks) = DynProtocol::with_ranks(protocol, ranks, if is_plain { plain } else { listed });
        (DynProtocol { best, ..protocol }, ranks)
    }

    fn with_ranks<P: Protocol>(protocol: P, ranks: &[P::Rank], rank: RankOf<P::Rank>) -> (Self, Vec<DynRank>) {
        let (sorted, ranks) = ordered(ranks);
        let kinds = P::Message::KINDS;
        let open = |_: &P, message| Ok(message);
        let protocol = Box::new(Typed { protocol, ranks: sorted, rank, kinds: kinds.len(), open });
        let kinds_in_runs = Envelope::<P::Message>::KINDS;
        (DynProtocol { protocol, kinds, kinds_in_runs, best: Best::Max }, ranks)
    }

    /// Erases the type of runs of an erased protocol, so that runs are compiled once for all algorithms. `ranks` has
    /// the ranks of all positions, including an outside informer.
    pub fn in_runs(runs: Runs<DynProtocol>, ranks: &[DynRank]) -> Self {
        let (kinds, best) = (runs.inner().kinds_in_runs, runs.inner().best);
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        let protocol =
            Box::new(Typed { protocol: runs, ranks: sorted, rank: listed, kinds: kinds.len(), open: open_inner });
        DynProtocol { protocol, kinds, kinds_in_runs: kinds, best }
    }

    /// The names of the protocol's kinds of messages.
    pub(crate) fn kinds(&self) -> &'static [&'static str] {
        self.kinds
    }

    /// Converts the messages of a record that was read from a file into messages of the protocol.
    pub(crate) fn adopt(&self, mut record: Record<DynMessage>) -> Result<Record<DynMessage>, serde_json::Error> {
        let adopt = |message: &mut DynMessage| {
            *message = rank::reading(self.best, || self.protocol.parse(message))?;
            Ok(())
        };
        match &mut record.what {
            TraceEvent::Handled { event, effects, .. } => {
                event_message(event).map_or(Ok(()), adopt)?;
                effects.iter_mut().filter_map(effect_message).try_for_each(adopt)?;
            }
            TraceEvent::Lost { message, .. } => adopt(message)?,
            _ => {}
        }
        Ok(record)
    }
}

/// The ranks in ascending order, and the place of each in that order.
fn ordered<R: Rank>(ranks: &[R]) -> (Vec<R>, Vec<DynRank>) {
    let mut sorted = ranks.to_vec();
    sorted.sort_unstable();
    let place = |rank: &R| sorted.partition_point(|other| other < rank) as u32;
    let ranks = ranks.iter().map(|rank| DynRank { order: place(rank), id: rank.id() }).collect();
    (sorted, ranks)
}

fn event_message(event: &mut Event<DynMessage>) -> Option<&mut DynMessage> {
    match event {
        Event::Message { message, .. }
        | Event::Direct { message, .. }
        | Event::Unreachable { message, .. }
        | Event::UnreachableDirect { message, .. } => Some(message),
        Event::Start(_) | Event::Timer(_) | Event::Change(_) | Event::Rejoin | Event::Retire => None,
    }
}

fn effect_message(effect: &mut Effect<DynMessage>) -> Option<&mut DynMessage> {
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

impl fmt::Debug for DynProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DynProtocol").field("kinds", &self.kinds).finish_non_exhaustive()
    }
}

impl Protocol for DynProtocol {
    type Rank = DynRank;
    type State = DynState;
    type Message = DynMessage;

    fn init(&self) -> DynState {
        self.protocol.init()
    }
    fn observes_reachability(&self) -> bool {
        self.protocol.observes_reachability()
    }
    fn handles_rejoin(&self) -> bool {
        self.protocol.handles_rejoin()
    }
    handle_events!(handle);
    fn is_progress(&self, before: &DynState, after: &DynState) -> bool {
        self.protocol.is_progress(before, after)
    }
    fn epoch(&self, state: &DynState) -> Epoch {
        self.protocol.epoch(state)
    }
    fn candidacy(&self, message: &DynMessage) -> Option<Id> {
        self.protocol.candidacy(message)
    }
    fn rounds(&self, item: StateOrMessage<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        match item {
            StateOrMessage::State(state) => self.protocol.rounds_of(state, each),
            StateOrMessage::Message(message) => *message = self.protocol.rounds_in(message, each),
        }
    }
    fn handle<C: Context<Self>>(&self, state: &mut DynState, event: Event<DynMessage>, cx: &mut C) {
        self.protocol.handle(state, event, cx);
    }
}

/// The dyn-compatible part of [`Protocol`].
trait AnyProtocol: Send + Sync {
    fn init(&self) -> DynState;
    fn observes_reachability(&self) -> bool;
    fn handles_rejoin(&self) -> bool;
    fn is_progress(&self, before: &DynState, after: &DynState) -> bool;
    fn epoch(&self, state: &DynState) -> Epoch;
    fn candidacy(&self, message: &DynMessage) -> Option<Id>;
    fn rounds_of(&self, state: &mut DynState, each: &mut dyn FnMut(&mut u32));
    fn rounds_in(&self, message: &DynMessage, each: &mut dyn FnMut(&mut u32)) -> DynMessage;
    fn handle(&self, state: &mut DynState, event: Event<DynMessage>, cx: &mut dyn Context<DynProtocol>);
    fn parse(&self, message: &DynMessage) -> Result<DynMessage, serde_json::Error>;
}

struct Typed<P: Protocol> {
    protocol: P,
    /// All ranks, ascending. A [`DynRank`] is an index into it.
    ranks: Vec<P::Rank>,
    rank: RankOf<P::Rank>,
    /// The number of message kinds.
    kinds: usize,
    open: Open<P>,
}

/// Finds a rank, given all of them in ascending order.
type RankOf<R> = fn(DynRank, &[R]) -> R;

fn listed<R: Rank>(rank: DynRank, ranks: &[R]) -> R {
    ranks[rank.order as usize]
}

/// The rank if none has a value. All have the same end of the order that wins.
fn plain(rank: DynRank, ranks: &[ScenarioRank]) -> ScenarioRank {
    ScenarioRank { id: rank.id, ..ranks[0] }
}

/// Converts messages inside a message that was read from a file.
type Open<P> = fn(&P, <P as Protocol>::Message) -> Result<<P as Protocol>::Message, serde_json::Error>;

fn open_inner(
    runs: &Runs<DynProtocol>,
    message: Envelope<DynMessage>,
) -> Result<Envelope<DynMessage>, serde_json::Error> {
    match message {
        Envelope::Inner { says, view, port } => {
            let says = runs.inner().protocol.parse(&says)?;
            Ok(Envelope::Inner { says, view, port })
        }
        view @ Envelope::View { .. } => Ok(view),
    }
}

impl<P: Protocol> AnyProtocol for Typed<P> {
    fn init(&self) -> DynState {
        DynState::new(self.protocol.init())
    }

    fn observes_reachability(&self) -> bool {
        self.protocol.observes_reachability()
    }

    fn handles_rejoin(&self) -> bool {
        self.protocol.handles_rejoin()
    }

    fn is_progress(&self, before: &DynState, after: &DynState) -> bool {
        self.protocol.is_progress(before.typed(), after.typed())
    }

    fn epoch(&self, state: &DynState) -> Epoch {
        self.protocol.epoch(state.typed())
    }

    fn candidacy(&self, message: &DynMessage) -> Option<Id> {
        self.protocol.candidacy(&message.clone().typed())
    }

    fn rounds_of(&self, state: &mut DynState, each: &mut dyn FnMut(&mut u32)) {
        self.protocol.rounds(StateOrMessage::State(state.typed_mut()), each);
    }

    fn rounds_in(&self, message: &DynMessage, each: &mut dyn FnMut(&mut u32)) -> DynMessage {
        let mut message = message.clone().typed();
        self.protocol.rounds(StateOrMessage::Message(&mut message), each);
        DynMessage::new(message, self.kinds)
    }

    fn handle(&self, state: &mut DynState, event: Event<DynMessage>, cx: &mut dyn Context<DynProtocol>) {
        let event = event.map(DynMessage::typed);
        let mut cx = Inner { cx, ranks: &self.ranks, rank: self.rank, kinds: self.kinds };
        self.protocol.handle(state.typed_mut(), event, &mut cx);
    }

    fn parse(&self, message: &DynMessage) -> Result<DynMessage, serde_json::Error> {
        let message: P::Message = serde_json::from_value(serde_json::to_value(message)?)?;
        Ok(DynMessage::new((self.open)(&self.protocol, message)?, self.kinds))
    }
}

/// The context of the inner protocol.
struct Inner<'a, R> {
    cx: &'a mut dyn Context<DynProtocol>,
    ranks: &'a [R],
    rank: RankOf<R>,
    kinds: usize,
}

impl<P: Protocol> Context<P> for Inner<'_, P::Rank> {
    fn rank(&self) -> P::Rank {
        (self.rank)(self.cx.rank(), self.ranks)
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
        self.cx.peer_rank(port).map(|rank| (self.rank)(rank, self.ranks))
    }
    fn draw(&mut self, bound: u64) -> u64 {
        self.cx.draw(bound)
    }
    fn emit(&mut self, effect: Effect<P::Message>) {
        self.cx.emit(effect.map(|message| DynMessage::new(message, self.kinds)));
    }
}
