//! Who is at the other end of a connection, and what they may do.

use std::io;
use std::os::fd::AsRawFd;

use hustings_host::socket_peer::credentials;
use mio::net::UnixStream;
use rustix::process::{Gid, Pid, Uid, geteuid, getpid};

use super::error::SocketError;
use crate::api::{Right, Rights};

/// The most supplementary groups that Linux gives a process.
const MAX_GROUPS: usize = 65_536;
/// How many groups a first look has room for. Few processes have more.
const USUAL_GROUPS: usize = 64;

/// The group whose members may campaign.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct SocketGroup {
    pub(super) name: String,
    pub(super) gid: Gid,
}

impl SocketGroup {
    /// Finds a group by its name or number. This may ask the network, so it is done only when the node starts.
    pub(super) fn find(name: &str) -> Result<SocketGroup, SocketError> {
        let known = nix::unistd::Group::from_name(name);
        let known = known.map_err(|error| SocketError::Groups { group: name.to_string(), error: error.into() })?;
        let number = || name.parse().ok().filter(|gid| *gid != u32::MAX);
        let gid = known.map(|group| group.gid.as_raw()).or_else(number);
        let gid = gid.ok_or_else(|| SocketError::UnknownGroup(name.to_string()))?;
        Ok(SocketGroup { name: name.to_string(), gid: Gid::from_raw(gid) })
    }
}

/// The process that opened a connection, as it was then.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(super) struct PeerCredentials {
    pub(super) uid: Uid,
    /// Its number; `None` if its PID namespace is not below the node's. Nothing but guards needs it.
    pub(super) pid: Option<Pid>,
    pub(super) rights: Rights,
}

impl PeerCredentials {
    /// Asks the kernel. The rights are empty if it does not answer.
    pub(super) fn of(stream: &UnixStream, group: Option<&SocketGroup>) -> PeerCredentials {
        let Ok(peer) = credentials(stream) else {
            return PeerCredentials { uid: Uid::from_raw(u32::MAX), pid: None, rights: Rights::default() };
        };
        let is_in = |group: &SocketGroup| {
            peer.gid == group.gid || peer_groups(stream).is_ok_and(|all| all.contains(&group.gid.as_raw()))
        };
        let rights = if peer.uid.is_root() || peer.uid == geteuid() {
            Rights::ALL
        } else {
            Rights { campaign: group.is_some_and(is_in), operate: false }
        };
        PeerCredentials { uid: peer.uid, pid: peer.pid, rights }
    }

    /// Whether the other end is in this process, and not merely of the same user.
    pub(super) fn is_own_process(&self) -> bool {
        self.pid == Some(getpid())
    }
}

/// Names those who have a right, for messages; `None` stands for reading.
pub(super) fn who_has(needed: Option<Right>, group: Option<&SocketGroup>) -> String {
    let own = format!("root and the node's user (uid {})", geteuid().as_raw());
    match group.filter(|_| needed != Some(Right::Operate)) {
        Some(SocketGroup { name, gid }) => format!("{own} and members of the group `{name}` (gid {})", gid.as_raw()),
        None => own,
    }
}

/// The supplementary groups of the process that opened a connection.
fn peer_groups(stream: &UnixStream) -> io::Result<Vec<libc::gid_t>> {
    let mut groups: Vec<libc::gid_t> = vec![0; USUAL_GROUPS];
    loop {
        let mut length = size_of_val(groups.as_slice()) as libc::socklen_t;
        // SAFETY: both pointers are valid for the call, and `length` is the size of what the first one points to.
        let result = unsafe {
            let value = groups.as_mut_ptr().cast();
            libc::getsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, libc::SO_PEERGROUPS, value, &raw mut length)
        };
        let count = length as usize / size_of::<libc::gid_t>();
        if result == 0 {
            groups.truncate(count);
            return Ok(groups);
        }
        let error = io::Error::last_os_error();
        // The kernel says how many there are.
        if error.raw_os_error() != Some(libc::ERANGE) || count <= groups.len() || count > MAX_GROUPS {
            return Err(error);
        }
        groups.resize(count, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_own_user_has_all_rights_and_its_groups_are_known() {
        let (here, _there) = UnixStream::pair().expect("descriptors are there");
        let peer = PeerCredentials::of(&here, None);
        assert_eq!((peer.uid, peer.rights), (geteuid(), Rights::ALL));
        assert_eq!(peer.pid, Some(getpid()));
        let mut own: Vec<u32> = rustix::process::getgroups().expect("allowed").iter().map(|gid| gid.as_raw()).collect();
        let mut seen = peer_groups(&here).expect("the kernel knows them");
        own.sort_unstable();
        seen.sort_unstable();
        assert_eq!(seen, own);
    }

    #[test]
    fn finds_groups_by_name_and_number() {
        let root = SocketGroup::find("root").expect("every system has it");
        assert_eq!(root.gid, Gid::ROOT);
        assert_eq!(SocketGroup::find("54321").expect("a number is a group").gid.as_raw(), 54_321);
        let unknown = SocketGroup::find("no-such-group").expect_err("there is no such group").to_string();
        assert!(unknown.starts_with("there is no group `no-such-group` on this host"), "{unknown}");
        let text = who_has(None, Some(&root));
        assert!(text.ends_with("and members of the group `root` (gid 0)"), "{text}");
        assert!(!who_has(Some(Right::Operate), Some(&root)).contains("group"));
    }
}
