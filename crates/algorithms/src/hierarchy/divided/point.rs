//! The points: where parts start and end.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use hustings_protocol::{Context, Port, Rank};

use super::{Message, Role, Rules, State, level_sender};
use crate::hierarchy::layout::Point;
use crate::hierarchy::run::RunNumber;
use crate::hierarchy::segments::{self, Kind, Segments};
use crate::hierarchy::strikes::Strikes;

/// The state of a point.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PointState<R> {
    /// The greatest number so far; with levels inside the parts, also the results that arrived on them.
    pub(super) segments: Segments<R>,
    /// The number of hops back that the received tokens cover.
    reach: u32,
    /// The length of the part that ends here, once the ring is divided here.
    part: Option<u32>,
    /// The place of the point or informer that divided the ring here.
    above: u32,
    /// The sub-points at which the ring is divided too.
    below: BTreeSet<u32>,
    /// Those of them whose result is missing.
    missing: BTreeSet<u32>,
    /// The dead nodes that it skips on the levels of its part.
    pub(super) strikes: Strikes,
    /// Whether a token has left through the part that starts here.
    pub(super) sent: bool,
    /// Whether the result was sent up.
    reported: bool,
    /// Whether the leader was handed on.
    appointed: bool,
}

impl<R: Rank> PointState<R> {
    fn new(own: R) -> Self {
        PointState {
            segments: Segments::new(own, false),
            reach: 0,
            part: None,
            above: 0,
            below: BTreeSet::new(),
            missing: BTreeSet::new(),
            strikes: Strikes::NOBODY,
            sent: false,
            reported: false,
            appointed: false,
        }
    }

    /// Records a token with this number that has visited all nodes of this many hops.
    pub(super) fn see(&mut self, hops: u32, number: R) {
        self.segments.best = self.segments.best.max(number);
        self.reach = self.reach.max(hops);
    }

    /// Whether the ring is divided here.
    pub(super) fn is_divided(&self) -> bool {
        self.part.is_some()
    }
}

impl<R: Rank> State<R> {
    /// The state of the point at this node.
    pub(super) fn point_state(&mut self, own: R) -> &mut PointState<R> {
        let role = self.role.get_or_insert_with(|| Box::new(Role::Point(PointState::new(own))));
        if !matches!(**role, Role::Point(_)) {
            **role = Role::Point(PointState::new(own));
        }
        match &mut **role {
            Role::Point(point_state) => point_state,
            _ => unreachable!("the role was set just above"),
        }
    }
}

impl<R: Rank, const SUN: bool> Rules<R, SUN> {
    /// Divides the ring at this point.
    pub(super) fn divide<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        point: Point,
        previous: u32,
        above: Option<u32>,
        cx: &mut C,
    ) {
        let (points, own, run, at) = (self.points(cx.size()), cx.rank(), state.run, cx.index());
        let point_state = state.point_state(own);
        if point_state.is_divided() {
            return;
        }
        point_state.part = Some(points.hops(previous, at));
        point_state.above =
            above.unwrap_or_else(|| points.above(point).map_or(cx.size(), |above| points.position(above)));
        self.hand_on_division(point_state, point, run, cx);
        if SUN || !point_state.sent {
            point_state.sent = true;
            let mut send = level_sender(run, points, &point_state.strikes, cx);
            segments::start(Kind::Election, points.levels + 1, own, self.aggregate, &mut send);
        }
        self.report(state, cx);
    }

    /// Divides the ring at the sub-points of a point: this one, or a dead one below it.
    fn hand_on_division<C: Context<Self>>(
        &self,
        point_state: &mut PointState<R>,
        point: Point,
        run: RunNumber,
        cx: &mut C,
    ) {
        let points = self.points(cx.size());
        for below in points.below(point) {
            let position = points.position(below);
            point_state.below.insert(position);
            point_state.missing.insert(position);
            let previous = points.position(points.before(below));
            let is_own = points.position(point) == cx.index();
            let message = match is_own {
                true => Message::Divide { run, previous },
                false => Message::DivideFor { run, previous, above: cx.index() },
            };
            cx.send_to(position, message);
        }
    }

    /// Handles a `divide` that found a sub-point dead: no result will come from it, and its sub-points are taken over.
    /// The part that should have started there belongs to the live point before it.
    pub(super) fn handle_dead_sub_point<C: Context<Self>>(&self, state: &mut State<R>, previous: u32, cx: &mut C) {
        let (points, run) = (self.points(cx.size()), state.run);
        let Some(before) = points.at(previous) else { return };
        let dead = points.after(before);
        let point_state = state.point_state(cx.rank());
        if point_state.below.remove(&points.position(dead)) {
            point_state.missing.remove(&points.position(dead));
            self.hand_on_division(point_state, dead, run, cx);
            self.report(state, cx);
        }
    }

    /// Sends the result up once it is complete.
    pub(super) fn report<C: Context<Self>>(&self, state: &mut State<R>, cx: &mut C) {
        let (points, run, at) = (self.points(cx.size()), state.run, cx.index());
        let point_state = state.point_state(cx.rank());
        let is_covered = match point_state.part {
            None => false,
            Some(_) if SUN => point_state.segments.is_complete(points.levels + 1),
            Some(part) => point_state.reach >= part,
        };
        if is_covered && point_state.missing.is_empty() && !point_state.reported {
            point_state.reported = true;
            let (above, number) = (point_state.above, point_state.segments.best);
            cx.send_to(above, Message::Info { run, point: at, number });
        }
    }

    /// Handles the result of a sub-point.
    pub(super) fn learn<C: Context<Self>>(&self, state: &mut State<R>, from: (u32, R), cx: &mut C) {
        let point_state = state.point_state(cx.rank());
        if point_state.missing.remove(&from.0) {
            point_state.segments.best = point_state.segments.best.max(from.1);
            self.report(state, cx);
        }
    }

    /// Names the leader and hands it on.
    pub(super) fn appoint<C: Context<Self>>(&self, state: &mut State<R>, leader: R, cx: &mut C) {
        let (points, run) = (self.points(cx.size()), state.run);
        let point_state = state.point_state(cx.rank());
        if !point_state.is_divided() || point_state.appointed {
            return;
        }
        point_state.appointed = true;
        self.finish(state, leader, cx);
        for &below in &state.point_state(cx.rank()).below {
            cx.send_to(below, Message::Appoint { run, leader });
        }
        let mut send = level_sender(run, points, state.strikes(), cx);
        segments::start(Kind::Coordinator, points.levels + 1, leader, self.aggregate, &mut send);
    }

    /// Handles the token of a part without levels.
    pub(super) fn handle_part<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        run: RunNumber,
        start: u32,
        number: R,
        cx: &mut C,
    ) {
        let (points, own, at) = (self.points(cx.size()), cx.rank(), cx.index());
        if points.at(at).is_some() {
            let point_state = state.point_state(own);
            point_state.see(points.hops(start, at), number);
            if point_state.is_divided() {
                self.report(state, cx);
                return;
            }
            point_state.sent = true;
        }
        cx.send(Port::NEXT, Message::on_level(run, start, Kind::Election, 1, number.max(own)));
    }
}
