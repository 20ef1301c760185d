//! The TLS configuration of a node: TLS 1.3, with certificates of the cluster's authority on both sides.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use hustings_protocol::Id;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection};

use super::dns_name;
use crate::clock::Clock;
use crate::config::Tls;
use crate::member::Member;

/// The longest PEM file, in bytes.
pub(crate) const MAX_PEM_BYTES: u64 = 64 * 1024;

/// Why a certificate or key file cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{what} {}: {problem}", .file.display())]
pub struct IdentityError {
    what: &'static str,
    file: PathBuf,
    problem: FileProblem,
}

/// What is wrong with a file. It quotes nothing of the file, which may be a secret.
#[derive(Debug, thiserror::Error)]
enum FileProblem {
    #[error("{0}")]
    Read(#[from] io::Error),
    #[error("the file is longer than {MAX_PEM_BYTES} bytes")]
    TooLong,
    #[error("other users can read it (mode {0:03o}); make it readable for its owner only (chmod 600)")]
    Exposed(u32),
    #[error("contains no {0} in PEM format")]
    NotFound(&'static str),
    #[error("{0}")]
    Refused(rustls::Error),
    #[error("{0}")]
    NoVerifier(rustls::server::VerifierBuilderError),
}

/// The TLS identity of a node: its certificate and key, and the authority that it trusts.
#[derive(Clone)]
pub(crate) struct Identity {
    cluster: String,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

/// Prints only the cluster's name: a key must never reach a log.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

/// A PEM text and its source, for error messages.
struct Source<'a> {
    what: &'static str,
    file: &'a Path,
    text: Vec<u8>,
}

impl<'a> Source<'a> {
    fn read(what: &'static str, file: &'a Path, secret: bool) -> Result<Self, IdentityError> {
        match read_bounded(file, secret) {
            Ok(text) => Ok(Source { what, file, text }),
            Err(problem) => Err(IdentityError { what, file: file.to_owned(), problem }),
        }
    }

    #[cfg(test)]
    fn from_text(what: &'static str, text: &str) -> Self {
        Source { what, file: Path::new("(text)"), text: text.as_bytes().to_vec() }
    }

    fn error(&self, problem: FileProblem) -> IdentityError {
        IdentityError { what: self.what, file: self.file.to_owned(), problem }
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.text).collect();
        match found {
            Ok(found) if !found.is_empty() => Ok(found),
            _ => Err(self.error(FileProblem::NotFound("certificate"))),
        }
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, IdentityError> {
        PrivateKeyDer::from_pem_slice(&self.text).map_err(|_| self.error(FileProblem::NotFound("private key")))
    }
}

/// The wall clock that decides whether certificates are valid.
#[derive(Debug)]
struct WallClock(Clock);

impl TimeProvider for WallClock {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.0.wall_time()))
    }
}

impl Identity {
    /// Loads the identity from the configured files.
    pub(crate) fn load(tls: &Tls, cluster: &str, clock: Clock) -> Result<Identity, IdentityError> {
        let authority = Source::read("authority", &tls.authority, false)?;
        let certificate = Source::read("certificate", &tls.certificate, false)?;
        let key = Source::read("private key", &tls.key, true)?;
        Identity::build(&authority, &certificate, &key, cluster, clock)
    }

    /// Builds the identity from PEM texts: the authority's certificate, the node's certificate, the node's private key.
    #[cfg(test)]
    pub(crate) fn from_pem(
        authority: &str,
        certificate: &str,
        key: &str,
        cluster: &str,
    ) -> Result<Identity, IdentityError> {
        Identity::build(
            &Source::from_text("authority", authority),
            &Source::from_text("certificate", certificate),
            &Source::from_text("private key", key),
            cluster,
            Clock::new(),
        )
    }

    fn build(
        authority: &Source,
        own: &Source,
        key: &Source,
        cluster: &str,
        clock: Clock,
    ) -> Result<Identity, IdentityError> {
        let time = Arc::new(WallClock(clock));
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        for certificate in authority.certificates()? {
            roots.add(certificate).map_err(|error| authority.error(FileProblem::Refused(error)))?;
        }
        let roots = Arc::new(roots);
        let chain = own.certificates()?;
        let secret = key.key()?;

        let mut client = ClientConfig::builder_with_details(provider.clone(), time.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| own.error(FileProblem::Refused(error)))?
            .with_root_certificates(roots.clone())
            .with_client_auth_cert(chain.clone(), secret.clone_key())
            .map_err(|error| key.error(FileProblem::Refused(error)))?;
        // Connections last long and are rarely repeated, so resumption would gain nothing.
        client.resumption = Resumption::disabled();
        client.enable_early_data = false;
        // A member has only one certificate, so the server name is not needed; sending it would only tell
        // eavesdroppers.
        client.enable_sni = false;

        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(|error| authority.error(FileProblem::NoVerifier(error)))?;
        let mut server = ServerConfig::builder_with_details(provider, time)
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| own.error(FileProblem::Refused(error)))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, secret)
            .map_err(|error| key.error(FileProblem::Refused(error)))?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        server.max_early_data_size = 0;
        Ok(Identity { cluster: cluster.to_owned(), client: Arc::new(client), server: Arc::new(server) })
    }

    /// The name of the cluster.
    pub(crate) fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The client side of a connection to a member. It accepts no other peer.
    pub(crate) fn dial(&self, member: &Member) -> Result<Connection, rustls::Error> {
        let name = ServerName::try_from(dns_name(&self.cluster, member))
            .map_err(|_| rustls::Error::General("the member's name is not a DNS label".to_owned()))?;
        Ok(ClientConnection::new(self.client.clone(), name)?.into())
    }

    /// The server side of a connection. It accepts every certificate of the cluster's authority; [`is_certificate_of`]
    /// tells which member it belongs to.
    pub(crate) fn accept(&self) -> Result<Connection, rustls::Error> {
        Ok(ServerConnection::new(self.server.clone())?.into())
    }
}

/// Whether a certificate, already verified against the cluster's authority, belongs to this member.
pub(crate) fn is_certificate_of(certificate: &CertificateDer<'_>, cluster: &str, member: &Member) -> bool {
    let Ok(name) = ServerName::try_from(dns_name(cluster, member)) else { return false };
    webpki::EndEntityCert::try_from(certificate)
        .is_ok_and(|certificate| certificate.verify_is_valid_for_subject_name(&name).is_ok())
}

/// The name of the member with this id that a certificate, already verified against the cluster's authority, was issued
/// for; `None` if it was issued for another id or cluster.
pub(crate) fn member_name(certificate: &CertificateDer<'_>, cluster: &str, id: Id) -> Option<String> {
    let certificate = webpki::EndEntityCert::try_from(certificate).ok()?;
    let name_in = |dns_name: &str| {
        let name = dns_name.strip_prefix(&format!("{id}."))?.strip_suffix(&format!(".{cluster}.hustings.internal"))?;
        (!name.is_empty() && !name.contains('.')).then(|| name.to_string())
    };
    certificate.valid_dns_names().find_map(name_in)
}

fn read_bounded(path: &Path, secret: bool) -> Result<Vec<u8>, FileProblem> {
    let file = File::open(path)?;
    #[cfg(unix)]
    if secret {
        use std::os::unix::fs::PermissionsExt;
        // Checked on the open file, because the path may change.
        let mode = file.metadata()?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(FileProblem::Exposed(mode));
        }
    }
    let mut text = Vec::new();
    file.take(MAX_PEM_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_PEM_BYTES {
        return Err(FileProblem::TooLong);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use hustings_protocol::Id;
    use time::Duration;

    use super::super::{Authority, CertifiedKey};
    use super::*;
    use crate::member::Role;

    fn member(id: u64, name: &str) -> Member {
        Member { id: Id(id), name: name.to_owned(), address: String::new(), priority: 0, role: Role::Elector }
    }

    fn issued() -> (CertifiedKey, CertifiedKey) {
        let (authority, authority_key) = Authority::create("town", Duration::DAY).expect("an authority can be made");
        let own = authority.issue("town", &member(1, "anna"), Duration::DAY).expect("it can sign");
        (authority_key, own)
    }

    /// Writes the three files and loads them.
    fn load(authority: &[u8], certificate: &[u8], key: &[u8], mode: u32) -> Result<Identity, String> {
        let folder = tempfile::tempdir().expect("a folder for the files");
        let path = |name: &str| folder.path().join(name);
        for (name, text) in [("authority.pem", authority), ("node.pem", certificate), ("node.key", key)] {
            fs::write(path(name), text).expect("the folder is writable");
        }
        fs::set_permissions(path("node.key"), Permissions::from_mode(mode)).expect("the file is ours");
        let tls = Tls { authority: path("authority.pem"), certificate: path("node.pem"), key: path("node.key") };
        Identity::load(&tls, "town", Clock::new()).map_err(|error| error.to_string())
    }

    fn refused(authority: &[u8], certificate: &[u8], key: &[u8], mode: u32) -> String {
        load(authority, certificate, key, mode).expect_err("it must be refused")
    }

    #[test]
    fn loads_what_the_authority_issued() {
        let (authority_key, own) = issued();
        let identity =
            load(authority_key.certificate.as_bytes(), own.certificate.as_bytes(), own.key.as_bytes(), 0o600);
        let identity = identity.expect("all is well");
        assert_eq!(identity.cluster(), "town");
        assert_eq!(format!("{identity:?}"), "Identity { cluster: \"town\", .. }");
    }

    #[test]
    fn rejects_a_key_that_other_users_can_read() {
        let (authority_key, own) = issued();
        for mode in [0o640, 0o604, 0o660, 0o644, 0o610] {
            let said =
                refused(authority_key.certificate.as_bytes(), own.certificate.as_bytes(), own.key.as_bytes(), mode);
            assert!(said.contains("node.key") && said.contains(&format!("{mode:o}")), "{said}");
        }
    }

    #[test]
    fn errors_name_the_file_and_the_problem() {
        let (authority_key, own) = issued();
        let (_, other) = issued();
        let [authority, certificate, key] =
            [&authority_key.certificate, &own.certificate, &own.key].map(|text| text.as_bytes());
        let long = vec![b'x'; MAX_PEM_BYTES as usize + 1];
        for (said, file, trouble) in [
            (refused(b"", certificate, key, 0o600), "authority.pem", "no certificate"),
            (refused(authority, b"hello", key, 0o600), "node.pem", "no certificate"),
            (refused(authority, certificate, certificate, 0o600), "node.key", "no private key"),
            (refused(authority, certificate, other.key.as_bytes(), 0o600), "node.key", "keys may not be consistent"),
            (refused(&long, certificate, key, 0o600), "authority.pem", "longer than 65536"),
            (refused(authority, certificate, &long, 0o600), "node.key", "longer than 65536"),
        ] {
            assert!(said.contains(file) && said.contains(trouble), "{said}");
        }
        let nowhere =
            Tls { authority: "/nowhere/a".into(), certificate: "/nowhere/c".into(), key: "/nowhere/k".into() };
        let said = Identity::load(&nowhere, "town", Clock::new()).expect_err("there is no such file").to_string();
        assert!(said.starts_with("authority /nowhere/a: No such file"), "{said}");
    }

    /// Runs the handshake of two members, with the dialling side's wall time shifted.
    fn handshake(wall_offset: Duration) -> Result<(), rustls::Error> {
        let (authority, authority_key) = Authority::create("town", Duration::DAY).expect("an authority can be made");
        let identity = |id, name, clock| {
            let own = authority.issue("town", &member(id, name), Duration::DAY).expect("it can sign");
            let [authority_key, certificate, key] =
                [&authority_key.certificate, &own.certificate, &own.key].map(|text| Source::from_text("a text", text));
            Identity::build(&authority_key, &certificate, &key, "town", clock).expect("all is well")
        };
        let clock = Clock::new().with_wall_seconds(wall_offset.whole_seconds());
        let mut one = identity(1, "anna", clock).dial(&member(2, "bert"))?;
        let mut other = identity(2, "bert", Clock::new()).accept()?;
        while one.is_handshaking() || other.is_handshaking() {
            for (from, to) in [(0, 1), (1, 0)] {
                let both = [&mut one, &mut other];
                let mut said = Vec::new();
                while both[from].wants_write() {
                    both[from].write_tls(&mut said).expect("memory takes everything");
                }
                let mut left = said.as_slice();
                while !left.is_empty() {
                    both[to].read_tls(&mut left).expect("memory gives everything");
                    both[to].process_new_packets()?;
                }
            }
        }
        Ok(())
    }

    #[test]
    fn tolerates_a_wall_clock_that_is_weeks_behind() {
        assert_eq!(handshake(Duration::ZERO), Ok(()));
        assert_eq!(handshake(Duration::days(-20)), Ok(()));
        let said = handshake(Duration::days(-40)).expect_err("that is before the certificates began").to_string();
        assert!(said.contains("not valid yet"), "{said}");
        let said = handshake(Duration::days(2)).expect_err("that is after they ended").to_string();
        assert!(said.contains("expired"), "{said}");
    }

    #[test]
    fn a_certificate_belongs_to_one_member_of_one_cluster() {
        let (_, own) = issued();
        let shown = CertificateDer::from_pem_slice(own.certificate.as_bytes()).expect("it was issued as PEM");
        assert!(is_certificate_of(&shown, "town", &member(1, "anna")));
        assert!(!is_certificate_of(&shown, "town", &member(2, "anna")));
        assert!(!is_certificate_of(&shown, "town", &member(1, "bert")));
        assert!(!is_certificate_of(&shown, "city", &member(1, "anna")));
        assert!(!is_certificate_of(&shown, "town", &member(1, "not a label")));
        assert!(!is_certificate_of(&CertificateDer::from(vec![1, 2, 3]), "town", &member(1, "anna")));
    }
}
