//! The members of the ring, and who of them does what.

use alloc::boxed::Box;
use alloc::sync::Arc;

use hustings_protocol::{Context, Id, Port, Protocol, Rank, StartReason, Timer};

use super::{Desk, Message, Rules, State, roller};
use crate::hierarchy::run::{Run, Watch, patience};
use crate::hierarchy::wheel::{self, Wheel, Word};
use crate::ring::plain::name;
use crate::ring::token_ring;
use crate::within::Within;

impl<R: Rank, const SUN: bool> Rules<R, SUN> {
    /// Joins a newer election. Says whether this one is the newest.
    #[inline(always)]
    fn join<C: Context<Self>>(&self, state: &mut State<R>, run: Run, cx: &mut C) -> bool {
        let State { run: newest, watch, ring, desk } = state;
        newest.join(run, watch, self.backoff, cx, || (*ring, *desk) = (token_ring::State::Voter, None))
    }

    /// The leader is known.
    #[inline(always)]
    pub(super) fn settle<C: Context<Self>>(&self, state: &mut State<R>, leader: R, cx: &mut C) {
        state.watch.end();
        if state.ring != token_ring::State::Settled {
            state.ring = token_ring::State::Settled;
            name(leader, cx);
        }
    }

    /// Sends a token round the ring.
    fn detect<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let (points, at, run) = (self.points(cx.size()), cx.index(), state.run);
        (state.ring, state.desk) = (token_ring::State::Idle, None);
        state.watch.begin(patience(cx.size(), self.backoff), cx);
        let point = points.at(at).filter(|_| !run.is_resort());
        let told = point.is_some_and(|point| points.is_top(point));
        let wrap = |message| wrapped(run, at, told, message);
        self.ring.handle_start(&mut state.ring, StartReason::Start, &mut Within::new(cx, wrap));
        if point.is_some() {
            state.seat(cx.rank()).sent = true;
        }
        if told {
            cx.send_to(cx.size(), Message::Crash { run });
        }
    }

    /// A detector's token came along the ring.
    #[inline(always)]
    fn take_token<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        (start, told): (u32, bool),
        token: Arc<token_ring::Token<R>>,
        cx: &mut C,
    ) {
        let (points, own, at, run) = (self.points(cx.size()), cx.rank(), cx.index(), state.run);
        let point = points.at(at).filter(|_| !run.is_resort());
        if let Some(point) = point {
            let seat = state.seat(own);
            if !SUN {
                seat.see(points.hops(start, at), token.winner());
            }
            if seat.is_divided() {
                self.report(state, point, cx);
                return;
            }
        }
        let is_relied_on = !SUN && point.is_none() && !run.is_resort() && points.has_met_a_point(start, at);
        let tells = !told && point.is_some_and(|point| points.is_top(point));
        let was_settled = !run.is_resort() && state.ring == token_ring::State::Settled;
        let mut passed = false;
        let wrap = |message| {
            passed |= matches!(message, token_ring::Message::Election(_));
            wrapped(run, start, told || tells, message)
        };
        let mut inside = Within::new(cx, wrap);
        if is_relied_on && token.detector != own {
            self.ring.pass_on(&mut state.ring, token, &mut inside);
        } else {
            let message = token_ring::Message::Election(token);
            self.ring.handle_message(&mut state.ring, Port::PREVIOUS, message, &mut inside);
        }
        if passed && point.is_some() {
            state.seat(own).sent = true;
        }
        if passed && tells {
            cx.send_to(cx.size(), Message::Crash { run });
        }
        self.note_end(state, was_settled);
    }

    /// A detector's announcement came along the ring.
    fn take_lap<C: Context<Self>>(&self, state: &mut State<R>, by: u32, leader: R, cx: &mut C) {
        let run = state.run;
        let message = token_ring::Message::Coordinator { leader, by };
        let mut inside = Within::new(cx, |message| wrapped(run, by, true, message));
        self.ring.handle_message(&mut state.ring, Port::PREVIOUS, message, &mut inside);
        self.note_end(state, false);
    }

    /// Who knows the leader of this election waits for nothing; not even if an old token passes.
    #[inline(always)]
    fn note_end(&self, state: &mut State<R>, was_settled: bool) {
        if was_settled {
            state.ring = token_ring::State::Settled;
        }
        if state.ring == token_ring::State::Settled {
            state.watch.end();
        }
    }

    /// An `election` or `m-coordinator` came along a level of a part.
    fn gather<C: Context<Self>>(&self, state: &mut State<R>, word: Word, level: u32, number: R, cx: &mut C) {
        let (points, own, at, run) = (self.points(cx.size()), cx.rank(), cx.index(), state.run);
        let height = points.height(at);
        if level == 0 || level > height.min(points.levels) {
            return;
        }
        if let Some(point) = points.at(at) {
            state.seat(own).wheel.end(word, level, number, self.aggregate);
            self.report(state, point, cx);
            return;
        }
        let mut roll = roller(run, points, cx);
        if height == 1 {
            roll(word, 1, number.max(own));
            return;
        }
        let desk = state.desk.get_or_insert_with(|| Box::new(Desk::Middle(Wheel::new(own, false))));
        let Desk::Middle(wheel) = &mut **desk else { return };
        if level < height {
            wheel.end(word, level, number, self.aggregate);
            wheel.release(height, self.aggregate, &mut roll);
        } else {
            wheel.pass(word, number, (height, own), self.aggregate, &mut roll);
        }
    }

    /// A `coordinator` came along a level of a part.
    #[inline(always)]
    fn tell<C: Context<Self>>(&self, state: &mut State<R>, level: u32, leader: R, cx: &mut C) {
        let (points, at, run) = (self.points(cx.size()), cx.index(), state.run);
        self.settle(state, leader, cx);
        let height = points.height(at);
        // Where parts have no levels, a point at which the ring is not divided is like any other node.
        let passes_through = !SUN && height > 1 && !state.seat(cx.rank()).is_divided();
        let mut roll = roller(run, points, cx);
        if passes_through {
            roll(Word::Coordinator, 1, leader);
        } else if level == height {
            roll(Word::Coordinator, level, leader);
            wheel::start(Word::Coordinator, height, leader, self.aggregate, &mut roll);
        }
    }

    /// A member of the ring heard something.
    #[inline(always)]
    fn hear<C: Context<Self>>(&self, state: &mut State<R>, message: Message<R, SUN>, cx: &mut C) {
        if cx.index() >= cx.size() {
            self.inform(state, message, cx);
            return;
        }
        if !self.join(state, message.run(), cx) {
            return;
        }
        match message {
            Message::Token { start, told, token, .. } => self.take_token(state, (start, told), token, cx),
            Message::Lap { by, leader, .. } => self.take_lap(state, by, leader, cx),
            Message::Part { run, start, number, .. } if !SUN => self.take_part(state, run, start, number, cx),
            Message::Part { level, number, .. } => self.gather(state, Word::Election, level.into(), number, cx),
            Message::MCoordinator { level, number, .. } => self.gather(state, Word::Gather, level.into(), number, cx),
            Message::Tell { level, leader, .. } => self.tell(state, level.into(), leader, cx),
            Message::Probe { run } => cx.send_to(cx.size(), Message::Reply { run, point: cx.index() }),
            Message::Divide { .. } | Message::Info { .. } | Message::Appoint { .. } => {
                self.heed(state, message, cx);
            }
            Message::Crash { .. } | Message::Reply { .. } => {}
        }
    }

    /// A point heard of the informer, or of those below.
    fn heed<C: Context<Self>>(&self, state: &mut State<R>, message: Message<R, SUN>, cx: &mut C) {
        let Some(point) = self.points(cx.size()).at(cx.index()) else { return };
        match message {
            // Who knows the leader of this election has it from a token that came home.
            Message::Divide { .. } if state.ring == token_ring::State::Settled => {}
            Message::Divide { previous, .. } => self.divide(state, point, previous, cx),
            Message::Info { point: from, number, .. } => self.learn(state, point, (from, number), cx),
            Message::Appoint { leader, .. } => self.appoint(state, point, leader, cx),
            _ => {}
        }
    }
}

/// A message of token-ring's, as one of ours.
#[inline(always)]
fn wrapped<R: Rank, const SUN: bool>(
    run: Run,
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
        State { run: Run::default(), watch: Watch::default(), ring: token_ring::State::Idle, desk: None }
    }

    fn handle_start<C: Context<Self>>(&self, state: &mut State<R>, reason: StartReason, cx: &mut C) {
        if cx.index() < cx.size() && state.ring.heeds(reason) {
            state.run = state.run.next();
            state.watch.end();
            self.detect(state, cx);
        }
    }

    #[inline(always)]
    fn handle_message<C: Context<Self>>(&self, state: &mut State<R>, _: Port, message: Message<R, SUN>, cx: &mut C) {
        self.hear(state, message, cx);
    }

    #[inline(always)]
    fn handle_direct<C: Context<Self>>(&self, state: &mut State<R>, _: Id, message: Message<R, SUN>, cx: &mut C) {
        self.hear(state, message, cx);
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
            self.count_answers(state, timer, cx);
        } else if state.watch.is_over(timer) {
            state.run = state.run.next_resort();
            self.detect(state, cx);
        }
    }
}
