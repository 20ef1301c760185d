//! The ways that messages take in a picture: those with the same way are one arrow with several numbers.

use super::{Label, Picture};
use crate::published::Shape;

/// How an arrow runs.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(super) enum Course {
    /// Along a ring, clockwise; rings count from 0, the outermost.
    Clockwise(usize),
    /// Along the outermost ring, counter-clockwise.
    Counter,
    /// Straight to or from the informer.
    Spoke,
    /// Across.
    Chord,
}

/// An arrow with the labels of all messages that take this way, in order.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Arrow {
    pub(super) from: u32,
    pub(super) to: u32,
    pub(super) course: Course,
    pub(super) labels: Vec<Label>,
}

impl Picture {
    pub(super) fn has_informer(&self) -> bool {
        matches!(self.shape, Shape::Informer | Shape::SunInformer)
    }

    fn course(&self, from: u32, to: u32) -> Course {
        if from >= self.size || to >= self.size {
            return Course::Spoke;
        }
        let hop = (to + self.size - from) % self.size;
        // Dead neighbours are skipped, so a hop may be a little longer than one.
        let is_skip = |hop: u32| (1..hop).all(|step| self.down.contains(&((from + step) % self.size)));
        match self.shape {
            Shape::Complete => Course::Chord,
            Shape::Sun | Shape::SunInformer => match self.ring_of(from, to) {
                1 if !is_skip(hop) => Course::Chord,
                ring => Course::Clockwise(ring as usize - 1),
            },
            Shape::Ring | Shape::Informer if is_skip(hop) => Course::Clockwise(0),
            Shape::Ring | Shape::Informer if hop + 1 == self.size => Course::Counter,
            Shape::Ring | Shape::Informer => Course::Chord,
        }
    }

    pub(super) fn arrows(&self) -> Vec<Arrow> {
        let mut arrows: Vec<Arrow> = Vec::new();
        for (message, label) in self.messages.iter().zip(self.labels()) {
            let course = self.course(message.from, message.to);
            let is_same =
                |arrow: &&mut Arrow| (arrow.from, arrow.to, arrow.course) == (message.from, message.to, course);
            match arrows.iter_mut().find(is_same) {
                Some(arrow) => {
                    // Several messages of a kind in one step are one number.
                    if !arrow.labels.contains(&label) {
                        arrow.labels.push(label);
                    }
                }
                None => arrows.push(Arrow { from: message.from, to: message.to, course, labels: vec![label] }),
            }
        }
        arrows
    }
}
