//! A chart before it is drawn: data and labels without coordinates.

/// The maximum number of series in a chart: more cannot be distinguished.
pub(super) const MAX_SERIES: usize = 16;

/// The maximum number of panels.
pub(super) const MAX_PANELS: usize = 24;

/// The maximum number of formulas.
pub(super) const MAX_OVERLAYS: usize = 8;

/// The maximum number of categories on the horizontal axis.
pub(super) const MAX_CATEGORIES: usize = 40;

/// The maximum number of points of a line.
pub(super) const MAX_POINTS: usize = 5_000;

/// The largest absolute value that is drawn.
pub(super) const MAX_MAGNITUDE: f64 = 1e100;

/// A chart of measured values: panels with shared axes, and a legend for all of them.
///
/// All numbers are finite. On a logarithmic axis, values that are not above 0 are left out.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// The name, which is valid in a file name.
    pub name: String,
    /// The title.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis, which is numeric.
    pub y: Axis,
    /// The names of the series in the legend. A single empty name needs no legend.
    pub series: Vec<String>,
    /// The names of the formulas in the legend.
    pub overlays: Vec<String>,
    /// A panel for each facet, or a single one.
    pub panels: Vec<Panel>,
    /// A note below the chart: the number of runs per point, and the meaning of the bands.
    pub note: String,
    /// The number of plotted rows.
    pub rows: usize,
    /// The number of selected rows without a drawable value.
    pub left_out: usize,
}

/// An axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// The quantity and its unit.
    pub label: String,
    /// The scale.
    pub scale: Scale,
}

/// How values are mapped to positions on an axis.
#[derive(Clone, PartialEq, Debug)]
pub enum Scale {
    /// Linear.
    Linear,
    /// Logarithmic, with ticks at powers of ten.
    Log10,
    /// Logarithmic, with ticks at powers of two.
    Log2,
    /// Categories, only on the horizontal axis; the chart then has bars. x is the index of a category.
    Categories(Vec<String>),
}

/// A panel of the chart.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Panel {
    /// The title; empty for a single panel.
    pub title: String,
    /// Measured values.
    pub lines: Vec<Line>,
    /// Formulas.
    pub curves: Vec<Curve>,
}

/// Measured values, a point for each x.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// The index of the series.
    pub series: usize,
    /// The points, from left to right.
    pub points: Vec<Point>,
}

/// A mean and its confidence interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// The position on the horizontal axis.
    pub x: f64,
    /// The mean.
    pub y: f64,
    /// The lower end of the 95 % confidence interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// The number of values.
    pub count: usize,
}

/// The curve of a formula.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// The index of the formula.
    pub overlay: usize,
    /// The series, if the values of the formula differ between series.
    pub series: Option<usize>,
    /// The points, from left to right.
    pub points: Vec<(f64, f64)>,
}

impl Scale {
    /// Whether the scale is logarithmic.
    pub(super) fn is_log(&self) -> bool {
        matches!(self, Scale::Log10 | Scale::Log2)
    }

    /// Whether the scale can show a number.
    pub(super) fn can_show(&self, number: f64) -> bool {
        let smallest = if self.is_log() { 1.0 / MAX_MAGNITUDE } else { -MAX_MAGNITUDE };
        (smallest..=MAX_MAGNITUDE).contains(&number)
    }
}

impl Chart {
    /// Whether the chart has bars rather than lines.
    pub(super) fn has_bars(&self) -> bool {
        matches!(self.x.scale, Scale::Categories(_))
    }

    /// A description for screen readers.
    pub(super) fn description(&self) -> String {
        let shape = if self.has_bars() { "Bars" } else { "Lines" };
        let axis = |axis: &Axis| format!("{}{}", axis.label, if axis.scale.is_log() { " (logarithmic)" } else { "" });
        let mut text = format!("{shape}: {} over {}.", axis(&self.y), axis(&self.x));
        let mut list = |what: &str, words: &[String]| {
            let words: Vec<&str> = words.iter().map(String::as_str).filter(|word| !word.is_empty()).collect();
            if !words.is_empty() {
                text += &format!(" {what}: {}.", words.join("; "));
            }
        };
        list("Measured", &self.series);
        list("Formulas", &self.overlays);
        list("Panels", &self.panels.iter().map(|panel| panel.title.clone()).collect::<Vec<_>>());
        if !self.note.is_empty() {
            text += &format!(" {}", self.note);
        }
        text
    }
}
