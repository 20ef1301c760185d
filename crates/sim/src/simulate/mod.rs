//! From a specification to a result: [`ElectionSpec`] says what the election is, [`ElectionSpec::build`] checks it and
//! builds a scenario, [`simulate`] runs that.
//!
//! Everything is generic over the [`Algorithm`], so one from another crate runs just like those of the catalogue:
//!
//! ```
//! use hustings_algorithms::{Algorithm, NoParams, ring::ChangRoberts};
//! use hustings_sim::simulate::{ElectionSpec, simulate};
//!
//! let spec = ElectionSpec { nodes: Some(64), ids: Some("descending".parse()?), ..ElectionSpec::default() };
//! let built = spec.build(&ChangRoberts::ABOUT)?;
//! let outcome = simulate::<ChangRoberts>(&NoParams, &built.scenario);
//! assert_eq!(outcome.by_kind, [2080, 64]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod build;
mod error;
mod field;
mod recorded;
mod spec;
mod timeline;

use std::collections::BTreeMap;
use std::io::{self, Write};

use hustings_algorithms::runs::Runs;
use hustings_algorithms::{Algorithm, Goal, Identity, Instance, NetworkKind, ParamError, Params, Setting};
use hustings_protocol::{Best, Id, Least, Rank, Record};

use crate::engine::fast::{self, Full};
use crate::engine::general;
use crate::erased::{DynMessage, DynProtocol, DynRank, ScenarioRank};
use crate::outcome::Outcome;
use crate::parse::nearest;
use crate::scenario::{Delay, Medium, Notice, Scenario};
use crate::trace::file::{Header, TraceWriter};
use crate::trace::{self, Format, Names, Observer, Stream};

pub use error::{SpecError, SpecProblem, Warning};
pub use field::{Field, FieldError, FieldRef};
pub use recorded::{ReplayFileError, Replayed, replayed};
pub use spec::{BuiltScenario, ElectionSpec};

/// Runs an election, with the fast engine where it supports the scenario and with the general one otherwise.
///
/// The fast engine is compiled for the algorithm's own kind of network and for plain ids. The general one is compiled
/// once.
pub fn simulate<A: Algorithm>(params: &A::Params, scenario: &Scenario) -> Outcome {
    let is_plain = scenario.values.is_none() && scenario.best == Best::Max && !scenario.runs;
    if is_plain && fast::supports(scenario) {
        let ranks = plain_ranks(scenario);
        let protocol = A::protocol::<Id>(params, &setting(scenario, &ranks));
        // The fast engine gives up if the protocol turns out to need more than it supports.
        let run = |driver| fast::run_with::<_, Full>(driver, &protocol, &ranks, scenario);
        // Each algorithm is compiled for its own kind of network only.
        let outcome = if const { A::ABOUT.sends_by_map } {
            run(fast::on_mapped_ring)
        } else {
            match const { A::ABOUT.network } {
                NetworkKind::Ring | NetworkKind::InformedRing => run(fast::on_ring),
                NetworkKind::Complete => run(fast::on_complete),
                NetworkKind::Tree => run(fast::on_graph),
                NetworkKind::Graph => run(fast::on_complete).or_else(|| run(fast::on_graph)),
            }
        };
        if let Some(mut outcome) = outcome {
            apply_goal::<A>(&mut outcome);
            return outcome;
        }
    }
    let (protocol, ranks) = erased::<A>(params, scenario);
    let mut outcome = observed(&protocol, &ranks, scenario, None);
    apply_goal::<A>(&mut outcome);
    outcome
}

/// Runs an election and writes its trace. The line-by-line formats are written while it runs, diagrams at the end. JSON
/// lines begin with a header, so that [`replayed`] can take them.
pub fn simulate_traced<A: Algorithm>(
    params: &A::Params,
    scenario: &Scenario,
    format: Format,
    out: &mut dyn Write,
) -> io::Result<Outcome> {
    let ids = match A::ABOUT.assumptions.identity {
        Identity::Unique => scenario.ids.clone(),
        Identity::Anonymous => Vec::new(),
    };
    let runs = if scenario.runs { " in runs" } else { "" };
    let title = format!("{}{runs}, {} nodes, seed {}", A::ABOUT.name, scenario.network.members(), scenario.seed);
    let names = Names::new(title, ids, scenario.network.clone());
    let (protocol, ranks) = erased::<A>(params, scenario);
    let traced = match format {
        Format::Text => {
            let mut stream = Stream::text(&names, out);
            let outcome = observed(&protocol, &ranks, scenario, Some(&mut stream));
            stream.finish().map(|_| outcome)
        }
        Format::Jsonl => {
            let mut writer = TraceWriter::new(out, &Header::new(A::ABOUT.name, described(params), scenario))?;
            let outcome = observed(&protocol, &ranks, scenario, Some(&mut writer));
            writer.finish().map(|_| outcome)
        }
        Format::Mermaid | Format::Svg | Format::Shiviz => {
            let mut records: Vec<Record<DynMessage>> = Vec::new();
            let outcome = observed(&protocol, &ranks, scenario, Some(&mut records));
            trace::write(format, &names, &records, out).map(|()| outcome)
        }
    };
    traced.map(|mut outcome| {
        apply_goal::<A>(&mut outcome);
        outcome
    })
}

/// Runs an election with the general engine and shows every record to an observer.
pub fn simulate_observed<A: Algorithm>(
    params: &A::Params,
    scenario: &Scenario,
    observer: &mut dyn Observer<DynMessage>,
) -> Outcome {
    let (protocol, ranks) = erased::<A>(params, scenario);
    let mut outcome = observed(&protocol, &ranks, scenario, Some(observer));
    apply_goal::<A>(&mut outcome);
    outcome
}

/// Adjusts the outcome of algorithms that estimate the network's size: agreement then means that all nodes found the
/// same number. With fewer nodes than the algorithm needs there is no estimate.
fn apply_goal<A: Algorithm>(outcome: &mut Outcome) {
    if A::ABOUT.goal == Goal::Estimate {
        outcome.estimate = outcome.estimate.filter(|_| outcome.live >= A::ABOUT.min_nodes);
        outcome.agreement = outcome.estimate.is_some();
    }
}

/// Runs the general engine on a type-erased protocol, for which it is compiled once.
pub fn observed(
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
pub fn described<P: Params>(params: &P) -> BTreeMap<String, String> {
    let value = |name: &'static str| params.get(name).map(|value| (name.to_string(), value));
    P::DESCRIPTIONS.iter().filter_map(|parameter| value(parameter.name)).collect()
}

/// The algorithm's protocol with the ranks that the scenario needs: [`ScenarioRank`], or [`Least`] of it when the least
/// wins. Meant for other drivers, such as a checker.
pub fn erased<A: Algorithm>(params: &A::Params, scenario: &Scenario) -> (DynProtocol, Vec<DynRank>) {
    // An informer has no value of its own; nothing reads the one it gets here.
    let values = scenario.values.iter().flat_map(|values| values.iter().chain(values.first()).copied().map(Some));
    let ranks = plain_ranks(scenario).into_iter().zip(values.chain(std::iter::repeat(None)));
    let ranks = ranks.map(|(id, value)| ScenarioRank { value, id });
    let (protocol, ranks) = match scenario.best {
        Best::Max => erased_with::<A, _>(params, &ranks.collect::<Vec<_>>(), scenario),
        Best::Min => erased_with::<A, _>(params, &ranks.map(Least).collect::<Vec<_>>(), scenario),
    };
    if !scenario.runs {
        return (protocol, ranks);
    }
    let runs = Runs::new(protocol, &A::ABOUT, &ranks[..scenario.network.members() as usize]);
    (DynProtocol::in_runs(runs, &ranks), ranks)
}

fn erased_with<A: Algorithm, R: Rank>(
    params: &A::Params,
    ranks: &[R],
    scenario: &Scenario,
) -> (DynProtocol, Vec<DynRank>) {
    DynProtocol::new(A::protocol(params, &setting(scenario, ranks)), ranks)
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
        let standings = erased::<A>(params, scenario).1;
        standings[..members].iter().map(|standing| standing.order()).collect()
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
    let (least, most) = (*ids.iter().min()?, *ids.iter().max()?);
    let plain = scenario.values.is_none() && scenario.best == Best::Max && most - least == ids.len() as u64 - 1;
    plain.then(|| ids.iter().map(|id| (id - least) as u32).collect())
}

/// The parameters of an algorithm from `name=value` texts.
pub fn params<A: Algorithm>(texts: &[String]) -> Result<A::Params, SpecError> {
    let mut params = A::Params::default();
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
        params.set(name, value).map_err(|error| {
            let near = match error {
                ParamError::Unknown { .. } => nearest(name, A::Params::DESCRIPTIONS.iter().map(|one| one.name)),
                // A choice among a few words is listed with commas.
                ParamError::BadValue { allowed, .. } => nearest(value, allowed.split(", ")),
            };
            let nearest = near.map(str::to_string);
            SpecProblem::Param { error: Box::new(error), nearest }.of(field(text))
        })?;
    }
    Ok(params)
}

#[cfg(test)]
mod tests;
