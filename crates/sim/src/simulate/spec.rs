//! What an election is ([`ElectionSpec`]), and the scenario that is built from it.

use hustings_algorithms::{Algorithm, Cheat};
use hustings_protocol::Best;

use super::build::Builder;
use super::{Ids, SpecError, Starts, Values, Warning};
use crate::parse::{Intervention, LinkFault, NodeFault, Partition, Repair};
use crate::scenario::{Delay, Medium, Notice, Scenario};
use crate::topology::Topology;

/// Everything about an election except the algorithm: parsed, not yet checked. `None` means the algorithm's default.
///
/// [`ElectionSpec::build`] checks the fields against each other and against the algorithm, and builds a [`Scenario`].
#[derive(Clone, PartialEq, Debug)]
pub struct ElectionSpec {
    /// The number of nodes. Default: the length of the lists or the size of the topology, otherwise 8.
    pub nodes: Option<u32>,
    /// The ids of the nodes. Default: their positions, from 1 on complete networks and from 0 elsewhere.
    pub ids: Option<Ids>,
    /// Values that rank nodes before their ids do.
    pub values: Option<Values>,
    /// Pairs of a voter and the position it votes for.
    pub votes: Option<Vec<(u32, u32)>>,
    /// Nodes that break the rules, and how.
    pub cheats: Vec<(u32, Cheat)>,
    /// Whether the greatest or the least rank wins.
    pub best: Best,
    /// The topology of the network. Default: what the algorithm runs on.
    pub topology: Option<Topology>,
    /// The nodes that start. Default: as the algorithm's description says.
    pub initiators: Option<Starts>,
    /// How nodes notice that the leader is dead.
    pub notice: Notice,
    /// Whether the algorithm runs again in every view of nodes that can reach each other.
    pub runs: bool,
    /// Faults, repairs and interventions.
    pub faults: Faults,
    /// How long messages travel.
    pub delay: Delay,
    /// Whether messages may overtake each other on a link.
    pub unordered: bool,
    /// The probability that a message is lost.
    pub loss: f64,
    /// The probability that a message is delivered twice.
    pub duplicate: f64,
    /// The maximum number of messages that the whole network delivers per tick.
    pub bandwidth: Option<u64>,
    /// What a send to all neighbours costs.
    pub medium: Medium,
    /// The seed of everything random.
    pub seed: u64,
    /// The last tick. Default: `100·n + 10,000`, plus what the algorithm's description adds.
    pub until: Option<u64>,
    /// The number of threads; the result does not depend on it.
    pub threads: usize,
}

impl Default for ElectionSpec {
    fn default() -> Self {
        ElectionSpec {
            nodes: None,
            ids: None,
            values: None,
            votes: None,
            cheats: Vec::new(),
            best: Best::Max,
            topology: None,
            initiators: None,
            notice: Notice::Oracle,
            runs: false,
            faults: Faults::default(),
            delay: Delay::Unit,
            unordered: false,
            loss: 0.0,
            duplicate: 0.0,
            bandwidth: None,
            medium: Medium::Links,
            seed: 0,
            until: None,
            threads: 1,
        }
    }
}

/// What happens to nodes, links and messages besides the election. Empty by default.
///
/// [`ElectionSpec::set`] adds to it, with the text that the command line takes: `spec.set(Field::Crashes, "3@10")` lets
/// position 3 crash at tick 10.
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Faults {
    /// Nodes that crash.
    pub(super) crashes: Vec<NodeFault>,
    /// Nodes that recover.
    pub(super) recoveries: Vec<NodeFault>,
    /// Nodes that join.
    pub(super) joins: Vec<NodeFault>,
    /// Nodes that retire.
    pub(super) retirements: Vec<NodeFault>,
    /// Links that are cut.
    pub(super) cuts: Vec<LinkFault>,
    /// Links that are repaired.
    pub(super) heals: Vec<Repair>,
    /// Partitions of the network.
    pub(super) partitions: Vec<Partition>,
    /// What is done by hand at points of the trace.
    pub(super) interventions: Vec<Intervention>,
}

/// A scenario that passed all checks, with warnings about it.
#[derive(Clone, PartialEq, Debug)]
pub struct BuiltScenario {
    /// Ready to run.
    pub scenario: Scenario,
    /// What is allowed but probably not intended.
    pub warnings: Vec<Warning>,
}

impl ElectionSpec {
    /// Checks the fields against the algorithm and its parameters, and builds the scenario. Reads the files that the
    /// fields name.
    pub fn build<A: Algorithm>(&self, params: &A::Params) -> Result<BuiltScenario, SpecError> {
        let mut built = Builder::new(self, &A::ABOUT).build()?;
        A::check(params, built.scenario.network.members())?;
        if let (Some(bound), longest) = (A::delay_bound(params), self.delay.longest())
            && longest.is_none_or(|longest| longest > bound)
        {
            built.warnings.push(Warning::DelayAboveBound { algorithm: A::ABOUT.name, bound, longest });
        }
        Ok(built)
    }
}
