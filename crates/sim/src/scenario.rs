//! A [`Scenario`]: everything about one election but the algorithm.

use hustings_algorithms::Cheat;
use hustings_protocol::{Best, Value};
use serde::{Deserialize, Serialize};

use crate::topology::Network;

/// One election, as the engines take it: checked, built, ready to run.
#[derive(Clone, PartialEq, Debug)]
pub struct Scenario {
    /// Who is linked to whom.
    pub network: Network,
    /// The id of each member; all different.
    pub ids: Vec<u64>,
    /// What is compared before the ids.
    pub values: Option<Vec<Value>>,
    /// Who votes for whom, by position.
    pub votes: Vec<(u32, u32)>,
    /// Who cheats, and how.
    pub cheats: Vec<(u32, Cheat)>,
    /// Which end of the order wins.
    pub best: Best,
    /// Positions and the ticks of their start signals; ascending by tick, then position.
    pub starts: Vec<Start>,
    /// What happens to nodes and links; ascending by tick.
    pub faults: Vec<Fault>,
    /// How long messages travel.
    pub delay: Delay,
    /// Whether a message may overtake another on the same link.
    pub unordered: bool,
    /// The probability that a message is lost.
    pub loss: f64,
    /// The probability that a message is delivered twice.
    pub duplicate: f64,
    /// The most messages that are delivered per tick in the whole network.
    pub bandwidth: Option<u64>,
    /// What a send to all neighbours costs.
    pub medium: Medium,
    /// How a dead leader is noticed.
    pub notice: Notice,
    /// Whether the algorithm runs in views of those who reach each other: [`hustings_algorithms::runs`].
    pub runs: bool,
    /// Decides everything random.
    pub seed: u64,
    /// The last tick that is simulated.
    pub until: u64,
    /// How many threads may work on it; the result is the same for any number.
    pub threads: usize,
}

impl Scenario {
    /// An election on this network with positions as ids, nobody starting, nothing going wrong.
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
        }
    }

    /// The same with every position starting at tick 0.
    pub fn started_by_all(mut self) -> Self {
        self.starts = (0..self.network.members()).map(|at| Start { at, tick: 0 }).collect();
        self
    }
}

/// The last tick that is simulated unless somebody says otherwise.
pub fn default_until(size: u32) -> u64 {
    100 * u64::from(size) + 10_000
}

/// A start signal.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Start {
    /// Where.
    pub at: u32,
    /// When.
    pub tick: u64,
}

/// Something that happens to the network at a tick.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Fault {
    /// When.
    pub tick: u64,
    /// What.
    pub what: FaultKind,
}

/// What can happen to nodes and links.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum FaultKind {
    /// The node stops. At tick 0: it is down from the start.
    Crash(u32),
    /// The node comes back with fresh state.
    Recover(u32),
    /// A new process enters here; before that the position is down.
    Join(u32),
    /// The node leaves in good order: it may say good-bye, then it is down.
    Retire(u32),
    /// The link between two neighbours is cut.
    Cut(u32, u32),
    /// The link between two neighbours works again.
    Heal(u32, u32),
    /// Every cut link and every partition is mended.
    HealAll,
    /// Only messages between positions with the same number get through.
    Partition(Vec<u32>),
}

/// How long a message travels; random delays are rounded up to whole ticks, at least 1.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Delay {
    /// One tick.
    Unit,
    /// Evenly from the first to the second.
    Uniform(u64, u64),
    /// Exponentially distributed with this mean.
    Exponential(f64),
    /// Pareto distributed: heavy-tailed.
    Pareto {
        /// The least delay.
        min: f64,
        /// How fast the tail falls.
        shape: f64,
    },
}

impl Delay {
    /// The longest that a message may travel, if there is a bound.
    pub const fn longest(self) -> Option<u64> {
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
    /// One message: everybody in reach hears it.
    Broadcast,
}

/// How a dead leader is noticed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// The initiators simply start.
    #[default]
    Oracle,
    /// Every so many ticks each node asks its leader, which answers.
    Poll(u64),
    /// Every so many ticks the leader tells everybody that it lives.
    Heartbeat(u64),
    /// A leader's term lasts so many ticks.
    Term(u64),
}
