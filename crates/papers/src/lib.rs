//! Experiments of many elections, and the published figures they are held against.
//!
//! - [`formula`]: arithmetic over named numbers;
//! - [`table`]: results, a row for each election; what everything else here hands around;
//! - [`stats`]: means and their intervals, fits;
//! - [`plot`]: charts of results.

pub mod formula;
pub mod plot;
pub mod stats;
pub mod table;
