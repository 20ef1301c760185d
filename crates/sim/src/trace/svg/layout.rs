//! Positions in the diagram, and how much fits.

use std::collections::{BTreeMap, BTreeSet};

use hustings_protocol::{Message, Record, TraceEvent};

use crate::trace::{Names, grouped, transmission};

/// The maximum number of nodes that are drawn.
pub(super) const MAX_ROWS: u32 = 128;
/// The maximum number of ticks that are drawn.
pub(super) const MAX_COLUMNS: usize = 400;
/// The maximum number of messages that are drawn.
pub(super) const MAX_ARROWS: usize = 4_000;

/// Ticks without events are shortened to this many columns.
const MAX_GAP: u64 = 3;
/// Heights above the first node. The legend is between the headline and the axis.
const HEADLINE: f64 = 34.0;
const AXIS: f64 = 30.0;
const LEGEND_LINE: f64 = 20.0;
/// The margin to the right of the last tick.
const RIGHT: f64 = 36.0;

/// The positions of everything.
#[derive(Debug)]
pub(super) struct Layout {
    /// The number of records that are drawn.
    pub(super) shown: usize,
    /// The number of nodes that are drawn.
    pub(super) rows: u32,
    /// States what is left out; empty if everything fits.
    pub(super) note: String,
    /// The column of each tick.
    columns: BTreeMap<u64, u64>,
    /// The width of a column.
    pub(super) column: f64,
    /// The height of a row.
    pub(super) row: f64,
    /// The width of the nodes' names.
    pub(super) left: f64,
}

impl Layout {
    pub(super) fn of<M: Message>(names: &Names, records: &[Record<M>]) -> Self {
        let nodes = names.positions(records);
        let rows = nodes.min(MAX_ROWS);
        let (mut ticks, mut messages, mut shown) = (BTreeSet::new(), 0, 0);
        for record in records {
            let transmission = transmission::of_record(records, record);
            let transmission = transmission.filter(|message| message.from < rows && message.to < rows);
            // Notices are not drawn, so they need no column.
            let own = (!matches!(record.what, TraceEvent::Notice { .. })).then_some(record.tick);
            let new = [own, transmission.as_ref().map(|message| message.sent)];
            let more = new.iter().flatten().filter(|tick| !ticks.contains(*tick)).count();
            messages += usize::from(transmission.is_some());
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
        let name_length = (0..rows).map(|node| names.node(node).chars().count()).max().unwrap_or(0);
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
            left: 28.0 + 7.2 * name_length as f64,
            columns,
        }
    }

    /// The ticks, each with whether the time before it is shortened.
    pub(super) fn ticks(&self) -> impl Iterator<Item = (u64, bool)> {
        let before = std::iter::once(None).chain(self.columns.keys().map(Some));
        self.columns.keys().zip(before).map(|(tick, last)| (*tick, last.is_some_and(|last| tick - last > MAX_GAP)))
    }

    /// The position of a tick.
    pub(super) fn x(&self, tick: u64) -> f64 {
        self.left + self.columns.get(&tick).map_or(0.0, |column| *column as f64 * self.column)
    }

    /// The position of a node below a legend of `legend` lines; `None` if it is not drawn.
    pub(super) fn y(&self, node: u32, legend: usize) -> Option<f64> {
        (node < self.rows).then(|| self.top(legend) + (f64::from(node) + 0.5) * self.row)
    }

    /// The top of the first node's row.
    pub(super) fn top(&self, legend: usize) -> f64 {
        self.axis(legend) + 8.0
    }

    /// The position of the tick numbers.
    pub(super) fn axis(&self, legend: usize) -> f64 {
        HEADLINE + LEGEND_LINE * legend as f64 + AXIS - 8.0
    }

    /// The position of a line of the legend.
    pub(super) fn legend(&self, line: usize) -> f64 {
        HEADLINE + LEGEND_LINE * line as f64 + 10.0
    }

    /// The right end of the nodes' lines.
    pub(super) fn right(&self) -> f64 {
        self.left + self.columns.values().last().map_or(0.0, |column| *column as f64 * self.column) + 14.0
    }

    /// The width of the diagram.
    pub(super) fn width(&self) -> f64 {
        (self.right() + RIGHT - 14.0).max(420.0)
    }

    /// The height of the diagram.
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
    fn ticks_are_evenly_spaced_and_long_gaps_are_shortened() {
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
    fn only_drawn_nodes_have_a_position() {
        let layout = Layout::of(&sample::ring_names(), &sample::ring());
        assert!(layout.y(0, 1) < layout.y(1, 1) && layout.y(2, 1).is_some());
        assert_eq!(layout.y(3, 1), None);
        assert!(layout.y(2, 1).unwrap() < layout.height(1));
    }
}
