//! Elements of a chart. They have attributes instead of classes, because a page may hold many charts.

use hustings_text::svg::{Element, number};

use crate::plot::scale::Label;
use crate::plot::text::width;

/// The point of a text that is at its position.
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

pub(super) fn line((x1, y1): (f64, f64), (x2, y2): (f64, f64)) -> Element {
    Element::new("line").number("x1", x1).number("y1", y1).number("x2", x2).number("y2", y2)
}

pub(super) fn rectangle((x, y): (f64, f64), (width, height): (f64, f64)) -> Element {
    Element::new("rect").number("x", x).number("y", y).number("width", width).number("height", height)
}

pub(super) fn polyline(points: &[(f64, f64)]) -> Element {
    Element::new("polyline").attribute("points", coordinates(points))
}

pub(super) fn polygon(points: &[(f64, f64)]) -> Element {
    Element::new("polygon").attribute("points", coordinates(points))
}

/// A text without its content.
pub(super) fn text((x, y): (f64, f64), anchor: Anchor, size: f64) -> Element {
    let element = Element::new("text").number("x", x).number("y", y).number("font-size", size);
    element.attribute("text-anchor", anchor.name())
}

/// The label of a tick.
pub(super) fn label(at: (f64, f64), anchor: Anchor, size: f64, label: &Label) -> Element {
    let element = text(at, anchor, size).text(&label.base);
    if label.exponent.is_empty() {
        return element;
    }
    let raised = Element::new("tspan").number("dy", -size * 0.38).number("font-size", size * EXPONENT);
    element.child(&raised.text(&label.exponent))
}

/// Rotates an element around a point.
pub(super) fn rotated(element: Element, degrees: i32, (x, y): (f64, f64)) -> Element {
    element.attribute("transform", format!("rotate({degrees} {} {})", number(x), number(y)))
}

/// The font size of an exponent, relative to the text.
const EXPONENT: f64 = 0.75;

/// The width of a label.
pub(super) fn label_width(label: &Label, size: f64) -> f64 {
    width(&label.base, size) + width(&label.exponent, size * EXPONENT)
}

fn coordinates(points: &[(f64, f64)]) -> String {
    points.iter().map(|(x, y)| format!("{},{}", number(*x), number(*y))).collect::<Vec<_>>().join(" ")
}
