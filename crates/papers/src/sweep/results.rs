//! The runs of an experiment, gathered, and the table they make.

use std::sync::Arc;

use super::log::Frame;
use super::measure::{Before, Measured, Metrics};
use super::{SweepError, VERSION};
use crate::experiment::{Experiment, Key, Kind};
use crate::table::{Heading, METRICS, Table, TableError, Values};

/// The runs that are done.
#[derive(Debug)]
pub struct Results {
    runs: Vec<Option<Measured>>,
    done: u64,
}

/// What stands out in the results.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Runs in which not all named one leader.
    pub disagreed: u64,
    /// Runs that were not over when the time was up.
    pub hung: u64,
    /// Runs without a second phase, because the first gave none.
    pub without_second: u64,
}

impl Results {
    /// None yet.
    pub fn new(experiment: &Experiment) -> Self {
        Results { runs: vec![None; experiment.runs() as usize], done: 0 }
    }

    /// How many there are.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Whether there is nothing left to run.
    pub fn is_complete(&self) -> bool {
        self.done == self.runs.len() as u64
    }

    /// What stands out.
    pub fn summary(&self) -> Summary {
        let mut summary = Summary::default();
        for run in self.runs.iter().flatten() {
            match &run.metrics {
                None => summary.without_second += 1,
                Some(metrics) => {
                    summary.disagreed += u64::from(!metrics.agreement);
                    summary.hung += u64::from(metrics.hung);
                }
            }
        }
        summary
    }

    pub(super) fn has(&self, run: u64) -> bool {
        self.runs.get(run as usize).is_some_and(Option::is_some)
    }

    pub(super) fn take(&mut self, frame: Frame) {
        for (run, place) in frame.runs.into_iter().zip(self.runs.iter_mut().skip(frame.first as usize)) {
            self.done += u64::from(place.is_none());
            *place = Some(run);
        }
    }

    /// A row for each run, in the order of the grid, repetitions inside. What is not done is missing.
    pub fn table(&self, experiment: &Experiment) -> Result<Table, SweepError> {
        let mut builder = Builder { experiment, runs: &self.runs, table: Table::default() };
        builder.inputs()?;
        builder.identity()?;
        builder.figures()?;
        Ok(builder.table)
    }
}

struct Builder<'a> {
    experiment: &'a Experiment,
    runs: &'a [Option<Measured>],
    table: Table,
}

impl Builder<'_> {
    fn push(&mut self, name: &str, about: &str, values: Values) -> Result<(), TableError> {
        self.table.push(Heading { name: name.into(), about: about.into() }, values)
    }

    /// A column that every experiment has.
    fn metric(&mut self, name: &str, values: Values) -> Result<(), TableError> {
        let about = METRICS.iter().find(|(known, _)| *known == name).map_or("", |(_, about)| about);
        self.push(name, about, values)
    }

    fn integers(&mut self, name: &str, of: impl Fn(&Metrics) -> Option<i64>) -> Result<(), TableError> {
        let values = self.runs.iter().map(|run| of(run.as_ref()?.metrics.as_ref()?)).collect();
        self.metric(name, Values::Integers(values))
    }

    fn flags(&mut self, name: &str, of: impl Fn(&Metrics) -> bool) -> Result<(), TableError> {
        let values = self.runs.iter().map(|run| Some(of(run.as_ref()?.metrics.as_ref()?))).collect();
        self.metric(name, Values::Flags(values))
    }

    /// What the file says of each run.
    fn inputs(&mut self) -> Result<(), TableError> {
        let keys: Vec<Key> = self.experiment.keys().cloned().collect();
        let has_nodes = keys.iter().any(|key| &**key.name() == "nodes");
        for (index, key) in keys.iter().enumerate() {
            if &**key.name() == "nodes" {
                self.nodes(key.about())?;
                continue;
            }
            let each = self.experiment.points().iter().map(|point| point.values()[index].clone());
            let values = typed(key, each.collect(), self.experiment.repetitions as usize);
            self.push(key.name(), key.about(), values)?;
            if key.kind() == Kind::Algorithm && !has_nodes {
                self.nodes("nodes")?;
            }
        }
        Ok(())
    }

    /// As many as there are, whoever decided it.
    fn nodes(&mut self, about: &str) -> Result<(), TableError> {
        let nodes = self.runs.iter().map(|run| Some(i64::from(run.as_ref()?.nodes))).collect();
        self.push("nodes", about, Values::Integers(nodes))
    }

    fn identity(&mut self) -> Result<(), TableError> {
        let repetitions = self.experiment.repetitions;
        let points = self.experiment.points();
        let each = |of: &dyn Fn(usize, u32) -> Option<i64>| {
            let runs = (0..points.len()).flat_map(|point| (0..repetitions).map(move |repetition| (point, repetition)));
            Values::Integers(runs.map(|(point, repetition)| of(point, repetition)).collect())
        };
        let names = points.iter().flat_map(|point| {
            let name: Arc<str> = point.name().into();
            std::iter::repeat_n(Some(name), repetitions as usize)
        });
        self.metric("point", Values::Texts(names.collect()))?;
        self.metric("repetition", each(&|_, repetition| Some(i64::from(repetition))))?;
        self.metric("seed", each(&|point, repetition| i64::try_from(points[point].seed(repetition)).ok()))?;
        let version: Arc<str> = VERSION.into();
        self.metric("version", Values::Texts(vec![Some(version); self.runs.len()]))
    }

    fn figures(&mut self) -> Result<(), SweepError> {
        let links = self.runs.iter().map(|run| Some(run.as_ref()?.links as i64)).collect();
        self.metric("links", Values::Integers(links))?;
        self.integers("leader", |run| run.leader.map(i64::from))?;
        self.flags("agreement", |run| run.agreement)?;
        self.integers("live", |run| Some(i64::from(run.live)))?;
        self.flags("hung", |run| run.hung)?;
        self.integers("messages", |run| Some(run.by_kind.iter().sum()))?;
        self.kinds()?;
        if self.experiment.keys().any(|key| &**key.name() == "notice") {
            self.integers("notice_messages", |run| Some(run.notice))?;
        }
        self.integers("bytes", |run| Some(run.bytes))?;
        self.integers("lost", |run| Some(run.lost))?;
        let loads = self.runs.iter().map(|run| Some(run.as_ref()?.metrics.as_ref()?.load_mean)).collect();
        self.metric("load_mean", Values::Reals(loads))?;
        self.integers("load_max", |run| Some(run.load_max))?;
        self.integers("collisions", |run| Some(run.collisions))?;
        self.integers("collisions_max", |run| Some(run.collisions_max))?;
        self.integers("elected", |run| run.elected)?;
        self.integers("agreed", |run| run.agreed)?;
        self.integers("quiescent", |run| run.quiescent)?;
        self.integers("estimate", |run| run.estimate.map(|size| size as i64))?;
        self.integers("expected", |run| run.expected.map(|messages| messages as i64))?;
        self.before()?;
        Ok(())
    }

    /// A column for each kind of message that occurs.
    fn kinds(&mut self) -> Result<(), SweepError> {
        let repetitions = self.experiment.repetitions as usize;
        let mut kinds_of: Vec<&'static [&'static str]> = Vec::with_capacity(self.experiment.points().len());
        for point in self.experiment.points() {
            let prepared = self.experiment.prepare(point)?;
            kinds_of.push(prepared.election.kinds(prepared.request.runs));
        }
        let count = |run: usize, kind: &str| {
            let place = kinds_of[run / repetitions].iter().position(|known| *known == kind)?;
            self.runs[run].as_ref()?.metrics.as_ref()?.by_kind.get(place).copied()
        };
        let mut kinds: Vec<&'static str> = Vec::new();
        for kind in kinds_of.iter().flat_map(|kinds| kinds.iter()) {
            if !kinds.contains(kind) {
                kinds.push(kind);
            }
        }
        let mut columns = Vec::new();
        for kind in kinds {
            let counts: Vec<Option<i64>> = (0..self.runs.len()).map(|run| count(run, kind)).collect();
            if counts.iter().any(|count| count.is_some_and(|count| count != 0)) {
                columns.push((kind, counts));
            }
        }
        for (kind, counts) in columns {
            self.push(&format!("messages.{kind}"), &format!("messages of kind {kind}"), Values::Integers(counts))?;
        }
        Ok(())
    }

    /// The first runs, where there were any.
    fn before(&mut self) -> Result<(), TableError> {
        if !self.runs.iter().flatten().any(|run| run.before.is_some()) {
            return Ok(());
        }
        type Part = fn(&Before) -> Option<i64>;
        let columns: [(&str, Part); 5] = [
            ("before.messages", |before| Some(before.messages)),
            ("before.bytes", |before| Some(before.bytes)),
            ("before.elected", |before| before.elected),
            ("before.agreed", |before| before.agreed),
            ("before.quiescent", |before| before.quiescent),
        ];
        for (name, of) in columns {
            let values = self.runs.iter().map(|run| of(run.as_ref()?.before.as_ref()?)).collect();
            self.metric(name, Values::Integers(values))?;
        }
        Ok(())
    }
}

/// The values of a setting, a row for each run, in the type that fits all of them.
fn typed(key: &Key, points: Vec<Option<Arc<str>>>, repetitions: usize) -> Values {
    fn spread<T: Clone>(points: impl Iterator<Item = Option<T>>, repetitions: usize) -> Vec<Option<T>> {
        points.flat_map(|value| std::iter::repeat_n(value, repetitions)).collect()
    }
    fn all<T: std::str::FromStr>(points: &[Option<Arc<str>>]) -> Option<Vec<Option<T>>> {
        points
            .iter()
            .map(|value| value.as_ref().map(|text| text.parse().ok()).map_or(Some(None), |read| read.map(Some)))
            .collect()
    }
    match key.kind() {
        // Absent means no.
        Kind::Flag => Values::Flags(spread(points.iter().map(|value| Some(value.is_some())), repetitions)),
        _ if key.is_number() => match (all::<i64>(&points), all::<f64>(&points)) {
            (Some(whole), _) if key.kind() != Kind::Real => Values::Integers(spread(whole.into_iter(), repetitions)),
            (_, Some(real)) => Values::Reals(spread(real.into_iter(), repetitions)),
            _ => Values::Texts(spread(points.into_iter(), repetitions)),
        },
        _ => Values::Texts(spread(points.into_iter(), repetitions)),
    }
}
