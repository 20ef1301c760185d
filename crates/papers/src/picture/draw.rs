//! Draws a picture as SVG: black on white, with attributes only, as print wants it.

use hustings_text::svg::{Element, Svg, path};

use super::geometry::{Geometry, MANY, Point, between, readable, towards};
use super::route::{Arrow, Course};
use super::{Label, Picture};

/// The colours of kinds; each is dark enough for text on white.
const COLOURS: [&str; 8] = ["#1d5fc2", "#b3261e", "#17693d", "#7a3fb0", "#9a5b00", "#00707a", "#a3246e", "#4a5568"];

const INK: &str = "#1b2430";
const SOFT: &str = "#a7b0bc";
const FONT: f64 = 10.5;
/// The width of a character, roughly.
const ADVANCE: f64 = FONT * 0.6;
/// The height of a line of the legend.
const LINE: f64 = 18.0;
/// The radius of the informer's mark.
const INFORMER: f64 = 30.0;

/// The picture as SVG. `id` distinguishes it from others on the same page.
pub(crate) fn draw(picture: &Picture, id: &str) -> String {
    let place = Geometry::of(picture);
    let legend = Legend::of(picture, place.side());
    let (width, height) = (place.side(), place.side() + legend.height());
    let mut svg = Svg::default();
    svg.open(
        &Element::new("svg")
            .attribute("xmlns", "http://www.w3.org/2000/svg")
            .attribute("viewBox", format!("0 0 {} {}", width.ceil(), height.ceil()))
            .number("width", width.ceil())
            .number("height", height.ceil())
            .attribute("role", "img")
            .attribute("aria-label", "the network, with its messages numbered by step")
            .attribute("font-family", "DejaVu Sans, Verdana, sans-serif")
            .number("font-size", FONT),
    );
    svg.add(&Element::new("rect").attribute("width", "100%").attribute("height", "100%").attribute("fill", "#ffffff"));
    heads(&mut svg, id);
    let mut drawing = Drawing { picture, place: &place, id, svg: &mut svg };
    drawing.rings();
    let arrows = picture.arrows();
    arrows.iter().for_each(|arrow| drawing.line(arrow));
    drawing.nodes();
    arrows.iter().for_each(|arrow| drawing.label(arrow));
    legend.draw(&mut svg, place.side());
    svg.close("svg");
    svg.into_string()
}

fn colour(kind: usize) -> &'static str {
    COLOURS[kind % COLOURS.len()]
}

/// Arrow heads, one for each colour.
fn heads(svg: &mut Svg, id: &str) {
    svg.open(&Element::new("defs"));
    for (index, fill) in COLOURS.iter().enumerate() {
        let head = Element::new("path").attribute("d", "M0 0 L8 4 L0 8 Z").attribute("fill", fill);
        let marker = Element::new("marker")
            .attribute("id", format!("{id}-head-{index}"))
            .attribute("viewBox", "0 0 8 8")
            .number("refX", 7.0)
            .number("refY", 4.0)
            .number("markerWidth", 6.0)
            .number("markerHeight", 6.0)
            .attribute("orient", "auto");
        svg.add(&marker.child(&head));
    }
    svg.close("defs");
}

struct Drawing<'a> {
    picture: &'a Picture,
    place: &'a Geometry,
    id: &'a str,
    svg: &'a mut Svg,
}

impl Drawing<'_> {
    /// The circles of the rings, and the rays between them.
    fn rings(&mut self) {
        if self.picture.shape.has_ring() {
            for radius in &self.place.radii {
                let circle = Element::new("circle")
                    .number("cx", self.place.centre.0)
                    .number("cy", self.place.centre.1)
                    .number("r", *radius)
                    .attribute("fill", "none")
                    .attribute("stroke", "#e3e7ec");
                self.svg.add(&circle);
            }
        }
        for position in 0..self.picture.size {
            let level = self.picture.level(position) as usize;
            if level > 1 && self.place.radii.len() > 1 {
                let (outer, inner) = (self.place.node(position, 0), self.place.node(position, level - 1));
                self.svg.add(&segment(outer, inner).attribute("stroke", SOFT).attribute("stroke-dasharray", "2 3"));
            }
        }
    }

    fn nodes(&mut self) {
        for position in 0..self.picture.size {
            for ring in 0..(self.picture.level(position) as usize).min(self.place.radii.len()) {
                self.mark(position, ring);
            }
            self.name(position);
        }
        if self.picture.has_informer() {
            let (x, y) = self.place.centre;
            let mark = Element::new("circle").number("cx", x).number("cy", y).number("r", INFORMER);
            self.svg.add(&mark.attribute("fill", "#ffffff").attribute("stroke", INK));
            self.svg.add(&text((x, y + 4.0), "informer", "middle").attribute("fill", INK));
        }
    }

    fn mark(&mut self, position: u32, ring: usize) {
        let is_down = self.picture.down.contains(&position);
        let (x, y) = self.place.node(position, ring);
        let radius = self.place.mark;
        let is_small = self.picture.size >= MANY;
        let fill = if is_small && !is_down { INK } else { "#ffffff" };
        let mut mark = Element::new("circle").number("cx", x).number("cy", y).number("r", radius);
        mark = mark.attribute("fill", fill).attribute("stroke", INK);
        self.svg.add(&if is_down { mark.attribute("stroke-dasharray", "3 2") } else { mark });
        if is_down {
            let arm = radius * 0.7;
            self.svg.add(&segment((x - arm, y - arm), (x + arm, y + arm)).attribute("stroke", SOFT));
            self.svg.add(&segment((x - arm, y + arm), (x + arm, y - arm)).attribute("stroke", SOFT));
        }
    }

    /// The name: in the mark, or beside the innermost mark if there are many nodes.
    fn name(&mut self, position: u32) {
        let Some(name) = self.picture.names.get(position as usize) else { return };
        let ring = (self.picture.level(position) as usize).min(self.place.radii.len()) - 1;
        let (x, y) = if self.picture.size < MANY {
            self.place.node(position, 0)
        } else {
            self.place.at(self.place.angle(f64::from(position)), self.place.radii[ring] - 14.0)
        };
        self.svg.add(&text((x, y + 3.5), name, "middle").attribute("fill", INK));
    }

    /// The start and the end of an arrow, beside the marks.
    fn ends(&self, arrow: &Arrow) -> (Point, Point) {
        let (from, to) = (self.place.node(arrow.from, 0), self.place.node(arrow.to, 0));
        let room = |position: u32| if position >= self.picture.size { INFORMER } else { self.place.mark + 1.0 };
        (towards(from, to, room(arrow.from)), towards(to, from, room(arrow.to)))
    }

    /// The control point of a curved arrow: beside the middle, to the left of its direction.
    fn control(&self, arrow: &Arrow) -> Point {
        let (from, to) = self.ends(arrow);
        let middle = between(from, to, 0.5);
        let (across, along) = (to.0 - from.0, to.1 - from.1);
        let bend = if arrow.course == Course::Spoke { 0.05 } else { 0.13 };
        (middle.0 + along * bend, middle.1 - across * bend)
    }

    fn line(&mut self, arrow: &Arrow) {
        let kind = arrow.labels.first().map_or(0, |label| label.kind);
        let data = match arrow.course {
            Course::Clockwise(ring) => self.arc(arrow.from, arrow.to, ring),
            Course::Counter => self.arc(arrow.to, arrow.from, 0),
            Course::Spoke | Course::Chord => {
                let ((x, y), end) = self.ends(arrow);
                let bend = self.control(arrow);
                path(&[('M', &[x, y]), ('Q', &[bend.0, bend.1, end.0, end.1])])
            }
        };
        let mut line =
            Element::new("path").attribute("d", data).attribute("fill", "none").attribute("stroke", colour(kind));
        let head = format!("url(#{}-head-{})", self.id, kind % COLOURS.len());
        let end = if arrow.course == Course::Counter { "marker-start" } else { "marker-end" };
        // On a ring that messages pass in one direction only, arrow heads between many nodes are noise.
        if !(matches!(arrow.course, Course::Clockwise(0)) && self.picture.size >= MANY) {
            line = line.attribute(end, head);
        }
        if arrow.labels.iter().all(|label| label.is_lost) {
            line = line.attribute("stroke-dasharray", "4 3");
        }
        self.svg.add(&line);
    }

    /// The arc along a ring from one node to the next, beside their marks.
    fn arc(&self, from: u32, to: u32, ring: usize) -> String {
        let radius = self.place.radii[ring];
        let room = (self.place.mark + 1.0) / radius;
        let start = self.place.angle(f64::from(from)) + room;
        let hop = (to + self.picture.size - from) % self.picture.size;
        let hop = if hop == 0 { self.picture.size } else { hop };
        let end = self.place.angle(f64::from(from + hop)) - room;
        let ((x, y), (to_x, to_y)) = (self.place.at(start, radius), self.place.at(end, radius));
        let is_large = f64::from(u8::from(end - start > std::f64::consts::PI));
        path(&[('M', &[x, y]), ('A', &[radius, radius, 0.0, is_large, 1.0, to_x, to_y])])
    }

    fn label(&mut self, arrow: &Arrow) {
        let length: usize = arrow.labels.iter().map(|label| label.text.chars().count() + 1).sum();
        let width = length as f64 * ADVANCE;
        let label = match arrow.course {
            Course::Clockwise(ring) => {
                let hop = (arrow.to + self.picture.size - arrow.from) % self.picture.size;
                let hop = if hop == 0 { self.picture.size } else { hop };
                // Beside a skipped node, not on it.
                let is_skip = ring == 0 && hop > 1;
                let (middle, hop) = if is_skip { (f64::from(hop) - 0.5, 1) } else { (f64::from(hop) / 2.0, hop) };
                self.ring_label(f64::from(arrow.from) + middle, hop, ring, width, false)
            }
            Course::Counter => self.ring_label(f64::from(arrow.to) + 0.5, 1, 0, width, true),
            Course::Spoke => {
                let (from, to) = self.ends(arrow);
                // The two directions are labelled at both ends and on both sides.
                let (x, y) = curve(from, self.control(arrow), to, 0.33);
                let direction = (to.1 - from.1).atan2(to.0 - from.0);
                let aside = (x + 8.0 * direction.sin(), y - 8.0 * direction.cos());
                turned(aside, readable(direction).0, "middle")
            }
            Course::Chord => {
                let (from, to) = self.ends(arrow);
                let (x, y) = curve(from, self.control(arrow), to, 0.28);
                text_at((x, y + 3.5), "middle")
            }
        };
        self.svg.add(&spans(label, &arrow.labels));
    }

    /// The place of a label of a ring: along the arc if it is long enough, otherwise outwards.
    fn ring_label(&self, middle: f64, hop: u32, ring: usize, width: f64, is_inside: bool) -> Element {
        let radius = self.place.radii[ring];
        let angle = self.place.angle(middle);
        let arc = std::f64::consts::TAU * radius * f64::from(hop) / f64::from(self.picture.size.max(1));
        if is_inside || arc - 2.0 * self.place.mark > width {
            let offset = if is_inside { -8.0 } else { 5.0 };
            let (degrees, is_turned) = readable(angle + std::f64::consts::FRAC_PI_2);
            // The baseline of a text that is turned round is on the other side of the arc.
            let offset = if is_turned { offset + 8.0 } else { offset };
            return turned(self.place.at(angle, radius + offset), degrees, "middle");
        }
        let (degrees, is_turned) = readable(angle);
        let (x, y) = self.place.at(angle, radius + 7.0);
        turned((x, y), degrees, if is_turned { "end" } else { "start" })
    }
}

/// A point of a quadratic curve.
fn curve(from: Point, control: Point, to: Point, share: f64) -> Point {
    between(between(from, control, share), between(control, to, share), share)
}

fn segment(from: Point, to: Point) -> Element {
    Element::new("line").number("x1", from.0).number("y1", from.1).number("x2", to.0).number("y2", to.1)
}

fn text_at((x, y): Point, anchor: &str) -> Element {
    Element::new("text").number("x", x).number("y", y).attribute("text-anchor", anchor)
}

fn text(at: Point, words: &str, anchor: &str) -> Element {
    text_at(at, anchor).text(words)
}

fn turned((x, y): Point, degrees: f64, anchor: &str) -> Element {
    let turn = format!("rotate({degrees:.1} {x:.1} {y:.1})");
    text_at((x, y), anchor).attribute("transform", turn).attribute("dominant-baseline", "auto")
}

/// Adds the labels, each in the colour of its kind, with a white edge that keeps them readable on lines.
fn spans(label: Element, labels: &[Label]) -> Element {
    let mut label =
        label.attribute("paint-order", "stroke").attribute("stroke", "#ffffff").attribute("stroke-width", "3");
    for (index, one) in labels.iter().enumerate() {
        let space = if index > 0 { " " } else { "" };
        label = label
            .child(&Element::new("tspan").attribute("fill", colour(one.kind)).text(&format!("{space}{}", one.text)));
    }
    label
}

/// What the labels mean, in lines below the picture.
struct Legend {
    lines: Vec<Vec<(usize, String)>>,
}

impl Legend {
    fn of(picture: &Picture, width: f64) -> Self {
        let mut lines: Vec<Vec<(usize, String)>> = vec![Vec::new()];
        let mut used = 0.0;
        for (kind, entry) in picture.legend() {
            let needed = (entry.chars().count() as f64 + 3.0) * ADVANCE;
            if used + needed > width - 20.0 && used > 0.0 {
                lines.push(Vec::new());
                used = 0.0;
            }
            used += needed;
            if let Some(line) = lines.last_mut() {
                line.push((kind, entry));
            }
        }
        Legend { lines }
    }

    fn height(&self) -> f64 {
        self.lines.len() as f64 * LINE
    }

    fn draw(&self, svg: &mut Svg, top: f64) {
        for (number, line) in self.lines.iter().enumerate() {
            let mut label = text_at((10.0, top + number as f64 * LINE), "start");
            for (index, (kind, entry)) in line.iter().enumerate() {
                let space = if index > 0 { "   " } else { "" };
                let span = Element::new("tspan").attribute("fill", colour(*kind)).attribute("xml:space", "preserve");
                label = label.child(&span.text(&format!("{space}{entry}")));
            }
            svg.add(&label);
        }
    }
}
