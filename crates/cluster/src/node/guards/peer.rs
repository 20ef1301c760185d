//! The process at the other end of a connection.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::{fs, io};

use mio::net::UnixStream;
use rustix::process::{Pid, PidfdFlags, Uid, pidfd_open};

/// The process that connected.
pub(super) struct Peer {
    pub(super) pidfd: OwnedFd,
    pub(super) pid: Pid,
    pub(super) uid: Uid,
    /// Whether it is the init of a PID namespace below the node's own.
    pub(super) is_namespace_init: bool,
}

impl Peer {
    /// The process that opened a connection. Fails if it is gone.
    pub(super) fn of(stream: Option<&UnixStream>) -> Result<Peer, String> {
        let gone = |_| {
            "the process that opened this connection is gone, or in a PID namespace that the node does not see"
                .to_string()
        };
        let stream = stream.ok_or(()).map_err(gone)?;
        let credentials = rustix::net::sockopt::socket_peercred(stream).map_err(|_| ()).map_err(gone)?;
        // Before Linux 6.5, the number could already belong to another process, if this one was replaced by a child
        // that inherited the connection.
        let pidfd = peer_pidfd(stream).or_else(|error| match error.raw_os_error() {
            Some(libc::ENOPROTOOPT) => pidfd_open(credentials.pid, PidfdFlags::empty()).map_err(io::Error::from),
            _ => Err(error),
        });
        let pidfd = pidfd.map_err(|_| ()).map_err(gone)?;
        let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd()));
        let info = info.map_err(|error| format!("the node cannot inspect the process: {error}"))?;
        let (pid, is_namespace_init) = read_info(&info).ok_or(()).map_err(gone)?;
        Ok(Peer { pidfd, pid, uid: credentials.uid, is_namespace_init })
    }
}

/// The pidfd of the process that opened a connection.
fn peer_pidfd(stream: &UnixStream) -> io::Result<OwnedFd> {
    let mut descriptor: libc::c_int = -1;
    let mut length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: both pointers are valid for the call, and `length` is the size of what the first one points to.
    let result = unsafe {
        let value = (&raw mut descriptor).cast();
        libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERPIDFD, value, &raw mut length)
    };
    if result != 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the kernel has just opened this descriptor for this process, and nothing else owns it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}

/// Reads what the kernel says about a pidfd: the number of the process in the node's PID namespace, and whether it is
/// the init of a namespace below that. `None` if it has ended and was reaped.
///
/// `NSpid` lists the numbers of the process in the namespace of this `/proc` and in all below, down to its own.
fn read_info(info: &str) -> Option<(Pid, bool)> {
    let field = |name: &str| info.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
    let pid: i32 = field("Pid")?.trim().parse().ok().filter(|pid| *pid > 0)?;
    let numbers: Vec<&str> = field("NSpid").unwrap_or_default().split_whitespace().collect();
    Some((Pid::from_raw(pid)?, numbers.len() >= 2 && numbers.last() == Some(&"1")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn recognises_the_init_of_a_namespace() {
        let read = |info: &str| read_info(info).map(|(pid, is_init)| (pid.as_raw_nonzero().get(), is_init));
        let info = |pid: &str, numbers: &str| format!("pos:\t0\nflags:\t02000002\nPid:\t{pid}\nNSpid:\t{numbers}\n");
        assert_eq!(read(&info("77", "77\t1")), Some((77, true)));
        assert_eq!(read(&info("77", "77\t12\t1")), Some((77, true)), "a namespace in a namespace");
        assert_eq!(read(&info("77", "77\t1\t2")), Some((77, false)), "a child of the init");
        assert_eq!(read(&info("77", "77")), Some((77, false)));
        assert_eq!(read(&info("1", "1")), Some((1, false)), "the init of the node's own namespace");
        assert_eq!(read("Pid:\t77\n"), Some((77, false)), "a kernel without PID namespaces");
        assert_eq!(read(&info("-1", "0")), None, "it has ended");
        assert_eq!(read(&info("0", "0")), None, "it is in a namespace that the node does not see");
        assert_eq!(read(""), None);
    }

    #[test]
    fn finds_the_process_at_the_other_end() {
        let (here, _there) = UnixStream::pair().expect("descriptors are there");
        let peer = Peer::of(Some(&here)).expect("this process runs");
        assert_eq!(peer.pid, rustix::process::getpid());
        assert!(Peer::of(None).is_err());
    }
}
