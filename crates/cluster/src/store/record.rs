//! The encoding of hard state, entries and snapshots on disk: our own structs in postcard. No byte of a file reaches
//! the raft library's protobuf parser.

use std::fmt;

use bytes::Bytes;
use hustings_protocol::Id;
use raft::eraftpb::{ConfState, Entry, EntryType, HardState, Snapshot};
use serde::de::Visitor;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::state::State;
use super::{Identity, KnownDisk, KnownDisks, StoreError, Write};

/// The most bytes of entries in one batch of a new file; a single larger entry gets its own batch.
const CHUNK: usize = 4 << 20;

/// A record in a batch.
#[derive(Serialize, Deserialize)]
enum Record {
    /// The identity of the store. The first record of a file, and only that.
    Owner(Identity),
    /// The beginning of the log: index and term of the last compacted entry, and the snapshot. The second record of a
    /// file. `batches` is the number of batches that the file had when it got its name.
    Base { batches: u64, index: u64, term: u64, snapshot: SavedSnapshot },
    /// Entries, which replace everything from the first of them on.
    Entries(Vec<SavedEntry>),
    /// The hard state, which replaces the previous one.
    Vote { term: u64, vote: u64, commit: u64 },
    /// What is known of other members' disks, which replaces what was known before.
    Disks(Vec<(Id, KnownDisk)>),
    /// A member has refused this disk as an older copy, in this process.
    Refused(u64),
}

#[derive(Serialize, Deserialize)]
struct SavedEntry {
    kind: u8,
    term: u64,
    index: u64,
    data: Blob,
    context: Blob,
}

#[derive(Serialize, Deserialize)]
struct SavedSnapshot {
    index: u64,
    term: u64,
    voters: Vec<u64>,
    learners: Vec<u64>,
    voters_outgoing: Vec<u64>,
    learners_next: Vec<u64>,
    auto_leave: bool,
    data: Blob,
}

/// Bytes that are written and read as one block.
struct Blob(Bytes);

impl Serialize for Blob {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_bytes(&self.0)
    }
}

impl<'de> Deserialize<'de> for Blob {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Read;
        impl Visitor<'_> for Read {
            type Value = Blob;
            fn expecting(&self, f: &mut fmt::Formatter) -> fmt::Result {
                f.write_str("bytes")
            }
            fn visit_bytes<E>(self, bytes: &[u8]) -> Result<Blob, E> {
                Ok(Blob(Bytes::copy_from_slice(bytes)))
            }
        }
        deserializer.deserialize_bytes(Read)
    }
}

impl From<&Entry> for SavedEntry {
    fn from(entry: &Entry) -> Self {
        SavedEntry {
            kind: match entry.entry_type {
                EntryType::EntryNormal => 0,
                EntryType::EntryConfChange => 1,
                EntryType::EntryConfChangeV2 => 2,
            },
            term: entry.term,
            index: entry.index,
            data: Blob(entry.data.clone()),
            context: Blob(entry.context.clone()),
        }
    }
}

impl SavedEntry {
    fn restore(self) -> Result<Entry, String> {
        let mut entry = Entry::new();
        entry.entry_type = match self.kind {
            0 => EntryType::EntryNormal,
            1 => EntryType::EntryConfChange,
            2 => EntryType::EntryConfChangeV2,
            other => return Err(format!("an entry of unknown kind {other}")),
        };
        entry.term = self.term;
        entry.index = self.index;
        entry.data = self.data.0;
        entry.context = self.context.0;
        Ok(entry)
    }
}

impl From<&Snapshot> for SavedSnapshot {
    fn from(snapshot: &Snapshot) -> Self {
        let metadata = snapshot.get_metadata();
        let conf_state = metadata.get_conf_state();
        SavedSnapshot {
            index: metadata.index,
            term: metadata.term,
            voters: conf_state.voters.clone(),
            learners: conf_state.learners.clone(),
            voters_outgoing: conf_state.voters_outgoing.clone(),
            learners_next: conf_state.learners_next.clone(),
            auto_leave: conf_state.auto_leave,
            data: Blob(snapshot.data.clone()),
        }
    }
}

impl SavedSnapshot {
    fn restore(self) -> Snapshot {
        let mut conf_state = ConfState::new();
        conf_state.voters = self.voters;
        conf_state.learners = self.learners;
        conf_state.voters_outgoing = self.voters_outgoing;
        conf_state.learners_next = self.learners_next;
        conf_state.auto_leave = self.auto_leave;
        let mut snapshot = Snapshot::new();
        snapshot.data = self.data.0;
        // An empty field stays absent: the raft library distinguishes the two.
        if self.index > 0 || self.term > 0 || conf_state != ConfState::new() {
            let metadata = snapshot.mut_metadata();
            metadata.index = self.index;
            metadata.term = self.term;
            if conf_state != ConfState::new() {
                metadata.set_conf_state(conf_state);
            }
        }
        snapshot
    }
}

fn vote(hard_state: &HardState) -> Record {
    Record::Vote { term: hard_state.term, vote: hard_state.vote, commit: hard_state.commit }
}

fn disks(known: &KnownDisks) -> Record {
    Record::Disks(known.iter().map(|(id, disk)| (*id, *disk)).collect())
}

fn encode(records: impl IntoIterator<Item = Record>) -> Result<Vec<u8>, StoreError> {
    let encode_error = |error| StoreError::OutOfOrder(format!("cannot encode the record: {error}"));
    records.into_iter().try_fold(Vec::new(), |bytes, record| postcard::to_extend(&record, bytes).map_err(encode_error))
}

/// Encodes the complete state as the first batches of a new file.
pub(super) fn encode_all(identity: &Identity, state: &State) -> Result<Vec<Vec<u8>>, StoreError> {
    let (mut chunks, mut room) = (Vec::new(), 0);
    for entry in &state.entries {
        // The integers and lengths of an entry take up to forty bytes.
        let bytes = 40 + entry.data.len() + entry.context.len();
        if bytes > room {
            chunks.push(Vec::new());
            room = CHUNK;
        }
        room = room.saturating_sub(bytes);
        if let Some(chunk) = chunks.last_mut() {
            chunk.push(SavedEntry::from(entry));
        }
    }
    let base = Record::Base {
        batches: chunks.len() as u64 + 2,
        index: state.compacted.0,
        term: state.compacted.1,
        snapshot: (&state.snapshot).into(),
    };
    let mut batches = vec![encode([Record::Owner(identity.clone()), base])?];
    for chunk in chunks {
        batches.push(encode([Record::Entries(chunk)])?);
    }
    let known = (!state.disks.is_empty()).then(|| disks(&state.disks));
    let last = [vote(&state.hard_state)].into_iter().chain(known).chain(state.refused_as.map(Record::Refused));
    batches.push(encode(last)?);
    Ok(batches)
}

/// Encodes writes without snapshots as one batch; empty if they change nothing.
pub(super) fn encode_writes<'a>(writes: impl Iterator<Item = &'a Write>) -> Result<Vec<u8>, StoreError> {
    encode(writes.flat_map(|write| {
        let entries =
            (!write.entries.is_empty()).then(|| Record::Entries(write.entries.iter().map(SavedEntry::from).collect()));
        let known = write.disks.as_ref().map(disks).into_iter().chain(write.refused_as.map(Record::Refused));
        entries.into_iter().chain(write.hard_state.as_ref().map(vote)).chain(known)
    }))
}

/// Decodes the batches of a file. The error names the first invalid batch and what is wrong with it.
pub(super) fn replay(batches: &[Vec<u8>], identity: &Identity) -> Result<State, (usize, String)> {
    let mut replay = Replay { identity, state: State::default(), base: u64::MAX };
    for (place, batch) in batches.iter().enumerate() {
        let mut rest = batch.as_slice();
        let mut count = 0;
        while !rest.is_empty() {
            let (record, after) = postcard::take_from_bytes::<Record>(rest)
                .map_err(|error| (place, format!("an undecodable record ({error})")))?;
            replay.take(record, place, count).map_err(|found| (place, found))?;
            rest = after;
            count += 1;
        }
        // The hard state is the last batch of a new file. Before it, the commit index may be beyond the log.
        if place as u64 + 1 >= replay.base {
            replay.state.check_commit().map_err(|error| (place, error.to_string()))?;
        }
    }
    match batches.len() as u64 >= replay.base {
        true => Ok(replay.state),
        false => Err((0, format!("only {} of {} initial batches", batches.len(), replay.base))),
    }
}

struct Replay<'a> {
    identity: &'a Identity,
    state: State,
    /// How many batches the file had when it got its name.
    base: u64,
}

impl Replay<'_> {
    /// Applies a record: the `count`th of its batch.
    fn take(&mut self, record: Record, place: usize, count: usize) -> Result<(), String> {
        match (record, place, count) {
            (Record::Owner(owner), 0, 0) if owner == *self.identity => {}
            (Record::Owner(owner), 0, 0) => return Err(format!("the log of {owner}")),
            (Record::Base { batches, index, term, snapshot }, 0, 1) => {
                self.base = batches;
                self.state = State::begin(snapshot.restore(), (index, term)).map_err(|error| error.to_string())?;
            }
            (Record::Entries(entries), 1.., _) => {
                let entries = entries.into_iter().map(SavedEntry::restore).collect::<Result<Vec<_>, _>>()?;
                self.state.append(&entries).map_err(|error| error.to_string())?;
            }
            (Record::Vote { term, vote, commit }, 1.., _) => {
                self.state.hard_state.term = term;
                self.state.hard_state.vote = vote;
                self.state.hard_state.commit = commit;
            }
            (Record::Disks(known), 1.., _) => self.state.disks = known.into_iter().collect(),
            (Record::Refused(incarnation), 1.., _) => self.state.refused_as = Some(incarnation),
            _ => return Err("records in the wrong order".to_string()),
        }
        Ok(())
    }
}
