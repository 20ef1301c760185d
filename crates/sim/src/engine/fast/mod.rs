//! The fast engine, for unit delays without faults other than crashes. It runs tick by tick over flat arrays, allocates
//! nothing per message and dispatches nothing at run time.
//!
//! It contains nothing specific to an algorithm. The network's type decides how messages are queued: on a ring they are
//! sent in the order in which they are read, elsewhere a [mailbox](mailbox) sorts them.
//!
//! A property test checks that it agrees with the general engine event for event.

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

/// Whether the fast engine can run this scenario.
pub(crate) fn supports(scenario: &Scenario) -> bool {
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

/// Only the general engine sends reachability updates. Without crashes there are none.
fn needs_reachability_updates(protocol: &impl Protocol, input: &EngineInput) -> bool {
    protocol.observes_reachability() && !input.crashes.is_empty()
}

/// The engine's input, if the fast engine can run the scenario with this protocol.
fn input(protocol: &impl Protocol, scenario: &Scenario) -> Option<EngineInput> {
    supports(scenario).then(|| EngineInput::of(scenario)).filter(|input| !needs_reachability_updates(protocol, input))
}

/// Runs a scenario. Returns `None` if it is not supported, or the protocol turns out to need the general engine.
pub fn run<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    match scenario.network {
        Network::Ring(_) | Network::InformedRing(_) => run_on_ring::<P, Mt>(protocol, ranks, scenario)
            .or_else(|| run_on_mapped_ring::<P, Mt>(protocol, ranks, scenario)),
        Network::Complete(_) | Network::Graph(_) => run_on_graph::<P, Mt>(protocol, ranks, scenario),
    }
}

/// [`run`] for rings whose members talk to their neighbours only. Nothing else is compiled.
pub fn run_on_ring<P: Protocol, Mt: Meter>(protocol: &P, ranks: &[P::Rank], scenario: &Scenario) -> Option<Outcome> {
    let input = input(protocol, scenario)?;
    match scenario.network {
        Network::Ring(ring) if ring_driver::supports(ring, input.crashes.len()) => {
            ring_driver::RingRun::<P, Mt>::new(protocol, ranks, ring, &input).run()
        }
        _ => None,
    }
}

/// [`run`] for rings whose members know the list of members, with or without an outside informer. Nothing else is
/// compiled.
pub fn run_on_mapped_ring<P: Protocol, Mt: Meter>(
    protocol: &P,
    ranks: &[P::Rank],
    scenario: &Scenario,
) -> Option<Outcome> {
    let (links, input) = (mapped_ring(&scenario.network)?, input(protocol, scenario)?);
    graph_driver::GraphRun::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, links, &input).run()
}

/// [`run`] for graphs and complete networks. Nothing else is compiled.
pub(crate) fn run_on_graph<P: Protocol, Mt: Meter>(
    protocol: &P,
    ranks: &[P::Rank],
    scenario: &Scenario,
) -> Option<Outcome> {
    let input = input(protocol, scenario)?;
    match &scenario.network {
        Network::Ring(_) | Network::InformedRing(_) => None,
        Network::Complete(complete) if const { is_tiny::<P>() } => {
            graph_driver::GraphRun::<P, _, MatrixMailbox<_>, Mt>::new(protocol, ranks, *complete, &input).run()
        }
        Network::Complete(complete) => {
            graph_driver::GraphRun::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, *complete, &input).run()
        }
        Network::Graph(graph) => {
            graph_driver::GraphRun::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, graph, &input).run()
        }
    }
}

/// Whether messages are so small that a slot for every pair of nodes is faster than a bucket for many receivers.
const fn is_tiny<P: Protocol>() -> bool {
    size_of::<P::Message>() <= 1
}

/// The network as a ring whose members know each other.
fn mapped_ring(network: &Network) -> Option<MappedRing> {
    match *network {
        Network::Ring(ring) => Some(MappedRing { ring, has_informer: false }),
        Network::InformedRing(ring) => Some(MappedRing { ring, has_informer: true }),
        Network::Complete(_) | Network::Graph(_) => None,
    }
}

/// A run that is ready to start. All memory is allocated and touched, so that only the run itself is measured.
#[expect(missing_debug_implementations, reason = "it holds millions of states")]
pub struct Prepared<'a, P, Mt>(Box<dyn PreparedRun + 'a>, PhantomData<(P, Mt)>);

/// A driver that is ready to start. The type is erased, so that only the driver in use is compiled.
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
    /// Prepares a run; `None` if it needs the general engine.
    pub fn new(protocol: &'a P, ranks: &'a [P::Rank], network: &'a Network, input: &EngineInput) -> Option<Self> {
        type Run<'a, P, L, B, Mt> = graph_driver::GraphRun<'a, P, L, B, Mt>;
        if needs_reachability_updates(protocol, input) {
            return None;
        }
        let driver: Box<dyn PreparedRun + 'a> = match network {
            Network::Ring(ring) if ring_driver::supports(*ring, input.crashes.len()) => {
                Box::new(ring_driver::RingRun::<P, Mt>::new(protocol, ranks, *ring, input))
            }
            Network::Complete(complete) if graph_driver::supports(*complete) => {
                if const { is_tiny::<P>() } {
                    Box::new(Run::<P, _, MatrixMailbox<_>, Mt>::new(protocol, ranks, *complete, input))
                } else {
                    Box::new(Run::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, *complete, input))
                }
            }
            Network::Graph(graph) if graph_driver::supports(graph) => {
                Box::new(Run::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, graph, input))
            }
            _ => return None,
        };
        Some(Prepared(driver, PhantomData))
    }

    /// [`Prepared::new`] for rings whose members know the list of members, with or without an outside informer; `None`
    /// on other networks.
    pub fn on_mapped_ring(
        protocol: &'a P,
        ranks: &'a [P::Rank],
        network: &Network,
        input: &EngineInput,
    ) -> Option<Self> {
        let links = mapped_ring(network).filter(|_| !needs_reachability_updates(protocol, input))?;
        let driver = graph_driver::GraphRun::<P, _, BucketMailbox<_>, Mt>::new(protocol, ranks, links, input);
        Some(Prepared(Box::new(driver), PhantomData))
    }

    /// The number of bytes that the run holds: ranks, states, accounting and message buffers, without the network.
    pub fn memory(&self) -> usize {
        self.0.memory()
    }

    /// Runs it; `None` if the protocol turns out to need the general engine.
    pub fn run(self) -> Option<Outcome> {
        self.0.run()
    }
}
