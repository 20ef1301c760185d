//! The socket's file: made, replaced and removed.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use mio::net::UnixListener;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::SocketError;
use crate::config::MAX_SOCKET_PATH;

/// A file that goes with its value, if it is still the same file. As long as its listener is there, its inode is not
/// used again, so that can be told.
pub(super) struct SocketFile {
    path: PathBuf,
    device_and_inode: (u64, u64),
}

/// Listens at a path. Only the owner may connect. A socket that a dead node left there is replaced.
pub(super) fn listen(path: &Path) -> Result<(UnixListener, SocketFile), SocketError> {
    if path.as_os_str().len() > MAX_SOCKET_PATH {
        return Err(SocketError::TooLong { path: path.to_path_buf(), most: MAX_SOCKET_PATH });
    }
    let trouble = |action| move |error| SocketError::Io { action, path: path.to_path_buf(), error };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(trouble("make the folder of the socket"))?;
    }
    make_way(path)?;
    let listener = UnixListener::bind(path).map_err(trouble("make the socket"))?;
    // Until then whoever gets in is asked for its user id all the same.
    fs::set_permissions(path, Permissions::from_mode(0o600)).map_err(trouble("change the mode of"))?;
    let made = fs::symlink_metadata(path).map_err(trouble("look at"))?;
    Ok((listener, SocketFile { path: path.to_path_buf(), device_and_inode: (made.dev(), made.ino()) }))
}

/// Removes the socket of a dead node.
fn make_way(path: &Path) -> Result<(), SocketError> {
    let trouble = |action| move |error| SocketError::Io { action, path: path.to_path_buf(), error };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(trouble("look at")(error)),
        Ok(there) if !there.file_type().is_socket() => return Err(SocketError::NotASocket(path.to_path_buf())),
        Ok(_) => {}
    }
    match knock(path) {
        Err(Errno::CONNREFUSED) => fs::remove_file(path).map_err(trouble("remove the old socket")),
        // Let in, or put off because many wait already: somebody incarnations there.
        Ok(()) | Err(Errno::AGAIN) => Err(SocketError::InUse(path.to_path_buf())),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(trouble("find out who has")(error.into())),
    }
}

/// Whether anybody listens; without waiting.
fn knock(path: &Path) -> Result<(), Errno> {
    let flags = SocketFlags::NONBLOCK | SocketFlags::CLOEXEC;
    let socket = socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None)?;
    connect(&socket, &SocketAddrUnix::new(path)?)
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        let there = fs::symlink_metadata(&self.path);
        if there.is_ok_and(|there| (there.dev(), there.ino()) == self.device_and_inode) {
            // If it stays, the next node replaces it.
            let _ = fs::remove_file(&self.path);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_dead_socket_is_replaced_and_a_live_one_is_not() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/hustings.sock");
        drop(std::fs::create_dir(folder.path().join("new")));
        drop(std::os::unix::net::UnixListener::bind(&path).expect("the folder is ours"));
        assert!(path.exists(), "a dead listener leaves its file");
        let (_listener, file) = listen(&path).expect("nobody listens");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let Err(refused) = listen(&path) else { panic!("somebody listens there") };
        assert!(matches!(refused, SocketError::InUse(_)), "{refused}");
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn what_is_no_socket_is_left_alone() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("precious");
        fs::write(&path, "text").expect("the folder is ours");
        let Err(refused) = listen(&path) else { panic!("that is no socket") };
        assert!(matches!(refused, SocketError::NotASocket(_)), "{refused}");
        assert_eq!(fs::read_to_string(&path).expect("it is still there"), "text");
        let Err(long) = listen(&folder.path().join("x".repeat(108))) else { panic!("that is too long") };
        assert!(long.to_string().contains("takes 107"), "{long}");
    }

    #[test]
    fn the_file_of_a_successor_is_not_removed() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hustings.sock");
        let (_listener, file) = listen(&path).expect("nobody listens");
        fs::remove_file(&path).expect("the folder is ours");
        let (_next, _file) = listen(&path).expect("nobody listens there");
        drop(file);
        assert!(path.exists());
    }
}
