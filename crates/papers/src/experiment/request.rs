//! From a point of the grid to the specification of its election.

use std::str::FromStr;

use hustings_elections::Election;
use hustings_sim::scenario::Start;
use hustings_sim::simulate::{ElectionSpec, Field, FieldRef, SpecError, SpecProblem, Starts};

use super::key::{field_of, key_of};
use super::phase::{FirstPhase, is_after_quiet, is_later, split_faults, split_starts};
use super::{Diagnostic, Experiment, ExperimentError, Point};

/// A point that is ready to run with any seed.
pub(crate) struct Prepared {
    /// The algorithm.
    pub(crate) election: Box<dyn Election>,
    /// The request without the seed.
    pub(crate) request: ElectionSpec,
    /// Settings that depend on a first run.
    later: Vec<(String, String)>,
    /// Whether they depend on the end of the first run.
    pub(crate) after_quiet: bool,
}

impl Experiment {
    /// Prepares a point.
    pub(crate) fn prepare(&self, point: &Point) -> Result<Prepared, ExperimentError> {
        let mut params = Vec::new();
        let mut request = ElectionSpec::default();
        let mut later: Vec<(String, String)> = Vec::new();
        for (setting, value) in self.settings.iter().zip(&point.values) {
            let Some(value) = value else { continue };
            let name = &**setting.key.name();
            if let Some(param) = setting.key.param() {
                params.push(format!("{param}={value}"));
                continue;
            }
            let wrong = |diagnostic| self.error(name, value, diagnostic);
            set(&mut request, &mut later, name, value).map_err(wrong)?;
        }
        let algorithm = self.value(point, "algorithm").map_or("", |name| &**name);
        let Some(known) = self.catalogue.find(algorithm) else {
            return Err(self.error("algorithm", algorithm, Diagnostic::new("unknown algorithm", "")));
        };
        let election = known.election(&params).map_err(|error| self.refused(point, &error))?;
        let after_quiet = later.iter().any(|(_, text)| is_after_quiet(text));
        Ok(Prepared { election, request, later, after_quiet })
    }

    /// An error of the simulator, in terms of the file: fields become keys.
    pub(crate) fn refused(&self, point: &Point, error: &SpecError) -> ExperimentError {
        let of_conflict = match &error.problem {
            SpecProblem::ParamConflict(conflict) => Some(format!("p.{}", conflict.name)),
            _ => None,
        };
        let key = error.field.as_deref().map(key_at).or(of_conflict);
        let key = key.filter(|key| self.value(point, key).is_some()).unwrap_or_else(|| "algorithm".to_string());
        let value = self.value(point, &key).map_or("", |value| &**value);
        // The error itself names the key and its value: repeat them only where one entry of several is at fault.
        let is_whole = error.field.as_deref().is_some_and(|field| described(field) == format!("{key} = {value}"));
        let text = if is_whole { error.problem.to_string() } else { error.describe(described) };
        let shown = self.describe(point);
        let problem = if shown.is_empty() { text } else { format!("where {shown}: {text}") };
        self.error(&key, value, Diagnostic { problem, allowed: String::new(), nearest: None })
    }

    fn error(&self, name: &str, value: &str, diagnostic: Diagnostic) -> ExperimentError {
        let setting = self.settings.iter().find(|setting| &**setting.key.name() == name);
        ExperimentError {
            file: self.file.clone(),
            line: setting.map_or(1, |setting| setting.line),
            key: format!("vary.{name}"),
            value: value.to_string(),
            diagnostic: Box::new(diagnostic),
        }
    }
}

impl Prepared {
    /// Whether there are two runs.
    pub(crate) fn has_two_phases(&self) -> bool {
        !self.later.is_empty()
    }

    /// The request of the second run: that of the first, with the faults and the later initiators.
    pub(crate) fn second(&self, seed: u64, starts: &[Start], first: FirstPhase) -> Result<ElectionSpec, Diagnostic> {
        let mut request = self.request.clone();
        request.seed = seed;
        let mut starts = starts.to_vec();
        for (name, text) in &self.later {
            let text = first.substitute(text)?;
            if name == "initiators" {
                let Starts::List(more) = Starts::from_str(&text)? else { continue };
                starts.extend(more);
            } else if let Some(field) = field_of(name) {
                request.set(field, &text)?;
            }
        }
        starts.sort_unstable_by_key(|start| (start.tick, start.at));
        starts.dedup();
        request.initiators = Some(Starts::List(starts));
        Ok(request)
    }
}

/// The key of the field that an error names.
fn key_at(at: &FieldRef) -> String {
    match (at.field, &at.value) {
        (Field::Params, Some(value)) => format!("p.{}", value.split('=').next().unwrap_or_default()),
        (field, _) => key_of(field).to_string(),
    }
}

/// A field with its value, as the file writes it.
fn described(at: &FieldRef) -> String {
    let value = match (at.field, &at.value) {
        (Field::Params, Some(value)) => value.split_once('=').map(|(_, value)| value),
        (_, value) => value.as_deref(),
    };
    value.map_or_else(|| key_at(at), |value| format!("{} = {value}", key_at(at)))
}

/// Sets one field of an election from its canonical text.
fn set(spec: &mut ElectionSpec, later: &mut Vec<(String, String)>, name: &str, text: &str) -> Result<(), Diagnostic> {
    // The algorithm and variables are not fields.
    let Some(field) = field_of(name) else { return Ok(()) };
    match field {
        Field::Cheats => {
            for one in text.split(',') {
                spec.set(field, one)?;
            }
        }
        Field::Initiators => {
            let (now, more) = split_starts(text);
            if !now.is_empty() {
                spec.set(field, &now)?;
            }
            later.extend(more.into_iter().map(|one| (name.to_string(), one)));
        }
        Field::Crashes
        | Field::Recoveries
        | Field::Joins
        | Field::Retirements
        | Field::Cuts
        | Field::Heals
        | Field::Partitions => {
            for one in split_faults(text) {
                if is_later(&one) {
                    later.push((name.to_string(), one));
                } else {
                    spec.set(field, &one)?;
                }
            }
        }
        _ => spec.set(field, text)?,
    }
    Ok(())
}
