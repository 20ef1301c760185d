//! From a folder to a store.

use std::path::Path;

use super::files::{FILE_LIMIT, Files, Folder};
use super::header::Identity;
use super::log::{LOG, Store};
use super::mirror::Mirror;
use super::state::State;
use super::{Recovered, StoreError, Who, block, record};

pub(super) const HEADER: &str = "header";
const NEW_HEADER: &str = "header.new";
/// What may lie in the folder of a new store.
const HARMLESS: [&str; 2] = ["lock", "lost+found"];

impl Store {
    /// Opens the store in a folder, or makes a new one if the folder is empty or not there.
    ///
    /// What is recovered is durable: also what had been written but not been made durable before a crash.
    pub fn open(folder: &Path, who: &Who) -> Result<(Store, Recovered), StoreError> {
        Store::open_in(Box::new(Folder::open(folder)?), folder, who)
    }

    pub(super) fn open_in(files: Box<dyn Files>, folder: &Path, who: &Who) -> Result<(Store, Recovered), StoreError> {
        let names = files.names().map_err(StoreError::io("list", folder))?;
        let there = |name: &str| names.iter().any(|known| known == name);
        if there(HEADER) {
            return reopen(files, folder, who);
        }
        // The header gets its name last. A folder with an unfinished one never belonged to a node that ran.
        if there(NEW_HEADER) {
            return create(files, folder, who);
        }
        if there(LOG) {
            return Err(missing(folder, HEADER, "the header of the log beside it"));
        }
        match names.iter().find(|name| !HARMLESS.contains(&name.as_str())) {
            Some(name) => Err(StoreError::NotAStore { folder: folder.to_path_buf(), name: name.clone() }),
            None => create(files, folder, who),
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

fn create(files: Box<dyn Files>, folder: &Path, who: &Who) -> Result<(Store, Recovered), StoreError> {
    let identity = Identity::draw(who).map_err(|error| StoreError::Io {
        action: "draw a number for",
        path: folder.to_path_buf(),
        source: error.into(),
    })?;
    let new_header = folder.join(NEW_HEADER);
    let mut header = files.create(NEW_HEADER).map_err(StoreError::io("create", &new_header))?;
    header.write_at(0, &identity.encode()?).map_err(StoreError::io("write", &new_header))?;
    header.sync().map_err(StoreError::io("sync", &new_header))?;
    files.sync().map_err(StoreError::io("sync", folder))?;
    let mut store = Store::new(files, folder.to_path_buf(), identity.clone(), State::default());
    store.rewrite()?;
    store.files.rename(NEW_HEADER, HEADER).map_err(StoreError::io("rename", &new_header))?;
    store.files.sync().map_err(StoreError::io("sync", folder))?;
    let recovered = Recovered { mirror: Mirror::new(State::default()), identity, was_new: true, torn_at: None };
    Ok((store, recovered))
}

fn reopen(files: Box<dyn Files>, folder: &Path, who: &Who) -> Result<(Store, Recovered), StoreError> {
    let (header, log) = (folder.join(HEADER), folder.join(LOG));
    let read = |name: &str| files.read(name).map_err(StoreError::io("read", &folder.join(name)));
    let bytes = read(HEADER)?.ok_or_else(|| missing(folder, HEADER, "the header"))?;
    let identity = Identity::check(&bytes, &header, folder, who)?;
    let bytes = read(LOG)?.ok_or_else(|| missing(folder, LOG, "the log of the header beside it"))?;
    let corrupt = |offset, expected, found| StoreError::Corrupt { file: log.clone(), offset, expected, found };
    if bytes.len() as u64 > FILE_LIMIT {
        return Err(corrupt(FILE_LIMIT, "the end".to_string(), "more".to_string()));
    }
    let found =
        block::scan(&bytes, identity.salt()).map_err(|damage| corrupt(damage.offset, damage.expected, damage.found))?;
    let at = |block: usize| (block * block::BLOCK) as u64;
    let state = record::replay(&found.batches, &identity)
        .map_err(|(place, nonsense)| corrupt(at(found.starts[place]), "a batch that fits".to_string(), nonsense))?;
    let mut store = Store::new(files, folder.to_path_buf(), identity.clone(), state.clone());
    // What was read may be in the memory of the kernel only, or even be what a failed sync has left there: nobody acts
    // on it before it is on disk. This also takes away a torn batch, and a new file that a crash left unfinished.
    store.rewrite()?;
    let mirror = Mirror::new(state);
    Ok((store, Recovered { mirror, identity, was_new: false, torn_at: found.torn.map(at) }))
}
