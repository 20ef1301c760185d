//! Estimates of how long a sweep takes: from a few runs beforehand, and from its progress.

use std::str::FromStr;
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

use hustings_sim::topology::Topology;

use super::log::Frame;
use super::results::Results;
use super::runner::once;
use crate::experiment::{Experiment, ExperimentError, Point};

/// The approximate number of nodes of a point.
pub(super) fn size(experiment: &Experiment, point: &Point) -> f64 {
    let nodes = experiment.value(point, "nodes").and_then(|nodes| nodes.parse().ok());
    let topology = || Topology::from_str(experiment.value(point, "topology")?).ok()?.size().map(|size| size as f64);
    let ids = || Some(experiment.value(point, "ids")?.split(',').count() as f64);
    nodes.or_else(topology).or_else(ids).unwrap_or(8.0).max(1.0)
}

/// The assumed cost of a run: about the number of messages of most algorithms.
fn weight(size: f64) -> f64 {
    size * (size + 1.0).log2()
}

/// Estimates the remaining time from the runs so far.
pub(super) struct RemainingTime {
    points: Vec<TimedPoint>,
    repetitions: u64,
    threads: f64,
    seconds: f64,
    weight: f64,
}

struct TimedPoint {
    weight: f64,
    missing: u64,
    runs: u64,
    seconds: f64,
}

impl RemainingTime {
    pub(super) fn new(experiment: &Experiment, results: &Results, threads: usize) -> Self {
        let repetitions = u64::from(experiment.repetitions);
        let timed = |(point, index): (&Point, u64)| {
            let runs = index * repetitions..(index + 1) * repetitions;
            let missing = runs.filter(|run| !results.has(*run)).count() as u64;
            TimedPoint { weight: weight(size(experiment, point)), missing, runs: 0, seconds: 0.0 }
        };
        let points = experiment.points().iter().zip(0..).map(timed).collect();
        RemainingTime { points, repetitions, threads: threads.max(1) as f64, seconds: 0.0, weight: 0.0 }
    }

    pub(super) fn add(&mut self, frame: &Frame, took: Duration) {
        let Some(point) = self.points.get_mut((frame.first / self.repetitions) as usize) else { return };
        let runs = frame.runs.len() as u64;
        point.runs += runs;
        point.missing = point.missing.saturating_sub(runs);
        point.seconds += took.as_secs_f64();
        self.seconds += took.as_secs_f64();
        self.weight += point.weight * runs as f64;
    }

    /// The remaining time; `None` before the first run.
    pub(super) fn left(&self) -> Option<Duration> {
        if self.weight == 0.0 {
            return None;
        }
        let pace = self.seconds / self.weight;
        let each = self.points.iter().map(|point| {
            let one = if point.runs > 0 { point.seconds / point.runs as f64 } else { point.weight * pace };
            one * point.missing as f64
        });
        Duration::try_from_secs_f64(each.sum::<f64>() / self.threads).ok()
    }
}

/// The maximum number of points that are tried, and the time limit.
const MAX_TRIED: usize = 60;
const TIME_LIMIT: Duration = Duration::from_secs(3);

/// The estimated duration of all runs.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct DurationEstimate {
    /// The duration.
    pub time: Duration,
    /// Whether `time` is only a lower bound, because not a single run ended within the time limit.
    pub at_least: bool,
}

/// Estimates the duration of all runs from a few of them. A run that exceeds the time limit continues in the
/// background until the program ends.
pub fn estimate(experiment: &Experiment, threads: usize) -> Result<DurationEstimate, ExperimentError> {
    estimate_within(experiment, threads, TIME_LIMIT)
}

pub(super) fn estimate_within(
    experiment: &Experiment,
    threads: usize,
    time_limit: Duration,
) -> Result<DurationEstimate, ExperimentError> {
    let mut order: Vec<(f64, usize)> =
        experiment.points().iter().map(|point| size(experiment, point)).zip(0..).collect();
    // Small points run first, so that the growth of the cost is known before the time limit.
    order.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let begun = Instant::now();
    let trials = trials(experiment, order.iter().step_by(order.len().div_ceil(MAX_TRIED)).map(|(_, at)| *at).collect());
    let mut tried: Vec<(&str, f64, f64)> = Vec::new();
    let is_late = loop {
        match trials.recv_timeout(time_limit.saturating_sub(begun.elapsed())) {
            Ok(trial) => {
                let (at, took) = trial?;
                let point = &experiment.points()[at];
                tried.push((algorithm(experiment, point), size(experiment, point), took.as_secs_f64()));
            }
            Err(error) => break error == RecvTimeoutError::Timeout,
        }
    };
    let elapsed = begun.elapsed().as_secs_f64();
    let estimated =
        |(size, at): &(f64, usize)| seconds_of_run(&tried, algorithm(experiment, &experiment.points()[*at]), *size);
    let at_least = is_late && tried.is_empty();
    let total: f64 = if at_least { elapsed * order.len() as f64 } else { order.iter().map(estimated).sum() };
    // Threads beyond the number of runs do not help.
    let at_once = (threads.max(1) as f64).min(experiment.runs() as f64);
    let seconds = total * f64::from(experiment.repetitions) / at_once;
    Ok(DurationEstimate { time: Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX), at_least })
}

/// Runs each of these points once and sends its duration, until the receiver is dropped.
fn trials(experiment: &Experiment, points: Vec<usize>) -> Receiver<Result<(usize, Duration), ExperimentError>> {
    let (sender, trials) = mpsc::channel();
    let experiment = experiment.clone();
    std::thread::spawn(move || {
        for at in points {
            let point = &experiment.points()[at];
            let trial = experiment.prepare(point).and_then(|mut prepared| {
                let begun = Instant::now();
                once(&experiment, point, &mut prepared, 0).map(|_| (at, begun.elapsed()))
            });
            if sender.send(trial).is_err() {
                return;
            }
        }
    });
    trials
}

fn algorithm<'a>(experiment: &Experiment, point: &'a Point) -> &'a str {
    experiment.value(point, "algorithm").map_or("", |name| name)
}

/// The seconds of one run, scaled from the nearest size that was tried with the algorithm.
fn seconds_of_run(tried: &[(&str, f64, f64)], algorithm: &str, size: f64) -> f64 {
    let same: Vec<(f64, f64)> =
        tried.iter().filter(|(name, ..)| *name == algorithm).map(|&(_, size, took)| (size, took)).collect();
    let same = if same.is_empty() { tried.iter().map(|&(_, size, took)| (size, took)).collect() } else { same };
    let distance = |other: f64| (other / size).ln().abs();
    let Some(&(near, took)) = same.iter().min_by(|(a, _), (b, _)| distance(*a).total_cmp(&distance(*b))) else {
        return 0.0;
    };
    // The growth of the cost between the smallest and the largest size that was tried.
    let (low, high) = (same[0], same[same.len() - 1]);
    let exponent =
        if high.0 > 2.0 * low.0 && low.1 > 0.0 { (high.1 / low.1).ln() / (high.0 / low.0).ln() } else { 1.2 };
    took * (size / near).powf(exponent.clamp(0.5, 3.0))
}
