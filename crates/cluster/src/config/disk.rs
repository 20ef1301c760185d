//! Files and folders that are there as a whole, or not at all.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use super::found::FoundError;

const MOST_PEM_BYTES: u64 = 64 << 10;

pub(super) fn at(path: &Path) -> impl FnOnce(io::Error) -> FoundError {
    move |error| FoundError::File { path: path.to_path_buf(), error }
}

pub(super) fn is_free(folder: &Path) -> Result<(), FoundError> {
    let mut entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(at(folder))?,
    };
    if entries.next().is_some() {
        return Err(FoundError::Exists(folder.to_path_buf()));
    }
    let here = std::env::current_dir().and_then(fs::canonicalize);
    match (here, fs::canonicalize(folder)) {
        (Ok(here), Ok(there)) if here == there => Err(FoundError::WorkingDirectory(folder.to_path_buf())),
        _ => Ok(()),
    }
}

/// Makes a folder with what this function writes into it. It appears when it is complete and on disk.
pub(super) fn put(folder: &Path, fill: impl FnOnce(&Path) -> Result<(), FoundError>) -> Result<(), FoundError> {
    let parent = parent(folder);
    let draft = parent.join(format!(".hustings-{:016x}", random().map_err(at(parent))?));
    make_folder(&draft)?;
    let done = fill(&draft).and_then(|()| sync_folder(&draft)).and_then(|()| {
        // This replaces a folder only if it is empty.
        fs::rename(&draft, folder).map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => FoundError::Exists(folder.to_path_buf()),
            _ => at(folder)(error),
        })
    });
    if done.is_err() {
        // What went wrong is worth telling; that the draft cannot be cleared away, too, is not.
        let _ = fs::remove_dir_all(&draft);
    }
    done.and_then(|()| sync_folder(parent))
}

/// Replaces a file as a whole.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), FoundError> {
    let parent = parent(path);
    let draft = parent.join(format!(".hustings-{:016x}", random().map_err(at(parent))?));
    let done = write_file(&draft, 0o600, text).and_then(|()| fs::rename(&draft, path).map_err(at(path)));
    if done.is_err() {
        // As above.
        let _ = fs::remove_file(&draft);
    }
    done.and_then(|()| sync_folder(parent))
}

fn parent(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

fn random() -> io::Result<u64> {
    getrandom::u64().map_err(io::Error::other)
}

pub(super) fn make_folder(path: &Path) -> Result<(), FoundError> {
    DirBuilder::new().mode(0o700).create(path).map_err(at(path))
}

pub(super) fn write_file(path: &Path, mode: u32, text: &str) -> Result<(), FoundError> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(at(path))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(at(path))
}

pub(super) fn sync_folder(path: &Path) -> Result<(), FoundError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(at(path))
}

pub(super) fn read_pem(path: &Path) -> Result<String, FoundError> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(MOST_PEM_BYTES).read_to_string(&mut text)).map_err(at(path))?;
    Ok(text)
}
