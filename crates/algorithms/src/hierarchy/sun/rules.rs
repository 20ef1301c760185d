//! The rules of sun.

use alloc::sync::Arc;

use hustings_protocol::{Context, Id, Port, Protocol, Rank, StartReason, Timer};

use super::SunParams;
use super::message::Message;
use crate::hierarchy::layout::Levels;
use crate::hierarchy::run::{CoordinatorTimeout, RunNumber, coordinator_timeout};
use crate::hierarchy::segments::{self, Kind, Phase, Segments, neighbour, send_on_level};
use crate::hierarchy::strikes::Strikes;
use crate::inner_context::InnerContext;
use crate::ring::election::set_leader;
use crate::ring::token_ring;

/// The protocol.
#[derive(Clone, Debug)]
pub struct Rules<R> {
    pub(super) params: SunParams,
    /// All ranks, ascending. Messages name an informer by its place in this order, which is shorter than its rank.
    pub(super) order: Arc<[R]>,
    pub(super) ring: token_ring::Rules<R>,
}

/// The state of a node.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct State<R> {
    /// The newest run that it knows.
    run: RunNumber,
    timeout: CoordinatorTimeout,
    /// The greatest informer of that run, while it serves one.
    informer: u32,
    role: Role<R>,
    /// The dead nodes that it skips, if it is on several levels. A node on the ring alone skips with
    /// [`Context::skip`].
    strikes: Strikes,
}

/// The role of a node in the newest run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
enum Role<R> {
    /// It knows of no run.
    Idle,
    /// A starter climbs; no informer is known.
    Climbing,
    /// It serves an informer.
    Serving(Segments<R>),
    /// It takes part in the fallback.
    Fallback(token_ring::State),
}

/// Sends to the next live node on a level; `top` is the top level, at a node on it.
#[inline(always)]
fn level_sender<'a, R: Rank, C: Context<Rules<R>>>(
    (run, informer): (RunNumber, u32),
    levels: Levels<'a>,
    top: Option<u32>,
    strikes: &'a Strikes,
    cx: &'a mut C,
) -> impl FnMut(Kind, u32, R) + 'a {
    segments::level_sender(
        cx,
        strikes,
        move |place, level| levels.next(place, level),
        move |kind, level, number| Message::on_level((run, informer), kind, (level, top == Some(level)), number),
    )
}

impl<R: Rank> Rules<R> {
    #[inline(always)]
    fn levels(&self, size: u32) -> Levels<'_> {
        let SunParams { branching, depth, parts, .. } = &self.params;
        Levels::new(size, *branching, *depth, parts)
    }

    /// Starts to climb, from the node's highest level.
    fn start_climb<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let levels = self.levels(cx.size());
        match levels.height(cx.index()) {
            height if height == levels.top => self.become_informer(state, height, cx),
            height => self.climb_along(state, height, cx.index(), cx.rank(), cx),
        }
    }

    /// Sends a climb along a level that it entered at this place.
    fn climb_along<C: Context<Self>>(&self, state: &State<R>, level: u32, entered: u32, number: R, cx: &mut C) {
        let message = Message::Climb { run: state.run, level: level as u8, entered, number };
        self.send_along(state, message, cx);
    }

    /// Sends a message to the next live node on its level.
    fn send_along<C: Context<Self>>(&self, state: &State<R>, message: Message<R>, cx: &mut C) {
        let levels = self.levels(cx.size());
        send_on_level(&state.strikes, message.level(), |place, level| levels.next(place, level), message, cx);
    }

    /// Handles a climb: it goes on along the highest level of this node. A top node becomes the informer, unless it
    /// serves one, and so does the node at which the climb entered a level if no live node is on a higher one.
    fn handle_climb<C: Context<Self>>(&self, state: &mut State<R>, level: u32, entered: u32, number: R, cx: &mut C) {
        let (levels, at) = (self.levels(cx.size()), cx.index());
        let (height, number) = (levels.height(at), number.max(cx.rank()));
        let is_home = height == level && entered == at;
        if height < levels.top && !is_home {
            let entered = if height > level { at } else { entered };
            self.climb_along(state, height, entered, number, cx);
        } else if matches!(state.role, Role::Climbing) {
            match height {
                1 if is_home => self.announce_climb(state, number, cx),
                _ => self.become_informer(state, height, cx),
            }
        }
    }

    /// Serves itself as an informer.
    fn serve_itself(&self, state: &mut State<R>, own: R) {
        state.informer = self.order.binary_search(&own).unwrap_or_else(|place| place) as u32;
        state.role = Role::Serving(Segments::new(own, true));
    }

    /// Becomes an informer and sends a token round the top level.
    fn become_informer<C: Context<Self>>(&self, state: &mut State<R>, top: u32, cx: &mut C) {
        let own = cx.rank();
        self.serve_itself(state, own);
        let levels = self.levels(cx.size());
        let mut send = level_sender((state.run, state.informer), levels, Some(top), &state.strikes, cx);
        send(Kind::Election, top, own);
        segments::start(Kind::Election, top, own, self.params.aggregate, &mut send);
    }

    /// No node above the ring is up: the climb has gone round it like the token of token-ring.
    fn announce_climb<C: Context<Self>>(&self, state: &mut State<R>, leader: R, cx: &mut C) {
        self.serve_itself(state, cx.rank());
        self.finish(state, leader, cx);
        let announcement = Message::on_level((state.run, state.informer), Kind::Coordinator, (1, true), leader);
        self.send_along(state, announcement, cx);
    }

    /// Joins a newer run. Returns whether this run is the newest.
    #[inline(always)]
    fn join<C: Context<Self>>(&self, state: &mut State<R>, run: RunNumber, cx: &mut C) -> bool {
        let State { run: newest, timeout, role, .. } = state;
        newest.join(run, timeout, 0, cx, || {
            *role = if run.is_fallback() { Role::Fallback(token_ring::State::Idle) } else { Role::Climbing };
        })
    }

    /// The segments of this informer, unless the node serves a greater one.
    #[inline(always)]
    fn serve<'s>(&self, state: &'s mut State<R>, informer: u32, own: R) -> Option<&'s mut Segments<R>> {
        match state.role {
            Role::Serving(_) if informer < state.informer => return None,
            Role::Serving(_) if informer == state.informer => {}
            Role::Serving(_) | Role::Climbing => {
                state.informer = informer;
                state.role = Role::Serving(Segments::new(own, false));
            }
            Role::Idle | Role::Fallback(_) => return None,
        }
        if let Role::Serving(segments) = &mut state.role { Some(segments) } else { None }
    }

    /// Handles an `election` or `m-coordinator` on a level; `is_top`: on the top level.
    #[inline(always)]
    fn handle_gathering<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        kind: Kind,
        (level, is_top): (u32, bool),
        number: R,
        cx: &mut C,
    ) {
        let (levels, own, aggregate) = (self.levels(cx.size()), cx.rank(), self.params.aggregate);
        let (run, height) = ((state.run, state.informer), levels.height(cx.index()));
        let Role::Serving(segments) = &mut state.role else { return };
        if level == 0 || level > height || segments.phase == Phase::Settled {
            return;
        }
        if is_top && kind == Kind::Election && segments.is_top && !segments.is_informer {
            // It has gone round already, so the informer is dead.
            return;
        }
        segments.is_top |= is_top && level == height;
        let top = segments.is_top.then_some(height);
        let mut send = level_sender(run, levels, top, &state.strikes, cx);
        if level < height {
            segments.end(kind, level, number, aggregate);
        } else if !is_top {
            match height {
                1 => send(kind, 1, number.max(own)),
                _ => segments.pass(kind, number, (height, own), aggregate, &mut send),
            }
            return;
        } else if kind == Kind::Gather {
            segments.hold(number);
        } else if segments.is_informer {
            send(Kind::Gather, height, own);
        } else {
            send(kind, height, number);
            segments::start(kind, height, own, aggregate, &mut send);
        }
        if !segments.is_top {
            segments.release(height, aggregate, &mut send);
        } else if segments.is_ready(height) {
            let best = segments.best;
            if segments.is_informer {
                drop(send);
                self.finish(state, best, cx);
                let mut send = level_sender(run, levels, top, &state.strikes, cx);
                send(Kind::Coordinator, height, best);
                segments::start(Kind::Coordinator, height, best, aggregate, &mut send);
            } else {
                send(Kind::Gather, height, best);
            }
        }
    }

    /// Handles a `coordinator` on a level.
    #[inline(always)]
    fn handle_coordinator<C: Context<Self>>(&self, state: &mut State<R>, level: u32, leader: R, cx: &mut C) {
        let levels = self.levels(cx.size());
        let (run, height) = ((state.run, state.informer), levels.height(cx.index()));
        self.finish(state, leader, cx);
        let Role::Serving(segments) = &mut state.role else { return };
        if level == height && !segments.is_informer && !segments.has_announced {
            segments.has_announced = true;
            let mut send = level_sender(run, levels, None, &state.strikes, cx);
            send(Kind::Coordinator, height, leader);
            segments::start(Kind::Coordinator, height, leader, self.params.aggregate, &mut send);
        }
    }

    /// Names the leader.
    #[inline(always)]
    fn finish<C: Context<Self>>(&self, state: &mut State<R>, leader: R, cx: &mut C) {
        state.timeout.cancel();
        if let Role::Serving(segments) = &mut state.role
            && segments.phase != Phase::Settled
        {
            segments.phase = Phase::Settled;
            set_leader(leader, cx);
        }
    }

    /// Handles a message of the fallback.
    fn handle_fallback<C: Context<Self>>(&self, state: &mut State<R>, message: token_ring::Message<R>, cx: &mut C) {
        let run = state.run;
        let Role::Fallback(ring) = &mut state.role else { return };
        self.ring.handle_message(ring, Port::PREVIOUS, message, &mut fallback_context(run, cx));
        if *ring == token_ring::State::Settled {
            state.timeout.cancel();
        }
    }

    /// Handles an `election` or `m-coordinator` of an informer, unless the node serves a greater one.
    #[inline(always)]
    fn gather<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        informer: u32,
        kind: Kind,
        level: (u32, bool),
        number: R,
        cx: &mut C,
    ) {
        if self.serve(state, informer, cx.rank()).is_some() {
            self.handle_gathering(state, kind, level, number, cx);
        }
    }

    #[inline(always)]
    fn receive<C: Context<Self>>(&self, state: &mut State<R>, message: Message<R>, cx: &mut C) {
        if !self.join(state, message.run(), cx) {
            return;
        }
        let level = message.level();
        match message {
            Message::Climb { entered, number, .. } => self.handle_climb(state, level, entered, number, cx),
            Message::Election { informer, number, .. } => {
                self.gather(state, informer, Kind::Election, (level, false), number, cx);
            }
            Message::TopElection { informer, number, .. } => {
                self.gather(state, informer, Kind::Election, (level, true), number, cx);
            }
            Message::MCoordinator { informer, number, .. } => {
                self.gather(state, informer, Kind::Gather, (level, false), number, cx);
            }
            Message::TopMCoordinator { informer, number, .. } => {
                self.gather(state, informer, Kind::Gather, (level, true), number, cx);
            }
            Message::Coordinator { informer, leader, .. } => {
                if self.serve(state, informer, cx.rank()).is_some() {
                    self.handle_coordinator(state, level, leader, cx);
                }
            }
            Message::Token { token, .. } => self.handle_fallback(state, token_ring::Message::Election(token), cx),
            Message::Lap { by, leader, .. } => {
                self.handle_fallback(state, token_ring::Message::Coordinator { leader, by }, cx);
            }
        }
    }
}

/// The context of the fallback.
fn fallback_context<R: Rank, C: Context<Rules<R>>>(
    run: RunNumber,
    cx: &mut C,
) -> InnerContext<'_, Rules<R>, C, impl Fn(token_ring::Message<R>) -> Message<R>> {
    InnerContext::new(cx, move |message| Message::of_ring(run, message))
}

impl<R: Rank> Protocol for Rules<R> {
    type Rank = R;
    type State = State<R>;
    type Message = Message<R>;

    fn init(&self) -> State<R> {
        State {
            run: RunNumber::default(),
            timeout: CoordinatorTimeout::default(),
            informer: 0,
            role: Role::Idle,
            strikes: Strikes::default(),
        }
    }

    fn handle_start<C: Context<Self>>(&self, state: &mut State<R>, reason: StartReason, cx: &mut C) {
        let accepts_start = match state.role {
            Role::Idle => true,
            Role::Climbing => false,
            Role::Serving(segments) => segments.phase == Phase::Settled && reason == StartReason::LeaderLost,
            Role::Fallback(ring) => ring.accepts_start(reason),
        };
        if accepts_start {
            state.run = state.run.next();
            state.role = Role::Climbing;
            state.timeout.cancel();
            state.timeout.start(coordinator_timeout(cx.size(), 0), cx);
            self.start_climb(state, cx);
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State<R>, _: Port, message: Message<R>, cx: &mut C) {
        self.receive(state, message, cx);
    }

    #[inline(always)]
    fn handle_direct<C: Context<Self>>(&self, state: &mut State<R>, _: Id, message: Message<R>, cx: &mut C) {
        self.receive(state, message, cx);
    }

    fn handle_unreachable<C: Context<Self>>(&self, state: &mut State<R>, port: Port, message: Message<R>, cx: &mut C) {
        let is_current = message.run() == state.run;
        if message.run().is_fallback() || self.levels(cx.size()).height(cx.index()) == 1 {
            if is_current {
                cx.skip(port);
            }
            return;
        }
        state.strikes.strike_neighbour(neighbour(cx.index(), cx.size()));
        if is_current {
            self.send_along(state, message, cx);
        }
    }

    fn handle_unreachable_direct<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        to: Id,
        message: Message<R>,
        cx: &mut C,
    ) {
        let (levels, at, level) = (self.levels(cx.size()), cx.index(), message.level());
        state.strikes.strike(to, |strikes| strikes.next(at, |place| levels.next(place, level)));
        if message.run() == state.run {
            self.send_along(state, message, cx);
        }
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut State<R>, timer: Timer, cx: &mut C) {
        if state.timeout.is_due(timer) {
            state.run = state.run.next_fallback();
            state.timeout.start(coordinator_timeout(cx.size(), 0), cx);
            let mut ring = token_ring::State::Idle;
            self.ring.handle_start(&mut ring, StartReason::Start, &mut fallback_context(state.run, cx));
            state.role = Role::Fallback(ring);
        }
    }
}
