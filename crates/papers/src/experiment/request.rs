//! From a point to what the simulator is asked for.

use std::str::FromStr;

use hustings_elections::Election;
use hustings_sim::parse::{self, CheatAt, Healing, Ids, LinkAt, NodeAt, Split, Starts, Values, Votes};
use hustings_sim::scenario::{Delay, Medium, Notice, Start};
use hustings_sim::simulate::{Refusal, Request};
use hustings_sim::topology::Topology;

use super::phase::{Known, is_after_quiet, is_later, split_faults, split_starts};
use super::{Experiment, Mistake, Point, Trouble};

/// A point, ready to be run with any seed.
pub(crate) struct Prepared {
    /// Who runs it.
    pub(crate) election: Box<dyn Election>,
    /// What is known beforehand; the seed is left to the run.
    pub(crate) request: Request,
    /// What depends on a first run.
    later: Vec<(String, String)>,
    /// Whether that waits for the first run's end.
    pub(crate) after_quiet: bool,
}

impl Experiment {
    /// Makes a point ready.
    pub(crate) fn prepare(&self, point: &Point) -> Result<Prepared, Mistake> {
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
            let wrong = |trouble| self.mistake(name, value, trouble);
            set(&mut request, &mut later, name, value).map_err(wrong)?;
        }
        let algorithm = self.value(point, "algorithm").map_or("", |name| &**name);
        let Some(known) = self.catalogue.find(algorithm) else {
            return Err(self.mistake("algorithm", algorithm, Trouble::new("there is no such algorithm", "")));
        };
        let election = known.election(&params).map_err(|refusal| self.refused(point, &refusal))?;
        let after_quiet = later.iter().any(|(_, text)| is_after_quiet(text));
        Ok(Prepared { election, request, later, after_quiet })
    }

    /// What the simulator refused, told in terms of the file.
    pub(crate) fn refused(&self, point: &Point, refusal: &Refusal) -> Mistake {
        let told = refusal.to_string();
        // Refusals begin with the option they are about.
        let option = told.strip_prefix("--").or_else(|| told.strip_prefix("-p ")).unwrap_or_default();
        let name = option.split([' ', ':', '=']).next().unwrap_or_default();
        let key = if told.starts_with("-p ") { format!("p.{name}") } else { name.to_string() };
        // A misfit of parameters names the parameter in quotes.
        let quoted = told.split('`').nth(1).map(|name| format!("p.{name}"));
        let is_set = |key: &str| self.value(point, key).is_some();
        let key = [key, quoted.unwrap_or_default()].into_iter().find(|key| is_set(key));
        let key = key.unwrap_or_else(|| "algorithm".to_string());
        let value = self.value(point, &key).map_or("", |value| &**value);
        let shown = self.shown(point);
        let problem = if shown.is_empty() { told } else { format!("where {shown}: {told}") };
        self.mistake(&key, value, Trouble { problem, allowed: String::new(), nearest: None })
    }

    fn mistake(&self, name: &str, value: &str, trouble: Trouble) -> Mistake {
        let setting = self.settings.iter().find(|setting| &**setting.key.name() == name);
        Mistake {
            file: self.file.clone(),
            line: setting.map_or(1, |setting| setting.line),
            key: format!("vary.{name}"),
            value: value.to_string(),
            trouble: Box::new(trouble),
        }
    }
}

impl Prepared {
    /// Whether there is a first run.
    pub(crate) fn has_two_phases(&self) -> bool {
        !self.later.is_empty()
    }

    /// The second run: the first one's request and starters, with what was left out then.
    pub(crate) fn second(&self, seed: u64, starts: &[Start], known: Known) -> Result<Request, Trouble> {
        let mut request = self.request.clone();
        request.seed = seed;
        let mut starts = starts.to_vec();
        for (name, text) in &self.later {
            let text = known.put_into(text)?;
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

/// One setting of a request, from its canonical text.
fn set(request: &mut Request, later: &mut Vec<(String, String)>, name: &str, text: &str) -> Result<(), Trouble> {
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
        // The algorithm, and variables.
        _ => {}
    }
    Ok(())
}

fn add_fault(request: &mut Request, name: &str, text: &str) -> Result<(), Trouble> {
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
