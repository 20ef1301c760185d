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
        f.write_str(match self {
            EndReason::DeadlinePassed => "the lease was not renewed in time",
            EndReason::NodeLost => "the connection to the node was lost",
            EndReason::Revoked(reason) => reason_text(*reason),
        })
    }
}

/// A reason as the end of a sentence about the previous holder.
pub(crate) fn reason_text(reason: ChangeReason) -> &'static str {
    match reason {
        ChangeReason::Vacant => "the office was vacant",
        ChangeReason::Disconnected => "the connection to the holder closed",
        ChangeReason::Silent => "the holder was silent for too long",
        ChangeReason::Expired => "the holder's lease expired",
        ChangeReason::Resigned => "the holder resigned",
        ChangeReason::Left => "the holder shut down gracefully",
        ChangeReason::Preempted => "a higher-ranked member took over",
        ChangeReason::Transferred => "an operator transferred it",
        ChangeReason::Unhealthy => "the holder was unhealthy",
        ChangeReason::Removed => "the holder was removed from the cluster",
        ChangeReason::Elected => "elected, without an arbiter",
        ChangeReason::ModeMismatch => "the office has another mode than the one asked for",
    }
}
