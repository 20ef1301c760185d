//! Runs on several threads.
//!
//! Missing runs are cut into chunks; whoever is free takes the next one. A run depends on its number alone, so the
//! results do not depend on who ran what when.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use super::estimate::Clock;
use super::log::{Frame, Log};
use super::measure::{Failed, Measured};
use super::results::Results;
use super::{SweepError, estimate};
use crate::experiment::{Experiment, Mistake, Point, Prepared, Trouble};

/// How far a sweep is.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Progress {
    /// Runs that are done, those of earlier sessions included.
    pub done: u64,
    /// All runs.
    pub runs: u64,
    /// How long the rest will take, if that can be told.
    pub left: Option<Duration>,
}

/// So many nodes are built only to be checked; what is wrong with points beyond that shows when they are run.
const MAX_CHECKED: f64 = 5_000_000.0;

/// The most warnings that are told.
const MAX_WARNINGS: usize = 10;

/// Checks every point against its algorithm before anything is run. Tells what is allowed, but perhaps not meant.
pub fn check(experiment: &Experiment) -> Result<Vec<String>, Mistake> {
    let mut warnings: Vec<String> = Vec::new();
    let mut checked = 0.0;
    for point in experiment.points() {
        let mut prepared = experiment.prepare(point)?;
        checked += estimate::size(experiment, point);
        if checked > MAX_CHECKED {
            continue;
        }
        prepared.request.seed = point.seed(0);
        let planned =
            prepared.election.plan(&prepared.request).map_err(|refusal| experiment.refused(point, &refusal))?;
        for warning in planned.warnings.iter().map(ToString::to_string) {
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
    error: Mistake,
}

/// What a thread sends home.
type Message = Result<(Frame, Duration), Failure>;

/// How often progress is told.
const PACE: Duration = Duration::from_millis(100);

/// Runs what is missing. Stops early when it is told to, with all that was measured until then.
pub(crate) fn run(
    experiment: &Experiment,
    results: &mut Results,
    mut log: Option<&mut Log>,
    threads: usize,
    stop: &AtomicBool,
    watch: &mut dyn FnMut(Progress),
) -> Result<(), SweepError> {
    let chunks = chunks(experiment, results);
    let (next, halt) = (AtomicUsize::new(0), AtomicBool::new(false));
    let worker = Worker { experiment, chunks: &chunks, next: &next, stop, halt: &halt };
    let outcome = std::thread::scope(|scope| {
        let (home, arrivals) = mpsc::channel::<Message>();
        for _ in 0..threads.clamp(1, chunks.len().max(1)) {
            let (home, worker) = (home.clone(), &worker);
            scope.spawn(move || worker.work(&home));
        }
        drop(home);
        let mut clock = Clock::new(experiment, results, threads);
        let mut told = Instant::now();
        let mut failure: Option<Failure> = None;
        let mut written = Ok(());
        loop {
            let mut frames = Vec::new();
            let first = arrivals.recv_timeout(PACE);
            let over = matches!(first, Err(RecvTimeoutError::Disconnected));
            for message in first.into_iter().chain(arrivals.try_iter()) {
                match message {
                    Ok((frame, took)) => {
                        clock.add(&frame, took);
                        frames.push(frame);
                    }
                    // Of several, always the same one is told.
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
            frames.into_iter().for_each(|frame| results.take(frame));
            if over || told.elapsed() >= PACE {
                told = Instant::now();
                watch(Progress { done: results.done(), runs: experiment.runs(), left: clock.left() });
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

/// What all threads share.
struct Worker<'a> {
    experiment: &'a Experiment,
    chunks: &'a [Range<u64>],
    next: &'a AtomicUsize,
    /// Somebody wants to stop.
    stop: &'a AtomicBool,
    /// Something went wrong elsewhere.
    halt: &'a AtomicBool,
}

impl Worker<'_> {
    fn work(&self, home: &Sender<Message>) {
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
            // Nobody listens any more only if the main thread has failed; then nothing matters.
            if !frame.runs.is_empty() {
                let _ = home.send(Ok((frame, begun.elapsed())));
            }
            if let Some(failure) = failed {
                let _ = home.send(Err(failure));
            }
            if short {
                return;
            }
        }
    }

    fn measure(&self, run: u64, current: &mut Option<(usize, Prepared)>) -> Result<Measured, Mistake> {
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
) -> Result<Measured, Mistake> {
    prepared.measure(point.seed(repetition)).map_err(|failed| match failed {
        Failed::Refused(refusal) => experiment.refused(point, &refusal),
        Failed::Trouble(trouble) => Mistake {
            file: experiment.file.clone(),
            line: 1,
            key: "vary".to_string(),
            value: String::new(),
            trouble: Box::new(Trouble {
                problem: format!("where {}: {}", experiment.shown(point), trouble.problem),
                ..trouble
            }),
        },
    })
}

/// About so many nodes are simulated in one chunk, and at most so many runs: long enough that handing out costs
/// nothing, short enough that all threads end together and little is lost by a sudden end.
const CHUNK_NODES: f64 = 65_536.0;
const CHUNK_RUNS: f64 = 512.0;

/// The missing runs, cut.
fn chunks(experiment: &Experiment, results: &Results) -> Vec<Range<u64>> {
    let repetitions = u64::from(experiment.repetitions);
    let mut chunks: Vec<Range<u64>> = Vec::new();
    for (point, index) in experiment.points().iter().zip(0u64..) {
        let most = (CHUNK_NODES / estimate::size(experiment, point)).clamp(1.0, CHUNK_RUNS) as u64;
        let runs = index * repetitions..(index + 1) * repetitions;
        for run in runs.clone().filter(|run| !results.has(*run)) {
            match chunks.last_mut() {
                // Never across two points: each is made ready once.
                Some(last) if last.end == run && last.start >= runs.start && run - last.start < most => last.end += 1,
                _ => chunks.push(run..run + 1),
            }
        }
    }
    chunks
}
