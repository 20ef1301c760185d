//! Why a cluster could not be run or measured.

use std::io;

use hustings_cluster::api::ClientError;
use hustings_cluster::config::BootstrapError;

/// Why a cluster could not be run or measured.
#[derive(Debug, thiserror::Error)]
pub enum HarnessError {
    /// The files of the cluster could not be written.
    #[error("cannot set the cluster up: {0}")]
    Bootstrap(#[from] BootstrapError),
    /// An operation on a process, a file or a socket failed.
    #[error("{what}: {error}")]
    Io {
        /// The operation.
        what: String,
        /// The error of the operating system.
        error: io::Error,
    },
    /// A node's socket failed.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// Something did not happen in time.
    #[error("timed out after {seconds} s: {what}; the nodes' logs are in {folder}")]
    TimedOut {
        /// What did not happen.
        what: String,
        /// How long the harness waited.
        seconds: u64,
        /// Where the nodes' logs are.
        folder: String,
    },
    /// The office moved more often by itself than because its holder was lost, so nothing can be measured.
    #[error("the office moved {times} times by itself; the nodes' logs are in {folder}")]
    Unstable {
        /// How often it moved.
        times: usize,
        /// Where the nodes' logs are.
        folder: String,
    },
}

/// Adds what was tried to an error of the operating system.
pub(crate) fn io_error(what: impl Into<String>) -> impl FnOnce(io::Error) -> HarnessError {
    let what = what.into();
    move |error| HarnessError::Io { what, error }
}
