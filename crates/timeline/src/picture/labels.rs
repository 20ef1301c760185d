//! Where the texts beside the marks go, so that none hides another.

use std::collections::BTreeMap;

pub(super) const FONT_SIZE: f64 = 12.0;
/// The width of a character, on average and generously.
const CHARACTER: f64 = 6.6;
/// The distance of a text from its mark, and the baseline of a text above and below a line.
const GAP: f64 = 2.0;
const ABOVE: f64 = -9.0;
const BELOW: f64 = 19.0;

/// The width of a text.
pub(super) fn width_of(text: &str) -> f64 {
    text.chars().count() as f64 * CHARACTER
}

/// The texts that have their places already.
pub(super) struct Labels {
    width: f64,
    /// From where to where the texts are, for each row and side.
    taken: BTreeMap<(usize, bool), Vec<(f64, f64)>>,
}

impl Labels {
    pub(super) fn new(width: f64) -> Self {
        Labels { width, taken: BTreeMap::new() }
    }

    /// The left end of a text and its distance from the line; `None` if there is no room for it.
    pub(super) fn place(&mut self, row: usize, x: f64, text: &str) -> Option<(f64, f64)> {
        if text.is_empty() {
            return None;
        }
        let width = width_of(text);
        // At the right end of the picture a text ends at its mark.
        let from = if x + GAP + width > self.width { (x - width).max(0.0) } else { x + GAP };
        let is_free = |taken: &Vec<(f64, f64)>| taken.iter().all(|(start, end)| from > *end || from + width < *start);
        [(false, ABOVE), (true, BELOW)].into_iter().find_map(|(is_below, offset)| {
            let taken = self.taken.entry((row, is_below)).or_default();
            is_free(taken).then(|| {
                taken.push((from, from + width));
                (from, offset)
            })
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_hides_another() {
        let mut labels = Labels::new(500.0);
        assert_eq!(labels.place(0, 100.0, "ten charac"), Some((102.0, ABOVE)));
        assert_eq!(labels.place(0, 110.0, "ten charac"), Some((112.0, BELOW)));
        assert_eq!(labels.place(0, 120.0, "ten charac"), None);
        assert_eq!(labels.place(1, 120.0, "ten charac"), Some((122.0, ABOVE)), "another row has room");
        assert_eq!(labels.place(0, 490.0, "ten charac"), Some((424.0, ABOVE)), "it stays inside");
        assert_eq!(labels.place(0, 300.0, ""), None);
    }
}
