//! The fast engine: delays of one tick, crashes at most. Rounds over flat arrays, nothing allocated per message,
//! nothing dispatched at run time.
//!
//! There is nothing about any algorithm in here. What is special depends on the network's type: a ring's mail stays in
//! order by itself; a graph's is put in order by the number of the link it origin over.
//!
//! It agrees with the general engine event for event; a property test says so.

mod bucket_mailbox;
mod calendar;
mod direct_messages;
mod graph_context;
mod graph_driver;
mod large_pages;
mod leader_index;
mod links;
mod mailbox;
mod matrix_mailbox;
mod measurement;
mod range_accounting;
mod ring_context;
mod ring_driver;
mod ring_queue;

use std::marker::PhantomData;

use hustings_protocol::Protocol;

use self::bucket_mailbox::BucketMailbox;
pub use self::calendar::Starts;
use self::links::{Links, MappedRing};
use self::mailbox::Mailbox;
use self::matrix_mailbox::MatrixMailbox;
pub use self::measurement::{Full, Lean, Meter};
pub use self::range_accounting::EngineInput;
use crate::outcome::Outcome;
use crate::scenario::{Delay, FaultKind, Medium, Notice, Scenario};
use crate::topology::Network;

/// Whether the fast engine serves this scenario.
pub fn supports(scenario: &Scenario) -> bool {
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
            Network::Complete(complete) => graph_driver::supports(*complete),
            Network::Graph(graph) => graph_driver::supports(graph),
        }
}

/// Only the general engine tells nodes whom they can reach; where nobody crashes there is nothing to tell.
fn needs_reachability_updates(protocol: &impl Protocol, plan: &EngineInput) -> bool {
    protocol.observes_reachability() && !plan.crashes.is_empty()
}

/// What there is to do, if the fast engine can do it.
fn plan(protocol: &impl Protocol, scenario: &Scenario) -> Option<EngineInput> {
    supports(scenario).then(|| EngineInput::of(scenario)).filter(|plan| !needs_reachability_updates(protocol, plan))
}

/// Runs a scenario that [`supports`]; `None` if the protocol then asks for something that only the general engine does.
pub fn run<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    match scenario.network {
        Network::Ring(_) | Network::InformedRing(_) => run_on_ring::<P, Mt>(protocol, ranks, scenario)
            .or_else(|| run_on_mapped_ring::<P, Mt>(protocol, ranks, scenario)),
        Network::Complete(_) | Network::Graph(_) => run_on_graph::<P, Mt>(protocol, ranks, scenario),
    }
}

/// [`run`] for rings whose members talk to their neighbours only: nothing else is compiled.
pub fn run_on_ring<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    let plan = plan(protocol, scenario)?;
    match scenario.network {
        Network::Ring(ring) if ring_driver::supports(ring, plan.crashes.len()) => {
            ring_driver::RingRun::<P, Mt>::new(protocol, ranks, ring, &plan).run()
        }
        _ => None,
    }
}

/// [`run`] for rings whose members have a map, and perhaps an informer outside: nothing else is compiled.
pub fn run_on_mapped_ring<P: Protocol, Mt: Meter>(
    protocol: &P,
    ranks: &[P::Rank],
    scenario: &Scenario,
) -> Option<Outcome> {
    let (links, plan) = (mapped_ring(&scenario.network)?, plan(protocol, scenario)?);
    graph_driver::GraphRun::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, links, &plan).run()
}

/// [`run`] for graphs and complete networks only: nothing else is compiled.
pub fn run_on_graph<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    let plan = plan(protocol, scenario)?;
    match &scenario.network {
        Network::Ring(_) | Network::InformedRing(_) => None,
        Network::Complete(complete) if const { is_tiny::<P>() } => {
            graph_driver::GraphRun::<P, _, MatrixMailbox<_>, Mt>::new(protocol, ranks, *complete, &plan).run()
        }
        Network::Complete(complete) => {
            graph_driver::GraphRun::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, *complete, &plan).run()
        }
        Network::Graph(graph) => {
            graph_driver::GraphRun::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, graph, &plan).run()
        }
    }
}

/// Whether messages are so small that a place for each of them is better than a bucket for many.
const fn is_tiny<P: Protocol>() -> bool {
    size_of::<P::Message>() <= 1
}

/// A ring with a map.
fn mapped_ring(network: &Network) -> Option<MappedRing> {
    match *network {
        Network::Ring(ring) => Some(MappedRing { ring, has_informer: false }),
        Network::InformedRing(ring) => Some(MappedRing { ring, has_informer: true }),
        Network::Complete(_) | Network::Graph(_) => None,
    }
}

/// A run that is ready to start: everything it will need is allocated and touched, so that its time can be measured.
#[expect(missing_debug_implementations, reason = "it holds millions of states")]
pub struct Prepared<'a, P, Mt>(Box<dyn PreparedRun + 'a>, PhantomData<(P, Mt)>);

/// A driver that is ready to start. What it is for is hidden, so that only what is needed is compiled.
trait PreparedRun {
    fn memory(&self) -> usize;
    fn run(self: Box<Self>) -> Option<Outcome>;
}

impl<P: Protocol, Mt: Meter> PreparedRun for ring_driver::RingRun<'_, P, Mt> {
    fn memory(&self) -> usize {
        ring_driver::RingRun::memory(self)
    }
    fn run(self: Box<Self>) -> Option<Outcome> {
        ring_driver::RingRun::run(*self)
    }
}

impl<P: Protocol, L: Links, B: Mailbox<P::Message>, Mt: Meter> PreparedRun for graph_driver::GraphRun<'_, P, L, B, Mt> {
    fn memory(&self) -> usize {
        graph_driver::GraphRun::memory(self)
    }
    fn run(self: Box<Self>) -> Option<Outcome> {
        graph_driver::GraphRun::run(*self)
    }
}

impl<'a, P: Protocol, Mt: Meter> Prepared<'a, P, Mt> {
    /// Sets up a plan on a network; `None` if it needs the general engine.
    pub fn new(protocol: &'a P, ranks: &'a [P::Rank], network: &'a Network, plan: &EngineInput) -> Option<Self> {
        type Run<'a, P, L, B, Mt> = graph_driver::GraphRun<'a, P, L, B, Mt>;
        if needs_reachability_updates(protocol, plan) {
            return None;
        }
        let driver: Box<dyn PreparedRun + 'a> = match network {
            Network::Ring(ring) if ring_driver::supports(*ring, plan.crashes.len()) => {
                Box::new(ring_driver::RingRun::<P, Mt>::new(protocol, ranks, *ring, plan))
            }
            Network::Complete(complete) if graph_driver::supports(*complete) => {
                if const { is_tiny::<P>() } {
                    Box::new(Run::<P, _, MatrixMailbox<_>, Mt>::new(protocol, ranks, *complete, plan))
                } else {
                    Box::new(Run::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, *complete, plan))
                }
            }
            Network::Graph(graph) if graph_driver::supports(graph) => {
                Box::new(Run::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, graph, plan))
            }
            _ => return None,
        };
        Some(Prepared(driver, PhantomData))
    }

    /// [`Prepared::new`] for rings whose members have a map, and perhaps an informer outside; `None` on other networks.
    pub fn on_mapped_ring(
        protocol: &'a P,
        ranks: &'a [P::Rank],
        network: &Network,
        plan: &EngineInput,
    ) -> Option<Self> {
        let links = mapped_ring(network).filter(|_| !needs_reachability_updates(protocol, plan))?;
        let driver = graph_driver::GraphRun::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, links, plan);
        Some(Prepared(Box::new(driver), PhantomData))
    }

    /// How many bytes the run holds: ranks, states, accounting and room for mail; the network itself left out.
    pub fn memory(&self) -> usize {
        self.0.memory()
    }

    /// Runs it; `None` if the protocol then asks for something that only the general engine does.
    pub fn run(self) -> Option<Outcome> {
        self.0.run()
    }
}
