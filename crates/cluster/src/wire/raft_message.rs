//! The raft library's messages, as types of this crate.

use std::time::Duration;

use bytes::Bytes;
use protobuf::ProtobufEnum;
use raft::eraftpb;
use serde::{Deserialize, Serialize};

/// The maximum size of a membership change, which the library parses recursively.
const MAX_CONF_CHANGE_BYTES: usize = 1024;

/// The maximum term and log index. Arithmetic on them never overflows.
pub(crate) const MAX_INDEX: u64 = 1 << 62;

/// A message of the raft library, without sender and receiver, which the connection determines.
#[derive(Clone, PartialEq, Debug, Serialize, Deserialize)]
pub(crate) struct RaftMessage {
    kind: u8,
    term: u64,
    log_term: u64,
    index: u64,
    entries: Vec<LogEntry>,
    commit: u64,
    commit_term: u64,
    snapshot: Option<Box<LogSnapshot>>,
    request_snapshot: u64,
    reject: bool,
    reject_hint: u64,
    context: Vec<u8>,
    priority: i64,
    /// In a granted vote: how long ago the voter last supported a leader's lease round, in microseconds.
    lease_age_us: Option<u64>,
}

/// A log entry.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct LogEntry {
    /// 0 for a command; 1 and 2 for membership changes.
    kind: u8,
    /// The term in which it was proposed.
    term: u64,
    /// Its log index.
    index: u64,
    /// Its content.
    #[serde(with = "crate::byte_string")]
    data: Bytes,
    /// Additional data of a membership change.
    context: Vec<u8>,
}

/// A snapshot of the replicated state.
#[derive(Clone, PartialEq, Eq, Debug, Default, Serialize, Deserialize)]
struct LogSnapshot {
    /// The encoded state.
    data: Vec<u8>,
    /// The index of the last entry that it includes.
    index: u64,
    /// The term of that entry.
    term: u64,
    /// The ids of the voters.
    voters: Vec<u64>,
    /// The ids of the learners.
    learners: Vec<u64>,
    /// The voters before a membership change in progress.
    voters_outgoing: Vec<u64>,
    /// The learners after it.
    learners_next: Vec<u64>,
    /// Whether the change completes by itself.
    auto_leave: bool,
}

impl From<&eraftpb::Entry> for LogEntry {
    fn from(entry: &eraftpb::Entry) -> Self {
        LogEntry {
            kind: entry.get_entry_type().value() as u8,
            term: entry.term,
            index: entry.index,
            data: entry.data.clone(),
            context: entry.context.to_vec(),
        }
    }
}

impl LogEntry {
    /// Converts the entry; `None` if it is invalid.
    fn to_raft(&self) -> Option<eraftpb::Entry> {
        let mut entry = eraftpb::Entry::default();
        let kind = eraftpb::EntryType::from_i32(self.kind.into())?;
        if kind != eraftpb::EntryType::EntryNormal && self.data.len() > MAX_CONF_CHANGE_BYTES {
            return None;
        }
        entry.set_entry_type(kind);
        entry.term = self.term;
        entry.index = self.index;
        entry.data = self.data.clone();
        entry.context = self.context.clone().into();
        Some(entry)
    }
}

impl From<&eraftpb::Snapshot> for LogSnapshot {
    fn from(snapshot: &eraftpb::Snapshot) -> Self {
        let meta = snapshot.get_metadata();
        let conf = meta.get_conf_state();
        LogSnapshot {
            data: snapshot.data.to_vec(),
            index: meta.index,
            term: meta.term,
            voters: conf.voters.clone(),
            learners: conf.learners.clone(),
            voters_outgoing: conf.voters_outgoing.clone(),
            learners_next: conf.learners_next.clone(),
            auto_leave: conf.auto_leave,
        }
    }
}

impl LogSnapshot {
    /// Whether the library can handle the snapshot in a message of this term.
    fn is_valid(&self, term: u64) -> bool {
        let mut all: Vec<u64> = self.voters.iter().chain(&self.learners).copied().collect();
        let count = all.len();
        all.sort_unstable();
        all.dedup();
        let has_valid_position = self.index > 0 && self.index <= MAX_INDEX && self.term > 0 && self.term <= term;
        // Membership changes add or remove one member at a time, so a snapshot is never taken in the middle of one.
        let has_simple_conf = self.voters_outgoing.is_empty() && self.learners_next.is_empty();
        has_valid_position && has_simple_conf && !self.voters.is_empty() && all.len() == count && !all.contains(&0)
    }

    /// Converts the snapshot.
    fn to_raft(&self) -> eraftpb::Snapshot {
        let mut snapshot = eraftpb::Snapshot { data: self.data.clone().into(), ..Default::default() };
        let meta = snapshot.mut_metadata();
        meta.index = self.index;
        meta.term = self.term;
        let conf = meta.mut_conf_state();
        conf.voters = self.voters.clone();
        conf.learners = self.learners.clone();
        conf.voters_outgoing = self.voters_outgoing.clone();
        conf.learners_next = self.learners_next.clone();
        conf.auto_leave = self.auto_leave;
        snapshot
    }
}

impl From<&eraftpb::Message> for RaftMessage {
    fn from(message: &eraftpb::Message) -> Self {
        RaftMessage {
            kind: message.get_msg_type().value() as u8,
            term: message.term,
            log_term: message.log_term,
            index: message.index,
            entries: message.entries.iter().map(LogEntry::from).collect(),
            commit: message.commit,
            commit_term: message.commit_term,
            snapshot: message.has_snapshot().then(|| Box::new(LogSnapshot::from(message.get_snapshot()))),
            request_snapshot: message.request_snapshot,
            reject: message.reject,
            reject_hint: message.reject_hint,
            context: message.context.to_vec(),
            priority: message.priority,
            lease_age_us: None,
        }
    }
}

impl RaftMessage {
    /// The type of the message; `None` if the library does not know it.
    pub(super) fn message_type(&self) -> Option<eraftpb::MessageType> {
        eraftpb::MessageType::from_i32(self.kind.into())
    }

    /// The sender's term.
    pub(crate) fn term(&self) -> u64 {
        self.term
    }

    /// If this message grants a vote (never a pre-vote): the term of the vote.
    pub(crate) fn granted_vote(&self) -> Option<u64> {
        let is_vote = self.kind == eraftpb::MessageType::MsgRequestVoteResponse.value() as u8;
        (is_vote && !self.reject).then_some(self.term)
    }

    /// The data of the snapshot in this message, if it has one.
    pub(crate) fn snapshot_data(&self) -> Option<&[u8]> {
        self.snapshot.as_ref().map(|snapshot| snapshot.data.as_slice())
    }

    /// The same message with the age of the voter's last support for a leader's lease round.
    pub(crate) fn with_lease_age(self, age: Duration) -> Self {
        RaftMessage { lease_age_us: u64::try_from(age.as_micros()).ok(), ..self }
    }

    /// The age of the voter's last support for a leader's lease round; zero if the voter did not say.
    pub(crate) fn lease_age(&self) -> Duration {
        Duration::from_micros(self.lease_age_us.unwrap_or(0))
    }

    /// Converts the message; `None` if it is invalid, or of a kind that peers do not send.
    pub(crate) fn to_raft(&self, from: u64, to: u64) -> Option<eraftpb::Message> {
        let kind = eraftpb::MessageType::from_i32(self.kind.into()).filter(|kind| may_come_from_peer(*kind))?;
        let mut message = eraftpb::Message::default();
        message.set_msg_type(kind);
        message.from = from;
        message.to = to;
        message.term = self.term;
        message.log_term = self.log_term;
        message.index = self.index;
        message.entries = self.entries.iter().map(LogEntry::to_raft).collect::<Option<Vec<_>>>()?.into();
        message.commit = self.commit;
        message.commit_term = self.commit_term;
        if let Some(snapshot) = &self.snapshot {
            message.set_snapshot(snapshot.to_raft());
        }
        message.request_snapshot = self.request_snapshot;
        message.reject = self.reject;
        message.reject_hint = self.reject_hint;
        message.context = self.context.clone().into();
        message.priority = self.priority;
        let numbers = [self.term, self.log_term, self.index, self.commit, self.commit_term, self.reject_hint];
        if numbers.into_iter().any(|number| number > MAX_INDEX) || self.log_term > self.term {
            return None;
        }
        // No member of this version asks for a snapshot by itself.
        if self.request_snapshot != 0 {
            return None;
        }
        // Only the position before the first entry has term 0.
        if kind == eraftpb::MessageType::MsgAppend && (self.log_term == 0) != (self.index == 0) {
            return None;
        }
        if kind == eraftpb::MessageType::MsgSnapshot
            && !self.snapshot.as_ref().is_some_and(|one| one.is_valid(self.term))
        {
            return None;
        }
        // The library panics on a gap between entries, and on an entry of a later term.
        let mut positions = (self.index.checked_add(1)?..).zip(&message.entries);
        (self.term > 0 && positions.all(|(index, entry)| entry.index == index && entry.term <= self.term))
            .then_some(message)
    }
}

/// The library's heartbeats are carried by our own. Local messages and read requests never come from peers.
fn may_come_from_peer(kind: eraftpb::MessageType) -> bool {
    use eraftpb::MessageType::*;
    matches!(
        kind,
        MsgAppend
            | MsgAppendResponse
            | MsgRequestVote
            | MsgRequestVoteResponse
            | MsgSnapshot
            | MsgTimeoutNow
            | MsgRequestPreVote
            | MsgRequestPreVoteResponse
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    /// An append message with two entries.
    fn append() -> RaftMessage {
        let entry = |index, term| LogEntry { kind: 0, term, index, data: vec![1].into(), context: Vec::new() };
        let mut message = eraftpb::Message { term: 5, log_term: 4, index: 7, commit: 6, ..Default::default() };
        message.set_msg_type(eraftpb::MessageType::MsgAppend);
        RaftMessage { entries: vec![entry(8, 4), entry(9, 5)], ..RaftMessage::from(&message) }
    }

    fn with_snapshot(snapshot: LogSnapshot) -> RaftMessage {
        let mut message = eraftpb::Message { term: 5, ..Default::default() };
        message.set_msg_type(eraftpb::MessageType::MsgSnapshot);
        RaftMessage { snapshot: Some(Box::new(snapshot)), ..RaftMessage::from(&message) }
    }

    fn snapshot() -> LogSnapshot {
        LogSnapshot { index: 9, term: 5, voters: vec![1, 2], learners: vec![3], ..LogSnapshot::default() }
    }

    fn is_accepted(message: &RaftMessage) -> bool {
        message.to_raft(1, 2).is_some()
    }

    #[test]
    fn rejects_numbers_that_overflow_or_contradict_each_other() {
        assert!(is_accepted(&append()));
        assert!(is_accepted(&RaftMessage { commit: MAX_INDEX, commit_term: MAX_INDEX, ..append() }));
        let corruptions: [fn(&mut RaftMessage); 13] = [
            |message| message.term = MAX_INDEX + 1,
            |message| (message.term, message.log_term) = (MAX_INDEX + 2, MAX_INDEX + 1),
            |message| (message.index, message.entries) = (MAX_INDEX + 1, Vec::new()),
            |message| (message.index, message.entries) = (u64::MAX, Vec::new()),
            |message| message.commit = MAX_INDEX + 1,
            |message| message.commit_term = MAX_INDEX + 1,
            |message| message.reject_hint = MAX_INDEX + 1,
            |message| message.log_term = 6,
            |message| message.log_term = 0,
            |message| (message.index, message.entries) = (0, Vec::new()),
            |message| message.entries[1].index = 10,
            |message| message.entries[1].term = 6,
            |message| (message.term, message.log_term, message.index) = (0, 0, 0),
        ];
        for (number, corrupt) in corruptions.into_iter().enumerate() {
            let mut message = append();
            corrupt(&mut message);
            assert!(!is_accepted(&message), "{number}: {message:?}");
        }
    }

    #[test]
    fn rejects_snapshots_that_the_library_cannot_handle() {
        assert!(is_accepted(&with_snapshot(snapshot())));
        assert!(!is_accepted(&RaftMessage { snapshot: None, ..with_snapshot(snapshot()) }));
        let corruptions: [fn(&mut LogSnapshot); 10] = [
            |snapshot| snapshot.index = 0,
            |snapshot| snapshot.index = MAX_INDEX + 1,
            |snapshot| snapshot.term = 0,
            |snapshot| snapshot.term = 6,
            |snapshot| snapshot.voters.clear(),
            |snapshot| snapshot.voters = vec![1, 1],
            |snapshot| snapshot.learners = vec![2],
            |snapshot| snapshot.voters = vec![0, 1],
            |snapshot| snapshot.voters_outgoing = vec![1],
            |snapshot| snapshot.learners_next = vec![1],
        ];
        for (number, corrupt) in corruptions.into_iter().enumerate() {
            let mut corrupted = snapshot();
            corrupt(&mut corrupted);
            assert!(!is_accepted(&with_snapshot(corrupted)), "{number}");
        }
    }
}
