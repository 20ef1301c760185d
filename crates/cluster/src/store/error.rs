//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

/// Why a store cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// The operating system reported an error. What was acknowledged before is safe, and the same write may be tried
    /// again.
    #[error("cannot {action} {}: {source}", path.display())]
    Io {
        /// The action that failed, a verb.
        action: &'static str,
        /// The file or folder.
        path: PathBuf,
        /// The error of the operating system.
        source: io::Error,
    },
    /// The data on disk is damaged. Nothing was changed.
    #[error(
        "{} is damaged at byte {offset}: expected {expected}, found {found}. This node may have lost a vote, so it does \
         not start. Restore the encode_all folder as it was when the node last stopped, or remove this member from the \
         cluster and add it as a new one, with a new id and an empty folder", file.display()
    )]
    Corrupt {
        /// The damaged file.
        file: PathBuf,
        /// The offset of the first damaged byte.
        offset: u64,
        /// The expected data.
        expected: String,
        /// The data that was found.
        found: String,
    },
    /// The folder belongs to another node, cluster or format version.
    #[error("{} belongs to {what} {found}, not to {what} {expected}", folder.display())]
    Other {
        /// The folder.
        folder: PathBuf,
        /// What differs: cluster, node or format.
        what: &'static str,
        /// The value in the folder.
        found: String,
        /// The value of this node.
        expected: String,
    },
    /// The folder is not a store and not empty.
    #[error(
        "{} contains {name:?} but no state of a node: configure an empty folder, or one that does not exist yet",
        folder.display()
    )]
    NotAStore {
        /// The folder.
        folder: PathBuf,
        /// The first file that does not belong to a store.
        name: String,
    },
    /// Another process uses the folder.
    #[error("{} is in use by another process", folder.display())]
    Locked {
        /// The folder.
        folder: PathBuf,
    },
    /// A write is too large.
    #[error("a write of {bytes} bytes is larger than the maximum of {limit} bytes")]
    TooLarge {
        /// The size of the write.
        bytes: u64,
        /// The maximum.
        limit: u64,
    },
    /// A write does not follow from the previous ones: a bug of the caller.
    #[error("a write is out of order: {0}")]
    OutOfOrder(String),
}

impl StoreError {
    /// Whether the same write may succeed later.
    pub fn is_transient(&self) -> bool {
        matches!(self, StoreError::Io { .. })
    }

    /// For `map_err`: names the action and the path.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_path_buf();
        move |source| StoreError::Io { action, path, source }
    }
}
