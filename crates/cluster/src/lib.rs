//! Leader election between real processes.
//!
//! The algorithms are those of the catalogue, the very same code; around them this crate puts sockets, clocks and disk:
//!
//! - [`config`]: what a node is told; [`timing`]: its numbers, checked against each other; [`identity`]: keys and
//!   certificates.
//! - [`wire`]: the messages between nodes; [`transport`]: authenticated connections that carry them.
//! - [`election`]: runs an algorithm of the catalogue among the members that are up: who *should* lead.
//! - [`core`]: the decision logic of a node, without I/O and clock: who is up, who *may* lead, who holds which office.
//! - [`store`]: what a node must not forget.
//! - [`api`]: what programs on the same host say to a node, and the client for it.
//! - [`node`]: the loop around the core.

pub mod api;
pub mod clock;
pub mod config;
#[doc(hidden)]
pub mod core;
#[doc(hidden)]
pub mod election;
pub mod faults;
pub mod identity;
pub mod member;
pub mod node;
pub mod store;
#[cfg(feature = "testkit")]
#[doc(hidden)]
pub mod testkit;
pub mod timing;
pub mod transport;
#[doc(hidden)]
pub mod wire;
