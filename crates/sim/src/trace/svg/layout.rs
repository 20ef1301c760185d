//! Where everything goes, and how much fits.

use std::collections::{BTreeMap, BTreeSet};

use hustings_protocol::{Message, Record, TraceEvent};

use crate::trace::{Names, arrows, grouped};

/// The most nodes that get a line.
pub const MAX_ROWS: u32 = 128;
/// The most ticks that get a column.
pub const MAX_COLUMNS: usize = 400;
/// The most messages that are drawn.
pub const MAX_ARROWS: usize = 4_000;

/// Quiet stretches longer than this many columns are shortened to it.
const MAX_GAP: u64 = 3;
/// Above the first node: headline and axis; the legend comes between.
const HEADLINE: f64 = 34.0;
const AXIS: f64 = 30.0;
const LEGEND_LINE: f64 = 20.0;
/// To the right of the last tick.
const RIGHT: f64 = 36.0;

/// Where everything goes.
#[derive(Debug)]
pub(super) struct Layout {
    /// How many records are drawn.
    pub(super) shown: usize,
    /// How many nodes are drawn.
    pub(super) rows: u32,
    /// What does not fit, in words; empty if all does.
    pub(super) note: String,
    /// Where each tick is, in columns.
    columns: BTreeMap<u64, u64>,
    /// How wide a column is.
    pub(super) column: f64,
    /// How high a row is.
    pub(super) row: f64,
    /// How wide the names of the nodes are.
    pub(super) left: f64,
}

impl Layout {
    pub(super) fn of<M: Message>(names: &Names, records: &[Record<M>]) -> Self {
        let nodes = names.positions(records);
        let rows = nodes.min(MAX_ROWS);
        let (mut ticks, mut messages, mut shown) = (BTreeSet::new(), 0, 0);
        for record in records {
            let arrow = arrows::arrow(records, record).filter(|arrow| arrow.from < rows && arrow.to < rows);
            // What is not drawn needs no room.
            let own = (!matches!(record.what, TraceEvent::Notice { .. })).then_some(record.tick);
            let new = [own, arrow.as_ref().map(|arrow| arrow.sent)];
            let more = new.iter().flatten().filter(|tick| !ticks.contains(*tick)).count();
            messages += usize::from(arrow.is_some());
            if ticks.len() + more > MAX_COLUMNS || messages > MAX_ARROWS {
                break;
            }
            ticks.extend(new.into_iter().flatten());
            shown += 1;
        }
        let (mut columns, mut last, mut at) = (BTreeMap::new(), None::<u64>, 0);
        for tick in ticks {
            at += last.map_or(0, |last| (tick - last).min(MAX_GAP));
            last = Some(tick);
            columns.insert(tick, at);
        }
        let letters = (0..rows).map(|node| names.node(node).chars().count()).max().unwrap_or(0);
        Layout {
            shown,
            rows,
            note: note(shown, records.len(), rows, nodes),
            column: match at {
                0..=24 => 54.0,
                25..=60 => 36.0,
                61..=150 => 22.0,
                _ => 12.0,
            },
            row: match rows {
                0..=12 => 58.0,
                13..=32 => 36.0,
                _ => 20.0,
            },
            left: 28.0 + 7.2 * letters as f64,
            columns,
        }
    }

    /// The ticks, and whether a stretch before it was shortened.
    pub(super) fn ticks(&self) -> impl Iterator<Item = (u64, bool)> {
        let before = std::iter::once(None).chain(self.columns.keys().map(Some));
        self.columns.keys().zip(before).map(|(tick, last)| (*tick, last.is_some_and(|last| tick - last > MAX_GAP)))
    }

    /// Where a tick is.
    pub(super) fn x(&self, tick: u64) -> f64 {
        self.left + self.columns.get(&tick).map_or(0.0, |column| *column as f64 * self.column)
    }

    /// Where a node is, below a legend of so many lines; none if it is not drawn.
    pub(super) fn y(&self, node: u32, legend: usize) -> Option<f64> {
        (node < self.rows).then(|| self.top(legend) + (f64::from(node) + 0.5) * self.row)
    }

    /// Where the nodes begin.
    pub(super) fn top(&self, legend: usize) -> f64 {
        self.axis(legend) + 8.0
    }

    /// Where the numbers of the ticks stand.
    pub(super) fn axis(&self, legend: usize) -> f64 {
        HEADLINE + LEGEND_LINE * legend as f64 + AXIS - 8.0
    }

    /// Where a line of the legend stands.
    pub(super) fn legend(&self, line: usize) -> f64 {
        HEADLINE + LEGEND_LINE * line as f64 + 10.0
    }

    /// Where the nodes' lines end.
    pub(super) fn right(&self) -> f64 {
        self.left + self.columns.values().last().map_or(0.0, |column| *column as f64 * self.column) + 14.0
    }

    /// The whole picture's width.
    pub(super) fn width(&self) -> f64 {
        (self.right() + RIGHT - 14.0).max(420.0)
    }

    /// The whole picture's height.
    pub(super) fn height(&self, legend: usize) -> f64 {
        let note = if self.note.is_empty() { 0.0 } else { 22.0 };
        self.top(legend) + f64::from(self.rows) * self.row + 8.0 + note
    }
}

fn note(shown: usize, records: usize, rows: u32, nodes: u32) -> String {
    let mut parts = Vec::new();
    if shown < records {
        parts.push(format!("the first {} of {} records", grouped(shown as u64), grouped(records as u64)));
    }
    if rows < nodes {
        parts.push(format!("the first {} of {} nodes", grouped(rows), grouped(nodes)));
    }
    if parts.is_empty() { String::new() } else { format!("Shown: {}.", parts.join(", ")) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::trace::sample;

    #[test]
    fn ticks_are_even_but_long_silence_is_shortened() {
        let mut records = sample::ring();
        let last = records.len() - 1;
        records[last].tick = 1_000;
        let layout = Layout::of(&sample::ring_names(), &records);
        assert_eq!(layout.x(3) - layout.x(2), layout.column);
        assert_eq!(layout.x(1_000) - layout.x(5), layout.column * MAX_GAP as f64);
        assert_eq!(
            layout.ticks().filter(|(_, shortened)| *shortened).map(|(tick, _)| tick).collect::<Vec<_>>(),
            [1_000]
        );
    }

    #[test]
    fn nodes_below_each_other_and_none_beyond_the_last_row() {
        let layout = Layout::of(&sample::ring_names(), &sample::ring());
        assert!(layout.y(0, 1) < layout.y(1, 1) && layout.y(2, 1).is_some());
        assert_eq!(layout.y(3, 1), None);
        assert!(layout.y(2, 1).unwrap() < layout.height(1));
    }
}
