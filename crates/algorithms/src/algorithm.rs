//! What the catalogue knows of an algorithm: the [`Algorithm`] trait and the vocabulary of its description.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use hustings_protocol::{Id, Protocol, Rank};
use serde::{Deserialize, Serialize};

use crate::{CheckCase, Instance, Params};

/// An algorithm, as a type: its description, its parameters, and the protocol it becomes for a type of rank.
pub trait Algorithm: 'static {
    /// Its parameters, with their defaults.
    type Params: Params;
    /// The state machine, for any rank.
    type Protocol<R: Rank>: Protocol<Rank = R>;

    /// The description.
    const ABOUT: About;

    /// The state machine with these parameters, for such an election.
    fn protocol<R: Rank>(params: &Self::Params, setting: &Setting<'_, R>) -> Self::Protocol<R>;

    /// Fails if these parameters make no sense among so many members.
    fn check(params: &Self::Params, size: u32) -> Result<(), ParamConflict> {
        let _ = (params, size);
        Ok(())
    }

    /// For how many ticks it trusts a message to travel at most, if nothing holds it up; `None` if it trusts nothing.
    /// Where messages take longer, it may elect wrongly.
    fn delay_bound(params: &Self::Params) -> Option<u64> {
        let _ = params;
        None
    }

    /// How many messages of each kind this very election takes (links FIFO, delays of one tick, no faults), where that
    /// can be told without running it. In the order of the message kinds.
    fn expect(params: &Self::Params, instance: &Instance<'_>) -> Option<Vec<u64>> {
        let _ = (params, instance);
        None
    }
}

/// What a protocol may take from the election it is made for, beside its parameters. All of it is known before the
/// election begins; none of it says who is up.
#[derive(Clone, Copy, Debug)]
pub struct Setting<'a, R> {
    /// The rank of each member, by its place on the map.
    pub ranks: &'a [R],
    /// The most messages that the whole network delivers per tick.
    pub bandwidth: Option<u64>,
    /// Who votes for whom, by place; those who are not listed vote as the algorithm says.
    pub votes: &'a [(u32, u32)],
    /// Who cheats, and how, by place.
    pub cheats: &'a [(u32, Cheat)],
}

impl<'a, R> Setting<'a, R> {
    /// An election among these, with nothing else to say about it.
    pub const fn of(ranks: &'a [R]) -> Self {
        Setting { ranks, bandwidth: None, votes: &[], cheats: &[] }
    }

    /// How many ticks a message may take on this network, if it takes so many where nothing holds it up: with a
    /// bandwidth B, everybody's message to everybody may be before it.
    pub fn travel(&self, unhindered: u64) -> u64 {
        let size = self.ranks.len() as u64;
        let held_up = self.bandwidth.map_or(0, |most| (size * size).div_ceil(most.max(1)));
        unhindered.saturating_add(held_up)
    }
}

/// How a member may cheat.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Cheat {
    /// It reports a rank that it does not have.
    Rank,
    /// It acknowledges before those behind it have.
    Ack,
}

/// A parameter that makes no sense among so many members.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("parameter `{name}` cannot be `{value}` with {size} nodes: {problem}")]
pub struct ParamConflict {
    /// Which parameter.
    pub name: &'static str,
    /// Its value.
    pub value: String,
    /// How many members there are.
    pub size: u32,
    /// What is wrong, and what is allowed.
    pub problem: String,
    /// What to type instead, where something near would fit.
    pub instead: Option<String>,
}

/// The description of an algorithm. [`About::on`] fills in what is usual, so that an algorithm names what is special.
#[derive(Clone, Copy, Debug)]
pub struct About {
    /// The name on the command line.
    pub name: &'static str,
    /// Other names for it.
    pub aliases: &'static [&'static str],
    /// One sentence.
    pub summary: &'static str,
    /// Under which heading lists show it; in this crate also its folder.
    pub family: Family,
    /// What it runs on.
    pub network: NetworkKind,
    /// On rings: whether nodes also send to members that are not their neighbours, by their place on the map. The
    /// simulator then uses another fast engine; if this is wrong, it falls back to the general one.
    pub sends_by_map: bool,
    /// What must hold for it to be right.
    pub assumptions: Assumptions,
    /// How sure its answer is.
    pub certainty: Certainty,
    /// Who starts when nobody is named.
    pub initiators: Initiators,
    /// Which ids nodes have when none are given.
    pub default_ids: DefaultIds,
    /// Whether a later start, after the leader is lost, holds another election.
    pub repeats: bool,
    /// What comes of it.
    pub goal: Goal,
    /// Who wins where nobody fails.
    pub winner: Winner,
    /// How few nodes it takes.
    pub min_nodes: u32,
    /// How many ticks it may take among so many nodes where a message takes one, if that is more than a few laps: a
    /// run is given so much more time.
    pub extra_ticks: Option<fn(u64) -> u64>,
    /// What it is claimed to survive by itself; a test holds it to that.
    pub tolerates: Tolerates,
    /// Which inputs it takes beside ids and starts.
    pub inputs: Inputs,
    /// What it costs.
    pub costs: &'static [Cost],
    /// What `hustings check --all` explores. `hustings check NAME` takes size, topology and parameters from the first
    /// case where the command line names none of them. If the list is empty, there is one quick case with three nodes,
    /// or `min_nodes` if that is more.
    pub checks: &'static [CheckCase],
    /// The parameters that it has in a cluster whose configuration gives none, as they would be typed; the others have
    /// their defaults.
    pub cluster_params: &'static [&'static str],
    /// No node's state takes more bytes, with plain ids as ranks. A test checks it, because large states make the
    /// simulator slow.
    pub max_state_bytes: usize,
    /// Whether the simulator's fast engine is compiled for it alone, which makes large elections several times as fast,
    /// and the program larger and slower to build. The others share one copy. The results are the same.
    pub has_own_engine: bool,
    /// Where it comes from.
    pub source: Source,
}

/// What comes of an algorithm.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Goal {
    /// A leader that everybody names.
    Leader,
    /// An estimate of how many nodes there are.
    Estimate,
}

/// Who wins where nobody fails.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Winner {
    /// The greatest of all.
    Greatest,
    /// The greatest of those who start before they are drawn in.
    GreatestInitiator,
    /// The greatest of all, after others have led groups that merged.
    GreatestInTheEnd,
    /// Whoever has most votes; of those who have as many, the greatest. See [`crate::graph::Preference`].
    MostVotes,
    /// Whoever the coins choose.
    Anyone,
}

/// What an algorithm survives by itself: after the last fault (and, where it needs them, time-outs or a start signal to
/// those whose leader is gone) there is exactly one leader in each connected part, and everybody there names it.
/// This is about networks in which a message takes one tick; where delays vary, a checker has the last word.
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
    /// Every node must be up, and stay so.
    pub const NOTHING: Tolerates =
        Tolerates { down: false, crashes: false, recoveries: false, partitions: false, loss: false, with: &[] };

    /// Nodes may be down from the start; the others must stay up.
    pub const DOWN: Tolerates = Tolerates { down: true, ..Tolerates::NOTHING };
}

/// Which inputs an algorithm takes beside ids and starts.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Inputs {
    /// Who votes for whom.
    pub votes: bool,
    /// Who cheats.
    pub cheats: bool,
}

impl Inputs {
    /// Nothing more.
    pub const NOTHING: Inputs = Inputs { votes: false, cheats: false };
}

/// Families of algorithms: a folder each.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Family {
    /// On a plain ring.
    Ring,
    /// On a ring with levels or divisions.
    Hierarchy,
    /// Everybody reaches everybody.
    Complete,
    /// On any connected graph.
    Graph,
    /// Without ids.
    Anonymous,
}

/// What an algorithm runs on.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum NetworkKind {
    /// A ring.
    Ring,
    /// A ring, and an informer outside it (at the position after the last) that members reach by the map.
    InformedRing,
    /// A complete network.
    Complete,
    /// A connected graph.
    Graph,
    /// A graph without cycles.
    Tree,
}

/// What must hold for an algorithm to be right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Assumptions {
    /// Which way messages go.
    pub direction: Direction,
    /// Whether links must keep the order of messages.
    pub fifo: bool,
    /// Whether nodes have ids.
    pub identity: Identity,
    /// Whether time-outs must be right.
    pub synchrony: Synchrony,
    /// What nodes know of each other beforehand.
    pub knows: Knowledge,
}

/// What nodes know of each other beforehand.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Knowledge {
    /// Their neighbours at most.
    Neighbours,
    /// How many they are.
    Size,
    /// Everybody's rank; but not who is up.
    Members,
}

/// Which way messages go.
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
    /// Nodes are alike.
    Anonymous,
}

/// Whether time-outs must be right.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Synchrony {
    /// Right whatever the delays.
    Asynchronous,
    /// Right while delays keep a known bound.
    Synchronous,
}

/// How sure the answer is.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Certainty {
    /// It ends, and the answer is right.
    Always,
    /// The answer is right; it ends with probability 1.
    LasVegas,
    /// It ends; the answer is right with high probability.
    MonteCarlo,
}

/// Who starts when nobody is named.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Initiators {
    /// Every live node.
    All,
    /// The lowest live position.
    LowestLive,
}

/// Which ids nodes have when none are given.
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

/// Best, average or worst.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Case {
    /// No input takes less.
    Best,
    /// Over all orders of ids.
    Average,
    /// No input takes more.
    Worst,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Case::Best => "best",
            Case::Average => "average",
            Case::Worst => "worst",
        })
    }
}

/// What an algorithm costs in one case, started by its default initiators; the announcement is included.
#[derive(Clone, Copy, Debug)]
pub struct Cost {
    /// In which case.
    pub case: Case,
    /// As people write it, in messages.
    pub formula: &'static str,
    /// As a function of n, where there is one.
    pub messages: Option<fn(u64) -> f64>,
    /// Whether the function gives the very number; if not, it is a bound.
    pub exact: bool,
}

impl Cost {
    /// A cost that is known to the message.
    pub const fn exactly(case: Case, formula: &'static str, messages: fn(u64) -> f64) -> Self {
        Cost { case, formula, messages: Some(messages), exact: true }
    }

    /// A cost that is known to be no more than that.
    pub const fn at_most(case: Case, formula: &'static str, messages: fn(u64) -> f64) -> Self {
        Cost { case, formula, messages: Some(messages), exact: false }
    }

    /// A cost that people describe, but for which there is no function.
    pub const fn described(case: Case, formula: &'static str) -> Self {
        Cost { case, formula, messages: None, exact: false }
    }

    /// The costs of an algorithm that takes the same whatever the order of ids.
    pub const fn always(formula: &'static str, messages: fn(u64) -> f64) -> [Self; 3] {
        [
            Cost::exactly(Case::Best, formula, messages),
            Cost::exactly(Case::Average, formula, messages),
            Cost::exactly(Case::Worst, formula, messages),
        ]
    }
}

/// `worst: at most n(2⌊log₂ n⌋+3)`, as lists show it.
impl fmt::Display for Cost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bound = if self.messages.is_some() && !self.exact { "at most " } else { "" };
        write!(f, "{}: {bound}{}", self.case, self.formula)
    }
}

/// Where an algorithm comes from.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Source {
    /// Who and when.
    pub authors: &'static str,
    /// Which work.
    pub title: &'static str,
    /// Which of the five texts describes it, or that none does.
    pub text: &'static str,
}
