//! What the raft library wants done.

use bytes::Bytes;
use hustings_protocol::Id;
use raft::eraftpb::ConfChangeV2;

use crate::store::Write;
use crate::wire::RaftMessage;

/// Something that is committed and must be applied: an entry, or a snapshot with the place of its last entry.
pub(crate) struct Committed {
    pub(crate) place: Place,
    pub(crate) change: CommittedChange,
}

/// The place of an entry: its log index and its term. There is at most one entry in each.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub(crate) struct Place {
    pub(crate) index: u64,
    pub(crate) term: u64,
}

/// What something committed does.
pub(crate) enum CommittedChange {
    /// A command.
    Command(Bytes),
    /// A membership change, with its context.
    Membership(ConfChangeV2, Vec<u8>),
    /// A snapshot, which replaces the whole state.
    Snapshot(Vec<u8>),
    /// A membership change that cannot be parsed.
    Malformed,
    /// Nothing, such as the first entry of a leader's term.
    Empty,
}

/// What the library wants done.
#[derive(Default)]
pub(crate) struct Ready {
    pub(crate) messages: Vec<(Id, RaftMessage)>,
    pub(crate) writes: Vec<Write>,
    pub(crate) committed: Vec<Committed>,
}

impl Ready {
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.is_empty() && self.writes.is_empty() && self.committed.is_empty()
    }
}
