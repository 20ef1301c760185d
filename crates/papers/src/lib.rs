//! Experiments of many elections, and comparisons with published numbers.
//!
//! - `formula`: arithmetic over named numbers;
//! - [`table`]: results, a row for each election; the data structure that all other modules share;
//! - `stats`: means with confidence intervals, fits, ratios;
//! - [`experiment`]: a file that describes a set of elections;
//! - [`sweep`]: runs an experiment and collects one table;
//! - [`plot`]: charts of results;
//! - `picture`: networks with their messages, as papers draw them;
//! - [`published`]: the numbers, examples and claims of five papers;
//! - [`comparison`]: compares measured with published values and accounts for the differences;
//! - [`report`]: comparisons as a web page, LaTeX tables and data files;
//! - [`bundle`]: a report and all that it rests on in one archive.

pub mod bundle;
pub mod comparison;
pub mod experiment;
pub mod files;
mod formula;
mod picture;
pub mod plot;
pub mod published;
pub mod report;
mod stats;
pub mod sweep;
pub mod table;
mod variants;
