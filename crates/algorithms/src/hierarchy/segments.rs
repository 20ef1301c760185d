//! Messages along the segments of a level, and the results that they gather.
//!
//! A node of height h is on levels 1 to h. It *starts* a segment on each level below h, and a segment of the node
//! before it *ends* at it on each of these levels. On its own level h it passes messages on, and may have to hold them
//! until the results that end at it have arrived. Its state is the greatest number so far, the levels whose result has
//! arrived, and whether a message is held.

use hustings_protocol::{Context, Port, Protocol, Rank};

use super::params::Aggregate;
use super::strikes::Strikes;

/// The kind of a message on a level.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Kind {
    /// `election`: gathers the greatest number.
    Election,
    /// `m-coordinator`: gathers the results of segments.
    Gather,
    /// `coordinator`: tells who leads.
    Coordinator,
}

/// Sends a message of a kind with a number to the next node on a level.
pub(super) trait SendOnLevel<R>: FnMut(Kind, u32, R) {}
impl<R, F: FnMut(Kind, u32, R)> SendOnLevel<R> for F {}

/// Returns a function that sends to the next live node on a level, given the next one on the map after a place.
#[inline(always)]
pub(super) fn level_sender<'a, P: Protocol, C: Context<P>>(
    cx: &'a mut C,
    strikes: &'a Strikes,
    next: impl Fn(u32, u32) -> u32 + 'a,
    say: impl Fn(Kind, u32, P::Rank) -> P::Message + 'a,
) -> impl FnMut(Kind, u32, P::Rank) + 'a {
    move |kind, level, number| {
        let message = say(kind, level, number);
        send_on_level(strikes, level, &next, message, cx);
    }
}

/// Sends a message to the next live node on a level: to the neighbour along the ring, to all others by the map.
///
/// Because of that, a message that returns from a port was sent to the neighbour, whichever its level.
#[inline(always)]
pub(super) fn send_on_level<P: Protocol, C: Context<P>>(
    strikes: &Strikes,
    level: u32,
    next: impl Fn(u32, u32) -> u32,
    message: P::Message,
    cx: &mut C,
) {
    if level == 1 && strikes.is_empty() {
        return cx.send(Port::NEXT, message);
    }
    let at = cx.index();
    match strikes.next(at, |place| next(place, level)) {
        to if to == neighbour(at, cx.size()) => cx.send(Port::NEXT, message),
        to => cx.send_to(to, message),
    }
}

/// The next place on the ring.
#[inline(always)]
pub(super) fn neighbour(at: u32, size: u32) -> u32 {
    if at + 1 < size { at + 1 } else { 0 }
}

/// The state of a node in one run.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) struct Segments<R> {
    /// The greatest number so far, its own included.
    pub(super) best: R,
    /// Bit i: the result of the segment of level i that ends here has arrived.
    arrived: u32,
    /// Whether a message is held for results.
    pub(super) phase: Phase,
    /// Whether this node is sun's informer.
    pub(super) is_informer: bool,
    /// Whether this node is on the top level of sun, as far as it knows.
    pub(super) is_top: bool,
    /// Whether this node has passed on a `coordinator`. It does so once, also if nobody is left to stop it.
    pub(super) has_announced: bool,
}

/// Whether a message is held at a node.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub(super) enum Phase {
    /// No message is held.
    Open,
    /// A message on the node's own level is held for results.
    Held,
    /// The leader is known.
    Settled,
}

impl<R: Rank> Segments<R> {
    pub(super) fn new(own: R, is_informer: bool) -> Self {
        Segments { best: own, arrived: 0, phase: Phase::Open, is_informer, is_top: is_informer, has_announced: false }
    }

    /// Records the result of a segment.
    fn arrive(&mut self, level: u32, number: R) {
        self.best = self.best.max(number);
        self.arrived |= 1 << level;
    }

    /// Holds a message on the node's own level until the node is [`ready`](Segments::is_ready).
    pub(super) fn hold(&mut self, number: R) {
        self.best = self.best.max(number);
        self.phase = Phase::Held;
    }

    /// Whether the results of all levels below the node's own have arrived.
    pub(super) fn is_complete(&self, height: u32) -> bool {
        self.arrived == (1 << height) - 2
    }

    /// Whether the held message may go on; if so, it is released.
    pub(super) fn is_ready(&mut self, height: u32) -> bool {
        let ready = self.phase == Phase::Held && self.is_complete(height);
        if ready {
            self.phase = Phase::Open;
        }
        ready
    }

    /// Handles an `election` or `m-coordinator` on a level that ends here.
    pub(super) fn end(&mut self, kind: Kind, level: u32, number: R, aggregate: Aggregate) {
        // If an m-coordinator follows, the token before it carries no result.
        if kind == Kind::Gather || level == 1 || aggregate == Aggregate::Lazy {
            self.arrive(level, number);
        }
    }

    /// Handles an `election` or `m-coordinator` on the node's own level, which is neither the first nor the last.
    pub(super) fn pass(
        &mut self,
        kind: Kind,
        number: R,
        (height, own): (u32, R),
        aggregate: Aggregate,
        send: &mut impl SendOnLevel<R>,
    ) {
        match (kind, aggregate) {
            (Kind::Election, Aggregate::Eager) => send(kind, height, number),
            _ => self.hold(number),
        }
        self.release(height, aggregate, send);
        if kind == Kind::Election {
            start(kind, height, own, aggregate, send);
        }
    }

    /// Sends on the held message of a middle level, if it is ready.
    pub(super) fn release(&mut self, height: u32, aggregate: Aggregate, send: &mut impl SendOnLevel<R>) {
        if self.is_ready(height) {
            let kind = if aggregate == Aggregate::Lazy { Kind::Election } else { Kind::Gather };
            send(kind, height, self.best);
        }
    }
}

/// Starts the segments of a node, from its highest level down.
#[inline]
pub(super) fn start<R: Copy>(kind: Kind, height: u32, number: R, aggregate: Aggregate, send: &mut impl SendOnLevel<R>) {
    for level in (1..height).rev() {
        send(kind, level, number);
        if kind == Kind::Election && level > 1 && aggregate == Aggregate::Eager {
            send(Kind::Gather, level, number);
        }
    }
}
