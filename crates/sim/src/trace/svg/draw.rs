//! Drawing the diagram.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};

use hustings_protocol::{Message, Record};

use super::layout::Layout;
use super::style;
use super::timeline::{self, Mark, Phase};
use crate::trace::transmission::{self, Transmission};
use crate::trace::{Names, describe};
use hustings_text::svg::{Element, Svg, number, path};

/// With more messages than this, only tooltips show their contents.
const MAX_LABELS: usize = 160;
/// Longer contents do not fit beside an arrow.
const MAX_LABEL: usize = 8;

/// A diagram in layers, from the lowest to the topmost.
pub(super) struct Drawing<'a> {
    names: &'a Names,
    layout: &'a Layout,
    legend: Legend,
    lines: Svg,
    arrows: Svg,
    labels: Svg,
    marks: Svg,
}

impl<'a> Drawing<'a> {
    pub(super) fn of<M: Message>(names: &'a Names, records: &[Record<M>], layout: &'a Layout) -> Self {
        let shown = &records[..layout.shown];
        let mut drawing = Drawing {
            names,
            layout,
            legend: Legend::of(names, shown, layout),
            lines: Svg::default(),
            arrows: Svg::default(),
            labels: Svg::default(),
            marks: Svg::default(),
        };
        drawing.grid();
        drawing.nodes(shown);
        drawing.messages(shown);
        drawing.node_marks(shown);
        drawing
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (width, height) = (self.layout.width(), self.layout.height(self.legend.lines));
        let sized = |element: Element| element.number("width", width).number("height", height);
        let mut picture = Svg::default();
        let root = Element::new("svg").attribute("xmlns", "http://www.w3.org/2000/svg");
        let root = sized(root.attribute("class", "hustings-trace").attribute("role", "img"));
        picture.open(&root.attribute("viewBox", format!("0 0 {} {}", number(width), number(height))));
        picture.add(&Element::new("title").text(&self.names.title));
        picture.add_raw(&format!("<style>\n{}</style>", style::sheet()));
        picture.open(&Element::new("defs"));
        (0..style::COLOURS).for_each(|colour| picture.add(&style::arrow_head(colour)));
        picture.close("defs");
        picture.add(&sized(Element::new("rect").attribute("class", "paper")));
        picture.add(&text("head", 16.0, 24.0).text(&self.names.title));
        for layer in [&self.legend.drawn, &self.lines, &self.arrows, &self.labels, &self.marks] {
            picture.append(layer);
        }
        if !self.layout.note.is_empty() {
            let note = Element::new("text").number("x", 16.0).number("y", height - 10.0);
            picture.add(&note.text(&self.layout.note));
        }
        picture.close("svg");
        out.write_all(picture.as_str().as_bytes())
    }

    fn y(&self, node: u32) -> Option<f64> {
        self.layout.y(node, self.legend.lines)
    }

    /// The ticks: a faint line each, a number where there is room.
    fn grid(&mut self) {
        let (top, axis) = (self.layout.top(self.legend.lines), self.layout.axis(self.legend.lines));
        let bottom = top + f64::from(self.layout.rows) * self.layout.row;
        let step = if self.layout.column < 20.0 { 5 } else { 1 };
        self.lines.add(&text("name", self.layout.left - 18.0, axis).text("tick"));
        let mut last = f64::NEG_INFINITY;
        for (tick, shortened) in self.layout.ticks() {
            let x = self.layout.x(tick);
            let line = Element::new("path").attribute("class", "grid");
            self.lines.add(&line.attribute("d", path(&[('M', &[x, top]), ('V', &[bottom])])));
            // Numbers must not overlap.
            let width = tick.to_string().len() as f64 * 7.0 + 6.0;
            if (tick % step == 0 || shortened) && x - last >= width {
                self.lines.add(&text("tick", x, axis).text(&tick.to_string()));
                last = x;
            }
            if shortened {
                self.lines.add(&text("tick", x - 1.5 * self.layout.column, axis).text("⋯"));
            }
        }
    }

    /// A line per node: solid while it is up, thick while it leads, dotted while it is down.
    fn nodes<M>(&mut self, records: &[Record<M>]) {
        let (left, right) = (self.layout.left - 12.0, self.layout.right());
        for node in 0..self.layout.rows {
            let Some(y) = self.y(node) else { continue };
            self.lines.add(&text("name", left - 6.0, y + 4.0).text(&self.names.node(node)));
            let phases = timeline::phases(records, node);
            for (index, (since, phase)) in phases.iter().enumerate() {
                let from = since.map_or(left, |tick| self.layout.x(tick));
                let to = phases.get(index + 1).and_then(|(tick, _)| *tick).map_or(right, |tick| self.layout.x(tick));
                let line = |class: &str| {
                    let data = path(&[('M', &[from, y]), ('H', &[to])]);
                    Element::new("path").attribute("class", class).attribute("d", data)
                };
                if *phase == Phase::Leading {
                    self.lines.add(&line("leading"));
                }
                self.lines.add(&line(if *phase == Phase::Down { "down" } else { "up" }));
            }
        }
    }

    fn messages<M: Message>(&mut self, records: &[Record<M>]) {
        let of_record = |record| transmission::of_record(records, record);
        let transmissions: Vec<_> = records.iter().filter_map(of_record).collect();
        let labelled = transmissions.len() <= MAX_LABELS;
        // Messages between the same two points are drawn side by side.
        let mut parallel: BTreeMap<(u32, u64, u32, u64), u32> = BTreeMap::new();
        for message in &transmissions {
            let count = parallel.entry((message.from, message.sent, message.to, message.ended)).or_default();
            if let (Some(from), Some(to)) = (self.y(message.from), self.y(message.to)) {
                let shift = f64::from((*count).min(6)) * 5.0;
                let start = (self.layout.x(message.sent) + shift, from);
                let arrow = Arrow::new(start, (self.layout.x(message.ended) + shift, to));
                self.message(message, &arrow, labelled);
            }
            *count += 1;
        }
    }

    fn message<M: Message>(&mut self, message: &Transmission<'_, M>, arrow: &Arrow, labelled: bool) {
        let kind = message.message.kind();
        let lost = if message.lost.is_some() { " lost" } else { "" };
        let (from, to) = (self.names.node(message.from), self.names.node(message.to));
        let fate = match message.lost {
            None => format!("tick {}", message.ended),
            Some(why) => format!("lost at tick {}: {}", message.ended, describe::loss(why)),
        };
        let described = describe::message(message.message);
        let title = format!("{described}: {from}, tick {} → {to}, {fate}", message.sent);
        let mut line = Element::new("path").attribute("class", format!("{}{lost}", style::arrow_class(kind)));
        line = line.attribute("d", &arrow.data);
        if message.lost.is_none() {
            line = line.attribute("marker-end", style::arrow_head_reference(kind));
        }
        self.arrows.add(&line.title(&title));
        if message.lost.is_some() {
            let cross = style::cross().attribute("transform", translate(arrow.end));
            self.marks.add(&cross.title(&title));
        }
        let payload = describe::payload(message.message);
        if labelled && !payload.is_empty() && payload.chars().count() <= MAX_LABEL {
            self.labels.add(&text("payload", arrow.label.0, arrow.label.1).text(&payload));
        }
    }

    fn node_marks<M: Message>(&mut self, records: &[Record<M>]) {
        // Marks of one node at one tick are stacked.
        let mut stacked: BTreeMap<(u32, u64), u32> = BTreeMap::new();
        for record in records {
            let Some(y) = self.y(record.node) else { continue };
            for (mark, title) in timeline::marks(self.names, record) {
                let below = stacked.entry((record.node, record.tick)).or_default();
                let place = (self.layout.x(record.tick), y - f64::from((*below).min(3)) * 13.0);
                *below += 1;
                self.marks.add(&style::mark(mark).attribute("transform", translate(place)).title(&title));
            }
        }
    }
}

fn text(class: &str, x: f64, y: f64) -> Element {
    Element::new("text").attribute("class", class).number("x", x).number("y", y)
}

fn translate((x, y): (f64, f64)) -> String {
    format!("translate({} {})", number(x), number(y))
}

/// The arrow of a message.
struct Arrow {
    data: String,
    end: (f64, f64),
    label: (f64, f64),
}

impl Arrow {
    /// From one point to another. It ends just before the second, so that a mark there stays readable.
    fn new(from: (f64, f64), to: (f64, f64)) -> Self {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        if dy == 0.0 {
            // A message to itself: an arc above its line.
            let (middle, height) = ((from.0 + to.0) / 2.0, from.1 - 26.0);
            let end = (to.0 - 3.0, to.1 - 4.0);
            let data = path(&[('M', &[from.0, from.1]), ('Q', &[middle, height, end.0, end.1])]);
            return Arrow { data, end, label: (middle, from.1 - 10.0) };
        }
        let length = dx.hypot(dy).max(1.0);
        let at = |before: f64| (to.0 - dx / length * before, to.1 - dy / length * before);
        let end = at(5.0);
        let label = at((length * 0.45).min(27.0));
        let data = path(&[('M', &[from.0, from.1]), ('L', &[end.0, end.1])]);
        Arrow { data, end, label: (label.0, label.1 + 3.5) }
    }
}

/// Explains the colours and marks that occur.
struct Legend {
    drawn: Svg,
    lines: usize,
}

impl Legend {
    fn of<M: Message>(names: &Names, records: &[Record<M>], layout: &Layout) -> Self {
        let mut kinds = BTreeMap::new();
        let (mut marks, mut has_losses): (BTreeSet<Mark>, bool) = (BTreeSet::new(), false);
        for record in records {
            if let Some(message) = transmission::of_record(records, record) {
                kinds.insert(message.message.kind(), message.message.kind_name());
                has_losses |= message.lost.is_some();
            }
            marks.extend(timeline::marks(names, record).into_iter().map(|(mark, _)| mark));
        }
        let mut entries: Vec<(Element, &str)> = Vec::new();
        for (kind, name) in kinds {
            let sample = Element::new("path").attribute("class", style::arrow_class(kind)).attribute("d", "M-11 0 H9");
            entries.push((sample.attribute("marker-end", style::arrow_head_reference(kind)), name));
        }
        entries.extend(marks.into_iter().map(|mark| (style::mark(mark), mark.name())));
        if has_losses {
            entries.push((style::cross(), "lost"));
        }
        Legend::arrange(&entries, layout)
    }

    fn arrange(entries: &[(Element, &str)], layout: &Layout) -> Self {
        let (mut x, mut line, mut drawn) = (16.0, 0, Svg::default());
        for (sample, name) in entries {
            let width = 30.0 + name.chars().count() as f64 * 7.0 + 18.0;
            if x > 16.0 && x + width > layout.width() {
                (x, line) = (16.0, line + 1);
            }
            let name = Element::new("text").number("x", 16.0).number("y", 4.0).text(name);
            let group = Element::new("g").attribute("transform", translate((x + 12.0, layout.legend(line))));
            drawn.add(&group.child(sample).child(&name));
            x += width;
        }
        Legend { drawn, lines: if entries.is_empty() { 0 } else { line + 1 } }
    }
}
