//! Opens a store.

use std::path::Path;

use super::backup::MARKER;
use super::files::{Files, Folder, MAX_FILE_BYTES};
use super::header::Identity;
use super::log::{LOG, Store};
use super::raft_storage::RaftStorage;
use super::state::State;
use super::{Recovered, StoreError, StoreOwner, blobs, block, record};

pub(super) const HEADER: &str = "header";
const NEW_HEADER: &str = "header.new";
/// Names that the folder of a new store may contain.
const IGNORED_NAMES: [&str; 2] = ["lock", "lost+found"];

impl Store {
    /// Opens the store in a folder, or creates one if the folder is empty or missing.
    ///
    /// Everything that is recovered is durable, including writes that were not yet durable before a crash.
    pub(crate) fn open(folder: &Path, owner: &StoreOwner) -> Result<(Store, Recovered), StoreError> {
        Store::open_in(Box::new(Folder::open(folder)?), folder, owner)
    }

    pub(super) fn open_in(
        files: Box<dyn Files>,
        folder: &Path,
        owner: &StoreOwner,
    ) -> Result<(Store, Recovered), StoreError> {
        let names = files.names().map_err(StoreError::io("list", folder))?;
        let exists = |name: &str| names.iter().any(|known| known == name);
        if exists(MARKER) {
            return Err(StoreError::Backup { folder: folder.to_path_buf() });
        }
        if exists(HEADER) {
            return reopen(files, folder, owner);
        }
        // The header gets its final name last, so a folder with an unfinished header never belonged to a running node.
        if exists(NEW_HEADER) {
            return create(files, folder, owner);
        }
        if exists(LOG) {
            return Err(missing(folder, HEADER, "the header that belongs to the log"));
        }
        match names.iter().find(|name| !IGNORED_NAMES.contains(&name.as_str())) {
            Some(name) => Err(StoreError::NotAStore { folder: folder.to_path_buf(), name: name.clone() }),
            None => create(files, folder, owner),
        }
    }
}

fn missing(folder: &Path, name: &str, expected: &str) -> StoreError {
    StoreError::Corrupt {
        file: folder.join(name),
        offset: 0,
        expected: expected.to_string(),
        found: "no such file".to_string(),
    }
}

fn create(files: Box<dyn Files>, folder: &Path, owner: &StoreOwner) -> Result<(Store, Recovered), StoreError> {
    let identity = Identity::new(owner, files.random().map_err(StoreError::io("generate an id for", folder))?);
    let state = State::default();
    let store = write_both(files, folder, &identity, &state)?;
    Ok((store, Recovered { storage: RaftStorage::new(state), identity, is_new: true, torn_at: None }))
}

fn reopen(files: Box<dyn Files>, folder: &Path, owner: &StoreOwner) -> Result<(Store, Recovered), StoreError> {
    let Contents { identity, state, torn_at } = load(&*files, folder)?;
    identity.check_owner(folder, owner)?;
    let store = write_both(files, folder, &identity, &state)?;
    Ok((store, Recovered { storage: RaftStorage::new(state), identity, is_new: false, torn_at }))
}

/// Writes header and log to new files. What was read may exist only in the page cache, or be what a failed sync left
/// there, so nothing may rely on it before it is durable. That also removes a torn batch and unfinished new files.
fn write_both(files: Box<dyn Files>, folder: &Path, identity: &Identity, state: &State) -> Result<Store, StoreError> {
    let new_header = folder.join(NEW_HEADER);
    let mut header = files.create(NEW_HEADER).map_err(StoreError::io("create", &new_header))?;
    header.write_at(0, &identity.encode()?).map_err(StoreError::io("write", &new_header))?;
    header.sync().map_err(StoreError::io("sync", &new_header))?;
    files.sync().map_err(StoreError::io("sync", folder))?;
    let mut store = Store::new(files, folder.to_path_buf(), identity.clone(), state.clone());
    store.rewrite()?;
    store.files.rename(NEW_HEADER, HEADER).map_err(StoreError::io("rename", &new_header))?;
    store.files.sync().map_err(StoreError::io("sync", folder))?;
    Ok(store)
}

/// The contents of a store's files.
pub(crate) struct Contents {
    pub(super) identity: Identity,
    pub(super) state: State,
    /// Where in the log a crash interrupted a write.
    pub(super) torn_at: Option<u64>,
}

impl Contents {
    /// The raft state, in memory.
    pub(crate) fn storage(&self) -> RaftStorage {
        RaftStorage::new(self.state.clone())
    }
}

/// Reads the files of a store, and changes nothing.
pub(super) fn load(files: &dyn Files, folder: &Path) -> Result<Contents, StoreError> {
    let read = |name: &str| files.read(name).map_err(StoreError::io("read", &folder.join(name)));
    let mut contents = decode(folder, read)?;
    let names = files.names().map_err(StoreError::io("list", folder))?;
    contents.state.blobs = blobs::read_all(names, read)?;
    Ok(contents)
}

/// Decodes the files of a store.
pub(super) fn decode(
    folder: &Path,
    read: impl Fn(&str) -> Result<Option<Vec<u8>>, StoreError>,
) -> Result<Contents, StoreError> {
    let (header, log) = (folder.join(HEADER), folder.join(LOG));
    let bytes = read(HEADER)?.ok_or_else(|| missing(folder, HEADER, "the header"))?;
    let identity = Identity::decode(&bytes, &header)?;
    let bytes = read(LOG)?.ok_or_else(|| missing(folder, LOG, "the log that belongs to the header"))?;
    let corrupt = |offset, expected, found| StoreError::Corrupt { file: log.clone(), offset, expected, found };
    if bytes.len() as u64 > MAX_FILE_BYTES {
        return Err(corrupt(MAX_FILE_BYTES, "the end of the file".to_string(), "more data".to_string()));
    }
    let found =
        block::scan(&bytes, identity.salt()).map_err(|damage| corrupt(damage.offset, damage.expected, damage.found))?;
    let at = |block: usize| (block * block::BLOCK) as u64;
    let state = record::replay(&found.batches, &identity)
        .map_err(|(batch, problem)| corrupt(at(found.starts[batch]), "a valid batch".to_string(), problem))?;
    Ok(Contents { identity, state, torn_at: found.torn.map(at) })
}
