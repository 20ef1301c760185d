//! Errors of the cluster commands.

use std::fmt;
use std::path::PathBuf;

use hustings_cluster::api::{ClientError, RequestError};
use hustings_cluster::config::{BootstrapError, ConfigError};
use hustings_cluster::node::NodeError;
use hustings_cluster::recover::RecoverError;
use hustings_harness::HarnessError;
use hustings_http::{ServeError, TokenFileError};
use hustings_run::RunError;
use hustings_text::{nearest, quote};
use hustings_timeline::MergeError;

use super::super::console::Exit;

/// Why a cluster command failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClusterFailure {
    /// The configuration is missing or invalid.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The files of a cluster or member could not be written.
    #[error(transparent)]
    Bootstrap(#[from] BootstrapError),
    /// The conversation with the node failed.
    #[error(transparent)]
    Node(#[from] ClientError),
    /// The node sent a reply that does not belong to the request.
    #[error("the node sent a reply that does not belong to the request")]
    UnexpectedReply,
    /// The node rejected the request.
    #[error(transparent)]
    Rejected(#[from] RequestError),
    /// No member or office has this name.
    #[error("there is no {what} `{name}`")]
    Unknown { what: &'static str, name: String, nearest: Option<String> },
    /// Nobody can say for sure whether there is a member.
    #[error("it is not known whether there is a member `{0}`: this node cannot reach a majority")]
    UncertainMember(String),
    /// There is no token to store a state with.
    #[error("{}", no_token(found.as_deref()))]
    NoToken { found: Option<String> },
    /// A file with a state cannot be read or written.
    #[error("{}: {error}", path.display())]
    StateFile { path: PathBuf, error: std::io::Error },
    /// A state is larger than any configuration allows.
    #[error("{}: more than {limit} bytes, which no configuration allows", path.display())]
    StateTooLarge { path: PathBuf, limit: u64 },
    /// The node could not start, or had to stop.
    #[error(transparent)]
    Run(#[from] NodeError),
    /// A token could not be made.
    #[error(transparent)]
    Token(TokenFileError),
    /// The HTTP API could not be served.
    #[error(transparent)]
    Http(#[from] ServeError),
    /// A cluster of `bench` could not be run.
    #[error(transparent)]
    Harness(#[from] HarnessError),
    /// A command could not be run.
    #[error(transparent)]
    Command(#[from] RunError),
    /// A command that there is not.
    #[error("cannot find the command `{command}`{}", if *.is_searched { " in PATH" } else { "" })]
    NoCommand { command: String, is_searched: bool },
    /// The health check runs a command that there is not.
    #[error("`health.command`: cannot find the program `{0}`; every check would score 0")]
    NoHealthCommand(String),
    /// The node was removed from its cluster.
    #[error("this node was removed from its cluster")]
    Removed,
    /// The node runs with another store than the one that the cluster knows.
    #[error("the data folder of this node is not the one that the cluster knows, so its votes may be lost")]
    UnknownDisk(Replacement),
    /// The node runs with an older copy of its store.
    #[error(
        "the data folder of this node is older than the one that the cluster has seen it run with, so it lacks votes"
    )]
    OldDisk(Replacement),
    /// Two processes run as the same member.
    #[error("another process that was started later runs as this member, with its certificate")]
    Superseded,
    /// The program is older than what the cluster writes.
    #[error("the cluster writes version {version} of its formats, but this program reads versions up to {reads}")]
    OldProgram { version: u8, reads: u8 },
    /// A data folder could not be inspected, copied or recovered.
    #[error(transparent)]
    Recover(#[from] RecoverError),
    /// An archive could not be written, or a file for it not be read.
    #[error("{}: {error}", path.display())]
    BundleFile { path: PathBuf, error: std::io::Error },
    /// A file with a trace could not be read.
    #[error("{path}: {problem}")]
    TraceFile { path: String, problem: String },
    /// Traces do not fit together.
    #[error(transparent)]
    Merge(#[from] MergeError),
    /// A recovery was not confirmed.
    #[error("nothing was changed, because the recovery was not confirmed")]
    NotConfirmed,
    /// The cluster committed something that this program cannot read.
    #[error("this node cannot read what the cluster has committed: at log index {index}, {error}")]
    Unreadable { index: u64, error: String },
}

/// A member whose disk is lost, and how a new one takes its place.
#[derive(Debug)]
pub(crate) struct Replacement {
    pub(crate) name: String,
    pub(crate) address: String,
    pub(crate) data: PathBuf,
}

impl fmt::Display for Replacement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Replacement { name, address, data } = self;
        write!(
            f,
            "make it a new member: where the folder DIR of `hustings init` is, run `hustings members remove {name} --dir \
             DIR`, `rm -r DIR/{name}` and `hustings members add {name}={address} --dir DIR`; here, run `rm -r {}`, and \
             start the node with the files of DIR/{name}",
            data.display()
        )
    }
}

impl ClusterFailure {
    pub(crate) fn unknown<'a>(what: &'static str, name: &str, known: impl IntoIterator<Item = &'a str>) -> Self {
        ClusterFailure::Unknown { what, name: quote(name), nearest: nearest(name, known).map(str::to_string) }
    }

    /// The exit code, and advice for the user.
    pub(crate) fn exit_and_help(&self) -> (Exit, Option<String>) {
        match self {
            ClusterFailure::Config(error) => config_exit(error),
            ClusterFailure::UncertainMember(_) => {
                (Exit::CouldNot, Some("try again; `hustings status` shows which members are up".into()))
            }
            ClusterFailure::Bootstrap(error) => bootstrap_exit(error),
            ClusterFailure::BundleFile { error, .. } if error.kind() == std::io::ErrorKind::AlreadyExists => {
                (Exit::WrongUse, Some("name a file that does not exist".to_string()))
            }
            ClusterFailure::TraceFile { .. } | ClusterFailure::BundleFile { .. } => (Exit::CouldNot, None),
            ClusterFailure::Merge(MergeError::UnknownClock(..)) => {
                let help = "take the traces while the nodes are connected, at least a second after they have started";
                (Exit::CouldNot, Some(help.to_string()))
            }
            ClusterFailure::Merge(_) => (Exit::WrongUse, None),
            ClusterFailure::Run(NodeError::StoppedAtOnce) => (Exit::Stopped, None),
            ClusterFailure::Run(error) if error.is_configuration() => (Exit::WrongUse, None),
            ClusterFailure::NoHealthCommand(_) => (Exit::WrongUse, None),
            ClusterFailure::Command(RunError::Timing(_)) | ClusterFailure::NoCommand { .. } => (Exit::WrongUse, None),
            ClusterFailure::Command(RunError::Rejected(error)) if error.code == "bad-request" => (Exit::WrongUse, None),
            ClusterFailure::Command(_) | ClusterFailure::StateFile { .. } => (Exit::CouldNot, None),
            ClusterFailure::NoToken { .. } => {
                let help = "use --token N, or run the command under `hustings run`, which sets the variable";
                (Exit::WrongUse, Some(help.to_string()))
            }
            ClusterFailure::StateTooLarge { .. } => (Exit::WrongUse, None),
            ClusterFailure::Node(ClientError::Rejected(error)) => request_error_exit(error),
            ClusterFailure::Token(_) | ClusterFailure::Http(ServeError::Tokens(_) | ServeError::Tls(_)) => {
                (Exit::WrongUse, None)
            }
            ClusterFailure::Http(_) | ClusterFailure::Harness(_) => (Exit::CouldNot, None),
            ClusterFailure::Run(_)
            | ClusterFailure::Node(_)
            | ClusterFailure::UnexpectedReply
            | ClusterFailure::Removed => (Exit::CouldNot, None),
            ClusterFailure::UnknownDisk(replacement) => (Exit::Refused, Some(replacement.to_string())),
            ClusterFailure::OldDisk(replacement) => {
                let help = "put the folder back that the node ran with last; if it is lost, ";
                (Exit::Refused, Some(format!("{help}{replacement}")))
            }
            ClusterFailure::Superseded => {
                let help =
                    "a copy of this machine or of its folder runs elsewhere: stop it, then start this node again";
                (Exit::Refused, Some(help.to_string()))
            }
            ClusterFailure::OldProgram { .. } | ClusterFailure::Unreadable { .. } => {
                let help = "run the version of the program that the other members run; nothing is lost";
                (Exit::CouldNot, Some(help.to_string()))
            }
            ClusterFailure::Recover(RecoverError::InUse { .. }) => {
                (Exit::CouldNot, Some("stop the node first".to_string()))
            }
            ClusterFailure::Recover(
                RecoverError::FloorTooHigh { .. } | RecoverError::NoLog | RecoverError::Joins { .. },
            ) => (Exit::WrongUse, None),
            ClusterFailure::Recover(RecoverError::Folder(error)) => bootstrap_exit(error),
            ClusterFailure::Recover(_) => (Exit::CouldNot, None),
            ClusterFailure::NotConfirmed => {
                (Exit::WrongUse, Some("--yes confirms it; --dry-run only prints what would be done".to_string()))
            }
            ClusterFailure::Rejected(error) => request_error_exit(error),
            ClusterFailure::Unknown { what, nearest, .. } => {
                let list = match *what {
                    "member" => "`hustings members` lists all members",
                    _ => "`hustings status` lists all offices",
                };
                let help =
                    nearest.as_ref().map_or_else(|| list.into(), |near| format!("the nearest is `{near}`; {list}"));
                (Exit::WrongUse, Some(help))
            }
        }
    }
}

fn bootstrap_exit(error: &BootstrapError) -> (Exit, Option<String>) {
    match error {
        BootstrapError::File { .. } | BootstrapError::Issue(_) => (Exit::CouldNot, None),
        BootstrapError::Config(error) => config_exit(error),
        _ => (Exit::WrongUse, None),
    }
}

fn no_token(found: Option<&str>) -> String {
    match found {
        Some(found) => format!("HUSTINGS_TOKEN is `{found}`, which is not a token: expected a number"),
        None => "no token is given, and HUSTINGS_TOKEN is not set".to_string(),
    }
}

/// Whatever is wrong with a configuration has one exit code, at which a service is not started again.
fn config_exit(error: &ConfigError) -> (Exit, Option<String>) {
    match error {
        ConfigError::File { error, .. } => config_exit(error),
        ConfigError::Unreadable(_) => {
            let help = "use --config FILE to name the node's configuration, or --socket PATH to name its socket";
            (Exit::WrongUse, Some(help.to_string()))
        }
        _ => (Exit::WrongUse, None),
    }
}

fn request_error_exit(error: &RequestError) -> (Exit, Option<String>) {
    match error.code.as_str() {
        "bad-request" | "unknown-member" | "no-arbiter" | "not-available" | "too-large" => (Exit::WrongUse, None),
        "not-permitted" => (Exit::CouldNot, None),
        "disk" => (Exit::CouldNot, Some("free or repair the disk, or ask another member".into())),
        "no-majority" | "timed-out" | "busy" => {
            (Exit::CouldNot, Some("try again; `hustings status` shows which members are up".into()))
        }
        _ => (Exit::No, None),
    }
}
