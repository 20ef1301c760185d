//! The process at the other end of a connection.

use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::{fs, io};

use hustings_host::process_tree::Identity;
use hustings_host::socket_peer::{PeerCredentials, credentials};
use mio::net::UnixStream;
use rustix::process::{Pid, PidfdFlags, Uid, pidfd_open};

/// The process that connected.
pub(super) struct Peer {
    pub(super) pidfd: OwnedFd,
    pub(super) pid: Pid,
    /// `None` if the node may not look at it.
    pub(super) identity: Option<Identity>,
    pub(super) uid: Uid,
    /// Whether it is the init of a PID namespace below the node's own.
    pub(super) is_namespace_init: bool,
}

impl Peer {
    /// The process that opened a connection. Fails if it is gone.
    pub(super) fn of(stream: Option<&UnixStream>) -> Result<Peer, String> {
        let stream = stream.ok_or_else(gone)?;
        let peer = credentials(stream).map_err(|_| gone())?;
        let found = match peer_pidfd(stream) {
            Ok(pidfd) => Peer::with_pidfd(pidfd, peer.uid)?,
            Err(error) if error.raw_os_error() == Some(libc::ENOPROTOOPT) => Peer::by_number(peer)?,
            Err(_) => return Err(gone()),
        };
        // A process that has no number here cannot be killed from here, whatever a `/proc` of the host says of it.
        if peer.pid == Some(found.pid) { Ok(found) } else { Err(gone()) }
    }

    /// Before Linux 6.5. The number may belong to another process by now, if the one that connected has ended and has
    /// left the connection to a child. Then it must be one that its user could kill as well: nobody makes the node kill
    /// what belongs to others.
    fn by_number(peer: PeerCredentials) -> Result<Peer, String> {
        let pid = peer.pid.ok_or_else(gone)?;
        let pidfd = pidfd_open(pid, PidfdFlags::empty()).map_err(|_| gone())?;
        let status = fs::read_to_string(format!("/proc/{pid}/status"));
        let status = status.map_err(|error| format!("the node cannot inspect the process: {error}"))?;
        if !is_of_user(&status, peer.uid) {
            return Err(format!("process {pid} does not belong to the user {} who opened this connection", peer.uid));
        }
        // This fails if the process has ended. So what was read above was about the process of the pidfd.
        Peer::with_pidfd(pidfd, peer.uid)
    }

    fn with_pidfd(pidfd: OwnedFd, uid: Uid) -> Result<Peer, String> {
        let info = || {
            let info = fs::read_to_string(format!("/proc/self/fdinfo/{}", pidfd.as_raw_fd()));
            let info = info.map_err(|error| format!("the node cannot inspect the process: {error}"))?;
            read_info(&info).ok_or_else(gone)
        };
        let (pid, is_namespace_init) = info()?;
        let identity = Identity::of(pid);
        // Still there, so the identity is its own.
        info()?;
        Ok(Peer { pidfd, pid, identity, uid, is_namespace_init })
    }
}

fn gone() -> String {
    "the process that opened this connection is gone, or in a PID namespace that the node does not see".to_string()
}

/// Whether a process belongs to a user, by its `/proc/PID/status`: its real, effective and saved user.
fn is_of_user(status: &str, uid: Uid) -> bool {
    let Some(line) = status.lines().find_map(|line| line.strip_prefix("Uid:")) else { return false };
    let users: Vec<&str> = line.split_whitespace().take(3).collect();
    users.len() == 3 && users.iter().all(|user| user.parse() == Ok(uid.as_raw()))
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

    /// As on Linux before 6.5. The number of this process stands for one that was used again.
    #[test]
    fn a_number_that_belongs_to_another_user_by_now_is_refused() {
        let (here, _there) = UnixStream::pair().expect("descriptors are there");
        let own = credentials(&here).expect("they are connected");
        let peer = Peer::by_number(own).expect("this process runs");
        assert_eq!((Some(peer.pid), peer.identity), (own.pid, Identity::of(peer.pid)));
        let other = Uid::from_raw(own.uid.as_raw() + 1);
        let refusal =
            Peer::by_number(PeerCredentials { uid: other, ..own }).err().expect("it belongs to somebody else");
        assert!(refusal.contains("does not belong to the user"), "{refusal}");
        let refusal = Peer::by_number(PeerCredentials { pid: None, ..own }).err().expect("it has no number");
        assert!(refusal.contains("in a PID namespace that the node does not see"), "{refusal}");
    }

    #[test]
    fn a_process_that_is_becoming_another_user_belongs_to_neither() {
        let is_own = |users: &str| is_of_user(&format!("Name:\tx\nUid:\t{users}\nGid:\t0\n"), Uid::from_raw(7));
        assert!(is_own("7\t7\t7\t7"));
        for users in ["0\t0\t0\t0", "7\t0\t0\t0", "7\t7\t0\t7", "0\t7\t7\t7", "7\t7", ""] {
            assert!(!is_own(users), "{users:?}");
        }
        assert!(!is_of_user("", Uid::from_raw(7)));
    }
}
