//! Draws a chart as SVG: one file without style sheet and fonts, on a white background.

mod elements;
mod layout;
mod legend;
mod panel;
mod style;

use hustings_text::svg::{Element, Svg, number};

use elements::{Anchor, rotated, text};
use layout::{CAPTION, Layout, MARGIN, TITLE, WIDTH};
use legend::Legend;
use panel::Frame;
use style::{FAINT, INK, define_hatches};

use super::chart::Chart;
use super::text::{FAMILY, LINE, balanced, wrapped};

/// The font size of the note.
const NOTE: f64 = 10.0;

/// Draws the chart. The same chart gives the same bytes.
pub fn svg(chart: &Chart) -> String {
    let key = key(chart);
    let layout = Layout::new(chart);
    let legend = Legend::new(chart, WIDTH - layout.left - MARGIN);
    let title = balanced(&chart.title, TITLE, WIDTH - layout.left - MARGIN, 3);
    let note = wrapped(&chart.note, NOTE, WIDTH - layout.left - MARGIN, 2);

    let mut body = Svg::default();
    if chart.has_bars() {
        define_hatches(&mut body, chart.series.len(), &key);
    }
    let mut y = MARGIN;
    for line in &title {
        body.add(&text((layout.left, y + TITLE * 0.9), Anchor::Start, TITLE).text(line));
        y += TITLE * LINE;
    }
    y += 4.0;
    legend.draw(&mut body, (layout.left, y), chart.has_bars(), &key);
    y += legend.height + 4.0;

    let count = chart.panels.len();
    let mut bottom = y;
    for (at, panel) in chart.panels.iter().enumerate() {
        let (corner, labelled) = (layout.corner(at, y), layout.labelled(at, count));
        Frame { chart, layout: &layout, key: &key, corner, labelled }.draw(&mut body, panel);
        bottom = corner.1 + layout.panel.1;
    }
    let columns = layout.columns.min(count.max(1));
    let right = layout.corner(columns - 1, y).0 + layout.panel.0;
    captions(&mut body, &layout, (layout.corner(0, y).1, bottom), right);
    y = bottom + layout.below_last() + layout.x_caption.len() as f64 * CAPTION * LINE + 6.0;
    for line in &note {
        body.add(&text((layout.left, y + NOTE), Anchor::Start, NOTE).attribute("fill", FAINT).text(line));
        y += NOTE * LINE;
    }
    framed(chart, &key, y + MARGIN - 4.0, &body)
}

/// The labels of the axes.
fn captions(body: &mut Svg, layout: &Layout, (top, bottom): (f64, f64), right: f64) {
    let middle = (layout.left + right) / 2.0;
    for (at, line) in layout.x_caption.iter().enumerate() {
        let y = bottom + layout.below_last() + CAPTION + at as f64 * CAPTION * LINE;
        body.add(&text((middle, y), Anchor::Middle, CAPTION).text(line));
    }
    for (at, line) in layout.y_caption.iter().enumerate() {
        let (x, y) = (MARGIN + CAPTION * 0.9 + at as f64 * CAPTION * LINE, (top + bottom) / 2.0);
        body.add(&rotated(text((x, y), Anchor::Middle, CAPTION), -90, (x, y)).text(line));
    }
}

/// The whole file.
fn framed(chart: &Chart, key: &str, height: f64, body: &Svg) -> String {
    let height = height.ceil();
    let sized = |element: Element| element.number("width", WIDTH).number("height", height);
    let mut file = Svg::default();
    let root = sized(Element::new("svg").attribute("xmlns", "http://www.w3.org/2000/svg"))
        .attribute("viewBox", format!("0 0 {} {}", number(WIDTH), number(height)))
        .attribute("role", "img")
        .attribute("aria-labelledby", format!("{key}-t {key}-d"))
        .attribute("font-family", FAMILY)
        .attribute("fill", INK);
    file.open(&root);
    file.add(&Element::new("title").attribute("id", format!("{key}-t")).text(&chart.title));
    file.add(&Element::new("desc").attribute("id", format!("{key}-d")).text(&chart.description()));
    // Dark text needs a light background on every page.
    file.add(&sized(Element::new("rect")).attribute("fill", "#ffffff"));
    file.append(body);
    file.close("svg");
    file.into_string()
}

/// A prefix of the identifiers in this chart. Other charts on the same page have other prefixes.
fn key(chart: &Chart) -> String {
    let text = format!("{}\n{}\n{}", chart.name, chart.title, chart.description());
    // FNV-1a gives the same value on every machine and in every version.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("c{:08x}", hash >> 32)
}
