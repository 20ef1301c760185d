//! Colours and marks.

use super::timeline::Mark;
use hustings_text::svg::Element;

/// The number of colours for kinds of messages. Further kinds repeat the colours with dashed lines.
pub(super) const COLOURS: usize = 8;

const LIGHT: [&str; COLOURS] = ["#2563eb", "#d9480f", "#0f8a5f", "#9333ea", "#0e7490", "#be185d", "#4d7c0f", "#57534e"];
const DARK: [&str; COLOURS] = ["#6aa6ff", "#ff9a57", "#3ddc9b", "#c792ff", "#38d3ee", "#ff7fb8", "#b1e04a", "#d6d3d1"];

/// The style sheet. Every rule is limited to the diagram's own class, so that it styles nothing else on a page.
pub(super) fn sheet() -> String {
    let mut sheet = String::new();
    let mut rule = |selector: &str, body: &str| sheet.push_str(&format!(".hustings-trace {selector} {{ {body} }}\n"));
    rule("text", "font: 12px system-ui, \"Segoe UI\", \"DejaVu Sans\", sans-serif");
    rule(".head", "font-size: 15px; font-weight: 600");
    rule(".tick", "font-size: 11px; text-anchor: middle");
    rule(".name", "text-anchor: end");
    rule(
        ".payload",
        "font-size: 10px; text-anchor: middle; paint-order: stroke; stroke-width: 3px; stroke-linejoin: round",
    );
    rule(".grid", "stroke-width: 1; stroke-opacity: 0.12");
    rule(".up", "stroke-width: 1.5; stroke-opacity: 0.55");
    rule(".down", "stroke-width: 1.5; stroke-opacity: 0.35; stroke-dasharray: 2 5");
    rule(".leading", "stroke-width: 7; stroke-opacity: 0.45; stroke-linecap: round");
    rule(".arrow", "fill: none; stroke-width: 1.6");
    rule(".again", "stroke-dasharray: 8 3");
    rule(".lost", "stroke-opacity: 0.55; stroke-dasharray: 2 4");
    rule(".arrow:hover", "stroke-width: 3.5");
    rule(".cross", "fill: none; stroke-width: 2.2; stroke-linecap: round");
    rule(".mark", "stroke-width: 1.4; stroke-linejoin: round");
    sheet.push_str(&theme("", "#ffffff", "#1f2937", "#c2410c", "#f2b705", &LIGHT));
    let dark = theme("  ", "#12161c", "#e5e7eb", "#ff8a65", "#ffd24a", &DARK);
    sheet.push_str(&format!("@media (prefers-color-scheme: dark) {{\n{dark}}}\n"));
    sheet
}

fn theme(indent: &str, paper: &str, ink: &str, alarm: &str, gold: &str, kinds: &[&str; COLOURS]) -> String {
    let mut sheet = String::new();
    let mut rule = |selector: &str, body: String| {
        let selector = selector.split(", ").map(|one| format!(".hustings-trace {one}")).collect::<Vec<_>>().join(", ");
        sheet.push_str(&format!("{indent}{selector} {{ {body} }}\n"));
    };
    rule(".paper", format!("fill: {paper}"));
    rule("text", format!("fill: {ink}"));
    rule(".grid, .up, .down", format!("stroke: {ink}"));
    rule(".leading", format!("stroke: {gold}"));
    rule(".cross", format!("stroke: {alarm}"));
    rule(".payload", format!("stroke: {paper}"));
    rule(".mark", format!("fill: {ink}; stroke: {paper}"));
    rule(".mark.hollow", format!("fill: {paper}; stroke: {ink}"));
    rule(".mark.gold", format!("fill: {gold}; stroke: {ink}"));
    rule(".mark.alarm", format!("fill: {alarm}; stroke: {paper}"));
    for (index, colour) in kinds.iter().enumerate() {
        rule(&format!(".k{index}"), format!("stroke: {colour}"));
        rule(&format!(".f{index}"), format!("fill: {colour}"));
    }
    sheet
}

/// The classes of an arrow for messages of this kind.
pub(super) fn arrow_class(kind: usize) -> String {
    format!("arrow k{}{}", kind % COLOURS, if kind >= COLOURS { " again" } else { "" })
}

/// What an arrow for messages of this kind refers to as its head.
pub(super) fn arrow_head_reference(kind: usize) -> String {
    format!("url(#hustings-head{})", kind % COLOURS)
}

/// The arrow head of a colour. Not every renderer lets a head inherit the colour of its line.
pub(super) fn arrow_head(colour: usize) -> Element {
    let outline = Element::new("path").attribute("class", format!("f{colour}")).attribute("d", "M0 0.8 L8 4 L0 7.2 z");
    Element::new("marker")
        .attribute("id", format!("hustings-head{colour}"))
        .attribute("viewBox", "0 0 8 8")
        .attribute("refX", 7)
        .attribute("refY", 4)
        .attribute("markerWidth", 8)
        .attribute("markerHeight", 8)
        .attribute("markerUnits", "userSpaceOnUse")
        .attribute("orient", "auto")
        .child(&outline)
}

/// The cross at the end of a message that was lost, around the origin.
pub(super) fn cross() -> Element {
    Element::new("path").attribute("class", "cross").attribute("d", "M-4 -4 L4 4 M-4 4 L4 -4")
}

/// A mark around the origin.
pub(super) fn mark(mark: Mark) -> Element {
    let (class, outline) = outline(mark);
    Element::new("path").attribute("class", class).attribute("d", outline)
}

/// The class and the outline of a mark.
fn outline(mark: Mark) -> (&'static str, &'static str) {
    match mark {
        Mark::Starts => ("mark hollow", "M-4 -5 L5 0 L-4 5 z"),
        Mark::Leads => {
            ("mark gold", "M0 -9 L2.4 -3 L8.6 -2.8 L3.8 1.2 L5.3 7.3 L0 3.9 L-5.3 7.3 L-3.8 1.2 L-8.6 -2.8 L-2.4 -3 z")
        }
        Mark::Follows => ("mark", "M-4 0 A4 4 0 1 0 4 0 A4 4 0 1 0 -4 0 z"),
        Mark::Forgets => ("mark hollow", "M-4 0 A4 4 0 1 0 4 0 A4 4 0 1 0 -4 0 z"),
        Mark::Timer => ("mark hollow", "M-4 -5 L4 -5 L-4 5 L4 5 z"),
        Mark::Unreachable => ("mark hollow", "M5 -4 L-4 0 L5 4 z"),
        Mark::Changed => ("mark hollow", "M-4 -4 L4 -4 L4 4 L-4 4 z"),
        Mark::Crashed => ("mark alarm", "M-5.5 -5.5 L5.5 -5.5 L5.5 5.5 L-5.5 5.5 z"),
        Mark::Returned => ("mark hollow", "M0 -6 L6 0 L0 6 L-6 0 z"),
    }
}
