//! The width of text in the bundled font, and fitting text into a width.
//!
//! A browser without that font uses another one of [`FAMILY`], none of which is wider.

use super::glyphs::{glyph, units_per_em};

/// The name of the font and its fallbacks.
pub(super) const FAMILY: &str = "DejaVu Sans, Verdana, Arial, sans-serif";

/// The line height, relative to the font size.
pub(super) const LINE: f64 = 1.25;

/// The width of a text. A character that the font lacks is as wide as the font is high.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let one = |c: char| glyph(c).map_or(1.0, |glyph| f64::from(glyph.advance) / units_per_em());
    text.chars().map(one).sum::<f64>() * size
}

/// Shortens a text to a width.
pub(super) fn shortened(text: &str, size: f64, max_width: f64) -> String {
    if width(text, size) <= max_width {
        return text.to_string();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if width(&short, size) + width("…", size) > max_width {
            short.pop();
            break;
        }
    }
    short.truncate(short.trim_end().len());
    short + "…"
}

/// Wraps a text at spaces to a width; text beyond the given number of lines is cut.
pub(super) fn wrapped(text: &str, size: f64, max_width: f64, lines: usize) -> Vec<String> {
    let mut wrapped: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match wrapped.last_mut() {
            Some(line) if wrapped_fits(line, word, size, max_width) => *line = format!("{line} {word}"),
            _ => wrapped.push(word.to_string()),
        }
    }
    if wrapped.len() > lines {
        let rest = wrapped.split_off(lines.max(1) - 1).join(" ");
        wrapped.push(rest);
    }
    wrapped.iter().map(|line| shortened(line, size, max_width)).collect()
}

/// Wraps a text to lines of similar width.
pub(super) fn balanced(text: &str, size: f64, max_width: f64, lines: usize) -> Vec<String> {
    let widest = wrapped(text, size, max_width, lines);
    let narrower = (10..20).map(|part| wrapped(text, size, max_width * f64::from(part) / 20.0, lines + 1));
    let cut = |wrapped: &Vec<String>| wrapped.len() != widest.len() || wrapped.iter().any(|line| line.ends_with('…'));
    narrower.into_iter().find(|wrapped| !cut(wrapped)).unwrap_or(widest)
}

fn wrapped_fits(line: &str, word: &str, size: f64, max_width: f64) -> bool {
    width(line, size) + width(" ", size) + width(word, size) <= max_width
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_come_from_the_font() {
        assert!((width("n", 1000.0) - 633.8).abs() < 0.1, "{}", width("n", 1000.0));
        assert!(width("mm", 10.0) > 2.0 * width("ii", 10.0));
        assert_eq!(width("龍", 10.0), 10.0);
    }

    #[test]
    fn text_is_shortened_and_wrapped() {
        assert_eq!(shortened("leader", 10.0, 100.0), "leader");
        assert_eq!(shortened("leader election", 10.0, 50.0), "leader…");
        assert_eq!(shortened("leader", 10.0, 0.0), "…");
        let lines = wrapped("messages until the leader was elected", 10.0, 90.0, 3);
        assert_eq!(lines, ["messages until", "the leader was", "elected"]);
        assert!(lines.iter().all(|line| width(line, 10.0) <= 90.0));
        let cut = wrapped("messages until the leader was elected", 10.0, 90.0, 2);
        assert_eq!(cut, ["messages until", "the leader was…"]);
        assert_eq!(wrapped("", 10.0, 90.0, 2), [""; 0]);
        assert_eq!(balanced("messages of nine algorithms", 10.0, 140.0, 3), ["messages of", "nine algorithms"]);
    }
}
