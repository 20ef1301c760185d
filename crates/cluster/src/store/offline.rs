//! The store of a node that does not run: for commands that inspect or replace it.

use std::path::{Path, PathBuf};

use hustings_protocol::Id;
use raft::eraftpb::{HardState, Snapshot};

use super::backup::MARKER;
use super::files::{Files, Folder};
use super::header::Identity;
use super::log::{LOG, Store};
use super::open::{Contents, HEADER, load};
use super::raft_storage::RaftStorage;
use super::state::State;
use super::{BlobWrite, StoreError, StoreOwner, Write};

/// What the log was before it was replaced.
const BACKUP: &str = "log.backup";
const NEW_BACKUP: &str = "log.backup.new";
/// How many backups a folder may hold.
const MAX_BACKUPS: usize = 1000;

/// A store that is locked and read. Reading changes nothing in the folder, apart from the lock file.
pub(crate) struct OfflineStore {
    files: Box<dyn Files>,
    folder: PathBuf,
    contents: Contents,
}

impl OfflineStore {
    /// Opens the store in a folder. It fails while a node uses the folder.
    pub(crate) fn open(folder: &Path) -> Result<Self, StoreError> {
        if !folder.join(HEADER).exists() && !folder.join(LOG).exists() {
            return Err(StoreError::Missing { folder: folder.to_path_buf() });
        }
        OfflineStore::open_in(Box::new(Folder::open_existing(folder)?), folder)
    }

    pub(super) fn open_in(files: Box<dyn Files>, folder: &Path) -> Result<Self, StoreError> {
        let contents = load(&*files, folder)?;
        Ok(OfflineStore { files, folder: folder.to_path_buf(), contents })
    }

    /// The identity of the store.
    pub(crate) fn identity(&self) -> &Identity {
        &self.contents.identity
    }

    /// Checks that the store belongs to this node of this cluster.
    pub(crate) fn check_owner(&self, cluster: &str, id: Id) -> Result<(), StoreError> {
        self.contents.identity.check_owner(&self.folder, &StoreOwner { cluster: cluster.to_string(), id })
    }

    /// The raft state, in memory.
    pub(crate) fn storage(&self) -> RaftStorage {
        RaftStorage::new(self.contents.state.clone())
    }

    /// Where in the log a crash interrupted a write, which was never acknowledged.
    pub(crate) fn torn_at(&self) -> Option<u64> {
        self.contents.torn_at
    }

    /// Whether nothing was ever written to the store: no vote, no entry, no snapshot.
    pub(crate) fn is_blank(&self) -> bool {
        self.contents.state == State::default()
    }

    /// Whether the store holds more than terms and votes: entries or a snapshot, or that it was refused.
    pub(crate) fn has_received(&self) -> bool {
        let state = &self.contents.state;
        state.last_index() > 0 || state.snapshot.get_metadata().index > 0 || state.refused_as.is_some()
    }

    /// Replaces the whole log by a snapshot and a hard state. The old log, unless it is blank, stays in the folder
    /// under the name that is returned. After a crash, the folder holds either the old state or the new one.
    ///
    /// Blobs stay, and get the pieces that only the old log had.
    pub(crate) fn replace(
        self,
        snapshot: Snapshot,
        hard_state: HardState,
        pieces: Vec<BlobWrite>,
    ) -> Result<Option<PathBuf>, StoreError> {
        let backup = (!self.is_blank()).then(|| self.back_up()).transpose()?;
        let is_copy =
            self.files.names().map_err(StoreError::io("list", &self.folder))?.iter().any(|name| name == MARKER);
        let OfflineStore { files, folder, contents } = self;
        let state = State { blobs: contents.state.blobs, ..State::default() };
        let mut store = Store::new(files, folder, contents.identity, state);
        // The node may have been killed before it made them durable.
        store.write_all_blobs();
        let write = Write {
            number: 1,
            blobs: pieces,
            hard_state: Some(hard_state),
            snapshot: Some(snapshot),
            sync: true,
            ..Write::default()
        };
        store.write_all(&[write])?;
        if is_copy {
            // From here on it is the state of a node.
            store.remove(MARKER)?;
        }
        Ok(backup)
    }

    /// Copies the log to a name that is free.
    fn back_up(&self) -> Result<PathBuf, StoreError> {
        let names = self.files.names().map_err(StoreError::io("list", &self.folder))?;
        let mut free =
            (1..=MAX_BACKUPS).map(|number| format!("{BACKUP}-{number}")).filter(|name| !names.contains(name));
        let Some(name) = free.next() else {
            return Err(StoreError::TooManyBackups { folder: self.folder.clone(), count: MAX_BACKUPS });
        };
        let (log, new, path) = (self.folder.join(LOG), self.folder.join(NEW_BACKUP), self.folder.join(&name));
        let bytes = self.files.read(LOG).map_err(StoreError::io("read", &log))?.unwrap_or_default();
        let mut copy = self.files.create(NEW_BACKUP).map_err(StoreError::io("create", &new))?;
        copy.write_at(0, &bytes).map_err(StoreError::io("write", &new))?;
        copy.sync().map_err(StoreError::io("sync", &new))?;
        self.files.rename(NEW_BACKUP, &name).map_err(StoreError::io("rename", &new))?;
        self.files.sync().map_err(StoreError::io("sync", &self.folder))?;
        Ok(path)
    }
}
