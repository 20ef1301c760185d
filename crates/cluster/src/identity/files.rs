//! PEM files: certificates, and private keys that nobody else may read.

use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

/// The longest PEM file, in bytes.
pub(crate) const MAX_PEM_BYTES: u64 = 64 * 1024;

/// Why a certificate or key file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{what} {}: {problem}", .file.display())]
pub(crate) struct IdentityError {
    pub(super) what: &'static str,
    pub(super) file: PathBuf,
    pub(super) problem: FileProblem,
}

/// What is wrong with a file. It quotes nothing of the file, which may be a secret.
#[derive(Debug, thiserror::Error)]
pub(super) enum FileProblem {
    #[error("{0}")]
    Read(#[from] io::Error),
    #[error("the file is longer than {MAX_PEM_BYTES} bytes")]
    TooLong,
    #[error(
        "other users can read it (mode {0:03o}); make it readable for its owner only (chmod 600). A group may read it \
         only if root owns it and the node, which is not root, belongs to the group"
    )]
    Exposed(u32),
    #[error("the group of the socket can read it: programs that may campaign must not. Give the key to another group")]
    SharedWithPrograms,
    #[error("contains no {0} in PEM format")]
    NotFound(&'static str),
    #[error("{0}")]
    Refused(rustls::Error),
    #[error("{0}")]
    NoVerifier(rustls::server::VerifierBuilderError),
    #[error("it was not issued for this member, whose certificates have the name {0}")]
    OtherMember(String),
    #[error("no authority in {} has signed it", .0.display())]
    Untrusted(PathBuf),
    #[error("it has expired: it was valid until {0}")]
    Expired(String),
}

/// A PEM text and its source, for error messages.
pub(super) struct Source<'a> {
    what: &'static str,
    pub(super) file: &'a Path,
    text: Vec<u8>,
}

impl<'a> Source<'a> {
    pub(super) fn read(what: &'static str, file: &'a Path, secret: bool) -> Result<Self, IdentityError> {
        match read_bounded(file, secret) {
            Ok(text) => Ok(Source { what, file, text }),
            Err(problem) => Err(IdentityError { what, file: file.to_owned(), problem }),
        }
    }

    #[cfg(test)]
    pub(super) fn from_text(what: &'static str, text: &str) -> Self {
        Source { what, file: Path::new("(text)"), text: text.as_bytes().to_vec() }
    }

    pub(super) fn error(&self, problem: FileProblem) -> IdentityError {
        IdentityError { what: self.what, file: self.file.to_owned(), problem }
    }

    pub(super) fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.text).collect();
        match found {
            Ok(found) if !found.is_empty() => Ok(found),
            _ => Err(self.error(FileProblem::NotFound("certificate"))),
        }
    }

    pub(super) fn key(&self) -> Result<PrivateKeyDer<'static>, IdentityError> {
        PrivateKeyDer::from_pem_slice(&self.text).map_err(|_| self.error(FileProblem::NotFound("private key")))
    }
}

fn read_bounded(path: &Path, secret: bool) -> Result<Vec<u8>, FileProblem> {
    let file = File::open(path)?;
    if secret {
        // Checked on the open file, because the path may change.
        let metadata = file.metadata()?;
        if !is_private(&metadata, &Process::this()) {
            return Err(FileProblem::Exposed(metadata.mode() & 0o777));
        }
    }
    let mut text = Vec::new();
    file.take(MAX_PEM_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_PEM_BYTES {
        return Err(FileProblem::TooLong);
    }
    Ok(text)
}

/// Fails if members of this group can read a private key.
pub(crate) fn check_key_group(key: &Path, group: u32) -> Result<(), IdentityError> {
    let error = |problem| IdentityError { what: "private key", file: key.to_owned(), problem };
    let metadata = std::fs::metadata(key).map_err(|problem| error(problem.into()))?;
    let is_shared = metadata.mode() & 0o040 != 0 && metadata.gid() == group;
    if is_shared { Err(error(FileProblem::SharedWithPrograms)) } else { Ok(()) }
}

/// Who reads a file.
struct Process {
    user: u32,
    groups: Vec<u32>,
}

impl Process {
    fn this() -> Process {
        let others = rustix::process::getgroups().unwrap_or_default();
        let groups = others.into_iter().chain([rustix::process::getegid()]).map(rustix::process::Gid::as_raw);
        Process { user: rustix::process::geteuid().as_raw(), groups: groups.collect() }
    }
}

/// Whether nobody but the process, and root, can use a secret.
///
/// A process that owns the file has no need of the group's rights. One that does not own it can read it in no other
/// way: that is how Kubernetes mounts secrets (`fsGroup`), and how Debian shares keys with a service.
fn is_private(file: &impl Owned, process: &Process) -> bool {
    let (mode, user, group) = file.rights();
    match mode & 0o077 {
        0 => true,
        0o040 => user == 0 && process.user != 0 && process.groups.contains(&group),
        _ => false,
    }
}

/// Mode, user and group of a file.
trait Owned {
    fn rights(&self) -> (u32, u32, u32);
}

impl Owned for Metadata {
    fn rights(&self) -> (u32, u32, u32) {
        (self.mode() & 0o777, self.uid(), self.gid())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    impl Owned for (u32, u32, u32) {
        fn rights(&self) -> (u32, u32, u32) {
            *self
        }
    }

    #[test]
    fn programs_that_may_campaign_must_not_read_the_key() {
        use std::os::unix::fs::PermissionsExt;
        let key = tempfile::NamedTempFile::new().expect("a file for the test");
        let set_mode = |mode| key.as_file().set_permissions(std::fs::Permissions::from_mode(mode)).expect("it is ours");
        let group = key.as_file().metadata().expect("it is there").gid();
        set_mode(0o640);
        let refused = check_key_group(key.path(), group).expect_err("the group can read it").to_string();
        assert!(refused.contains("the group of the socket can read it"), "{refused}");
        assert!(check_key_group(key.path(), group + 1).is_ok());
        set_mode(0o600);
        assert!(check_key_group(key.path(), group).is_ok());
    }

    #[test]
    fn a_group_may_read_what_root_shares_with_the_process_alone() {
        let node = Process { user: 1000, groups: vec![2000, 1000] };
        let is_accepted = |mode, user, group| is_private(&(mode, user, group), &node);
        assert!(is_accepted(0o600, 1000, 1000) && is_accepted(0o400, 1000, 7));
        assert!(is_accepted(0o640, 0, 2000) && is_accepted(0o440, 0, 1000), "the process can read it in no other way");
        assert!(!is_accepted(0o640, 1000, 2000), "it owns the file, so the right is for others");
        assert!(!is_accepted(0o640, 0, 3000), "it does not belong to the group");
        assert!(!is_accepted(0o640, 1001, 2000), "another user");
        for mode in [0o660, 0o644, 0o604, 0o650, 0o610, 0o602] {
            assert!(!is_accepted(mode, 0, 2000), "{mode:o}");
        }
        let root = Process { user: 0, groups: vec![0, 2000] };
        assert!(!is_private(&(0o640, 0, 2000), &root), "root can read everything");
    }
}
