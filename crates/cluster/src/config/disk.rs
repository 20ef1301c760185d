//! Creates files and folders atomically: a crash leaves all of one or nothing.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use super::bootstrap::BootstrapError;

const MAX_PEM_BYTES: u64 = 64 << 10;

pub(super) fn file_error(path: &Path) -> impl FnOnce(io::Error) -> BootstrapError {
    move |error| BootstrapError::File { path: path.to_path_buf(), error }
}

/// Fails if the folder exists and is not empty.
pub(super) fn check_free(folder: &Path) -> Result<(), BootstrapError> {
    check_free_from(folder, std::env::current_dir())
}

fn check_free_from(folder: &Path, working_directory: io::Result<PathBuf>) -> Result<(), BootstrapError> {
    let mut entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        other => other.map_err(file_error(folder))?,
    };
    if entries.next().is_some() {
        return Err(BootstrapError::Exists(folder.to_path_buf()));
    }
    // The rename below replaces the folder, so a shell inside it would see an empty directory.
    match (working_directory.and_then(fs::canonicalize), fs::canonicalize(folder)) {
        (Ok(here), Ok(there)) if here == there => Err(BootstrapError::WorkingDirectory(folder.to_path_buf())),
        _ => Ok(()),
    }
}

/// Creates a folder and fills it. The folder appears under its name when it is complete and durable.
pub(crate) fn create_folder_atomically<E: From<BootstrapError>>(
    folder: &Path,
    fill: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let parent = parent(folder);
    let draft = parent.join(format!(".hustings-{:016x}", random().map_err(file_error(parent))?));
    make_folder(&draft)?;
    // `rename` replaces a folder only if it is empty.
    let rename = || {
        fs::rename(&draft, folder).map_err(|error| match error.kind() {
            io::ErrorKind::DirectoryNotEmpty | io::ErrorKind::AlreadyExists => {
                BootstrapError::Exists(folder.to_path_buf())
            }
            _ => file_error(folder)(error),
        })
    };
    let done = fill(&draft).and_then(|()| Ok(sync_folder(&draft).and_then(|()| rename())?));
    if done.is_err() {
        // Report the first error rather than a failure to clean up.
        let _ = fs::remove_dir_all(&draft);
    }
    done.and_then(|()| Ok(sync_folder(parent)?))
}

/// Replaces a file atomically. Only its owner can read it.
pub(super) fn replace(path: &Path, text: &str) -> Result<(), BootstrapError> {
    replace_with(path, |draft| write_file(draft, 0o600, text))
}

/// Replaces a file atomically by one with the same owner, group and mode; with this mode if there was none.
pub(super) fn replace_keeping_rights(path: &Path, mode: u32, text: &str) -> Result<(), BootstrapError> {
    let before = match fs::metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        other => Some(other.map_err(file_error(path))?),
    };
    replace_with(path, |draft| {
        let Some(before) = &before else { return write_file(draft, mode, text) };
        // The content comes last: nobody reads it before the rights are set.
        write_file(draft, 0o600, "")?;
        let mut file = OpenOptions::new().write(true).open(draft).map_err(file_error(draft))?;
        let own = file.metadata().map_err(file_error(draft))?;
        if (own.uid(), own.gid()) != (before.uid(), before.gid()) {
            fchown(&file, Some(before.uid()), Some(before.gid())).map_err(file_error(path))?;
        }
        let rights = fs::Permissions::from_mode(before.mode() & 0o777);
        file.set_permissions(rights).map_err(file_error(draft))?;
        file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(file_error(draft))
    })
}

/// Keeps a file that is about to be replaced, under its name with `.old`.
pub(super) fn keep_old(path: &Path) -> Result<(), BootstrapError> {
    let mut old = path.as_os_str().to_owned();
    old.push(".old");
    let old = PathBuf::from(old);
    replace_with(&old, |draft| match fs::hard_link(path, draft) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(file_error(path)),
    })
}

/// Removes a file, if it is there.
pub(super) fn remove(path: &Path) -> Result<(), BootstrapError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(file_error(path)).and_then(|()| sync_folder(parent(path))),
    }
}

/// Replaces a file by what is written to a draft. Without a draft, nothing is replaced.
fn replace_with(path: &Path, write: impl FnOnce(&Path) -> Result<(), BootstrapError>) -> Result<(), BootstrapError> {
    let parent = parent(path);
    let draft = parent.join(format!(".hustings-{:016x}", random().map_err(file_error(parent))?));
    let rename = || match fs::rename(&draft, path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        other => other.map_err(file_error(path)),
    };
    let done = write(&draft).and_then(|()| rename());
    if done.is_err() {
        // Report the first error rather than a failure to clean up.
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

pub(super) fn make_folder(path: &Path) -> Result<(), BootstrapError> {
    DirBuilder::new().mode(0o700).create(path).map_err(file_error(path))
}

pub(super) fn write_file(path: &Path, mode: u32, text: &str) -> Result<(), BootstrapError> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(mode).open(path).map_err(file_error(path))?;
    file.write_all(text.as_bytes()).and_then(|()| file.sync_all()).map_err(file_error(path))
}

pub(super) fn sync_folder(path: &Path) -> Result<(), BootstrapError> {
    File::open(path).and_then(|folder| folder.sync_all()).map_err(file_error(path))
}

pub(super) fn read_pem(path: &Path) -> Result<String, BootstrapError> {
    let mut text = String::new();
    File::open(path).and_then(|file| file.take(MAX_PEM_BYTES).read_to_string(&mut text)).map_err(file_error(path))?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accepts_an_empty_folder_unless_it_is_the_working_directory() {
        let folder = tempfile::tempdir().expect("a folder for the test");
        let path = folder.path();
        assert!(check_free_from(path, Ok("/".into())).is_ok());
        assert!(matches!(check_free_from(path, Ok(path.join("."))), Err(BootstrapError::WorkingDirectory(_))));
        fs::write(path.join("x"), "x").expect("the folder is ours");
        assert!(matches!(check_free_from(path, Ok("/".into())), Err(BootstrapError::Exists(_))));
    }

    #[test]
    fn a_failure_leaves_nothing_behind_and_replaces_nothing() {
        let place = tempfile::tempdir().expect("a folder for the test");
        let entries = || fs::read_dir(place.path()).expect("it is there").count();
        let folder = place.path().join("new");
        let failed: Result<(), BootstrapError> = create_folder_atomically(&folder, |inside| {
            write_file(&inside.join("x"), 0o600, "x")?;
            write_file(&inside.join("x"), 0o600, "x")
        });
        assert!(matches!(failed, Err(BootstrapError::File { .. })));
        assert_eq!(entries(), 0);
        create_folder_atomically(&folder, |inside| write_file(&inside.join("x"), 0o600, "first")).expect("it is free");
        let again = create_folder_atomically(&folder, |inside| write_file(&inside.join("x"), 0o600, "second"));
        assert!(matches!(again, Err(BootstrapError::Exists(_))));
        assert_eq!((entries(), fs::read(folder.join("x")).expect("it was written")), (1, b"first".to_vec()));
    }
}
