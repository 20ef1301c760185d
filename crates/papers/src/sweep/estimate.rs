//! How long a sweep takes: guessed from a few runs, and told better while it goes on.

use std::str::FromStr;
use std::time::{Duration, Instant};

use hustings_sim::topology::Shape;

use super::log::Frame;
use super::results::Results;
use super::runner::once;
use crate::experiment::{Experiment, Mistake, Point};

/// About how many nodes a point has.
pub(super) fn size(experiment: &Experiment, point: &Point) -> f64 {
    let nodes = experiment.value(point, "nodes").and_then(|nodes| nodes.parse().ok());
    let topology = || Shape::from_str(experiment.value(point, "topology")?).ok()?.size().map(|size| size as f64);
    let ids = || Some(experiment.value(point, "ids")?.split(',').count() as f64);
    nodes.or_else(topology).or_else(ids).unwrap_or(8.0).max(1.0)
}

/// What a run costs if nothing else is known: most algorithms send about so many messages.
fn weight(size: f64) -> f64 {
    size * (size + 1.0).log2()
}

/// The time left, from what the runs so far took.
pub(super) struct Clock {
    points: Vec<Timed>,
    repetitions: u64,
    threads: f64,
    seconds: f64,
    weight: f64,
}

struct Timed {
    weight: f64,
    missing: u64,
    runs: u64,
    seconds: f64,
}

impl Clock {
    pub(super) fn new(experiment: &Experiment, results: &Results, threads: usize) -> Self {
        let repetitions = u64::from(experiment.repetitions);
        let timed = |(point, index): (&Point, u64)| {
            let runs = index * repetitions..(index + 1) * repetitions;
            let missing = runs.filter(|run| !results.has(*run)).count() as u64;
            Timed { weight: weight(size(experiment, point)), missing, runs: 0, seconds: 0.0 }
        };
        let points = experiment.points().iter().zip(0..).map(timed).collect();
        Clock { points, repetitions, threads: threads.max(1) as f64, seconds: 0.0, weight: 0.0 }
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

    /// How long the rest takes; `None` before anything is known.
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

/// How many points are tried at most, and for how long.
const MOST_TRIED: usize = 60;
const LONGEST: Duration = Duration::from_secs(3);

/// A guess of how long all runs take, from a few of them.
pub fn estimate(experiment: &Experiment, threads: usize) -> Result<Duration, Mistake> {
    let mut points: Vec<(f64, &Point)> =
        experiment.points().iter().map(|point| (size(experiment, point), point)).collect();
    // Small ones first: with luck they tell how the cost grows before the time is up.
    points.sort_by(|(a, _), (b, _)| a.total_cmp(b));
    let begun = Instant::now();
    let step = points.len().div_ceil(MOST_TRIED);
    let mut tried: Vec<(&str, f64, f64)> = Vec::new();
    for &(size, point) in points.iter().step_by(step) {
        let mut prepared = experiment.prepare(point)?;
        let run = Instant::now();
        once(experiment, point, &mut prepared, 0)?;
        tried.push((algorithm(experiment, point), size, run.elapsed().as_secs_f64()));
        if begun.elapsed() > LONGEST {
            break;
        }
    }
    let total: f64 = points.iter().map(|(size, point)| guess(&tried, algorithm(experiment, point), *size)).sum();
    let seconds = total * f64::from(experiment.repetitions) / threads.max(1) as f64;
    Ok(Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX))
}

fn algorithm<'a>(experiment: &Experiment, point: &'a Point) -> &'a str {
    experiment.value(point, "algorithm").map_or("", |name| name)
}

/// The seconds of one run: those of the nearest size that was tried with the algorithm, scaled.
fn guess(tried: &[(&str, f64, f64)], algorithm: &str, size: f64) -> f64 {
    let same: Vec<(f64, f64)> =
        tried.iter().filter(|(name, ..)| *name == algorithm).map(|&(_, size, took)| (size, took)).collect();
    let same = if same.is_empty() { tried.iter().map(|&(_, size, took)| (size, took)).collect() } else { same };
    let distance = |other: f64| (other / size).ln().abs();
    let Some(&(near, took)) = same.iter().min_by(|(a, _), (b, _)| distance(*a).total_cmp(&distance(*b))) else {
        return 0.0;
    };
    // How fast the cost grows, between the smallest and the greatest size that was tried.
    let (low, high) = (same[0], same[same.len() - 1]);
    let grows = if high.0 > 2.0 * low.0 && low.1 > 0.0 { (high.1 / low.1).ln() / (high.0 / low.0).ln() } else { 1.2 };
    took * (size / near).powf(grows.clamp(0.5, 3.0))
}
