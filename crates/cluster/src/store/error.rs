//! What can go wrong between a node and its disk.

use std::io;
use std::path::{Path, PathBuf};

/// Why a store cannot be opened or written to.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system refused. What was acknowledged before is safe, and the same write may be tried again.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// What was tried: a verb.
        action: &'static str,
        /// On which file or folder.
        path: PathBuf,
        /// What the operating system said.
        source: io::Error,
    },
    /// What is on disk is not what was written. Nothing was changed.
    #[error(
        "{} is damaged at byte {offset}: expected {expected}, found {found}. This node may have forgotten a vote, so it \
         does not start. Restore the whole folder as it was when the node last stopped, or remove this member from the \
         cluster and add it as a new one, with a new id and an empty folder", file.display()
    )]
    Corrupt {
        /// Where the damage is.
        file: PathBuf,
        /// The first byte that is not as it should be.
        offset: u64,
        /// What should be there.
        expected: String,
        /// What is there.
        found: String,
    },
    /// The folder holds the state of somebody else.
    #[error("{} belongs to {what} {found}, not to {what} {expected}", folder.display())]
    Other {
        /// The folder.
        folder: PathBuf,
        /// What differs: cluster, node or format.
        what: &'static str,
        /// What the folder says.
        found: String,
        /// What this node says.
        expected: String,
    },
    /// The folder is no store, but it is not empty either.
    #[error(
        "{} holds {name:?} but no state of a node: name an empty folder, or one that does not exist yet",
        folder.display()
    )]
    NotAStore {
        /// The folder.
        folder: PathBuf,
        /// The first of the names that do not belong there.
        name: String,
    },
    /// Another process has opened the same folder.
    #[error("{} is in use by another process", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// A write is too large ever to be read again.
    #[error("a write of {bytes} bytes is larger than the {limit} that fit into one")]
    TooLarge {
        /// How large.
        bytes: u64,
        /// How large it may be.
        limit: u64,
    },
    /// A write does not fit what was written before: a bug of the caller.
    #[error("a write that does not fit: {0}")]
    OutOfOrder(String),
}

impl StoreError {
    /// Whether the same write may succeed later.
    pub fn may_pass(&self) -> bool {
        matches!(self, StoreError::Io { .. })
    }

    /// For `map_err`.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_path_buf();
        move |source| StoreError::Io { action, path, source }
    }
}
