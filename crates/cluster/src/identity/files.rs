//! PEM files: certificates, and private keys that nobody else may read.

use std::path::{Path, PathBuf};

use hustings_host::input_file::{self, InputFileError, MAX_PEM_BYTES};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};

use crate::config::Config;

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
    #[error(transparent)]
    File(#[from] InputFileError),
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
    #[error(
        "it has expired: it was valid until {0}, and no peer accepts it; `hustings members renew` issues a new one"
    )]
    Expired(String),
    #[error(
        "it is not valid yet: it is valid from {begin}, but the clock of this host says {now}. Set the clock of this host"
    )]
    NotYetValid { begin: String, now: String },
}

/// A PEM text and its source, for error messages.
pub(super) struct Source<'a> {
    what: &'static str,
    pub(super) file: &'a Path,
    text: Vec<u8>,
}

impl<'a> Source<'a> {
    pub(super) fn read(what: &'static str, file: &'a Path, secret: bool) -> Result<Self, IdentityError> {
        let read = if secret { input_file::read_secret } else { input_file::read };
        match read(file, MAX_PEM_BYTES) {
            Ok(text) => Ok(Source { what, file, text }),
            Err(problem) => Err(IdentityError { what, file: file.to_owned(), problem: problem.into() }),
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

/// Fails if the members of this group, which may use the node's socket, can read a secret that the configuration names.
pub(crate) fn check_secrets(config: &Config, group: u32) -> Result<(), IdentityError> {
    let http = config.http.as_ref();
    let secrets = [
        ("private key", Some(&config.tls.key)),
        ("http.tls.key", http.and_then(|http| http.tls.as_ref()).map(|tls| &tls.key)),
        ("http.tokens", http.and_then(|http| http.tokens.as_ref())),
    ];
    for (what, file) in secrets {
        let Some(file) = file else { continue };
        let checked = input_file::check_socket_group(file, group);
        checked.map_err(|problem| IdentityError { what, file: file.clone(), problem: problem.into() })?;
    }
    Ok(())
}
