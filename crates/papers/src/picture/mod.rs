//! Pictures of a run as the papers draw it: the network, with its messages numbered by step.
//!
//! Nodes are on a circle. The upper rings of a sun are circles of their own, joined to the ring by rays; an informer is
//! in the middle. Messages along a ring are arcs with all their numbers; all others are lines from node to node.

mod draw;
mod geometry;
mod route;

use std::collections::BTreeMap;

use crate::published::{Numbering, PictureSpec, Shape};

pub(crate) use draw::draw;

/// A message of a picture.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct PictureMessage {
    pub(crate) tick: u64,
    pub(crate) from: u32,
    pub(crate) to: u32,
    pub(crate) kind: String,
}

/// What is drawn.
#[derive(Clone, PartialEq, Debug)]
pub(crate) struct Picture {
    pub(crate) shape: Shape,
    /// The nodes of the ring; an informer has the next position.
    pub(crate) size: u32,
    /// What is written at each node.
    pub(crate) names: Vec<String>,
    /// Nodes that are down from the start.
    pub(crate) down: Vec<u32>,
    /// The branching factor and the number of the levels of a sun.
    pub(crate) levels: (u32, u32),
    /// The messages, in order.
    pub(crate) messages: Vec<PictureMessage>,
    pub(crate) spec: PictureSpec,
}

/// The number of a message, its kind among all kinds, and whether it is lost.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Label {
    text: String,
    kind: usize,
    is_lost: bool,
}

impl Picture {
    /// The kinds of the messages: first those that have a letter, in that order.
    fn kinds(&self) -> Vec<&str> {
        let mut kinds: Vec<&str> = Vec::new();
        let lettered = self.spec.letters.iter().map(|(kind, _)| kind.as_str());
        let is_sent = |kind: &&str| self.messages.iter().any(|message| message.kind == *kind);
        let others = self.messages.iter().map(|message| message.kind.as_str());
        for kind in lettered.filter(is_sent).chain(others) {
            if !kinds.contains(&kind) {
                kinds.push(kind);
            }
        }
        kinds
    }

    fn letter<'a>(&'a self, kind: &'a str) -> &'a str {
        let known = self.spec.letters.iter().find(|(known, _)| known == kind);
        known.map_or_else(|| kind.get(..1).unwrap_or(kind), |(_, letter)| letter)
    }

    /// The steps, if messages are numbered by them: one for each kind of message in a tick.
    fn steps(&self) -> BTreeMap<(u64, usize), usize> {
        let kinds = self.kinds();
        let place = |kind: &str| kinds.iter().position(|known| *known == kind).unwrap_or(0);
        let keys: BTreeMap<(u64, usize), usize> =
            self.messages.iter().map(|message| ((message.tick, place(&message.kind)), 0)).collect();
        keys.into_keys().zip(1..).collect()
    }

    /// The label of each message.
    fn labels(&self) -> Vec<Label> {
        let (kinds, steps) = (self.kinds(), self.steps());
        let label = |message: &PictureMessage| {
            let kind = kinds.iter().position(|kind| *kind == message.kind).unwrap_or(0);
            let letter = self.letter(&message.kind);
            let number = match self.spec.numbers {
                Numbering::Ticks => message.tick + 1,
                Numbering::Steps => steps.get(&(message.tick, kind)).map_or(0, |step| *step as u64),
            };
            Label { text: format!("{number}{letter}"), kind, is_lost: self.down.contains(&message.to) }
        };
        self.messages.iter().map(label).collect()
    }

    /// What the labels mean.
    fn legend(&self) -> Vec<(usize, String)> {
        let kinds = self.kinds();
        match self.spec.numbers {
            Numbering::Ticks => {
                let entry = |(index, kind): (usize, &&str)| (index, format!("{}: {kind}", self.letter(kind)));
                kinds.iter().enumerate().map(entry).collect()
            }
            Numbering::Steps => {
                let entry = |((_, kind), step): ((u64, usize), usize)| (kind, format!("{step}: {}", kinds[kind]));
                self.steps().into_iter().map(entry).collect()
            }
        }
    }

    /// The level of a node: 1 on the ring itself, more on the rings above.
    fn level(&self, position: u32) -> u32 {
        let (factor, levels) = self.levels;
        let mut level = 1;
        let mut step = factor;
        while level < levels && step > 0 && position.is_multiple_of(step) {
            level += 1;
            step = step.saturating_mul(factor);
        }
        level
    }

    /// The ring along which a message between two nodes goes: the highest that has both, unless the hop is shorter than
    /// the distance of neighbours on it.
    fn ring_of(&self, from: u32, to: u32) -> u32 {
        let hop = (to + self.size - from) % self.size;
        let mut ring = self.level(from).min(self.level(to));
        while ring > 1 && self.levels.0.checked_pow(ring - 1).is_none_or(|step| hop < step) {
            ring -= 1;
        }
        ring
    }
}

#[cfg(test)]
mod tests;
