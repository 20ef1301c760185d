//! The informer outside the ring, in contact with the top points.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use hustings_protocol::{Context, Rank, Timer};

use super::{Message, Role, Rules, State};
use crate::hierarchy::layout::Points;
use crate::hierarchy::run::RunNumber;

/// The state of the informer.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Informer<R> {
    /// Whether it still waits for replies.
    probing: bool,
    /// The points that replied.
    points: BTreeSet<u32>,
    /// The points whose result is missing.
    missing: BTreeSet<u32>,
    /// The greatest number so far.
    best: Option<R>,
}

/// The kind of the timer that ends the wait for replies.
const ANSWERS: u8 = 1;

/// The number of top points that must reply: a single one divides nothing.
pub(super) const MIN_POINTS: usize = 2;

impl<R: Rank, const SUN: bool> Rules<R, SUN> {
    /// Handles a message at the informer.
    pub(super) fn handle_at_informer<C: Context<Self>>(
        &self,
        state: &mut State<R>,
        message: Message<R, SUN>,
        cx: &mut C,
    ) {
        let run = message.run();
        if let Message::Crash { .. } = message {
            if state.run.is_older_than(run) {
                self.probe(state, run, cx);
            }
            return;
        }
        let Some(Role::Informer(informer)) = state.role.as_deref_mut() else { return };
        if state.run != run {
            return;
        }
        match message {
            Message::Reply { point, .. } if informer.probing => {
                informer.points.insert(point);
            }
            Message::Info { point, number, .. } if informer.missing.remove(&point) => {
                let best = informer.best.map_or(number, |best| best.max(number));
                informer.best = Some(best);
                if informer.missing.is_empty() {
                    for &point in &informer.points {
                        cx.send_to(point, Message::Appoint { run, leader: best });
                    }
                }
            }
            _ => {}
        }
    }

    /// Asks the top points whether they are up.
    fn probe<C: Context<Self>>(&self, state: &mut State<R>, run: RunNumber, cx: &mut C) {
        state.run = run;
        let informer = Informer { probing: true, points: BTreeSet::new(), missing: BTreeSet::new(), best: None };
        state.role = Some(Box::new(Role::Informer(informer)));
        let points = self.points(cx.size());
        for point in points.tops() {
            cx.send_to(points.position(point), Message::Probe { run });
        }
        // With a backoff, its own question may be delayed as much as each answer.
        cx.set_timer(self.backoff.saturating_mul(2).saturating_add(2), Timer { kind: ANSWERS, token: run.into() });
    }

    /// Handles the end of the wait for replies: divides the ring if enough points replied.
    pub(super) fn handle_answer_timer<C: Context<Self>>(&self, state: &mut State<R>, timer: Timer, cx: &mut C) {
        let run = state.run;
        let Some(Role::Informer(informer)) = state.role.as_deref_mut() else { return };
        if !informer.probing || timer != (Timer { kind: ANSWERS, token: run.into() }) {
            return;
        }
        informer.probing = false;
        let points = self.points(cx.size());
        let answered = informer.points.len();
        // With levels inside the parts, the sub-points of a dead top point could not pass its part on.
        let may_miss_some = !SUN || points.depth == 1;
        let is_enough = answered >= MIN_POINTS && (may_miss_some || answered == points.tops().count());
        if !is_enough {
            return;
        }
        informer.missing = informer.points.clone();
        for &point in &informer.points {
            if let Some(previous) = informer.before(point, &points) {
                cx.send_to(point, Message::Divide { run, previous });
            }
        }
    }
}

impl<R> Informer<R> {
    /// The start of the part that ends at a top point: the last sub-point of the top point before it. Points that did
    /// not reply divide nothing, and neither do their sub-points.
    fn before(&self, point: u32, points: &Points<'_>) -> Option<u32> {
        let previous = self.points.range(..point).next_back().or(self.points.last())?;
        let mut tops = points.tops().skip_while(|top| points.position(*top) != *previous);
        let next = tops.nth(1).or(points.tops().next())?;
        Some(points.position(points.before(next)))
    }
}
