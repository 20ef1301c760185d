//! Why leadership ends.

use std::fmt;

use hustings_cluster::api::ChangeReason;

/// Why leadership ends, or ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum EndReason {
    /// The node took the office away, for this reason.
    Revoked(ChangeReason),
    /// The lease was not renewed before its deadline.
    DeadlinePassed,
    /// The connection to the node ended.
    NodeLost,
}

impl fmt::Display for EndReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            EndReason::DeadlinePassed => f.write_str("the lease was not renewed in time"),
            EndReason::NodeLost => f.write_str("the connection to the node was lost"),
            EndReason::Revoked(reason) => reason.fmt(f),
        }
    }
}
