//! The [`Protocol`] trait: one node's side of one election; and the [`Context`] it acts through.

use core::fmt::Debug;
use core::hash::Hash;
use core::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Change, Effect, Event, Fact, Id, Port, Rank, StartReason, Timer};

/// What nodes say to each other.
///
/// Keep it at 16 bytes or less; a payload that grows lives behind a shared handle. [`crate::kinds!`] implements this
/// for an enum.
pub trait Message: Clone + Eq + Hash + Debug + Serialize + for<'de> Deserialize<'de> + Send + Sync + 'static {
    /// The names under which messages are counted, in the order of the report.
    const KINDS: &'static [&'static str];

    /// The index of this message's kind in [`Message::KINDS`].
    fn kind(&self) -> usize;

    /// Whether it belongs to the traffic that never ends (beacons, polls) and says nothing about when a run is quiet.
    #[inline(always)]
    fn is_periodic(&self) -> bool {
        false
    }

    /// The name of this message's kind.
    fn kind_name(&self) -> &'static str {
        Self::KINDS[self.kind()]
    }
}

/// An election algorithm with its parameters: the rules by which one node turns events into effects.
///
/// The value itself is shared by all nodes and never changes; what a node remembers is its [`Protocol::State`]. There
/// is no clock to read and no generator to hide: time passes in timers, coins come from [`Context::draw`]. So the very
/// same value runs in the simulator, in the checker, on a page and on a network.
///
/// Handlers are generic over the context and marked `#[inline(always)]` where speed matters: the fast engine melts them
/// into its loop.
///
/// # Example
///
/// "The first one to hear of an election leads, and tells its neighbours": not a good algorithm, but a whole one.
///
/// ```
/// use hustings_protocol::{Context, Effect, Id, Peers, NodeInfo, Port, Protocol, Recorder, StartReason, kinds};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
/// enum Word {
///     Lead(Id),
/// }
/// kinds!(Word: Lead = "lead");
///
/// struct First;
///
/// impl Protocol for First {
///     type Rank = Id;
///     type State = bool; // has anybody claimed the lead?
///     type Message = Word;
///
///     fn init(&self) -> bool {
///         false
///     }
///     fn handle_start<C: Context<Self>>(&self, claimed: &mut bool, _: StartReason, cx: &mut C) {
///         if !core::mem::replace(claimed, true) {
///             cx.lead();
///             cx.send_all_but(None, Word::Lead(cx.rank()));
///         }
///     }
///     fn handle_message<C: Context<Self>>(&self, claimed: &mut bool, _: Port, Word::Lead(id): Word, cx: &mut C) {
///         *claimed = true;
///         cx.follow(id);
///     }
/// }
///
/// let place = NodeInfo { rank: Id(7), index: 0, size: 3, peers: Peers::Unknown(2) };
/// let (mut state, mut effects) = (First.init(), Vec::new());
/// First.handle_start(&mut state, StartReason::Start, &mut Recorder::new(&place, |_| 0, &mut effects));
/// assert_eq!(effects, [Effect::Lead, Effect::SendAllBut(None, Word::Lead(Id(7)))]);
/// ```
pub trait Protocol: Send + Sync + 'static {
    /// What candidates are compared by.
    type Rank: Rank;
    /// What a node remembers. It holds no absolute time, so that a checker's state space stays finite; and not the
    /// node's own rank, which the context has (a one-byte state is worth a third of the engine's speed).
    type State: Clone + Eq + Hash + Debug + Send + Sync + 'static;
    /// What nodes say to each other.
    type Message: Message;

    /// The state before anything has happened; also that of a node that recovers.
    fn init(&self) -> Self::State;

    /// Whether nodes are to be told whom they can reach, whenever that changes: [`Change::Reachable`].
    fn observes_reachability(&self) -> bool {
        false
    }

    /// Whether a node does something as soon as it is back from a crash or has just joined: [`Protocol::handle_rejoin`].
    fn handles_rejoin(&self) -> bool {
        false
    }

    /// The node is asked to hold an election.
    fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, reason: StartReason, cx: &mut C);

    /// A message came in at a port.
    fn handle_message<C: Context<Self>>(&self, state: &mut Self::State, from: Port, message: Self::Message, cx: &mut C);

    /// A message came from a node that reached this one by its id.
    fn handle_direct<C: Context<Self>>(&self, state: &mut Self::State, from: Id, message: Self::Message, cx: &mut C) {
        let _ = (state, from, message, cx);
    }

    /// A message that this node sent found its receiver down.
    fn handle_unreachable<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        port: Port,
        message: Self::Message,
        cx: &mut C,
    ) {
        let _ = (state, port, message, cx);
    }

    /// A message that this node sent by id found its receiver down.
    fn handle_unreachable_direct<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        to: Id,
        message: Self::Message,
        cx: &mut C,
    ) {
        let _ = (state, to, message, cx);
    }

    /// A timer is due. A stale one (its token is not the state's) must change nothing.
    fn handle_timer<C: Context<Self>>(&self, state: &mut Self::State, timer: Timer, cx: &mut C) {
        let _ = (state, timer, cx);
    }

    /// Whether a timer that had no effects and led from `before` to `after` made progress. If it did, the run was not
    /// quiescent in that tick. A protocol that keeps a record of its timers in its state ignores the record here.
    fn is_progress(&self, before: &Self::State, after: &Self::State) -> bool {
        before != after
    }

    /// The epoch that a node is in. Leaders of different epochs do not contradict each other; a protocol that holds one
    /// election has one epoch.
    fn epoch(&self, state: &Self::State) -> Epoch {
        let _ = state;
        Epoch::ONLY
    }

    /// Calls with every number of a round in a state or a message: one that only grows, and of which it matters only by
    /// how much it differs from that of the node which handles it; messages of rounds before those of all nodes are
    /// alike. A checker may then lower all of them by the same amount, and has finitely many states where rounds go on
    /// for ever.
    fn rounds(&self, held: StateOrMessage<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        let _ = (held, each);
    }

    /// The surroundings changed.
    fn handle_change<C: Context<Self>>(&self, state: &mut Self::State, change: Change, cx: &mut C) {
        let _ = (state, change, cx);
    }

    /// The node is back from a crash, with fresh state, or has just joined. Called only where [`Protocol::handles_rejoin`].
    fn handle_rejoin<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        let _ = (state, cx);
    }

    /// The node leaves in good order after this handler.
    fn handle_retire<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        let _ = (state, cx);
    }

    /// Any event, handed to its handler.
    #[inline(always)]
    fn handle<C: Context<Self>>(&self, state: &mut Self::State, event: Event<Self::Message>, cx: &mut C) {
        match event {
            Event::Start(reason) => self.handle_start(state, reason, cx),
            Event::Message { from, message } => self.handle_message(state, from, message, cx),
            Event::Direct { from, message } => self.handle_direct(state, from, message, cx),
            Event::Unreachable { port, message } => self.handle_unreachable(state, port, message, cx),
            Event::UnreachableDirect { to, message } => self.handle_unreachable_direct(state, to, message, cx),
            Event::Timer(timer) => self.handle_timer(state, timer, cx),
            Event::Change(change) => self.handle_change(state, change, cx),
            Event::Rejoin => self.handle_rejoin(state, cx),
            Event::Retire => self.handle_retire(state, cx),
        }
    }
}

/// What holds numbers of rounds.
pub enum StateOrMessage<'a, P: Protocol + ?Sized> {
    /// A node's state.
    State(&'a mut P::State),
    /// A message under way.
    Message(&'a mut P::Message),
}

/// Which of several elections that follow each other, or are held side by side in parts of a network, a node is in.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Epoch(pub u64, pub u64, pub u64);

impl Epoch {
    /// There is only one.
    pub const ONLY: Epoch = Epoch(0, 0, 0);
}

/// What a node knows and does while it handles one event.
///
/// A driver implements the questions and [`Context::emit`]. The other methods are shorthands for emitting an effect;
/// implementations do not override them. An algorithm that contains another one implements this trait too, to translate
/// the inner algorithm's messages and ports.
pub trait Context<P: Protocol + ?Sized> {
    /// The node's own rank. Anonymous algorithms do not use it.
    fn rank(&self) -> P::Rank;

    /// The node's index among the members, from 0, for algorithms that know the list of members.
    fn index(&self) -> u32;

    /// The number of members, for algorithms that know it.
    fn size(&self) -> u32;

    /// The number of ports.
    fn degree(&self) -> u32;

    /// The rank of the peer behind a port, if the network reveals it.
    fn peer_rank(&self, port: Port) -> Option<P::Rank>;

    /// A uniformly distributed random number below `bound`, which is at least 1. The checker tries all of them.
    fn draw(&mut self, bound: u64) -> u64;

    /// Carries out an effect, or records it.
    fn emit(&mut self, effect: Effect<P::Message>);

    /// Sends to one neighbour.
    #[inline(always)]
    fn send(&mut self, port: Port, message: P::Message) {
        self.emit(Effect::Send(port, message));
    }

    /// Sends the same message to all neighbours, or to all but one, by ascending port. On a broadcast medium it counts
    /// as one message.
    #[inline(always)]
    fn send_all_but(&mut self, except: Option<Port>, message: P::Message) {
        self.emit(Effect::SendAllBut(except, message));
    }

    /// Sends the same message to a range of ports, ascending.
    #[inline(always)]
    fn send_range(&mut self, ports: Range<u32>, message: P::Message) {
        self.emit(Effect::SendRange(ports, message));
    }

    /// Sends to a node whose id this node has learnt.
    #[inline(always)]
    fn send_direct(&mut self, to: Id, message: P::Message) {
        self.emit(Effect::SendDirect(to, message));
    }

    /// Sends to a member by its index, for algorithms that know the list of members. The receiver handles it with
    /// [`Protocol::handle_direct`].
    #[inline(always)]
    fn send_to(&mut self, member: u32, message: P::Message) {
        self.emit(Effect::SendTo(member, message));
    }

    /// Requests [`Protocol::handle_timer`] in `after` ticks, at least 1.
    #[inline(always)]
    fn set_timer(&mut self, after: u64, timer: Timer) {
        self.emit(Effect::SetTimer(after, timer));
    }

    /// This node leads and names itself as the leader.
    #[inline(always)]
    fn lead(&mut self) {
        self.emit(Effect::Lead);
    }

    /// This node names `leader` as the leader. If it led before, it no longer does.
    #[inline(always)]
    fn follow(&mut self, leader: Id) {
        self.emit(Effect::Follow(leader));
    }

    /// This node no longer names a leader.
    #[inline(always)]
    fn forget(&mut self) {
        self.emit(Effect::Forget);
    }

    /// The node has found out something other than who leads.
    #[inline(always)]
    fn learn(&mut self, fact: Fact) {
        self.emit(Effect::Learn(fact));
    }

    /// On a ring, within [`Protocol::handle_unreachable`]: removes the peer behind the port from this node's ring for
    /// the rest of the run, and sends everything that was sent to it, from the lost message on and in order, to the
    /// next one. (Sending the messages again one by one would break FIFO order: Dolev–Klawe–Rodeh and Peterson then
    /// elect wrong leaders.)
    #[inline(always)]
    fn skip(&mut self, port: Port) {
        self.emit(Effect::Skip(port));
    }
}
