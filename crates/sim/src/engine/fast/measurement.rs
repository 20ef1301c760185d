//! What the fast engine measures besides counts by kind and election times, which it always measures: bytes, load and
//! collisions.
//!
//! Whether it does is a constant parameter of the engine, `FULL`, so that what is off costs nothing. A counter per node
//! is too expensive for the largest runs.

use hustings_protocol::Message;

use crate::engine::encoded_len;
use crate::outcome::{Collisions, Load};

/// The measurements of a range of positions.
pub(super) struct LoadMeter {
    pub(super) bytes: u64,
    handled: Vec<u64>,
    /// `max` is 0 until two messages meet. Whether any message arrived follows from `handled`.
    collisions: Collisions,
    first: u32,
    /// The node whose inbox is being read, and how many of its messages have been read in this tick.
    inbox: (u32, u64),
}

impl LoadMeter {
    pub(super) fn new<const FULL: bool>(range: std::ops::Range<u32>) -> Self {
        LoadMeter {
            bytes: 0,
            handled: if FULL { vec![0; range.len()] } else { Vec::new() },
            collisions: Collisions::default(),
            first: range.start,
            inbox: (u32::MAX, 0),
        }
    }

    pub(super) fn memory(&self) -> usize {
        self.handled.len() * size_of::<u64>()
    }

    #[inline(always)]
    pub(super) fn sent<M: Message>(&mut self, message: &M, copies: u64) {
        self.bytes += encoded_len(message) * copies;
    }

    #[inline(always)]
    pub(super) fn delivered(&mut self, node: u32) {
        self.handled[(node - self.first) as usize] += 1;
        if self.inbox.0 == node {
            self.inbox.1 += 1;
            self.collisions.total += 1;
            self.collisions.max = self.collisions.max.max(self.inbox.1);
        } else {
            self.inbox = (node, 1);
        }
    }

    #[inline(always)]
    pub(super) fn end_of_tick(&mut self) {
        self.inbox.0 = u32::MAX;
    }
}

/// Sums the measurements of all ranges. An outside informer, which comes after the members, has no load.
pub(super) fn summary(load_meters: &[&LoadMeter], members: u32) -> (u64, Load, Collisions) {
    let bytes = load_meters.iter().map(|load_meter| load_meter.bytes).sum();
    let handled = load_meters.iter().flat_map(|load_meter| load_meter.handled.iter().copied());
    let alone = u64::from(handled.clone().any(|messages| messages > 0));
    let load = Load::of(handled.take(members as usize), members);
    let collisions = Collisions {
        total: load_meters.iter().map(|load_meter| load_meter.collisions.total).sum(),
        max: load_meters.iter().map(|load_meter| load_meter.collisions.max).fold(alone, u64::max),
    };
    (bytes, load, collisions)
}
