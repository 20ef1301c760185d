//! The protocol: the diffusing computation combined with the clique.

use alloc::{boxed::Box, sync::Arc, vec::Vec};

use hustings_protocol::{Change, Cheating, Context, Event, Fact, Id, Port, Protocol, Rank, Stage, StartReason, Timer};

use super::cheat::{SilentWinner, was_passed_over};
use super::choice::{Choice, UnreachableMembers};
use super::clique::{Clique, Next};
use super::membership::{CliqueNumber, Membership};
use super::{Diffused, Inner, Message, Rules};
use crate::graph::diffusion::{self, Progress};
use crate::inner_context::InnerContext;

/// The state of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<R: Rank> {
    diffusion: diffusion::State<R, R>,
    clique: Option<Box<Clique<R>>>,
    unreachable: UnreachableMembers,
    silent_winner: SilentWinner,
}

impl<R: Rank> Rules<R> {
    /// The kind of the clique's timers.
    pub(super) const TIMER: u8 = Inner::<R>::TIMERS;

    /// Hands an event to the diffusing computation and acts on its progress.
    #[inline(always)]
    fn diffuse<C: Context<Self>>(&self, state: &mut State<R>, event: Event<Diffused<R>>, cx: &mut C) {
        let election = match event {
            Event::Message { message: Diffused::Leader { .. }, .. } if state.diffusion.is_electing() => {
                Some(state.diffusion.counter())
            }
            _ => None,
        };
        let progress = self.diffusion.step(&mut state.diffusion, event, &mut InnerContext::new(cx, Message::Diffused));
        if progress.is_none() {
            return;
        }
        if self.has_cheats() {
            self.observe_cheat(&state.diffusion, progress, cx);
        }
        let is_end = progress.contains(Progress::CONFIRMED) || progress.contains(Progress::ENDED);
        if is_end || state.clique.is_some() || state.silent_winner.is_any() {
            self.handle_progress(state, progress, cx);
        }
        if let Some(election) = election
            && was_passed_over(cx.rank(), election, state.diffusion.leader(), state.diffusion.counter())
        {
            self.observe_notice(Cheating::PassedOver, cx);
            self.elect(state, cx);
        }
    }

    /// At the source: the winner does not answer.
    #[cold]
    #[inline(never)]
    fn winner_is_silent<C: Context<Self>>(&self, state: &mut State<R>, winner: Id, cx: &mut C) {
        if state.silent_winner.again(winner) {
            self.observe_notice(Cheating::SilentWinner, cx);
            let progress = self.diffusion.spread(&mut state.diffusion, &mut InnerContext::new(cx, Message::Diffused));
            self.handle_progress(state, progress, cx);
        } else {
            self.elect(state, cx);
        }
    }

    /// At the source of a finished election: acts if the notified winner is unreachable.
    fn check_winner<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        if let Some(winner) = self.awaited_winner(state).filter(|winner| state.unreachable.contains(*winner)) {
            self.winner_is_silent(state, winner, cx);
        }
    }

    /// At the source of a finished election: the winner that has not announced itself yet.
    fn awaited_winner(&self, state: &State<R>) -> Option<Id> {
        state.diffusion.result().filter(|_| state.diffusion.is_electing()).map(|winner| winner.id())
    }

    #[cold]
    #[inline(never)]
    fn handle_progress<C: Context<Self>>(&self, state: &mut State<R>, progress: Progress, cx: &mut C) {
        let counter = state.diffusion.counter();
        if progress.contains(Progress::FOLLOWING) {
            let leader = state.diffusion.leader();
            let is_outdated = |clique: &Clique<R>| {
                Some(clique.membership().leader) != leader || clique.membership().number.term < counter
            };
            if state.clique.as_deref().is_some_and(is_outdated) {
                state.clique = None;
                cx.learn(Fact::Stage(Stage::Normal));
            }
        }
        if progress.contains(Progress::FOLLOWING) || progress.contains(Progress::WON) {
            state.silent_winner.clear();
        }
        if progress.contains(Progress::WON)
            && let Some(clique) = &mut state.clique
        {
            clique.disband(cx.rank());
        }
        if progress.contains(Progress::CONFIRMED)
            && state.clique.as_ref().is_none_or(|clique| !clique.leads() || clique.membership().number.term < counter)
        {
            let subordinates = self.roster.pick(self.choice, self.subordinates, &[], &state.unreachable, cx);
            self.form(state, counter, subordinates, cx);
        }
        if progress.contains(Progress::ENDED) {
            self.check_winner(state, cx);
        }
    }

    /// Forms a clique with this node as the leader; `term` is the counter of its announcement.
    fn form<C: Context<Self>>(&self, state: &mut State<R>, term: u32, subordinates: Vec<R>, cx: &mut C) {
        let old = state.clique.take();
        let (version, token) = old.as_ref().map_or((0, 0), |old| (old.membership().number.version, old.token()));
        let own = cx.rank();
        let before = old.as_ref().map(|old| old.membership().predecessor.unwrap_or(old.membership().leader));
        let new = || (0..self.bytes as u64).map(|at| (own.id().0 ^ at) as u8 ^ term as u8).collect();
        let knowledge = old.map_or_else(new, |old| Arc::clone(&old.membership().knowledge));
        let number = CliqueNumber { term, version: version.saturating_add(1) };
        let predecessor = state.diffusion.leader().or(before).filter(|leader| *leader != own);
        cx.learn(Fact::Stage(Stage::Reorganize));
        let clique =
            Clique::form(Membership { number, leader: own, predecessor, subordinates, knowledge }, token, self, cx);
        let next = if clique.is_complete() { Next::Formed } else { Next::Nothing };
        state.clique = Some(Box::new(clique));
        self.apply(state, next, cx);
    }

    /// Acts on what a message or timer of the clique led to.
    fn apply<C: Context<Self>>(&self, state: &mut State<R>, next: Next, cx: &mut C) {
        let Some(clique) = &mut state.clique else { return };
        let counter = state.diffusion.counter();
        let term = clique.membership().number.term;
        match next {
            Next::Nothing => {}
            Next::Formed => {
                cx.learn(Fact::Stage(Stage::Normal));
                if term > counter {
                    let cx = &mut InnerContext::new(cx, Message::Diffused);
                    let progress = self.diffusion.spread_at(&mut state.diffusion, term, cx);
                    debug_assert!(progress.contains(Progress::WON), "a node that announces itself has won");
                }
            }
            Next::TakeOver => {
                if state.diffusion.is_electing() || term < counter {
                    state.clique = None;
                    return;
                }
                cx.lead();
                let kept = clique.live_subordinates(cx.rank().id(), &state.unreachable);
                let subordinates = self.wanted(kept, &state.unreachable, cx);
                self.form(state, term.max(counter.saturating_add(1)), subordinates, cx);
            }
            Next::Review => {
                if term < counter {
                    return;
                }
                let kept = clique.live_subordinates(cx.rank().id(), &state.unreachable);
                let before = Arc::clone(clique.membership());
                let wanted = self.wanted(kept, &state.unreachable, cx);
                if wanted != before.subordinates {
                    self.form(state, term, wanted, cx);
                }
            }
            Next::Elect => {
                state.clique = None;
                self.elect(state, cx);
            }
        }
    }

    fn elect<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let progress = self.diffusion.elect(&mut state.diffusion, &mut InnerContext::new(cx, Message::Diffused));
        if self.has_cheats() {
            self.observe_cheat(&state.diffusion, progress, cx);
        }
        self.handle_progress(state, progress, cx);
    }

    /// The subordinates that a leader wants, given those that it keeps.
    fn wanted<C: Context<Self>>(&self, mut kept: Vec<R>, unreachable: &UnreachableMembers, cx: &mut C) -> Vec<R> {
        if self.choice == Choice::Best {
            kept.clear();
        }
        let missing = self.subordinates.saturating_sub(kept.len());
        let more = self.roster.pick(self.choice, missing, &kept, unreachable, cx);
        kept.extend(more);
        kept
    }

    /// Handles an invitation. A node accepts it if it names this leader, or its unreachable predecessor, or no leader.
    fn handle_invite<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        from: Id,
        membership: Arc<Membership<R>>,
        cx: &mut C,
    ) {
        let (named, counter) = (state.diffusion.leader(), state.diffusion.counter());
        if membership.leader.id() != from || membership.number.term < counter || state.diffusion.is_electing() {
            return;
        }
        let is_ours = named == Some(membership.leader) || named == membership.predecessor;
        if state.clique.as_ref().is_some_and(|clique| clique.leads()) || !is_ours && named.is_some() {
            return cx.send_direct(from, Message::Decline(membership.number));
        }
        if let Some(clique) = &state.clique {
            let (here, there) =
                ((clique.membership().number, clique.membership().leader), (membership.number, membership.leader));
            if here == there && clique.is_standby() {
                return clique.handle_repeated_invitation(self, cx);
            }
            if here >= there {
                return;
            }
        }
        let token = state.clique.as_ref().map_or(0, |clique| clique.token());
        if let Some(clique) = Clique::join(membership, named, token, self, cx) {
            state.clique = Some(Box::new(clique));
            cx.learn(Fact::Stage(Stage::Subordinate));
        }
    }

    /// A node has another leader.
    fn handle_decline<C: Context<Self>>(&self, state: &mut State<R>, from: Id, cx: &mut C) {
        if state.clique.as_ref().is_some_and(|clique| clique.leads()) {
            state.unreachable.insert(from);
            self.review_clique(state, cx);
        }
    }

    /// Handles a message sent by id.
    fn handle_by_id<C: Context<Self>>(&self, state: &mut State<R>, from: Id, message: Message<R>, cx: &mut C) {
        match message {
            Message::Diffused(message) => self.diffuse(state, Event::Direct { from, message }, cx),
            Message::Invite(membership) => self.handle_invite(state, from, membership, cx),
            Message::Ping(number) => {
                let is_known = state.clique.as_ref().is_some_and(|clique| clique.membership().number == number);
                cx.send_direct(from, Message::Pong(if is_known { number } else { number.unknown() }));
            }
            Message::Decline(_) => self.handle_decline(state, from, cx),
            Message::Pong(_) | Message::Confirm(_) | Message::Failed(_) | Message::Agree(_) => {
                let Some(clique) = &mut state.clique else {
                    if let Message::Failed(number) = message {
                        // This node lost its state as a subordinate, and does not object.
                        cx.send_direct(from, Message::Agree(number));
                    }
                    return;
                };
                if matches!(message, Message::Failed(_)) && clique.membership().leader.id() == from {
                    state.unreachable.insert(from);
                }
                let next = clique.handle_message(from, &message, &state.unreachable, self, cx);
                self.apply(state, next, cx);
            }
        }
    }

    /// Reviews the clique after an update of the unreachable members.
    fn review_clique<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        if let Some(clique) = &mut state.clique
            && !state.diffusion.is_electing()
        {
            let next = clique.handle_unreachable(&state.unreachable, self, cx);
            self.apply(state, next, cx);
        }
    }

    /// Handles an update: these nodes, ascending, are reachable.
    fn handle_reachable<C: Context<Self>>(&self, state: &mut State<R>, reachable: &[Id], cx: &mut C) {
        state.unreachable = UnreachableMembers::after(reachable, &self.roster, state.clique.is_some());
        let is_there = |port: Port, cx: &InnerContext<'_, Self, C, _>| {
            let peer = Context::<Inner<R>>::peer_rank(cx, port);
            peer.is_none_or(|peer| reachable.binary_search(&peer.id()).is_ok())
        };
        let inner = &mut InnerContext::new(cx, Message::Diffused);
        let progress = self.diffusion.reach(&mut state.diffusion, is_there, inner);
        self.handle_progress(state, progress, cx);
        self.check_winner(state, cx);
        self.review_clique(state, cx);
    }
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State<R>;
    type Message = Message<R>;

    fn init(&self) -> State<R> {
        State {
            diffusion: diffusion::State::new(),
            clique: None,
            unreachable: UnreachableMembers::default(),
            silent_winner: SilentWinner::default(),
        }
    }

    fn observes_reachability(&self) -> bool {
        true
    }

    /// A subordinate that is told of the loss of the leader takes over; every other node holds an election.
    #[inline(always)]
    fn handle_start<C: Context<Self>>(&self, state: &mut State<R>, reason: StartReason, cx: &mut C) {
        let named = state.diffusion.leader();
        match &mut state.clique {
            Some(clique) if !clique.leads() && Some(clique.membership().leader) == named => {
                if reason == StartReason::LeaderLost && clique.is_standby() {
                    state.unreachable.insert(clique.membership().leader.id());
                    let next = clique.claim(&state.unreachable, self, cx);
                    self.apply(state, next, cx);
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
        self.handle_by_id(state, from, message, cx);
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
                    state.unreachable.insert(to);
                    self.review_clique(state, cx);
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
            let next = clique.handle_timeout(timer.token, named, &mut state.unreachable, self, cx);
            self.apply(state, next, cx);
        }
    }

    fn handle_change<C: Context<Self>>(&self, state: &mut State<R>, change: Change, cx: &mut C) {
        match change {
            Change::Reachable(ids) => self.handle_reachable(state, &ids, cx),
            change => self.diffuse(state, Event::Change(change), cx),
        }
    }

    fn handles_rejoin(&self) -> bool {
        self.diffusion.handles_rejoin()
    }

    fn handle_rejoin<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        self.diffuse(state, Event::Rejoin, cx);
    }

    /// A leader tells its first subordinate, so that nobody has to detect the loss.
    fn handle_retire<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        if let Some(clique) = state.clique.as_ref().filter(|clique| clique.leads())
            && let Some(first) = clique.live_subordinates(cx.rank().id(), &state.unreachable).first()
        {
            cx.send_direct(first.id(), Message::Failed(clique.membership().number));
        }
    }
}
