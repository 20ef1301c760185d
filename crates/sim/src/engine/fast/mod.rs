//! The fast engine: delays of one tick, crashes at most. Rounds over flat arrays, nothing allocated per message,
//! nothing dispatched at run time.
//!
//! There is nothing about any algorithm in here. What is special depends on the network's type: a ring's mail stays in
//! order by itself; a graph's is put in order by the number of the link it came over.
//!
//! It agrees with the general engine event for event; a property test says so.

mod bins;
mod calendar;
mod core;
mod direct;
mod large_pages;
mod ledger;
mod links;
mod mailbox;
mod meter;
mod ranges;
mod ring;
mod ring_queue;
mod sheet;
mod side;
mod spot;

use std::marker::PhantomData;

use hustings_protocol::Protocol;

use self::bins::Bins;
pub use self::calendar::Starts;
pub use self::core::Plan;
use self::links::{Chords, Links};
use self::mailbox::Mailbox;
pub use self::meter::{Full, Lean, Meter};
use self::sheet::Sheet;
use crate::outcome::Outcome;
use crate::scenario::{Delay, FaultKind, Medium, Notice, Scenario};
use crate::topology::Network;

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
            Network::Ring(_) | Network::InformedRing(_) => scenario.network.members() >= 1,
            Network::Complete(complete) => ranges::suits(*complete),
            Network::Graph(graph) => ranges::suits(graph),
        }
}

/// Only the general engine tells nodes whom they can reach; where nobody crashes there is nothing to tell.
fn needs_word(protocol: &impl Protocol, plan: &Plan) -> bool {
    protocol.observes_reachability() && !plan.crashes.is_empty()
}

/// What there is to do, if the fast engine can do it.
fn plan(protocol: &impl Protocol, scenario: &Scenario) -> Option<Plan> {
    suits(scenario).then(|| Plan::of(scenario)).filter(|plan| !needs_word(protocol, plan))
}

/// Runs a scenario that [`suits`]; `None` if the protocol then asks for something that only the general engine does.
pub fn run<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    match scenario.network {
        Network::Ring(_) | Network::InformedRing(_) => {
            run_on_ring::<P, Mt>(protocol, ranks, scenario).or_else(|| run_by_map::<P, Mt>(protocol, ranks, scenario))
        }
        Network::Complete(_) | Network::Graph(_) => run_on_links::<P, Mt>(protocol, ranks, scenario),
    }
}

/// [`run`] for rings whose members talk to their neighbours only: nothing else is compiled.
pub fn run_on_ring<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    let plan = plan(protocol, scenario)?;
    match scenario.network {
        Network::Ring(ring) if ring::suits(ring, plan.crashes.len()) => {
            ring::Prepared::<P, Mt>::new(protocol, ranks, ring, &plan).run()
        }
        _ => None,
    }
}

/// [`run`] for rings whose members have a map, and perhaps an informer outside: nothing else is compiled.
pub fn run_by_map<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    let (links, plan) = (chords(&scenario.network)?, plan(protocol, scenario)?);
    ranges::Prepared::<P, _, Bins<_>, Mt>::new(protocol, ranks, links, &plan).run()
}

/// [`run`] for graphs and complete networks only: nothing else is compiled.
pub fn run_on_links<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    let plan = plan(protocol, scenario)?;
    match &scenario.network {
        Network::Ring(_) | Network::InformedRing(_) => None,
        Network::Complete(complete) if const { is_tiny::<P>() } => {
            ranges::Prepared::<P, _, Sheet<_>, Mt>::new(protocol, ranks, *complete, &plan).run()
        }
        Network::Complete(complete) => {
            ranges::Prepared::<P, _, Bins<_>, Mt>::new(protocol, ranks, *complete, &plan).run()
        }
        Network::Graph(graph) => ranges::Prepared::<P, _, Bins<_>, Mt>::new(protocol, ranks, graph, &plan).run(),
    }
}

/// Whether messages are so small that a place for each of them is better than a bin for many.
const fn is_tiny<P: Protocol>() -> bool {
    size_of::<P::Message>() <= 1
}

/// A ring with a map.
fn chords(network: &Network) -> Option<Chords> {
    match *network {
        Network::Ring(ring) => Some(Chords { ring, has_informer: false }),
        Network::InformedRing(ring) => Some(Chords { ring, has_informer: true }),
        Network::Complete(_) | Network::Graph(_) => None,
    }
}

/// A run that is ready to start: everything it will need is allocated and touched, so that its time can be measured.
#[expect(missing_debug_implementations, reason = "it holds millions of states")]
pub struct Prepared<'a, P, Mt>(Box<dyn Ready + 'a>, PhantomData<(P, Mt)>);

/// A driver that is ready to start. What it is for is hidden, so that only what is needed is compiled.
trait Ready {
    fn memory(&self) -> usize;
    fn run(self: Box<Self>) -> Option<Outcome>;
}

impl<P: Protocol, Mt: Meter> Ready for ring::Prepared<'_, P, Mt> {
    fn memory(&self) -> usize {
        ring::Prepared::memory(self)
    }
    fn run(self: Box<Self>) -> Option<Outcome> {
        ring::Prepared::run(*self)
    }
}

impl<P: Protocol, L: Links, B: Mailbox<P::Message>, Mt: Meter> Ready for ranges::Prepared<'_, P, L, B, Mt> {
    fn memory(&self) -> usize {
        ranges::Prepared::memory(self)
    }
    fn run(self: Box<Self>) -> Option<Outcome> {
        ranges::Prepared::run(*self)
    }
}

impl<'a, P: Protocol, Mt: Meter> Prepared<'a, P, Mt> {
    /// Sets up a plan on a network; `None` if it needs the general engine.
    pub fn new(protocol: &'a P, ranks: &'a [P::Rank], network: &'a Network, plan: &Plan) -> Option<Self> {
        type Run<'a, P, L, B, Mt> = ranges::Prepared<'a, P, L, B, Mt>;
        if needs_word(protocol, plan) {
            return None;
        }
        let driver: Box<dyn Ready + 'a> = match network {
            Network::Ring(ring) if ring::suits(*ring, plan.crashes.len()) => {
                Box::new(ring::Prepared::<P, Mt>::new(protocol, ranks, *ring, plan))
            }
            Network::Complete(complete) if ranges::suits(*complete) => {
                if const { is_tiny::<P>() } {
                    Box::new(Run::<P, _, Sheet<_>, Mt>::new(protocol, ranks, *complete, plan))
                } else {
                    Box::new(Run::<P, _, Bins<_>, Mt>::new(protocol, ranks, *complete, plan))
                }
            }
            Network::Graph(graph) if ranges::suits(graph) => {
                Box::new(Run::<P, _, Bins<_>, Mt>::new(protocol, ranks, graph, plan))
            }
            _ => return None,
        };
        Some(Prepared(driver, PhantomData))
    }

    /// [`Prepared::new`] for rings whose members have a map, and perhaps an informer outside; `None` on other networks.
    pub fn by_map(protocol: &'a P, ranks: &'a [P::Rank], network: &Network, plan: &Plan) -> Option<Self> {
        let links = chords(network).filter(|_| !needs_word(protocol, plan))?;
        let driver = ranges::Prepared::<P, _, Bins<_>, Mt>::new(protocol, ranks, links, plan);
        Some(Prepared(Box::new(driver), PhantomData))
    }

    /// How many bytes the run holds: ranks, states, books and room for mail; the network itself left out.
    pub fn memory(&self) -> usize {
        self.0.memory()
    }

    /// Runs it; `None` if the protocol then asks for something that only the general engine does.
    pub fn run(self) -> Option<Outcome> {
        self.0.run()
    }
}
