//! A chart as a picture in SVG: one file, no style sheet, no font inside, a white ground under everything.

mod canvas;
mod layout;
mod legend;
mod panel;
mod style;

use canvas::{Anchor, Canvas, short};
use layout::{CAPTION, Layout, MARGIN, TITLE, WIDTH};
use legend::Legend;
use panel::Frame;
use style::{FAINT, INK, define_hatches};

use super::chart::Chart;
use super::text::{FAMILY, LINE, balanced, escaped, wrapped};

/// The size of the small line below.
const NOTE: f64 = 10.0;

/// Draws the chart. The same chart gives the same bytes.
pub fn svg(chart: &Chart) -> String {
    let key = key(chart);
    let layout = Layout::new(chart);
    let legend = Legend::new(chart, WIDTH - layout.left - MARGIN);
    let title = balanced(&chart.title, TITLE, WIDTH - layout.left - MARGIN, 3);
    let note = wrapped(&chart.note, NOTE, WIDTH - layout.left - MARGIN, 2);

    let mut body = Canvas::default();
    if chart.has_bars() {
        define_hatches(&mut body, chart.series.len(), &key);
    }
    let mut y = MARGIN;
    for line in &title {
        body.words((layout.left, y + TITLE * 0.9), Anchor::Start, TITLE, line, "");
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
        let faint = format!(r#"fill="{FAINT}""#);
        body.words((layout.left, y + NOTE), Anchor::Start, NOTE, line, &faint);
        y += NOTE * LINE;
    }
    framed(chart, &key, y + MARGIN - 4.0, &body)
}

/// What stands at the axes.
fn captions(body: &mut Canvas, layout: &Layout, (top, bottom): (f64, f64), right: f64) {
    let middle = (layout.left + right) / 2.0;
    for (at, line) in layout.x_caption.iter().enumerate() {
        let y = bottom + layout.below_last() + CAPTION + at as f64 * CAPTION * LINE;
        body.words((middle, y), Anchor::Middle, CAPTION, line, "");
    }
    for (at, line) in layout.y_caption.iter().enumerate() {
        let (x, y) = (MARGIN + CAPTION * 0.9 + at as f64 * CAPTION * LINE, (top + bottom) / 2.0);
        let turn = format!(r#"transform="rotate(-90 {} {})""#, short(x), short(y));
        body.words((x, y), Anchor::Middle, CAPTION, line, &turn);
    }
}

/// The whole file.
fn framed(chart: &Chart, key: &str, height: f64, body: &Canvas) -> String {
    let (width, height) = (short(WIDTH), short(height.ceil()));
    let (title, description) = (escaped(&chart.title), escaped(&chart.description()));
    let mut file = Canvas::default();
    file.raw(&format!(
        r#"<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-labelledby="{key}-t {key}-d" font-family="{FAMILY}" fill="{INK}">"#
    ));
    file.raw(&format!(r#"<title id="{key}-t">{title}</title>"#));
    file.raw(&format!(r#"<desc id="{key}-d">{description}</desc>"#));
    // A page with a dark ground would swallow the ink.
    file.raw(&format!(r##"<rect width="{width}" height="{height}" fill="#ffffff"/>"##));
    file.text += &body.text;
    file.raw("</svg>");
    file.text
}

/// Something that identifiers of this picture start with, and those of others on the same page do not.
fn key(chart: &Chart) -> String {
    let text = format!("{}\n{}\n{}", chart.name, chart.title, chart.description());
    // FNV-1a: its values are the same for ever.
    let step = |hash: u64, byte: u8| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3);
    let hash = text.bytes().fold(0xcbf2_9ce4_8422_2325, step);
    format!("c{:08x}", hash >> 32)
}
