//! The file operations of a store, behind traits so that tests can make each of them fail.

use std::fs::{self, DirBuilder, File, OpenOptions};
use std::io::{self, Read};
use std::os::unix::fs::{DirBuilderExt, FileExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{Advice, FallocateFlags, FlockOperation, fadvise, fallocate, flock};

use super::StoreError;

/// The largest file that a store reads, in bytes.
pub(super) const MAX_FILE_BYTES: u64 = 512 << 20;

/// A folder and its files.
pub(super) trait Files: Send {
    /// The names of all files, in order.
    fn names(&self) -> io::Result<Vec<String>>;
    /// Reads a whole file, from the disk where it can; `None` if it does not exist.
    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>>;
    /// Creates a file for writing. An existing file is truncated.
    fn create(&self, name: &str) -> io::Result<Box<dyn Handle>>;
    /// Opens a file for writing, and creates it if it does not exist.
    fn open(&self, name: &str) -> io::Result<Box<dyn Handle>>;
    /// Renames a file atomically; it replaces an existing file.
    fn rename(&self, from: &str, to: &str) -> io::Result<()>;
    /// Deletes a file.
    fn remove(&self, name: &str) -> io::Result<()>;
    /// Makes created, renamed and removed names durable.
    fn sync(&self) -> io::Result<()>;
    /// A random number, to identify a new store.
    fn random(&self) -> io::Result<u128>;
}

/// A file open for writing.
pub(super) trait Handle: Send {
    /// Extends the file with zeros, and reserves the disk space where the file system can.
    fn extend(&mut self, from: u64, to: u64) -> io::Result<()>;
    /// Writes bytes at an offset.
    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()>;
    /// Makes contents and length durable.
    fn sync(&mut self) -> io::Result<()>;
}

/// A folder of the file system.
pub(super) struct Folder {
    path: PathBuf,
    handle: File,
    /// Locked while the folder is open.
    lock: File,
}

impl Folder {
    /// Opens a folder exclusively for this process, and creates it if it does not exist.
    pub(super) fn open(path: &Path) -> Result<Folder, StoreError> {
        create_folder(path, &mut sync_folder)?;
        Folder::open_existing(path)
    }

    /// Opens a folder that exists exclusively for this process.
    pub(super) fn open_existing(path: &Path) -> Result<Folder, StoreError> {
        let lock_path = path.join("lock");
        let lock = OpenOptions::new()
            .write(true)
            .create(true)
            .truncate(false)
            .mode(0o600)
            .open(&lock_path)
            .map_err(StoreError::io("open", &lock_path))?;
        flock(&lock, FlockOperation::NonBlockingLockExclusive).map_err(|error| match error {
            rustix::io::Errno::WOULDBLOCK => StoreError::Locked { folder: path.to_path_buf() },
            other => StoreError::Io { action: "lock", path: lock_path, source: other.into() },
        })?;
        let handle = File::open(path).map_err(StoreError::io("open", path))?;
        Ok(Folder { path: path.to_path_buf(), handle, lock })
    }
}

impl Drop for Folder {
    /// A child process that is being started may hold a copy of the descriptor, so closing ours would not unlock it
    /// yet.
    fn drop(&mut self) {
        let _ = flock(&self.lock, FlockOperation::Unlock);
    }
}

/// Creates a folder, readable only by its owner, and its parents. `sync` makes the names in a folder durable.
fn create_folder(path: &Path, sync: &mut dyn FnMut(&Path) -> io::Result<()>) -> Result<(), StoreError> {
    if path.is_dir() {
        return Ok(());
    }
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => path,
    };
    if parent != path {
        create_folder(parent, sync)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => {}
        other => other.map_err(StoreError::io("create", path))?,
    }
    sync(parent).map_err(StoreError::io("sync", parent))
}

/// Makes the names in a folder durable.
fn sync_folder(path: &Path) -> io::Result<()> {
    File::open(path)?.sync_all()
}

impl Files for Folder {
    fn names(&self) -> io::Result<Vec<String>> {
        let mut names = fs::read_dir(&self.path)?
            .map(|entry| Ok(entry?.file_name().to_string_lossy().into_owned()))
            .collect::<io::Result<Vec<_>>>()?;
        names.sort();
        Ok(names)
    }

    fn read(&self, name: &str) -> io::Result<Option<Vec<u8>>> {
        let file = match File::open(self.path.join(name)) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            other => other?,
        };
        // What the kernel could not write may still be in its cache, as if it were on the disk. Not every file system
        // knows this request.
        let _ = fadvise(&file, 0, None, Advice::DontNeed);
        let mut bytes = Vec::new();
        file.take(MAX_FILE_BYTES + 1).read_to_end(&mut bytes)?;
        Ok(Some(bytes))
    }

    fn create(&self, name: &str) -> io::Result<Box<dyn Handle>> {
        let file = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(self.path.join(name))?;
        Ok(Box::new(file))
    }

    fn open(&self, name: &str) -> io::Result<Box<dyn Handle>> {
        let file =
            OpenOptions::new().write(true).create(true).truncate(false).mode(0o600).open(self.path.join(name))?;
        Ok(Box::new(file))
    }

    fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        fs::rename(self.path.join(from), self.path.join(to))
    }

    fn remove(&self, name: &str) -> io::Result<()> {
        fs::remove_file(self.path.join(name))
    }

    fn sync(&self) -> io::Result<()> {
        self.handle.sync_all()
    }

    fn random(&self) -> io::Result<u128> {
        let mut bytes = [0; 16];
        getrandom::fill(&mut bytes)?;
        Ok(u128::from_le_bytes(bytes))
    }
}

impl Handle for File {
    fn extend(&mut self, from: u64, to: u64) -> io::Result<()> {
        match fallocate(&*self, FallocateFlags::empty(), from, to - from) {
            Ok(()) => Ok(()),
            // Not every file system supports `fallocate`.
            Err(rustix::io::Errno::OPNOTSUPP) => self.set_len(to),
            Err(error) => {
                // Undo a partial extension.
                self.set_len(from)?;
                Err(error.into())
            }
        }
    }

    fn write_at(&mut self, offset: u64, bytes: &[u8]) -> io::Result<()> {
        self.write_all_at(bytes, offset)
    }

    fn sync(&mut self) -> io::Result<()> {
        // `fdatasync` also flushes the length, because it is needed to read the contents.
        self.sync_data()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A descriptor that the kernel cannot sync, so a sync of it fails if it reaches the kernel at all.
    fn pipe() -> File {
        let (_, writer) = std::io::pipe().expect("a pipe");
        File::from(std::os::fd::OwnedFd::from(writer))
    }

    fn is_from_the_kernel(result: io::Result<()>) -> bool {
        result.is_err_and(|error| error.kind() == io::ErrorKind::InvalidInput)
    }

    #[test]
    fn syncing_a_file_reaches_the_kernel() {
        assert!(is_from_the_kernel(Handle::sync(&mut pipe())));
    }

    #[test]
    fn syncing_a_folder_reaches_the_kernel() {
        let place = tempfile::tempdir().expect("a folder");
        let mut folder = Folder::open(place.path()).expect("a folder of our own");
        folder.handle = pipe();
        assert!(is_from_the_kernel(Files::sync(&folder)));
        // The proc file system has folders, and does not support syncing them.
        assert!(is_from_the_kernel(sync_folder(Path::new("/proc/self"))));
    }

    #[test]
    fn the_parent_of_every_new_folder_is_synced() {
        let place = tempfile::tempdir().expect("a folder");
        let (one, two) = (place.path().join("one"), place.path().join("one/two"));
        let mut synced = Vec::new();
        let mut sync = |path: &Path| {
            synced.push((path.to_path_buf(), one.is_dir(), two.is_dir()));
            Ok(())
        };
        create_folder(&two, &mut sync).expect("it can be created");
        assert_eq!(synced, [(place.path().to_path_buf(), true, false), (one.clone(), true, true)]);
        let full = |_: &Path| Err(io::ErrorKind::StorageFull.into());
        let failed = create_folder(&two.join("three"), &mut { full });
        assert!(matches!(failed, Err(StoreError::Io { action: "sync", path, .. }) if path == two));
    }
}
