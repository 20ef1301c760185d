//! Why a request is refused ([`Refusal`]), and what is odd about one that is not ([`Warning`]).

use hustings_algorithms::{ParamConflict, ParamError};

use crate::parse::ParseError;
use crate::topology::{BuildError, FileError};

/// A request that makes no sense; nothing was run.
#[derive(Debug, thiserror::Error)]
pub enum Refusal {
    /// Two options disagree on the number of nodes.
    #[error("{option} means {means} nodes, but {other} says {says}")]
    Sizes {
        /// The option that cannot give way.
        option: String,
        /// What it means.
        means: u64,
        /// The other option.
        other: String,
        /// What that one says.
        says: u64,
    },
    /// More nodes than can be simulated.
    #[error("{option} means {means} nodes; at most {most} are allowed")]
    TooManyNodes {
        /// Which option.
        option: String,
        /// What it means.
        means: u64,
        /// How many there may be.
        most: u64,
    },
    /// Two nodes with one id.
    #[error("{option}: positions {first} and {second} both have the id {id}; all ids must be different")]
    IdTwice {
        /// Which option.
        option: String,
        /// The id.
        id: u64,
        /// One of them.
        first: usize,
        /// The other.
        second: usize,
    },
    /// A file that cannot be read.
    #[error("{option}: cannot read `{path}`: {error}")]
    Unreadable {
        /// Which option.
        option: &'static str,
        /// Which file.
        path: String,
        /// Why not.
        error: std::io::Error,
    },
    /// A file with something else in it.
    #[error("{option}: in `{path}`: {error}")]
    Contents {
        /// Which option.
        option: &'static str,
        /// Which file.
        path: String,
        /// What is wrong.
        error: Box<ParseError>,
    },
    /// A file that is too long to be what it should be.
    #[error("{option}: `{path}` is longer than {most} bytes")]
    TooLong {
        /// Which option.
        option: &'static str,
        /// Which file.
        path: String,
        /// How long it may be.
        most: u64,
    },
    /// A position beyond the last.
    #[error("{option}: there is no position {at}; allowed: 0 to {last}")]
    Beyond {
        /// Which option.
        option: String,
        /// The position.
        at: u32,
        /// The last there is.
        last: u32,
    },
    /// A network that the algorithm does not run on.
    #[error("--topology {shape}: {algorithm} runs on {needs}")]
    ParamConflict {
        /// What was asked for.
        shape: String,
        /// Which algorithm.
        algorithm: &'static str,
        /// What it runs on.
        needs: &'static str,
        /// A topology that fits.
        nearest: &'static str,
    },
    /// A topology that cannot be built.
    #[error("--topology {shape}: {error}")]
    Topology {
        /// Which one.
        shape: String,
        /// Why not.
        error: Box<BuildError>,
    },
    /// A link that is none.
    #[error("{option}: positions {from} and {to} are not linked; allowed: neighbours, such as {nearest}")]
    NoLink {
        /// Which option.
        option: String,
        /// One end.
        from: u32,
        /// The other end.
        to: u32,
        /// A link that is there.
        nearest: String,
    },
    /// Something happens to a node that is not in the state for it.
    #[error("{option}: position {at} is {state} then; allowed: a node that is {wanted}")]
    WrongState {
        /// Which option.
        option: String,
        /// Which node.
        at: u32,
        /// What it is.
        state: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// Two things happen to one node at once.
    #[error("{option}: position {at} has another change at tick {tick} already; allowed: one change per node and tick")]
    AtOnce {
        /// Which option.
        option: String,
        /// Which node.
        at: u32,
        /// When.
        tick: u64,
    },
    /// A link is cut twice, or mended without having been cut.
    #[error("{option}: the link is {state} then; allowed: a link that is {wanted}")]
    WrongLinkState {
        /// Which option.
        option: String,
        /// What it is.
        state: &'static str,
        /// What it should be.
        wanted: &'static str,
    },
    /// A partition of one group.
    #[error("{option}: all positions are in one group; allowed: two groups or more")]
    SplitsNothing {
        /// Which option.
        option: String,
    },
    /// Something would happen after the end.
    #[error("{option}: the last tick is {until}; allowed: ticks 0 to {until}")]
    TooLate {
        /// Which option.
        option: String,
        /// When it would happen.
        tick: u64,
        /// The last tick.
        until: u64,
    },
    /// More random initiators than there are nodes.
    #[error("--initiators random:{asked}: only {live} nodes are up at tick 0; allowed: random:1 to random:{live}")]
    TooManyInitiators {
        /// How many were asked for.
        asked: u32,
        /// How many could start.
        live: u32,
    },
    /// Parameters that make no sense among so many nodes.
    #[error(transparent)]
    Size(#[from] Box<ParamConflict>),
    /// Fewer nodes than the algorithm takes.
    #[error("{algorithm} takes {min_nodes} nodes or more, and {live} would be up at tick 0")]
    TooFew {
        /// Which algorithm.
        algorithm: &'static str,
        /// How few it takes.
        min_nodes: u32,
        /// How many there are.
        live: u32,
    },
    /// Cheats where the algorithm has no rules for them.
    #[error("--cheat: {algorithm} says nothing about members that cheat; allowed: only with algorithms that do")]
    NoCheats {
        /// Which algorithm.
        algorithm: &'static str,
    },
    /// Votes where nobody votes.
    #[error("--votes: in {algorithm} nobody votes; allowed: only with algorithms that take votes")]
    NoVotes {
        /// Which algorithm.
        algorithm: &'static str,
    },
    /// Ranks where nodes are alike.
    #[error("{option}: in {algorithm} nodes are alike and compare nothing; allowed: only with algorithms that do")]
    NothingToCompare {
        /// Which option.
        option: &'static str,
        /// Which algorithm.
        algorithm: &'static str,
    },
    /// Noticing a dead leader where there is one election only.
    #[error(
        "--notice {notice}: {algorithm} holds one election only, so nobody looks after its leader; allowed: oracle"
    )]
    OneElection {
        /// What was asked for.
        notice: String,
        /// Which algorithm.
        algorithm: &'static str,
    },
    /// More faults than anybody types.
    #[error("{count} faults and repairs are too many; at most {most} are allowed")]
    TooManyFaults {
        /// How many there are.
        count: usize,
        /// How many there may be.
        most: usize,
    },
    /// A parameter that the algorithm refuses.
    #[error("-p {text}: {error}")]
    Parameter {
        /// What was typed.
        text: String,
        /// Why not.
        error: Box<ParamError>,
        /// The name or value that comes nearest.
        nearest: Option<String>,
    },
    /// A parameter without a value.
    #[error("-p {text}: this lacks `=`; allowed: name=value")]
    ParameterForm {
        /// What was typed.
        text: String,
    },
    /// A parameter with two values.
    #[error("-p {name}: this parameter is given twice; allowed: once")]
    ParameterTwice {
        /// Its name.
        name: String,
    },
}

impl From<ParamConflict> for Refusal {
    fn from(misfit: ParamConflict) -> Self {
        Refusal::Size(Box::new(misfit))
    }
}

impl Refusal {
    /// What to type instead, where that can be told.
    pub fn help(&self) -> Option<String> {
        match self {
            Refusal::Sizes { means, .. } => Some(format!("leave --nodes out, or say --nodes {means}")),
            Refusal::Beyond { last, .. } => Some(format!("the nearest position is {last}")),
            Refusal::ParamConflict { nearest, .. } => {
                Some(format!("leave --topology out, or say --topology {nearest}"))
            }
            Refusal::Size(misfit) => misfit.instead.as_ref().map(|instead| format!("say {instead}")),
            Refusal::TooLate { tick, .. } => Some(format!("say --until {tick} or more")),
            Refusal::TooManyInitiators { live, .. } if *live > 0 => Some(format!("the nearest is random:{live}")),
            Refusal::OneElection { .. } => Some("leave --notice out".to_string()),
            Refusal::NothingToCompare { option, .. } => Some(format!("leave {option} out")),
            Refusal::NoCheats { .. } => Some("leave --cheat out; `hustings list` shows who takes it".to_string()),
            Refusal::NoVotes { .. } => Some("leave --votes out; --values ranks nodes before their ids".to_string()),
            Refusal::Contents { error, .. } => error.nearest.as_ref().map(|near| format!("the nearest is {near}")),
            Refusal::Parameter { nearest: Some(nearest), .. } => Some(format!("the nearest is `{nearest}`")),
            _ => None,
        }
    }

    /// Whether the fault is in the surroundings (a file that cannot be read), not in what was typed.
    pub fn is_environmental(&self) -> bool {
        match self {
            Refusal::Unreadable { .. } => true,
            Refusal::Topology { error, .. } => matches!(**error, BuildError::File(FileError::Unreadable { .. })),
            _ => false,
        }
    }
}

/// Something that is allowed, but perhaps not meant.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Warning {
    /// Messages may overtake each other, and the algorithm is not made for it.
    #[error("--unordered: {algorithm} needs links that keep the order of messages; it may elect wrongly or never end")]
    NeedsOrder {
        /// Which algorithm.
        algorithm: &'static str,
    },
    /// Messages may take longer than the algorithm's time-outs allow for.
    #[error(
        "--delay: {algorithm} counts on messages that travel for {trusted} tick{} at most, and here {}; \
         it may elect wrongly",
        if *trusted == 1 { "" } else { "s" },
        longest.map_or_else(|| "there is no bound".to_string(), |longest| format!("some take {longest}"))
    )]
    TooSlow {
        /// Which algorithm.
        algorithm: &'static str,
        /// How many ticks it allows for.
        trusted: u64,
        /// How many a message may take, if there is a bound.
        longest: Option<u64>,
    },
    /// A start signal for a node that is down.
    #[error("--initiators: position {at} is down at tick {tick}, so its start signal does nothing")]
    DeadStarter {
        /// Which node.
        at: u32,
        /// When.
        tick: u64,
    },
}
