//! Elements of a picture, written one after the other. Attributes only, no style sheet: a page may hold many pictures.

use std::fmt::Write;

use crate::plot::scale::Label;
use crate::plot::text::{escaped, width};

/// Which point of a text stands where it is put.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Anchor::Start => "start",
            Anchor::Middle => "middle",
            Anchor::End => "end",
        }
    }
}

/// The picture so far.
#[derive(Debug, Default)]
pub(super) struct Canvas {
    pub(super) text: String,
}

/// A number as it is written: a hundredth of a pixel is enough.
pub(super) fn short(number: f64) -> String {
    let text = format!("{number:.2}");
    let text = text.trim_end_matches('0').trim_end_matches('.');
    if text == "-0" { "0".to_string() } else { text.to_string() }
}

impl Canvas {
    /// Appends a line of XML.
    pub(super) fn raw(&mut self, line: &str) {
        self.text += line;
        self.text.push('\n');
    }

    pub(super) fn line(&mut self, (x1, y1): (f64, f64), (x2, y2): (f64, f64), attributes: &str) {
        let line = format!(
            r#"<line x1="{}" y1="{}" x2="{}" y2="{}" {attributes}/>"#,
            short(x1),
            short(y1),
            short(x2),
            short(y2)
        );
        self.raw(&line);
    }

    pub(super) fn rectangle(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), attributes: &str) {
        let (x, y, width, height) = (short(x), short(y), short(width), short(height));
        self.raw(&format!(r#"<rect x="{x}" y="{y}" width="{width}" height="{height}" {attributes}/>"#));
    }

    pub(super) fn polyline(&mut self, points: &[(f64, f64)], attributes: &str) {
        let places = listed(points);
        self.raw(&format!(r#"<polyline points="{places}" {attributes}/>"#));
    }

    pub(super) fn polygon(&mut self, points: &[(f64, f64)], attributes: &str) {
        let places = listed(points);
        self.raw(&format!(r#"<polygon points="{places}" {attributes}/>"#));
    }

    pub(super) fn words(&mut self, (x, y): (f64, f64), anchor: Anchor, size: f64, words: &str, attributes: &str) {
        let (x, y, size, anchor, words) = (short(x), short(y), short(size), anchor.name(), escaped(words));
        let space = if attributes.is_empty() { "" } else { " " };
        self.raw(&format!(
            r#"<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}"{space}{attributes}>{words}</text>"#
        ));
    }

    /// What stands at a tick.
    pub(super) fn label(&mut self, (x, y): (f64, f64), anchor: Anchor, size: f64, label: &Label) {
        let mut words = escaped(&label.base);
        if !label.exponent.is_empty() {
            let (up, small) = (short(-size * 0.38), short(size * EXPONENT));
            // Writing to a string cannot fail.
            let _ = write!(words, r#"<tspan dy="{up}" font-size="{small}">{}</tspan>"#, escaped(&label.exponent));
        }
        let (x, y, size, anchor) = (short(x), short(y), short(size), anchor.name());
        self.raw(&format!(r#"<text x="{x}" y="{y}" font-size="{size}" text-anchor="{anchor}">{words}</text>"#));
    }
}

/// The size of an exponent, as a part of the text's.
const EXPONENT: f64 = 0.75;

/// How wide a label is.
pub(super) fn label_width(label: &Label, size: f64) -> f64 {
    width(&label.base, size) + width(&label.exponent, size * EXPONENT)
}

fn listed(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{},{}", short(*x), short(*y))).collect::<Vec<_>>().join(" ")
}
