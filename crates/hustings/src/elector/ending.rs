//! Why leadership ends.

use std::fmt;

use hustings_cluster::api::Cause;

/// Why leadership ends, or ended.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Ending {
    /// The node said so, and why.
    Told(Cause),
    /// Its deadline passed without a renewal.
    Deadline,
    /// The connection to the node ended.
    NodeGone,
}

impl fmt::Display for Ending {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Ending::Deadline => "no renewal came before the deadline",
            Ending::NodeGone => "the connection to the node ended",
            Ending::Told(cause) => cause_in_words(*cause),
        })
    }
}

/// A cause as part of a sentence on who held an office before.
pub(crate) fn cause_in_words(cause: Cause) -> &'static str {
    match cause {
        Cause::Vacant => "nobody held it",
        Cause::Disconnected => "the connection to its holder ended",
        Cause::Silent => "its holder was silent for too long",
        Cause::Expired => "the lease of its holder ran out",
        Cause::Resigned => "its holder resigned",
        Cause::Left => "its holder left in good order",
        Cause::Preempted => "somebody better was there",
        Cause::Transferred => "an operator said so",
        Cause::Unwell => "its holder was not well",
        Cause::Removed => "its holder was removed from the cluster",
        Cause::Elected => "elected, without an arbiter",
        Cause::OtherMode => "it is not of the kind that was asked for",
    }
}
