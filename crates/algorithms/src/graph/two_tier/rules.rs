//! The state machine: the diffusing computation and the clique, put together.

use alloc::{boxed::Box, sync::Arc, vec::Vec};

use hustings_protocol::{Change, Context, Event, Fact, Id, Port, Protocol, Rank, Stage, StartReason, Timer};

use super::cheat::{Doubt, passed_over};
use super::choice::{Choice, Gone};
use super::clique::{Clique, Verdict};
use super::roll::{Number, Roll};
use super::{Diffused, Inner, Message, Rules};
use crate::graph::diffusion::{self, News};
use crate::within::Within;

/// What a node remembers.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<R: Rank> {
    diffusion: diffusion::State<R, R>,
    clique: Option<Box<Clique<R>>>,
    gone: Gone,
    doubt: Doubt,
}

impl<R: Rank> State<R> {
    /// The clique that the node belongs to, as it knows it.
    pub fn roll(&self) -> Option<&Roll<R>> {
        self.clique.as_ref().map(|clique| &**clique.roll())
    }
}

impl<R: Rank> Rules<R> {
    /// The kind of the clique's timers.
    pub(super) const TIMER: u8 = Inner::<R>::TIMERS;

    /// Hands an event to the diffusing computation, and heeds what comes of it.
    #[inline(always)]
    fn diffuse<C: Context<Self>>(&self, state: &mut State<R>, event: Event<Diffused<R>>, cx: &mut C) {
        let election = match event {
            Event::Message { message: Diffused::Leader { .. }, .. } if state.diffusion.is_electing() => {
                Some(state.diffusion.counter())
            }
            _ => None,
        };
        let news = self.diffusion.step(&mut state.diffusion, event, &mut Within::new(cx, Message::Diffused));
        if news.is_nothing() {
            return;
        }
        let is_end = news.contains(News::CONFIRMED) || news.contains(News::ENDED);
        if is_end || state.clique.is_some() || state.doubt.is_any() {
            self.heed(state, news, cx);
        }
        if let Some(election) = election
            && passed_over(cx.rank(), election, state.diffusion.leader(), state.diffusion.counter())
        {
            self.elect(state, cx);
        }
    }

    /// At the source: the winner does not answer.
    #[cold]
    #[inline(never)]
    fn winner_is_silent<C: Context<Self>>(&self, state: &mut State<R>, winner: Id, cx: &mut C) {
        if state.doubt.again(winner) {
            let news = self.diffusion.spread(&mut state.diffusion, &mut Within::new(cx, Message::Diffused));
            self.heed(state, news, cx);
        } else {
            self.elect(state, cx);
        }
    }

    /// At the source of an election that has ended: whether the winner, which has been told, can hear it at all.
    fn look_for_winner<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        if let Some(winner) = self.awaited_winner(state).filter(|winner| state.gone.contains(*winner)) {
            self.winner_is_silent(state, winner, cx);
        }
    }

    /// At the source of an election that has ended: the winner, which has not announced itself yet.
    fn awaited_winner(&self, state: &State<R>) -> Option<Id> {
        state.diffusion.result().filter(|_| state.diffusion.is_electing()).map(|winner| winner.id())
    }

    #[cold]
    #[inline(never)]
    fn heed<C: Context<Self>>(&self, state: &mut State<R>, news: News, cx: &mut C) {
        let counter = state.diffusion.counter();
        if news.contains(News::FOLLOWS) {
            let leader = state.diffusion.leader();
            let is_outdated =
                |clique: &Clique<R>| Some(clique.roll().leader) != leader || clique.roll().number.term < counter;
            if state.clique.as_deref().is_some_and(is_outdated) {
                state.clique = None;
                cx.learn(Fact::Stage(Stage::Normal));
            }
        }
        if news.contains(News::FOLLOWS) || news.contains(News::WON) {
            state.doubt.settle();
        }
        if news.contains(News::WON)
            && let Some(clique) = &mut state.clique
        {
            clique.disband(cx.rank());
        }
        if news.contains(News::CONFIRMED)
            && state.clique.as_ref().is_none_or(|clique| !clique.leads() || clique.roll().number.term < counter)
        {
            let subordinates = self.roster.pick(self.choice, self.subordinates, &[], &state.gone, cx);
            self.form(state, counter, subordinates, cx);
        }
        if news.contains(News::ENDED) {
            self.look_for_winner(state, cx);
        }
    }

    /// Forms a clique around this node, of which the announcement has this counter.
    fn form<C: Context<Self>>(&self, state: &mut State<R>, term: u32, subordinates: Vec<R>, cx: &mut C) {
        let old = state.clique.take();
        let (version, token) = old.as_ref().map_or((0, 0), |old| (old.roll().number.version, old.token()));
        let own = cx.rank();
        let before = old.as_ref().map(|old| old.roll().predecessor.unwrap_or(old.roll().leader));
        let new = || (0..self.bytes as u64).map(|at| (own.id().0 ^ at) as u8 ^ term as u8).collect();
        let knowledge = old.map_or_else(new, |old| Arc::clone(&old.roll().knowledge));
        let number = Number { term, version: version.saturating_add(1) };
        let predecessor = state.diffusion.leader().or(before).filter(|leader| *leader != own);
        cx.learn(Fact::Stage(Stage::Reorganize));
        let clique = Clique::form(Roll { number, leader: own, predecessor, subordinates, knowledge }, token, self, cx);
        let verdict = if clique.is_complete() { Verdict::Stands } else { Verdict::Nothing };
        state.clique = Some(Box::new(clique));
        self.settle(state, verdict, cx);
    }

    /// Does what a word or a timer of the clique has led to.
    fn settle<C: Context<Self>>(&self, state: &mut State<R>, verdict: Verdict, cx: &mut C) {
        let Some(clique) = &mut state.clique else { return };
        let counter = state.diffusion.counter();
        let term = clique.roll().number.term;
        match verdict {
            Verdict::Nothing => {}
            Verdict::Stands => {
                cx.learn(Fact::Stage(Stage::Normal));
                if term > counter {
                    let cx = &mut Within::new(cx, Message::Diffused);
                    let news = self.diffusion.spread_at(&mut state.diffusion, term, cx);
                    debug_assert!(news.contains(News::WON), "who spreads that it leads has won");
                }
            }
            Verdict::TakesOver => {
                if state.diffusion.is_electing() || term < counter {
                    state.clique = None;
                    return;
                }
                cx.lead();
                let kept = clique.live_fellows(cx.rank().id(), &state.gone);
                let subordinates = self.wanted(kept, &state.gone, cx);
                self.form(state, term.max(counter.saturating_add(1)), subordinates, cx);
            }
            Verdict::Review => {
                if term < counter {
                    return;
                }
                let kept = clique.live_fellows(cx.rank().id(), &state.gone);
                let before = Arc::clone(clique.roll());
                let wanted = self.wanted(kept, &state.gone, cx);
                if wanted != before.subordinates {
                    self.form(state, term, wanted, cx);
                }
            }
            Verdict::Elect => {
                state.clique = None;
                self.elect(state, cx);
            }
        }
    }

    fn elect<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let news = self.diffusion.elect(&mut state.diffusion, &mut Within::new(cx, Message::Diffused));
        self.heed(state, news, cx);
    }

    /// The subordinates that a leader wants, of which it has these.
    fn wanted<C: Context<Self>>(&self, mut kept: Vec<R>, gone: &Gone, cx: &mut C) -> Vec<R> {
        if self.choice == Choice::Best {
            kept.clear();
        }
        let missing = self.subordinates.saturating_sub(kept.len());
        let more = self.roster.pick(self.choice, missing, &kept, gone, cx);
        kept.extend(more);
        kept
    }

    /// An invitation. Only those who name the leader take it, or its predecessor that is gone, or who have just come.
    fn invited<C: Context<Self>>(&self, state: &mut State<R>, from: Id, roll: Arc<Roll<R>>, cx: &mut C) {
        let (named, counter) = (state.diffusion.leader(), state.diffusion.counter());
        if roll.leader.id() != from || roll.number.term < counter || state.diffusion.is_electing() {
            return;
        }
        let is_ours = named == Some(roll.leader) || named == roll.predecessor;
        if state.clique.as_ref().is_some_and(|clique| clique.leads()) || !is_ours && named.is_some() {
            return cx.send_direct(from, Message::Decline(roll.number));
        }
        if let Some(clique) = &state.clique {
            let (here, there) = ((clique.roll().number, clique.roll().leader), (roll.number, roll.leader));
            if here == there && clique.stands_by() {
                return clique.invited_again(self, cx);
            }
            if here >= there {
                return;
            }
        }
        let token = state.clique.as_ref().map_or(0, |clique| clique.token());
        if let Some(clique) = Clique::join(roll, named, token, self, cx) {
            state.clique = Some(Box::new(clique));
            cx.learn(Fact::Stage(Stage::Subordinate));
        }
    }

    /// Somebody has another leader.
    fn declined<C: Context<Self>>(&self, state: &mut State<R>, from: Id, cx: &mut C) {
        if state.clique.as_ref().is_some_and(|clique| clique.leads()) {
            state.gone.insert(from);
            self.look(state, cx);
        }
    }

    /// A message by id.
    fn hear<C: Context<Self>>(&self, state: &mut State<R>, from: Id, message: Message<R>, cx: &mut C) {
        match message {
            Message::Diffused(message) => self.diffuse(state, Event::Direct { from, message }, cx),
            Message::Invite(roll) => self.invited(state, from, roll, cx),
            Message::Ping(number) => {
                let is_known = state.clique.as_ref().is_some_and(|clique| clique.roll().number == number);
                cx.send_direct(from, Message::Pong(if is_known { number } else { number.unknown() }));
            }
            Message::Decline(_) => self.declined(state, from, cx),
            Message::Pong(_) | Message::Confirm(_) | Message::Failed(_) | Message::Agree(_) => {
                let Some(clique) = &mut state.clique else {
                    if let Message::Failed(number) = message {
                        // It has forgotten that it stood by, and has nothing against it.
                        cx.send_direct(from, Message::Agree(number));
                    }
                    return;
                };
                if matches!(message, Message::Failed(_)) && clique.roll().leader.id() == from {
                    state.gone.insert(from);
                }
                let verdict = clique.hear(from, &message, &state.gone, self, cx);
                self.settle(state, verdict, cx);
            }
        }
    }

    /// It is known now who is gone.
    fn look<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        if let Some(clique) = &mut state.clique
            && !state.diffusion.is_electing()
        {
            let verdict = clique.look(&state.gone, self, cx);
            self.settle(state, verdict, cx);
        }
    }

    /// These, ascending, can be reached.
    fn told<C: Context<Self>>(&self, state: &mut State<R>, reachable: &[Id], cx: &mut C) {
        state.gone = Gone::after(reachable, &self.roster, state.clique.is_some());
        let is_there = |port: Port, cx: &Within<'_, Self, C, _>| {
            let peer = Context::<Inner<R>>::peer_rank(cx, port);
            peer.is_none_or(|peer| reachable.binary_search(&peer.id()).is_ok())
        };
        let inner = &mut Within::new(cx, Message::Diffused);
        let news = self.diffusion.reach(&mut state.diffusion, is_there, inner);
        self.heed(state, news, cx);
        self.look_for_winner(state, cx);
        self.look(state, cx);
    }
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State<R>;
    type Message = Message<R>;

    fn init(&self) -> State<R> {
        State { diffusion: diffusion::State::new(), clique: None, gone: Gone::default(), doubt: Doubt::default() }
    }

    fn observes_reachability(&self) -> bool {
        true
    }

    /// A subordinate that is told of the leader's loss takes over; everybody else holds an election.
    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut State<R>, reason: StartReason, cx: &mut C) {
        let named = state.diffusion.leader();
        match &mut state.clique {
            Some(clique) if !clique.leads() && Some(clique.roll().leader) == named => {
                if reason == StartReason::LeaderLost && clique.stands_by() {
                    state.gone.insert(clique.roll().leader.id());
                    let verdict = clique.claim(&state.gone, self, cx);
                    self.settle(state, verdict, cx);
                }
            }
            _ => self.diffuse(state, Event::Start(reason), cx),
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State<R>, from: Port, message: Message<R>, cx: &mut C) {
        if let Message::Diffused(message) = message {
            self.diffuse(state, Event::Message { from, message }, cx);
        }
    }

    fn handle_direct<C: Context<Self>>(&self, state: &mut State<R>, from: Id, message: Message<R>, cx: &mut C) {
        self.hear(state, from, message, cx);
    }

    fn handle_unreachable<C: Context<Self>>(&self, state: &mut State<R>, port: Port, message: Message<R>, cx: &mut C) {
        if let Message::Diffused(message) = message {
            self.diffuse(state, Event::Unreachable { port, message }, cx);
        }
    }

    fn handle_unreachable_direct<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        to: Id,
        message: Message<R>,
        cx: &mut C,
    ) {
        match message {
            Message::Diffused(Diffused::Notify { counter, .. }) => {
                if self.awaited_winner(state) == Some(to) && state.diffusion.counter() == counter {
                    self.winner_is_silent(state, to, cx);
                }
            }
            Message::Diffused(message) => self.diffuse(state, Event::UnreachableDirect { to, message }, cx),
            _ => {
                if state.clique.is_some() {
                    state.gone.insert(to);
                    self.look(state, cx);
                }
            }
        }
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut State<R>, timer: Timer, cx: &mut C) {
        if timer.kind & !Timer::PERIODIC < Self::TIMER {
            return self.diffuse(state, Event::Timer(timer), cx);
        }
        if let Some(clique) = &mut state.clique {
            let named = state.diffusion.leader();
            let verdict = clique.time_out(timer.token, named, &mut state.gone, self, cx);
            self.settle(state, verdict, cx);
        }
    }

    fn handle_change<C: Context<Self>>(&self, state: &mut State<R>, change: Change, cx: &mut C) {
        match change {
            Change::Reachable(ids) => self.told(state, &ids, cx),
            change => self.diffuse(state, Event::Change(change), cx),
        }
    }

    fn handles_rejoin(&self) -> bool {
        self.diffusion.handles_rejoin()
    }

    fn handle_rejoin<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        self.diffuse(state, Event::Rejoin, cx);
    }

    /// A leader tells the first of its subordinates, so that nobody has to find out.
    fn handle_retire<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        if let Some(clique) = state.clique.as_ref().filter(|clique| clique.leads())
            && let Some(first) = clique.live_fellows(cx.rank().id(), &state.gone).first()
        {
            cx.send_direct(first.id(), Message::Failed(clique.roll().number));
        }
    }
}
