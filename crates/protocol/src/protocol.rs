//! The [`Protocol`] trait, one node's side of one election, and the [`Context`] it acts through.

use core::fmt::Debug;
use core::hash::Hash;
use core::ops::Range;

use serde::{Deserialize, Serialize};

use crate::{Change, Effect, Event, Fact, Id, Port, Rank, StartReason, Timer};

/// What nodes send to each other.
///
/// Keep it at 16 bytes or less, and put larger payloads behind a shared pointer. [`crate::kinds!`] implements this
/// trait for an enum.
pub trait Message: Clone + Eq + Hash + Debug + Serialize + for<'de> Deserialize<'de> + Send + Sync + 'static {
    /// The names under which messages are counted, in the order of reports.
    const KINDS: &'static [&'static str];

    /// The index of this message's kind in [`Message::KINDS`].
    fn kind(&self) -> usize;

    /// Whether it belongs to periodic traffic that never ends (beacons, polls). Such messages do not count when a run
    /// is tested for quiescence.
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
/// All nodes share the value, which never changes. What a node remembers is its [`Protocol::State`]. A protocol reads
/// no clock and has no random generator of its own: time passes in timers, and random numbers come from
/// [`Context::draw`]. So the same value runs in the simulator, in the checker and on a network.
///
/// Handlers are generic over the context. Mark them `#[inline(always)]` if speed matters, so that the fast engine
/// inlines them into its loop.
///
/// # Example
///
/// The first node to hear of an election leads and tells its neighbours. It is not a good algorithm, but a complete
/// one.
///
/// ```
/// use hustings_protocol::{Context, Effect, Id, Peers, NodeInfo, Port, Protocol, Recorder, StartReason, kinds};
/// use serde::{Deserialize, Serialize};
///
/// #[derive(Clone, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
/// enum Claim {
///     Lead(Id),
/// }
/// kinds!(Claim: Lead = "lead");
///
/// struct First;
///
/// impl Protocol for First {
///     type Rank = Id;
///     type State = bool; // whether a node has claimed the leadership
///     type Message = Claim;
///
///     fn init(&self) -> bool {
///         false
///     }
///     fn handle_start<C: Context<Self>>(&self, claimed: &mut bool, _: StartReason, cx: &mut C) {
///         if !core::mem::replace(claimed, true) {
///             cx.lead();
///             cx.send_all_but(None, Claim::Lead(cx.rank()));
///         }
///     }
///     fn handle_message<C: Context<Self>>(&self, claimed: &mut bool, _: Port, Claim::Lead(id): Claim, cx: &mut C) {
///         *claimed = true;
///         cx.follow(id);
///     }
/// }
///
/// let info = NodeInfo { rank: Id(7), index: 0, size: 3, peers: Peers::Unknown(2) };
/// let (mut state, mut effects) = (First.init(), Vec::new());
/// First.handle_start(&mut state, StartReason::Start, &mut Recorder::new(&info, |_| 0, &mut effects));
/// assert_eq!(effects, [Effect::Lead, Effect::SendAllBut(None, Claim::Lead(Id(7)))]);
/// ```
pub trait Protocol: Send + Sync + 'static {
    /// What candidates are compared by.
    type Rank: Rank;
    /// What a node remembers. It contains no absolute time, so that the checker's state space stays finite. It does not
    /// contain the node's own rank, which the context provides: a one-byte state makes the engine a third faster.
    type State: Clone + Eq + Hash + Debug + Send + Sync + 'static;
    /// What nodes send to each other.
    type Message: Message;

    /// The initial state, also of a node that recovers.
    fn init(&self) -> Self::State;

    /// Whether nodes get [`Change::Reachable`] whenever the set of nodes that they can reach changes.
    fn observes_reachability(&self) -> bool {
        false
    }

    /// Whether a node gets [`Protocol::handle_rejoin`] when it has recovered or joined.
    fn handles_rejoin(&self) -> bool {
        false
    }

    /// The node is asked to hold an election.
    fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, reason: StartReason, cx: &mut C);

    /// A message arrived at a port.
    fn handle_message<C: Context<Self>>(&self, state: &mut Self::State, from: Port, message: Self::Message, cx: &mut C);

    /// A message arrived that was sent to this node by id or by index.
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

    /// A message that this node sent by id or by index found its receiver down.
    fn handle_unreachable_direct<C: Context<Self>>(
        &self,
        state: &mut Self::State,
        to: Id,
        message: Self::Message,
        cx: &mut C,
    ) {
        let _ = (state, to, message, cx);
    }

    /// A timer is due. A stale one, whose token is not the state's, must change nothing.
    fn handle_timer<C: Context<Self>>(&self, state: &mut Self::State, timer: Timer, cx: &mut C) {
        let _ = (state, timer, cx);
    }

    /// Whether a timer that had no effects and led from `before` to `after` made progress. If it did, the run was not
    /// quiescent in that tick. A protocol that keeps a record of its timers in its state ignores the record here.
    fn is_progress(&self, before: &Self::State, after: &Self::State) -> bool {
        before != after
    }

    /// The epoch that a node is in. Leaders of different epochs do not contradict each other. A protocol that holds one
    /// election has one epoch.
    fn epoch(&self, state: &Self::State) -> Epoch {
        let _ = state;
        Epoch::ONLY
    }

    /// The node as whose candidacy a node sends this message, if a node that passes on a greater candidacy gives up its
    /// own. The checker then verifies that it does.
    fn candidacy(&self, message: &Self::Message) -> Option<Id> {
        let _ = message;
        None
    }

    /// Calls `each` with every round number in a state or a message.
    ///
    /// A round number only grows, and only its difference from the round of the node that handles it matters. Messages
    /// of rounds before those of all nodes are equivalent. So the checker may lower all round numbers by the same
    /// amount, and an unbounded number of rounds has finitely many states.
    fn rounds(&self, item: StateOrMessage<'_, Self>, each: &mut dyn FnMut(&mut u32)) {
        let _ = (item, each);
    }

    /// The network changed.
    fn handle_change<C: Context<Self>>(&self, state: &mut Self::State, change: Change, cx: &mut C) {
        let _ = (state, change, cx);
    }

    /// The node has recovered, with its initial state, or has just joined. Called only if [`Protocol::handles_rejoin`].
    fn handle_rejoin<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        let _ = (state, cx);
    }

    /// The node leaves gracefully after this handler.
    fn handle_retire<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        let _ = (state, cx);
    }

    /// Calls the handler of an event.
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

/// A value that contains round numbers.
pub enum StateOrMessage<'a, P: Protocol + ?Sized> {
    /// A node's state.
    State(&'a mut P::State),
    /// A message in flight.
    Message(&'a mut P::Message),
}

/// Identifies the election that a node is in, where several follow each other or are held in different components of a
/// network.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug, Serialize, Deserialize)]
pub struct Epoch(pub u64, pub u64, pub u64);

impl Epoch {
    /// The epoch of protocols that hold a single election.
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
