//! The files of a sweep: `NAME.log` while it runs, `NAME.csv` and `NAME.parquet` when it is complete.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use super::log::Log;
use super::results::Results;
use super::runner::{self, Progress};
use super::{SweepError, VERSION};
use crate::experiment::Experiment;
use crate::files::write_whole;
use crate::table::file::write_csv;
use crate::table::metadata::metadata_path;
use crate::table::{Cell, Table, parquet};

/// The files of one experiment in one folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Store {
    /// The results as CSV.
    pub csv: PathBuf,
    /// The results as Parquet.
    pub parquet: PathBuf,
    /// The log.
    pub log: PathBuf,
}

/// How to treat existing files.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum StartMode {
    /// There must be no files.
    Fresh,
    /// Continue an interrupted sweep.
    Resume,
    /// Replace the files.
    Replace,
}

/// A sweep that is ready to run.
#[derive(Debug)]
pub struct OpenSweep {
    log: Option<Log>,
    results: Results,
    /// Damaged bytes that were dropped from the end of the log.
    pub cut: u64,
}

impl Store {
    /// The files of this experiment in a folder.
    pub fn new(folder: &Path, experiment: &Experiment) -> Self {
        let file = |ending: &str| folder.join(format!("{}.{ending}", experiment.name));
        Store { csv: file("csv"), parquet: file("parquet"), log: file("log") }
    }

    /// Fails if a new sweep would overwrite files.
    fn check_free(&self) -> Result<(), SweepError> {
        if self.log.exists() {
            return Err(SweepError::Unfinished { path: self.log.clone() });
        }
        match [&self.csv, &self.parquet].into_iter().find(|path| path.exists()) {
            Some(path) => Err(SweepError::Exists { path: path.clone() }),
            None => Ok(()),
        }
    }

    /// Opens the log; `None` if the sweep is already complete.
    pub fn open(&self, experiment: &Experiment, begin: StartMode) -> Result<Option<OpenSweep>, SweepError> {
        let mut results = Results::new(experiment);
        if begin == StartMode::Resume && self.log.exists() {
            let (log, frames, cut) = Log::resume(&self.log, experiment)?;
            frames.into_iter().for_each(|frame| results.insert(frame));
            return Ok(Some(OpenSweep { log: Some(log), results, cut }));
        }
        if begin == StartMode::Resume && self.parquet.exists() {
            let table = self.results_of(experiment)?;
            if !self.csv.exists() {
                self.write_csv(&table)?;
            }
            return Ok(None);
        }
        if begin != StartMode::Replace {
            self.check_free()?;
        }
        if let Some(folder) = self.log.parent() {
            fs::create_dir_all(folder).map_err(|error| SweepError::file(folder, error))?;
        }
        let log = Log::create(&self.log, experiment)?;
        // Old results are removed only after the log exists.
        for path in [&self.csv, &metadata_path(&self.csv), &self.parquet] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(SweepError::file(path, error)),
                _ => {}
            }
        }
        Ok(Some(OpenSweep { log: Some(log), results, cut: 0 }))
    }

    /// Reads the results in the folder. Fails if they belong to another experiment.
    fn results_of(&self, experiment: &Experiment) -> Result<Table, SweepError> {
        let foreign = |reason: String| SweepError::Foreign { path: self.parquet.clone(), reason };
        let file = fs::File::open(&self.parquet).map_err(|error| SweepError::file(&self.parquet, error))?;
        let table = parquet::read(file).map_err(|error| foreign(error.to_string()))?;
        if table.rows() as u64 != experiment.runs() {
            return Err(foreign(format!("it has {} rows, not {}", table.rows(), experiment.runs())));
        }
        let mut row = 0;
        for point in experiment.points() {
            // Paired points have the same seeds, so the seed alone does not identify a point.
            let name: Arc<str> = point.name().into();
            for repetition in 0..experiment.repetitions {
                if table.cell(row, "point") != Cell::Text(name.clone()) {
                    return Err(foreign(format!("row {} has different settings", row + 1)));
                }
                if table.cell(row, "seed") != Cell::Integer(point.seed(repetition) as i64) {
                    return Err(foreign(format!("row {} has a different seed", row + 1)));
                }
                row += 1;
            }
        }
        match table.cell(0, "version") {
            Cell::Text(version) if &*version == VERSION => Ok(table),
            other => Err(foreign(format!("its program's version is {other}, not {VERSION}"))),
        }
    }

    /// Writes the results, each file atomically.
    pub fn write(&self, table: &Table) -> Result<(), SweepError> {
        self.write_csv(table)?;
        write_whole(&self.parquet, |out| parquet::write(table, out).map_err(io::Error::other))
            .map_err(|error| SweepError::file(&self.parquet, error))
    }

    fn write_csv(&self, table: &Table) -> Result<(), SweepError> {
        write_csv(&self.csv, table).map_err(|error| SweepError::file(&self.csv, error))
    }

    /// Removes the log of a complete sweep.
    pub fn remove_log(&self) -> Result<(), SweepError> {
        fs::remove_file(&self.log).map_err(|error| SweepError::file(&self.log, error))
    }
}

impl OpenSweep {
    /// Runs what is missing and logs it. If `stop` is set, it returns early.
    pub fn run(
        &mut self,
        experiment: &Experiment,
        threads: usize,
        stop: &AtomicBool,
        on_progress: &mut dyn FnMut(Progress),
    ) -> Result<(), SweepError> {
        runner::run(experiment, &mut self.results, self.log.as_mut(), threads, stop, on_progress)
    }

    /// The results so far.
    pub fn results(&self) -> &Results {
        &self.results
    }
}
