//! Charts of results: a table and what to draw from it, made into a picture.

mod spec;

pub use spec::{Filter, Log, NoAxes, Overlay, PlotSpec};
