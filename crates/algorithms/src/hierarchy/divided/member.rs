//! The members of the ring.

use alloc::boxed::Box;
use alloc::sync::Arc;

use hustings_protocol::{Context, Id, Port, Protocol, Rank, StartReason, Timer};

use super::{Message, Role, Rules, State, level_sender};
use crate::hierarchy::run::{CoordinatorTimeout, RunNumber, coordinator_timeout};
use crate::hierarchy::segments::{self, Kind, Segments, neighbour, send_on_level};
use crate::hierarchy::strikes::Strikes;
use crate::inner_context::InnerContext;
use crate::ring::election::set_leader;
use crate::ring::token_ring;

impl<R: Rank, const SUN: bool> Rules<R, SUN> {
    /// Joins a newer run. Returns whether this run is the newest.
    #[inline(always)]
    fn join<C: Context<Self>>(&self, state: &mut State<R>, run: RunNumber, cx: &mut C) -> bool {
        let State { run: newest, timeout, ring, role } = state;
        newest.join(run, timeout, self.backoff, cx, || (*ring, *role) = (token_ring::State::Voter, None))
    }

    /// Names the leader.
    #[inline(always)]
    pub(super) fn finish<C: Context<Self>>(&self, state: &mut State<R>, leader: R, cx: &mut C) {
        state.timeout.cancel();
        if state.ring != token_ring::State::Settled {
            state.ring = token_ring::State::Settled;
            set_leader(leader, cx);
        }
    }

    /// Sends a token round the ring.
    fn detect<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let (points, at, run) = (self.points(cx.size()), cx.index(), state.run);
        (state.ring, state.role) = (token_ring::State::Idle, None);
        state.timeout.start(coordinator_timeout(cx.size(), self.backoff), cx);
        let point = points.at(at).filter(|_| !run.is_fallback());
        let told = point.is_some_and(|point| points.is_top(point));
        let wrap = |message| wrapped(run, at, told, message);
        self.ring.handle_start(&mut state.ring, StartReason::Start, &mut InnerContext::new(cx, wrap));
        if point.is_some() {
            state.point_state(cx.rank()).sent = true;
        }
        if told {
            cx.send_to(cx.size(), Message::Crash { run });
        }
    }

    /// Handles a detector's token.
    #[inline(always)]
    fn handle_token<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        (start, told): (u32, bool),
        token: Arc<token_ring::Token<R>>,
        cx: &mut C,
    ) {
        let (points, own, at, run) = (self.points(cx.size()), cx.rank(), cx.index(), state.run);
        let point = points.at(at).filter(|_| !run.is_fallback());
        // A token that no live point has passed on has seen no part as a whole.
        let has_passed_a_point = points.at(start).is_some();
        if point.is_some() {
            let point_state = state.point_state(own);
            if !SUN {
                point_state.see(if has_passed_a_point { points.hops(start, at) } else { 0 }, token.winner());
            }
            if point_state.is_divided() {
                self.report(state, cx);
                return;
            }
        }
        let is_relied_on = !SUN && point.is_none() && !run.is_fallback() && points.has_met_a_point(start, at);
        let tells = !told && point.is_some_and(|point| points.is_top(point));
        let was_settled = !run.is_fallback() && state.ring == token_ring::State::Settled;
        let mut passed = false;
        let start = if point.is_some() && !has_passed_a_point { at } else { start };
        let wrap = |message| {
            passed |= matches!(message, token_ring::Message::Election(_));
            wrapped(run, start, told || tells, message)
        };
        let mut inside = InnerContext::new(cx, wrap);
        if is_relied_on && token.detector != own {
            self.ring.pass_on(&mut state.ring, token, &mut inside);
        } else {
            let message = token_ring::Message::Election(token);
            self.ring.handle_message(&mut state.ring, Port::PREVIOUS, message, &mut inside);
        }
        if passed && point.is_some() {
            state.point_state(own).sent = true;
        }
        if passed && tells {
            cx.send_to(cx.size(), Message::Crash { run });
        }
        self.record_end(state, was_settled);
    }

    /// Handles a detector's announcement.
    fn handle_lap<C: Context<Self>>(&self, state: &mut State<R>, by: u32, leader: R, cx: &mut C) {
        let run = state.run;
        let message = token_ring::Message::Coordinator { leader, by };
        let mut inside = InnerContext::new(cx, |message| wrapped(run, by, true, message));
        self.ring.handle_message(&mut state.ring, Port::PREVIOUS, message, &mut inside);
        self.record_end(state, false);
    }

    /// A node that knows the leader of this run waits for nothing, also if an old token passes.
    #[inline(always)]
    fn record_end(&self, state: &mut State<R>, was_settled: bool) {
        if was_settled {
            state.ring = token_ring::State::Settled;
        }
        if state.ring == token_ring::State::Settled {
            state.timeout.cancel();
        }
    }

    /// Handles an `election` or `m-coordinator` on a level of a part.
    fn handle_gathering<C: Context<Self>>(&self, state: &mut State<R>, kind: Kind, level: u32, number: R, cx: &mut C) {
        let (points, own, at, run) = (self.points(cx.size()), cx.rank(), cx.index(), state.run);
        let height = points.height(at);
        if level == 0 || level > height.min(points.levels) {
            return;
        }
        if points.at(at).is_some() {
            state.point_state(own).segments.end(kind, level, number, self.aggregate);
            self.report(state, cx);
            return;
        }
        if height == 1 {
            level_sender(run, points, &Strikes::NOBODY, cx)(kind, 1, number.max(own));
            return;
        }
        let role = state.role.get_or_insert_with(|| Box::new(Role::Middle(Segments::new(own, false), Strikes::NOBODY)));
        let Role::Middle(segments, strikes) = &mut **role else { return };
        let mut send = level_sender(run, points, strikes, cx);
        if level < height {
            segments.end(kind, level, number, self.aggregate);
            segments.release(height, self.aggregate, &mut send);
        } else {
            segments.pass(kind, number, (height, own), self.aggregate, &mut send);
        }
    }

    /// Handles a `coordinator` on a level of a part.
    #[inline(always)]
    fn handle_coordinator<C: Context<Self>>(&self, state: &mut State<R>, level: u32, leader: R, cx: &mut C) {
        let (points, at, run) = (self.points(cx.size()), cx.index(), state.run);
        self.finish(state, leader, cx);
        let height = points.height(at);
        // Without levels inside the parts, a point where the ring is not divided is an ordinary node.
        let passes_through = !SUN && height > 1 && !state.point_state(cx.rank()).is_divided();
        let mut send = level_sender(run, points, state.strikes(), cx);
        if passes_through {
            send(Kind::Coordinator, 1, leader);
        } else if level == height {
            send(Kind::Coordinator, level, leader);
            segments::start(Kind::Coordinator, height, leader, self.aggregate, &mut send);
        }
    }

    /// The dead nodes that a node on several levels skips; `None` for a node on the ring alone.
    fn strikes_of_several_levels<'s, C: Context<Self>>(
        &self,
        state: &'s mut State<R>,
        cx: &C,
    ) -> Option<&'s mut Strikes> {
        if !SUN || self.points(cx.size()).height(cx.index()) == 1 {
            return None;
        }
        match state.role.as_deref_mut()? {
            Role::Point(point_state) => Some(&mut point_state.strikes),
            Role::Middle(_, strikes) => Some(strikes),
            Role::Informer(_) => None,
        }
    }

    /// Sends a message of a part to the next live node on its level.
    fn send_along<C: Context<Self>>(&self, state: &State<R>, message: Message<R, SUN>, cx: &mut C) {
        let points = self.points(cx.size());
        let level = message.level().unwrap_or(1);
        send_on_level(state.strikes(), level, |place, level| points.next(place, level), message, cx);
    }

    /// Handles a message at a member of the ring.
    #[inline(always)]
    fn receive<C: Context<Self>>(&self, state: &mut State<R>, message: Message<R, SUN>, cx: &mut C) {
        if cx.index() >= cx.size() {
            self.handle_at_informer(state, message, cx);
            return;
        }
        if !self.join(state, message.run(), cx) {
            return;
        }
        match message {
            Message::Token { start, told, token, .. } => self.handle_token(state, (start, told), token, cx),
            Message::Lap { by, leader, .. } => self.handle_lap(state, by, leader, cx),
            Message::Part { run, start, number, .. } if !SUN => self.handle_part(state, run, start, number, cx),
            Message::Part { level, number, .. } => {
                self.handle_gathering(state, Kind::Election, level.into(), number, cx)
            }
            Message::MCoordinator { level, number, .. } => {
                self.handle_gathering(state, Kind::Gather, level.into(), number, cx)
            }
            Message::Tell { level, leader, .. } => self.handle_coordinator(state, level.into(), leader, cx),
            Message::Probe { run } => cx.send_to(cx.size(), Message::Reply { run, point: cx.index() }),
            Message::Divide { .. } | Message::DivideFor { .. } | Message::Info { .. } | Message::Appoint { .. } => {
                self.handle_at_point(state, message, cx);
            }
            Message::Crash { .. } | Message::Reply { .. } => {}
        }
    }

    /// Handles a message of the informer or of a sub-point at a point.
    fn handle_at_point<C: Context<Self>>(&self, state: &mut State<R>, message: Message<R, SUN>, cx: &mut C) {
        let Some(point) = self.points(cx.size()).at(cx.index()) else { return };
        match message {
            // The leader is known from a token that came home.
            Message::Divide { .. } | Message::DivideFor { .. } if state.ring == token_ring::State::Settled => {}
            Message::Divide { previous, .. } => self.divide(state, point, previous, None, cx),
            Message::DivideFor { previous, above, .. } => self.divide(state, point, previous, Some(above), cx),
            Message::Info { point: from, number, .. } => self.learn(state, (from, number), cx),
            Message::Appoint { leader, .. } => self.appoint(state, leader, cx),
            _ => {}
        }
    }
}

/// Wraps a message of token-ring.
#[inline(always)]
fn wrapped<R: Rank, const SUN: bool>(
    run: RunNumber,
    start: u32,
    told: bool,
    message: token_ring::Message<R>,
) -> Message<R, SUN> {
    match message {
        token_ring::Message::Election(token) => Message::Token { run, start, told, token },
        token_ring::Message::Coordinator { leader, by } => Message::Lap { run, by, leader },
    }
}

impl<R: Rank, const SUN: bool> Protocol for Rules<R, SUN> {
    type Rank = R;
    type State = State<R>;
    type Message = Message<R, SUN>;

    fn init(&self) -> State<R> {
        State {
            run: RunNumber::default(),
            timeout: CoordinatorTimeout::default(),
            ring: token_ring::State::Idle,
            role: None,
        }
    }

    fn handle_start<C: Context<Self>>(&self, state: &mut State<R>, reason: StartReason, cx: &mut C) {
        if cx.index() < cx.size() && state.ring.accepts_start(reason) {
            state.run = state.run.next();
            state.timeout.cancel();
            self.detect(state, cx);
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State<R>, _: Port, message: Message<R, SUN>, cx: &mut C) {
        self.receive(state, message, cx);
    }

    #[inline(always)]
    fn handle_direct<C: Context<Self>>(&self, state: &mut State<R>, _: Id, message: Message<R, SUN>, cx: &mut C) {
        self.receive(state, message, cx);
    }

    fn handle_unreachable<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        port: Port,
        message: Message<R, SUN>,
        cx: &mut C,
    ) {
        if message.run() != state.run {
            return;
        }
        match self.strikes_of_several_levels(state, cx) {
            Some(strikes) if message.level().is_some() => {
                strikes.strike_neighbour(neighbour(cx.index(), cx.size()));
                self.send_along(state, message, cx);
            }
            _ => cx.skip(port),
        }
    }

    fn handle_unreachable_direct<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        to: Id,
        message: Message<R, SUN>,
        cx: &mut C,
    ) {
        if message.run() != state.run || cx.index() >= cx.size() {
            return;
        }
        match message {
            Message::Divide { previous, .. } | Message::DivideFor { previous, .. } => {
                self.handle_dead_sub_point(state, previous, cx);
            }
            _ => {
                let (points, at) = (self.points(cx.size()), cx.index());
                let (Some(level), Some(strikes)) = (message.level(), self.strikes_of_several_levels(state, cx)) else {
                    return;
                };
                strikes.strike(to, |strikes| strikes.next(at, |place| points.next(place, level)));
                self.send_along(state, message, cx);
            }
        }
    }

    fn handle_timer<C: Context<Self>>(&self, state: &mut State<R>, timer: Timer, cx: &mut C) {
        if cx.index() >= cx.size() {
            self.handle_answer_timer(state, timer, cx);
        } else if state.timeout.is_due(timer) {
            state.run = state.run.next_fallback();
            self.detect(state, cx);
        }
    }
}
