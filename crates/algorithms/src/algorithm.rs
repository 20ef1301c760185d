//! The [`Algorithm`] trait, and the types that describe an algorithm.

use alloc::string::String;
use alloc::vec::Vec;

use hustings_protocol::{Id, Protocol, Rank};
use serde::{Deserialize, Serialize};

use crate::{CheckCase, Cost, CostDelays, Instance, Params};

/// An algorithm: its description, its parameters, and its protocol for any type of rank.
///
/// Implement this for a unit struct. The simulator, the checker and the cluster take everything else from it.
pub trait Algorithm: 'static {
    /// Its parameters, with their defaults.
    type Params: Params;
    /// The state machine, for any type of rank.
    type Protocol<R: Rank>: Protocol<Rank = R>;

    /// The description.
    const ABOUT: About;

    /// Creates the state machine for one election.
    fn protocol<R: Rank>(params: &Self::Params, setting: &Setting<'_, R>) -> Self::Protocol<R>;

    /// Rejects parameters that are impossible with this number of members.
    fn check(params: &Self::Params, size: u32) -> Result<(), ParamConflict> {
        let _ = (params, size);
        Ok(())
    }

    /// The maximum delay of a message, in ticks, that the algorithm relies on, without a bandwidth limit; `None` if it
    /// relies on no bound. If messages take longer, it may elect a wrong leader.
    fn delay_bound(params: &Self::Params) -> Option<u64> {
        let _ = params;
        None
    }

    /// The highest level of a member's position among `size` members, from 1, for pictures: hierarchies have inner
    /// rings or points, which are drawn inside the level below.
    fn level(params: &Self::Params, size: u32, at: u32) -> u32 {
        let _ = (params, size, at);
        1
    }

    /// The number of messages of each kind that an election takes with FIFO links, delays of one tick and no faults, in
    /// the order of the message kinds; `None` if there is no formula.
    fn expect(params: &Self::Params, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let _ = (params, instance);
        None
    }
}

/// The facts about an election that a protocol may use in addition to its parameters. All of them are known before the
/// election begins; none of them says which nodes are up.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a, R> {
    /// The rank of each member, by its index.
    pub ranks: &'a [R],
    /// The maximum number of messages that the whole network delivers per tick.
    pub bandwidth: Option<u64>,
    /// Pairs of a voter and its choice, by index. Members that are not listed vote as the algorithm specifies.
    pub votes: &'a [(u32, u32)],
    /// Members that cheat, by index, and how.
    pub cheats: &'a [(u32, Cheat)],
}

impl<'a, R> Setting<'a, R> {
    /// An election among members with these ranks, without bandwidth limit, votes and cheats.
    pub const fn of(ranks: &'a [R]) -> Self {
        Setting { ranks, bandwidth: None, votes: &[], cheats: &[] }
    }

    /// The maximum delay of a message on this network if it is `unhindered` without a bandwidth limit. With a limit, it
    /// may have to wait for a message of every node to every other.
    pub fn travel(&self, unhindered: u64) -> u64 {
        let size = self.ranks.len() as u64;
        let queueing = self.bandwidth.map_or(0, |max| (size * size).div_ceil(max.max(1)));
        unhindered.saturating_add(queueing)
    }
}

/// How a member may cheat.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cheat {
    /// It reports a rank that it does not have.
    Rank,
    /// It acknowledges before the nodes behind it have.
    Ack,
}

/// A parameter that is impossible with this number of members.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("parameter `{name}` cannot be `{value}` with {size} nodes: {problem}")]
pub struct ParamConflict {
    /// Which parameter.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// The number of members.
    pub size: u32,
    /// What is wrong, and what is allowed.
    pub problem: String,
    /// The closest value that is possible, as it would be typed.
    pub instead: Option<String>,
}

/// The description of an algorithm. Start from [`About::on`], which has the usual values, and set what differs.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name on the command line.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub summary: &'static str,
    /// The heading under which lists show it; in this crate also its folder.
    pub family: Family,
    /// The networks it runs on.
    pub network: NetworkKind,
    /// On rings: whether nodes also send to members that are not their neighbours, by their index. The
    /// simulator then uses another fast engine; if this is wrong, it falls back to the general one.
    pub sends_by_map: bool,
    /// What it requires of the network and the nodes.
    pub assumptions: Assumptions,
    /// Whether it always terminates, and always with the right result.
    pub certainty: Certainty,
    /// The default initiators.
    pub initiators: Initiators,
    /// The default ids.
    pub default_ids: DefaultIds,
    /// Whether a later start, after the leader is lost, holds another election.
    pub repeats: bool,
    /// Its result.
    pub goal: Goal,
    /// The node that wins if no node fails.
    pub winner: Winner,
    /// The minimum number of nodes.
    pub min_nodes: u32,
    /// For algorithms that take more than a few laps: the number of ticks, by number of nodes, that is added to the
    /// default of `--until`.
    pub extra_ticks: Option<fn(u64) -> u64>,
    /// The faults that it tolerates by itself. A test over the catalogue verifies them.
    pub tolerates: Tolerates,
    /// The inputs that it takes in addition to ids and start signals.
    pub inputs: Inputs,
    /// Its message complexity.
    pub costs: &'static [Cost],
    /// The delays under which the costs are claimed. The checker does not compare executions with other delays.
    pub cost_delays: CostDelays,
    /// What `hustings check --all` explores. `hustings check NAME` takes size, topology and parameters from the first
    /// case where the command line names none of them. If the list is empty, there is one quick case with three nodes,
    /// or `min_nodes` if that is more.
    pub checks: &'static [CheckCase],
    /// Whether on FIFO links without faults the number of messages depends only on the ids and on which nodes start
    /// before a message reaches them, not on delays. [`Algorithm::expect`] then gives the maximum over all executions,
    /// and the checker compares it with theirs.
    pub counts_depend_on_starters: bool,
    /// Whether a candidate that passes on the candidacy of a greater one gives up its own: see [`Protocol::candidacy`].
    pub withdraws: bool,
    /// Parameters that a cluster uses if its configuration gives none, as they would be typed.
    pub cluster_params: &'static [&'static str],
    /// The maximum size of a node's state in bytes, with plain ids as ranks. A test verifies it, because large states
    /// make the simulator slow.
    pub max_state_bytes: usize,
    /// Whether the simulator's fast engine is compiled for it alone, which makes large elections several times as fast,
    /// and the program larger and slower to build. The others share one copy. The results are the same.
    pub has_own_engine: bool,
    /// The publication.
    pub source: Source,
}

/// The result of an algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// A leader that all nodes name.
    Leader,
    /// An estimate of the number of nodes.
    Estimate,
}

/// The node that wins if no node fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Winner {
    /// The greatest of all.
    Greatest,
    /// The greatest of the nodes that start before a message reaches them.
    GreatestInitiator,
    /// The greatest of all, after others have led groups that merged.
    GreatestInTheEnd,
    /// The node with the most votes; the greatest of them in a tie. See [`crate::graph::Preference`].
    MostVotes,
    /// Any node: random numbers decide.
    Anyone,
}

/// The faults that an algorithm tolerates by itself: after the last fault (and, if it needs them, timeouts or a start
/// signal for nodes whose leader is lost) each connected part has exactly one leader, and all its nodes name it. This
/// refers to delays of one tick; with varying delays, use the checker.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Tolerates {
    /// Nodes that are down from the start.
    pub down: bool,
    /// Nodes that stop during the election.
    pub crashes: bool,
    /// Nodes that come back with fresh state.
    pub recoveries: bool,
    /// Links and parts of the network that are cut off and joined again.
    pub partitions: bool,
    /// Messages that are lost by chance.
    pub loss: bool,
    /// The parameters that it needs for that, as they would be typed.
    pub with: &'static [&'static str],
}

impl Tolerates {
    /// Every node must be up and stay up.
    pub const NOTHING: Tolerates =
        Tolerates { down: false, crashes: false, recoveries: false, partitions: false, loss: false, with: &[] };

    /// Nodes may be down from the start; the others must stay up.
    pub const DOWN: Tolerates = Tolerates { down: true, ..Tolerates::NOTHING };
}

/// Inputs of an algorithm in addition to ids and start signals.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Inputs {
    /// Whether nodes vote.
    pub votes: bool,
    /// Whether nodes can be made to cheat.
    pub cheats: bool,
}

impl Inputs {
    /// No other inputs.
    pub const NOTHING: Inputs = Inputs { votes: false, cheats: false };
}

/// Families of algorithms: a folder each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// On a plain ring.
    Ring,
    /// On a ring with levels or divisions.
    Hierarchy,
    /// On a complete network.
    Complete,
    /// On any connected graph.
    Graph,
    /// Without ids.
    Anonymous,
}

/// The networks that an algorithm runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkKind {
    /// A ring.
    Ring,
    /// A ring, and an informer outside it (at the position after the last) that members reach by its index.
    InformedRing,
    /// A complete network.
    Complete,
    /// A connected graph.
    Graph,
    /// A graph without cycles.
    Tree,
}

/// What an algorithm requires of the network and the nodes.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assumptions {
    /// The direction of messages.
    pub direction: Direction,
    /// Whether links must keep the order of messages.
    pub fifo: bool,
    /// Whether nodes have ids.
    pub identity: Identity,
    /// Whether there must be a bound on delays.
    pub synchrony: Synchrony,
    /// What nodes know in advance.
    pub knows: Knowledge,
}

/// What nodes know in advance.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// At most their neighbours.
    Neighbours,
    /// The number of nodes.
    Size,
    /// The ranks of all members, but not which of them are up.
    Members,
}

/// The direction of messages.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Direction {
    /// Clockwise only.
    Directed,
    /// Both ways.
    TwoWay,
}

/// Whether nodes have ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Identity {
    /// Every node has an id of its own.
    Unique,
    /// Nodes have no ids.
    Anonymous,
}

/// Whether there must be a bound on delays.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Synchrony {
    /// Correct with any delays.
    Asynchronous,
    /// Correct while delays stay within a known bound.
    Synchronous,
}

/// Whether an algorithm always terminates, and always with the right result.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// It terminates, and the result is right.
    Always,
    /// The result is right; it terminates with probability 1.
    LasVegas,
    /// It terminates; the result is right with high probability.
    MonteCarlo,
}

/// The default initiators.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Initiators {
    /// Every live node.
    All,
    /// The lowest live position.
    LowestLive,
}

/// The default ids.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum DefaultIds {
    /// The position.
    Positions,
    /// The position plus 1, as the texts on complete networks number their processes.
    PositionsFromOne,
}

impl DefaultIds {
    /// The id of this position.
    pub const fn at(self, position: u32) -> Id {
        match self {
            DefaultIds::Positions => Id(position as u64),
            DefaultIds::PositionsFromOne => Id(position as u64 + 1),
        }
    }
}

/// The publication of an algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// The authors and the year.
    pub authors: &'static str,
    /// The title.
    pub title: &'static str,
    /// The one of the five papers that describes it, or that none does.
    pub text: &'static str,
}
