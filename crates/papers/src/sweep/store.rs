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
use crate::table::{Cell, Table, csv, parquet};

/// The files of one experiment in one folder.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Store {
    /// The results as text.
    pub csv: PathBuf,
    /// The results with types.
    pub parquet: PathBuf,
    /// What is done so far.
    pub log: PathBuf,
}

/// What to do with files that are there.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Begin {
    /// There must be none.
    Fresh,
    /// Go on where a sweep stopped.
    Resume,
    /// They are replaced.
    Anew,
}

/// A sweep that can go on.
#[derive(Debug)]
pub struct Opened {
    log: Option<Log>,
    results: Results,
    /// Bytes at the end of the log that were cut off.
    pub cut: u64,
}

impl Store {
    /// The files of this experiment in a folder.
    pub fn new(folder: &Path, experiment: &Experiment) -> Self {
        let file = |ending: &str| folder.join(format!("{}.{ending}", experiment.name));
        Store { csv: file("csv"), parquet: file("parquet"), log: file("log") }
    }

    /// Fails if a new sweep would destroy something.
    pub fn check_free(&self) -> Result<(), SweepError> {
        if self.log.exists() {
            return Err(SweepError::Unfinished { path: self.log.clone() });
        }
        match [&self.csv, &self.parquet].into_iter().find(|path| path.exists()) {
            Some(path) => Err(SweepError::Exists { path: path.clone() }),
            None => Ok(()),
        }
    }

    /// Opens the log; `None` if all is done already.
    pub fn open(&self, experiment: &Experiment, begin: Begin) -> Result<Option<Opened>, SweepError> {
        let mut results = Results::new(experiment);
        if begin == Begin::Resume && self.log.exists() {
            let (log, frames, cut) = Log::resume(&self.log, experiment)?;
            frames.into_iter().for_each(|frame| results.take(frame));
            return Ok(Some(Opened { log: Some(log), results, cut }));
        }
        if begin == Begin::Resume && self.parquet.exists() {
            let table = self.results_of(experiment)?;
            if !self.csv.exists() {
                self.write_csv(&table)?;
            }
            return Ok(None);
        }
        if begin != Begin::Anew {
            self.check_free()?;
        }
        if let Some(folder) = self.log.parent() {
            fs::create_dir_all(folder).map_err(|error| SweepError::file(folder, error))?;
        }
        let log = Log::create(&self.log, experiment)?;
        // Only now: what was there must not vanish if nothing can take its place.
        for path in [&self.csv, &self.parquet] {
            match fs::remove_file(path) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(SweepError::file(path, error)),
                _ => {}
            }
        }
        Ok(Some(Opened { log: Some(log), results, cut: 0 }))
    }

    /// The results in the folder. Fails unless they are those of this experiment.
    fn results_of(&self, experiment: &Experiment) -> Result<Table, SweepError> {
        let foreign = |reason: String| SweepError::Foreign { path: self.parquet.clone(), reason };
        let file = fs::File::open(&self.parquet).map_err(|error| SweepError::file(&self.parquet, error))?;
        let table = parquet::read(file).map_err(|error| foreign(error.to_string()))?;
        if table.rows() as u64 != experiment.runs() {
            return Err(foreign(format!("it has {} rows, not {}", table.rows(), experiment.runs())));
        }
        let mut row = 0;
        for point in experiment.points() {
            // Paired points have the same seeds: a seed alone does not tell them apart.
            let name: Arc<str> = point.name().into();
            for repetition in 0..experiment.repetitions {
                if table.cell(row, "point") != Cell::Text(name.clone()) {
                    return Err(foreign(format!("row {} has other settings", row + 1)));
                }
                if table.cell(row, "seed") != Cell::Integer(point.seed(repetition) as i64) {
                    return Err(foreign(format!("row {} has another seed", row + 1)));
                }
                row += 1;
            }
        }
        match table.cell(0, "version") {
            Cell::Text(version) if &*version == VERSION => Ok(table),
            other => Err(foreign(format!("its program's version is {other}, not {VERSION}"))),
        }
    }

    /// Writes the results, each file whole or not at all.
    pub fn write(&self, table: &Table) -> Result<(), SweepError> {
        self.write_csv(table)?;
        write_whole(&self.parquet, |out| parquet::write(table, out).map_err(io::Error::other))
            .map_err(|error| SweepError::file(&self.parquet, error))
    }

    fn write_csv(&self, table: &Table) -> Result<(), SweepError> {
        write_whole(&self.csv, |out| csv::write(table, out)).map_err(|error| SweepError::file(&self.csv, error))
    }

    /// Removes the log of a sweep that is complete.
    pub fn remove_log(&self) -> Result<(), SweepError> {
        fs::remove_file(&self.log).map_err(|error| SweepError::file(&self.log, error))
    }
}

impl Opened {
    /// Runs what is missing, writing it down. Stops early when it is told to.
    pub fn run(
        &mut self,
        experiment: &Experiment,
        threads: usize,
        stop: &AtomicBool,
        watch: &mut dyn FnMut(Progress),
    ) -> Result<(), SweepError> {
        runner::run(experiment, &mut self.results, self.log.as_mut(), threads, stop, watch)
    }

    /// What is done.
    pub fn results(&self) -> &Results {
        &self.results
    }
}
