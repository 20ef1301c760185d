//! Colours, markers, dashes and hatches. Series differ in colour and in shape, so that a chart can also be read without
//! colours.

use hustings_text::svg::{Element, Svg};

use super::elements;

/// Colours on white that remain distinct with colour vision deficiency (after Okabe and Ito).
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b3a8e", "#4d4d4d"];

const DASHES: [&str; 8] = ["7 4", "2 3", "9 3 2 3", "13 4", "5 2 1 2", "1 4", "12 3 3 3", "4 6"];

/// The colour of text and axes.
pub(super) const INK: &str = "#222222";

/// The colour of secondary text.
pub(super) const FAINT: &str = "#666666";

/// The colour of lines behind the data.
pub(super) const GRID: &str = "#e4e4e4";

/// The colour of the axes.
pub(super) const AXIS: &str = "#555555";

/// The colour of a series.
pub(super) fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

/// Styles the line of a formula.
pub(super) fn curve(element: Element, overlay: usize, series: Option<usize>) -> Element {
    let element = element.attribute("fill", "none").attribute("stroke", series.map_or(INK, colour));
    element.attribute("stroke-width", 1.4).attribute("stroke-dasharray", DASHES[overlay % DASHES.len()])
}

/// Styles the line of a series.
pub(super) fn line(element: Element, series: usize) -> Element {
    let element = element.attribute("fill", "none").attribute("stroke", colour(series));
    element.attribute("stroke-width", 1.7).attribute("stroke-linejoin", "round")
}

/// The marker of a series.
pub(super) fn marker(series: usize, (x, y): (f64, f64)) -> Element {
    let polygon = |points: &[(f64, f64)]| {
        let points: Vec<(f64, f64)> = points.iter().map(|(dx, dy)| (x + dx, y + dy)).collect();
        elements::polygon(&points)
    };
    let r = 4.0;
    let marker = match series % COLOURS.len() {
        0 => Element::new("circle").number("cx", x).number("cy", y).number("r", 3.6),
        1 => polygon(&[(-3.3, -3.3), (3.3, -3.3), (3.3, 3.3), (-3.3, 3.3)]),
        2 => polygon(&[(0.0, -r - 0.6), (r + 0.3, r - 0.8), (-r - 0.3, r - 0.8)]),
        3 => polygon(&[(0.0, -r - 0.8), (r + 0.8, 0.0), (0.0, r + 0.8), (-r - 0.8, 0.0)]),
        4 => polygon(&[(0.0, r + 0.6), (r + 0.3, 0.8 - r), (-r - 0.3, 0.8 - r)]),
        5 => polygon(&cross(1.5, 4.6)),
        6 => polygon(&turned(&cross(1.5, 4.8))),
        _ => polygon(&star()),
    };
    let colour = colour(series);
    // Series beyond the last colour repeat colours and shapes, but hollow.
    let is_hollow = series >= COLOURS.len();
    let (fill, edge, edge_width) = if is_hollow { ("#ffffff", colour, 1.4) } else { (colour, "#ffffff", 0.7) };
    marker.attribute("fill", fill).attribute("stroke", edge).attribute("stroke-width", edge_width)
}

/// An upright cross with arms of this half width and length.
fn cross(a: f64, r: f64) -> [(f64, f64); 12] {
    [(-a, -r), (a, -r), (a, -a), (r, -a), (r, a), (a, a), (a, r), (-a, r), (-a, a), (-r, a), (-r, -a), (-a, -a)]
}

fn turned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    points
        .iter()
        .map(|(x, y)| ((x - y) * std::f64::consts::FRAC_1_SQRT_2, (x + y) * std::f64::consts::FRAC_1_SQRT_2))
        .collect()
}

fn star() -> Vec<(f64, f64)> {
    // A five-pointed star of radius 5, written out: the same digits on every machine.
    let outer = [(0.0, -5.2), (4.95, -1.61), (3.06, 4.21), (-3.06, 4.21), (-4.95, -1.61)];
    let inner = [(1.29, -1.78), (2.09, 0.68), (0.0, 2.2), (-2.09, 0.68), (-1.29, -1.78)];
    outer.into_iter().zip(inner).flat_map(|(outer, inner)| [outer, inner]).collect()
}

/// Defines the hatches of bars. Their identifiers start with the chart's key, because a page may hold many charts.
pub(super) fn define_hatches(picture: &mut Svg, series: usize, key: &str) {
    const STROKES: [&str; 8] = [
        "",
        "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4",
        "M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4",
        "M0,4 h8",
        "M4,0 v8",
        "M0,0 l8,8 M0,8 l8,-8",
        "M3,4 h2 M-1,0 h2 M7,0 h2 M-1,8 h2 M7,8 h2",
        "M0,4 h8 M4,0 v8",
    ];
    let sized = |element: Element| element.number("width", 8.0).number("height", 8.0);
    picture.open(&Element::new("defs"));
    for at in 0..series {
        let strokes = Element::new("path").attribute("d", STROKES[at % STROKES.len()]).attribute("fill", "none");
        let strokes = strokes.attribute("stroke", "#ffffff").attribute("stroke-width", 1.6);
        let pattern = sized(Element::new("pattern").attribute("id", format!("{key}-{at}")));
        let pattern = pattern.attribute("patternUnits", "userSpaceOnUse");
        picture.add(&pattern.child(&sized(Element::new("rect")).attribute("fill", colour(at))).child(&strokes));
    }
    picture.close("defs");
}

/// Styles a bar.
pub(super) fn bar(element: Element, series: usize, key: &str) -> Element {
    let element = element.attribute("fill", format!("url(#{key}-{series})"));
    element.attribute("stroke", colour(series)).attribute("stroke-width", 1)
}
