//! Files that a node reads: bounded, and private where they hold a secret.
//!
//! One rule decides who may read a secret, whether it is a private key or a file of bearer tokens:
//!
//! - Its owner alone may use it (mode 600 or 400); or
//! - a group may read it too (640 or 440), if root owns the file and the process is not root but belongs to the group.
//!   Such a process can read it in no other way: that is how Kubernetes mounts secrets (`fsGroup`), and how a package
//!   shares a key with a service. A process that owns the file has no need of the group's right, so the right is
//!   somebody else's.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use rustix::process::{Gid, getegid, geteuid, getgroups};

/// The longest PEM file, in bytes.
pub const MAX_PEM_BYTES: u64 = 64 * 1024;

/// Why a file cannot be used. It quotes nothing of the file, which may be a secret.
#[derive(Debug, thiserror::Error)]
pub enum InputFileError {
    /// The operating system could not read it.
    #[error("{0}")]
    Read(#[from] io::Error),
    /// It has more bytes than this.
    #[error("the file is longer than {0} bytes")]
    TooLong(u64),
    /// It holds a secret, and its mode is this.
    #[error(
        "other users can read or change it (mode {0:03o}); make it readable for its owner only (chmod 600). A group may \
         read it only if root owns it and the node, which is not root, belongs to the group"
    )]
    Exposed(u32),
    /// It holds a secret, and programs that may campaign can read it.
    #[error("the group of the socket can read it: programs that may campaign must not. Give the file to another group")]
    SharedWithPrograms,
}

/// Reads a file that everybody may read.
pub fn read(path: &Path, max_bytes: u64) -> Result<Vec<u8>, InputFileError> {
    read_from(File::open(path)?, max_bytes)
}

/// Reads a secret of this process. Fails if somebody else can use it.
pub fn read_secret(path: &Path, max_bytes: u64) -> Result<Vec<u8>, InputFileError> {
    read_private(path, max_bytes, |rights| rights.are_private_to(&Process::this()))
}

/// Reads a secret of a service, for a command that changes it: the service's group may read it, whichever it is.
pub fn read_secret_of_service(path: &Path, max_bytes: u64) -> Result<Vec<u8>, InputFileError> {
    read_private(path, max_bytes, |rights| rights.mode & 0o037 == 0)
}

/// Fails if the members of this group, which may use the node's socket, can read a secret.
pub fn check_socket_group(secret: &Path, group: u32) -> Result<(), InputFileError> {
    let rights = Rights::from(&std::fs::metadata(secret)?);
    let is_shared = rights.mode & 0o040 != 0 && rights.group == group;
    if is_shared { Err(InputFileError::SharedWithPrograms) } else { Ok(()) }
}

fn read_private(path: &Path, max_bytes: u64, is_private: impl Fn(&Rights) -> bool) -> Result<Vec<u8>, InputFileError> {
    let file = File::open(path)?;
    // Checked on the open file, because the path may change.
    let rights = Rights::from(&file.metadata()?);
    if is_private(&rights) { read_from(file, max_bytes) } else { Err(InputFileError::Exposed(rights.mode)) }
}

fn read_from(file: File, max_bytes: u64) -> Result<Vec<u8>, InputFileError> {
    let mut bytes = Vec::new();
    file.take(max_bytes.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > max_bytes { Err(InputFileError::TooLong(max_bytes)) } else { Ok(bytes) }
}

/// Who reads a file.
struct Process {
    user: u32,
    groups: Vec<u32>,
}

impl Process {
    fn this() -> Process {
        let others = getgroups().unwrap_or_default();
        let groups = others.into_iter().chain([getegid()]).map(Gid::as_raw);
        Process { user: geteuid().as_raw(), groups: groups.collect() }
    }
}

/// Who may do what with a file.
struct Rights {
    mode: u32,
    owner: u32,
    group: u32,
}

impl From<&Metadata> for Rights {
    fn from(file: &Metadata) -> Rights {
        Rights { mode: file.mode() & 0o777, owner: file.uid(), group: file.gid() }
    }
}

impl Rights {
    /// Whether nobody but the process, and root, can use the file.
    fn are_private_to(&self, process: &Process) -> bool {
        match self.mode & 0o077 {
            0 => true,
            0o040 => self.owner == 0 && process.user != 0 && process.groups.contains(&self.group),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs::Permissions;
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    /// A file with 3 bytes.
    fn file(mode: u32) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file for the test");
        std::fs::write(file.path(), "abc").expect("it is ours");
        file.as_file().set_permissions(Permissions::from_mode(mode)).expect("it is ours");
        file
    }

    #[test]
    fn a_group_may_read_what_root_shares_with_the_process_alone() {
        let node = Process { user: 1000, groups: vec![2000, 1000] };
        let is_accepted = |mode, owner, group| Rights { mode, owner, group }.are_private_to(&node);
        assert!(is_accepted(0o600, 1000, 1000) && is_accepted(0o400, 1000, 7));
        assert!(is_accepted(0o640, 0, 2000) && is_accepted(0o440, 0, 1000), "the process can read it in no other way");
        assert!(!is_accepted(0o640, 1000, 2000), "it owns the file, so the right is for others");
        assert!(!is_accepted(0o640, 0, 3000), "it does not belong to the group");
        assert!(!is_accepted(0o640, 1001, 2000), "another user");
        for mode in [0o660, 0o644, 0o604, 0o650, 0o610, 0o602, 0o620, 0o601] {
            assert!(!is_accepted(mode, 0, 2000), "{mode:o}");
        }
        let root = Process { user: 0, groups: vec![0, 2000] };
        let shared = Rights { mode: 0o640, owner: 0, group: 2000 };
        assert!(!shared.are_private_to(&root), "root can read everything");
    }

    #[test]
    fn a_secret_is_refused_by_its_mode_and_other_files_are_not() {
        // The tests own the file, so no group may read it.
        for (mode, is_accepted, is_accepted_of_service) in [
            (0o600, true, true),
            (0o400, true, true),
            (0o640, false, true),
            (0o440, false, true),
            (0o660, false, false),
            (0o620, false, false),
            (0o644, false, false),
            (0o604, false, false),
        ] {
            let file = file(mode);
            let (own, of_service) = (read_secret(file.path(), 3), read_secret_of_service(file.path(), 3));
            assert_eq!((own.is_ok(), of_service.is_ok()), (is_accepted, is_accepted_of_service), "{mode:o}");
            if let Err(error) = own {
                assert!(error.to_string().contains(&format!("(mode {mode:o})")), "{error}");
            }
            assert_eq!(read(file.path(), 3).expect("it is not secret"), b"abc", "{mode:o}");
        }
    }

    #[test]
    fn a_file_that_is_too_long_is_refused() {
        let file = file(0o600);
        for result in [read(file.path(), 2), read_secret(file.path(), 2), read_secret_of_service(file.path(), 2)] {
            assert!(matches!(result, Err(InputFileError::TooLong(2))), "{result:?}");
        }
    }

    #[test]
    fn programs_that_may_campaign_must_not_read_a_secret() {
        let shared = file(0o640);
        let group = shared.as_file().metadata().expect("it is there").gid();
        let refused = check_socket_group(shared.path(), group).expect_err("the group can read it").to_string();
        assert!(refused.contains("the group of the socket can read it"), "{refused}");
        assert!(check_socket_group(shared.path(), group + 1).is_ok());
        assert!(check_socket_group(file(0o600).path(), group).is_ok());
    }
}
