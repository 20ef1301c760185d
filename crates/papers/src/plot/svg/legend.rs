//! The legend: what each line, bar and dash stands for, in rows above the panels.

use super::canvas::{Anchor, Canvas};
use super::style;
use crate::plot::chart::Chart;
use crate::plot::text::{shortened, width};

const SIZE: f64 = 11.5;
const ROW: f64 = 18.0;
/// How wide a sample is.
const SAMPLE: f64 = 28.0;
const GAP: f64 = 7.0;
const BETWEEN: f64 = 20.0;

/// What an entry stands for.
#[derive(Clone, Copy, Debug)]
enum Sample {
    Series(usize),
    Overlay(usize),
}

/// A legend with the places of its entries.
#[derive(Debug)]
pub(super) struct Legend {
    entries: Vec<(Sample, String, f64, f64)>,
    pub(super) height: f64,
}

impl Legend {
    /// Entries in rows that are no wider than this.
    pub(super) fn new(chart: &Chart, room: f64) -> Self {
        let alone = chart.series.len() == 1;
        let measured = |label: &str| if label.is_empty() { "measured".to_string() } else { label.to_string() };
        let mut wanted: Vec<(Sample, String)> = Vec::new();
        if !alone || !chart.overlays.is_empty() || !chart.series[0].is_empty() {
            wanted.extend(chart.series.iter().enumerate().map(|(at, label)| (Sample::Series(at), measured(label))));
        }
        wanted.extend(chart.overlays.iter().enumerate().map(|(at, label)| (Sample::Overlay(at), label.clone())));
        let (mut x, mut y) = (0.0, 0.0);
        let mut entries = Vec::new();
        for (sample, label) in wanted {
            let label = shortened(&label, SIZE, room - SAMPLE - GAP);
            let wide = SAMPLE + GAP + width(&label, SIZE);
            if x > 0.0 && x + wide > room {
                (x, y) = (0.0, y + ROW);
            }
            entries.push((sample, label, x, y));
            x += wide + BETWEEN;
        }
        let height = if entries.is_empty() { 0.0 } else { y + ROW };
        Legend { entries, height }
    }

    pub(super) fn draw(&self, canvas: &mut Canvas, (left, top): (f64, f64), bars: bool, key: &str) {
        for (sample, label, x, y) in &self.entries {
            let (x, y) = (left + x, top + y + ROW / 2.0);
            match *sample {
                Sample::Series(series) if bars => {
                    canvas.rectangle((x + 4.0, y - 6.0), (SAMPLE - 8.0, 12.0), &style::bar(series, key));
                }
                Sample::Series(series) => {
                    canvas.line((x, y), (x + SAMPLE, y), &style::line(series));
                    style::marker(canvas, series, (x + SAMPLE / 2.0, y), "");
                }
                Sample::Overlay(overlay) => {
                    canvas.line((x, y), (x + SAMPLE, y), &style::curve(overlay, None));
                }
            }
            canvas.words((x + SAMPLE + GAP, y + SIZE * 0.36), Anchor::Start, SIZE, label, "");
        }
    }
}
