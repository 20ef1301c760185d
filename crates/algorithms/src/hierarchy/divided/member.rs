//! The members of the ring.

use alloc::boxed::Box;
use alloc::sync::Arc;

use hustings_protocol::{Context, Id, Port, Protocol, Rank, StartReason, Timer};

use super::{Message, Role, Rules, State, level_sender};
use crate::hierarchy::run::{CoordinatorTimeout, RunNumber, coordinator_timeout};
use crate::hierarchy::segments::{self, Kind, Segments};
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
        if let Some(point) = point {
            let point_state = state.point_state(own);
            if !SUN {
                point_state.see(points.hops(start, at), token.winner());
            }
            if point_state.is_divided() {
                self.report(state, point, cx);
                return;
            }
        }
        let is_relied_on = !SUN && point.is_none() && !run.is_fallback() && points.has_met_a_point(start, at);
        let tells = !told && point.is_some_and(|point| points.is_top(point));
        let was_settled = !run.is_fallback() && state.ring == token_ring::State::Settled;
        let mut passed = false;
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
        if let Some(point) = points.at(at) {
            state.point_state(own).segments.end(kind, level, number, self.aggregate);
            self.report(state, point, cx);
            return;
        }
        let mut send = level_sender(run, points, cx);
        if height == 1 {
            send(kind, 1, number.max(own));
            return;
        }
        let role = state.role.get_or_insert_with(|| Box::new(Role::Middle(Segments::new(own, false))));
        let Role::Middle(segments) = &mut **role else { return };
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
        let mut send = level_sender(run, points, cx);
        if passes_through {
            send(Kind::Coordinator, 1, leader);
        } else if level == height {
            send(Kind::Coordinator, level, leader);
            segments::start(Kind::Coordinator, height, leader, self.aggregate, &mut send);
        }
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
            Message::Divide { .. } | Message::Info { .. } | Message::Appoint { .. } => {
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
            Message::Divide { .. } if state.ring == token_ring::State::Settled => {}
            Message::Divide { previous, .. } => self.divide(state, point, previous, cx),
            Message::Info { point: from, number, .. } => self.learn(state, point, (from, number), cx),
            Message::Appoint { leader, .. } => self.appoint(state, point, leader, cx),
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
        let skips = !SUN || matches!(message, Message::Token { .. } | Message::Lap { .. });
        if message.run() == state.run && skips {
            cx.skip(port);
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
