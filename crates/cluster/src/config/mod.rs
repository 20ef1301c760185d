//! What a node is told: its cluster, its fellow members, how to elect, how to keep time.
//!
//! [`Config::read`] takes it from a TOML file and the environment; [`found`] writes the files of a new cluster, and
//! [`admit`] those of one more member.

mod bootstrap;
mod disk;
mod document;
mod environment;
mod error;
mod newcomer;
mod read;
mod record;
mod values;
mod write;

use std::path::PathBuf;
use std::time::Duration;

use hustings_protocol::Id;
use serde::{Deserialize, Serialize};

use crate::member::Member;
use crate::timing::Timing;

pub use crate::election::Choice;
pub use bootstrap::{Admitted, BootstrapError, Bootstrapped, Plan, admit, dismiss, found};
pub use environment::VARIABLES;
pub use error::ConfigError;
pub use newcomer::{Newcomer, NewcomerError};
pub(crate) use values::{MAX_SOCKET_PATH, member_problem, office_name};

/// No configuration file is longer.
pub const MAX_BYTES: usize = 1 << 20;
/// No cluster has more members.
pub const MAX_MEMBERS: usize = 64;
/// No configuration speaks of more offices.
pub const MAX_OFFICES: usize = 10_000;

/// Everything a node is told. Paths are absolute, or relative to the working directory.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Config {
    /// The cluster's name: a DNS label.
    pub cluster: String,
    /// Which of the members this node is.
    pub node: Id,
    /// The members the cluster begins with, ascending by id; later the arbiter knows better.
    pub members: Vec<Member>,
    /// Where this node listens for its peers: host and port.
    pub listen: String,
    /// How it is found out who should lead.
    pub algorithm: Choice,
    /// Who says who may lead.
    pub arbiter: ArbiterKind,
    /// All times.
    pub timing: Timing,
    /// What is said of offices, by name.
    pub offices: Vec<(String, Policy)>,
    /// What holds for all other offices.
    pub default_policy: Policy,
    /// How it is found out how well this host is.
    pub health: Option<Health>,
    /// The folder of what must not be forgotten.
    pub data: PathBuf,
    /// The socket for programs on this host.
    pub socket: PathBuf,
    /// Who this node is, and whom it believes.
    pub tls: Tls,
    /// Whether this node came to a cluster that was there before it.
    pub join: bool,
}

impl Config {
    /// What holds for an office.
    pub fn policy(&self, office: &str) -> Policy {
        self.offices.iter().find(|(name, _)| name == office).map_or(self.default_policy, |(_, policy)| *policy)
    }

    /// This node, as a member.
    pub fn own(&self) -> Option<&Member> {
        self.members.iter().find(|member| member.id == self.node)
    }
}

/// Who says who may lead.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ArbiterKind {
    /// A majority of the voters, by Raft: at most one holder, with a token.
    #[default]
    Raft,
    /// Nobody, as the algorithms were published: every part of a split cluster has a leader of its own.
    None,
}

/// What holds for an office.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
pub struct Policy {
    /// What happens when its holder is lost.
    pub mode: Mode,
    /// Whether somebody better takes it from a live holder.
    pub preempt: Preempt,
}

/// What happens when the holder of an office is lost.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Mode {
    /// The next one must wait until the lost one has stopped for certain: its lease is over.
    #[default]
    Exclusive,
    /// The next one is appointed at once; whatever the holders write to must refuse old tokens.
    Fenced,
}

/// Whether somebody better takes an office from a live holder.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Preempt {
    /// No.
    #[default]
    Never,
    /// Yes, once it has been up for the settling time.
    Better,
    /// Yes, once it has been up for so long.
    BetterAfter(Duration),
}

/// How it is found out how well a host is: 0 to 100.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Health {
    /// How.
    pub probe: Probe,
    /// How often.
    pub every: Duration,
    /// An answer that takes longer counts as 0.
    pub timeout: Duration,
    /// Below this the host does not stand for any office.
    pub threshold: u8,
}

/// How health is probed.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub enum Probe {
    /// A command: exit code 0 is healthy. A number from 0 to 100 on its first line of output is the score.
    Command(Vec<String>),
    /// An `http://` address: a status of 2xx is healthy.
    Http(String),
}

/// Files in PEM.
#[derive(Clone, PartialEq, Eq, Hash, Debug)]
pub struct Tls {
    /// The certificate of the cluster's authority.
    pub authority: PathBuf,
    /// The node's certificate.
    pub certificate: PathBuf,
    /// The node's private key.
    pub key: PathBuf,
}
