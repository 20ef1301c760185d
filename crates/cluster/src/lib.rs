//! Leader election between real processes: the node, its configuration and its API.
//!
//! A cluster consists of members, one node process per host. The members elect a holder for each *office*: a named
//! lease, like an etcd election or a Kubernetes Lease. The election algorithms are those of the catalogue, the same
//! code that the simulator and the model checker run. They determine who *should* lead. The arbiter, a Raft group of
//! the voters, determines who *may* lead, and gives each holder a fencing token.
//!
//! Create the files of a cluster and read one member's configuration back:
//!
//! ```
//! use hustings_cluster::config::{ClusterSpec, Config, bootstrap};
//!
//! # let folder = tempfile::tempdir()?;
//! # let folder = folder.path().join("shop");
//! let members = ["a=127.0.0.1:7401,priority=3", "b=127.0.0.1:7402", "c=127.0.0.1:7403"];
//! let members = members.iter().map(|text| text.parse()).collect::<Result<_, _>>()?;
//! let files = bootstrap(&folder, &ClusterSpec::new("shop", members))?;
//! assert_eq!(files.len(), 3);
//!
//! let config = Config::read(&folder.join("a/hustings.toml"))?;
//! assert_eq!(config.cluster, "shop");
//! config.timing.check()?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What to read next:
//!
//! - [`config`]: the configuration of a node, and the files of a cluster. [`timing`]: heartbeats, timeouts and leases.
//! - [`node`]: runs a node. [`recover`]: continues a cluster that has lost its majority, from one data folder.
//! - [`api`]: the requests that programs send to the node on their host, and a blocking client. Programs that want
//!   leadership use `hustings::Elector`, which is built on it.
//! - [`timeline`]: the messages that nodes remember, put on one time axis.
//! - [`member`]: members and their roles. [`clock`]: the clock that leases are measured with.
//! - [`process_tree`] and [`systemd`] are for `hustings run`, which has them in common with the node; [`faults`] is for
//!   tests.

pub mod api;
mod byte_string;
pub mod clock;
pub mod config;
mod core;
mod election;
pub mod faults;
mod format;
#[cfg(test)]
mod golden;
mod identity;
#[doc(hidden)]
pub mod input_file;
pub mod member;
pub mod node;
pub mod process_tree;
pub mod recover;
mod store;
pub mod systemd;
#[cfg(feature = "testkit")]
#[doc(hidden)]
pub mod testkit;
#[cfg(test)]
mod tests;
pub mod timeline;
pub mod timing;
mod transport;
mod wire;
