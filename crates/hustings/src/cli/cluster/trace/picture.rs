//! An SVG space-time diagram: a line for each node, an arrow for each message, a mark for each event of a node.
//!
//! The axis is not linear. Failures take microseconds here and hundreds of milliseconds there, so every record has its
//! own place, and long times without records are shortened. The numbers on the axis are the true times.

use std::collections::BTreeMap;
use std::io::{self, Write};

use hustings_cluster::api::TraceEvent;
use hustings_cluster::timeline::Timeline;
use hustings_text::svg::{Element, Svg, number, path};

use super::{Arrivals, Transmission, about, local_event, milliseconds, participants, transmission};

/// Only the last so many records are drawn.
const MAX_RECORDS: usize = 2_000;
/// The width of a millisecond, and the narrowest and the widest step between two records.
const MILLISECOND: f64 = 12.0;
const MIN_STEP: f64 = 5.0;
const MAX_STEP: f64 = 70.0;
/// The height of a row, and of everything above the first one and below the last one.
const ROW: f64 = 80.0;
const TOP: f64 = 70.0;
const BOTTOM: f64 = 30.0;
/// The distance between two numbers of the axis, and the length of an arrow whose other end is not known.
const TICK_DISTANCE: f64 = 70.0;
const STUB: f64 = 18.0;

const COLOURS: [&str; 8] = ["#2563eb", "#d9480f", "#0f8a5f", "#9333ea", "#0e7490", "#be185d", "#4d7c0f", "#57534e"];
const INK: &str = "#1f2937";
const GOLD: &str = "#f2b705";

pub(super) fn write(timeline: &Timeline, out: &mut dyn Write) -> io::Result<()> {
    let mut timeline = timeline.clone();
    let left_out = timeline.events.len().saturating_sub(MAX_RECORDS);
    timeline.drop_first(left_out);
    let mut drawing = Drawing::new(&timeline);
    drawing.axis();
    drawing.nodes();
    drawing.messages();
    drawing.marks();
    out.write_all(drawing.finish(left_out).as_bytes())
}

struct Drawing<'a> {
    timeline: &'a Timeline,
    names: Vec<&'a str>,
    /// The colours of the kinds of messages.
    kinds: BTreeMap<&'a str, &'static str>,
    left: f64,
    /// The position of each record.
    x: Vec<f64>,
    content: Svg,
}

impl<'a> Drawing<'a> {
    fn new(timeline: &'a Timeline) -> Self {
        let names = participants(timeline);
        let left = 24.0 + 7.5 * names.iter().map(|name| name.len()).max().unwrap_or(0) as f64;
        let mut kinds = BTreeMap::new();
        for event in &timeline.events {
            if let TraceEvent::Sent(message) | TraceEvent::Received(message) = &event.event {
                let next = COLOURS[kinds.len() % COLOURS.len()];
                kinds.entry(message.kind.as_str()).or_insert(next);
            }
        }
        let (mut x, mut at, mut last) = (Vec::new(), left + STUB, None);
        for event in &timeline.events {
            let gap = last.map_or(0, |last| event.at_ns - last) as f64 / 1e6 * MILLISECOND;
            at += if last.is_some() { gap.clamp(MIN_STEP, MAX_STEP) } else { 0.0 };
            last = Some(event.at_ns);
            x.push(at);
        }
        Drawing { timeline, names, kinds, left, x, content: Svg::default() }
    }

    fn width(&self) -> f64 {
        self.x.last().copied().unwrap_or(self.left).max(self.left + 400.0) + 60.0
    }

    fn y(&self, name: &str) -> f64 {
        let row = self.names.iter().position(|known| *known == name).unwrap_or(0);
        TOP + (row as f64 + 0.5) * ROW
    }

    /// The name of the node where a record belongs.
    fn node(&self, place: usize) -> &'a str {
        &self.timeline.nodes[self.timeline.events[place].node].node
    }

    fn axis(&mut self) {
        let first = self.timeline.events.first().map_or(0, |event| event.at_ns);
        let bottom = TOP + self.names.len() as f64 * ROW;
        let mut last = f64::NEG_INFINITY;
        for (event, x) in self.timeline.events.iter().zip(&self.x) {
            if x - last >= TICK_DISTANCE {
                last = *x;
                let line = path(&[('M', &[*x, TOP - 6.0]), ('V', &[bottom])]);
                let line = Element::new("path").attribute("d", line).attribute("stroke", INK);
                self.content.add(&line.attribute("stroke-opacity", "0.12"));
                let label = label(*x, TOP - 12.0, "middle").text(&milliseconds(event.at_ns - first));
                self.content.add(&label);
            }
        }
    }

    /// The lines of the nodes, broad and golden while a node holds an office.
    fn nodes(&mut self) {
        let end = self.width() - 20.0;
        for name in self.names.clone() {
            let y = self.y(name);
            let line = path(&[('M', &[self.left, y]), ('H', &[end])]);
            self.content.add(&Element::new("path").attribute("d", line).attribute("stroke", INK));
            self.content.add(&label(self.left - 8.0, y + 4.0, "end").text(name));
        }
        let mut held: BTreeMap<(usize, &str), f64> = BTreeMap::new();
        let mut spans = Vec::new();
        for (event, x) in self.timeline.events.iter().zip(&self.x) {
            match &event.event {
                TraceEvent::Held { office, .. } => _ = held.insert((event.node, office), *x),
                TraceEvent::Lost { office, .. } => {
                    // What began before the picture does, began at its left end.
                    let from = held.remove(&(event.node, office)).unwrap_or(self.left);
                    spans.push((event.node, office.as_str(), from, *x));
                }
                _ => {}
            }
        }
        spans.extend(held.into_iter().map(|((node, office), from)| (node, office, from, end)));
        for (node, office, from, to) in spans {
            let y = self.y(&self.timeline.nodes[node].node);
            let line = path(&[('M', &[from, y]), ('H', &[to])]);
            let line = Element::new("path").attribute("d", line).attribute("stroke", GOLD).number("stroke-width", 7.0);
            self.content.add(&line.attribute("stroke-opacity", "0.6").title(&format!("holds {office}")));
        }
    }

    fn messages(&mut self) {
        let arrivals = Arrivals::of(self.timeline);
        for place in 0..self.timeline.events.len() {
            let Some(sent) = transmission(place, self.timeline, &arrivals) else { continue };
            let (from, to) = (self.y(sent.from), self.y(sent.to));
            let x = self.x[place];
            let cause = self.timeline.events[place].cause;
            let (start, end) = match (cause, sent.arrived) {
                (Some(cause), _) => (self.x[cause], x),
                (None, Some(_)) => (x - STUB, x),
                (None, None) => (x, x + STUB),
            };
            let is_whole = cause.is_some();
            let colour = self.kinds.get(sent.message.kind.as_str()).copied().unwrap_or(INK);
            let line = path(&[('M', &[start, from]), ('L', &[end, to])]);
            let line = Element::new("path").attribute("d", line).attribute("stroke", colour);
            let line = if is_whole { line } else { line.attribute("stroke-dasharray", "2 4") };
            self.content.add(&line.number("stroke-width", 1.4).title(&describe(&sent)));
            self.content.add(
                &Element::new("circle").number("cx", end).number("cy", to).number("r", 2.4).attribute("fill", colour),
            );
        }
    }

    /// Events of a node, with their texts above and below its line in turn.
    fn marks(&mut self) {
        let mut is_above = false;
        for place in 0..self.timeline.events.len() {
            let Some(what) = local_event(&self.timeline.events[place].event) else { continue };
            let (x, y) = (self.x[place], self.y(self.node(place)));
            let mark = Element::new("circle").number("cx", x).number("cy", y).number("r", 4.5);
            self.content.add(&mark.attribute("fill", INK).title(&what));
            is_above = !is_above;
            let offset = if is_above { -10.0 } else { 19.0 };
            let text = label(x, y + offset, "middle").attribute("stroke", "#ffffff").number("stroke-width", 3.0);
            self.content.add(&text.attribute("paint-order", "stroke").text(&what));
        }
    }

    fn finish(self, left_out: usize) -> String {
        let (width, height) = (self.width(), TOP + self.names.len() as f64 * ROW + BOTTOM);
        let mut picture = Svg::default();
        let root = Element::new("svg").attribute("xmlns", "http://www.w3.org/2000/svg");
        let root = root.number("width", width).number("height", height);
        picture.open(&root.attribute("viewBox", format!("0 0 {} {}", number(width), number(height))));
        let title = format!("messages of the cluster {}, in milliseconds", self.timeline.cluster);
        picture.add(&Element::new("title").text(&title));
        picture.add(&Element::new("rect").number("width", width).number("height", height).attribute("fill", "#ffffff"));
        picture.open(&Element::new("g").attribute("font-family", "system-ui, sans-serif").attribute("fill", "none"));
        picture.add(&label(16.0, 20.0, "start").attribute("font-weight", "600").text(&title));
        let mut x = 16.0;
        for (kind, colour) in &self.kinds {
            picture.add(&label(x, 38.0, "start").attribute("fill", colour).text(kind));
            x += 14.0 + 7.0 * kind.len() as f64;
        }
        picture.append(&self.content);
        if left_out > 0 {
            let note = format!("{left_out} earlier records are left out.");
            picture.add(&label(16.0, height - 10.0, "start").text(&note));
        }
        picture.close("g");
        picture.close("svg");
        picture.into_string()
    }
}

fn describe(sent: &Transmission<'_>) -> String {
    let message = sent.message;
    let took = sent.sent.zip(sent.arrived).map(|(sent, arrived)| format!(", {} ms", milliseconds(arrived - sent)));
    let took = took.unwrap_or_default();
    format!("{} from {} to {}{}, {} bytes{took}", message.kind, sent.from, sent.to, about(message), message.bytes)
}

fn label(x: f64, y: f64, anchor: &str) -> Element {
    let text = Element::new("text").number("x", x).number("y", y).attribute("text-anchor", anchor);
    text.number("font-size", 11.0).attribute("fill", INK)
}
