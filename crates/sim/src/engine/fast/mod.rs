//! The fast engine, for unit delays without faults other than crashes. It runs tick by tick over flat arrays, allocates
//! nothing per message and dispatches nothing at run time.
//!
//! It contains nothing specific to an algorithm. The network's type decides how messages are queued: on a ring they are
//! sent in the order in which they are read, elsewhere a mailbox sorts them.
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

use hustings_protocol::Protocol;

use self::bucket_mailbox::BucketMailbox;
use self::graph_driver::GraphRun;
use self::links::{Complete, Links, MappedRing};
use self::mailbox::Mailbox;
use self::matrix_mailbox::MatrixMailbox;
use crate::outcome::Outcome;
use crate::scenario::{Delay, Fault, FaultKind, Medium, Notice, Scenario, Start};
use crate::topology::Network;

/// What the fast engine runs, without the network.
#[derive(Clone, Debug)]
pub struct EngineInput {
    /// The start signals, ascending by tick, then position; `None` if every position starts at tick 0. Then no list is
    /// kept.
    pub starts: Option<Vec<Start>>,
    /// The tick and the position of every crash.
    pub crashes: Vec<(u64, u32)>,
    /// Determines the coins.
    pub seed: u64,
    /// The last tick to simulate.
    pub until: u64,
    /// The maximum number of threads.
    pub threads: usize,
    /// The maximum memory of the process, in bytes.
    pub max_memory: Option<u64>,
}

impl EngineInput {
    /// The input for a scenario. Faults other than crashes are ignored.
    fn of(scenario: &Scenario) -> Self {
        let crash = |fault: &Fault| match fault.what {
            FaultKind::Crash(at) => Some((fault.tick, at)),
            _ => None,
        };
        let everybody = (0..scenario.network.size()).map(|at| Start { at, tick: 0 });
        let all_start = everybody.eq(scenario.starts.iter().copied());
        EngineInput {
            starts: if all_start { None } else { Some(scenario.starts.clone()) },
            crashes: scenario.faults.iter().filter_map(crash).collect(),
            seed: scenario.seed,
            until: scenario.until,
            threads: scenario.threads,
            max_memory: scenario.max_memory,
        }
    }
}

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
        && scenario.interventions.is_empty()
        && match &scenario.network {
            Network::Ring(_) | Network::InformedRing(_) => scenario.network.members() >= 1,
            Network::Complete(size) => graph_driver::supports(Complete { size: *size }),
            Network::Graph(graph) => graph_driver::supports(graph),
        }
}

/// Only the general engine sends reachability updates. Without crashes there are none.
fn needs_reachability_updates(protocol: &impl Protocol, input: &EngineInput) -> bool {
    protocol.observes_reachability() && !input.crashes.is_empty()
}

/// Runs a scenario. Returns `None` if it is not supported, or the protocol turns out to need the general engine.
///
/// This compiles every driver for the protocol. If the kind of network is known, [`run_with`] compiles only one.
pub(crate) fn run<P: Protocol, const FULL: bool>(
    protocol: &P,
    ranks: &[P::Rank],
    scenario: &Scenario,
) -> Option<Outcome> {
    match scenario.network {
        Network::Ring(_) | Network::InformedRing(_) => run_with(on_ring::<P, FULL>, protocol, ranks, scenario)
            .or_else(|| run_with(on_mapped_ring::<P, FULL>, protocol, ranks, scenario)),
        Network::Complete(_) => run_with(on_complete::<P, FULL>, protocol, ranks, scenario),
        Network::Graph(_) => run_with(on_graph::<P, FULL>, protocol, ranks, scenario),
    }
}

/// Runs a scenario with one driver, such as [`on_ring`]. Returns `None` if the scenario or the protocol turns out to
/// need the general engine, or if the driver is for another kind of network.
pub fn run_with<P: Protocol>(
    driver: Driver<P>,
    protocol: &P,
    ranks: &[P::Rank],
    scenario: &Scenario,
) -> Option<Outcome> {
    let input = supports(scenario).then(|| EngineInput::of(scenario))?;
    driver(protocol, ranks, &scenario.network, &input)?.run()
}

/// A function that prepares a run, such as [`on_ring`]. It returns `None` if it is for another kind of network, or if
/// the run needs the general engine.
pub type Driver<P> = for<'a> fn(&'a P, &'a [<P as Protocol>::Rank], &'a Network, &EngineInput) -> Option<Prepared<'a>>;

/// Prepares a run on a ring whose members talk to their neighbours only.
pub fn on_ring<'a, P: Protocol, const FULL: bool>(
    protocol: &'a P,
    ranks: &'a [P::Rank],
    network: &'a Network,
    input: &EngineInput,
) -> Option<Prepared<'a>> {
    match *network {
        Network::Ring(size) if ring_driver::supports(size, input.crashes.len()) => {
            prepared(protocol, input, || Box::new(ring_driver::RingRun::<P, FULL>::new(protocol, ranks, size, input)))
        }
        _ => None,
    }
}

/// Prepares a run on a ring whose members know the list of members, with or without an outside informer.
pub fn on_mapped_ring<'a, P: Protocol, const FULL: bool>(
    protocol: &'a P,
    ranks: &'a [P::Rank],
    network: &'a Network,
    input: &EngineInput,
) -> Option<Prepared<'a>> {
    let links = mapped_ring(network)?;
    prepared(protocol, input, || Box::new(GraphRun::<P, _, BucketMailbox<_>, FULL>::new(protocol, ranks, links, input)))
}

/// Prepares a run on a complete network.
pub fn on_complete<'a, P: Protocol, const FULL: bool>(
    protocol: &'a P,
    ranks: &'a [P::Rank],
    network: &'a Network,
    input: &EngineInput,
) -> Option<Prepared<'a>> {
    let Network::Complete(size) = *network else { return None };
    let complete = Complete { size };
    // Both matrices are allocated at once, before anything is sent that a watch could count.
    let is_too_large = |max: u64| is_tiny::<P>() && 2 * complete.first(size) as u64 > max;
    if !graph_driver::supports(complete) || input.max_memory.is_some_and(is_too_large) {
        return None;
    }
    prepared(protocol, input, || {
        if const { is_tiny::<P>() } {
            Box::new(GraphRun::<P, _, MatrixMailbox<_>, FULL>::new(protocol, ranks, complete, input))
        } else {
            Box::new(GraphRun::<P, _, BucketMailbox<_>, FULL>::new(protocol, ranks, complete, input))
        }
    })
}

/// Prepares a run on a graph.
pub fn on_graph<'a, P: Protocol, const FULL: bool>(
    protocol: &'a P,
    ranks: &'a [P::Rank],
    network: &'a Network,
    input: &EngineInput,
) -> Option<Prepared<'a>> {
    let Network::Graph(graph) = network else { return None };
    if !graph_driver::supports(graph) {
        return None;
    }
    prepared(protocol, input, || Box::new(GraphRun::<P, _, BucketMailbox<_>, FULL>::new(protocol, ranks, graph, input)))
}

fn prepared<'a>(
    protocol: &impl Protocol,
    input: &EngineInput,
    driver: impl FnOnce() -> Box<dyn PreparedRun + 'a>,
) -> Option<Prepared<'a>> {
    (!needs_reachability_updates(protocol, input)).then(|| Prepared(driver()))
}

/// Whether messages are so small that a slot for every pair of nodes is faster than a bucket for many receivers.
const fn is_tiny<P: Protocol>() -> bool {
    size_of::<P::Message>() <= 1
}

/// The network as a ring whose members know each other.
fn mapped_ring(network: &Network) -> Option<MappedRing> {
    match *network {
        Network::Ring(size) => Some(MappedRing { size, has_informer: false }),
        Network::InformedRing(size) => Some(MappedRing { size, has_informer: true }),
        Network::Complete(_) | Network::Graph(_) => None,
    }
}

/// A run that is ready to start. All memory is allocated and touched, so that only the run itself is measured.
#[expect(missing_debug_implementations, reason = "it holds millions of states")]
pub struct Prepared<'a>(Box<dyn PreparedRun + 'a>);

/// A driver that is ready to start. The type is erased, so that only the driver in use is compiled.
trait PreparedRun {
    fn memory(&self) -> usize;
    fn run(self: Box<Self>) -> Option<Outcome>;
}

impl<P: Protocol, const FULL: bool> PreparedRun for ring_driver::RingRun<'_, P, FULL> {
    fn memory(&self) -> usize {
        ring_driver::RingRun::memory(self)
    }
    fn run(self: Box<Self>) -> Option<Outcome> {
        ring_driver::RingRun::run(*self)
    }
}

impl<P: Protocol, L: Links, B: Mailbox<P::Message>, const FULL: bool> PreparedRun for GraphRun<'_, P, L, B, FULL> {
    fn memory(&self) -> usize {
        GraphRun::memory(self)
    }
    fn run(self: Box<Self>) -> Option<Outcome> {
        GraphRun::run(*self)
    }
}

impl Prepared<'_> {
    /// The number of bytes that the run holds: ranks, states, accounting and message buffers, without the network.
    pub fn memory(&self) -> usize {
        self.0.memory()
    }

    /// Runs it; `None` if the protocol turns out to need the general engine.
    pub fn run(self) -> Option<Outcome> {
        self.0.run()
    }
}
