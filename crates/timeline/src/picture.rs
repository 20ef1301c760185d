//! An SVG space-time diagram: a line for each node, an arrow for each message, a mark for each event of a node.
//!
//! The axis is not linear. Failures take microseconds here and hundreds of milliseconds there, so every record has its
//! own place, and long times without records are shortened. The numbers on the axis are the true times.
//!
//! The colours are attributes, which every viewer understands. Each has a class as well, so that a page can replace
//! them by those of its theme. Kinds of messages and of marks differ in shape as well as in colour.

mod labels;
mod marks;
mod shapes;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use hustings_cluster::api::TraceEvent;
use hustings_text::svg::{Element, Svg, number, path};

use super::{Timeline, Transmission, milliseconds};
use labels::{FONT_SIZE, width_of};
use marks::PlacedMark;
use shapes::{COLOURS, Shape};

/// The width of a millisecond, and the narrowest and the widest step between two records.
const MILLISECOND: f64 = 12.0;
const MIN_STEP: f64 = 5.0;
const MAX_STEP: f64 = 70.0;
/// Records of one node that are closer together belong together: a broadcast, for example.
const BURST_NS: i64 = 30_000;
const BURST_STEP: f64 = 2.0;
/// The heights of a node's row, of a line of text, and of the margin below.
const ROW: f64 = 46.0;
const LINE: f64 = 18.0;
const BOTTOM: f64 = 8.0;
/// A picture that is to fit a width is not made narrower than to this part of its own.
const MIN_SCALE: f64 = 0.3;
/// The margin on either side, and the width at which the legend continues on the next line.
const MARGIN: f64 = 16.0;
const LEGEND_WIDTH: f64 = 560.0;
/// The distance between two numbers of the axis, and the length of an arrow whose other end is not known.
const TICK_DISTANCE: f64 = 52.0;
const STUB: f64 = 18.0;
/// The room after the last record.
const RIGHT: f64 = 36.0;

const INK: &str = "#1f2937";
const PAPER: &str = "#ffffff";
const GOLD: &str = "#f2b705";
const BAD: &str = "#b3401f";

/// A picture of a timeline.
#[derive(Clone, PartialEq, Debug)]
pub struct Picture<'a> {
    timeline: &'a Timeline,
    /// The nodes, from top to bottom.
    pub lanes: Vec<&'a str>,
    /// The time that is 0 on the axis.
    pub zero_ns: i64,
    /// What is marked although no trace has it.
    pub marks: Vec<Mark<'a>>,
    /// The width that the picture should fit, if it can. It has its own otherwise.
    pub fit_width: Option<f64>,
    /// The text above the picture.
    pub title: Option<String>,
    /// The lines of text below it, such as what was left out.
    pub notes: Vec<String>,
}

/// Something that is marked on the line of a node.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mark<'a> {
    /// The node.
    pub node: &'a str,
    /// When it happened, on the time axis of the timeline.
    pub at_ns: i64,
    /// How it is drawn.
    pub kind: MarkKind,
    /// The text beside it.
    pub label: String,
}

/// How an event is drawn.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum MarkKind {
    /// A star: the node holds an office from then on.
    Held,
    /// A cross: nothing came from the node after that. Its line is dashed from then on, unless its trace goes on.
    Gone,
    /// A ring: the node no longer holds an office.
    Lost,
    /// A small cross: a connection ended.
    Closed,
    /// A diamond: anything else.
    Other,
}

impl<'a> Picture<'a> {
    /// A picture of everything in a timeline.
    pub fn new(timeline: &'a Timeline) -> Self {
        let zero_ns = timeline.events.first().map_or(0, |event| event.at_ns);
        let lanes = timeline.participants();
        Picture { timeline, lanes, zero_ns, marks: Vec::new(), fit_width: None, title: None, notes: Vec::new() }
    }

    /// The text of the picture.
    pub fn to_svg(&self) -> String {
        let mut drawing = Drawing::new(self);
        drawing.axis();
        drawing.lanes();
        drawing.messages();
        drawing.draw_marks();
        drawing.finish()
    }
}

struct Drawing<'p, 'a> {
    picture: &'p Picture<'a>,
    /// The number of each kind of message.
    kinds: BTreeMap<&'a str, usize>,
    left: f64,
    top: f64,
    /// The position of each record.
    x: Vec<f64>,
    marks: Vec<PlacedMark<'a>>,
    content: Svg,
}

impl<'p, 'a> Drawing<'p, 'a> {
    fn new(picture: &'p Picture<'a>) -> Self {
        let timeline = picture.timeline;
        let left = MARGIN + 8.0 + picture.lanes.iter().map(|name| width_of(name)).fold(0.0, f64::max);
        let mut kinds = BTreeMap::new();
        for event in &timeline.events {
            if let TraceEvent::Sent(message) | TraceEvent::Received(message) = &event.event {
                let next = kinds.len();
                kinds.entry(message.kind.as_str()).or_insert(next);
            }
        }
        let x = positions(picture, left + STUB);
        let mut drawing = Drawing { picture, kinds, left, top: 0.0, x, marks: Vec::new(), content: Svg::default() };
        let title_lines = usize::from(picture.title.is_some());
        // A line for the numbers of the axis.
        drawing.top = (title_lines + 1) as f64 * LINE + 4.0;
        drawing.marks = drawing.placed_marks();
        drawing
    }

    fn width(&self) -> f64 {
        (self.x.last().copied().unwrap_or(self.left) + RIGHT).max(LEGEND_WIDTH)
    }

    fn row(&self, name: &str) -> Option<usize> {
        self.picture.lanes.iter().position(|known| *known == name)
    }

    fn y(&self, row: usize) -> f64 {
        self.top + (row as f64 + 0.5) * ROW
    }

    fn bottom(&self) -> f64 {
        self.top + self.picture.lanes.len() as f64 * ROW
    }

    /// The position of a time: between those of the records before and after it.
    fn x_at(&self, at_ns: i64) -> f64 {
        let events = &self.picture.timeline.events;
        let after = events.partition_point(|event| event.at_ns <= at_ns);
        let since = |at: i64, place: usize| at.saturating_sub(events[place].at_ns) as f64;
        match (after.checked_sub(1), after < events.len()) {
            (Some(before), true) => {
                let part = since(at_ns, before) / since(events[after].at_ns, before).max(1.0);
                self.x[before] + part * (self.x[after] - self.x[before])
            }
            (Some(before), false) => self.x[before],
            (None, true) => self.left + STUB,
            (None, false) => self.left + STUB,
        }
    }

    fn axis(&mut self) {
        let mut last = f64::NEG_INFINITY;
        let events = self.picture.timeline.events.iter().map(|event| event.at_ns).zip(self.x.iter().copied());
        let mut places: Vec<(i64, f64)> = events.chain(self.marks.iter().map(|mark| (mark.at_ns, mark.x))).collect();
        places.sort_by(|one, other| one.1.total_cmp(&other.1));
        self.content.open(&Element::new("g").attribute("class", "axis"));
        for (at_ns, x) in places {
            if x - last >= TICK_DISTANCE {
                last = x;
                let line = path(&[('M', &[x, self.top - 4.0]), ('V', &[self.bottom()])]);
                let line = Element::new("path").attribute("d", line).attribute("stroke", "currentColor");
                self.content.add(&line.attribute("stroke-opacity", "0.15"));
                let time = format!("{:.1}", at_ns.saturating_sub(self.picture.zero_ns) as f64 / 1e6);
                // Not `-0.0`.
                let time = if time == "-0.0" { "0.0" } else { &time };
                self.content.add(&text(x, self.top - 8.0, "middle").text(time));
            }
        }
        self.content.close("g");
    }

    /// The lines of the nodes, broad and golden while a node holds an office, dashed after the last sign of it.
    fn lanes(&mut self) {
        let end = self.width() - MARGIN;
        for (row, name) in self.picture.lanes.iter().enumerate() {
            let y = self.y(row);
            let gone = self.marks.iter().find(|mark| mark.kind == MarkKind::Gone && mark.row == row);
            let has_trace = self.picture.timeline.nodes.iter().any(|clock| clock.node == *name);
            let gone = gone.filter(|_| !has_trace).map_or(end, |mark| mark.x);
            for (from, to, is_gone) in [(self.left, gone, false), (gone, end, true)] {
                if from < to {
                    let line = path(&[('M', &[from, y]), ('H', &[to])]);
                    let line = Element::new("path").attribute("d", line).attribute("stroke", "currentColor");
                    let line = if is_gone { line.attribute("stroke-dasharray", "1 5") } else { line };
                    self.content.add(&line.attribute("class", "lane"));
                }
            }
            let label = text(self.left - 8.0, y + 4.0, "end").attribute("class", "name");
            self.content.add(&label.attribute("font-weight", "600").text(name));
        }
        for (row, from, to) in marks::terms(&self.marks, self.left, end) {
            let y = self.y(row);
            let line = Element::new("path").attribute("d", path(&[('M', &[from, y]), ('H', &[to])]));
            let line = line.attribute("class", "held").attribute("stroke", GOLD).number("stroke-width", 7.0);
            self.content.add(&line.attribute("stroke-opacity", "0.6"));
        }
    }

    fn messages(&mut self) {
        let mut groups: BTreeMap<usize, Svg> = BTreeMap::new();
        for (place, sent) in self.picture.timeline.transmissions().into_iter().enumerate() {
            let Some(sent) = sent else { continue };
            let (Some(from), Some(to)) = (self.row(sent.from), self.row(sent.to)) else { continue };
            let (from, to, x) = (self.y(from), self.y(to), self.x[place]);
            let cause = self.picture.timeline.events[place].cause;
            let (start, end) = match (cause, sent.arrived) {
                (Some(cause), _) => (self.x[cause], x),
                (None, Some(_)) => (x - STUB, x),
                (None, None) => (x, x + STUB),
            };
            let kind = self.kinds.get(sent.message.kind.as_str()).copied().unwrap_or(0);
            let line = path(&[('M', &[start, from]), ('L', &[end, to])]);
            let shape = Shape::of_kind(kind).path(end, to, 2.6);
            let line = Element::new("path").attribute("d", format!("{line} {shape}"));
            let line = if cause.is_some() { line } else { line.attribute("stroke-dasharray", "2 4") };
            groups.entry(kind).or_default().add(&line.title(&self.describe(&sent)));
        }
        for (kind, messages) in groups {
            let group = kind_group(kind).attribute("stroke", "currentColor").attribute("fill", "currentColor");
            self.content.open(&group.number("stroke-width", 1.3));
            self.content.append(&messages);
            self.content.close("g");
        }
    }

    fn describe(&self, sent: &Transmission<'_>) -> String {
        let message = sent.message;
        let zero = self.picture.zero_ns;
        let sent_at = sent.sent.map(|at| format!(", sent at {} ms", milliseconds(at.saturating_sub(zero))));
        let arrived_at = sent.arrived.map(|at| format!(", arrived at {} ms", milliseconds(at.saturating_sub(zero))));
        let [sent_at, arrived_at] = [sent_at, arrived_at].map(Option::unwrap_or_default);
        let about = message.about();
        format!(
            "{} from {} to {}{about}, {} bytes{sent_at}{arrived_at}",
            message.kind, sent.from, sent.to, message.bytes
        )
    }

    /// The kinds of messages with their shapes and colours. Returns how many lines it has.
    fn legend(&self, picture: &mut Svg, top: f64) -> usize {
        let mut ordered: Vec<(&str, usize)> = self.kinds.iter().map(|(name, kind)| (*name, *kind)).collect();
        ordered.sort_by_key(|(_, kind)| *kind);
        let (mut x, mut line) = (MARGIN, 0);
        for (name, kind) in &ordered {
            let width = 14.0 + width_of(name) + 12.0;
            if x > MARGIN && x + width > LEGEND_WIDTH {
                (x, line) = (MARGIN, line + 1);
            }
            let y = top + f64::from(line) * LINE + 12.0;
            let shape = Shape::of_kind(*kind).path(x + 4.0, y - 4.0, 4.0);
            picture.open(&kind_group(*kind));
            picture.add(&Element::new("path").attribute("d", shape).attribute("fill", "currentColor"));
            picture.close("g");
            picture.add(&text(x + 14.0, y, "start").text(name));
            x += width;
        }
        if ordered.is_empty() { 0 } else { line as usize + 1 }
    }

    fn finish(self) -> String {
        let Picture { title, notes, .. } = self.picture;
        let mut below = Svg::default();
        let legend = self.legend(&mut below, self.bottom());
        for (line, note) in (legend..).zip(notes) {
            below.add(&text(MARGIN, self.bottom() + line as f64 * LINE + 12.0, "start").text(note));
        }
        let (width, height) = (self.width(), self.bottom() + (legend + notes.len()) as f64 * LINE + BOTTOM);
        let mut picture = Svg::default();
        let root = Element::new("svg").attribute("xmlns", "http://www.w3.org/2000/svg");
        let root = root.number("width", width).number("height", height);
        picture.open(&root.attribute("viewBox", format!("0 0 {} {}", number(width), number(height))));
        let paper = Element::new("rect").attribute("class", "paper").number("width", width).number("height", height);
        picture.add(&paper.attribute("fill", PAPER));
        let group = Element::new("g").attribute("class", "ink").attribute("color", INK).attribute("fill", "none");
        picture.open(&group.attribute("font-family", "system-ui, sans-serif"));
        if let Some(title) = title {
            picture.add(&text(MARGIN, 14.0, "start").attribute("font-weight", "600").text(title));
        }
        picture.append(&self.content);
        picture.append(&below);
        picture.close("g");
        picture.close("svg");
        picture.into_string()
    }
}

/// The positions of all records, the first mark or record being at `start`.
fn positions(picture: &Picture<'_>, start: f64) -> Vec<f64> {
    let events = &picture.timeline.events;
    let first = events.first().map_or(0, |event| event.at_ns);
    let mut last = picture.marks.iter().map(|mark| mark.at_ns).fold(first, i64::min);
    let mut steps = Vec::with_capacity(events.len());
    for (place, event) in events.iter().enumerate() {
        let gap = event.at_ns.saturating_sub(last);
        let is_burst = place.checked_sub(1).is_some_and(|former| events[former].node == event.node) && gap < BURST_NS;
        let min = match (place == 0, is_burst) {
            (true, _) => 0.0,
            (false, true) => BURST_STEP,
            (false, false) => MIN_STEP,
        };
        steps.push((gap as f64 / 1e6 * MILLISECOND).clamp(min, MAX_STEP));
        last = event.at_ns;
    }
    let sum: f64 = steps.iter().sum();
    let fitting = picture.fit_width.map_or(1.0, |width| (width - start - RIGHT) / sum.max(1.0));
    let scale = fitting.clamp(MIN_SCALE, 1.0);
    let mut at = start;
    let place = |step: f64| {
        at += scale * step;
        at
    };
    steps.into_iter().map(place).collect()
}

/// The group of what belongs to a kind of message.
fn kind_group(kind: usize) -> Element {
    let colour = kind % COLOURS.len();
    Element::new("g").attribute("class", format!("k{colour}")).attribute("color", COLOURS[colour])
}

fn text(x: f64, y: f64, anchor: &str) -> Element {
    let text = Element::new("text").number("x", x).number("y", y).attribute("text-anchor", anchor);
    text.number("font-size", FONT_SIZE).attribute("fill", "currentColor")
}
