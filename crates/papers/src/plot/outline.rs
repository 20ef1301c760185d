//! Turns the text of a chart into paths, so that it can be rendered without a text engine.

use std::fmt::Write;

use hustings_text::svg::{Element, number};
use resvg::usvg::roxmltree::{Document, Error, Node};

use super::glyphs::{glyph, units_per_em};
use super::text::width;

/// The font size of text that has none, as SVG defines it.
const DEFAULT_SIZE: f64 = 16.0;

/// Attributes of a text that the outlines take care of. All others are kept.
const CONSUMED: [&str; 4] = ["x", "y", "font-size", "text-anchor"];

/// Replaces every `text` element of a picture by its outlines.
pub(super) fn outlined(svg: &str) -> Result<String, Error> {
    let document = Document::parse(svg)?;
    let (mut outlined, mut done) = (String::with_capacity(svg.len()), 0);
    for text in document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", "text"))) {
        let range = text.range();
        outlined.push_str(&svg[done..range.start]);
        outlined.push_str(&outline(text));
        done = range.end;
    }
    outlined.push_str(&svg[done..]);
    Ok(outlined)
}

/// A stretch of text in one size.
struct Run<'a> {
    text: &'a str,
    size: f64,
    /// How far it is below the text before it.
    shift: f64,
}

fn outline(text: Node<'_, '_>) -> String {
    let attribute = |node: Node<'_, '_>, name: &str| node.attribute(name).and_then(|value| value.parse::<f64>().ok());
    let size = attribute(text, "font-size").unwrap_or(DEFAULT_SIZE);
    let run = |child: Node<'_, '_>| {
        // Elements inside a text are raised exponents.
        let own =
            |name, otherwise| if child.is_element() { attribute(child, name).unwrap_or(otherwise) } else { otherwise };
        (own("font-size", size), own("dy", 0.0))
    };
    let runs: Vec<Run<'_>> = text
        .children()
        .filter_map(|child| {
            let (size, shift) = run(child);
            child.text().map(|text| Run { text, size, shift })
        })
        .collect();
    let length: f64 = runs.iter().map(|run| width(run.text, run.size)).sum();
    let before = match text.attribute("text-anchor") {
        Some("middle") => length / 2.0,
        Some("end") => length,
        _ => 0.0,
    };
    let (mut x, mut y) = (attribute(text, "x").unwrap_or(0.0) - before, attribute(text, "y").unwrap_or(0.0));
    let mut paths = String::new();
    for run in runs {
        y += run.shift;
        let scale = run.size / units_per_em();
        for character in run.text.chars() {
            if let Some(glyph) = glyph(character) {
                // In the font y grows upwards. Writing to a string cannot fail.
                let place = format!("translate({} {}) scale({scale:.6} -{scale:.6})", number(x), number(y));
                let path = Element::new("path").attribute("transform", place).attribute("d", glyph.outline);
                let _ = write!(paths, "{path}");
            }
            x += width(character.encode_utf8(&mut [0; 4]), run.size);
        }
    }
    let kept = text.attributes().filter(|attribute| !CONSUMED.contains(&attribute.name()));
    let group = kept.fold(Element::new("g"), |group, attribute| group.attribute(attribute.name(), attribute.value()));
    let group = group.to_string();
    format!("{}>{paths}</g>", group.trim_end_matches("/>"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picture(inside: &str) -> String {
        format!(r#"<svg xmlns="http://www.w3.org/2000/svg" width="40" height="20">{inside}</svg>"#)
    }

    #[test]
    fn replaces_text_and_keeps_everything_else() {
        let text = r#"<rect width="3"/><text x="2" y="15" font-size="10" fill="red">l</text><g/>"#;
        let outlined = outlined(&picture(text)).unwrap();
        let begin = picture(r#"<rect width="3"/><g fill="red"><path transform="translate(2 15) scale(0.0"#);
        assert!(outlined.starts_with(begin.trim_end_matches("</svg>")), "{outlined}");
        assert!(outlined.ends_with(r#"Z"/></g><g/></svg>"#), "{outlined}");
    }

    #[test]
    fn anchors_shift_the_text_by_its_width() {
        let first_x = |anchor: &str| {
            let text = format!(r#"<text x="100" y="15" font-size="10" text-anchor="{anchor}">l</text>"#);
            let outlined = outlined(&picture(&text)).unwrap();
            let place = outlined.split_once("translate(").unwrap().1;
            place.split_once(' ').unwrap().0.parse::<f64>().unwrap()
        };
        let length = width("l", 10.0);
        assert!((first_x("start") - first_x("end") - length).abs() < 0.02);
        assert!((first_x("start") - first_x("middle") - length / 2.0).abs() < 0.02);
    }

    #[test]
    fn rejects_text_that_is_not_xml() {
        assert!(outlined("<svg").is_err());
    }
}
