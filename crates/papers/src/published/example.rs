//! Worked examples in the file format of a paper.

use serde::Deserialize;

use super::model::Filter;

/// A worked example: a run, message by message.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Example {
    /// The experiment, unless it is that of the item.
    pub experiment: Option<String>,
    /// The run of the experiment.
    #[serde(default, rename = "where")]
    pub filter: Filter,
    /// The steps of the paper.
    #[serde(default, rename = "step")]
    pub steps: Vec<Step>,
    /// Whether the steps contain all messages.
    #[serde(default)]
    pub whole: bool,
    /// A picture of the network with its messages, in addition to the diagram of the run.
    pub picture: Option<PictureSpec>,
}

/// A picture of a network with its messages, numbered as in the paper.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PictureSpec {
    /// How the network is drawn.
    pub shape: Shape,
    /// What the numbers are.
    #[serde(default)]
    pub numbers: Numbering,
    /// Kinds of messages and the letters after their numbers; by default the first of the kind. Within a tick, steps
    /// are numbered in this order of kinds.
    #[serde(default)]
    pub letters: Vec<(String, String)>,
}

/// How a network is drawn.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Shape {
    /// A ring.
    Ring,
    /// A ring with the rings above it.
    Sun,
    /// A ring with an informer in the middle.
    Informer,
    /// A sun with an informer in the middle.
    SunInformer,
    /// Lines between all nodes.
    Complete,
}

impl Shape {
    /// Whether the nodes are linked in a ring.
    pub(crate) const fn has_ring(self) -> bool {
        !matches!(self, Shape::Complete)
    }
}

/// What the numbers of messages are.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Numbering {
    /// The tick in which a message is sent, from 1 on.
    #[default]
    Ticks,
    /// The step: each kind of message in a tick is one.
    Steps,
}

/// One step of an example.
#[derive(Clone, PartialEq, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Step {
    /// The place in the paper.
    pub place: String,
    /// A short description.
    pub says: String,
    /// The tick of the simulation.
    pub tick: u64,
    /// The messages: `FROM KIND TO…` or `FROM KIND(PAYLOAD) TO…`, by id (by position in anonymous networks).
    pub sends: Vec<String>,
}
