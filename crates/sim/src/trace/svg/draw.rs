//! The picture itself.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::io::{self, Write};

use hustings_protocol::{Message, Record};

use super::layout::Layout;
use super::lives::{self, Mark, Phase};
use super::{escape, style};
use crate::trace::arrows::{self, Arrow};
use crate::trace::{Names, words};

/// With more arrows than this, what they say is told only where the pointer rests.
const MAX_LABELS: usize = 160;
/// Longer contents do not fit beside an arrow.
const MAX_LABEL: usize = 8;

/// A picture in parts, in the order in which they cover each other.
pub(super) struct Drawing<'a> {
    names: &'a Names,
    layout: &'a Layout,
    legend: Legend,
    lines: String,
    arrows: String,
    labels: String,
    marks: String,
}

impl<'a> Drawing<'a> {
    pub(super) fn of<M: Message>(names: &'a Names, records: &[Record<M>], layout: &'a Layout) -> Self {
        let shown = &records[..layout.shown];
        let legend = Legend::of(names, shown, layout);
        let mut drawing = Drawing {
            names,
            layout,
            legend,
            lines: String::new(),
            arrows: String::new(),
            labels: String::new(),
            marks: String::new(),
        };
        drawing.grid();
        drawing.nodes(shown);
        drawing.messages(shown);
        drawing.signs(shown);
        drawing
    }

    pub(super) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let (width, height) = (self.layout.width(), self.layout.height(self.legend.lines));
        let title = escape(&self.names.title);
        writeln!(
            out,
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"hustings-trace\" role=\"img\" width=\"{width}\" \
             height=\"{height}\" viewBox=\"0 0 {width} {height}\">"
        )?;
        writeln!(out, "<title>{title}</title>\n<style>\n{}</style>", style::sheet())?;
        writeln!(out, "<defs>\n{}</defs>", style::heads(0..style::COLOURS))?;
        writeln!(out, "<rect class=\"paper\" width=\"{width}\" height=\"{height}\"/>")?;
        writeln!(out, "<text class=\"head\" x=\"16\" y=\"24\">{title}</text>")?;
        for part in [&self.legend.drawn, &self.lines, &self.arrows, &self.labels, &self.marks] {
            out.write_all(part.as_bytes())?;
        }
        if !self.layout.note.is_empty() {
            writeln!(out, "<text x=\"16\" y=\"{}\">{}</text>", height - 10.0, escape(&self.layout.note))?;
        }
        writeln!(out, "</svg>")
    }

    fn y(&self, node: u32) -> Option<f64> {
        self.layout.y(node, self.legend.lines)
    }

    /// The ticks: a faint line each, a number where there is room.
    fn grid(&mut self) {
        let (top, axis) = (self.layout.top(self.legend.lines), self.layout.axis(self.legend.lines));
        let bottom = top + f64::from(self.layout.rows) * self.layout.row;
        let room = if self.layout.column < 20.0 { 5 } else { 1 };
        let _ = writeln!(self.lines, "<text class=\"name\" x=\"{}\" y=\"{axis}\">tick</text>", self.layout.left - 18.0);
        let mut last = f64::NEG_INFINITY;
        for (tick, shortened) in self.layout.ticks() {
            let x = self.layout.x(tick);
            let _ = writeln!(self.lines, "<path class=\"grid\" d=\"M{x} {top} V{bottom}\"/>");
            // Numbers must not run into each other.
            let wide = tick.to_string().len() as f64 * 7.0 + 6.0;
            if (tick % room == 0 || shortened) && x - last >= wide {
                let _ = writeln!(self.lines, "<text class=\"tick\" x=\"{x}\" y=\"{axis}\">{tick}</text>");
                last = x;
            }
            if shortened {
                let between = x - 1.5 * self.layout.column;
                let _ = writeln!(self.lines, "<text class=\"tick\" x=\"{between}\" y=\"{axis}\">⋯</text>");
            }
        }
    }

    /// A line per node: solid while it is up, broad while it leads, dotted while it is down.
    fn nodes<M>(&mut self, records: &[Record<M>]) {
        let (left, right) = (self.layout.left - 12.0, self.layout.right());
        for node in 0..self.layout.rows {
            let Some(y) = self.y(node) else { continue };
            let name = escape(&self.names.node(node));
            let _ = writeln!(self.lines, "<text class=\"name\" x=\"{}\" y=\"{}\">{name}</text>", left - 6.0, y + 4.0);
            let phases = lives::phases(records, node);
            for (index, (since, phase)) in phases.iter().enumerate() {
                let from = since.map_or(left, |tick| self.layout.x(tick));
                let to = phases.get(index + 1).and_then(|(tick, _)| *tick).map_or(right, |tick| self.layout.x(tick));
                if *phase == Phase::Leading {
                    let _ = writeln!(self.lines, "<path class=\"leading\" d=\"M{from} {y} H{to}\"/>");
                }
                let class = if *phase == Phase::Down { "down" } else { "up" };
                let _ = writeln!(self.lines, "<path class=\"{class}\" d=\"M{from} {y} H{to}\"/>");
            }
        }
    }

    fn messages<M: Message>(&mut self, records: &[Record<M>]) {
        let arrows: Vec<_> = records.iter().filter_map(|record| arrows::arrow(records, record)).collect();
        let labelled = arrows.len() <= MAX_LABELS;
        // Messages that share both ends lie beside each other.
        let mut beside: BTreeMap<(u32, u64, u32, u64), u32> = BTreeMap::new();
        for arrow in &arrows {
            let same = beside.entry((arrow.from, arrow.sent, arrow.to, arrow.ended)).or_default();
            if let (Some(from), Some(to)) = (self.y(arrow.from), self.y(arrow.to)) {
                let aside = f64::from((*same).min(6)) * 5.0;
                let path =
                    Path::new((self.layout.x(arrow.sent) + aside, from), (self.layout.x(arrow.ended) + aside, to));
                self.message(arrow, &path, labelled);
            }
            *same += 1;
        }
    }

    fn message<M: Message>(&mut self, arrow: &Arrow<'_, M>, path: &Path, labelled: bool) {
        let kind = arrow.message.kind();
        let colour = kind % style::COLOURS;
        let again = if kind >= style::COLOURS { " again" } else { "" };
        let lost = if arrow.lost.is_some() { " lost" } else { "" };
        let (from, to) = (self.names.node(arrow.from), self.names.node(arrow.to));
        let fate = match arrow.lost {
            None => format!("tick {}", arrow.ended),
            Some(why) => format!("lost at tick {}: {}", arrow.ended, words::loss(why)),
        };
        let title = escape(&format!("{}: {from}, tick {} → {to}, {fate}", words::message(arrow.message), arrow.sent));
        let head =
            if arrow.lost.is_some() { String::new() } else { format!(" marker-end=\"url(#hustings-head{colour})\"") };
        let _ = writeln!(
            self.arrows,
            "<path class=\"arrow k{colour}{again}{lost}\" d=\"{}\"{head}><title>{title}</title></path>",
            path.drawn
        );
        if arrow.lost.is_some() {
            let (x, y) = path.end;
            let _ = writeln!(
                self.marks,
                "<path class=\"cross\" transform=\"translate({x:.1} {y:.1})\" d=\"{}\"><title>{title}</title></path>",
                style::CROSS
            );
        }
        let said = words::payload(arrow.message);
        if labelled && !said.is_empty() && said.chars().count() <= MAX_LABEL {
            let (x, y) = path.label;
            let _ = writeln!(self.labels, "<text class=\"said\" x=\"{x:.1}\" y=\"{y:.1}\">{}</text>", escape(&said));
        }
    }

    fn signs<M: Message>(&mut self, records: &[Record<M>]) {
        // Signs of one node at one tick stand on each other's shoulders.
        let mut stacked: BTreeMap<(u32, u64), u32> = BTreeMap::new();
        for record in records {
            let Some(y) = self.y(record.node) else { continue };
            for (mark, title) in lives::marks(self.names, record) {
                let below = stacked.entry((record.node, record.tick)).or_default();
                let y = y - f64::from((*below).min(3)) * 13.0;
                *below += 1;
                let (class, outline) = style::sign(mark);
                let _ = writeln!(
                    self.marks,
                    "<path class=\"{class}\" transform=\"translate({} {y})\" d=\"{outline}\"><title>{}</title></path>",
                    self.layout.x(record.tick),
                    escape(&title)
                );
            }
        }
    }
}

/// The way of an arrow.
struct Path {
    drawn: String,
    end: (f64, f64),
    label: (f64, f64),
}

impl Path {
    /// From one point to another, ending just before it so that a sign there stays readable.
    fn new(from: (f64, f64), to: (f64, f64)) -> Self {
        let (dx, dy) = (to.0 - from.0, to.1 - from.1);
        if dy == 0.0 {
            // To itself: an arc above its line.
            let (middle, height) = ((from.0 + to.0) / 2.0, from.1 - 26.0);
            let end = (to.0 - 3.0, to.1 - 4.0);
            let drawn = format!("M{:.1} {:.1} Q{middle:.1} {height:.1} {:.1} {:.1}", from.0, from.1, end.0, end.1);
            return Path { drawn, end, label: (middle, from.1 - 10.0) };
        }
        let length = dx.hypot(dy).max(1.0);
        let at = |before: f64| (to.0 - dx / length * before, to.1 - dy / length * before);
        let end = at(5.0);
        let label = at((length * 0.45).min(27.0));
        let drawn = format!("M{:.1} {:.1} L{:.1} {:.1}", from.0, from.1, end.0, end.1);
        Path { drawn, end, label: (label.0, label.1 + 3.5) }
    }
}

/// What the colours and signs mean; only those that occur.
struct Legend {
    drawn: String,
    lines: usize,
}

impl Legend {
    fn of<M: Message>(names: &Names, records: &[Record<M>], layout: &Layout) -> Self {
        let mut kinds = BTreeMap::new();
        let (mut marks, mut losses): (BTreeSet<Mark>, bool) = (BTreeSet::new(), false);
        for record in records {
            if let Some(arrow) = arrows::arrow(records, record) {
                kinds.insert(arrow.message.kind(), arrow.message.kind_name());
                losses |= arrow.lost.is_some();
            }
            marks.extend(lives::marks(names, record).into_iter().map(|(mark, _)| mark));
        }
        let mut entries: Vec<(String, &str)> = Vec::new();
        for (kind, name) in kinds {
            let colour = kind % style::COLOURS;
            let again = if kind >= style::COLOURS { " again" } else { "" };
            let sample = format!(
                "<path class=\"arrow k{colour}{again}\" d=\"M-11 0 H9\" marker-end=\"url(#hustings-head{colour})\"/>"
            );
            entries.push((sample, name));
        }
        for mark in marks {
            let (class, outline) = style::sign(mark);
            entries.push((format!("<path class=\"{class}\" d=\"{outline}\"/>"), mark.name()));
        }
        if losses {
            entries.push((format!("<path class=\"cross\" d=\"{}\"/>", style::CROSS), "lost"));
        }
        Legend::arrange(&entries, layout)
    }

    fn arrange(entries: &[(String, &str)], layout: &Layout) -> Self {
        let (mut x, mut line, mut drawn) = (16.0, 0, String::new());
        for (sample, name) in entries {
            let width = 30.0 + name.chars().count() as f64 * 7.0 + 18.0;
            if x > 16.0 && x + width > layout.width() {
                (x, line) = (16.0, line + 1);
            }
            let y = layout.legend(line);
            let _ = writeln!(
                drawn,
                "<g transform=\"translate({} {y})\">{sample}<text x=\"16\" y=\"4\">{}</text></g>",
                x + 12.0,
                escape(name)
            );
            x += width;
        }
        Legend { drawn, lines: if entries.is_empty() { 0 } else { line + 1 } }
    }
}
