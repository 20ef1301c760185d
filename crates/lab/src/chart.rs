//! Messages, bytes and time over the number of nodes, computed on demand.

use hustings_elections::Catalogue;
use hustings_sim::outcome::Outcome;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::request::{self, Bounds};

/// What a chart shows.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChartRequest {
    /// The texts of runs without a number of nodes, one for each curve.
    pub(crate) runs: Vec<String>,
    /// The numbers of nodes.
    pub(crate) sizes: Vec<u32>,
    /// How many elections, with seeds from 0, are averaged.
    #[serde(default = "one")]
    pub(crate) seeds: u32,
}

fn one() -> u32 {
    1
}

/// The maximum numbers of curves, of points of a curve, and of elections for a point.
const MAX_RUNS: usize = 4;
const MAX_SIZES: usize = 24;
const MAX_SEEDS: u32 = 20;

/// A point of a curve.
#[derive(Clone, PartialEq, Debug, Serialize)]
pub(crate) struct Point {
    /// Which curve.
    pub(crate) run: usize,
    /// The number of nodes.
    pub(crate) n: u32,
    /// On average over the seeds.
    pub(crate) messages: f64,
    pub(crate) bytes: f64,
    pub(crate) time: f64,
    /// What the formula gives for messages, if there is one for every election of the point.
    pub(crate) expected: Option<f64>,
}

impl ChartRequest {
    pub(crate) fn check(&self) -> Result<(), LabError> {
        let bounded = |name: &str, count: usize, max: usize| {
            if (1..=max).contains(&count) {
                return Ok(());
            }
            Err(LabError::field(name, format!("{count} {name} are asked for; allowed: 1 to {max}")))
        };
        bounded("runs", self.runs.len(), MAX_RUNS)?;
        bounded("sizes", self.sizes.len(), MAX_SIZES)?;
        bounded("seeds", self.seeds as usize, MAX_SEEDS as usize)
    }

    /// The points, curve by curve within a size, so that all curves grow together.
    pub(crate) fn points(&self) -> impl Iterator<Item = (usize, u32)> {
        self.sizes.iter().flat_map(|&n| (0..self.runs.len()).map(move |run| (run, n)))
    }

    /// Computes a point.
    pub(crate) fn point(
        &self,
        (run, n): (usize, u32),
        catalogue: &Catalogue,
        bounds: &Bounds,
    ) -> Result<Point, LabError> {
        let mut sum = (0.0, 0.0, 0.0);
        let mut expected = Some(0.0);
        for seed in 0..self.seeds {
            let text = format!("{}&n={n}&seed={seed}", self.runs[run]);
            let request = request::parse(&text, catalogue, bounds)?;
            let scenario = &request.built.scenario;
            let outcome: Outcome = request.election.run(scenario);
            sum.0 += outcome.total() as f64;
            sum.1 += outcome.bytes as f64;
            sum.2 += outcome.time.quiescent.unwrap_or(0) as f64;
            let formula = request.election.expected(scenario).map(|kinds| kinds.iter().sum::<u64>() as f64);
            expected = expected.zip(formula).map(|(sum, formula)| sum + formula);
        }
        let mean = |sum: f64| sum / f64::from(self.seeds);
        Ok(Point { run, n, messages: mean(sum.0), bytes: mean(sum.1), time: mean(sum.2), expected: expected.map(mean) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn points_are_those_of_the_engine_and_of_the_formula() {
        let request =
            ChartRequest { runs: vec!["a=chang-roberts&ids=descending".into()], sizes: vec![8, 16], seeds: 1 };
        request.check().expect("it is small");
        let points: Vec<Point> = request
            .points()
            .map(|point| request.point(point, &Catalogue::default(), &Bounds::OWN).expect("it runs"))
            .collect();
        // The worst ring: n(n+1)/2 candidates and n announcements.
        assert_eq!(points.iter().map(|point| point.messages).collect::<Vec<_>>(), [44.0, 152.0]);
        assert_eq!(points.iter().map(|point| point.expected).collect::<Vec<_>>(), [Some(44.0), Some(152.0)]);
    }

    #[test]
    fn too_much_is_refused() {
        let request = |runs: usize, sizes: usize, seeds| ChartRequest {
            runs: vec!["a=bully".into(); runs],
            sizes: vec![4; sizes],
            seeds,
        };
        for (wrong, field) in [(request(5, 1, 1), "runs"), (request(1, 25, 1), "sizes"), (request(1, 1, 21), "seeds")] {
            assert_eq!(wrong.check().expect_err("it is too much").field.as_deref(), Some(field));
        }
        assert!(request(0, 1, 1).check().is_err() && request(1, 0, 1).check().is_err());
    }
}
