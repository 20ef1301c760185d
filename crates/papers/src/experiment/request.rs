//! Turns a point into a request for the simulator.

use std::str::FromStr;

use hustings_elections::Election;
use hustings_sim::parse::{self, CheatAt, Healing, Ids, LinkAt, NodeAt, Split, Starts, Values, Votes};
use hustings_sim::scenario::{Delay, Medium, Notice, Start};
use hustings_sim::simulate::{Refusal, Request};
use hustings_sim::topology::Topology;

use super::phase::{FirstPhase, is_after_quiet, is_later, split_faults, split_starts};
use super::{Diagnostic, Experiment, ExperimentError, Point};

/// A point that is ready to run with any seed.
pub(crate) struct Prepared {
    /// The algorithm.
    pub(crate) election: Box<dyn Election>,
    /// The request without the seed.
    pub(crate) request: Request,
    /// Settings that depend on a first run.
    later: Vec<(String, String)>,
    /// Whether they depend on the end of the first run.
    pub(crate) after_quiet: bool,
}

impl Experiment {
    /// Prepares a point.
    pub(crate) fn prepare(&self, point: &Point) -> Result<Prepared, ExperimentError> {
        let mut params = Vec::new();
        let mut request = Request::default();
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
        let election = known.election(&params).map_err(|refusal| self.refused(point, &refusal))?;
        let after_quiet = later.iter().any(|(_, text)| is_after_quiet(text));
        Ok(Prepared { election, request, later, after_quiet })
    }

    /// Turns a refusal of the simulator into an error about the file.
    pub(crate) fn refused(&self, point: &Point, refusal: &Refusal) -> ExperimentError {
        let message = refusal.to_string();
        // A refusal starts with the option it is about.
        let option = message.strip_prefix("--").or_else(|| message.strip_prefix("-p ")).unwrap_or_default();
        let name = option.split([' ', ':', '=']).next().unwrap_or_default();
        let key = if message.starts_with("-p ") { format!("p.{name}") } else { name.to_string() };
        // A refusal about parameters names the parameter in backquotes.
        let quoted = message.split('`').nth(1).map(|name| format!("p.{name}"));
        let is_set = |key: &str| self.value(point, key).is_some();
        let key = [key, quoted.unwrap_or_default()].into_iter().find(|key| is_set(key));
        let key = key.unwrap_or_else(|| "algorithm".to_string());
        let value = self.value(point, &key).map_or("", |value| &**value);
        let shown = self.describe(point);
        let problem = if shown.is_empty() { message } else { format!("where {shown}: {message}") };
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
    pub(crate) fn second(&self, seed: u64, starts: &[Start], first: FirstPhase) -> Result<Request, Diagnostic> {
        let mut request = self.request.clone();
        request.seed = seed;
        let mut starts = starts.to_vec();
        for (name, text) in &self.later {
            let text = first.substitute(text)?;
            if name == "initiators" {
                let Starts::List(more) = Starts::from_str(&text)? else { continue };
                starts.extend(more);
            } else {
                add_fault(&mut request, name, &text)?;
            }
        }
        starts.sort_unstable_by_key(|start| (start.tick, start.at));
        starts.dedup();
        request.initiators = Some(Starts::List(starts));
        Ok(request)
    }
}

/// Applies a setting to a request.
fn set(request: &mut Request, later: &mut Vec<(String, String)>, name: &str, text: &str) -> Result<(), Diagnostic> {
    match name {
        "nodes" => request.nodes = Some(parse::node_count(text)?),
        "ids" => request.ids = Some(Ids::from_str(text)?),
        "values" => request.values = Some(Values::from_str(text)?),
        "votes" => request.votes = Some(Votes::from_str(text)?),
        "best" => request.best = parse::best(text)?,
        "topology" => request.topology = Some(Topology::from_str(text)?),
        "notice" => request.notice = Notice::from_str(text)?,
        "delay" => request.delay = Delay::from_str(text)?,
        "medium" => request.medium = Medium::from_str(text)?,
        "loss" => request.loss = parse::probability(text)?,
        "duplicate" => request.duplicate = parse::probability(text)?,
        "bandwidth" => request.bandwidth = Some(parse::bandwidth(text)?),
        "until" => request.until = Some(parse::tick(text)?),
        "runs" => request.runs = true,
        "unordered" => request.unordered = true,
        "cheat" => {
            for one in text.split(',') {
                request.cheats.push(CheatAt::from_str(one)?);
            }
        }
        "initiators" => {
            let (now, more) = split_starts(text);
            if !now.is_empty() {
                request.initiators = Some(Starts::from_str(&now)?);
            }
            later.extend(more.into_iter().map(|one| (name.to_string(), one)));
        }
        "crash" | "recover" | "join" | "retire" | "cut" | "heal" | "partition" => {
            for one in split_faults(text) {
                if is_later(&one) {
                    later.push((name.to_string(), one));
                } else {
                    add_fault(request, name, &one)?;
                }
            }
        }
        // The algorithm and variables are handled elsewhere.
        _ => {}
    }
    Ok(())
}

fn add_fault(request: &mut Request, name: &str, text: &str) -> Result<(), Diagnostic> {
    match name {
        "crash" => request.crashes.push(NodeAt::from_str(text)?),
        "recover" => request.recoveries.push(NodeAt::from_str(text)?),
        "join" => request.joins.push(NodeAt::from_str(text)?),
        "retire" => request.retirements.push(NodeAt::from_str(text)?),
        "cut" => request.cuts.push(LinkAt::from_str(text)?),
        "heal" => request.heals.push(Healing::from_str(text)?),
        _ => request.partitions.push(Split::from_str(text)?),
    }
    Ok(())
}
