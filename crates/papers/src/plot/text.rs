//! How wide words are in the bundled font, and how they are made to fit.
//!
//! A browser without that font takes another; those named in [`FAMILY`] are as wide or narrower.

use std::sync::LazyLock;

use skrifa::instance::{LocationRef, Size};
use skrifa::{FontRef, MetadataProvider};

/// The font of all pictures.
pub(super) const FONT: &[u8] = include_bytes!("font/DejaVuSans-subset.ttf");

/// Its name, and what may stand in for it.
pub(super) const FAMILY: &str = "DejaVu Sans, Verdana, Arial, sans-serif";

/// How high a line of text is, in sizes of its font.
pub(super) const LINE: f64 = 1.25;

/// Widths of the characters below this one are looked up once.
const COMMON: u32 = 0x2c00;

/// Widths in units of the size; what the font lacks is taken to be as wide as it is high.
static WIDTHS: LazyLock<Vec<f32>> = LazyLock::new(|| {
    let Ok(font) = FontRef::new(FONT) else { return Vec::new() };
    let (characters, metrics) = (font.charmap(), font.glyph_metrics(Size::new(1.0), LocationRef::default()));
    let width = |code: u32| metrics.advance_width(characters.map(code)?);
    (0..COMMON).map(|code| width(code).unwrap_or(1.0)).collect()
});

/// How wide a text is.
pub(super) fn width(text: &str, size: f64) -> f64 {
    let one = |c: char| WIDTHS.get(c as usize).copied().map_or(1.0, f64::from);
    text.chars().map(one).sum::<f64>() * size
}

/// The text, cut so that it is no wider than this.
pub(super) fn shortened(text: &str, size: f64, most: f64) -> String {
    if width(text, size) <= most {
        return text.to_string();
    }
    let mut short = String::new();
    for c in text.chars() {
        short.push(c);
        if width(&short, size) + width("…", size) > most {
            short.pop();
            break;
        }
    }
    short.truncate(short.trim_end().len());
    short + "…"
}

/// The text in lines that are no wider than this, broken at spaces; what does not fit into so many lines is cut.
pub(super) fn wrapped(text: &str, size: f64, most: f64, lines: usize) -> Vec<String> {
    let mut wrapped: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match wrapped.last_mut() {
            Some(line) if wrapped_fits(line, word, size, most) => *line = format!("{line} {word}"),
            _ => wrapped.push(word.to_string()),
        }
    }
    if wrapped.len() > lines {
        let rest = wrapped.split_off(lines.max(1) - 1).join(" ");
        wrapped.push(rest);
    }
    wrapped.iter().map(|line| shortened(line, size, most)).collect()
}

/// The same, but in lines of about the same width.
pub(super) fn balanced(text: &str, size: f64, most: f64, lines: usize) -> Vec<String> {
    let widest = wrapped(text, size, most, lines);
    let narrower = (10..20).map(|part| wrapped(text, size, most * f64::from(part) / 20.0, lines + 1));
    let cut = |wrapped: &Vec<String>| wrapped.len() != widest.len() || wrapped.iter().any(|line| line.ends_with('…'));
    narrower.into_iter().find(|wrapped| !cut(wrapped)).unwrap_or(widest)
}

fn wrapped_fits(line: &str, word: &str, size: f64, most: f64) -> bool {
    width(line, size) + width(" ", size) + width(word, size) <= most
}

/// The text as it is written in XML; characters that XML does not have become a question mark.
pub(super) fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe += "&amp;",
            '<' => safe += "&lt;",
            '>' => safe += "&gt;",
            '"' => safe += "&quot;",
            '\n' | '\t' | '\r' => safe.push(' '),
            '\0'..='\u{1f}' | '\u{7f}'..='\u{9f}' | '\u{fffe}' | '\u{ffff}' => safe.push('?'),
            c => safe.push(c),
        }
    }
    safe
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn widths_come_from_the_font() {
        assert!((width("n", 1000.0) - 633.8).abs() < 0.1, "{}", width("n", 1000.0));
        assert!(width("mm", 10.0) > 2.0 * width("ii", 10.0));
        assert_eq!(width("龍", 10.0), 10.0);
        // What labels and formulas are made of is in the font: nothing has the width of what is lacking.
        for c in "10⁵×·≤≥≈√∞⌊⌋⌈⌉λΘΩ–…½₂äß →".chars() {
            let font = FontRef::new(FONT).unwrap();
            assert!(font.charmap().map(c).is_some(), "{c} is not in the font");
        }
    }

    #[test]
    fn texts_are_cut_and_broken_to_fit() {
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
        assert_eq!(escaped("a<b>&\"\u{0}\n"), "a&lt;b&gt;&amp;&quot;? ");
    }
}
