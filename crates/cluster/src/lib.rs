//! Leader election between real processes: the node, its configuration and its API.
//!
//! A cluster consists of members, one node process per host. The members elect a holder for each *office*: a named
//! lease, like an etcd election or a Kubernetes Lease. The election algorithms are those of the catalogue, the same
//! code that the simulator and the model checker run. They determine who *should* lead. The arbiter, a Raft group of
//! the voters, determines who *may* lead, and gives each holder a fencing token.
//!
//! Where to begin:
//!
//! - [`config::bootstrap`] creates the files of a cluster, [`config::add_member`] those of one more member, and
//!   [`config::renew_members`] new certificates. [`Config::read`](config::Config::read) reads what a member needs.
//! - [`Timing::check`](timing::Timing::check) checks its times, and [`Timing::explain`](timing::Timing::explain)
//!   estimates how long a failover takes with them.
//! - [`Node`](node::Node) is the member itself.
//! - [`Client`](api::Client) sends a [`Request`](api::Request) to the node on its host: to campaign for an office, to
//!   ask who holds it, or to operate the cluster.
//! - [`recover`] copies a data folder, and continues a cluster that has lost its majority.
//!
//! Programs that only want leadership use `hustings::Elector`, which is built on the client. `hustings-timeline` merges
//! and draws what several nodes remember.
//!
//! The files of a cluster, and what one of its members reads:
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
//! The node of that member, on a thread of its own, and a program that asks it who leads:
//!
//! ```no_run
//! # use std::path::Path;
//! use std::thread;
//! use std::time::Duration;
//!
//! use hustings_cluster::api::{Client, Reply, Request};
//! use hustings_cluster::config::Config;
//! use hustings_cluster::node::{Node, Options, ShutdownHandle};
//!
//! let config = Config::read(Path::new("shop/a/hustings.toml"))?;
//! let socket = config.socket.clone();
//! let shutdown = ShutdownHandle::new()?;
//! // Signals and the priority are matters of the whole process.
//! let options = Options {
//!     shutdown_handle: Some(shutdown.clone()),
//!     signals: false,
//!     raise_priority: false,
//!     ..Options::default()
//! };
//! let node = thread::spawn(move || Node::open(config, options)?.run());
//!
//! let timeout = Duration::from_secs(5);
//! let mut client = Client::connect(socket, timeout)?;
//! let request = Request::Leader { office: "leader".to_string() };
//! if let Reply::Office(office) = client.call(&request, Some(timeout))? {
//!     println!("{:?} leads with token {}", office.holder, office.token);
//! }
//!
//! shutdown.shutdown();
//! node.join().expect("a node does not panic")?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! [`member`] and [`clock`] have the types that all of these share. [`systemd`] is what `hustings run` has in common
//! with the node, and [`faults`] is for tests.

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
pub mod member;
pub mod node;
pub mod recover;
mod store;
pub mod systemd;
#[cfg(feature = "testkit")]
#[doc(hidden)]
pub mod testkit;
#[cfg(test)]
mod tests;
pub mod timing;
mod transport;
mod wire;
