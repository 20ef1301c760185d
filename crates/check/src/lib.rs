//! A model checker for small elections: it explores all executions.
//!
//! It runs the same protocols as the simulator and the cluster, not separate models of them. A [`Check`] takes a
//! [`Protocol`](hustings_protocol::Protocol), a [`Model`] of its environment (nodes, links, clocks, faults) and a
//! [`Spec`] (the properties to check), and explores the state space with stateright. The result are [`Findings`], with
//! a [`Counterexample`] that the simulator can replay if a property is violated.
//!
//! A [`CheckRequest`] describes a check of an election in several cases, such as all orders of the ids: [`cases`] lists
//! them, [`explore`] checks them and gives a [`Report`].
//!
//! - `model`, `spec`, `property`: what is checked.
//! - `global_state`, `steps`, `apply`, `transition_table`: the states and the transition relation.
//! - `state_space`, `state_graph`, `components`, `check`: exploring, and properties of whole executions.
//! - `counterexample`, `trace`: executions that violate a property.
//! - `expected_rounds`: the expected number of rounds of randomised algorithms.
//! - `cases`, `explore`: several cases of one election.

mod apply;
mod cases;
mod check;
mod components;
mod counterexample;
mod expected_rounds;
mod explore;
mod global_state;
mod interner;
mod meter;
mod model;
mod property;
mod spec;
mod state_graph;
mod state_space;
mod steps;
mod trace;
mod transition_table;

pub use cases::{Case, Cases, CheckError, CheckRequest, IdOrders, Subject, cases};
pub use check::{Check, Findings, Limit, Limits, Verdict};
pub use counterexample::Counterexample;
pub use explore::{CaseResult, Conclusion, ExploreOptions, ExploreProgress, Report, Violation, explore};
pub use global_state::FaultBudget;
pub use model::{Channels, MAX_NODES, Model, Timing};
pub use property::Property;
pub use spec::{ExpectedLeader, Spec};
pub use state_graph::MaxMessages;
