//! Why no scenario can be built from a specification ([`SpecError`]), and what is odd about one that can ([`Warning`]).

use std::fmt;

use hustings_algorithms::{ParamConflict, ParamError};

use super::{Field, FieldRef};
use crate::parse::ParseError;
use crate::topology::BuildError;

/// A specification from which no scenario can be built; nothing was run.
///
/// Its text names fields of [`ElectionSpec`](super::ElectionSpec); [`SpecError::describe`] names them differently.
#[derive(Debug)]
pub struct SpecError {
    /// The field at fault, where one is.
    pub field: Option<Box<FieldRef>>,
    /// What is wrong with it.
    pub problem: SpecProblem,
}

/// What is wrong with a specification.
#[derive(Debug, thiserror::Error)]
pub enum SpecProblem {
    /// Two fields disagree on the number of nodes.
    #[error("this means {size} nodes, but {other} says {other_size}")]
    SizeMismatch {
        /// The number of nodes that the field means.
        size: u64,
        /// The field that disagrees.
        other: Box<FieldRef>,
        /// The number of nodes that it means.
        other_size: u64,
    },
    /// More nodes than can be simulated.
    #[error("this means {size} nodes; at most {max} are allowed")]
    TooManyNodes {
        /// The number of nodes that the field means.
        size: u64,
        /// The maximum.
        max: u64,
    },
    /// Two nodes with the same id.
    #[error("positions {first} and {second} both have the id {id}; all ids must be different")]
    DuplicateId {
        /// The id.
        id: u64,
        /// One of the positions.
        first: usize,
        /// The other one.
        second: usize,
    },
    /// A file that cannot be read.
    #[error("cannot read `{path}`: {error}")]
    Unreadable {
        /// The file.
        path: String,
        /// Why it cannot be read.
        error: std::io::Error,
    },
    /// A file whose contents are not what the field takes.
    #[error("in `{path}`: {error}")]
    Contents {
        /// The file.
        path: String,
        /// What is wrong with its contents.
        error: Box<ParseError>,
    },
    /// A file that is too long.
    #[error("`{path}` is longer than {max} bytes")]
    TooLong {
        /// The file.
        path: String,
        /// The maximum length.
        max: u64,
    },
    /// A position that does not exist.
    #[error("there is no position {at}; allowed: 0 to {last}")]
    NoSuchPosition {
        /// The position.
        at: u32,
        /// The last one that exists.
        last: u32,
    },
    /// A topology that the algorithm does not run on.
    #[error("{algorithm} runs on {needs}")]
    WrongTopology {
        /// The algorithm.
        algorithm: &'static str,
        /// What it runs on.
        needs: &'static str,
        /// A topology that it runs on.
        suitable: &'static str,
    },
    /// A topology that cannot be built.
    #[error("{0}")]
    Topology(Box<BuildError>),
    /// A link that does not exist.
    #[error("positions {from} and {to} are not linked; allowed: neighbours, such as {nearest}")]
    NoLink {
        /// One end.
        from: u32,
        /// The other end.
        to: u32,
        /// A link that exists.
        nearest: String,
    },
    /// A change of a node that is not in the right state for it.
    #[error("position {at} is {state} then; allowed: a node that is {wanted}")]
    WrongNodeState {
        /// The node.
        at: u32,
        /// Its state.
        state: &'static str,
        /// The state in which the change is allowed.
        wanted: &'static str,
    },
    /// Two changes of one node in the same tick.
    #[error("position {at} has another change at tick {tick} already; allowed: one change per node and tick")]
    TwoChanges {
        /// The node.
        at: u32,
        /// The tick.
        tick: u64,
    },
    /// A link that is cut twice, or repaired although it is whole.
    #[error("the link is {state} then; allowed: a link that is {wanted}")]
    WrongLinkState {
        /// Its state.
        state: &'static str,
        /// The state in which the change is allowed.
        wanted: &'static str,
    },
    /// A partition with only one group.
    #[error("all positions are in one group; allowed: two groups or more")]
    OneGroup,
    /// An intervention before one that is listed earlier.
    #[error("an earlier one comes after record {after}; allowed: interventions in the order of the trace")]
    Unsorted {
        /// The point of the earlier one.
        after: u64,
    },
    /// Too many interventions.
    #[error("{count} interventions are too many; at most {max} are allowed")]
    TooManyInterventions {
        /// How many there are.
        count: usize,
        /// The maximum.
        max: usize,
    },
    /// Something that would happen after the last tick.
    #[error("the last tick is {until}; allowed: ticks 0 to {until}")]
    AfterEnd {
        /// When it would happen.
        tick: u64,
        /// The last tick.
        until: u64,
    },
    /// More random initiators than nodes.
    #[error("only {live} nodes are up at tick 0; allowed: random:1 to random:{live}")]
    TooManyInitiators {
        /// The number of nodes that can start.
        live: u32,
    },
    /// Parameters that are impossible with this number of nodes.
    #[error("{0}")]
    ParamConflict(Box<ParamConflict>),
    /// Fewer nodes than the algorithm needs.
    #[error("{algorithm} takes {min_nodes} nodes or more, and {live} would be up at tick 0")]
    TooFewNodes {
        /// The algorithm.
        algorithm: &'static str,
        /// The minimum.
        min_nodes: u32,
        /// The number of nodes that are up.
        live: u32,
    },
    /// Cheats, with an algorithm that has no rules for them.
    #[error("{algorithm} does not define cheating; allowed: only with algorithms that do")]
    NoCheats {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// Votes, with an algorithm that takes none.
    #[error("{algorithm} takes no votes; allowed: only with algorithms that do")]
    NoVotes {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// Ranks, with an algorithm whose nodes are anonymous.
    #[error("nodes of {algorithm} are anonymous and compare nothing; allowed: only with algorithms that compare nodes")]
    Anonymous {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// A way of noticing a dead leader, with an algorithm that holds one election only.
    #[error("{algorithm} holds one election only, so nothing watches its leader; allowed: oracle")]
    OneElection {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// Too many faults and repairs.
    #[error("{count} faults and repairs are too many; at most {max} are allowed")]
    TooManyFaults {
        /// How many there are.
        count: usize,
        /// The maximum.
        max: usize,
    },
    /// A parameter that the algorithm rejects.
    #[error("{error}")]
    Param {
        /// Why.
        error: Box<ParamError>,
        /// The closest name or value that the algorithm accepts.
        nearest: Option<String>,
    },
    /// A parameter without a value.
    #[error("this lacks `=`; allowed: name=value")]
    ParamForm,
    /// A parameter with two values.
    #[error("this parameter is given twice; allowed: once")]
    DuplicateParam,
}

impl SpecProblem {
    /// The error about a field.
    pub(super) fn of(self, field: impl Into<FieldRef>) -> SpecError {
        SpecError { field: Some(Box::new(field.into())), problem: self }
    }
}

impl From<SpecProblem> for SpecError {
    fn from(problem: SpecProblem) -> Self {
        SpecError { field: None, problem }
    }
}

impl From<ParamConflict> for SpecError {
    fn from(conflict: ParamConflict) -> Self {
        SpecProblem::ParamConflict(Box::new(conflict)).into()
    }
}

impl fmt::Display for SpecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.describe(FieldRef::to_string))
    }
}

impl std::error::Error for SpecError {}

impl SpecError {
    /// The text of the error, with fields named by `name`.
    pub fn describe(&self, name: impl Fn(&FieldRef) -> String) -> String {
        match (&self.field, &self.problem) {
            (Some(field), SpecProblem::SizeMismatch { size, other, other_size }) => {
                format!("{} means {size} nodes, but {} says {other_size}", name(field), name(other))
            }
            (Some(field), SpecProblem::TooManyNodes { size, max }) => {
                format!("{} means {size} nodes; at most {max} are allowed", name(field))
            }
            (Some(field), problem) => format!("{}: {problem}", name(field)),
            (None, problem) => problem.to_string(),
        }
    }
}

/// Something that is allowed but probably not intended.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
pub enum Warning {
    /// Messages may overtake each other, and the algorithm needs FIFO links.
    #[error("{algorithm} needs links that keep the order of messages; it may elect wrongly or never end")]
    NeedsFifo {
        /// The algorithm.
        algorithm: &'static str,
    },
    /// Messages may take longer than the algorithm's timeouts allow.
    #[error(
        "{algorithm} counts on messages that travel for {bound} tick{} at most, and here {}; it may elect wrongly",
        if *bound == 1 { "" } else { "s" },
        longest.map_or_else(|| "there is no bound".to_string(), |longest| format!("some take {longest}"))
    )]
    DelayAboveBound {
        /// The algorithm.
        algorithm: &'static str,
        /// The number of ticks that it allows.
        bound: u64,
        /// The longest delay, if there is a bound.
        longest: Option<u64>,
    },
    /// Messages may be lost in runs, which need links that deliver.
    #[error(
        "runs repair crashes, recoveries and cuts, but not lost messages: nothing is promised, not even one leader"
    )]
    LossInRuns,
    /// A start signal for a node that is down.
    #[error("position {at} is down at tick {tick}, so its start signal does nothing")]
    InitiatorDown {
        /// The node.
        at: u32,
        /// The tick.
        tick: u64,
    },
}

impl Warning {
    /// The field that the warning is about.
    pub const fn field(&self) -> Field {
        match self {
            Warning::NeedsFifo { .. } => Field::Unordered,
            Warning::DelayAboveBound { .. } => Field::Delay,
            Warning::LossInRuns => Field::Loss,
            Warning::InitiatorDown { .. } => Field::Initiators,
        }
    }
}
