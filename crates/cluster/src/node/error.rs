//! Why a node does not start, or cannot go on.

use std::io;
use std::path::PathBuf;

use crate::election::ElectionError;
use crate::identity::IdentityError;
use crate::store::StoreError;
use crate::timing::TimingError;
use crate::transport::BindError;

/// Why a node does not start, or cannot go on. The text names the file or address, and what to do.
#[derive(Debug, thiserror::Error)]
pub enum NodeError {
    /// The node is not among the members.
    #[error("this node has the id {0}, and no [[member]] of its configuration has that")]
    NotAMember(u64),
    /// Times that do not go together.
    #[error(transparent)]
    Timing(#[from] TimingError),
    /// An algorithm that cannot elect a leader here.
    #[error("the algorithm cannot be used: {0}")]
    Algorithm(#[from] ElectionError),
    /// What must not be forgotten cannot be read or written. [`StoreError`] tells damage from absence.
    #[error(transparent)]
    Store(#[from] StoreError),
    /// What is on the disk makes no sense to the arbiter.
    #[error(
        "{} cannot be made sense of: {error}. Restore the whole folder as it was when the node last stopped, or remove \
         this member and add it as a new one, with a new id and an empty folder", folder.display()
    )]
    State {
        /// The folder.
        folder: PathBuf,
        /// What the raft library said.
        error: raft::Error,
    },
    /// The disk did not keep up.
    #[error("{waiting} writes wait for the disk, which does not keep up: the node stops rather than forget any")]
    DiskTooSlow {
        /// How many.
        waiting: usize,
    },
    /// The thread that writes has ended.
    #[error("nothing can be written to {} any more: the thread that does it has ended", folder.display())]
    DiskEnded {
        /// The folder.
        folder: PathBuf,
    },
    /// A certificate or key that cannot be used.
    #[error(transparent)]
    Identity(#[from] IdentityError),
    /// The address for peers cannot be listened on.
    #[error("{0}; is another node running there? `listen` in the configuration says where")]
    Bind(#[from] BindError),
    /// The socket for programs cannot be made.
    #[error(transparent)]
    Socket(#[from] SocketError),
    /// The operating system refused something that a node needs.
    #[error("cannot {action}: {error}")]
    System {
        /// What.
        action: &'static str,
        /// Why.
        error: io::Error,
    },
    /// It was told twice to stop, or to stop at once.
    #[error("stopped at once, without handover anything over")]
    StoppedAtOnce,
}

/// For `map_err`.
pub(super) fn system(action: &'static str) -> impl Fn(io::Error) -> NodeError {
    move |error| NodeError::System { action, error }
}

/// Why there is no socket for programs.
#[derive(Debug, thiserror::Error)]
pub enum SocketError {
    /// A node listens there.
    #[error("a node is running already with the socket {}: stop it, or name another `socket`", .0.display())]
    InUse(PathBuf),
    /// Something else is there.
    #[error("{} is there already and is no socket: it is left alone; name another `socket`", .0.display())]
    NotASocket(PathBuf),
    /// The path is too long for the kernel.
    #[error(
        "the socket's path {} is {} bytes long, and the kernel takes {most}: name a shorter `socket`", path.display(),
        path.as_os_str().len()
    )]
    TooLong {
        /// The path.
        path: PathBuf,
        /// How long it may be.
        most: usize,
    },
    /// The operating system refused.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// What was tried.
        action: &'static str,
        /// With what.
        path: PathBuf,
        /// Why not.
        error: io::Error,
    },
}
