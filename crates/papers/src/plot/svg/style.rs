//! Colours, markers, dashes and hatches: each series differs from the others in colour and in shape, so that a chart
//! can also be read without colours.

use super::canvas::{Canvas, short};

/// Colours that people with any kind of colour vision tell apart (after Okabe and Ito), on white.
const COLOURS: [&str; 8] = ["#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#5b3a8e", "#4d4d4d"];

const DASHES: [&str; 8] = ["7 4", "2 3", "9 3 2 3", "13 4", "5 2 1 2", "1 4", "12 3 3 3", "4 6"];

/// The colour of text and axes.
pub(super) const INK: &str = "#222222";

/// The colour of text that says less.
pub(super) const FAINT: &str = "#666666";

/// The colour of lines behind the data.
pub(super) const GRID: &str = "#e4e4e4";

/// The colour of the axes.
pub(super) const AXIS: &str = "#555555";

/// The colour of a series.
pub(super) fn colour(series: usize) -> &'static str {
    COLOURS[series % COLOURS.len()]
}

/// The dashes of a formula.
pub(super) fn dashes(overlay: usize) -> &'static str {
    DASHES[overlay % DASHES.len()]
}

/// Attributes of a formula's line.
pub(super) fn curve(overlay: usize, series: Option<usize>) -> String {
    let colour = series.map_or(INK, colour);
    format!(r#"fill="none" stroke="{colour}" stroke-width="1.4" stroke-dasharray="{}""#, dashes(overlay))
}

/// Attributes of a series' line.
pub(super) fn line(series: usize) -> String {
    format!(r#"fill="none" stroke="{}" stroke-width="1.7" stroke-linejoin="round""#, colour(series))
}

/// Draws the marker of a series; `said` is what a browser says about it.
pub(super) fn marker(canvas: &mut Canvas, series: usize, (x, y): (f64, f64), said: &str) {
    let colour = colour(series);
    // The second round has the same colours and shapes, but hollow ones.
    let hollow = series >= COLOURS.len();
    let (fill, edge, edge_width) = if hollow { ("#ffffff", colour, "1.4") } else { (colour, "#ffffff", "0.7") };
    let attributes = format!(r#"fill="{fill}" stroke="{edge}" stroke-width="{edge_width}""#);
    let end = if said.is_empty() { "/>".to_string() } else { format!("><title>{said}</title></") };
    let polygon = |points: &[(f64, f64)]| {
        let at: Vec<String> = points.iter().map(|(dx, dy)| format!("{},{}", short(x + dx), short(y + dy))).collect();
        (format!(r#"<polygon points="{}" {attributes}"#, at.join(" ")), "polygon>")
    };
    let r = 4.0;
    let (start, name) = match series % COLOURS.len() {
        0 => (format!(r#"<circle cx="{}" cy="{}" r="3.6" {attributes}"#, short(x), short(y)), "circle>"),
        1 => polygon(&[(-3.3, -3.3), (3.3, -3.3), (3.3, 3.3), (-3.3, 3.3)]),
        2 => polygon(&[(0.0, -r - 0.6), (r + 0.3, r - 0.8), (-r - 0.3, r - 0.8)]),
        3 => polygon(&[(0.0, -r - 0.8), (r + 0.8, 0.0), (0.0, r + 0.8), (-r - 0.8, 0.0)]),
        4 => polygon(&[(0.0, r + 0.6), (r + 0.3, 0.8 - r), (-r - 0.3, 0.8 - r)]),
        5 => polygon(&cross(1.5, 4.6)),
        6 => polygon(&turned(&cross(1.5, 4.8))),
        _ => polygon(&star()),
    };
    canvas.raw(&if said.is_empty() { format!("{start}{end}") } else { format!("{start}{end}{name}") });
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

/// Defines the fillings of bars. Identifiers carry the picture's own key, because a page may hold many pictures.
pub(super) fn define_hatches(canvas: &mut Canvas, series: usize, key: &str) {
    canvas.raw("<defs>");
    for at in 0..series {
        let strokes = [
            "",
            "M-2,2 l4,-4 M0,8 l8,-8 M6,10 l4,-4",
            "M-2,6 l4,4 M0,0 l8,8 M6,-2 l4,4",
            "M0,4 h8",
            "M4,0 v8",
            "M0,0 l8,8 M0,8 l8,-8",
            "M3,4 h2 M-1,0 h2 M7,0 h2 M-1,8 h2 M7,8 h2",
            "M0,4 h8 M4,0 v8",
        ];
        let (colour, strokes) = (colour(at), strokes[at % strokes.len()]);
        canvas.raw(&format!(
            r##"<pattern id="{key}-{at}" width="8" height="8" patternUnits="userSpaceOnUse"><rect width="8" height="8" fill="{colour}"/><path d="{strokes}" fill="none" stroke="#ffffff" stroke-width="1.6"/></pattern>"##
        ));
    }
    canvas.raw("</defs>");
}

/// Attributes of a bar.
pub(super) fn bar(series: usize, key: &str) -> String {
    format!(r#"fill="url(#{key}-{series})" stroke="{}" stroke-width="1""#, colour(series))
}
