//! Errors of the store.

use std::io;
use std::path::{Path, PathBuf};

/// Why a store cannot be opened or written.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StoreError {
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
         not start. Restore the whole folder as it was when the node last stopped, or remove this member from the \
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
    /// The folder has a format that this program does not know. Nothing was changed.
    #[error(
        "{} has version {found} of the store's format, but this program reads version {supported}: run the version of the \
         program that wrote it", file.display()
    )]
    UnknownFormat {
        /// The header of the store.
        file: PathBuf,
        /// The version in the header.
        found: u32,
        /// The version that this program reads.
        supported: u32,
    },
    /// The folder belongs to another node or cluster.
    #[error("{} belongs to {what} {found}, not to {what} {expected}", folder.display())]
    Other {
        /// The folder.
        folder: PathBuf,
        /// What differs: cluster or node.
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
    /// There is no store in the folder.
    #[error("{} holds no state of a node", folder.display())]
    Missing {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder is a copy that was made by `hustings backup`.
    #[error(
        "{} is a backup: a node that started from it would have forgotten votes. Run `hustings recover` to continue the \
         cluster from it, after its majority is lost for good", folder.display()
    )]
    Backup {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder holds as many backups as a folder may hold.
    #[error("{} holds {count} backups already: remove those that you do not need", folder.display())]
    TooManyBackups {
        /// The folder.
        folder: PathBuf,
        /// How many.
        count: usize,
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
    pub(crate) fn is_transient(&self) -> bool {
        matches!(self, StoreError::Io { .. })
    }

    /// For `map_err`: names the action and the path.
    pub(super) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> StoreError {
        let path = path.to_path_buf();
        move |source| StoreError::Io { action, path, source }
    }
}
