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
    Axis, Chart, Curve, GREATEST, Line, MAX_OVERLAYS, MAX_PANELS, MAX_POINTS, MAX_SERIES, MAX_WORDS, Panel, Point,
    Scale,
};
pub use error::PlotError;
pub use png::{MAX_PIXELS, PngError, png};
pub use spec::{Filter, Log, NoAxes, Overlay, PlotSpec};
pub use svg::svg;
