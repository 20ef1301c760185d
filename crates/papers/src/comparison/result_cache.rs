//! Runs experiments and caches their results.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::rc::Rc;

use hustings_algorithms::Identity;
use hustings_elections::Election;
use hustings_protocol::Record;
use hustings_sim::erased::DynMessage;
use hustings_sim::scenario::{Fault, FaultKind, Scenario};
use hustings_sim::trace::Format;

use super::CompareError;
use super::computed;
use super::plant::Plant;
use super::rows::Scope;
use super::trace_facts::{SentMessage, TraceFacts, sent_messages};
use crate::experiment::phase::FirstPhase;
use crate::experiment::{Experiment, Point};
use crate::formula::Formula;
use crate::published;
use crate::sweep;
use crate::table::Table;

/// The results of one experiment.
#[derive(Debug)]
pub struct Results {
    /// Its name.
    pub name: String,
    /// A row for each run.
    pub table: Table,
    /// The experiment; `None` for a computed table.
    pub experiment: Option<Experiment>,
    /// The text of its file.
    pub file: Option<String>,
}

impl Results {
    /// The point and the seed of a row; `None` for a computed table.
    fn point(&self, row: usize) -> Option<(&Experiment, &Point, u64)> {
        let experiment = self.experiment.as_ref()?;
        let repetitions = experiment.repetitions as usize;
        let point = &experiment.points()[row / repetitions];
        Some((experiment, point, point.seed((row % repetitions) as u32)))
    }

    /// The command that repeats these runs, if it is a single one.
    pub(super) fn command(&self, rows: &[usize]) -> Option<String> {
        let &[row] = rows else { return None };
        let (experiment, point, seed) = self.point(row)?;
        experiment.command(point, seed)
    }
}

/// The trace of one run.
#[derive(Debug)]
pub(super) struct TracedRun {
    pub(super) sent: Vec<SentMessage>,
    /// The id of each position; empty in anonymous networks.
    pub(super) ids: Vec<u64>,
    /// The number of nodes that take part.
    pub(super) members: u32,
    /// Nodes that are down from the start.
    pub(super) down: Vec<u32>,
    /// The parameters of the algorithm.
    pub(super) params: Vec<(&'static str, String)>,
    pub(super) svg: String,
    pub(super) text: String,
}

/// Runs experiments and keeps their results.
pub struct ResultCache<'a> {
    threads: usize,
    /// Is called with the name of each experiment before it runs.
    on_start: &'a dyn Fn(&str),
    results: RefCell<BTreeMap<String, Rc<Results>>>,
    runs: RefCell<BTreeMap<(String, usize), Rc<TracedRun>>>,
    facts: RefCell<BTreeMap<(String, usize), TraceFacts>>,
    /// What measurements are replaced by, to see whether rows can fail.
    plant: Cell<Plant>,
    /// Where experiments are looked for first.
    folder: Option<PathBuf>,
}

impl<'a> ResultCache<'a> {
    /// Creates an empty cache.
    pub fn new(threads: usize, on_start: &'a dyn Fn(&str)) -> Self {
        ResultCache {
            threads,
            on_start,
            results: RefCell::default(),
            runs: RefCell::default(),
            facts: RefCell::default(),
            plant: Cell::default(),
            folder: None,
        }
    }

    /// Looks for experiments in this folder first: `FOLDER/NAME.toml`.
    pub fn with_folder(self, folder: &Path) -> Self {
        ResultCache { folder: Some(folder.to_path_buf()), ..self }
    }

    /// The results of an experiment. Runs it on the first call.
    pub fn results(&self, name: &str) -> Result<Rc<Results>, CompareError> {
        if let Some(known) = self.results.borrow().get(name) {
            return Ok(known.clone());
        }
        (self.on_start)(name);
        let results = Rc::new(match computed::table_named(name) {
            Some(table) => Results { name: name.to_string(), table: table?, experiment: None, file: None },
            None => self.run_experiment(name)?,
        });
        self.results.borrow_mut().insert(name.to_string(), results.clone());
        Ok(results)
    }

    /// All results so far, by name.
    pub fn all(&self) -> Vec<Rc<Results>> {
        self.results.borrow().values().cloned().collect()
    }

    fn run_experiment(&self, name: &str) -> Result<Results, CompareError> {
        let Some((text, file)) = self
            .own_experiment(name)?
            .or_else(|| published::experiment(name).map(|(text, file)| (text.to_string(), file)))
        else {
            return Err(CompareError::new(name, "unknown experiment"));
        };
        let experiment = Experiment::parse(&file, &text).map_err(|error| CompareError::new(name, error))?;
        let table = sweep::table(&experiment, self.threads).map_err(|error| CompareError::new(name, error))?;
        Ok(Results { name: name.to_string(), table, experiment: Some(experiment), file: Some(text) })
    }

    /// The text and the path of an experiment in the own folder, if it is there.
    fn own_experiment(&self, name: &str) -> Result<Option<(String, String)>, CompareError> {
        // A name is not a path: experiments are beside the file that names them.
        let Some(folder) = self.folder.as_ref().filter(|_| !name.contains(['/', '\\'])) else { return Ok(None) };
        let path = folder.join(format!("{name}.toml"));
        match std::fs::read_to_string(&path) {
            Ok(text) => Ok(Some((text, path.display().to_string()))),
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(CompareError::new(path.display().to_string(), error)),
        }
    }

    pub(super) fn plant(&self) -> Plant {
        self.plant.get()
    }

    pub(super) fn set_plant(&self, plant: Plant) {
        self.plant.set(plant);
    }

    /// The value of a formula in each of these rows.
    pub(super) fn values(
        &self,
        results: &Results,
        rows: &[usize],
        formula: &Formula,
    ) -> Result<Vec<f64>, CompareError> {
        let is_traced = formula.names().iter().any(|name| name.starts_with("trace."));
        let value = |&row: &usize| {
            let facts = if is_traced { Some(self.facts(results, row)?) } else { None };
            Scope { table: &results.table, row, facts: facts.as_ref(), extra: &[] }.eval(formula)
        };
        rows.iter().map(value).collect()
    }

    /// What the trace of a row's run shows.
    pub(super) fn facts(&self, results: &Results, row: usize) -> Result<TraceFacts, CompareError> {
        let key = (results.name.clone(), row);
        if let Some(known) = self.facts.borrow().get(&key) {
            return Ok(known.clone());
        }
        let facts = RepeatedRun::prepare(results, row)?.observe().1;
        self.facts.borrow_mut().insert(key, facts.clone());
        Ok(facts)
    }

    /// The trace of a row's run, which is repeated for it.
    pub(super) fn run(&self, results: &Results, row: usize) -> Result<Rc<TracedRun>, CompareError> {
        let key = (results.name.clone(), row);
        if let Some(known) = self.runs.borrow().get(&key) {
            return Ok(known.clone());
        }
        let run = Rc::new(trace_run(results, row)?);
        self.runs.borrow_mut().insert(key, run.clone());
        Ok(run)
    }
}

/// The run of a row, ready to be repeated.
struct RepeatedRun {
    election: Box<dyn Election>,
    scenario: Scenario,
}

impl RepeatedRun {
    fn prepare(results: &Results, row: usize) -> Result<RepeatedRun, CompareError> {
        let wrong = |problem: &dyn std::fmt::Display| CompareError::new(&results.name, problem);
        let point = results.point(row).ok_or_else(|| wrong(&"a computed table has no runs"))?;
        let (experiment, point, seed) = point;
        let mut prepared = experiment.prepare(point).map_err(|error| wrong(&error))?;
        prepared.request.seed = seed;
        let mut scenario = prepared.election.build(&prepared.request).map_err(|error| wrong(&error))?.scenario;
        if prepared.has_two_phases() {
            let outcome = prepared.election.run(&scenario);
            let (Some(leader), Some(quiet)) = (outcome.leader, outcome.time.quiescent) else {
                return Err(wrong(&"its first phase has no leader or no end"));
            };
            let second = prepared.second(seed, &scenario.starts, FirstPhase { leader, quiet });
            let request = second.map_err(|diagnostic| wrong(&diagnostic.problem))?;
            scenario = prepared.election.build(&request).map_err(|error| wrong(&error))?.scenario;
        }
        Ok(RepeatedRun { election: prepared.election, scenario })
    }

    /// The messages of the run, and the numbers of its trace.
    fn observe(&self) -> (Vec<SentMessage>, TraceFacts) {
        let mut records: Vec<Record<DynMessage>> = Vec::new();
        let outcome = self.election.observed(&self.scenario, &mut records);
        let (sent, sides) = sent_messages(&records);
        let facts = TraceFacts::of(&sent, sides, self.scenario.network.members(), &outcome);
        (sent, facts)
    }
}

fn trace_run(results: &Results, row: usize) -> Result<TracedRun, CompareError> {
    let run = RepeatedRun::prepare(results, row)?;
    let (election, scenario) = (&*run.election, &run.scenario);
    let ids = match election.about().assumptions.identity {
        Identity::Unique => scenario.ids.clone(),
        Identity::Anonymous => Vec::new(),
    };
    let is_down = |fault: &Fault| match fault.what {
        FaultKind::Crash(at) if fault.tick == 0 => Some(at),
        _ => None,
    };
    let traced = |format| traced(election, scenario, format).map_err(|error| CompareError::new(&results.name, error));
    Ok(TracedRun {
        sent: run.observe().0,
        ids,
        members: scenario.network.members(),
        down: scenario.faults.iter().filter_map(is_down).collect(),
        params: election.params(),
        svg: traced(Format::Svg)?,
        text: traced(Format::Text)?,
    })
}

fn traced(election: &dyn Election, scenario: &Scenario, format: Format) -> std::io::Result<String> {
    let mut out = Vec::new();
    election.traced(scenario, format, &mut out)?;
    String::from_utf8(out).map_err(std::io::Error::other)
}

#[cfg(test)]
impl ResultCache<'_> {
    /// Adds results without running anything.
    pub(super) fn insert(&self, name: &str, table: Table) {
        let results = Results { name: name.to_string(), table, experiment: None, file: None };
        self.results.borrow_mut().insert(name.to_string(), Rc::new(results));
    }
}
