//! Marks on the lines of nodes, and the terms between them.

use std::collections::BTreeMap;

use hustings_cluster::api::TraceEvent;
use hustings_text::svg::Element;

use super::labels::Labels;
use super::shapes::Shape;
use super::{BAD, Drawing, GOLD, INK, MarkKind, PAPER, text};
use crate::milliseconds;

/// A mark with its place.
pub(super) struct PlacedMark<'a> {
    pub(super) row: usize,
    pub(super) x: f64,
    pub(super) kind: MarkKind,
    pub(super) at_ns: i64,
    node: &'a str,
    /// The text beside it, and the one that says everything.
    label: String,
    title: String,
}

impl<'a> Drawing<'_, 'a> {
    /// Everything that is marked: events of the nodes themselves, and what the caller knows, from left to right.
    pub(super) fn placed_marks(&self) -> Vec<PlacedMark<'a>> {
        let picture = self.picture;
        let of_events = picture.timeline.events.iter().zip(&self.x).filter_map(|(event, x)| {
            let title = event.event.local()?;
            let (kind, label) = match &event.event {
                TraceEvent::Held { .. } => (MarkKind::Held, title.clone()),
                TraceEvent::Lost { .. } => (MarkKind::Lost, title.clone()),
                TraceEvent::Disconnected { peer, .. } => (MarkKind::Closed, format!("connection to {peer} closed")),
                TraceEvent::ArbiterLeader { .. } | TraceEvent::Late { .. } => (MarkKind::Other, title.clone()),
                // Connections come back one after the other; their texts would hide more important ones.
                _ => (MarkKind::Other, String::new()),
            };
            let node = picture.timeline.nodes[event.node].node.as_str();
            Some(PlacedMark { row: self.row(node)?, x: *x, kind, node, at_ns: event.at_ns, label, title })
        });
        let known = picture.marks.iter().filter_map(|mark| {
            let (label, title) = (mark.label.clone(), mark.label.clone());
            let (row, x) = (self.row(mark.node)?, self.x_at(mark.at_ns));
            Some(PlacedMark { row, x, kind: mark.kind, node: mark.node, at_ns: mark.at_ns, label, title })
        });
        let mut marks: Vec<_> = of_events.chain(known).collect();
        marks.sort_by(|one, other| one.x.total_cmp(&other.x));
        marks
    }

    /// Draws the marks, with their texts above or below the line, where there is room.
    pub(super) fn draw_marks(&mut self) {
        let mut marks = std::mem::take(&mut self.marks);
        // The most important texts get the room that there is.
        marks.sort_by_key(|mark| mark.kind);
        let mut labels = Labels::new(self.width());
        for mark in &marks {
            let (x, y) = (mark.x, self.y(mark.row));
            let (class, colour) = match mark.kind {
                MarkKind::Held => ("mark holds", GOLD),
                MarkKind::Gone | MarkKind::Closed => ("mark gone", BAD),
                MarkKind::Lost | MarkKind::Other => ("mark", INK),
            };
            let (shape, size) = Shape::of_mark(mark.kind);
            let drawn = Element::new("path").attribute("d", shape.path(x, y, size)).attribute("class", class);
            let drawn = drawn.attribute("color", colour).attribute("stroke", "currentColor");
            let drawn = match mark.kind {
                MarkKind::Held => drawn.attribute("fill", "currentColor").attribute("stroke-linejoin", "round"),
                MarkKind::Lost => drawn.attribute("fill", PAPER).number("stroke-width", 2.0),
                MarkKind::Other => drawn.attribute("fill", "currentColor"),
                MarkKind::Gone | MarkKind::Closed => drawn.number("stroke-width", 2.0),
            };
            let at = milliseconds(mark.at_ns.saturating_sub(self.picture.zero_ns));
            self.content.add(&drawn.title(&format!("{}: {}, at {at} ms", mark.node, mark.title)));
            if let Some((x, offset)) = labels.place(mark.row, x, &mark.label) {
                let label = text(x, y + offset, "start").attribute("class", "label");
                let label = label.attribute("stroke", PAPER).number("stroke-width", 3.0);
                let label = label.attribute("paint-order", "stroke").attribute("stroke-linejoin", "round");
                self.content.add(&label.text(&mark.label));
            }
        }
    }
}

/// In which row, from where and to where a node holds an office. The marks are in order.
pub(super) fn terms(marks: &[PlacedMark<'_>], left: f64, right: f64) -> Vec<(usize, f64, f64)> {
    let mut held: BTreeMap<usize, f64> = BTreeMap::new();
    let mut terms: Vec<(usize, f64, f64)> = Vec::new();
    for (place, PlacedMark { row, x, kind, .. }) in marks.iter().enumerate() {
        match kind {
            MarkKind::Held => _ = held.entry(*row).or_insert(*x),
            // What began before the picture does, began at its left end.
            MarkKind::Lost => terms.push((*row, held.remove(row).unwrap_or(left), *x)),
            MarkKind::Gone => {
                let is_lost = |mark: &PlacedMark<'_>| mark.row == *row && mark.kind == MarkKind::Lost;
                let is_over = terms.iter().any(|(known, ..)| known == row);
                // If its own trace tells when it lost the office, that counts.
                if !is_over && !marks[place..].iter().any(is_lost) {
                    terms.push((*row, held.remove(row).unwrap_or(left), *x));
                }
            }
            MarkKind::Closed | MarkKind::Other => {}
        }
    }
    terms.extend(held.into_iter().map(|(row, from)| (row, from, right)));
    terms
}
