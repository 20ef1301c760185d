//! The fast engine: delays of one tick, crashes at most. Rounds over flat arrays, nothing allocated per message,
//! nothing dispatched at run time.
//!
//! There is nothing about any algorithm in here. What is special depends on the network's type: a ring's mail stays in
//! order by itself; a graph's is put in order by the number of the link it came over.
//!
//! It agrees with the general engine event for event; a property test says so.

mod board;
mod calendar;
mod core;
mod lane;
mod ledger;
mod links;
mod meter;
mod pages;
mod ring;
mod side;
mod slots;
mod spot;

use hustings_protocol::Protocol;

pub use self::calendar::Starts;
pub use self::core::Plan;
pub use self::meter::{Full, Lean, Meter};
use crate::outcome::Outcome;
use crate::scenario::{Delay, FaultKind, Medium, Notice, Scenario};
use crate::topology::{Complete, Graph, Network};

/// Whether the fast engine serves this scenario.
pub fn suits(scenario: &Scenario) -> bool {
    let plain = scenario.delay == Delay::Unit
        && scenario.loss == 0.0
        && scenario.duplicate == 0.0
        && scenario.bandwidth.is_none()
        && scenario.medium == Medium::Links
        && scenario.notice == Notice::Oracle;
    let only_crashes = scenario.faults.iter().all(|fault| matches!(fault.what, FaultKind::Crash(_)));
    plain
        && only_crashes
        && match &scenario.network {
            Network::Ring(ring) => ring::suits(*ring, scenario.faults.len()),
            Network::InformedRing(_) => false,
            Network::Complete(complete) => slots::suits(complete),
            Network::Graph(graph) => slots::suits(graph),
        }
}

/// Only the general engine tells nodes whom they can reach; where nothing happens there is nothing to tell.
fn serves(protocol: &impl Protocol, scenario: &Scenario) -> bool {
    suits(scenario) && (scenario.faults.is_empty() || !protocol.watches())
}

/// Runs a scenario that [`suits`]; `None` if the protocol then asks for something that only the general engine does.
pub fn run<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    match scenario.network {
        Network::Ring(_) | Network::InformedRing(_) => run_on_ring::<P, Mt>(protocol, ranks, scenario),
        Network::Complete(_) | Network::Graph(_) => run_on_links::<P, Mt>(protocol, ranks, scenario),
    }
}

/// [`run`] for rings only: nothing else is compiled.
pub fn run_on_ring<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    match scenario.network {
        Network::Ring(ring) if serves(protocol, scenario) => {
            ring::Prepared::<P, Mt>::new(protocol, ranks, ring, &Plan::of(scenario)).run()
        }
        _ => None,
    }
}

/// [`run`] for graphs and complete networks only: nothing else is compiled.
pub fn run_on_links<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    match &scenario.network {
        _ if !serves(protocol, scenario) => None,
        Network::Ring(_) | Network::InformedRing(_) => None,
        Network::Complete(complete) => {
            slots::Prepared::<P, _, Mt>::new(protocol, ranks, complete, &Plan::of(scenario)).run()
        }
        Network::Graph(graph) => slots::Prepared::<P, _, Mt>::new(protocol, ranks, graph, &Plan::of(scenario)).run(),
    }
}

/// A run that is ready to start: everything it will need is allocated and touched, so that its time can be measured.
#[expect(missing_debug_implementations, reason = "it holds millions of states")]
pub struct Prepared<'a, P: Protocol, Mt>(Driver<'a, P, Mt>);

// There is one for each run: its size does not matter.
#[allow(clippy::large_enum_variant)]
enum Driver<'a, P: Protocol, Mt> {
    Ring(ring::Prepared<'a, P, Mt>),
    Complete(slots::Prepared<'a, P, Complete, Mt>),
    Graph(slots::Prepared<'a, P, Graph, Mt>),
}

impl<'a, P: Protocol, Mt: Meter> Prepared<'a, P, Mt> {
    /// Sets up a plan on a network; `None` if it needs the general engine.
    pub fn new(protocol: &'a P, ranks: &'a [P::Rank], network: &'a Network, plan: &Plan) -> Option<Self> {
        let driver = match network {
            Network::Ring(ring) if ring::suits(*ring, plan.crashes.len()) => {
                Driver::Ring(ring::Prepared::new(protocol, ranks, *ring, plan))
            }
            Network::Complete(complete) if slots::suits(complete) => {
                Driver::Complete(slots::Prepared::new(protocol, ranks, complete, plan))
            }
            Network::Graph(graph) if slots::suits(graph) => {
                Driver::Graph(slots::Prepared::new(protocol, ranks, graph, plan))
            }
            _ => return None,
        };
        Some(Prepared(driver))
    }

    /// How many bytes the run holds: ranks, states, books and room for mail; the network itself left out.
    pub fn memory(&self) -> usize {
        match &self.0 {
            Driver::Ring(ring) => ring.memory(),
            Driver::Complete(complete) => complete.memory(),
            Driver::Graph(graph) => graph.memory(),
        }
    }

    /// Runs it; `None` if the protocol then asks for something that only the general engine does.
    pub fn run(self) -> Option<Outcome> {
        match self.0 {
            Driver::Ring(ring) => ring.run(),
            Driver::Complete(complete) => complete.run(),
            Driver::Graph(graph) => graph.run(),
        }
    }
}
