//! The legend: the value of each line, bar and dash pattern, in rows above the panels.

use hustings_text::svg::Svg;

use super::elements::{Anchor, line, rectangle, text};
use super::style;
use crate::plot::chart::Chart;
use crate::plot::text::{shortened, width};

const SIZE: f64 = 11.5;
const ROW: f64 = 18.0;
/// The width of a sample.
const SAMPLE: f64 = 28.0;
const GAP: f64 = 7.0;
const BETWEEN: f64 = 20.0;

/// The subject of an entry.
#[derive(Clone, Copy, Debug)]
enum Sample {
    Series(usize),
    Overlay(usize),
}

/// A legend with the positions of its entries.
#[derive(Debug)]
pub(super) struct Legend {
    entries: Vec<(Sample, String, f64, f64)>,
    pub(super) height: f64,
}

impl Legend {
    /// Arranges the entries in rows of at most this width.
    pub(super) fn new(chart: &Chart, room: f64) -> Self {
        let is_single = chart.series.len() == 1;
        let measured = |label: &str| if label.is_empty() { "measured".to_string() } else { label.to_string() };
        let mut samples: Vec<(Sample, String)> = Vec::new();
        if !is_single || !chart.overlays.is_empty() || !chart.series[0].is_empty() {
            samples.extend(chart.series.iter().enumerate().map(|(at, label)| (Sample::Series(at), measured(label))));
        }
        samples.extend(chart.overlays.iter().enumerate().map(|(at, label)| (Sample::Overlay(at), label.clone())));
        let (mut x, mut y) = (0.0, 0.0);
        let mut entries = Vec::new();
        for (sample, label) in samples {
            let label = shortened(&label, SIZE, room - SAMPLE - GAP);
            let entry_width = SAMPLE + GAP + width(&label, SIZE);
            if x > 0.0 && x + entry_width > room {
                (x, y) = (0.0, y + ROW);
            }
            entries.push((sample, label, x, y));
            x += entry_width + BETWEEN;
        }
        let height = if entries.is_empty() { 0.0 } else { y + ROW };
        Legend { entries, height }
    }

    pub(super) fn draw(&self, picture: &mut Svg, (left, top): (f64, f64), bars: bool, key: &str) {
        for (sample, label, x, y) in &self.entries {
            let (x, y) = (left + x, top + y + ROW / 2.0);
            match *sample {
                Sample::Series(series) if bars => {
                    let sample = rectangle((x + 4.0, y - 6.0), (SAMPLE - 8.0, 12.0));
                    picture.add(&style::bar(sample, series, key));
                }
                Sample::Series(series) => {
                    picture.add(&style::line(line((x, y), (x + SAMPLE, y)), series));
                    picture.add(&style::marker(series, (x + SAMPLE / 2.0, y)));
                }
                Sample::Overlay(overlay) => {
                    picture.add(&style::curve(line((x, y), (x + SAMPLE, y)), overlay, None));
                }
            }
            picture.add(&text((x + SAMPLE + GAP, y + SIZE * 0.36), Anchor::Start, SIZE).text(label));
        }
    }
}
