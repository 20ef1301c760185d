//! Runs an experiment on several threads.
//!
//! Missing runs are divided into chunks, which the threads take one after another. A run depends only on its number, so
//! the results do not depend on the schedule.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::estimate::RemainingTime;
use super::log::{Frame, Log};
use super::measure::{Failed, Measured};
use super::results::Results;
use super::{SweepError, estimate};
use crate::experiment::{Diagnostic, Experiment, ExperimentError, Point, Prepared};

/// The progress of a sweep.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Completed runs, including those of an interrupted sweep.
    pub done: u64,
    /// All runs.
    pub runs: u64,
    /// The estimated remaining time.
    pub left: Option<Duration>,
}

/// The number of nodes that are built for checks. Errors of further points show when they run.
const MAX_CHECKED: f64 = 5_000_000.0;

/// The maximum number of warnings.
const MAX_WARNINGS: usize = 10;

/// Checks every point before anything runs. Returns warnings about settings that are probably unintended.
pub fn check(experiment: &Experiment) -> Result<Vec<String>, ExperimentError> {
    let mut warnings: Vec<String> = Vec::new();
    let mut checked = 0.0;
    for point in experiment.points() {
        let mut prepared = experiment.prepare(point)?;
        checked += estimate::size(experiment, point);
        if checked > MAX_CHECKED {
            continue;
        }
        prepared.request.seed = point.seed(0);
        let built = prepared.election.build(&prepared.request).map_err(|error| experiment.refused(point, &error))?;
        for warning in built.warnings.iter().map(ToString::to_string) {
            if warnings.len() < MAX_WARNINGS && !warnings.contains(&warning) {
                warnings.push(warning);
            }
        }
    }
    Ok(warnings)
}

/// A run that failed.
struct Failure {
    run: u64,
    error: ExperimentError,
}

/// The result of a chunk.
type Message = Result<(Frame, Duration), Failure>;

/// The interval between progress updates.
const PROGRESS_INTERVAL: Duration = Duration::from_millis(100);

/// Runs what is missing. If `stop` is set, it returns early and keeps the completed runs.
pub(crate) fn run(
    experiment: &Experiment,
    results: &mut Results,
    mut log: Option<&mut Log>,
    threads: usize,
    stop: &AtomicBool,
    on_progress: &mut dyn FnMut(Progress),
) -> Result<(), SweepError> {
    let chunks = chunks(experiment, results);
    let (next, halt) = (AtomicUsize::new(0), AtomicBool::new(false));
    let worker = Worker { experiment, chunks: &chunks, next: &next, stop, halt: &halt };
    let outcome = std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel::<Message>();
        for _ in 0..threads.clamp(1, chunks.len().max(1)) {
            let (sender, worker) = (sender.clone(), &worker);
            scope.spawn(move || worker.work(&sender));
        }
        drop(sender);
        let mut remaining = RemainingTime::new(experiment, results, threads);
        let mut updated = Instant::now();
        let mut failure: Option<Failure> = None;
        let mut written = Ok(());
        loop {
            let mut frames = Vec::new();
            let first = receiver.recv_timeout(PROGRESS_INTERVAL);
            let over = matches!(first, Err(RecvTimeoutError::Disconnected));
            for message in first.into_iter().chain(receiver.try_iter()) {
                match message {
                    Ok((frame, took)) => {
                        remaining.add(&frame, took);
                        frames.push(frame);
                    }
                    // Of several failures, the one with the lowest number is reported.
                    Err(other) if failure.as_ref().is_none_or(|known| other.run < known.run) => failure = Some(other),
                    Err(_) => {}
                }
            }
            if let Some(log) = log.as_deref_mut()
                && written.is_ok()
                && !frames.is_empty()
            {
                written = log.append(&frames);
                halt.fetch_or(written.is_err(), Ordering::Relaxed);
            }
            frames.into_iter().for_each(|frame| results.insert(frame));
            if over || updated.elapsed() >= PROGRESS_INTERVAL {
                updated = Instant::now();
                on_progress(Progress { done: results.done(), runs: experiment.runs(), left: remaining.left() });
            }
            if over {
                break;
            }
        }
        written.and(failure.map_or(Ok(()), |failure| Err(failure.error.into())))
    });
    let synced = log.map_or(Ok(()), Log::sync);
    outcome.and(synced)
}

/// The state that all threads share.
struct Worker<'a> {
    experiment: &'a Experiment,
    chunks: &'a [Range<u64>],
    next: &'a AtomicUsize,
    /// The user wants to stop.
    stop: &'a AtomicBool,
    /// A thread has failed.
    halt: &'a AtomicBool,
}

impl Worker<'_> {
    fn work(&self, sender: &Sender<Message>) {
        let mut current: Option<(usize, Prepared)> = None;
        while let Some(chunk) = self.chunks.get(self.next.fetch_add(1, Ordering::Relaxed)) {
            let begun = Instant::now();
            let mut frame = Frame { first: chunk.start, runs: Vec::with_capacity((chunk.end - chunk.start) as usize) };
            let mut failed = None;
            for run in chunk.clone() {
                if self.stop.load(Ordering::Relaxed) || self.halt.load(Ordering::Relaxed) {
                    break;
                }
                match self.measure(run, &mut current) {
                    Ok(measured) => frame.runs.push(measured),
                    Err(error) => {
                        self.halt.store(true, Ordering::Relaxed);
                        failed = Some(Failure { run, error });
                        break;
                    }
                }
            }
            let short = frame.runs.len() as u64 != chunk.end - chunk.start;
            // Sending fails only if the main thread has failed.
            if !frame.runs.is_empty() {
                let _ = sender.send(Ok((frame, begun.elapsed())));
            }
            if let Some(failure) = failed {
                let _ = sender.send(Err(failure));
            }
            if short {
                return;
            }
        }
    }

    fn measure(&self, run: u64, current: &mut Option<(usize, Prepared)>) -> Result<Measured, ExperimentError> {
        let repetitions = u64::from(self.experiment.repetitions);
        let (index, repetition) = ((run / repetitions) as usize, (run % repetitions) as u32);
        let point = &self.experiment.points()[index];
        if current.as_ref().is_none_or(|(known, _)| *known != index) {
            *current = Some((index, self.experiment.prepare(point)?));
        }
        let (_, prepared) = current.as_mut().expect("it was just filled");
        once(self.experiment, point, prepared, repetition)
    }
}

/// One run of a point.
pub(super) fn once(
    experiment: &Experiment,
    point: &Point,
    prepared: &mut Prepared,
    repetition: u32,
) -> Result<Measured, ExperimentError> {
    prepared.measure(point.seed(repetition)).map_err(|failed| match failed {
        Failed::Refused(error) => experiment.refused(point, &error),
        Failed::Diagnostic(diagnostic) => ExperimentError {
            file: experiment.file.clone(),
            line: 1,
            key: "vary".to_string(),
            value: String::new(),
            diagnostic: Box::new(Diagnostic {
                problem: format!("where {}: {}", experiment.describe(point), diagnostic.problem),
                ..diagnostic
            }),
        },
    })
}

/// The approximate number of nodes and the maximum number of runs in a chunk: large enough that scheduling costs
/// nothing, small enough that all threads end together and an interruption loses little.
const CHUNK_NODES: f64 = 65_536.0;
const CHUNK_RUNS: f64 = 512.0;

/// Divides the missing runs into chunks.
fn chunks(experiment: &Experiment, results: &Results) -> Vec<Range<u64>> {
    let repetitions = u64::from(experiment.repetitions);
    let mut chunks: Vec<Range<u64>> = Vec::new();
    for (point, index) in experiment.points().iter().zip(0u64..) {
        let most = (CHUNK_NODES / estimate::size(experiment, point)).clamp(1.0, CHUNK_RUNS) as u64;
        let runs = index * repetitions..(index + 1) * repetitions;
        for run in runs.clone().filter(|run| !results.has(*run)) {
            match chunks.last_mut() {
                // A chunk never spans two points, because preparing a point has a cost.
                Some(last) if last.end == run && last.start >= runs.start && run - last.start < most => last.end += 1,
                _ => chunks.push(run..run + 1),
            }
        }
    }
    chunks
}
