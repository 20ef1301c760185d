//! Charts of results.

mod build;
mod chart;
mod error;
mod glyphs;
mod levels;
mod measure;
mod outline;
mod overlay;
mod png;
mod scale;
mod spec;
mod svg;
#[cfg(test)]
mod tests;
mod text;

pub use chart::{Axis, Chart, Panel, Point, Scale};
pub use error::PlotError;
pub use png::{PngError, png};
pub use spec::{Filter, Log, Overlay, PlotSpec, UnknownAxes};
pub use svg::svg;
