//! The fields of an [`ElectionSpec`] by name, and how text sets them.
//!
//! A command line and an experiment file both set fields from text ([`ElectionSpec::set`]), and both translate the
//! fields that an error names ([`FieldRef`]) into their own terms: options there, keys here.

use std::fmt;
use std::str::FromStr;

use super::{ElectionSpec, Ids, ParseError, Starts, Values};
use crate::parse::{self, Intervention, LinkFault, NodeFault, Partition, Repair};
use crate::scenario::{Delay, Medium, Notice};
use crate::topology::Topology;

macro_rules! fields {
    ($($variant:ident = $name:literal,)*) => {
        /// A field of an [`ElectionSpec`] or of its [`Faults`](super::Faults), or the algorithm's parameters.
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Field {
            $(#[doc = concat!("`", $name, "`")] $variant,)*
        }

        impl Field {
            /// The name of the field.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Field::$variant => $name,)*
                }
            }
        }
    };
}

fields! {
    Nodes = "nodes",
    Ids = "ids",
    Values = "values",
    Votes = "votes",
    Cheats = "cheats",
    Best = "best",
    Topology = "topology",
    Initiators = "initiators",
    Notice = "notice",
    Runs = "runs",
    Crashes = "crashes",
    Recoveries = "recoveries",
    Joins = "joins",
    Retirements = "retirements",
    Cuts = "cuts",
    Heals = "heals",
    Partitions = "partitions",
    Interventions = "interventions",
    Delay = "delay",
    Unordered = "unordered",
    Loss = "loss",
    Duplicate = "duplicate",
    Bandwidth = "bandwidth",
    Medium = "medium",
    Seed = "seed",
    Until = "until",
    Threads = "threads",
    Params = "params",
}

/// The field, and the entry of it, that an error is about.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FieldRef {
    /// Which field.
    pub field: Field,
    /// Which entry, for fields that are lists.
    pub index: Option<usize>,
    /// The value, as text that [`ElectionSpec::set`] accepts, where one value is at fault.
    pub value: Option<String>,
}

impl FieldRef {
    /// The field with one value.
    pub(super) fn with_value(field: Field, value: impl ToString) -> Self {
        FieldRef { field, index: None, value: Some(value.to_string()) }
    }

    /// One entry of a list.
    pub(super) fn entry(field: Field, index: usize, value: impl ToString) -> Self {
        FieldRef { field, index: Some(index), value: Some(value.to_string()) }
    }
}

impl From<Field> for FieldRef {
    fn from(field: Field) -> Self {
        FieldRef { field, index: None, value: None }
    }
}

impl fmt::Display for FieldRef {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.field.name())?;
        match self.index {
            Some(index) => write!(f, "[{index}]"),
            None => Ok(()),
        }
    }
}

impl ElectionSpec {
    /// Sets a field from text. A field that is a list gets one more entry. [`Field::Params`] belongs to the algorithm:
    /// the text is ignored.
    pub fn set(&mut self, field: Field, text: &str) -> Result<(), ParseError> {
        match field {
            Field::Nodes => self.nodes = Some(parse::node_count(text)?),
            Field::Ids => self.ids = Some(Ids::from_str(text)?),
            Field::Values => self.values = Some(Values::from_str(text)?),
            Field::Votes => self.votes = Some(parse::votes(text)?),
            Field::Cheats => self.cheats.push(parse::cheat(text)?),
            Field::Best => self.best = parse::best(text)?,
            Field::Topology => self.topology = Some(Topology::from_str(text)?),
            Field::Initiators => self.initiators = Some(Starts::from_str(text)?),
            Field::Notice => self.notice = Notice::from_str(text)?,
            Field::Runs => self.runs = parse::flag(text)?,
            Field::Crashes => self.faults.crashes.push(NodeFault::from_str(text)?),
            Field::Recoveries => self.faults.recoveries.push(NodeFault::from_str(text)?),
            Field::Joins => self.faults.joins.push(NodeFault::from_str(text)?),
            Field::Retirements => self.faults.retirements.push(NodeFault::from_str(text)?),
            Field::Cuts => self.faults.cuts.push(LinkFault::from_str(text)?),
            Field::Heals => self.faults.heals.push(Repair::from_str(text)?),
            Field::Partitions => self.faults.partitions.push(Partition::from_str(text)?),
            Field::Interventions => self.faults.interventions.push(Intervention::from_str(text)?),
            Field::Delay => self.delay = Delay::from_str(text)?,
            Field::Unordered => self.unordered = parse::flag(text)?,
            Field::Loss => self.loss = parse::probability(text)?,
            Field::Duplicate => self.duplicate = parse::probability(text)?,
            Field::Bandwidth => self.bandwidth = Some(parse::bandwidth(text)?),
            Field::Medium => self.medium = Medium::from_str(text)?,
            Field::Seed => self.seed = parse::seed(text)?,
            Field::Until => self.until = Some(parse::tick(text)?),
            Field::Threads => self.threads = parse::thread_count(text)?,
            Field::Params => {}
        }
        Ok(())
    }
}
