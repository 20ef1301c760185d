//! Where experiments are run: each once, whoever asks for it.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::rc::Rc;

use hustings_algorithms::Identity;
use hustings_elections::Election;
use hustings_protocol::Record;
use hustings_sim::erased::DynMessage;
use hustings_sim::scenario::Scenario;
use hustings_sim::trace::Format;

use super::StudyError;
use super::facts::{Facts, Sent, sent};
use super::search;
use crate::experiment::Experiment;
use crate::experiment::phase::Known;
use crate::sweep;
use crate::table::Table;
use crate::texts;

/// The results of one experiment.
#[derive(Debug)]
pub struct Results {
    /// Its name.
    pub name: String,
    /// A row for each run.
    pub table: Table,
    /// What was run; none where the table was made otherwise.
    pub experiment: Option<Experiment>,
}

/// One run, looked at closely.
#[derive(Debug)]
pub(super) struct Run {
    pub(super) sent: Vec<Sent>,
    /// The id of each position; none in anonymous networks.
    pub(super) ids: Vec<u64>,
    pub(super) facts: Facts,
    pub(super) svg: String,
    pub(super) text: String,
}

/// Runs experiments and keeps what came of them.
pub struct Laboratory<'a> {
    threads: usize,
    /// Is told which experiment comes next.
    watch: &'a dyn Fn(&str),
    results: RefCell<BTreeMap<String, Rc<Results>>>,
    runs: RefCell<BTreeMap<(String, usize), Rc<Run>>>,
}

impl<'a> Laboratory<'a> {
    /// An empty one.
    pub fn new(threads: usize, watch: &'a dyn Fn(&str)) -> Self {
        Laboratory { threads, watch, results: RefCell::default(), runs: RefCell::default() }
    }

    /// The results of an experiment, which is run now if it was not before.
    pub fn results(&self, name: &str) -> Result<Rc<Results>, StudyError> {
        if let Some(known) = self.results.borrow().get(name) {
            return Ok(known.clone());
        }
        (self.watch)(name);
        let results = Rc::new(match search::made(name) {
            Some(table) => Results { name: name.to_string(), table: table?, experiment: None },
            None => self.swept(name)?,
        });
        self.results.borrow_mut().insert(name.to_string(), results.clone());
        Ok(results)
    }

    /// Everything that was run, by name.
    pub fn all(&self) -> Vec<Rc<Results>> {
        self.results.borrow().values().cloned().collect()
    }

    fn swept(&self, name: &str) -> Result<Results, StudyError> {
        let Some((text, file)) = texts::experiment(name) else {
            return Err(StudyError::new(name, "there is no such experiment"));
        };
        let experiment = Experiment::parse(&file, text).map_err(|mistake| StudyError::new(name, mistake))?;
        let table = sweep::table(&experiment, self.threads).map_err(|error| StudyError::new(name, error))?;
        Ok(Results { name: name.to_string(), table, experiment: Some(experiment) })
    }

    /// What is known of a row beside its columns.
    pub(super) fn facts(&self, results: &Results, row: usize) -> Result<Facts, StudyError> {
        Ok(self.run(results, row)?.facts.clone())
    }

    /// The run of a row, held once more and looked at closely.
    pub(super) fn run(&self, results: &Results, row: usize) -> Result<Rc<Run>, StudyError> {
        let key = (results.name.clone(), row);
        if let Some(known) = self.runs.borrow().get(&key) {
            return Ok(known.clone());
        }
        let run = Rc::new(look_closely(results, row)?);
        self.runs.borrow_mut().insert(key, run.clone());
        Ok(run)
    }
}

fn look_closely(results: &Results, row: usize) -> Result<Run, StudyError> {
    let wrong = |problem: &dyn std::fmt::Display| StudyError::new(&results.name, problem);
    let Some(experiment) = &results.experiment else { return Err(wrong(&"it has no runs to look at")) };
    let repetitions = experiment.repetitions as usize;
    let point = &experiment.points()[row / repetitions];
    let seed = point.seed((row % repetitions) as u32);
    let mut prepared = experiment.prepare(point).map_err(|mistake| wrong(&mistake))?;
    prepared.request.seed = seed;
    let election = &*prepared.election;
    let mut scenario = election.plan(&prepared.request).map_err(|refusal| wrong(&refusal))?.scenario;
    if prepared.has_two_phases() {
        let outcome = election.run(&scenario);
        let (Some(leader), Some(quiet)) = (outcome.leader, outcome.time.quiescent) else {
            return Err(wrong(&"its first phase has no leader or no end"));
        };
        let second = prepared.second(seed, &scenario.starts, Known { leader, quiet });
        let request = second.map_err(|trouble| wrong(&trouble.problem))?;
        scenario = election.plan(&request).map_err(|refusal| wrong(&refusal))?.scenario;
    }
    let mut records: Vec<Record<DynMessage>> = Vec::new();
    let outcome = election.observed(&scenario, &mut records);
    let (sent, sides) = sent(&records);
    let facts = Facts::of(&sent, sides, scenario.network.members(), outcome.time.elected);
    let ids = match election.about().assumptions.identity {
        Identity::Unique => scenario.ids.clone(),
        Identity::Anonymous => Vec::new(),
    };
    let traced = |format| traced(election, &scenario, format).map_err(|error| wrong(&error));
    Ok(Run { sent, ids, facts, svg: traced(Format::Svg)?, text: traced(Format::Text)? })
}

fn traced(election: &dyn Election, scenario: &Scenario, format: Format) -> std::io::Result<String> {
    let mut out = Vec::new();
    election.traced(scenario, format, &mut out)?;
    String::from_utf8(out).map_err(std::io::Error::other)
}

#[cfg(test)]
impl Laboratory<'_> {
    /// Results that were not run.
    pub(super) fn put(&self, name: &str, table: Table) {
        let results = Results { name: name.to_string(), table, experiment: None };
        self.results.borrow_mut().insert(name.to_string(), Rc::new(results));
    }
}
