//! From a specification to a result: [`ElectionSpec`] says what the election is, [`ElectionSpec::build`] checks it and
//! builds a scenario, [`simulate`] runs that.
//!
//! Everything is generic over the [`Algorithm`], so one from another crate runs just like those of the catalogue:
//!
//! ```
//! use hustings_algorithms::{NoParams, ring::ChangRoberts};
//! use hustings_sim::simulate::{ElectionSpec, simulate};
//!
//! let spec = ElectionSpec { nodes: Some(64), ids: Some("descending".parse()?), ..ElectionSpec::default() };
//! let built = spec.build::<ChangRoberts>(&NoParams)?;
//! let outcome = simulate::<ChangRoberts>(&NoParams, &built.scenario);
//! assert_eq!(outcome.by_kind, [2080, 64]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod error;
mod field;
mod interventions;
mod recorded;
mod spec;
mod timeline;

use std::collections::BTreeMap;
use std::io::{self, Write};

use hustings_algorithms::runs::Runs;
use hustings_algorithms::{
    About, Algorithm, Goal, Identity, Instance, NetworkKind, ParamError, Parameter, Params, Setting,
};
use hustings_protocol::{Best, Id, Record};
use hustings_text::nearest;

use crate::engine::fast;
use crate::engine::general;
use crate::erased::{DynMessage, DynProtocol, DynRank, ScenarioRank};
use crate::outcome::Outcome;
use crate::scenario::{Delay, Medium, Notice, Scenario};
use crate::trace::{self, Format, Names, Observer, Stream, TraceWriter};

pub use error::{SpecError, SpecProblem, Warning};
pub use field::{Field, FieldRef};
pub use recorded::{ReplayFileError, Replayed, replayed};
pub use spec::{BuiltScenario, ElectionSpec, Faults};

pub use crate::parse::{
    ParseError, Problem, Reader,
    ids::{Ids, Values},
    starts::Starts,
};

/// Runs an election, with the fast engine where it supports the scenario and with the general one otherwise.
///
/// The general engine is compiled once for all algorithms. So is the fast one, and once more for each algorithm that
/// [has its own](hustings_algorithms::About::has_own_engine).
pub fn simulate<A: Algorithm>(params: &A::Params, scenario: &Scenario) -> Outcome {
    let own = if const { A::ABOUT.has_own_engine } { simulate_alone::<A>(params, scenario) } else { None };
    let mut outcome = own.unwrap_or_else(|| {
        let (protocol, ranks) = erased::<A>(params, scenario);
        let fast = simulate_fast(&protocol, &ranks, scenario, A::ABOUT.sends_by_map);
        fast.unwrap_or_else(|| simulate_general(&protocol, &ranks, scenario, None))
    });
    apply_goal(&A::ABOUT, &mut outcome);
    outcome
}

/// Runs the fast engine that is compiled for the algorithm, its own kind of network and plain ids. It gives up if the
/// protocol turns out to need more than it supports.
fn simulate_alone<A: Algorithm>(params: &A::Params, scenario: &Scenario) -> Option<Outcome> {
    let is_plain = scenario.values.is_none() && scenario.best == Best::Max && !scenario.runs;
    if !is_plain || !fast::supports(scenario) {
        return None;
    }
    let ranks = plain_ranks(scenario);
    let protocol = A::protocol::<Id>(params, &setting(scenario, &ranks));
    let run = |driver| fast::run_with(driver, &protocol, &ranks, scenario);
    // Not a `match`: the compiler leaves out a driver that no condition needs only if the condition is a constant.
    if const { A::ABOUT.sends_by_map } {
        run(fast::on_mapped_ring::<_, true>)
    } else if const { matches!(A::ABOUT.network, NetworkKind::Ring | NetworkKind::InformedRing) } {
        run(fast::on_ring::<_, true>)
    } else if const { matches!(A::ABOUT.network, NetworkKind::Complete) } {
        run(fast::on_complete::<_, true>)
    } else {
        run(fast::on_graph::<_, true>)
    }
}

/// Runs a type-erased protocol with the fast engine, which is compiled once for all of them. Returns `None` if the
/// scenario or the protocol needs the general engine. `sends_by_map` is part of an algorithm's [`About`].
pub fn simulate_fast(
    protocol: &DynProtocol,
    ranks: &[DynRank],
    scenario: &Scenario,
    sends_by_map: bool,
) -> Option<Outcome> {
    let mut outcome = if sends_by_map {
        fast::run_with(fast::on_mapped_ring::<_, true>, protocol, ranks, scenario)?
    } else {
        fast::run::<_, true>(protocol, ranks, scenario)?
    };
    outcome.by_kind.truncate(protocol.kinds().len());
    Some(outcome)
}

/// Runs an election and writes its trace. The line-by-line formats are written while it runs, diagrams at the end. JSON
/// lines begin with a header, so that [`replayed`] can take them.
pub fn simulate_traced<A: Algorithm>(
    params: &A::Params,
    scenario: &Scenario,
    format: Format,
    out: &mut dyn Write,
) -> io::Result<Outcome> {
    let (protocol, ranks) = erased::<A>(params, scenario);
    let mut outcome = traced(&A::ABOUT, &protocol, &ranks, scenario, described(params), format, out)?;
    apply_goal(&A::ABOUT, &mut outcome);
    Ok(outcome)
}

fn traced(
    about: &About,
    protocol: &DynProtocol,
    ranks: &[DynRank],
    scenario: &Scenario,
    params: BTreeMap<String, String>,
    format: Format,
    out: &mut dyn Write,
) -> io::Result<Outcome> {
    let ids = match about.assumptions.identity {
        Identity::Unique => scenario.ids.clone(),
        Identity::Anonymous => Vec::new(),
    };
    let runs = if scenario.runs { " in runs" } else { "" };
    let title = format!("{}{runs}, {} nodes, seed {}", about.name, scenario.network.members(), scenario.seed);
    let names = Names::new(title, ids, scenario.network.clone());
    match format {
        Format::Text => {
            let mut stream = Stream::new(&names, out);
            let outcome = simulate_general(protocol, ranks, scenario, Some(&mut stream));
            stream.finish().map(|_| outcome)
        }
        Format::Jsonl => {
            let mut writer = TraceWriter::new(out, about.name, params, scenario)?;
            let outcome = simulate_general(protocol, ranks, scenario, Some(&mut writer));
            writer.finish().map(|_| outcome)
        }
        Format::Mermaid | Format::Svg | Format::Shiviz => {
            let mut records: Vec<Record<DynMessage>> = Vec::new();
            let outcome = simulate_general(protocol, ranks, scenario, Some(&mut records));
            trace::write(format, &names, &records, out).map(|()| outcome)
        }
    }
}

/// Runs an election with the general engine and shows every record to an observer.
pub fn simulate_observed<A: Algorithm>(
    params: &A::Params,
    scenario: &Scenario,
    observer: &mut dyn Observer<DynMessage>,
) -> Outcome {
    let (protocol, ranks) = erased::<A>(params, scenario);
    let mut outcome = simulate_general(&protocol, &ranks, scenario, Some(observer));
    apply_goal(&A::ABOUT, &mut outcome);
    outcome
}

/// Adjusts the outcome of algorithms that estimate the network's size: agreement then means that all nodes found the
/// same number. With fewer nodes than the algorithm needs there is no estimate.
fn apply_goal(about: &About, outcome: &mut Outcome) {
    if about.goal == Goal::Estimate {
        outcome.estimate = outcome.estimate.filter(|_| outcome.live >= about.min_nodes);
        outcome.agreement = outcome.estimate.is_some();
    }
}

/// Runs a type-erased protocol with the general engine, which is compiled once for all of them, and shows every record
/// to an observer.
pub fn simulate_general(
    protocol: &DynProtocol,
    ranks: &[DynRank],
    scenario: &Scenario,
    observer: Option<&mut dyn Observer<DynMessage>>,
) -> Outcome {
    let mut outcome = general::run(protocol, ranks, scenario, observer);
    outcome.by_kind.truncate(protocol.kinds().len());
    outcome
}

/// All parameters by name, as [`params`] reads them.
pub(crate) fn described<P: Params>(params: &P) -> BTreeMap<String, String> {
    described_by(P::DESCRIPTIONS, &|name| params.get(name))
}

fn described_by(known: &[Parameter], get: &dyn Fn(&'static str) -> Option<String>) -> BTreeMap<String, String> {
    let value = |name: &'static str| get(name).map(|value| (name.to_string(), value));
    known.iter().filter_map(|parameter| value(parameter.name)).collect()
}

/// The algorithm's protocol with the ranks that the scenario needs (`ScenarioRank`). Meant for other drivers, such as
/// a checker.
pub fn erased<A: Algorithm>(params: &A::Params, scenario: &Scenario) -> (DynProtocol, Vec<DynRank>) {
    let ranks = scenario_ranks(scenario);
    let protocol = A::protocol(params, &setting(scenario, &ranks));
    let (protocol, ranks) = DynProtocol::of_scenario(protocol, &ranks, scenario.best);
    (finished(protocol, &ranks, &A::ABOUT, scenario), ranks)
}

fn scenario_ranks(scenario: &Scenario) -> Vec<ScenarioRank> {
    // An informer has no value of its own; nothing reads the one it gets here.
    let values = scenario.values.iter().flat_map(|values| values.iter().chain(values.first()).copied().map(Some));
    let ranks = plain_ranks(scenario).into_iter().zip(values.chain(std::iter::repeat(None)));
    ranks.map(|(id, value)| ScenarioRank { value, id, best: scenario.best }).collect()
}

/// The protocol as the scenario runs it: in runs, or as it is.
fn finished(protocol: DynProtocol, ranks: &[DynRank], about: &About, scenario: &Scenario) -> DynProtocol {
    if !scenario.runs {
        return protocol;
    }
    let runs = Runs::new(protocol, about, &ranks[..scenario.network.members() as usize]);
    DynProtocol::in_runs(runs, ranks)
}

/// What the protocol may know about the election beforehand.
fn setting<'a, R>(scenario: &'a Scenario, ranks: &'a [R]) -> Setting<'a, R> {
    let members = scenario.network.members() as usize;
    Setting {
        ranks: &ranks[..members],
        bandwidth: scenario.bandwidth,
        votes: &scenario.votes,
        cheats: &scenario.cheats,
    }
}

/// The id of each position. An informer outside the ring has no id; it gets the first one, which it must not read.
fn plain_ranks(scenario: &Scenario) -> Vec<Id> {
    let outside = (scenario.network.size() - scenario.network.members()) as usize;
    scenario.ids.iter().chain(scenario.ids.iter().take(outside)).copied().map(Id).collect()
}

/// The number of messages of each kind that the algorithm's formula gives for this election; `None` if there is no
/// formula, or if the election has faults or delays that formulas do not cover.
pub fn expected<A: Algorithm>(params: &A::Params, scenario: &Scenario) -> Option<Vec<u64>> {
    let plain = scenario.faults.is_empty()
        && scenario.interventions.is_empty()
        && scenario.delay == Delay::Unit
        && scenario.loss == 0.0
        && scenario.duplicate == 0.0
        && scenario.bandwidth.is_none()
        && scenario.medium == Medium::Links
        && scenario.notice == Notice::Oracle
        && !scenario.runs
        && scenario.cheats.is_empty()
        && scenario.starts.iter().all(|start| start.tick == 0);
    if !plain {
        return None;
    }
    let order = order_of_ids(scenario).unwrap_or_else(|| {
        let members = scenario.network.members() as usize;
        let ranks = erased::<A>(params, scenario).1;
        ranks[..members].iter().map(|rank| rank.order()).collect()
    });
    let initiators: Vec<u32> = scenario.starts.iter().map(|start| start.at).collect();
    let network = &scenario.network;
    let (links, votes) = (network.links(), &scenario.votes[..]);
    A::expect(params, &Instance { order: &order, initiators: &initiators, links, neighbours: network, votes })
}

/// The order of the ranks if they are ids without gaps, as they are by default. Then nothing needs sorting, which
/// matters because small elections take longer to prepare than to run.
fn order_of_ids(scenario: &Scenario) -> Option<Vec<u32>> {
    let ids = &scenario.ids;
    let (min, max) = (*ids.iter().min()?, *ids.iter().max()?);
    let plain = scenario.values.is_none() && scenario.best == Best::Max && max - min == ids.len() as u64 - 1;
    plain.then(|| ids.iter().map(|id| (id - min) as u32).collect())
}

/// The parameters of an algorithm from `name=value` texts.
pub fn params<A: Algorithm>(texts: &[String]) -> Result<A::Params, SpecError> {
    let mut params = A::Params::default();
    set_params(texts, A::Params::DESCRIPTIONS, &mut |name, value| params.set(name, value))?;
    Ok(params)
}

fn set_params(
    texts: &[String],
    known: &'static [Parameter],
    set: &mut dyn FnMut(&str, &str) -> Result<(), ParamError>,
) -> Result<(), SpecError> {
    let mut seen: Vec<&str> = Vec::new();
    for (index, text) in texts.iter().enumerate() {
        let field = |value: &str| FieldRef::entry(Field::Params, index, value);
        let Some((name, value)) = text.split_once('=') else {
            return Err(SpecProblem::ParamForm.of(field(text)));
        };
        if seen.contains(&name) {
            return Err(SpecProblem::DuplicateParam.of(field(name)));
        }
        seen.push(name);
        set(name, value).map_err(|error| {
            let near = match error {
                ParamError::Unknown { .. } => nearest(name, known.iter().map(|one| one.name)),
                // A choice among a few words is listed with commas.
                ParamError::BadValue { allowed, .. } => nearest(value, allowed.split(", ")),
            };
            let nearest = near.map(str::to_string);
            SpecProblem::Param { error: Box::new(error), nearest }.of(field(text))
        })?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
