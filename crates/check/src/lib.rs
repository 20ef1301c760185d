//! All executions of a small election.
//!
//! The state machines are those that the simulator and the cluster run, not models of them: a [`Check`] takes any
//! [`Protocol`](hustings_protocol::Protocol) in a [`Scene`] (who there is, what links and clocks do, what may go wrong)
//! and explores with stateright everything that can happen. What is claimed is a [`Property`]; what comes of it are
//! [`Findings`], and where something is broken a [`Witness`] that a simulator can replay.
//!
//! - `world`: one state of a whole election; `steps`: what can happen next; `acts`: what a node does then.
//! - `machine`: the protocol as a table, so that a step is looked up.
//! - `space`: all that as a model for stateright; `graph`: what it explored; `check`: what follows from it.
//! - `expect`: how many rounds it takes on average, where coins decide.
//! - `witness`, `records`: executions that show something.

mod acts;
mod check;
mod expect;
mod graph;
mod machine;
mod promise;
mod property;
mod records;
mod scene;
mod space;
mod steps;
mod witness;
mod world;

pub use check::{Check, Findings, Verdict};
pub use graph::Most;
pub use machine::MAX_SIDES;
pub use promise::{Promise, Right};
pub use property::Property;
pub use scene::{Channels, MAX_NODES, Scene, Timing};
pub use space::{Limits, Progress};
pub use witness::Witness;
pub use world::{Budget, World};
