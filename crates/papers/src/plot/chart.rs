//! A chart before it is drawn: numbers and words, no coordinates.

/// The most lines of measured values in a chart: more cannot be told apart.
pub const MAX_SERIES: usize = 16;

/// The most panels.
pub const MAX_PANELS: usize = 24;

/// The most formulas.
pub const MAX_OVERLAYS: usize = 8;

/// The most words along the horizontal axis.
pub const MAX_WORDS: usize = 40;

/// The most points of a line.
pub const MAX_POINTS: usize = 5_000;

/// The greatest number that is drawn, on either side of 0.
pub const GREATEST: f64 = 1e100;

/// A chart of measured values: panels with shared axes, and a legend for all of them.
///
/// Every number in it is finite and at most [`GREATEST`]; on a logarithmic axis what is not above 0 is left out.
#[derive(Clone, PartialEq, Debug)]
pub struct Chart {
    /// Its name, safe in a file name.
    pub name: String,
    /// What stands above it.
    pub title: String,
    /// The horizontal axis.
    pub x: Axis,
    /// The vertical axis; its scale is one of numbers.
    pub y: Axis,
    /// What the legend calls each line of measured values. A single empty name needs no legend.
    pub series: Vec<String>,
    /// What the legend calls each formula.
    pub overlays: Vec<String>,
    /// One panel, or one for each facet.
    pub panels: Vec<Panel>,
    /// A small line below: how many runs a point stands for, and what the bands are.
    pub note: String,
    /// How many rows are drawn.
    pub rows: usize,
    /// How many more rows were asked for, but lack a number or have one that cannot be drawn.
    pub left_out: usize,
}

/// An axis.
#[derive(Clone, PartialEq, Debug)]
pub struct Axis {
    /// What is measured along it, in which unit.
    pub label: String,
    /// How numbers become places.
    pub scale: Scale,
}

/// How values become places on an axis.
#[derive(Clone, PartialEq, Debug)]
pub enum Scale {
    /// Evenly.
    Linear,
    /// By the logarithm, with ticks at powers of ten.
    Log10,
    /// By the logarithm, with ticks at powers of two.
    Log2,
    /// A place for each of these words, on the horizontal axis only; the chart then has bars. x is the number of a
    /// word.
    Words(Vec<String>),
}

/// One of the small multiples, or the whole chart.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Panel {
    /// What stands above it; empty for a single one.
    pub title: String,
    /// Measured values.
    pub lines: Vec<Line>,
    /// Formulas.
    pub curves: Vec<Curve>,
}

/// Measured values, a point for each x.
#[derive(Clone, PartialEq, Debug)]
pub struct Line {
    /// Which of the chart's series.
    pub series: usize,
    /// The points, from left to right.
    pub points: Vec<Point>,
}

/// A mean and its interval.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Point {
    /// Its place on the horizontal axis.
    pub x: f64,
    /// The mean.
    pub y: f64,
    /// The lower end of its 95 % confidence interval.
    pub low: f64,
    /// The upper end.
    pub high: f64,
    /// How many values it stands for.
    pub count: usize,
}

/// A formula's line.
#[derive(Clone, PartialEq, Debug)]
pub struct Curve {
    /// Which of the chart's overlays.
    pub overlay: usize,
    /// The series that it belongs to, where the formula has another value for each.
    pub series: Option<usize>,
    /// Its points, from left to right.
    pub points: Vec<(f64, f64)>,
}

impl Scale {
    /// Whether it is a logarithmic one.
    pub fn is_log(&self) -> bool {
        matches!(self, Scale::Log10 | Scale::Log2)
    }

    /// Whether a number can be drawn on it.
    pub fn takes(&self, number: f64) -> bool {
        let smallest = if self.is_log() { 1.0 / GREATEST } else { -GREATEST };
        (smallest..=GREATEST).contains(&number)
    }
}

impl Chart {
    /// Whether it has bars rather than lines.
    pub fn has_bars(&self) -> bool {
        matches!(self.x.scale, Scale::Words(_))
    }

    /// What it shows, in words, for those who cannot see it.
    pub fn description(&self) -> String {
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
