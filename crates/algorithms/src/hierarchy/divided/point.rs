//! The points: where parts start and end.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use hustings_protocol::{Context, Port, Rank};

use super::{Desk, Message, Rules, State, roller};
use crate::hierarchy::layout::Point;
use crate::hierarchy::run::Run;
use crate::hierarchy::wheel::{self, Wheel, Word};

/// What a point remembers of an election.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Seat<R> {
    /// The greatest number it has heard of; with levels inside the parts, also what has come in on them.
    pub(super) wheel: Wheel<R>,
    /// How far back everything is known: the longest way that any token has come.
    reach: u32,
    /// How long the part is that ends here, once the ring is divided here.
    part: Option<u32>,
    /// The points below whose result is missing.
    missing: BTreeSet<u32>,
    /// Whether a token has gone from here through the part that starts here.
    pub(super) sent: bool,
    /// Whether the result has gone up.
    reported: bool,
    /// Whether the leader has been handed on.
    appointed: bool,
}

impl<R: Rank> Seat<R> {
    fn new(own: R) -> Self {
        Seat {
            wheel: Wheel::new(own, false),
            reach: 0,
            part: None,
            missing: BTreeSet::new(),
            sent: false,
            reported: false,
            appointed: false,
        }
    }

    /// A token came with this number, and has seen everybody on its way of so many hops.
    pub(super) fn see(&mut self, hops: u32, number: R) {
        self.wheel.best = self.wheel.best.max(number);
        self.reach = self.reach.max(hops);
    }

    /// Whether the ring is divided here.
    pub(super) fn is_divided(&self) -> bool {
        self.part.is_some()
    }
}

impl<R: Rank> State<R> {
    /// What the point at this node remembers.
    pub(super) fn seat(&mut self, own: R) -> &mut Seat<R> {
        let desk = self.desk.get_or_insert_with(|| Box::new(Desk::Point(Seat::new(own))));
        if !matches!(**desk, Desk::Point(_)) {
            **desk = Desk::Point(Seat::new(own));
        }
        match &mut **desk {
            Desk::Point(seat) => seat,
            _ => unreachable!("it was made a point's just now"),
        }
    }
}

impl<R: Rank, const SUN: bool> Rules<R, SUN> {
    /// The ring is divided at this point.
    pub(super) fn divide<C: Context<Self>>(&self, state: &mut State<R>, point: Point, previous: u32, cx: &mut C) {
        let (points, own, run, at) = (self.points(cx.size()), cx.rank(), state.run, cx.index());
        let seat = state.seat(own);
        if seat.is_divided() {
            return;
        }
        seat.part = Some(points.hops(previous, at));
        for below in points.below(point) {
            let position = points.position(below);
            seat.missing.insert(position);
            cx.send_to(position, Message::Divide { run, previous: points.position(points.before(below)) });
        }
        if SUN || !seat.sent {
            seat.sent = true;
            let mut roll = roller(run, points, cx);
            wheel::start(Word::Election, points.levels + 1, own, self.aggregate, &mut roll);
        }
        self.report(state, point, cx);
    }

    /// Sends the result up, once everything is in.
    pub(super) fn report<C: Context<Self>>(&self, state: &mut State<R>, point: Point, cx: &mut C) {
        let (points, run, at) = (self.points(cx.size()), state.run, cx.index());
        let seat = state.seat(cx.rank());
        let is_covered = match seat.part {
            None => false,
            Some(_) if SUN => seat.wheel.is_complete(points.levels + 1),
            Some(part) => seat.reach >= part,
        };
        if is_covered && seat.missing.is_empty() && !seat.reported {
            seat.reported = true;
            let number = seat.wheel.best;
            let above = points.above(point).map_or(cx.size(), |above| points.position(above));
            cx.send_to(above, Message::Info { run, point: at, number });
        }
    }

    /// The result of a point below is in.
    pub(super) fn learn<C: Context<Self>>(&self, state: &mut State<R>, point: Point, from: (u32, R), cx: &mut C) {
        let seat = state.seat(cx.rank());
        if seat.missing.remove(&from.0) {
            seat.wheel.best = seat.wheel.best.max(from.1);
            self.report(state, point, cx);
        }
    }

    /// The leader is known here, and handed on.
    pub(super) fn appoint<C: Context<Self>>(&self, state: &mut State<R>, point: Point, leader: R, cx: &mut C) {
        let (points, run) = (self.points(cx.size()), state.run);
        let seat = state.seat(cx.rank());
        if !seat.is_divided() || seat.appointed {
            return;
        }
        seat.appointed = true;
        self.settle(state, leader, cx);
        for below in points.below(point) {
            cx.send_to(points.position(below), Message::Appoint { run, leader });
        }
        let mut roll = roller(run, points, cx);
        wheel::start(Word::Coordinator, points.levels + 1, leader, self.aggregate, &mut roll);
    }

    /// The token of a part came along the ring, where parts have no levels.
    pub(super) fn take_part<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        run: Run,
        start: u32,
        number: R,
        cx: &mut C,
    ) {
        let (points, own, at) = (self.points(cx.size()), cx.rank(), cx.index());
        if let Some(point) = points.at(at) {
            let seat = state.seat(own);
            seat.see(points.hops(start, at), number);
            if seat.is_divided() {
                self.report(state, point, cx);
                return;
            }
            seat.sent = true;
        }
        cx.send(Port::NEXT, Message::wheeled(run, start, Word::Election, 1, number.max(own)));
    }
}
