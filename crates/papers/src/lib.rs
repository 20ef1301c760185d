//! Experiments of many elections, and the published figures they are held against.
//!
//! - [`formula`]: arithmetic over named numbers;
//! - [`table`]: results, a row for each election; what everything else here hands around;
//! - [`stats`]: means with their intervals, fits, ratios;
//! - [`experiment`]: a file that says which elections to hold;
//! - [`sweep`]: all of them, into one table;
//! - [`plot`]: charts of results;
//! - [`texts`]: what five texts print and claim, where, and what is held against it;
//! - [`findings`]: what was measured, beside what is printed, and why the two differ;
//! - [`report`]: findings for people: a page, tables for LaTeX, files of data.

pub mod experiment;
pub mod files;
pub mod findings;
pub mod formula;
pub mod plot;
pub mod report;
pub mod stats;
pub mod sweep;
pub mod table;
pub mod texts;
pub mod variants;
