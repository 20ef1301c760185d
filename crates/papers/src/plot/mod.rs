//! Charts of results: a table and what to draw from it, made into a picture.

mod build;
mod chart;
mod error;
mod levels;
mod measure;
mod overlay;
mod png;
mod scale;
mod spec;
mod svg;
#[cfg(test)]
mod tests;
mod text;

pub use chart::{
    Axis, Chart, Curve, GREATEST, Line, MOST_OVERLAYS, MOST_PANELS, MOST_POINTS, MOST_SERIES, MOST_WORDS, Panel, Point,
    Scale,
};
pub use error::PlotError;
pub use png::{MOST_PIXELS, PngError, png};
pub use spec::{Filter, Log, NoAxes, Overlay, PlotSpec};
pub use svg::svg;
