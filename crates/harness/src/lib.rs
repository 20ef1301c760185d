//! Runs a real cluster on this host: `hustings node` processes on loopback, with TLS and disks, in a folder of the
//! caller's.
//!
//! - [`Cluster`]: a cluster of processes; [`process`]: one process.
//! - [`net`]: a network between the processes that can be broken on purpose.
//! - [`live`]: a cluster that somebody watches and disturbs, and its story.
//! - [`failover`]: the time from the loss of an office's holder until the next holder is told.
//! - [`run_failover`]: the same for commands under `hustings run`, until the next command has started.
//! - [`flood`]: leases and failovers while strangers and greedy programs flood the nodes.
//! - [`hogs`]: processes that keep the host busy.
//! - [`idle`]: what a cluster costs while nothing happens.
//! - [`offices`]: what many offices cost.
//! - [`watch`]: what many watchers of the HTTP API cost.

mod clients;
mod cluster;
mod error;
pub mod failover;
pub mod flood;
pub mod hogs;
pub mod idle;
pub mod live;
pub mod net;
pub mod offices;
mod percentiles;
mod ports;
pub mod process;
pub mod run_failover;
mod runs;
pub mod watch;

pub use cluster::{Cluster, Layout, TIMEOUT};
pub use error::HarnessError;
pub use percentiles::Percentiles;
pub use ports::free_ports;
