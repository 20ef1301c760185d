//! Continues a cluster whose majority is lost for good, from the data folder of one member.
//!
//! A majority that is lost takes with it what it committed last, if the survivor had not received it yet. Nothing can
//! bring that back. What can be kept is the order of tokens, and that the holders of an exclusive office do not
//! overlap:
//!
//! - The survivor's whole log is applied, including entries of which it does not know that they are committed. That is
//!   what a leader does with them, too.
//! - A token is a log index, so the log continues far above its end: 2^40 above, or above the highest token
//!   that the operator knows of if that is higher. What the lost members granted is below.
//! - The survivor is the only voter of the new log, in a new term. The others are no members any more, so that none of
//!   them takes part if it comes back with an old disk.
//! - Offices keep their holders in the table. The arbiter's leader treats a holder that is not a member as lost, and
//!   lets its lease run its full length. Grants that the survivor never learnt of may concern any office, so the same
//!   wait applies to all offices, whatever their mode was or will be (`Table::recovered`).
//!
//! A cluster that had tokens of another origin, for instance from another arbiter, can begin its log above them:
//! [`begin`].

mod backup;

use std::path::{Path, PathBuf};

use hustings_protocol::Id;
use raft::eraftpb::{ConfState, HardState, Snapshot};
use raft::{GetEntriesContext, Storage};

use crate::config::{ArbiterKind, BootstrapError, Config};
use crate::core::table::{Command, EntryEffect, PieceEffect, Table, decode_entry};
use crate::core::{StartError, initial_conf_state, stored_table};
use crate::format::HIGHEST;
use crate::member::{Member, Role};
use crate::store::{BlobWrite, OfflineStore, RaftStorage, Store, StoreError, StoreOwner};

pub use self::backup::back_up;

/// How far above the end of the survivor's log the new log begins. Lost members cannot have written as many entries
/// that the survivor did not receive: it would take them years.
pub(crate) const INDEX_GAP: u64 = 1 << 40;
/// The highest index at which a recovered log may begin.
pub(crate) const MAX_TOKEN_FLOOR: u64 = 1 << 61;

/// A recovered cluster begins with the first term again above this one. No other member remembers a later one.
const MAX_TERM: u64 = 1 << 32;

/// What a data folder holds.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct FolderSummary {
    /// The name of the cluster.
    pub cluster: String,
    /// The node's id.
    pub node: Id,
    /// The term that the node was in.
    pub term: u64,
    /// The term of the last entry in its log.
    pub last_term: u64,
    /// The index of the last entry in its log.
    pub last_index: u64,
    /// The index up to which it knew entries to be committed.
    pub committed: u64,
    /// Where in the log a crash interrupted a write, which was never acknowledged.
    pub torn_at: Option<u64>,
}

/// What a recovery does, or did.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Recovery {
    /// What the folder held before.
    pub before: FolderSummary,
    /// The member that the cluster continues with.
    pub survivor: Member,
    /// The members that are removed.
    pub removed: Vec<Member>,
    /// The highest token in the survivor's table.
    pub highest_token: u64,
    /// All tokens from now on are greater.
    pub token_floor: u64,
    /// The new term.
    pub term: u64,
    /// The old log, if it was replaced.
    pub backup: Option<PathBuf>,
}

/// Why a folder cannot be inspected, copied or recovered. Nothing was changed.
#[derive(Debug, thiserror::Error)]
pub enum RecoverError {
    /// The folder cannot be read or written.
    #[error(transparent)]
    Store(Box<dyn std::error::Error + Send + Sync>),
    /// Another process uses the folder.
    #[error("{} is in use by another process", folder.display())]
    InUse {
        /// The folder.
        folder: PathBuf,
    },
    /// The folder for a copy cannot be created.
    #[error(transparent)]
    Folder(#[from] BootstrapError),
    /// The state can be read, but is not consistent.
    #[error("{}: the stored state is inconsistent: {error}", folder.display())]
    Inconsistent {
        /// The folder.
        folder: PathBuf,
        /// The error of the raft library.
        error: raft::Error,
    },
    /// A snapshot or entry has a format that this program does not know.
    #[error("{}: at log index {index}, {error}", folder.display())]
    Unreadable {
        /// The folder.
        folder: PathBuf,
        /// The index of the log entry, or of the last entry of the snapshot.
        index: u64,
        /// What is wrong with it.
        error: String,
    },
    /// A file with the state of an office is missing or damaged.
    #[error("{}: {error}", folder.display())]
    DamagedState {
        /// The folder.
        folder: PathBuf,
        /// What is wrong.
        error: String,
    },
    /// The log is empty.
    #[error(
        "{}: this node has never received anything from its cluster, so there is nothing to recover", folder.display()
    )]
    Blank {
        /// The folder.
        folder: PathBuf,
    },
    /// The node is not a voter of its cluster.
    #[error("`{name}` (id {id}) {why}: recover from the folder of a voter")]
    NotAVoter {
        /// The node's id.
        id: Id,
        /// Its name, as far as known.
        name: String,
        /// Why it is not a voter.
        why: &'static str,
    },
    /// The log is not empty, so it cannot begin.
    #[error("{}: this node has received entries before, so its log cannot begin again", folder.display())]
    NotBlank {
        /// The folder.
        folder: PathBuf,
    },
    /// The node joins a cluster that exists.
    #[error("{}: this node joins a cluster that exists, and receives its log from it", folder.display())]
    Joins {
        /// The folder.
        folder: PathBuf,
    },
    /// The cluster has no arbiter, and so no log.
    #[error("this node is configured with arbiter = \"none\", which keeps no log: set arbiter = \"raft\" first")]
    NoLog,
    /// The token floor is too high.
    #[error("tokens cannot begin above {floor}: a floor is a number from 1 to {MAX_TOKEN_FLOOR}")]
    FloorTooHigh {
        /// The floor that was asked for, or that follows from the log.
        floor: u64,
    },
}

/// Reads what a data folder holds, without changing it. It fails while a node uses the folder.
pub fn inspect(folder: &Path) -> Result<FolderSummary, RecoverError> {
    describe(&OfflineStore::open(folder)?, folder)
}

/// Plans to continue the cluster of this configuration with this node alone, with tokens above `token_floor`. Changes
/// nothing.
pub fn plan(config: &Config, token_floor: u64) -> Result<Recovery, RecoverError> {
    prepare(config, token_floor).map(|(_, recovery, ..)| recovery)
}

/// Continues the cluster of this configuration with this node alone, with tokens above `token_floor`. The data folder
/// is replaced atomically, and the old log stays in it as a backup.
pub fn recover(config: &Config, token_floor: u64) -> Result<Recovery, RecoverError> {
    let (store, recovery, table, pieces) = prepare(config, token_floor)?;
    let mut snapshot = Snapshot { data: table.encode().into(), ..Snapshot::default() };
    let metadata = snapshot.mut_metadata();
    (metadata.index, metadata.term) = (recovery.token_floor, recovery.term);
    metadata.set_conf_state(ConfState::from((vec![config.node.0], Vec::new())));
    let hard_state = HardState { term: recovery.term, commit: recovery.token_floor, ..HardState::default() };
    let backup = store.replace(snapshot, hard_state, pieces)?;
    Ok(Recovery { backup, ..recovery })
}

/// Begins the log of a new cluster above `token_floor`, with all members of this configuration. The node must never
/// have received anything. Every voter gets the same beginning, as without a floor. What the node has voted it keeps: a
/// first election may have failed because a voter was lost.
pub fn begin(config: &Config, token_floor: u64) -> Result<(), RecoverError> {
    let folder = || config.data.clone();
    if config.arbiter != ArbiterKind::Raft {
        return Err(RecoverError::NoLog);
    }
    if config.join {
        return Err(RecoverError::Joins { folder: folder() });
    }
    if !(1..=MAX_TOKEN_FLOOR).contains(&token_floor) {
        return Err(RecoverError::FloorTooHigh { floor: token_floor });
    }
    // Creates the store if there is none yet.
    drop(Store::open(&config.data, &StoreOwner { cluster: config.cluster.clone(), id: config.node })?);
    let store = OfflineStore::open(&config.data)?;
    if store.has_received() {
        return Err(RecoverError::NotBlank { folder: folder() });
    }
    let table = Table::with_members(&config.members);
    let mut snapshot = Snapshot { data: table.encode().into(), ..Snapshot::default() };
    (snapshot.mut_metadata().index, snapshot.mut_metadata().term) = (token_floor, 1);
    snapshot.mut_metadata().set_conf_state(initial_conf_state(config));
    let former =
        store.storage().initial_state().map_err(|error| RecoverError::Inconsistent { folder: folder(), error })?;
    let (term, vote) = (former.hard_state.term.max(1), former.hard_state.vote);
    let hard_state = HardState { term, vote, commit: token_floor, ..HardState::default() };
    store.replace(snapshot, hard_state, Vec::new())?;
    Ok(())
}

type Prepared = (OfflineStore, Recovery, Table, Vec<BlobWrite>);

fn prepare(config: &Config, token_floor: u64) -> Result<Prepared, RecoverError> {
    let folder = &config.data;
    let store = OfflineStore::open(folder)?;
    store.check_owner(&config.cluster, config.node)?;
    let before = describe(&store, folder)?;
    if before.last_index == 0 {
        return Err(RecoverError::Blank { folder: folder.clone() });
    }
    let replayed = replay(&store.storage(), &config.members);
    let (mut table, pieces) = replayed.map_err(|error| RecoverError::start(folder, error))?;
    let survivor = voter(&table, config.node)?;
    let removed = table.members.values().map(|known| known.member.clone()).filter(|member| member.id != config.node);
    let removed = removed.collect();
    let highest_token = table.offices.iter().map(|(_, office)| office.token).max().unwrap_or(0);
    let floor = before.last_index.saturating_add(INDEX_GAP).max(token_floor);
    if floor > MAX_TOKEN_FLOOR {
        return Err(RecoverError::FloorTooHigh { floor });
    }
    let term = before.term.max(before.last_term) + 1;
    // A term that no cluster reaches by itself was forged, and there may be none above it.
    let term = if term > MAX_TERM { 1 } else { term };
    table.recover(config.node);
    let recovery = Recovery { before, survivor, removed, highest_token, token_floor: floor, term, backup: None };
    Ok((store, recovery, table, pieces))
}

fn describe(store: &OfflineStore, folder: &Path) -> Result<FolderSummary, RecoverError> {
    let storage = store.storage();
    let inconsistent = |error| RecoverError::Inconsistent { folder: folder.to_path_buf(), error };
    let hard_state = storage.initial_state().map_err(inconsistent)?.hard_state;
    let last_index = storage.last_index().map_err(inconsistent)?;
    Ok(FolderSummary {
        cluster: store.identity().cluster.clone(),
        node: store.identity().id,
        term: hard_state.term,
        last_term: storage.term(last_index).map_err(inconsistent)?,
        last_index,
        committed: hard_state.commit,
        torn_at: store.torn_at(),
    })
}

/// The table after everything in the log, and the pieces of states that the log contains. `founders` are the members
/// that the cluster began with.
fn replay(storage: &RaftStorage, founders: &[Member]) -> Result<(Table, Vec<BlobWrite>), StartError> {
    let mut pieces = Vec::new();
    let mut table = stored_table(storage, HIGHEST)?.unwrap_or_else(|| Table::with_members(founders));
    let first = storage.latest_snapshot().get_metadata().index + 1;
    let entries = storage.entries(first, storage.last_index()? + 1, None, GetEntriesContext::empty(false))?;
    for entry in &entries {
        match decode_entry(entry, HIGHEST).map_err(|error| StartError::Unreadable { index: entry.index, error })? {
            EntryEffect::Empty => {}
            EntryEffect::Command(Command::StatePiece(piece)) => {
                if let PieceEffect::Appended { blob, .. } = table.receive_piece(entry.index, &piece) {
                    pieces.push(BlobWrite::Piece { blob, index: piece.index, data: piece.data });
                }
            }
            EntryEffect::Command(command) => _ = table.apply(entry.index, command),
            EntryEffect::Membership(change, member) => _ = table.apply_membership(&change, member),
        }
    }
    Ok((table, pieces))
}

/// The member that the cluster can continue with.
fn voter(table: &Table, id: Id) -> Result<Member, RecoverError> {
    let (name, why) = match table.member(id) {
        Some(member) if member.role == Role::Observer => (member.name.clone(), "is an observer, which does not vote"),
        Some(member) if table.members.get(&id).is_some_and(|known| known.is_joining) => {
            (member.name.clone(), "was still joining and does not vote yet")
        }
        Some(member) => return Ok(member.clone()),
        None => (format!("#{id}"), "was removed from its cluster"),
    };
    Err(RecoverError::NotAVoter { id, name, why })
}

impl From<StoreError> for RecoverError {
    fn from(error: StoreError) -> Self {
        match error {
            StoreError::Locked { folder } => RecoverError::InUse { folder },
            error => RecoverError::Store(error.into()),
        }
    }
}

impl RecoverError {
    fn start(folder: &Path, error: StartError) -> Self {
        let folder = folder.to_path_buf();
        match error {
            StartError::Raft(error) => RecoverError::Inconsistent { folder, error },
            StartError::Unreadable { index, error } => {
                RecoverError::Unreadable { folder, index, error: error.to_string() }
            }
            error @ StartError::DamagedState { .. } => RecoverError::DamagedState { folder, error: error.to_string() },
        }
    }
}

#[cfg(test)]
mod tests;
