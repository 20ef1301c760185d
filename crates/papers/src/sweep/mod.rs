//! Sweeps: all runs of an experiment, on all cores, into one table.
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
//! Where faults name `leader`, `other` or `quiet`, a point is run twice: first without them. With `quiet`, the row
//! tells the second phase alone: counts, bytes and mean load are differences to the first run, times are counted from
//! `quiet`. What is the most of something (`load_max`, `collisions_max`) is that of the whole second run: the busiest
//! node may be another one. The first run's figures stand under `before.`. A first run that shows no leader, or never
//! gets quiet, has no second: then the figures are missing.

mod estimate;
mod log;
mod measure;
mod results;
mod runner;
mod store;

use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

use crate::experiment::{Experiment, Mistake};
use crate::table::{Table, TableError};

pub use estimate::{Guess, estimate};
pub use results::{Results, Summary};
pub use runner::{Progress, check};
pub use store::{Begin, Opened, Store};

/// The version that results carry.
pub const VERSION: &str = env!("CARGO_PKG_VERSION");

/// Why a sweep did not come to its end.
#[derive(Debug, thiserror::Error)]
pub enum SweepError {
    /// The experiment asks for something that cannot be.
    #[error("{0}")]
    Mistake(Box<Mistake>),
    /// A file could not be read or written.
    #[error("`{path}`: {error}")]
    File {
        /// Which.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
    /// There are results already.
    #[error("`{path}` is there already")]
    Exists {
        /// Which.
        path: PathBuf,
    },
    /// There is the log of a sweep that did not come to its end.
    #[error("`{path}` holds a sweep that is not finished")]
    Unfinished {
        /// Which.
        path: PathBuf,
    },
    /// A log or results of something else.
    #[error("`{path}` is not of this experiment: {reason}")]
    Foreign {
        /// Which.
        path: PathBuf,
        /// In what it differs.
        reason: String,
    },
    /// Another process is at it.
    #[error("`{path}` is in use: another sweep is writing it")]
    Busy {
        /// Which.
        path: PathBuf,
    },
    /// The results make no table.
    #[error("the results make no table: {0}")]
    Table(#[from] TableError),
}

impl SweepError {
    fn file(path: &Path, error: io::Error) -> Self {
        SweepError::File { path: path.to_path_buf(), error }
    }
}

impl From<Mistake> for SweepError {
    fn from(mistake: Mistake) -> Self {
        SweepError::Mistake(Box::new(mistake))
    }
}

/// Runs an experiment in memory.
pub fn table(experiment: &Experiment, threads: usize) -> Result<Table, SweepError> {
    check(experiment)?;
    let mut results = Results::new(experiment);
    runner::run(experiment, &mut results, None, threads, &AtomicBool::new(false), &mut |_| {})?;
    results.table(experiment)
}

#[cfg(test)]
mod tests;
