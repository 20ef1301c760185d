//! A [`Scenario`]: everything about one election except the algorithm.

use hustings_algorithms::Cheat;
use hustings_protocol::{Best, Value};
use serde::{Deserialize, Serialize};

use crate::topology::Network;

/// One election as the engines run it: checked and built.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// The network.
    pub network: Network,
    /// The id of each member; all different.
    pub ids: Vec<u64>,
    /// Values that rank nodes before their ids do.
    pub values: Option<Vec<Value>>,
    /// Pairs of a voter and the position it votes for.
    pub votes: Vec<(u32, u32)>,
    /// Nodes that break the rules, and how.
    pub cheats: Vec<(u32, Cheat)>,
    /// Whether the greatest or the least rank wins.
    pub best: Best,
    /// Positions and the ticks of their start signals; ascending by tick, then position.
    pub starts: Vec<Start>,
    /// Faults and repairs, ascending by tick.
    pub faults: Vec<Fault>,
    /// What is done by hand at points of the trace, ascending by point.
    pub interventions: Vec<Intervention>,
    /// How long messages travel.
    pub delay: Delay,
    /// Whether a message may overtake another on the same link.
    pub unordered: bool,
    /// The probability that a message is lost.
    pub loss: f64,
    /// The probability that a message is delivered twice.
    pub duplicate: f64,
    /// The maximum number of messages that the whole network delivers per tick.
    pub bandwidth: Option<u64>,
    /// What a send to all neighbours costs.
    pub medium: Medium,
    /// How nodes notice that the leader is dead.
    pub notice: Notice,
    /// Whether the algorithm runs again in every view of nodes that reach each other: [`hustings_algorithms::runs`].
    pub runs: bool,
    /// The seed of everything random.
    pub seed: u64,
    /// The last tick that is simulated.
    pub until: u64,
    /// The number of threads; the result does not depend on it.
    pub threads: usize,
    /// The maximum memory of this process, in bytes, where the system tells how much that is. A run that needs more
    /// ends.
    pub max_memory: Option<u64>,
}

impl Scenario {
    /// An election on this network with positions as ids, without initiators and faults.
    pub fn new(network: Network) -> Self {
        let size = network.members();
        Scenario {
            network,
            ids: (0..u64::from(size)).collect(),
            values: None,
            votes: Vec::new(),
            cheats: Vec::new(),
            best: Best::Max,
            starts: Vec::new(),
            faults: Vec::new(),
            interventions: Vec::new(),
            delay: Delay::Unit,
            unordered: false,
            loss: 0.0,
            duplicate: 0.0,
            bandwidth: None,
            medium: Medium::Links,
            notice: Notice::Oracle,
            runs: false,
            seed: 0,
            until: default_until(size),
            threads: 1,
            max_memory: None,
        }
    }

    /// The same with every position starting at tick 0.
    pub fn started_by_all(mut self) -> Self {
        self.starts = (0..self.network.members()).map(|at| Start { at, tick: 0 }).collect();
        self
    }
}

impl Scenario {
    /// Whether a message may be delivered twice.
    pub(crate) fn may_duplicate(&self) -> bool {
        let duplicates = |action: &Action| matches!(action, Action::Message(_, MessageChange::Duplicate));
        self.duplicate > 0.0 || self.interventions.iter().any(|one| duplicates(&one.action))
    }
}

/// The default of the last tick.
pub(crate) fn default_until(size: u32) -> u64 {
    100 * u64::from(size) + 10_000
}

/// A start signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// The position.
    pub at: u32,
    /// When.
    pub tick: u64,
}

/// A fault or repair at a tick.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// When.
    pub tick: u64,
    /// What.
    pub what: FaultKind,
}

/// A fault or repair of a node or link.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The node stops. At tick 0: it is down from the start.
    Crash(u32),
    /// The node comes back with fresh state.
    Recover(u32),
    /// A new process enters here; before that the position is down.
    Join(u32),
    /// The node leaves in good order: it may send messages, then it is down.
    Retire(u32),
    /// The link between two neighbours is cut.
    Cut(u32, u32),
    /// The link between two neighbours works again.
    Heal(u32, u32),
    /// All cut links and partitions are repaired.
    HealAll,
    /// Only messages between positions with the same number get through.
    Partition(Vec<u32>),
}

/// Something that is done by hand at a point of a run. The records before that point are those of the run without it.
///
/// It comes from [`Field::Interventions`](crate::simulate::Field::Interventions).
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Intervention {
    /// It is done as soon as the trace has this many records, in the same tick as the last of them.
    pub(crate) after: u64,
    /// What is done.
    pub(crate) action: Action,
}

/// What can be done by hand.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) enum Action {
    /// A fault or repair, at once. Nodes crash and recover; they neither join nor retire.
    Fault(FaultKind),
    /// A node gets a start signal.
    Start(u32),
    /// A message in flight is changed.
    Message(MessageRef, MessageChange),
}

/// A message, by the record that sent it.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub(crate) struct MessageRef {
    /// The number of the record.
    pub(crate) record: u64,
    /// Its number among the messages of that record, as in [`Record::nth`](hustings_protocol::Record::nth).
    pub(crate) nth: u32,
    /// Whether its second delivery is meant.
    pub(crate) copy: bool,
}

/// What happens to a message in flight.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum MessageChange {
    /// It is lost, and its sender is not notified.
    Drop,
    /// It arrives this many ticks later. On links that keep order, so do the messages behind it.
    Delay(u64),
    /// It arrives twice.
    Duplicate,
    /// It arrives now. On links that keep order, it must be the first of its link.
    DeliverNow,
}

/// How long a message travels; random delays are rounded up to whole ticks, at least 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Delay {
    /// One tick.
    Unit,
    /// Uniformly distributed from the first to the second.
    Uniform(u64, u64),
    /// Exponentially distributed with this mean.
    Exponential(f64),
    /// Pareto distributed: heavy-tailed.
    Pareto {
        /// The minimum delay.
        min: f64,
        /// How fast the tail falls.
        shape: f64,
    },
}

impl Delay {
    /// The maximum delay, if there is one.
    pub(crate) const fn longest(self) -> Option<u64> {
        match self {
            Delay::Unit => Some(1),
            Delay::Uniform(_, longest) => Some(longest),
            Delay::Exponential(_) | Delay::Pareto { .. } => None,
        }
    }
}

/// What a send to all neighbours costs.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub enum Medium {
    /// A message for each link.
    #[default]
    Links,
    /// One message, which all neighbours receive.
    Broadcast,
}

/// How nodes notice that the leader is dead.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// The initiators simply start.
    #[default]
    Oracle,
    /// Each node polls the leader at this interval, in ticks.
    Poll(u64),
    /// The leader sends heartbeats to all nodes at this interval, in ticks.
    Heartbeat(u64),
    /// A leader's term lasts this number of ticks.
    Term(u64),
}
