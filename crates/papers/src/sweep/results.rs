//! Collects the runs of an experiment and builds their table.

use std::sync::Arc;

use super::log::Frame;
use super::measure::{Before, Measured, Metrics};
use super::{SweepError, VERSION};
use crate::experiment::{Experiment, Key, Kind};
use crate::table::{Heading, METRICS, Table, TableError, Values};

/// The runs so far.
#[derive(Debug)]
pub struct Results {
    runs: Vec<Option<Measured>>,
    done: u64,
}

/// Counts of unusual runs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Summary {
    /// Runs that did not end in agreement.
    pub disagreed: u64,
    /// Runs with messages in flight at the last tick.
    pub hung: u64,
    /// Runs without a second phase, because the first had no leader or never became quiet.
    pub without_second: u64,
}

impl Results {
    /// Creates an empty collection.
    pub(crate) fn new(experiment: &Experiment) -> Self {
        Results { runs: vec![None; experiment.runs() as usize], done: 0 }
    }

    /// The number of runs so far.
    pub fn done(&self) -> u64 {
        self.done
    }

    /// Whether all runs are done.
    pub fn is_complete(&self) -> bool {
        self.done == self.runs.len() as u64
    }

    /// Counts unusual runs.
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

    pub(super) fn insert(&mut self, frame: Frame) {
        for (run, place) in frame.runs.into_iter().zip(self.runs.iter_mut().skip(frame.first as usize)) {
            self.done += u64::from(place.is_none());
            *place = Some(run);
        }
    }

    /// Builds the table: a row for each run, by point and repetition. Values of pending runs are missing.
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
        let about = METRICS.iter().find(|(known, ..)| *known == name).map_or("", |(.., about)| about);
        self.push(name, about, values)
    }

    fn integers(&mut self, name: &str, of: impl Fn(&Metrics) -> Option<i64>) -> Result<(), TableError> {
        let values = self.runs.iter().map(|run| of(run.as_ref()?.metrics.as_ref()?)).collect();
        self.metric(name, Values::Integers(values))
    }

    fn bools(&mut self, name: &str, of: impl Fn(&Metrics) -> bool) -> Result<(), TableError> {
        let values = self.runs.iter().map(|run| Some(of(run.as_ref()?.metrics.as_ref()?))).collect();
        self.metric(name, Values::Bools(values))
    }

    /// The settings of each run.
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

    /// The actual number of nodes.
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
        self.bools("agreement", |run| run.agreement)?;
        self.integers("live", |run| Some(i64::from(run.live)))?;
        self.bools("hung", |run| run.hung)?;
        self.integers("messages", |run| Some(run.by_kind.iter().sum()))?;
        self.kinds()?;
        if self.experiment.keys().any(|key| &**key.name() == "notice") {
            self.integers("notice_messages", |run| Some(run.notice))?;
        }
        self.integers("bytes", |run| Some(run.bytes))?;
        self.integers("lost", |run| Some(run.lost))?;
        let loads = self.runs.iter().map(|run| Some(run.as_ref()?.metrics.as_ref()?.load_mean)).collect();
        self.metric("load_mean", Values::Floats(loads))?;
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

    /// A column for each kind of message that was sent.
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

    /// The metrics of first runs.
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
        // An absent flag is false.
        Kind::Flag => Values::Bools(spread(points.iter().map(|value| Some(value.is_some())), repetitions)),
        _ if key.is_number() => match (all::<i64>(&points), all::<f64>(&points)) {
            (Some(whole), _) if key.kind() != Kind::Float => Values::Integers(spread(whole.into_iter(), repetitions)),
            (_, Some(real)) => Values::Floats(spread(real.into_iter(), repetitions)),
            _ => Values::Texts(spread(points.into_iter(), repetitions)),
        },
        _ => Values::Texts(spread(points.into_iter(), repetitions)),
    }
}
