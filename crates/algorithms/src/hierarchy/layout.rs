//! Where the parts, levels and points of a ring are.
//!
//! Everything follows from the size of the ring and is worked out anew whenever it is asked for, because the same
//! election may be held among more or fewer members. Where a division does not come out even, the last piece is
//! shorter.

use super::params::{Depth, Fan, Parts};

/// The parts of a ring, numbered from 0; part 0 starts at position 0.
#[derive(Clone, Copy, Debug)]
struct Cuts<'a> {
    size: u32,
    /// The length of all parts but the last, unless they are listed.
    length: u32,
    /// Where each listed part ends.
    ends: Option<&'a [u32]>,
}

impl<'a> Cuts<'a> {
    /// The listed parts, as far as they are on a ring of this size (what is left over belongs to the last one); else
    /// parts of this length.
    #[inline]
    fn new(size: u32, parts: &'a Parts, length: impl FnOnce() -> u64) -> Self {
        match parts.ends() {
            Some(ends) => {
                let inside = ends.partition_point(|&end| end < size);
                Cuts { size, length: 0, ends: Some(&ends[..inside.min(ends.len() - 1)]) }
            }
            None => Cuts { size, length: length().clamp(1, u64::from(size.max(1))) as u32, ends: None },
        }
    }

    #[inline]
    fn count(&self) -> u32 {
        match self.ends {
            Some(ends) => ends.len() as u32 + 1,
            None => self.size.div_ceil(self.length),
        }
    }

    /// Where a part starts; after the last one the ring is closed.
    #[inline]
    fn start(&self, part: u64) -> u32 {
        if part == 0 || part >= u64::from(self.count()) {
            return 0;
        }
        match self.ends {
            Some(ends) => ends[part as usize - 1],
            None => part as u32 * self.length,
        }
    }

    /// Where a part ends: the position after its last, which may be the size of the ring.
    #[inline]
    fn end(&self, part: u32) -> u32 {
        match self.start(u64::from(part) + 1) {
            0 => self.size,
            start => start,
        }
    }

    /// The part of a position, and how far it is from its start.
    #[inline]
    fn find(&self, position: u32) -> (u32, u32) {
        match self.ends {
            Some(ends) => {
                let part = ends.partition_point(|&end| end <= position);
                (part as u32, position - self.start(part as u64))
            }
            None => (position / self.length, position % self.length),
        }
    }

    /// The length of the longest part.
    fn longest(&self) -> u32 {
        match self.ends {
            Some(_) => (0..self.count()).map(|part| self.end(part) - self.start(part.into())).max().unwrap_or(0),
            None => self.length,
        }
    }
}

/// The levels of sun on a ring of some size. Level 1 is the ring itself.
#[derive(Clone, Copy, Debug)]
pub(super) struct Levels<'a> {
    cuts: Cuts<'a>,
    fan: Fan,
    /// How many levels.
    pub(super) top: u32,
}

impl<'a> Levels<'a> {
    #[inline]
    pub(super) fn new(size: u32, fan: Fan, depth: Depth, parts: &'a Parts) -> Self {
        let cuts = Cuts::new(size, parts, || fan.get().into());
        let most = || if size > fan.get() { 1 + fan.divisions(cuts.count()) } else { 0 };
        let top = 1 + depth.times(most).min(MAX_LEVELS - 1);
        Levels { cuts, fan, top }
    }

    /// The highest level that a position is on.
    #[inline]
    pub(super) fn height(&self, position: u32) -> u32 {
        if self.top == 1 {
            return 1;
        }
        match self.cuts.find(position) {
            (part, 0) => 2 + self.fan.rungs(part, self.top - 2),
            _ => 1,
        }
    }

    /// The next position on a level, from one that is on it. (On level 1 that is the neighbour.)
    #[inline]
    pub(super) fn next(&self, position: u32, level: u32) -> u32 {
        if level < 2 {
            return (position + 1) % self.cuts.size;
        }
        let (part, _) = self.cuts.find(position);
        self.cuts.start(u64::from(part).saturating_add(self.fan.power(level - 2)))
    }

    /// How many positions are on a level.
    pub(super) fn length(&self, level: u32) -> u64 {
        match level {
            0 | 1 => self.cuts.size.into(),
            _ => u64::from(self.cuts.count()).div_ceil(self.fan.power(level - 2)),
        }
    }

    /// How many steps lead from a position to the top.
    pub(super) fn climb(&self, mut position: u32) -> u64 {
        let mut steps = 0;
        while self.height(position) < self.top {
            position = self.next(position, self.height(position));
            steps += 1;
        }
        steps
    }
}

/// The most levels there can be: a bit for each fits in 32, and even a division by two comes to an end before on any
/// ring that fits in memory.
const MAX_LEVELS: u32 = 31;

/// The points of divided on a ring of some size, and the levels inside its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points<'a> {
    cuts: Cuts<'a>,
    fan: Fan,
    /// How often the ring is divided; 0 means that there are no points.
    pub(super) depth: u32,
    /// How many levels a part has, 1 or more; the points that end it are above all of them.
    pub(super) levels: u32,
}

/// A point: where a part starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Point {
    /// The number of its part.
    part: u32,
    /// How many divisions it belongs to: the last one only, 1; up to that of the top points, all.
    height: u32,
}

impl<'a> Points<'a> {
    /// `inner`: how often each part is divided once more, as sun divides a ring.
    #[inline]
    pub(super) fn new(size: u32, fan: Fan, depth: Depth, inner: Option<Depth>, parts: &'a Parts) -> Self {
        let whole = || fan.divisions(size);
        let cuts = Cuts::new(size, parts, || u64::from(size).div_ceil(fan.power(depth.times(whole))));
        let depth = depth.times(|| match parts.ends() {
            Some(_) => 1 + fan.divisions(cuts.count()),
            None => whole(),
        });
        let deepest = || fan.divisions(cuts.longest());
        let levels = 1 + inner.map_or(0, |inner| inner.times(deepest)).min(MAX_LEVELS - 2);
        Points { cuts, fan, depth, levels }
    }

    /// The point at a position, if there is one.
    #[inline]
    pub(super) fn at(&self, position: u32) -> Option<Point> {
        match self.cuts.find(position) {
            (part, 0) if self.depth > 0 => Some(self.point(part)),
            _ => None,
        }
    }

    #[inline]
    fn point(&self, part: u32) -> Point {
        Point { part, height: 1 + self.fan.rungs(part, self.depth - 1) }
    }

    /// The position of a point.
    pub(super) fn position(&self, point: Point) -> u32 {
        self.cuts.start(point.part.into())
    }

    /// How many points.
    pub(super) fn count(&self) -> u32 {
        if self.depth == 0 { 0 } else { self.cuts.count() }
    }

    /// Whether the informer is in contact with it.
    #[inline]
    pub(super) fn is_top(&self, point: Point) -> bool {
        point.height == self.depth
    }

    /// The top points, ascending.
    pub(super) fn tops(&self) -> impl Iterator<Item = Point> + use<'_, 'a> {
        let apart = self.fan.power(self.depth.saturating_sub(1)).min(u64::from(u32::MAX)) as usize;
        (0..self.count()).step_by(apart).map(|part| self.point(part))
    }

    /// The points to which one hands on what comes from the informer, ascending.
    pub(super) fn below(&self, point: Point) -> impl Iterator<Item = Point> + use<'_, 'a> {
        let strides = (1..point.height).map(|height| self.fan.power(height - 1));
        let parts = strides.flat_map(|stride| (1..u64::from(self.fan.get())).map(move |nth| nth * stride));
        let parts = parts.map(move |away| u64::from(point.part) + away);
        parts.take_while(|&part| part < self.count().into()).map(|part| self.point(part as u32))
    }

    /// The point that hands on to this one what comes from the informer; `None` for top points.
    pub(super) fn above(&self, point: Point) -> Option<Point> {
        let apart = self.fan.power(point.height);
        (!self.is_top(point)).then(|| self.point((u64::from(point.part) / apart * apart) as u32))
    }

    /// How often what comes from the informer is handed on until it is at this point.
    pub(super) fn handed_on(&self, point: Point) -> u32 {
        core::iter::successors(self.above(point), |above| self.above(*above)).count() as u32
    }

    /// The point before this one on the ring.
    pub(super) fn before(&self, point: Point) -> Point {
        self.point(point.part.checked_sub(1).unwrap_or(self.count() - 1))
    }

    /// How many hops clockwise from one position to another; all the way round from a position to itself.
    #[inline]
    pub(super) fn hops(&self, from: u32, to: u32) -> u32 {
        if from < to { to - from } else { to + self.cuts.size.saturating_sub(from) }
    }

    /// Whether what went round from one position to another has met a point, its own start included.
    #[inline]
    pub(super) fn has_met_a_point(&self, from: u32, to: u32) -> bool {
        if self.depth == 0 {
            return false;
        }
        let (part, offset) = self.cuts.find(to);
        let back = if offset > 0 { offset } else { self.hops(self.position(self.before(self.point(part))), to) };
        self.hops(from, to) >= back
    }

    /// The highest level of its part that a position is on; points are above the last one.
    #[inline]
    pub(super) fn height(&self, position: u32) -> u32 {
        match self.cuts.find(position) {
            (_, 0) => self.levels + 1,
            (_, offset) => 1 + self.fan.rungs(offset, self.levels - 1),
        }
    }

    /// The next position on a level of a part; the point after it ends them all.
    #[inline]
    pub(super) fn next(&self, position: u32, level: u32) -> u32 {
        let (part, _) = self.cuts.find(position);
        let next = u64::from(position).saturating_add(self.fan.power(level.max(1) - 1));
        let end = self.cuts.end(part);
        let next = if next < u64::from(end) { next as u32 } else { end };
        if next == self.cuts.size { 0 } else { next }
    }

    /// How many steps there are on a level, in all parts together.
    pub(super) fn length(&self, level: u32) -> u64 {
        let step = self.fan.power(level.max(1) - 1);
        let lengths = (0..self.cuts.count()).map(|part| self.cuts.end(part) - self.cuts.start(part.into()));
        lengths.map(|length| u64::from(length).div_ceil(step)).sum()
    }

    /// The hops from a position to the next point, and to the next top point: none from a point itself.
    pub(super) fn ahead(&self, position: u32) -> Option<(u32, u32)> {
        let (part, offset) = self.cuts.find(position);
        if self.depth == 0 {
            return None;
        }
        let first = part + u32::from(offset > 0);
        let apart = self.fan.power(self.depth - 1);
        let hops_to = |part: u64| match self.cuts.start(part) {
            start if start == position => 0,
            start => self.hops(position, start),
        };
        Some((hops_to(first.into()), hops_to(u64::from(first).div_ceil(apart) * apart)))
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
