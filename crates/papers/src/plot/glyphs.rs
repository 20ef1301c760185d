//! The glyphs of the font in charts: a table made from the font file.
//!
//! Charts use plain horizontal text in one font, which needs neither shaping nor font selection. With the table, the
//! program contains no font parser and no text engine. A test makes the table from `font/DejaVuSans-subset.ttf` and
//! compares it with the file; set `HUSTINGS_REGENERATE=1` to write it.

use std::sync::LazyLock;

/// A line with the units per em, then one line per glyph: code point, advance width and outline.
const TABLE: &str = include_str!("font/glyphs.txt");

/// One glyph, in units of the font.
#[derive(Clone, Copy, Debug)]
pub(super) struct Glyph {
    /// How far the next glyph is.
    pub(super) advance: u32,
    /// The data of an SVG path; y grows upwards.
    pub(super) outline: &'static str,
}

struct Font {
    units_per_em: f64,
    /// Sorted by character.
    glyphs: Vec<(char, Glyph)>,
}

static FONT: LazyLock<Font> = LazyLock::new(|| {
    let (head, lines) = TABLE.split_once('\n').unwrap_or_default();
    let glyph = |line: &'static str| {
        let mut parts = line.splitn(3, ' ');
        let code = u32::from_str_radix(parts.next()?, 16).ok()?;
        let advance = parts.next()?.parse().ok()?;
        Some((char::from_u32(code)?, Glyph { advance, outline: parts.next().unwrap_or_default() }))
    };
    Font { units_per_em: head.parse().unwrap_or(1.0), glyphs: lines.lines().filter_map(glyph).collect() }
});

/// The units of the font in the height of a line.
pub(super) fn units_per_em() -> f64 {
    FONT.units_per_em
}

/// The glyph of a character, if the font has one.
pub(super) fn glyph(character: char) -> Option<Glyph> {
    let at = FONT.glyphs.binary_search_by_key(&character, |(other, _)| *other).ok()?;
    Some(FONT.glyphs[at].1)
}

#[cfg(test)]
mod tests {
    use std::fmt::Write;
    use std::{env, fs};

    use skrifa::instance::{LocationRef, Size};
    use skrifa::outline::{DrawSettings, OutlinePen};
    use skrifa::{FontRef, MetadataProvider};

    use super::*;

    const FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/plot/font/DejaVuSans-subset.ttf");
    const TABLE_FILE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/src/plot/font/glyphs.txt");

    #[derive(Default)]
    struct Pen(String);

    impl OutlinePen for Pen {
        fn move_to(&mut self, x: f32, y: f32) {
            write!(self.0, "M{x} {y}").unwrap();
        }
        fn line_to(&mut self, x: f32, y: f32) {
            write!(self.0, "L{x} {y}").unwrap();
        }
        fn quad_to(&mut self, cx: f32, cy: f32, x: f32, y: f32) {
            write!(self.0, "Q{cx} {cy} {x} {y}").unwrap();
        }
        fn curve_to(&mut self, cx0: f32, cy0: f32, cx1: f32, cy1: f32, x: f32, y: f32) {
            write!(self.0, "C{cx0} {cy0} {cx1} {cy1} {x} {y}").unwrap();
        }
        fn close(&mut self) {
            self.0.push('Z');
        }
    }

    #[test]
    fn the_table_is_made_from_the_font() {
        let bytes = fs::read(FILE).unwrap();
        let font = FontRef::new(&bytes).unwrap();
        let metrics = font.glyph_metrics(Size::unscaled(), LocationRef::default());
        let per_em = font.metrics(Size::unscaled(), LocationRef::default()).units_per_em;
        let mut mappings: Vec<_> = font.charmap().mappings().collect();
        mappings.sort_unstable();
        let mut table = format!("{per_em}\n");
        for (code, glyph) in mappings {
            let mut pen = Pen::default();
            let settings = DrawSettings::unhinted(Size::unscaled(), LocationRef::default());
            font.outline_glyphs().get(glyph).unwrap().draw(settings, &mut pen).unwrap();
            writeln!(table, "{code:x} {} {}", metrics.advance_width(glyph).unwrap(), pen.0).unwrap();
        }
        if env::var_os("HUSTINGS_REGENERATE").is_some() {
            fs::write(TABLE_FILE, &table).unwrap();
        }
        assert_eq!(fs::read_to_string(TABLE_FILE).unwrap(), table, "HUSTINGS_REGENERATE=1 writes it");
    }

    #[test]
    fn the_font_has_all_characters_of_labels_and_formulas() {
        for c in "10⁵×·≤≥≈√∞⌊⌋⌈⌉λΘΩ–…½₂äß →".chars() {
            assert!(glyph(c).is_some(), "{c} is not in the font");
        }
        assert!(glyph('龍').is_none());
    }
}
