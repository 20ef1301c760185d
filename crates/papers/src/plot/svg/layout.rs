//! Positions: ranges and ticks that all panels share, margins for their labels, the grid of panels.

use super::elements::label_width;
use crate::plot::chart::{Chart, Scale};
use crate::plot::scale::{Label, Span, Ticks};
use crate::plot::text::{LINE, shortened, width, wrapped};

/// The font size of tick labels.
pub(super) const TICK: f64 = 11.0;
/// The font size of axis labels.
pub(super) const CAPTION: f64 = 12.0;
/// The font size of the title.
pub(super) const TITLE: f64 = 15.0;
/// The width of a chart.
pub(super) const WIDTH: f64 = 720.0;
/// The margin around everything.
pub(super) const MARGIN: f64 = 14.0;
/// The space between panels.
const BETWEEN: f64 = 24.0;
/// The maximum width of a slanted category name.
const MAX_CATEGORY: f64 = 130.0;

/// The categories at the horizontal axis of a bar chart.
#[derive(Debug, Default)]
pub(super) struct Categories {
    pub(super) names: Vec<String>,
    pub(super) slanted: bool,
    /// Their height below the axis.
    height: f64,
}

/// The positions of everything.
#[derive(Debug)]
pub(super) struct Layout {
    pub(super) columns: usize,
    /// The size of a panel.
    pub(super) panel: (f64, f64),
    /// The left edge of the first panel.
    pub(super) left: f64,
    pub(super) x_span: Span,
    pub(super) y_span: Span,
    pub(super) x_ticks: Ticks,
    pub(super) y_ticks: Ticks,
    pub(super) categories: Categories,
    pub(super) x_caption: Vec<String>,
    pub(super) y_caption: Vec<String>,
    /// The total number of markers.
    pub(super) markers: usize,
    /// Whether panels have titles.
    titled: bool,
    /// Whether the last row is full.
    complete: bool,
}

impl Layout {
    pub(super) fn new(chart: &Chart) -> Layout {
        let count = chart.panels.len().max(1);
        let columns = match count {
            1 | 2 => count,
            4 => 2,
            3..=9 => 3,
            _ => 4,
        };
        let high = [330.0, 240.0, 190.0, 160.0][columns - 1];
        let (x_span, y_span) = spans(chart, high);
        let max_y_ticks = (high / 36.0) as usize;
        let apart = |ticks: &[(f64, Label)]| ticks.windows(2).all(|pair| (pair[1].0 - pair[0].0) * high >= TICK * 1.4);
        let y_ticks = y_span.ticks(&chart.y.scale, max_y_ticks, &apart);
        let widest = y_ticks.major.iter().map(|(_, label)| label_width(label, TICK)).fold(0.0, f64::max);
        let rows = count.div_ceil(columns);
        let titled = chart.panels.iter().any(|panel| !panel.title.is_empty());
        let all_high = rows as f64 * high + (rows - 1) as f64 * BETWEEN;
        let y_caption = wrapped(&chart.y.label, CAPTION, all_high, 2);
        let beside = y_caption.len() as f64 * CAPTION * LINE;
        let mut left = MARGIN + beside + 8.0 + widest + 7.0;
        let wide = |left: f64| (WIDTH - left - MARGIN - 8.0 - (columns - 1) as f64 * BETWEEN) / columns as f64;
        let categories = Categories::new(&chart.x.scale, wide(left));
        if categories.slanted {
            // The first category extends to the left.
            let first = categories.names.first().map_or(0.0, |name| width(name, TICK) * COS);
            left = left.max(first + MARGIN - wide(left) / categories.names.len() as f64 / 2.0);
        }
        let panel = (wide(left), high);
        let x_ticks = match chart.x.scale {
            Scale::Categories(_) => Ticks::default(),
            _ => x_span.ticks(&chart.x.scale, (panel.0 / 34.0) as usize, &|ticks| fit(ticks, panel.0)),
        };
        Layout {
            columns,
            panel,
            left,
            x_span,
            y_span,
            x_ticks,
            y_ticks,
            categories,
            x_caption: wrapped(&chart.x.label, CAPTION, WIDTH - left - MARGIN, 2),
            y_caption,
            markers: chart.panels.iter().flat_map(|panel| &panel.lines).map(|line| line.points.len()).sum(),
            titled,
            complete: count.is_multiple_of(columns),
        }
    }

    /// The upper left corner of a panel in a grid that starts at `top`.
    pub(super) fn corner(&self, at: usize, top: f64) -> (f64, f64) {
        let (column, row) = ((at % self.columns) as f64, (at / self.columns) as f64);
        let title = if self.titled { 20.0 } else { 6.0 };
        (self.left + column * (self.panel.0 + BETWEEN), top + title + row * (self.panel.1 + title + self.below_panel()))
    }

    /// Whether a panel has labels at the left and below: only at the edges of the grid.
    pub(super) fn labelled(&self, at: usize, count: usize) -> (bool, bool) {
        (at.is_multiple_of(self.columns), at + self.columns >= count)
    }

    /// The space below a panel that is not in the last row. In an incomplete grid some of these have labels.
    fn below_panel(&self) -> f64 {
        if self.complete { 16.0 } else { self.below_last().max(16.0) }
    }

    /// The space for the labels below the axis.
    pub(super) fn below_last(&self) -> f64 {
        if self.categories.names.is_empty() { 7.0 + TICK * LINE + 2.0 } else { self.categories.height }
    }
}

/// The cosine and sine of the angle of slanted names, 35 degrees.
const COS: f64 = 0.819;
const SIN: f64 = 0.574;

impl Categories {
    fn new(scale: &Scale, wide: f64) -> Self {
        let Scale::Categories(names) = scale else { return Categories::default() };
        let room = wide / names.len().max(1) as f64;
        let slanted = names.iter().any(|name| width(name, TICK) > room - 8.0);
        if !slanted {
            return Categories { names: names.clone(), slanted, height: 6.0 + TICK * LINE + 2.0 };
        }
        let names: Vec<String> = names.iter().map(|name| shortened(name, TICK, MAX_CATEGORY)).collect();
        let longest = names.iter().map(|name| width(name, TICK)).fold(0.0, f64::max);
        Categories { names, slanted, height: 14.0 + longest * SIN + TICK * COS }
    }
}

/// Whether labels at these positions do not overlap each other or those of the next panel.
fn fit(ticks: &[(f64, Label)], wide: f64) -> bool {
    let half = |label: &Label| label_width(label, TICK) / 2.0;
    let clear = |pair: &[(f64, Label)]| (pair[1].0 - pair[0].0) * wide >= half(&pair[0].1) + half(&pair[1].1) + 9.0;
    let inside = |(at, label): &(f64, Label)| {
        let (left, right) = (at * wide - half(label), at * wide + half(label));
        left >= 3.0 - BETWEEN / 2.0 && right <= wide + BETWEEN / 2.0 - 3.0
    };
    ticks.windows(2).all(clear) && ticks.iter().all(inside)
}

/// The ranges of both axes: all points, their intervals and all formulas.
fn spans(chart: &Chart, high: f64) -> (Span, Span) {
    let points = || chart.panels.iter().flat_map(|panel| &panel.lines).flat_map(|line| &line.points);
    let curves = || chart.panels.iter().flat_map(|panel| &panel.curves).flat_map(|curve| &curve.points);
    let x_span = match &chart.x.scale {
        Scale::Categories(names) => Span::of_categories(names.len().max(1)),
        scale => {
            let all = points().map(|point| point.x).chain(curves().map(|(x, _)| *x));
            Span::of(scale, all, 0.03, false)
        }
    };
    let ends = || points().flat_map(|point| [point.y, point.low, point.high]).chain(curves().map(|(_, y)| *y));
    // The axis includes 0 unless all values are far from it.
    let (low, high_end) = ends().fold((f64::INFINITY, f64::NEG_INFINITY), |(l, h), y| (l.min(y), h.max(y)));
    let far = low > 0.0 && low > 0.6 * high_end || high_end < 0.0 && high_end < 0.6 * low;
    let zero = chart.has_bars() || !far;
    let means = points().map(|point| point.y).chain(curves().map(|(_, y)| *y));
    let span = if chart.y.scale.is_log() {
        // Lower ends of intervals may be 0 or less, which a logarithmic axis cannot show; upper ends are included.
        Span::of(&chart.y.scale, means.chain(points().map(|point| point.high)), 0.05, false)
    } else {
        Span::of(&chart.y.scale, ends(), 0.0, zero)
    };
    (x_span, span.rounded((high / 36.0) as usize))
}
