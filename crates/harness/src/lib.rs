//! Trials: how fast and how cheap a real cluster is. Processes of the real program on this host's loopback, with TLS
//! and disks, in a folder that is gone afterwards.
//!
//! - [`failover`]: from the end of a holder, whichever way it ends, until the next one is told.
//! - [`idle`]: what a cluster costs while nothing happens.
//! - [`net`]: a network between the processes that can be broken.

mod crowd;
pub mod failover;
pub mod idle;
pub mod net;
mod processes;

use std::io;

use hustings_cluster::api::ClientError;
use hustings_cluster::config::BootstrapError;

pub use processes::{Cluster, Layout};

/// Why a trial came to nothing.
#[derive(Debug, thiserror::Error)]
pub enum TrialError {
    /// The files of the cluster.
    #[error("cannot set the cluster up: {0}")]
    Found(#[from] BootstrapError),
    /// A process, a file.
    #[error("{what}: {error}")]
    Io {
        /// What was tried.
        what: String,
        /// What came of it.
        error: io::Error,
    },
    /// A node's socket.
    #[error("{0}")]
    Client(#[from] ClientError),
    /// Something did not happen.
    #[error("{what} within {seconds} s; the nodes' words are in {folder}")]
    Late {
        /// What should have happened.
        what: String,
        /// For how long it was waited for.
        seconds: u64,
        /// Where the journals of the nodes are.
        folder: String,
    },
}

/// Times in nanoseconds, sorted: what is told of them.
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Spread {
    /// How many there are.
    pub count: usize,
    /// Half of them are at most this, in milliseconds.
    pub p50: f64,
    /// Nine in ten are.
    pub p90: f64,
    /// All are.
    pub max: f64,
}

impl Spread {
    /// Of these times; nothing if there are none.
    pub fn of(mut nanoseconds: Vec<u64>) -> Option<Spread> {
        nanoseconds.sort_unstable();
        let count = nanoseconds.len();
        let at = |share: f64| nanoseconds[((count as f64 * share).ceil() as usize).clamp(1, count) - 1] as f64 / 1e6;
        (count > 0).then(|| Spread { count, p50: at(0.5), p90: at(0.9), max: at(1.0) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spread_is_of_the_times_themselves() {
        let spread = Spread::of((1..=10).rev().map(|ms| ms * 1_000_000).collect()).unwrap();
        assert_eq!(spread, Spread { count: 10, p50: 5.0, p90: 9.0, max: 10.0 });
        assert_eq!(Spread::of(Vec::new()), None);
    }
}
