//! Sweeps: all runs of an experiment, on all cores, collected into one table.
//!
//! ```
//! use hustings_papers::experiment::Experiment;
//! use hustings_papers::sweep;
//!
//! let text = "version = 1\nname = 'falling'\n[vary]\nalgorithm = 'chang-roberts'\nnodes = [3, 4]\nids = 'descending'";
//! let table = sweep::table(&Experiment::parse("falling.toml", text)?, 2)?;
//! assert_eq!(table.cell(1, "messages.candidate").number(), Some(10.0));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! If faults name `leader`, `other` or `quiet`, a point is run twice, first without these faults. With `quiet`, the row
//! describes the second phase alone: counts, bytes and mean load are differences to the first run, and times are
//! counted from `quiet`. Maxima (`load_max`, `collisions_max`) are those of the whole second run, because the busiest
//! node may be a different one. The metrics of the first run are in the columns `before.`. If the first run has no
//! leader or never becomes quiet, there is no second run and its metrics are missing.

mod estimate;
mod log;
mod measure;
mod results;
mod runner;
mod store;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::experiment::{Experiment, ExperimentError};
use crate::table::{Table, TableError};

pub use estimate::{DurationEstimate, estimate};
pub use results::{Results, Summary};
pub use runner::{Progress, check};
pub use store::{OpenSweep, StartMode, Store};

/// The version that is written to results.
const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why a sweep failed.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The experiment is invalid.
    #[error("{0}")]
    Experiment(Box<ExperimentError>),
    /// A file could not be read or written.
    #[error("`{path}`: {error}")]
    File {
        /// The file.
        path: PathBuf,
        /// The cause.
        error: io::Error,
    },
    /// The results already exist.
    #[error("`{path}` already exists")]
    Exists {
        /// The file.
        path: PathBuf,
    },
    /// The log of an unfinished sweep exists.
    #[error("`{path}` is the log of an unfinished sweep")]
    Unfinished {
        /// The file.
        path: PathBuf,
    },
    /// A log or results belong to another experiment.
    #[error("`{path}` does not belong to this experiment: {reason}")]
    Foreign {
        /// The file.
        path: PathBuf,
        /// The difference.
        reason: String,
    },
    /// Another process is writing the log.
    #[error("`{path}` is in use: another sweep is writing it")]
    Busy {
        /// The file.
        path: PathBuf,
    },
    /// The results do not form a table.
    #[error("the results do not form a table: {0}")]
    Table(#[from] TableError),
}

impl SweepError {
    fn file(path: &Path, error: io::Error) -> Self {
        SweepError::File { path: path.to_path_buf(), error }
    }
}

impl From<ExperimentError> for SweepError {
    fn from(error: ExperimentError) -> Self {
        SweepError::Experiment(Box::new(error))
    }
}

/// Runs an experiment and returns its results.
pub fn table(experiment: &Experiment, threads: usize) -> Result<Table, SweepError> {
    check(experiment)?;
    let mut results = Results::new(experiment);
    runner::run(experiment, &mut results, None, threads, &AtomicBool::new(false), &mut |_| {})?;
    results.table(experiment)
}

#[cfg(test)]
mod tests;
