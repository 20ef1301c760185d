//! What the raft library wants done.

use bytes::Bytes;
use hustings_protocol::Id;
use raft::eraftpb::ConfChangeV2;

use crate::store::Write;
use crate::wire::RaftMessage;

/// Something that is committed and must be applied.
pub(crate) enum Committed {
    /// A command, with its log index.
    Command(u64, Bytes),
    /// A membership change, with its log index and its context.
    Membership(u64, ConfChangeV2, Vec<u8>),
    /// A snapshot, which replaces the whole state, with the index of its last entry.
    Snapshot(u64, Vec<u8>),
    /// The entry at this index is a membership change that cannot be parsed.
    Malformed(u64),
    /// An entry without effect, such as the first entry of a leader's term.
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
