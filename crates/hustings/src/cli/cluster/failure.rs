//! Why a command of the cluster failed.

use hustings_cluster::api::{ClientError, Refusal};
use hustings_cluster::config::{BootstrapError, ConfigError};
use hustings_cluster::node::NodeError;
use hustings_harness::HarnessError;
use hustings_sim::parse::{nearest, short};

use super::super::console::Exit;
use super::node::is_wrong_use;

/// A command of the cluster that could not be carried out.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterFailure {
    /// The configuration is no good, or not there.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// Files that were not written.
    #[error(transparent)]
    Found(#[from] BootstrapError),
    /// The node cannot be spoken to.
    #[error(transparent)]
    Node(#[from] ClientError),
    /// The node answers something else than was asked.
    #[error("the node gives an answer to another question")]
    Unexpected,
    /// The node says no.
    #[error("{refusal}")]
    Refused { refusal: Refusal },
    /// A name that is none.
    #[error("there is no {what} `{name}`")]
    Unknown { what: &'static str, name: String, nearest: Option<String> },
    /// There is a member of this name, with other properties.
    #[error("{path}: `{name}` was admitted before, with another address, priority or role")]
    OtherMember { name: String, path: String },
    /// The node could not run, or had to stop.
    #[error(transparent)]
    Run(#[from] NodeError),
    /// A cluster of `bench` could not be run.
    #[error(transparent)]
    Harness(#[from] HarnessError),
    /// The node was removed.
    #[error("this node was removed from its cluster")]
    Removed,
    /// The node's memory is not the one that the cluster knows.
    #[error("the disk of this node is not the one that the cluster knows: its votes may be forgotten")]
    UnknownDisk,
}

impl From<Refusal> for ClusterFailure {
    fn from(refusal: Refusal) -> Self {
        ClusterFailure::Refused { refusal }
    }
}

impl ClusterFailure {
    pub(crate) fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        ClusterFailure::Unknown { what, name: short(name), nearest: nearest(name, known).map(str::to_string) }
    }

    /// The exit code, and what would help.
    pub(crate) fn told(&self) -> (Exit, Option<String>) {
        match self {
            ClusterFailure::Config(error) => config_exit(error),
            ClusterFailure::Found(BootstrapError::File { .. } | BootstrapError::Issue(_)) => (Exit::CouldNot, None),
            ClusterFailure::Found(BootstrapError::Config(error)) => config_exit(error),
            ClusterFailure::Found(_) | ClusterFailure::OtherMember { .. } => (Exit::WrongUse, None),
            ClusterFailure::Run(NodeError::StoppedAtOnce) => (Exit::Stopped, None),
            ClusterFailure::Run(error) if is_wrong_use(error) => (Exit::WrongUse, None),
            ClusterFailure::Harness(_) => (Exit::CouldNot, None),
            ClusterFailure::Run(_) | ClusterFailure::Node(_) | ClusterFailure::Unexpected | ClusterFailure::Removed => {
                (Exit::CouldNot, None)
            }
            ClusterFailure::UnknownDisk => {
                let help = "`hustings members remove NAME`, then `hustings members add NAME=…` makes it a new member";
                (Exit::CouldNot, Some(help.to_string()))
            }
            ClusterFailure::Refused { refusal } => refusal_exit(refusal),
            ClusterFailure::Unknown { what, nearest, .. } => {
                let list = match *what {
                    "member" => "`hustings members` shows all",
                    _ => "`hustings status` shows all",
                };
                let help =
                    nearest.as_ref().map_or_else(|| list.into(), |near| format!("the nearest is `{near}`; {list}"));
                (Exit::WrongUse, Some(help))
            }
        }
    }
}

/// A file that is not there is no wrong use of a file.
fn config_exit(error: &ConfigError) -> (Exit, Option<String>) {
    match error {
        ConfigError::File { error, .. } => config_exit(error),
        ConfigError::Unreadable(_) => {
            let help = "--config FILE names the node's configuration, --socket PATH its socket";
            (Exit::CouldNot, Some(help.to_string()))
        }
        _ => (Exit::WrongUse, None),
    }
}

fn refusal_exit(refusal: &Refusal) -> (Exit, Option<String>) {
    match refusal.code.as_str() {
        "bad-request" | "unknown-member" | "no-arbiter" => (Exit::WrongUse, None),
        "no-majority" | "timed-out" | "busy" => {
            (Exit::CouldNot, Some("try again; `hustings status` shows who is up".into()))
        }
        _ => (Exit::No, None),
    }
}
