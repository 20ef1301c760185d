//! The file of the socket: created, replaced and removed.

use std::fs::{self, DirBuilder, Permissions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, FileTypeExt, MetadataExt, PermissionsExt, chown};
use std::path::{Path, PathBuf};

use mio::net::UnixListener;
use rustix::io::Errno;
use rustix::net::{AddressFamily, SocketAddrUnix, SocketFlags, SocketType, connect, socket_with};

use super::error::SocketError;
use super::peer_credentials::SocketGroup;
use crate::config::MAX_SOCKET_PATH;

/// A socket file that is removed on drop, if it is still the same file. The inode is not reused while the listener is
/// open, so it identifies the file.
pub(super) struct SocketFile {
    path: PathBuf,
    device_and_inode: (u64, u64),
}

/// Listens on a path. Only the owner and the group may connect. The socket of a dead node is replaced.
pub(super) fn listen(path: &Path, group: Option<&SocketGroup>) -> Result<(UnixListener, SocketFile), SocketError> {
    if path.as_os_str().len() > MAX_SOCKET_PATH {
        return Err(SocketError::TooLong { path: path.to_path_buf(), max_bytes: MAX_SOCKET_PATH });
    }
    let io_error = |action| move |error| SocketError::Io { action, path: path.to_path_buf(), error };
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        let made = DirBuilder::new().recursive(true).mode(0o700).create(folder);
        made.map_err(io_error("create the folder of the socket"))?;
        if let Some(group) = group {
            open_folder(folder, group)?;
        }
    }
    remove_stale_socket(path)?;
    let listener = UnixListener::bind(path).map_err(io_error("create the socket"))?;
    // Until the mode is set, the check of the peer's credentials protects the socket.
    let mode = match group {
        Some(group) => {
            give_to(path, group)?;
            0o660
        }
        None => 0o600,
    };
    fs::set_permissions(path, Permissions::from_mode(mode)).map_err(io_error("change the mode of"))?;
    let made = fs::symlink_metadata(path).map_err(io_error("inspect"))?;
    Ok((listener, SocketFile { path: path.to_path_buf(), device_and_inode: (made.dev(), made.ino()) }))
}

/// Lets the members of a group pass through a folder, if they cannot yet. Nothing else may be done with it.
fn open_folder(folder: &Path, group: &SocketGroup) -> Result<(), SocketError> {
    let io_error = |action| move |error| SocketError::Io { action, path: folder.to_path_buf(), error };
    if can_pass(folder, group).map_err(io_error("inspect"))? {
        return Ok(());
    }
    give_to(folder, group)?;
    let mode = fs::metadata(folder).map_err(io_error("inspect"))?.permissions().mode() & 0o7777;
    // What the former group could do, this one must not inherit.
    let opened = Permissions::from_mode((mode & !0o070) | 0o010);
    fs::set_permissions(folder, opened).map_err(io_error("change the mode of"))
}

/// The folders above a path that the members of a group cannot pass through, unless they have other groups.
pub(super) fn closed_folders(path: &Path, group: &SocketGroup) -> Vec<PathBuf> {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_path_buf());
    let above = path.ancestors().skip(1).filter(|folder| matches!(can_pass(folder, group), Ok(false)));
    above.map(Path::to_path_buf).collect()
}

fn can_pass(folder: &Path, group: &SocketGroup) -> io::Result<bool> {
    let there = fs::metadata(folder)?;
    let mode = there.permissions().mode();
    Ok(mode & 0o001 != 0 || (there.gid() == group.gid.as_raw() && mode & 0o010 != 0))
}

fn give_to(path: &Path, group: &SocketGroup) -> Result<(), SocketError> {
    chown(path, None, Some(group.gid.as_raw())).map_err(|error| SocketError::Group {
        group: group.name.clone(),
        path: path.to_path_buf(),
        error,
    })
}

/// Removes the socket of a dead node.
fn remove_stale_socket(path: &Path) -> Result<(), SocketError> {
    let io_error = |action| move |error| SocketError::Io { action, path: path.to_path_buf(), error };
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
        Err(error) => return Err(io_error("inspect")(error)),
        Ok(there) if !there.file_type().is_socket() => return Err(SocketError::NotASocket(path.to_path_buf())),
        Ok(_) => {}
    }
    match try_connect(path) {
        Err(Errno::CONNREFUSED) => fs::remove_file(path).map_err(io_error("remove the old socket")),
        // Connected, or the backlog is full: a node is listening.
        Ok(()) | Err(Errno::AGAIN) => Err(SocketError::InUse(path.to_path_buf())),
        Err(Errno::NOENT) => Ok(()),
        Err(error) => Err(io_error("check who uses")(error.into())),
    }
}

/// Tries to connect, without waiting.
fn try_connect(path: &Path) -> Result<(), Errno> {
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
    fn replaces_a_dead_socket_and_keeps_a_live_one() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("new/hustings.sock");
        drop(std::fs::create_dir(folder.path().join("new")));
        drop(std::os::unix::net::UnixListener::bind(&path).expect("the folder is ours"));
        assert!(path.exists(), "a dead listener leaves its file");
        let (_listener, file) = listen(&path, None).expect("nobody listens");
        let mode = fs::metadata(&path).expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        let Err(refused) = listen(&path, None) else { panic!("somebody listens there") };
        assert!(matches!(refused, SocketError::InUse(_)), "{refused}");
        drop(file);
        assert!(!path.exists());
    }

    #[test]
    fn keeps_a_file_that_is_not_a_socket() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("precious");
        fs::write(&path, "text").expect("the folder is ours");
        let Err(refused) = listen(&path, None) else { panic!("that is no socket") };
        assert!(matches!(refused, SocketError::NotASocket(_)), "{refused}");
        assert_eq!(fs::read_to_string(&path).expect("it is still there"), "text");
        let Err(long) = listen(&folder.path().join("x".repeat(108)), None) else { panic!("that is too long") };
        assert!(long.to_string().contains("allows only 107"), "{long}");
    }

    #[test]
    fn does_not_remove_the_socket_of_a_successor() {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("hustings.sock");
        let (_listener, file) = listen(&path, None).expect("nobody listens");
        fs::remove_file(&path).expect("the folder is ours");
        let (_next, _file) = listen(&path, None).expect("nobody listens there");
        drop(file);
        assert!(path.exists());
    }
}
