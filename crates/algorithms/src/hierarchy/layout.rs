//! The layout of parts, levels and points on a ring.
//!
//! The layout follows from the size of the ring and is computed on demand, because the same election may be held among
//! more or fewer members. If a division is uneven, the last piece is shorter.

use super::params::{Branching, Depth, Parts};

/// The parts of a ring, numbered from 0; part 0 starts at position 0.
#[derive(Clone, Copy, Debug)]
struct Division<'a> {
    size: u32,
    /// The length of all parts but the last, unless they are listed.
    length: u32,
    /// Where each listed part ends.
    ends: Option<&'a [u32]>,
}

impl<'a> Division<'a> {
    /// The listed parts, cut to a ring of this size (the last one takes the rest); otherwise parts of this length.
    #[inline]
    fn new(size: u32, parts: &'a Parts, length: impl FnOnce() -> u64) -> Self {
        match parts.ends() {
            Some(ends) => {
                let inside = ends.partition_point(|&end| end < size);
                Division { size, length: 0, ends: Some(&ends[..inside.min(ends.len() - 1)]) }
            }
            None => Division { size, length: length().clamp(1, u64::from(size.max(1))) as u32, ends: None },
        }
    }

    #[inline]
    fn count(&self) -> u32 {
        match self.ends {
            Some(ends) => ends.len() as u32 + 1,
            None => self.size.div_ceil(self.length),
        }
    }

    /// The start of a part; past the last part, position 0.
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

    /// The end of a part, exclusive; it may be the size of the ring.
    #[inline]
    fn end(&self, part: u32) -> u32 {
        match self.start(u64::from(part) + 1) {
            0 => self.size,
            start => start,
        }
    }

    /// The part of a position, and the offset in it.
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
    division: Division<'a>,
    branching: Branching,
    /// The number of levels.
    pub(super) top: u32,
}

impl<'a> Levels<'a> {
    #[inline]
    pub(super) fn new(size: u32, branching: Branching, depth: Depth, parts: &'a Parts) -> Self {
        let division = Division::new(size, parts, || branching.get().into());
        let most = || if size > branching.get() { 1 + branching.divisions(division.count()) } else { 0 };
        let top = 1 + depth.times(most).min(MAX_LEVELS - 1);
        Levels { division, branching, top }
    }

    /// The highest level that a position is on.
    #[inline]
    pub(super) fn height(&self, position: u32) -> u32 {
        if self.top == 1 {
            return 1;
        }
        match self.division.find(position) {
            (part, 0) => 2 + self.branching.multiplicity(part, self.top - 2),
            _ => 1,
        }
    }

    /// The next position on a level, from a position on it. On level 1 that is the neighbour.
    #[inline]
    pub(super) fn next(&self, position: u32, level: u32) -> u32 {
        if level < 2 {
            return (position + 1) % self.division.size;
        }
        let (part, _) = self.division.find(position);
        self.division.start(u64::from(part).saturating_add(self.branching.power(level - 2)))
    }

    /// How many positions are on a level.
    pub(super) fn length(&self, level: u32) -> u64 {
        match level {
            0 | 1 => self.division.size.into(),
            _ => u64::from(self.division.count()).div_ceil(self.branching.power(level - 2)),
        }
    }

    /// The number of steps from a position to the top level.
    pub(super) fn climb(&self, mut position: u32) -> u64 {
        let mut steps = 0;
        while self.height(position) < self.top {
            position = self.next(position, self.height(position));
            steps += 1;
        }
        steps
    }
}

/// The greatest number of levels: a bit mask of 32 bits holds one bit for each, and even a division by two ends earlier
/// on any ring that fits in memory.
const MAX_LEVELS: u32 = 31;

/// The points of divided on a ring of some size, and the levels inside its parts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Points<'a> {
    division: Division<'a>,
    branching: Branching,
    /// The number of divisions; 0: there are no points.
    pub(super) depth: u32,
    /// The number of levels in a part, at least 1; points are above all of them.
    pub(super) levels: u32,
}

/// A point, the start of a part.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct Point {
    /// The number of its part.
    part: u32,
    /// The number of divisions that it belongs to: 1 for the last only, up to all for top points.
    height: u32,
}

impl<'a> Points<'a> {
    /// `inner` is the number of additional divisions of each part, as in sun.
    #[inline]
    pub(super) fn new(size: u32, branching: Branching, depth: Depth, inner: Option<Depth>, parts: &'a Parts) -> Self {
        let whole = || branching.divisions(size);
        let division = Division::new(size, parts, || u64::from(size).div_ceil(branching.power(depth.times(whole))));
        let depth = depth.times(|| match parts.ends() {
            Some(_) => 1 + branching.divisions(division.count()),
            None => whole(),
        });
        let deepest = || branching.divisions(division.longest());
        let levels = 1 + inner.map_or(0, |inner| inner.times(deepest)).min(MAX_LEVELS - 2);
        Points { division, branching, depth, levels }
    }

    /// The point at a position, if there is one.
    #[inline]
    pub(super) fn at(&self, position: u32) -> Option<Point> {
        match self.division.find(position) {
            (part, 0) if self.depth > 0 => Some(self.point(part)),
            _ => None,
        }
    }

    /// The level of a position: 1 on the plain ring, one more for each division that it is a point of.
    pub(super) fn level(&self, position: u32) -> u32 {
        self.at(position).map_or(1, |point| 1 + point.height)
    }

    #[inline]
    fn point(&self, part: u32) -> Point {
        Point { part, height: 1 + self.branching.multiplicity(part, self.depth - 1) }
    }

    /// The position of a point.
    pub(super) fn position(&self, point: Point) -> u32 {
        self.division.start(point.part.into())
    }

    /// How many points.
    pub(super) fn count(&self) -> u32 {
        if self.depth == 0 { 0 } else { self.division.count() }
    }

    /// Whether it is in contact with the informer.
    #[inline]
    pub(super) fn is_top(&self, point: Point) -> bool {
        point.height == self.depth
    }

    /// The top points, ascending.
    pub(super) fn tops(&self) -> impl Iterator<Item = Point> + use<'_, 'a> {
        let apart = self.branching.power(self.depth.saturating_sub(1)).min(u64::from(u32::MAX)) as usize;
        (0..self.count()).step_by(apart).map(|part| self.point(part))
    }

    /// The sub-points of a point, ascending.
    pub(super) fn below(&self, point: Point) -> impl Iterator<Item = Point> + use<'_, 'a> {
        let strides = (1..point.height).map(|height| self.branching.power(height - 1));
        let parts = strides.flat_map(|stride| (1..u64::from(self.branching.get())).map(move |nth| nth * stride));
        let parts = parts.map(move |away| u64::from(point.part) + away);
        parts.take_while(|&part| part < self.count().into()).map(|part| self.point(part as u32))
    }

    /// The point above this one; `None` for top points.
    pub(super) fn above(&self, point: Point) -> Option<Point> {
        let apart = self.branching.power(point.height);
        (!self.is_top(point)).then(|| self.point((u64::from(point.part) / apart * apart) as u32))
    }

    /// The number of points that hand on a message from the informer before it reaches this one.
    pub(super) fn handed_on(&self, point: Point) -> u32 {
        core::iter::successors(self.above(point), |above| self.above(*above)).count() as u32
    }

    /// The point before this one on the ring.
    pub(super) fn before(&self, point: Point) -> Point {
        self.point(point.part.checked_sub(1).unwrap_or(self.count() - 1))
    }

    /// The point after this one on the ring.
    pub(super) fn after(&self, point: Point) -> Point {
        self.point(if point.part + 1 < self.count() { point.part + 1 } else { 0 })
    }

    /// The number of clockwise hops between two positions; a whole lap from a position to itself.
    #[inline]
    pub(super) fn hops(&self, from: u32, to: u32) -> u32 {
        if from < to { to - from } else { to + self.division.size.saturating_sub(from) }
    }

    /// Whether the way between two positions contains a point, including its start.
    #[inline]
    pub(super) fn has_met_a_point(&self, from: u32, to: u32) -> bool {
        if self.depth == 0 {
            return false;
        }
        let (part, offset) = self.division.find(to);
        let back = if offset > 0 { offset } else { self.hops(self.position(self.before(self.point(part))), to) };
        self.hops(from, to) >= back
    }

    /// The highest level of a position within its part; points are above the last level.
    #[inline]
    pub(super) fn height(&self, position: u32) -> u32 {
        match self.division.find(position) {
            (_, 0) => self.levels + 1,
            (_, offset) => 1 + self.branching.multiplicity(offset, self.levels - 1),
        }
    }

    /// The next position on a level of a part; all levels end at the next point.
    #[inline]
    pub(super) fn next(&self, position: u32, level: u32) -> u32 {
        let (part, _) = self.division.find(position);
        let next = u64::from(position).saturating_add(self.branching.power(level.max(1) - 1));
        let end = self.division.end(part);
        let next = if next < u64::from(end) { next as u32 } else { end };
        if next == self.division.size { 0 } else { next }
    }

    /// The number of steps on a level, in all parts together.
    pub(super) fn length(&self, level: u32) -> u64 {
        let step = self.branching.power(level.max(1) - 1);
        let lengths = (0..self.division.count()).map(|part| self.division.end(part) - self.division.start(part.into()));
        lengths.map(|length| u64::from(length).div_ceil(step)).sum()
    }

    /// The hops from a position to the next point and to the next top point; 0 from a point itself.
    pub(super) fn ahead(&self, position: u32) -> Option<(u32, u32)> {
        let (part, offset) = self.division.find(position);
        if self.depth == 0 {
            return None;
        }
        let first = part + u32::from(offset > 0);
        let apart = self.branching.power(self.depth - 1);
        let hops_to = |part: u64| match self.division.start(part) {
            start if start == position => 0,
            start => self.hops(position, start),
        };
        Some((hops_to(first.into()), hops_to(u64::from(first).div_ceil(apart) * apart)))
    }
}

#[cfg(test)]
#[path = "layout_tests.rs"]
mod tests;
