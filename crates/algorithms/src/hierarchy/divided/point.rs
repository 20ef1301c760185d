//! The points: where parts start and end.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use hustings_protocol::{Context, Port, Rank};

use super::{Message, Role, Rules, State, level_sender};
use crate::hierarchy::layout::Point;
use crate::hierarchy::run::RunNumber;
use crate::hierarchy::segments::{self, Kind, Segments};

/// The state of a point.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct PointState<R> {
    /// The greatest number so far; with levels inside the parts, also the results that arrived on them.
    pub(super) segments: Segments<R>,
    /// The number of hops back that the received tokens cover.
    reach: u32,
    /// The length of the part that ends here, once the ring is divided here.
    part: Option<u32>,
    /// The sub-points whose result is missing.
    missing: BTreeSet<u32>,
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
            missing: BTreeSet::new(),
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
    pub(super) fn divide<C: Context<Self>>(&self, state: &mut State<R>, point: Point, previous: u32, cx: &mut C) {
        let (points, own, run, at) = (self.points(cx.size()), cx.rank(), state.run, cx.index());
        let point_state = state.point_state(own);
        if point_state.is_divided() {
            return;
        }
        point_state.part = Some(points.hops(previous, at));
        for below in points.below(point) {
            let position = points.position(below);
            point_state.missing.insert(position);
            cx.send_to(position, Message::Divide { run, previous: points.position(points.before(below)) });
        }
        if SUN || !point_state.sent {
            point_state.sent = true;
            let mut send = level_sender(run, points, cx);
            segments::start(Kind::Election, points.levels + 1, own, self.aggregate, &mut send);
        }
        self.report(state, point, cx);
    }

    /// Sends the result up once it is complete.
    pub(super) fn report<C: Context<Self>>(&self, state: &mut State<R>, point: Point, cx: &mut C) {
        let (points, run, at) = (self.points(cx.size()), state.run, cx.index());
        let point_state = state.point_state(cx.rank());
        let is_covered = match point_state.part {
            None => false,
            Some(_) if SUN => point_state.segments.is_complete(points.levels + 1),
            Some(part) => point_state.reach >= part,
        };
        if is_covered && point_state.missing.is_empty() && !point_state.reported {
            point_state.reported = true;
            let number = point_state.segments.best;
            let above = points.above(point).map_or(cx.size(), |above| points.position(above));
            cx.send_to(above, Message::Info { run, point: at, number });
        }
    }

    /// Handles the result of a sub-point.
    pub(super) fn learn<C: Context<Self>>(&self, state: &mut State<R>, point: Point, from: (u32, R), cx: &mut C) {
        let point_state = state.point_state(cx.rank());
        if point_state.missing.remove(&from.0) {
            point_state.segments.best = point_state.segments.best.max(from.1);
            self.report(state, point, cx);
        }
    }

    /// Names the leader and hands it on.
    pub(super) fn appoint<C: Context<Self>>(&self, state: &mut State<R>, point: Point, leader: R, cx: &mut C) {
        let (points, run) = (self.points(cx.size()), state.run);
        let point_state = state.point_state(cx.rank());
        if !point_state.is_divided() || point_state.appointed {
            return;
        }
        point_state.appointed = true;
        self.finish(state, leader, cx);
        for below in points.below(point) {
            cx.send_to(points.position(below), Message::Appoint { run, leader });
        }
        let mut send = level_sender(run, points, cx);
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
        if let Some(point) = points.at(at) {
            let point_state = state.point_state(own);
            point_state.see(points.hops(start, at), number);
            if point_state.is_divided() {
                self.report(state, point, cx);
                return;
            }
            point_state.sent = true;
        }
        cx.send(Port::NEXT, Message::on_level(run, start, Kind::Election, 1, number.max(own)));
    }
}
