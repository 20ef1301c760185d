//! Draws a small ring: position 0 on top, then clockwise; the leader has a star, and nodes that are down are crossed
//! out.

use std::collections::BTreeSet;
use std::f64::consts::TAU;

use hustings_sim::scenario::{FaultKind, Scenario};
use hustings_sim::topology::Network;

use super::Report;
use crate::cli::console::Paint;

/// The maximum size of a ring that is drawn.
const MAX_NODES: u32 = 16;
/// The maximum length of a node's name.
const MAX_DIGITS: usize = 6;

/// The picture, if the network is a ring that is small enough.
pub(crate) fn draw(report: &Report<'_>, colour: bool) -> Option<String> {
    let (Network::Ring(size) | Network::InformedRing(size)) = report.scenario.network else { return None };
    let names: Vec<String> = (0..size.min(MAX_NODES + 1))
        .map(|at| report.id(at).map_or_else(|| at.to_string(), |id| id.to_string()))
        .collect();
    if !(2..=MAX_NODES).contains(&size) || names.iter().any(|name| name.len() > MAX_DIGITS) {
        return None;
    }
    let down = down_at_the_end(report.scenario);
    let mut canvas = Canvas::new(size);
    for (at, name) in (0..).zip(&names) {
        let (mark, paint) = if down.contains(&at) {
            ("✗", Some(Paint::Faint))
        } else if report.outcome.leaders.contains(&at) {
            ("★", Some(Paint::Good))
        } else {
            ("", None)
        };
        canvas.place(f64::from(at) / f64::from(size), &format!("{mark}{name}"), paint);
    }
    Some(canvas.render(colour))
}

/// The positions that are down after the last fault.
fn down_at_the_end(scenario: &Scenario) -> BTreeSet<u32> {
    let joining = scenario.faults.iter().filter_map(|fault| match fault.what {
        FaultKind::Join(at) => Some(at),
        _ => None,
    });
    let mut down: BTreeSet<u32> = joining.collect();
    for fault in &scenario.faults {
        match fault.what {
            FaultKind::Crash(at) | FaultKind::Retire(at) => _ = down.insert(at),
            FaultKind::Recover(at) | FaultKind::Join(at) => _ = down.remove(&at),
            FaultKind::Cut(..) | FaultKind::Heal(..) | FaultKind::HealAll | FaultKind::Partition(_) => {}
        }
    }
    down
}

/// A grid of characters around a circle; a character is about twice as high as it is wide.
struct Canvas {
    cells: Vec<Vec<(char, Option<Paint>)>>,
    radius: f64,
}

const MARGIN: f64 = 4.0;

impl Canvas {
    fn new(nodes: u32) -> Self {
        let radius = f64::from(nodes.div_ceil(4) + 1);
        let (rows, columns) = (2.0 * radius + 1.0, 4.0 * radius + 2.0 * MARGIN + 1.0);
        let mut canvas = Canvas { cells: vec![vec![(' ', None); columns as usize]; rows as usize], radius };
        let dots = nodes * 4;
        for dot in 0..dots {
            let (row, column) = canvas.cell(f64::from(dot) / f64::from(dots));
            canvas.put(row, column, '·', Some(Paint::Faint));
        }
        canvas
    }

    /// The cell at a fraction of the circle, clockwise from the top.
    fn cell(&self, turn: f64) -> (usize, usize) {
        let (sine, cosine) = (turn * TAU).sin_cos();
        let row = (self.radius - self.radius * cosine).round();
        let column = (MARGIN + 2.0 * self.radius + 2.0 * self.radius * sine).round();
        (row as usize, column as usize)
    }

    fn put(&mut self, row: usize, column: usize, sign: char, paint: Option<Paint>) {
        if let Some(cell) = self.cells.get_mut(row).and_then(|row| row.get_mut(column)) {
            *cell = (sign, paint);
        }
    }

    fn place(&mut self, turn: f64, name: &str, paint: Option<Paint>) {
        let (row, centre) = self.cell(turn);
        let left = centre.saturating_sub(name.chars().count() / 2);
        for (offset, sign) in name.chars().enumerate() {
            self.put(row, left + offset, sign, paint);
        }
    }

    fn render(&self, colour: bool) -> String {
        let mut text = String::new();
        for row in &self.cells {
            let last = row.iter().rposition(|(sign, _)| *sign != ' ').map_or(0, |last| last + 1);
            for (sign, paint) in &row[..last] {
                match paint {
                    Some(paint) => text += &paint.on(sign.encode_utf8(&mut [0; 4]), colour),
                    None => text.push(*sign),
                }
            }
            text.push('\n');
        }
        text
    }
}
