//! The informer: outside the ring, in contact with the top points.

use alloc::boxed::Box;
use alloc::collections::BTreeSet;

use hustings_protocol::{Context, Rank, Timer};

use super::{Desk, Message, Rules, State};
use crate::hierarchy::layout::Points;
use crate::hierarchy::run::Run;

/// What the informer remembers of an election.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub(super) struct Informer<R> {
    /// Whether it still waits for points to answer.
    probing: bool,
    /// The points that answered.
    points: BTreeSet<u32>,
    /// Those of them whose result is missing.
    missing: BTreeSet<u32>,
    /// The greatest number so far.
    best: Option<R>,
}

/// The kind of the timer that ends the wait for answers.
const ANSWERS: u8 = 1;

/// So many top points have to answer: one alone divides nothing.
pub(super) const ENOUGH: usize = 2;

impl<R: Rank, const SUN: bool> Rules<R, SUN> {
    /// The informer heard something.
    pub(super) fn inform<C: Context<Self>>(&self, state: &mut State<R>, message: Message<R, SUN>, cx: &mut C) {
        let run = message.run();
        if let Message::Crash { .. } = message {
            if state.run.yields_to(run) {
                self.probe(state, run, cx);
            }
            return;
        }
        let Some(Desk::Informer(informer)) = state.desk.as_deref_mut() else { return };
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

    /// Asks the top points whether they are there.
    fn probe<C: Context<Self>>(&self, state: &mut State<R>, run: Run, cx: &mut C) {
        state.run = run;
        let informer = Informer { probing: true, points: BTreeSet::new(), missing: BTreeSet::new(), best: None };
        state.desk = Some(Box::new(Desk::Informer(informer)));
        let points = self.points(cx.size());
        for point in points.tops() {
            cx.send_to(points.position(point), Message::Probe { run });
        }
        // Its own question may be held back as long as any answer.
        cx.set_timer(self.backoff.saturating_mul(2).saturating_add(2), Timer { kind: ANSWERS, token: run.into() });
    }

    /// The wait for answers may be over: divides the ring if there are enough.
    pub(super) fn count_answers<C: Context<Self>>(&self, state: &mut State<R>, timer: Timer, cx: &mut C) {
        let run = state.run;
        let Some(Desk::Informer(informer)) = state.desk.as_deref_mut() else { return };
        if !informer.probing || timer != (Timer { kind: ANSWERS, token: run.into() }) {
            return;
        }
        informer.probing = false;
        let points = self.points(cx.size());
        let answered = informer.points.len();
        let is_enough = answered >= ENOUGH && (points.depth == 1 || answered == points.tops().count());
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
    /// Where the part starts that ends at a top point. Where only top points divide the ring, those that did not
    /// answer divide nothing.
    fn before(&self, point: u32, points: &Points<'_>) -> Option<u32> {
        if points.depth == 1 {
            self.points.range(..point).next_back().or(self.points.last()).copied()
        } else {
            points.at(point).map(|point| points.position(points.before(point)))
        }
    }
}
