//! From a request to a result: [`Request`] is what was asked for, [`Request::scenario`] checks and builds it,
//! [`simulate`] runs it.
//!
//! Everything is generic over the [`Algorithm`], so one from a crate of its own runs just like those of the catalogue:
//!
//! ```
//! use hustings_algorithms::{Algorithm, NoParams, ring::ChangRoberts};
//! use hustings_sim::simulate::{Request, simulate};
//!
//! let request = Request { nodes: Some(64), ids: Some("descending".parse()?), ..Request::default() };
//! let planned = request.scenario(&ChangRoberts::ABOUT)?;
//! let outcome = simulate::<ChangRoberts>(&NoParams, &planned.scenario);
//! assert_eq!(outcome.by_kind, [2080, 64]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod plan;
mod refusal;
mod request;
mod timeline;

use std::io::{self, Write};

use hustings_algorithms::{Algorithm, Identity, Instance, ParamError, Params};
use hustings_protocol::{Best, Id, Least, Protocol, Rank, Ranked, Record};

use crate::engine::fast::{self, Full};
use crate::engine::general;
use crate::outcome::Outcome;
use crate::parse::nearest;
use crate::scenario::{Delay, Medium, Notice, Scenario};
use crate::trace::{self, Format, Names, Stream};

pub use refusal::{Refusal, Warning};
pub use request::{Planned, Request};

/// Runs an election: with the fast engine where it suits, else with the general one.
pub fn simulate<A: Algorithm>(params: &A::Params, scenario: &Scenario) -> Outcome {
    struct Run<'a>(&'a Scenario);
    impl Job for Run<'_> {
        type Output = Outcome;
        fn run<P: Protocol>(self, protocol: &P, ranks: &[P::Rank]) -> Outcome {
            // The fast one may find on the way that the protocol asks for more than it can do.
            let fast = if fast::suits(self.0) { fast::run::<P, Full>(protocol, ranks, self.0) } else { None };
            fast.unwrap_or_else(|| general::run(protocol, ranks, self.0, None))
        }
    }
    with_ranks::<A, _>(params, scenario, Run(scenario))
}

/// Runs an election and writes its trace. The line-by-line formats are written while it runs, diagrams at the end.
pub fn simulate_traced<A: Algorithm>(
    params: &A::Params,
    scenario: &Scenario,
    format: Format,
    out: &mut dyn Write,
) -> io::Result<Outcome> {
    struct Traced<'a>(&'a Scenario, Format, Names, &'a mut dyn Write);
    impl Job for Traced<'_> {
        type Output = io::Result<Outcome>;
        fn run<P: Protocol>(self, protocol: &P, ranks: &[P::Rank]) -> io::Result<Outcome> {
            let Traced(scenario, format, names, out) = self;
            let mut stream = match format {
                Format::Text => Stream::text(&names, out),
                Format::Jsonl => Stream::jsonl(out),
                Format::Mermaid | Format::Svg | Format::Shiviz => {
                    let mut records: Vec<Record<P::Message>> = Vec::new();
                    let outcome = general::run(protocol, ranks, scenario, Some(&mut records));
                    return trace::write(format, &names, &records, out).map(|()| outcome);
                }
            };
            let outcome = general::run(protocol, ranks, scenario, Some(&mut stream));
            stream.finish().map(|_| outcome)
        }
    }
    let ids = match A::ABOUT.assumptions.identity {
        Identity::Unique => scenario.ids.clone(),
        Identity::Anonymous => Vec::new(),
    };
    let title = format!("{}, {} nodes, seed {}", A::ABOUT.name, scenario.network.size(), scenario.seed);
    let names = Names::new(title, ids, scenario.network.clone());
    with_ranks::<A, _>(params, scenario, Traced(scenario, format, names, out))
}

/// Something to do with a protocol and the ranks of its nodes, whatever their types are.
pub trait Job {
    /// What comes of it.
    type Output;
    /// Called once.
    fn run<P: Protocol>(self, protocol: &P, ranks: &[P::Rank]) -> Self::Output;
}

/// Does a job with the algorithm's protocol for the rank that the scenario needs: a plain [`Id`], [`Ranked`] when values are
/// given, [`Least`] of either when the least wins.
pub fn with_ranks<A: Algorithm, J: Job>(params: &A::Params, scenario: &Scenario, job: J) -> J::Output {
    let ids = scenario.ids.iter().map(|&id| Id(id));
    match &scenario.values {
        None => with_order::<A, _, _>(params, ids, scenario.best, job),
        Some(values) => {
            let ranks = ids.zip(values).map(|(id, &value)| Ranked { value, id });
            with_order::<A, _, _>(params, ranks, scenario.best, job)
        }
    }
}

fn with_order<A: Algorithm, R: Rank, J: Job>(
    params: &A::Params,
    ranks: impl Iterator<Item = R>,
    best: Best,
    job: J,
) -> J::Output {
    match best {
        Best::Max => job.run(&A::protocol::<R>(params), &ranks.collect::<Vec<_>>()),
        Best::Min => job.run(&A::protocol::<Least<R>>(params), &ranks.map(Least).collect::<Vec<_>>()),
    }
}

/// How many messages of each kind the algorithm's formula gives for this very election; `None` where there is no formula, or
/// the election is not the plain one that formulas are about.
pub fn expected<A: Algorithm>(params: &A::Params, scenario: &Scenario) -> Option<Vec<u64>> {
    let plain = scenario.faults.is_empty()
        && scenario.delay == Delay::Unit
        && scenario.loss == 0.0
        && scenario.duplicate == 0.0
        && scenario.bandwidth.is_none()
        && scenario.medium == Medium::Links
        && scenario.notice == Notice::Oracle
        && scenario.starts.iter().all(|start| start.tick == 0);
    if !plain {
        return None;
    }
    struct Order;
    impl Job for Order {
        type Output = Vec<u32>;
        fn run<P: Protocol>(self, _: &P, ranks: &[P::Rank]) -> Vec<u32> {
            let mut sorted: Vec<u32> = (0..ranks.len() as u32).collect();
            sorted.sort_unstable_by_key(|&at| ranks[at as usize]);
            let mut order = vec![0; ranks.len()];
            sorted.iter().zip(0..).for_each(|(&at, place)| order[at as usize] = place);
            order
        }
    }
    let order = with_ranks::<A, _>(params, scenario, Order);
    let initiators: Vec<u32> = scenario.starts.iter().map(|start| start.at).collect();
    A::expect(params, &Instance { order: &order, initiators: &initiators })
}

/// The parameters of an algorithm from `name=value` texts.
pub fn params<A: Algorithm>(texts: &[String]) -> Result<A::Params, Refusal> {
    let mut params = A::Params::default();
    let mut seen: Vec<&str> = Vec::new();
    for text in texts {
        let Some((name, value)) = text.split_once('=') else {
            return Err(Refusal::ParameterForm { text: text.clone() });
        };
        if seen.contains(&name) {
            return Err(Refusal::ParameterTwice { name: name.to_string() });
        }
        seen.push(name);
        params.set(name, value).map_err(|error| {
            let near = match error {
                ParamError::Unknown { .. } => nearest(name, A::Params::DESCRIPTIONS.iter().map(|one| one.name)),
                // Where a few words are allowed, they are listed like this.
                ParamError::BadValue { allowed, .. } => nearest(value, allowed.split(", ")),
            };
            let nearest = near.map(str::to_string);
            Refusal::Parameter { text: text.clone(), error: Box::new(error), nearest }
        })?;
    }
    Ok(params)
}

#[cfg(test)]
mod tests;
