//! Wheeling a message down segments, and gathering what comes of it.
//!
//! A node of height h is on levels 1 to h. It *starts* a segment on each level below h, and the segments of the nodes
//! before it *end* at it, one on each of these levels. On its own level h it passes on, and there it may have to wait
//! for the results that end at it. So all that it remembers is the greatest number it has heard, on which levels a
//! result is in, and whether something waits.

use hustings_protocol::{Context, Port, Protocol, Rank};

use super::params::Aggregate;

/// What is wheeled.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Word {
    /// `election`: gathers the greatest number.
    Election,
    /// `m-coordinator`: gathers the results of segments.
    Gather,
    /// `coordinator`: tells who leads.
    Coordinator,
}

/// Sends a word with a number to the next node on a level.
pub(super) trait Roll<R>: FnMut(Word, u32, R) {}
impl<R, F: FnMut(Word, u32, R)> Roll<R> for F {}

/// Sends to the next node on a level, in the words of an algorithm: along the ring on the first level, by the map on
/// the others.
#[inline(always)]
pub(super) fn roller<'a, P: Protocol, C: Context<P>>(
    cx: &'a mut C,
    next: impl Fn(u32) -> u32 + 'a,
    say: impl Fn(Word, u32, P::Rank) -> P::Message + 'a,
) -> impl FnMut(Word, u32, P::Rank) + 'a {
    move |word, level, number| {
        let message = say(word, level, number);
        match level {
            1 => cx.send(Port::NEXT, message),
            _ => cx.send_to(next(level), message),
        }
    }
}

/// How far a node is with one election.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Wheel<R> {
    /// The greatest number it has heard, its own included.
    pub(super) best: R,
    /// Bit i: the result of the segment of level i that ends here is in.
    arrived: u32,
    /// Whether something waits here for results.
    pub(super) phase: Phase,
    /// Whether this node has set the wheel going (sun's informer).
    pub(super) is_hub: bool,
}

/// Whether something waits at a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    /// Nothing does.
    Open,
    /// What comes along the node's own level waits for results.
    Held,
    /// It is over: the leader is known.
    Settled,
}

impl<R: Rank> Wheel<R> {
    pub(super) fn new(own: R, is_hub: bool) -> Self {
        Wheel { best: own, arrived: 0, phase: Phase::Open, is_hub }
    }

    /// The result of a segment is in.
    fn arrive(&mut self, level: u32, number: R) {
        self.best = self.best.max(number);
        self.arrived |= 1 << level;
    }

    /// Something comes along the node's own level, and waits until the node is [`ready`](Wheel::is_ready).
    pub(super) fn hold(&mut self, number: R) {
        self.best = self.best.max(number);
        self.phase = Phase::Held;
    }

    /// Whether the results of all levels below the node's own are in.
    pub(super) fn is_complete(&self, height: u32) -> bool {
        self.arrived == (1 << height) - 2
    }

    /// Whether something that waited may go on now; it waits no longer then.
    pub(super) fn is_ready(&mut self, height: u32) -> bool {
        let ready = self.phase == Phase::Held && self.is_complete(height);
        if ready {
            self.phase = Phase::Open;
        }
        ready
    }

    /// An `election` or `m-coordinator` came along a level that ends here.
    pub(super) fn end(&mut self, word: Word, level: u32, number: R, aggregate: Aggregate) {
        // Where an m-coordinator follows, the token before it has nothing to tell.
        if word == Word::Gather || level == 1 || aggregate == Aggregate::Lazy {
            self.arrive(level, number);
        }
    }

    /// An `election` or `m-coordinator` came along the node's own level, which is neither the first nor the last.
    pub(super) fn pass(
        &mut self,
        word: Word,
        number: R,
        (height, own): (u32, R),
        aggregate: Aggregate,
        roll: &mut impl Roll<R>,
    ) {
        match (word, aggregate) {
            (Word::Election, Aggregate::Eager) => roll(word, height, number),
            _ => self.hold(number),
        }
        self.release(height, aggregate, roll);
        if word == Word::Election {
            start(word, height, own, aggregate, roll);
        }
    }

    /// Lets go on what waits on a middle level, if it may.
    pub(super) fn release(&mut self, height: u32, aggregate: Aggregate, roll: &mut impl Roll<R>) {
        if self.is_ready(height) {
            let word = if aggregate == Aggregate::Lazy { Word::Election } else { Word::Gather };
            roll(word, height, self.best);
        }
    }
}

/// Starts the segments of a node, from its highest down.
#[inline]
pub(super) fn start<R: Copy>(word: Word, height: u32, number: R, aggregate: Aggregate, roll: &mut impl Roll<R>) {
    for level in (1..height).rev() {
        roll(word, level, number);
        if word == Word::Election && level > 1 && aggregate == Aggregate::Eager {
            roll(Word::Gather, level, number);
        }
    }
}
