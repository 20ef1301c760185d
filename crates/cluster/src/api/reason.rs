//! Reasons in words.

use std::fmt;

use super::ChangeReason;

/// A reason as the end of a sentence about the previous holder.
impl fmt::Display for ChangeReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
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
        })
    }
}
