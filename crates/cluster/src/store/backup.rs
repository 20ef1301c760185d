//! A copy of a store, made while its node runs.

use std::fs::{self, File};
use std::io::{self, Read};
use std::path::Path;

use super::files::{Files, Folder, MAX_FILE_BYTES};
use super::log::{LOG, Store};
use super::open::{Contents, HEADER, decode};
use super::{StoreError, blobs};

/// Marks a folder that is a copy. A node does not start from it.
pub(super) const MARKER: &str = "backup";
const NOTE: &str = "A copy of a node's data folder. A node that started from it would have forgotten votes: run\n\
                    `hustings recover` first. docs/operations.md has the procedure.\n";

/// Reads the store of a node that may run. It fails with [`StoreError::Corrupt`] if it was read in the middle of a
/// write.
pub(crate) fn read_running(folder: &Path) -> Result<Contents, StoreError> {
    if !folder.join(HEADER).exists() && !folder.join(LOG).exists() {
        return Err(StoreError::Missing { folder: folder.to_path_buf() });
    }
    let mut contents = decode(folder, |name| read(folder, name))?;
    let names = fs::read_dir(folder).and_then(|entries| {
        entries.map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned())).collect::<io::Result<Vec<_>>>()
    });
    let names = names.map_err(StoreError::io("list", folder))?;
    contents.state.blobs = blobs::read_all(names, |name| read(folder, name))?;
    Ok(contents)
}

fn read(folder: &Path, name: &str) -> Result<Option<Vec<u8>>, StoreError> {
    let path = folder.join(name);
    let file = match File::open(&path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        other => other.map_err(StoreError::io("open", &path))?,
    };
    let mut bytes = Vec::new();
    file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes).map_err(StoreError::io("read", &path))?;
    Ok(Some(bytes))
}

/// Writes what was read to an empty folder, as a copy.
pub(crate) fn write_backup(folder: &Path, contents: Contents) -> Result<(), StoreError> {
    write_backup_in(Box::new(Folder::open_existing(folder)?), folder, contents)
}

pub(super) fn write_backup_in(files: Box<dyn Files>, folder: &Path, contents: Contents) -> Result<(), StoreError> {
    for (name, bytes) in [(MARKER, NOTE.as_bytes()), (HEADER, &contents.identity.encode()?)] {
        let path = folder.join(name);
        let mut file = files.create(name).map_err(StoreError::io("create", &path))?;
        file.write_at(0, bytes).map_err(StoreError::io("write", &path))?;
        file.sync().map_err(StoreError::io("sync", &path))?;
        // A crash must not leave what looks like a node's folder.
        files.sync().map_err(StoreError::io("sync", folder))?;
    }
    Store::new(files, folder.to_path_buf(), contents.identity, contents.state).write_everything()
}
