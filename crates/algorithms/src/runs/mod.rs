//! Runs: what lets any algorithm survive crashes, recoveries and partitions.
//!
//! [`Runs`] is a protocol around a protocol. The inner algorithm is run among the members of a *view*: those who can
//! reach each other. When that changes, there is a new view and in it a new run; what is left of older ones is dropped.
//! So the inner algorithm needs to be right only where nobody fails.
//!
//! - **Assumes** that every node is told when it comes up ([`Protocol::handle_rejoin`]) and then, and whenever it changes,
//!   also if it changes back at once, whom it can reach ([`Change::Reachable`]); that what is told is right in the end;
//!   that mail between two nodes which reach each other all the while arrives; and that no mail from one node to
//!   another overtakes what was sent before, not even in an earlier life. Nobody has to be told at the same time, and
//!   nothing is remembered over a crash.
//! - **Promises** that, when nothing more changes, each connected part has one leader, whom everybody there names, if
//!   the inner algorithm promises that for members who all stay up and begin one after the other. While things change
//!   there may be leaders in two parts, and more than one for a moment: there is no promise of safety here.
//! - **Comes from** the wish of all texts that an election be held anew when somebody fails; numbered views are what
//!   group communication makes of it.
//! - **Costs** about m² `view` for a change among m members, each with m ids in it, and what the inner algorithm costs,
//!   once for every view that is adopted on the way.
//!
//! # The rules
//!
//! 1. A view has a [`Number`] and members. The first view is that of all members of the map, with the number ⟨0, 0⟩;
//!    start signals from outside start its run, and its first message draws others in.
//! 2. A node that is told it reaches others than the members of its view takes the number ⟨counter+1, own id⟩, where
//!    `counter` is the greatest it has seen, adopts the view of those it reaches, and sends it to them. A node that
//!    came up has no view, and does nothing until it is told.
//! 3. A node adopts a view with a greater number than its own if its members are just those that it reaches itself. If
//!    not, it keeps the greatest such view, and adopts it instead of taking a number itself if it then loses sight of
//!    members, and of just those.
//! 4. Adopting a view, a node forgets its leader and the inner state, and begins a run over the members: their places
//!    are those on the map, their links an [`Overlay`] of the algorithm's kind of network. It
//!    starts if it is one of the algorithm's default initiators.
//! 5. Every message of a run carries the number of its view. One of an older view is dropped; one of a newer view is
//!    held until that view is adopted. What the inner algorithm sends by id to one outside the view is not sent, and
//!    comes back two ticks later, as from one who is down.
//! 6. A view is marked *fresh* to those whom its sender could not reach before (to everybody, if the sender has just
//!    come up). Somebody who gets a fresh view that is not greater than its own takes another number one tick later,
//!    unless it has adopted a greater view by then. Only the one who took the number of its own view does so; everybody
//!    does if that is the sender itself, which has then forgotten about it.
//!
//! # Why rule 6
//!
//! A node may go down and come up without anybody noticing. The others then are in a view of which it is a member, with
//! a number greater than any that it can think of, and a run in which it has forgotten its part. That run must end. One
//! answer is enough, and the one who took the number can be trusted to give it: if it is still there, the newcomer
//! reaches it and has sent it a fresh view; if it is not, there will be a new view anyhow. The tick's wait is for the
//! case that many come up or meet at once: all of them take numbers, the greatest wins, and only its owner answers.
//! Answers are not fresh, so they are not answered.
//!
//! # Why it ends well
//!
//! Let nothing change any more, and everybody in a part have been told. Everybody's view then has the members of that
//! part. Take the greatest number among them. Its owner is a member. It took it after everybody there came up for the
//! last time (else it had to answer a fresh view by a greater number), and none of its mail of that view was lost (else
//! it was told that somebody was out of reach, and took a greater number). So everybody has got that view and adopted
//! it or had one with a greater number, which there is not. And the messages of its run have all arrived, since those
//! who sent them would have been out of reach for the owner as well.

mod envelope;
mod inside;
mod number;
mod state;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::fmt;

use hustings_protocol::{Change, Context, Epoch, Id, Port, Protocol, Rank, StartReason, Timer};

pub use self::envelope::Envelope;
use self::inside::Inside;
pub use self::number::Number;
pub use self::state::State;
use self::state::{Mail, Places, Purpose, Reach, Run, Word};
use crate::overlay::Overlay;
use crate::{About, Initiators, NetworkKind};

/// An algorithm in runs: see the module.
pub struct Runs<P: Protocol> {
    inner: P,
    network: NetworkKind,
    initiators: Initiators,
    /// The map: the rank of each member by its place.
    ranks: Vec<P::Rank>,
    /// Ids with their places, ascending.
    places: Vec<(Id, u32)>,
    all: Reach,
    /// How many coins there are for lives after the first.
    lives: u64,
    broken: Option<Rule>,
}

/// A rule that a test may take away, to see that it is missed.
#[doc(hidden)]
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Rule {
    /// A fresh view is answered.
    Fresh,
    /// Messages of newer views are held.
    Hold,
    /// Messages of older views are dropped.
    Drop,
}

/// How long a node waits before it answers fresh views.
const PATIENCE: u64 = 1;

type StateOf<P> = State<<P as Protocol>::State, <P as Protocol>::Message>;

impl<P: Protocol> Runs<P> {
    /// Runs of an algorithm with this description, among members with these ranks.
    pub fn new(inner: P, about: &About, ranks: &[P::Rank]) -> Self {
        let mut places: Vec<(Id, u32)> = ranks.iter().zip(0..).map(|(rank, place)| (rank.id(), place)).collect();
        places.sort_unstable();
        let all = Reach { ids: places.iter().map(|&(id, _)| id).collect(), places: (0..ranks.len() as u32).collect() };
        Runs {
            inner,
            network: about.network,
            initiators: about.initiators,
            ranks: ranks.to_vec(),
            places,
            all,
            lives: u64::from(u32::MAX),
            broken: None,
        }
    }

    /// The same with so many coins for the lives of a node that comes up (see [`Number`]). With 0 none is drawn: for a
    /// checker, which would try them all.
    pub fn with_lives(self, lives: u32) -> Self {
        Runs { lives: u64::from(lives), ..self }
    }

    /// The same without a rule that it needs.
    #[doc(hidden)]
    pub fn without(self, rule: Rule) -> Self {
        Runs { broken: Some(rule), ..self }
    }

    /// The same, but everybody starts the run in a view that it adopts, not only the default initiators: where
    /// everybody has seen by itself that an election is due, nobody need wait for word of it.
    pub fn started_by_all(self) -> Self {
        Runs { initiators: Initiators::All, ..self }
    }

    /// The state of a node that goes over to these runs from others with the same links, of which no mail was lost
    /// that is not counted in `counter`, the greatest counter that it has seen; `life` is the coin of its life. So
    /// nothing that it says is fresh to anybody. It has no view; when it is told whom it reaches, it takes a number
    /// greater than `counter`, unless it was asked to adopt a view by then.
    pub fn resume(&self, counter: u64, life: u32) -> StateOf<P> {
        State { counter, life, word: Word::Told(self.all.clone()), ..State::new() }
    }

    /// The algorithm.
    pub fn inner(&self) -> &P {
        &self.inner
    }

    /// Lets the inner algorithm act in the run under way, if there is one.
    fn inside<C: Context<Self>>(
        &self,
        state: &mut StateOf<P>,
        cx: &mut C,
        act: impl FnOnce(&P, &mut P::State, &mut Inside<'_, P, C>),
    ) {
        let State { run: Some(run), timers, .. } = state else { return };
        let (view, members, index) = (run.number, run.members.clone(), run.index);
        act(&self.inner, &mut run.inner, &mut Inside { runs: self, view, members, index, timers, cx });
    }

    /// Leaves the run under way for a new one.
    fn enter<C: Context<Self>>(&self, state: &mut StateOf<P>, number: Number, members: Places, cx: &mut C) {
        let own = self.place(cx.rank().id());
        let Some(index) = own.and_then(|own| members.binary_search(&own).ok()) else { return };
        if state.run.is_some() {
            cx.forget();
        }
        state.timers.outlive();
        if state.pending.as_ref().is_some_and(|(pending, _)| *pending <= number) {
            state.pending = None;
        }
        state.run = Some(Run { number, members, index: index as u32, inner: self.inner.init() });
    }

    /// Enters the first view, unless the node came up later or is in a view already.
    fn enter_first<C: Context<Self>>(&self, state: &mut StateOf<P>, cx: &mut C) {
        if state.run.is_none() && state.word == Word::All {
            self.enter(state, Number::FIRST, self.all.places.clone(), cx);
        }
    }

    /// Whom the node can reach, if it knows.
    fn reach<'a>(&'a self, state: &'a StateOf<P>) -> Option<&'a Reach> {
        match &state.word {
            Word::All => Some(&self.all),
            Word::Unknown => None,
            Word::Told(word) => Some(word),
        }
    }

    /// Begins the run that the node has entered: starts if that is its part, and takes the mail that came too early.
    fn begin<C: Context<Self>>(&self, state: &mut StateOf<P>, cx: &mut C) {
        let Some(Run { number, index, .. }) = state.run else { return };
        let (mail, is_short) = state.held.take(number);
        let starts = match self.initiators {
            Initiators::All => true,
            Initiators::LowestLive => index == 0,
        };
        if starts {
            self.inside(state, cx, |inner, run, cx| inner.handle_start(run, StartReason::Start, cx));
        }
        mail.into_iter().for_each(|mail| self.deliver(state, mail, cx));
        if is_short {
            self.answer(state, cx);
        }
    }

    fn adopt<C: Context<Self>>(&self, state: &mut StateOf<P>, number: Number, members: Places, cx: &mut C) {
        self.enter(state, number, members, cx);
        self.begin(state, cx);
    }

    /// Inputs a number for the view of those in reach. It is fresh to the newcomers among them.
    fn propose<C: Context<Self>>(&self, state: &mut StateOf<P>, newcomers: &[u32], cx: &mut C) {
        let Some(Reach { ids, places: members }) = self.reach(state).cloned() else { return };
        let id = cx.rank().id();
        state.counter = state.counter.saturating_add(1);
        let number = Number { counter: state.counter, id, life: state.life };
        self.enter(state, number, members.clone(), cx);
        // Before the first message of the run, so that on ordered links the view comes first.
        for &place in members.iter() {
            let to = self.ranks[place as usize].id();
            if to != id {
                let fresh = newcomers.binary_search(&place).is_ok();
                cx.send_direct(to, Envelope::View { number, members: ids.clone(), fresh });
            }
        }
        self.begin(state, cx);
    }

    /// Inputs another number in a while, unless the view is another one by then.
    fn answer<C: Context<Self>>(&self, state: &mut StateOf<P>, cx: &mut C) {
        let Some(number) = state.number() else { return };
        if !state.timers.is_to_answer(number) {
            cx.set_timer(PATIENCE, state.timers.set(Purpose::Answer(number)));
        }
    }

    /// Word of whom the node can reach.
    fn told<C: Context<Self>>(&self, state: &mut StateOf<P>, word: Arc<[Id]>, cx: &mut C) {
        let Some(own) = self.place(cx.rank().id()) else { return };
        let reach = self.reach_of(word, own);
        let newcomers: Vec<u32> = match self.reach(state) {
            None => reach.places.to_vec(),
            Some(before) => {
                let is_new = |place: &u32| before.places.binary_search(place).is_err();
                reach.places.iter().copied().filter(is_new).collect()
            }
        };
        state.word = Word::Told(reach.clone());
        if state.run.as_ref().is_some_and(|run| run.members == reach.places) {
            return;
        }
        // A view that somebody else has seen coming will do, unless there is somebody whom nobody may have told of it.
        let number = state.number();
        let foreseen = state.pending.take_if(|(pending, members)| Some(*pending) > number && *members == reach.ids);
        match foreseen {
            Some((number, _)) if newcomers.is_empty() => self.adopt(state, number, reach.places, cx),
            _ => self.propose(state, &newcomers, cx),
        }
    }

    /// Somebody asks for a view to be adopted. A change among m members makes m² of these, so nothing is done here for
    /// every member: the ids are only compared with those in reach, and not even that if both are the same word.
    fn asked<C: Context<Self>>(
        &self,
        state: &mut StateOf<P>,
        from: Id,
        (number, members, fresh): (Number, Arc<[Id]>, bool),
        cx: &mut C,
    ) {
        let own = cx.rank().id();
        let is_member = |id: Id| members.binary_search(&id).is_ok();
        if number.taken_by() != Some(from) || !is_member(from) || !is_member(own) {
            return;
        }
        state.counter = state.counter.max(number.counter);
        if fresh {
            // Whatever the sender has asked for before, it may have forgotten it.
            state.pending.take_if(|(pending, _)| pending.taken_by() == Some(from));
        }
        if Some(number) > state.number() {
            if let Some(reach) = self.reach(state).filter(|reach| reach.ids == members) {
                let members = reach.places.clone();
                self.adopt(state, number, members, cx);
            } else if state.pending.as_ref().is_none_or(|(pending, _)| *pending < number) {
                state.pending = Some((number, members));
            }
        } else if let Some(run) = &state.run {
            let owner = run.number.taken_by();
            let is_member = self.place(from).is_some_and(|place| run.members.binary_search(&place).is_ok());
            let is_due = fresh && is_member && (owner == Some(own) || owner == Some(from));
            if is_due && self.broken != Some(Rule::Fresh) {
                self.answer(state, cx);
            }
        }
    }

    /// A message of a run came in.
    fn heard<C: Context<Self>>(&self, state: &mut StateOf<P>, number: Number, mail: Mail<P::Message>, cx: &mut C) {
        state.counter = state.counter.max(number.counter);
        if number == Number::FIRST {
            self.enter_first(state, cx);
        }
        let is_old = Some(number) < state.number();
        if state.number() == Some(number) || (is_old && self.broken == Some(Rule::Drop)) {
            self.deliver(state, mail, cx);
        } else if Some(number) > state.number() && self.place(mail.0).is_some() && self.broken != Some(Rule::Hold) {
            state.held.keep(number, mail);
        }
    }

    /// Hands mail of the run under way to the inner algorithm, unless it cannot have come that way.
    fn deliver<C: Context<Self>>(&self, state: &mut StateOf<P>, (from, port, says): Mail<P::Message>, cx: &mut C) {
        let Some(run) = &state.run else { return };
        let place = self.place(from);
        let Some(sender) = place.and_then(|place| run.members.binary_search(&place).ok()) else { return };
        let overlay = Overlay::new(self.network, run.members.len() as u32);
        match port {
            None => self.inside(state, cx, |inner, run, cx| inner.handle_direct(run, from, says, cx)),
            Some(port) => {
                if overlay.peer(run.index, port).is_some_and(|(peer, _)| peer == sender as u32) {
                    self.inside(state, cx, |inner, run, cx| inner.handle_message(run, port, says, cx));
                }
            }
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
        self.inside(state, cx, |inner, run, cx| inner.handle_start(run, reason, cx));
    }

    /// Nothing comes in at a port: members reach each other by id.
    fn handle_message<C: Context<Self>>(&self, _: &mut Self::State, _: Port, _: Self::Message, _: &mut C) {}

    fn handle_direct<C: Context<Self>>(&self, state: &mut Self::State, from: Id, message: Self::Message, cx: &mut C) {
        match message {
            Envelope::Inner { says, view, port } => self.heard(state, view, (from, port, says), cx),
            Envelope::View { number, members, fresh } => self.asked(state, from, (number, members, fresh), cx),
        }
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut Self::State, timer: Timer, cx: &mut C) {
        match state.timers.ring(timer) {
            Some(Purpose::Inner(timer)) => self.inside(state, cx, |inner, run, cx| inner.handle_timer(run, timer, cx)),
            Some(Purpose::Return(to, message)) => {
                self.inside(state, cx, |inner, run, cx| inner.handle_unreachable_direct(run, to, message, cx));
            }
            Some(Purpose::Answer(number)) if state.number() == Some(number) => self.propose(state, &[], cx),
            Some(Purpose::Answer(_)) | None => {}
        }
    }

    /// That of its view. A node without one names nobody.
    fn epoch(&self, state: &Self::State) -> Epoch {
        let Number { counter, id, life } = state.number().unwrap_or(Number::FIRST);
        Epoch(counter, id.0, life.into())
    }

    /// A timer is the inner algorithm's, or leads to another view. That it leaves the list is nothing.
    fn acted(&self, before: &Self::State, after: &Self::State) -> bool {
        match (&before.run, &after.run) {
            (Some(before), Some(after)) if before.number == after.number => {
                self.inner.acted(&before.inner, &after.inner)
            }
            _ => before.number() != after.number(),
        }
    }

    fn handle_change<C: Context<Self>>(&self, state: &mut Self::State, change: Change, cx: &mut C) {
        if let Change::Reachable(word) = change {
            self.told(state, word, cx);
        }
    }

    fn handle_rejoin<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        state.word = Word::Unknown;
        if self.lives > 0 {
            state.life = 1 + cx.draw(self.lives) as u32;
        }
    }

    fn handle_retire<C: Context<Self>>(&self, state: &mut Self::State, cx: &mut C) {
        self.inside(state, cx, |inner, run, cx| inner.handle_retire(run, cx));
    }
}

impl<P: Protocol> fmt::Debug for Runs<P> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Runs").field("network", &self.network).field("ranks", &self.ranks).finish_non_exhaustive()
    }
}
