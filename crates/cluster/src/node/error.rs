//! Errors of a node.

use std::io;
use std::path::{Path, PathBuf};

use crate::core::StartError;
use crate::election::ElectionError;
use crate::identity::IdentityError;
use crate::store::StoreError;
use crate::timing::TimingError;
use crate::transport::BindError;

/// An error of a part of the node. Its text says everything.
type Cause = Box<dyn std::error::Error + Send + Sync>;

/// Why a node does not start, or cannot continue. The text names the file or address, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The node is not one of the members.
    #[error("this node has the id {0}, but no [[member]] block of its configuration has it")]
    NotAMember(u64),
    /// The timing is invalid.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// The algorithm cannot elect a leader of a cluster.
    #[error("the algorithm cannot be used: {0}")]
    Algorithm(Cause),
    /// The persistent state cannot be read or written.
    #[error(transparent)]
    Store(Cause),
    /// The persistent state is readable but not consistent.
    #[error(
        "{}: the stored state is inconsistent: {error}. Restore the whole folder as it was when the node last stopped, or \
         remove this member and add it as a new one, with a new id and an empty folder", folder.display()
    )]
    State {
        /// The folder.
        folder: PathBuf,
        /// The error of the raft library.
        error: raft::Error,
    },
    /// The persistent state was written by a later version of the program, or is damaged in a way that no checksum
    /// notices.
    #[error(
        "{}: the stored state cannot be read: at log index {index}, {error}. Nothing was changed; run the version of the \
         program that wrote it", folder.display()
    )]
    Unreadable {
        /// The folder.
        folder: PathBuf,
        /// The index of the log entry, or of the last entry of the snapshot.
        index: u64,
        /// What is wrong with it.
        error: String,
    },
    /// A file with the state of an office is missing or damaged.
    #[error(
        "{}: {error}. Restore the whole folder as it was when the node last stopped, or remove this member and add it as a \
         new one, with a new id and an empty folder", folder.display()
    )]
    DamagedState {
        /// The folder.
        folder: PathBuf,
        /// What is wrong.
        error: String,
    },
    /// The disk is too slow.
    #[error("{waiting} writes wait for the disk, which is too slow; the node stops rather than lose any")]
    DiskTooSlow {
        /// The number of waiting writes.
        waiting: usize,
    },
    /// The disk thread has ended.
    #[error("cannot write to {}: the disk thread has ended", folder.display())]
    DiskEnded {
        /// The folder.
        folder: PathBuf,
    },
    /// A certificate or key cannot be used.
    #[error(transparent)]
    Identity(Cause),
    /// The node cannot listen on its address.
    #[error(transparent)]
    Bind(Cause),
    /// Everybody on this host can write the folder of the persistent state.
    #[error(
        "{}: other users can write the data folder (mode {mode:03o}); whoever changes a vote there makes two members hold \
         one office. If nobody did, make it the node's own (chmod 700)", folder.display()
    )]
    OpenDataFolder {
        /// The folder.
        folder: PathBuf,
        /// Its mode.
        mode: u32,
    },
    /// The socket for programs cannot be created.
    #[error(transparent)]
    Socket(Cause),
    /// The operating system denied a resource.
    #[error("cannot {action}: {error}")]
    System {
        /// The action that failed.
        action: &'static str,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The node was told to stop at once, or told twice to stop.
    #[error("stopped at once, without handing any office over")]
    StoppedAtOnce,
}

impl From<ElectionError> for NodeError {
    fn from(error: ElectionError) -> Self {
        NodeError::Algorithm(error.into())
    }
}

impl From<StoreError> for NodeError {
    fn from(error: StoreError) -> Self {
        NodeError::Store(error.into())
    }
}

impl From<IdentityError> for NodeError {
    fn from(error: IdentityError) -> Self {
        NodeError::Identity(error.into())
    }
}

impl From<BindError> for NodeError {
    fn from(error: BindError) -> Self {
        NodeError::Bind(error.into())
    }
}

impl From<SocketError> for NodeError {
    fn from(error: SocketError) -> Self {
        NodeError::Socket(error.into())
    }
}

impl NodeError {
    /// Whether the configuration is wrong, or what it names: another start will not help.
    pub fn is_configuration(&self) -> bool {
        match self {
            NodeError::NotAMember(_)
            | NodeError::Timing(_)
            | NodeError::Algorithm(_)
            | NodeError::Identity(_)
            | NodeError::OpenDataFolder { .. } => true,
            NodeError::Store(cause) => {
                let error = cause.downcast_ref();
                matches!(
                    error,
                    Some(StoreError::Other { .. } | StoreError::NotAStore { .. } | StoreError::Backup { .. })
                )
            }
            NodeError::Socket(cause) => {
                !matches!(cause.downcast_ref(), Some(SocketError::InUse(_) | SocketError::Io { .. }))
            }
            _ => false,
        }
    }

    /// The core cannot start from what this folder holds.
    pub(super) fn state(folder: &Path, error: StartError) -> NodeError {
        let folder = folder.to_path_buf();
        match error {
            StartError::Raft(error) => NodeError::State { folder, error },
            StartError::Unreadable { index, error } => {
                NodeError::Unreadable { folder, index, error: error.to_string() }
            }
            error @ StartError::DamagedState { .. } => NodeError::DamagedState { folder, error: error.to_string() },
        }
    }
}

/// For `map_err`: names the action that failed.
pub(super) fn system(action: &'static str) -> impl Fn(io::Error) -> NodeError {
    move |error| NodeError::System { action, error }
}

/// Why the socket for programs cannot be created.
#[derive(Debug, thiserror::Error)]
pub(crate) enum SocketError {
    /// Another node listens on the socket.
    #[error("another node is already running with the socket {}: stop it, or configure another `socket`", .0.display())]
    InUse(PathBuf),
    /// The path exists and is not a socket.
    #[error("{} exists and is not a socket: configure another `socket`", .0.display())]
    NotASocket(PathBuf),
    /// The path is too long for the kernel.
    #[error(
        "the socket path {} has {} bytes, but the kernel allows only {max_bytes}: configure a shorter `socket`", path.display(),
        path.as_os_str().len()
    )]
    TooLong {
        /// The path.
        path: PathBuf,
        /// The longest path that the kernel accepts.
        max_bytes: usize,
    },
    /// There is no group with the configured name.
    #[error(
        "there is no group `{0}` on this host: create it (groupadd --system {0}), or configure another `socket-group`"
    )]
    UnknownGroup(String),
    /// The groups of this host cannot be read.
    #[error("cannot look up the group `{group}` (`socket-group`): {error}")]
    Groups {
        /// The configured name.
        group: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The socket or its folder cannot be given to the group.
    #[error(
        "cannot give {} to the group `{group}` (`socket-group`): {error}; the node's user must own it and be a member of \
         the group, or the node must run as root", path.display()
    )]
    Group {
        /// The group.
        group: String,
        /// The socket or its folder.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
    /// The operating system denied it.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// The action that failed.
        action: &'static str,
        /// The path.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}
