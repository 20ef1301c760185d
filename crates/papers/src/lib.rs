//! Experiments of many elections, and the published figures they are held against.
//!
//! - [`table`]: results, a row for each election; what everything else here hands around;
//! - [`formula`]: arithmetic over named numbers;
//! - [`experiment`]: what to run, from a file;
//! - [`sweep`]: running it;
//! - [`stats`]: means and their intervals, fits;
//! - [`plot`]: charts of results.

pub mod experiment;
pub mod files;
pub mod formula;
pub mod plot;
pub mod stats;
pub mod sweep;
pub mod table;
