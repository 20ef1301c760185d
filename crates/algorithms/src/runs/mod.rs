//! Runs: a wrapper that lets any algorithm tolerate crashes, recoveries and partitions.
//!
//! [`Runs`] is a protocol around a protocol. The inner algorithm runs among the members of a *view*: nodes that can
//! reach each other. When reachability changes, there is a new view and a new run in it; messages of older runs are
//! dropped. So the inner algorithm has to be correct only without faults.
//!
//! - **Needs** that every node is told when it comes up ([`Protocol::handle_rejoin`]), and gets a reachability update
//!   ([`Change::Reachable`]) then and after every change, also one that is undone at once; that updates are eventually
//!   right; that messages between nodes which can reach each other arrive; and that messages from one node to another
//!   stay in order, also across incarnations. Updates need not come at the same time everywhere, and no state survives
//!   a crash.
//! - **Guarantees** that after the last change each connected part has one leader that all its members name, if the
//!   inner algorithm guarantees that for members that stay up and start at different times. While things change there
//!   may be two leaders: runs give no safety guarantee.
//! - **Source**: the texts ask for a new election after a failure; numbered views come from group communication.
//! - **Messages**: about m² `view` for a change among m members, each with m ids, and those of the inner algorithm once
//!   for every view adopted on the way.
//!
//! # The rules
//!
//! 1. A view has a [`ViewNumber`] and members. The first view contains all members of the map and has the number ⟨0,
//!    0⟩; start signals from outside start its run, and a node also enters it with the first message it receives.
//! 2. A node whose reachable set differs from the members of its view takes the number ⟨counter+1, own id⟩, where
//!    `counter` is the greatest it has seen, adopts the view of its reachable set, and sends it to these members. A
//!    recovered node has no view, and does nothing before its first update.
//! 3. A node adopts a view with a greater number than its own if the members are exactly its reachable set. Otherwise
//!    it keeps the greatest such view, and adopts it later instead of taking a number, if it loses exactly the missing
//!    members.
//! 4. A node that adopts a view forgets its leader and the inner state, and begins a run among the members: in the
//!    order of the map, linked by an `Overlay` of the algorithm's kind of network. It starts if it is one of the
//!    algorithm's default initiators.
//! 5. Every inner message carries the number of its view. Messages of older views are dropped; messages of newer views
//!    are held until that view is adopted. A message by id to a node outside the view is not sent; it comes back two
//!    ticks later, as from a dead node.
//! 6. A view is marked *fresh* for members that its sender could not reach before, and for all members if the sender
//!    has just recovered. The owner of the current view answers a fresh view that is not greater: one tick later it
//!    takes another number, unless it has adopted a greater view by then. If the fresh view comes from that owner
//!    itself, which has then lost its state, every member answers.
//!
//! # Why rule 6
//!
//! A node may crash and recover unnoticed. The others are then in a view of which it is a member, with a number greater
//! than any that it can know, and a run in which it has lost its state. That run must end. One answer is enough, and
//! the owner can be relied on: if it is up, the newcomer reaches it and has sent it a fresh view; if not, there will be
//! a new view anyway. The delay of one tick is for many nodes that recover or meet at once: all of them take numbers,
//! the greatest wins, and only its owner answers. Answers are not fresh, so they are not answered.
//!
//! # Why it terminates correctly
//!
//! Assume that nothing changes any more and that all nodes of a part have their last update. The view of each then has
//! exactly the members of that part. Consider the greatest number among these views. Its owner is a member. It took the
//! number after all members came up for the last time (otherwise it would have answered a fresh view with a greater
//! number), and none of its view messages was lost (otherwise it would have been told of an unreachable member and
//! taken a greater number). So every member has received that view, and has adopted it, because no greater number
//! exists. The messages of its run have all arrived, because their senders could otherwise not have been reachable for
//! the owner.

mod envelope;
mod state;
mod view_context;
mod view_number;
mod views;

use alloc::vec::Vec;
use core::fmt;

use hustings_protocol::{Change, Context, Epoch, Id, Port, Protocol, Rank, StartReason, Timer};

pub use self::envelope::Envelope;
pub use self::state::State;
use self::state::{Places, Purpose, Reachability, Reachable, Run};
use self::view_context::ViewContext;
pub use self::view_number::ViewNumber;
use crate::{About, Initiators, NetworkKind};

/// An algorithm in runs: see the module documentation.
pub struct Runs<P: Protocol> {
    inner: P,
    network: NetworkKind,
    initiators: Initiators,
    /// The rank of each member by its place on the map.
    ranks: Vec<P::Rank>,
    /// Ids with their places, ascending.
    places: Vec<(Id, u32)>,
    all: Reachable,
    /// The range from which incarnation numbers are drawn.
    incarnations: u64,
    disabled: Option<ViewRule>,
}

/// A rule that a test may disable, to prove that it is needed.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ViewRule {
    /// A fresh view is answered with a greater number.
    Fresh,
    /// Messages of newer views are held.
    Hold,
    /// Messages of older views are dropped.
    Drop,
    /// A view that was proposed before an update is adopted only if the update has no newcomers.
    Foreseen,
}

type StateOf<P> = State<<P as Protocol>::State, <P as Protocol>::Message>;

impl<P: Protocol> Runs<P> {
    /// Wraps an algorithm with this description, among members with these ranks.
    pub fn new(inner: P, about: &About, ranks: &[P::Rank]) -> Self {
        let mut places: Vec<(Id, u32)> = ranks.iter().zip(0..).map(|(rank, place)| (rank.id(), place)).collect();
        places.sort_unstable();
        let all =
            Reachable { ids: places.iter().map(|&(id, _)| id).collect(), places: (0..ranks.len() as u32).collect() };
        Runs {
            inner,
            network: about.network,
            initiators: about.initiators,
            ranks: ranks.to_vec(),
            places,
            all,
            incarnations: u64::from(u32::MAX),
            disabled: None,
        }
    }

    /// Sets the range of incarnation numbers (see [`ViewNumber`]). With 0 none is drawn; a checker would otherwise try
    /// them all.
    pub fn with_incarnations(self, incarnations: u32) -> Self {
        Runs { incarnations: u64::from(incarnations), ..self }
    }

    /// Disables a rule.
    #[doc(hidden)]
    pub fn without(self, rule: ViewRule) -> Self {
        Runs { disabled: Some(rule), ..self }
    }

    /// Lets every member start the election in a view that it adopts, not only the default initiators. Useful where all
    /// members notice by themselves that an election is due.
    pub fn started_by_all(self) -> Self {
        Runs { initiators: Initiators::All, ..self }
    }

    /// The state of a node that continues from earlier runs over the same links. `counter` is the greatest counter that
    /// it has seen, and must cover every view whose messages were lost; `incarnation` is its incarnation number.
    /// Nothing that the node sends is marked fresh. It has no view: on its first reachability update it takes a number
    /// greater than `counter`, unless it has been asked to adopt a view by then.
    pub fn resume(&self, counter: u64, incarnation: u32) -> StateOf<P> {
        State { counter, incarnation, reachability: Reachability::Known(self.all.clone()), ..State::new() }
    }

    /// The inner algorithm.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// Lets the inner algorithm act in the current run, if there is one.
    fn with_inner<C: Context<Self>>(
        &self,
        state: &mut StateOf<P>,
        cx: &mut C,
        act: impl FnOnce(&P, &mut P::State, &mut ViewContext<'_, P, C>),
    ) {
        let State { run: Some(run), timers, .. } = state else { return };
        let (view, members, index) = (run.number, run.members.clone(), run.index);
        act(&self.inner, &mut run.inner, &mut ViewContext { runs: self, view, members, index, timers, cx });
    }

    /// Leaves the current run for a new one.
    fn enter<C: Context<Self>>(&self, state: &mut StateOf<P>, number: ViewNumber, members: Places, cx: &mut C) {
        let own = self.place(cx.rank().id());
        let Some(index) = own.and_then(|own| members.binary_search(&own).ok()) else { return };
        if state.run.is_some() {
            cx.forget();
        }
        state.timers.invalidate();
        if state.pending.as_ref().is_some_and(|(pending, _)| *pending <= number) {
            state.pending = None;
        }
        state.run = Some(Run { number, members, index: index as u32, inner: self.inner.init() });
    }

    /// Enters the first view, unless the node has recovered or is in a view already.
    fn enter_first<C: Context<Self>>(&self, state: &mut StateOf<P>, cx: &mut C) {
        if state.run.is_none() && state.reachability == Reachability::All {
            self.enter(state, ViewNumber::FIRST, self.all.places.clone(), cx);
        }
    }
}

impl<P: Protocol> Protocol for Runs<P> {
    type Rank = P::Rank;
    type State = State<P::State, P::Message>;
    type Message = Envelope<P::Message>;

    fn init(&self) -> Self::State {
        State::new()
    }

    fn observes_reachability(&self) -> bool {
        true
    }

    fn handles_rejoin(&self) -> bool {
        true
    }

    fn handle_start<C: Context<Self>>(&self, state: &mut Self::State, reason: StartReason, cx: &mut C) {
        self.enter_first(state, cx);
        self.with_inner(state, cx, |inner, run, cx| inner.handle_start(run, reason, cx));
    }

    /// Members reach each other by id only.
    fn handle_message<C: Context<Self>>(&self, _: &mut Self::State, _: Port, _: Self::Message, _: &mut C) {}

    fn handle_direct<C: Context<Self>>(&self, state: &mut Self::State, from: Id, message: Self::Message, cx: &mut C) {
        match message {
            Envelope::Inner { says, view, port } => self.handle_inner(state, view, (from, port, says), cx),
            Envelope::View { number, members, fresh } => self.handle_view(state, from, (number, members, fresh), cx),
        }
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut Self::State, timer: Timer, cx: &mut C) {
        match state.timers.take_due(timer) {
            Some(Purpose::Inner(timer)) => {
                self.with_inner(state, cx, |inner, run, cx| inner.handle_timer(run, timer, cx))
            }
            Some(Purpose::Bounce(to, message)) => {
                self.with_inner(state, cx, |inner, run, cx| inner.handle_unreachable_direct(run, to, message, cx));
            }
            Some(Purpose::Repropose(number)) if state.number() == Some(number) => self.propose(state, &[], cx),
            Some(Purpose::Repropose(_)) | None => {}
        }
    }

    /// The number of the view. A node without one names no leader.
    fn epoch(&self, state: &Self::State) -> Epoch {
        let ViewNumber { counter, id, incarnation } = state.number().unwrap_or(ViewNumber::FIRST);
        Epoch(counter, id.0, incarnation.into())
    }

    /// A timer did something if the inner algorithm acted or the view changed. Removing it from the list does not
    /// count.
    fn is_progress(&self, before: &Self::State, after: &Self::State) -> bool {
        match (&before.run, &after.run) {
            (Some(before), Some(after)) if before.number == after.number => {
                self.inner.is_progress(&before.inner, &after.inner)
            }
            _ => before.number() != after.number(),
        }
    }

    fn handle_change<C: Context<Self>>(&self, state: &mut Self::State, change: Change, cx: &mut C) {
        if let Change::Reachable(update) = change {
            self.handle_reachable(state, update, cx);
        }
    }

    fn handle_rejoin<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        state.reachability = Reachability::Unknown;
        if self.incarnations > 0 {
            state.incarnation = 1 + cx.draw(self.incarnations) as u32;
        }
    }

    fn handle_retire<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        self.with_inner(state, cx, |inner, run, cx| inner.handle_retire(run, cx));
    }
}

impl<P: Protocol> fmt::Debug for Runs<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs").field("network", &self.network).field("ranks", &self.ranks).finish_non_exhaustive()
    }
}
