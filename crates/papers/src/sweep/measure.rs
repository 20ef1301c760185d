//! One run of a point and its metrics.

use hustings_sim::outcome::Outcome;
use hustings_sim::simulate::SpecError;
use serde::{Deserialize, Serialize};

use crate::experiment::phase::FirstPhase;
use crate::experiment::{Diagnostic, Prepared};

/// The result of a run.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Measured {
    pub(crate) nodes: u32,
    pub(crate) links: u64,
    /// `None` if there was no second run, because the first had no leader or never became quiet.
    pub(crate) metrics: Option<Metrics>,
    /// The first of two runs. Boxed, because most points have only one and there may be millions of results.
    pub(crate) before: Option<Box<Before>>,
}

/// The metrics of a run. With two phases they describe the second, and some are differences.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Metrics {
    pub(crate) leader: Option<u32>,
    pub(crate) agreement: bool,
    pub(crate) live: u32,
    pub(crate) hung: bool,
    /// In the order of the algorithm's kinds.
    pub(crate) by_kind: Vec<i64>,
    pub(crate) notice: i64,
    pub(crate) bytes: i64,
    pub(crate) lost: i64,
    pub(crate) load_mean: f64,
    pub(crate) load_max: i64,
    pub(crate) collisions: i64,
    pub(crate) collisions_max: i64,
    pub(crate) elected: Option<i64>,
    pub(crate) agreed: Option<i64>,
    pub(crate) quiescent: Option<i64>,
    pub(crate) estimate: Option<u64>,
    pub(crate) expected: Option<u64>,
}

/// The metrics of the first of two runs.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct Before {
    pub(crate) messages: i64,
    pub(crate) bytes: i64,
    pub(crate) elected: Option<i64>,
    pub(crate) agreed: Option<i64>,
    pub(crate) quiescent: Option<i64>,
}

/// Why a run failed.
pub(crate) enum Failed {
    Refused(SpecError),
    Diagnostic(Diagnostic),
}

impl From<SpecError> for Failed {
    fn from(error: SpecError) -> Self {
        Failed::Refused(error)
    }
}

impl Prepared {
    /// Runs one election, or two if faults depend on the first.
    pub(crate) fn measure(&mut self, seed: u64) -> Result<Measured, Failed> {
        self.request.seed = seed;
        let first = self.election.build(&self.request)?.scenario;
        let outcome = self.election.run(&first);
        let (nodes, links) = (first.network.members(), first.network.links());
        if !self.has_two_phases() {
            let expected = self.election.expected(&first).map(|kinds| kinds.iter().sum());
            let metrics = Some(Metrics { expected, ..Metrics::of(&outcome) });
            return Ok(Measured { nodes, links, metrics, before: None });
        }
        let whole = Metrics::of(&outcome);
        let before = Some(Box::new(Before {
            messages: whole.by_kind.iter().sum(),
            bytes: whole.bytes,
            elected: whole.elected,
            agreed: whole.agreed,
            quiescent: whole.quiescent,
        }));
        // A run without messages is quiet from the start.
        let quiet = if outcome.hung { None } else { Some(outcome.time.quiescent.unwrap_or(0)) };
        let (Some(leader), Some(quiet)) = (outcome.leader, quiet) else {
            return Ok(Measured { nodes, links, metrics: None, before });
        };
        let request = self.second(seed, &first.starts, FirstPhase { leader, quiet }).map_err(Failed::Diagnostic)?;
        let second = self.election.build(&request)?.scenario;
        let metrics = Metrics::of(&self.election.run(&second));
        // If no fault depends on `quiet`, the second run is measured as a whole.
        let metrics = if self.after_quiet { metrics.less(&whole, quiet as i64) } else { metrics };
        Ok(Measured { nodes, links, metrics: Some(metrics), before })
    }
}

impl Metrics {
    fn of(outcome: &Outcome) -> Self {
        let tick = |tick: Option<u64>| tick.map(|tick| tick as i64);
        Metrics {
            leader: outcome.leader,
            agreement: outcome.agreement,
            live: outcome.live,
            hung: outcome.hung,
            by_kind: outcome.by_kind.iter().map(|count| *count as i64).collect(),
            notice: outcome.notice.iter().map(|(_, count)| *count as i64).sum(),
            bytes: outcome.bytes as i64,
            lost: outcome.lost as i64,
            load_mean: outcome.load.mean,
            load_max: outcome.load.max as i64,
            collisions: outcome.collisions.total as i64,
            collisions_max: outcome.collisions.max as i64,
            elected: tick(outcome.time.elected),
            agreed: tick(outcome.time.agreed),
            quiescent: tick(outcome.time.quiescent),
            estimate: outcome.estimate,
            expected: None,
        }
    }

    /// The metrics after the end of the first run.
    fn less(mut self, first: &Metrics, quiet: i64) -> Self {
        for (count, before) in self.by_kind.iter_mut().zip(&first.by_kind) {
            *count -= before;
        }
        self.notice -= first.notice;
        self.bytes -= first.bytes;
        self.lost -= first.lost;
        self.load_mean -= first.load_mean;
        self.collisions -= first.collisions;
        for time in [&mut self.elected, &mut self.agreed, &mut self.quiescent] {
            *time = time.map(|tick| tick - quiet);
        }
        self
    }
}
