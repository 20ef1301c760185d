//! The configuration of a node: its cluster, its peers, the election and the timing.
//!
//! [`Config::read`] reads it from a TOML file and the environment. [`bootstrap`] creates the files of a new cluster,
//! and [`add_member`] those of one more member.

mod bootstrap;
mod changes;
mod digest;
mod disk;
mod document;
mod environment;
mod error;
mod http;
mod member_spec;
mod origin;
mod read;
mod record;
mod renew;
mod values;
mod write;

use std::path::PathBuf;
use std::time::Duration;

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

use crate::member::Member;
use crate::node::{LogFormat, LogLevel};
use crate::timing::{LeaseTerms, Timing};

pub use crate::election::algorithm_config::{AlgorithmConfig, Algorithms};
pub use bootstrap::{AddedMember, BootstrapError, ClusterSpec, add_member, bootstrap, remove_member};
pub(crate) use digest::ConfigDigest;
pub(crate) use disk::create_folder_atomically;
pub use error::ConfigError;
pub use http::{Anonymous, Http, HttpLimits, HttpTls};
pub use member_spec::{MemberSpec, MemberSpecError};
pub use origin::{Origin, Setting};
pub use renew::{Renewed, RotationStep, renew_members, rotate_authority};
pub(crate) use values::{MAX_SOCKET_PATH, member_problem, office_name};

/// The longest configuration file, in bytes.
pub(crate) const MAX_BYTES: usize = 1 << 20;
/// The largest number of members of a cluster.
pub(crate) const MAX_MEMBERS: usize = 64;
/// The largest number of `[[office]]` blocks.
pub(crate) const MAX_OFFICES: usize = 10_000;

/// The configuration of a node. Paths are absolute, or relative to the working directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The name of the cluster, a DNS label.
    pub cluster: String,
    /// The id of the member that this node is.
    pub node: Id,
    /// The initial members, ascending by id. Once the node runs, the arbiter's log overrides them.
    pub members: Vec<Member>,
    /// The address to listen on for peers, `host:port`.
    pub listen: String,
    /// The election algorithm: it determines who should lead.
    pub algorithm: AlgorithmConfig,
    /// The arbiter: it determines who may lead.
    pub arbiter: ArbiterKind,
    /// Timeouts and leases.
    pub timing: Timing,
    /// Policies of individual offices, by name.
    pub offices: Vec<(String, Policy)>,
    /// The policy of every other office.
    pub default_policy: Policy,
    /// The health check, if any.
    pub health: Option<Health>,
    /// How much the programs on this host may ask for.
    pub limits: Limits,
    /// The HTTP API, if it is on.
    pub http: Option<Http>,
    /// What is logged, and how.
    pub log: Log,
    /// The folder for the persistent state.
    pub data: PathBuf,
    /// The Unix socket for programs on this host.
    pub socket: PathBuf,
    /// The group whose members may connect to the socket and campaign, by name or number. Without one, only root and
    /// the node's own user may connect.
    pub socket_group: Option<String>,
    /// The node's certificate, its key and the authority that it trusts.
    pub tls: Tls,
    /// Whether the node joins a cluster that already exists.
    pub join: bool,
    /// How the threads on which leases depend are scheduled.
    pub scheduling: Scheduling,
}

impl Config {
    /// The policy of an office.
    #[cfg(test)]
    pub(crate) fn policy(&self, office: &str) -> Policy {
        self.offices.iter().find(|(name, _)| name == office).map_or(self.default_policy, |(_, policy)| *policy)
    }

    /// The member that this node is.
    pub fn own(&self) -> Option<&Member> {
        self.members.iter().find(|member| member.id == self.node)
    }
}

/// The arbiter, which determines who may lead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArbiterKind {
    /// A majority of the voters, by Raft. An office has at most one holder, with a fencing token.
    #[default]
    Raft,
    /// No arbiter, as in the published algorithms. Each part of a partitioned cluster elects its own leader.
    None,
}

/// How the threads of a node on which leases depend are scheduled.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Scheduling {
    /// Before other programs, where the system allows it: with a nice value of -10.
    #[default]
    Normal,
    /// At real-time priority and with locked memory, so that no other program delays them.
    Realtime,
}

/// The policy of an office.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Policy {
    /// What happens when the holder fails.
    pub mode: Mode,
    /// Whether a higher-ranked member takes the office from a live holder.
    pub preempt: Preempt,
    /// How long the office is leased; `timing.lease` if absent.
    pub lease: Option<Duration>,
    /// How long its holder needs to stop; `timing.stop` if absent.
    pub stop: Option<Duration>,
}

impl Policy {
    /// The terms of the office's leases.
    pub(crate) fn terms(&self, timing: &Timing) -> LeaseTerms {
        LeaseTerms { lease: self.lease.unwrap_or(timing.lease), stop: self.stop.unwrap_or(timing.stop) }
    }
}

/// What happens when the holder of an office fails.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The next holder waits until the lease of the failed one has expired, so that their work never overlaps.
    #[default]
    Exclusive,
    /// The next holder is appointed at once. Whatever the holders write to must reject old tokens.
    Fenced,
}

/// Whether a higher-ranked member takes an office from a live holder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preempt {
    /// Never: the holder keeps the office until it fails or resigns.
    #[default]
    Never,
    /// Once the higher-ranked member has been up for `timing.settle`.
    Better,
    /// Once the higher-ranked member has been up for this long.
    BetterAfter(Duration),
}

/// The health check of the host. It yields a score from 0 to 100.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Health {
    /// What to run or request.
    pub probe: Probe,
    /// The time from one check to the next.
    pub every: Duration,
    /// A check that takes longer scores 0.
    pub timeout: Duration,
    /// With a lower score the node does not campaign for any office.
    pub threshold: u8,
}

/// What a health check runs or requests.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Probe {
    /// A command. Exit code 0 means healthy; a number from 0 to 100 on the first line of its output is the score.
    Command(Vec<String>),
    /// An `http://` URL. A 2xx status means healthy.
    Http(String),
}

/// How much the programs on this host may ask for.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub struct Limits {
    /// The largest number of connected programs. A few more connections are accepted for operators' commands: they may
    /// ask for everything except `campaign` and `watch`.
    pub connections: usize,
    /// The largest number of offices that one connection campaigns for.
    pub campaigns: usize,
    /// The largest number of offices that one connection watches by name.
    pub watches: usize,
    /// The largest state of an office, in bytes.
    pub state: u64,
    /// How much all offices' states may take together, in bytes. The limits of the coordinator count.
    pub state_total: u64,
}

impl Default for Limits {
    fn default() -> Self {
        Limits { connections: 256, campaigns: 2_000, watches: 2_000, state: 1 << 20, state_total: 64 << 20 }
    }
}

/// What a node logs, and how.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default)]
pub struct Log {
    /// The least important lines that are written.
    pub level: LogLevel,
    /// How lines are written.
    pub format: LogFormat,
}

/// PEM files for TLS.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tls {
    /// The certificate of the cluster's authority.
    pub authority: PathBuf,
    /// The node's certificate.
    pub certificate: PathBuf,
    /// The node's private key.
    pub key: PathBuf,
}
