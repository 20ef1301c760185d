//! The process at the other end of a Unix socket.

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rustix::process::{Gid, Pid, Uid};

/// Who opened a connection, as it was then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct PeerCredentials {
    /// The number of the process; `None` if it has none here, because its PID namespace is not below that of the
    /// caller. Another process may have the number by now.
    pub pid: Option<Pid>,
    /// Its user.
    pub uid: Uid,
    /// Its group.
    pub gid: Gid,
}

/// Asks the kernel who opened a connection.
///
/// The function of `rustix` takes the number of the process for one that is never zero.
pub fn credentials(socket: impl AsFd) -> io::Result<PeerCredentials> {
    let mut found = libc::ucred { pid: 0, uid: libc::uid_t::MAX, gid: libc::gid_t::MAX };
    let mut length = size_of::<libc::ucred>() as libc::socklen_t;
    // SAFETY: both pointers are valid for the call, and `length` is the size of what the first one points to. Every
    // value of its fields is valid.
    let result = unsafe {
        let (socket, value) = (socket.as_fd().as_raw_fd(), (&raw mut found).cast());
        libc::getsockopt(socket, libc::SOL_SOCKET, libc::SO_PEERCRED, value, &raw mut length)
    };
    // The kernel writes -1 where it knows nobody, for instance of a socket that is not connected.
    if result != 0 || found.uid == libc::uid_t::MAX {
        return Err(if result == 0 { io::ErrorKind::NotConnected.into() } else { io::Error::last_os_error() });
    }
    Ok(PeerCredentials { pid: Pid::from_raw(found.pid), uid: Uid::from_raw(found.uid), gid: Gid::from_raw(found.gid) })
}

#[cfg(test)]
mod tests {
    use std::os::unix::net::{UnixDatagram, UnixStream};

    use super::*;

    #[test]
    fn the_kernel_knows_who_connected() {
        let (here, _there) = UnixStream::pair().expect("descriptors are there");
        let found = credentials(&here).expect("they are connected");
        assert_eq!((found.pid, found.uid), (Some(rustix::process::getpid()), rustix::process::geteuid()));
        assert!(credentials(UnixDatagram::unbound().expect("descriptors are there")).is_err());
    }
}
