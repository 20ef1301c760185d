//! `geometric:R`: points in the unit square, linked wherever they are at most R apart: radio nodes in the field.
//!
//! How: the square is cut into c×c cells, c² ≤ n, none smaller than R. A snake (left to right, then right to left, row
//! by row) numbers the cells, and the positions are dealt out to them in order, evenly: so points near each other have
//! near positions. A point lies anywhere in its cell, as (seed, position) says. Whoever is within R is in the same cell
//! or one of the eight around it, so a range looks no further. Two positions that follow each other are linked even if
//! they are more than R apart: that connects the graph whatever R is. They are at most √5 cells apart.
//!
//! Guarantee: simple, connected, every pair within R linked, no other pair linked but consecutive positions.

use std::ops::Range;

use super::generator::Generator;
use crate::rng::{Purpose, Stream, hash};

/// Points in the making.
#[derive(Clone, PartialEq, Debug)]
pub(super) struct Geometric {
    size: u32,
    radius: f64,
    /// How many cells a row and a column have.
    side: u64,
    key: u64,
}

/// A position and where it lies.
type Point = (u32, f64, f64);

impl Geometric {
    /// `radius` is above 0.
    pub(super) fn new(size: u32, radius: f64, seed: u64) -> Self {
        let side = ((1.0 / radius) as u64).clamp(1, u64::from(size).isqrt().max(1));
        Geometric { size, radius, side, key: Stream::new(seed, Purpose::Topology, 0).next_u64() }
    }

    fn cell_of(&self, position: u32) -> u64 {
        u64::from(position) * self.side * self.side / u64::from(self.size)
    }

    /// The positions in a cell.
    fn members(&self, cell: u64) -> Range<u32> {
        let first = |cell: u64| (cell * u64::from(self.size)).div_ceil(self.side * self.side) as u32;
        first(cell)..first(cell + 1)
    }

    /// Row and column of a cell; the snake turns at the end of each row, so this is its own inverse.
    fn place(&self, cell: u64) -> (u64, u64) {
        let (row, column) = (cell / self.side, cell % self.side);
        (row, if row.is_multiple_of(2) { column } else { self.side - 1 - column })
    }

    fn cell_at(&self, row: u64, column: u64) -> u64 {
        let (row, column) = self.place(row * self.side + column);
        row * self.side + column
    }

    /// Adds the points of a cell.
    fn points(&self, cell: u64, points: &mut Vec<Point>) {
        let (row, column) = self.place(cell);
        let within = |start: u64, bits: u64| (start as f64 + bits as f64 / (1u64 << 32) as f64) / self.side as f64;
        points.extend(self.members(cell).map(|position| {
            let bits = hash(self.key, position.into(), 0);
            (position, within(column, bits >> 32), within(row, bits & u64::from(u32::MAX)))
        }));
    }

    /// Sets the points of a cell and of those around it that follow in the snake.
    fn points_from(&self, cell: u64, points: &mut Vec<Point>) {
        points.clear();
        self.points(cell, points);
        let (row, column) = self.place(cell);
        for near_row in row.saturating_sub(1)..(row + 2).min(self.side) {
            for near_column in column.saturating_sub(1)..(column + 2).min(self.side) {
                let near = self.cell_at(near_row, near_column);
                if near > cell {
                    self.points(near, points);
                }
            }
        }
    }
}

impl Generator for Geometric {
    fn size(&self) -> u32 {
        self.size
    }

    fn links(&self, own: Range<u32>, emit: &mut dyn FnMut(u32, u32)) {
        if own.is_empty() {
            return;
        }
        let reach = self.radius * self.radius;
        let mut points = Vec::new();
        for cell in self.cell_of(own.start)..=self.cell_of(own.end - 1) {
            self.points_from(cell, &mut points);
            let members = self.members(cell);
            for at in members.start.max(own.start)..members.end.min(own.end) {
                let place = (at - members.start) as usize;
                let (_, x, y) = points[place];
                for &(other, other_x, other_y) in &points[place + 1..] {
                    let (across, down) = (other_x - x, other_y - y);
                    if across * across + down * down <= reach || other == at + 1 {
                        emit(at, other);
                    }
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_just_those_within_the_radius() {
        for (size, radius) in [(1, 0.1), (2, 0.001), (50, 0.3), (300, 0.11), (300, 0.02), (40, 1.4), (200, 0.5)] {
            let field = Geometric::new(size, radius, 7);
            let mut points = Vec::new();
            (0..field.side * field.side).for_each(|cell| field.points(cell, &mut points));
            assert!(points.iter().enumerate().all(|(at, point)| point.0 == at as u32));
            let mut expected = Vec::new();
            for (at, a) in points.iter().enumerate() {
                for b in &points[at + 1..] {
                    if (a.1 - b.1).hypot(a.2 - b.2) <= radius || b.0 == a.0 + 1 {
                        expected.push((a.0, b.0));
                    }
                }
            }
            let mut links = Vec::new();
            field.links(0..size, &mut |from, to| links.push((from, to)));
            links.sort_unstable();
            assert_eq!(links, expected, "{size} points, radius {radius}");
        }
    }

    #[test]
    fn consecutive_positions_are_near() {
        for (size, radius) in [(1_000, 0.05), (100, 0.001), (37, 0.2)] {
            let field = Geometric::new(size, radius, 2);
            let mut points = Vec::new();
            (0..field.side * field.side).for_each(|cell| field.points(cell, &mut points));
            for pair in points.windows(2) {
                let apart = (pair[0].1 - pair[1].1).hypot(pair[0].2 - pair[1].2);
                assert!(apart <= 5f64.sqrt() / field.side as f64, "{pair:?}");
            }
        }
    }
}
