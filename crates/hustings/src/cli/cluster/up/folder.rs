//! The folder of a cluster: a temporary one that is removed, or one of the user's that is kept.

use std::fs::{self, DirBuilder, File, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use hustings_harness::HarnessError;
use rustix::fs::{FlockOperation, flock};
use rustix::process::geteuid;
use tempfile::TempDir;

/// How the names of temporary folders begin.
const PREFIX: &str = "hustings-up-";
/// A file in a temporary folder that is locked as long as its program runs.
const LOCK: &str = "lock";

/// The folder of a cluster.
pub(super) enum Folder {
    /// Removed at the end. The file holds the lock.
    Temporary(TempDir, File),
    /// Kept.
    Kept(PathBuf),
}

impl Folder {
    pub(super) fn new(kept: Option<&Path>) -> Result<Folder, HarnessError> {
        let failed = |what: String| move |error| HarnessError::Io { what, error };
        match kept {
            Some(path) => {
                let named = failed(format!("--dir {}", path.display()));
                make_private(path).map_err(named)?;
                // Nodes have another working directory in their logs and in what is printed for other terminals.
                let path = fs::canonicalize(path).map_err(failed(format!("--dir {}", path.display())))?;
                Ok(Folder::Kept(path))
            }
            None => {
                remove_abandoned(&std::env::temp_dir());
                let mut builder = tempfile::Builder::new();
                let made = builder.prefix(PREFIX).permissions(Permissions::from_mode(0o700)).tempdir();
                let folder = made.map_err(failed("cannot make a temporary folder".to_string()))?;
                let lock = File::create(folder.path().join(LOCK)).and_then(|lock| {
                    flock(&lock, FlockOperation::NonBlockingLockExclusive)?;
                    Ok(lock)
                });
                let lock = lock.map_err(failed(format!("cannot lock {}", folder.path().display())))?;
                Ok(Folder::Temporary(folder, lock))
            }
        }
    }

    pub(super) fn path(&self) -> &Path {
        match self {
            Folder::Temporary(folder, _) => folder.path(),
            Folder::Kept(path) => path,
        }
    }

    /// Removes the folder if it is temporary; returns its path otherwise.
    pub(super) fn close(self) -> io::Result<Option<PathBuf>> {
        match self {
            Folder::Temporary(folder, lock) => {
                folder.close()?;
                drop(lock);
                Ok(None)
            }
            Folder::Kept(path) => Ok(Some(path)),
        }
    }
}

/// Makes a folder that only its owner can enter. An empty one that exists is made private.
fn make_private(path: &Path) -> io::Result<()> {
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            if fs::read_dir(path)?.next().is_some() {
                return Err(io::Error::new(io::ErrorKind::AlreadyExists, "the folder is not empty"));
            }
            fs::set_permissions(path, Permissions::from_mode(0o700))
        }
        made => made,
    }
}

/// Removes folders of this user whose program was killed: nobody has locked them.
fn remove_abandoned(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        let path = entry.path();
        let is_own = entry.file_name().to_string_lossy().starts_with(PREFIX)
            && fs::symlink_metadata(&path).is_ok_and(|is| is.is_dir() && is.uid() == geteuid().as_raw());
        // Without a lock file the folder was made just now.
        let is_abandoned = || {
            let lock = File::open(path.join(LOCK));
            lock.is_ok_and(|lock| flock(&lock, FlockOperation::NonBlockingLockExclusive).is_ok())
        };
        if is_own && is_abandoned() {
            // What cannot be removed is left; it harms nobody.
            let _ = fs::remove_dir_all(&path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_temporary_folder_is_private_and_goes() {
        let folder = Folder::new(None).expect("made");
        let path = folder.path().to_path_buf();
        assert_eq!(fs::metadata(&path).expect("there").permissions().mode() & 0o777, 0o700);
        assert_eq!(folder.close().expect("removed"), None);
        assert!(!path.exists());
    }

    #[test]
    fn only_folders_without_a_program_are_removed() {
        let parent = tempfile::tempdir().expect("a folder");
        let make = |name: &str, has_lock: bool| {
            let path = parent.path().join(name);
            fs::create_dir(&path).expect("made");
            has_lock.then(|| File::create(path.join(LOCK)).expect("made"))
        };
        let lock = make("hustings-up-used", true).expect("a file");
        flock(&lock, FlockOperation::NonBlockingLockExclusive).expect("free");
        make("hustings-up-new", false);
        make("hustings-up-abandoned", true);
        make("other", true);
        remove_abandoned(parent.path());
        let mut left: Vec<String> = fs::read_dir(parent.path())
            .expect("there")
            .map(|entry| entry.expect("readable").file_name().to_string_lossy().into_owned())
            .collect();
        left.sort();
        assert_eq!(left, ["hustings-up-new", "hustings-up-used", "other"]);
    }

    #[test]
    fn a_folder_with_something_in_it_is_refused() {
        let parent = tempfile::tempdir().expect("a folder");
        let error = Folder::new(Some(parent.path())).err();
        assert!(error.is_none(), "an empty one is fine: {error:?}");
        fs::write(parent.path().join("x"), "").expect("written");
        let error = Folder::new(Some(parent.path())).err().expect("refused").to_string();
        assert!(error.contains("--dir") && error.contains("not empty"), "{error}");
    }
}
