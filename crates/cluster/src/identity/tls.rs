//! What a node shows to its peers, and what it asks of them: TLS 1.3, both sides with a certificate of the cluster.

use std::fmt;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

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

/// No PEM file is longer.
pub const MAX_PEM_BYTES: u64 = 64 * 1024;

/// A file that cannot be used, and what is wrong with it.
#[derive(Debug, thiserror::Error)]
#[error("{what} {}: {problem}", .file.display())]
pub struct IdentityError {
    what: &'static str,
    file: PathBuf,
    problem: Problem,
}

/// What can be wrong with a file. No text of it, since it may be a secret.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error("{0}")]
    Read(#[from] io::Error),
    #[error("is longer than {MAX_PEM_BYTES} bytes")]
    TooLong,
    #[error("may be read by others (mode {0:03o}): it must be for its owner only (chmod 600)")]
    Exposed(u32),
    #[error("holds no {0} in PEM")]
    Nothing(&'static str),
    #[error("{0}")]
    Refused(rustls::Error),
    #[error("{0}")]
    NoVerifier(rustls::server::VerifierBuilderError),
}

/// Who a node is, and whom it believes.
#[derive(Clone)]
pub struct Identity {
    cluster: String,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

/// Names the cluster, and no more: a key must not get into a log.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("cluster", &self.cluster).finish_non_exhaustive()
    }
}

/// A text and where it is from, for errors.
struct Source<'a> {
    what: &'static str,
    file: &'a Path,
    text: Vec<u8>,
}

impl<'a> Source<'a> {
    fn read(what: &'static str, file: &'a Path, secret: bool) -> Result<Self, IdentityError> {
        match bounded(file, secret) {
            Ok(text) => Ok(Source { what, file, text }),
            Err(problem) => Err(IdentityError { what, file: file.to_owned(), problem }),
        }
    }

    fn given(what: &'static str, text: &str) -> Self {
        Source { what, file: Path::new("(given)"), text: text.as_bytes().to_vec() }
    }

    fn error(&self, problem: Problem) -> IdentityError {
        IdentityError { what: self.what, file: self.file.to_owned(), problem }
    }

    fn certificates(&self) -> Result<Vec<CertificateDer<'static>>, IdentityError> {
        let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&self.text).collect();
        match found {
            Ok(found) if !found.is_empty() => Ok(found),
            _ => Err(self.error(Problem::Nothing("certificate"))),
        }
    }

    fn key(&self) -> Result<PrivateKeyDer<'static>, IdentityError> {
        PrivateKeyDer::from_pem_slice(&self.text).map_err(|_| self.error(Problem::Nothing("private key")))
    }
}

/// By what certificates are valid or not.
#[derive(Debug)]
struct TimeOfDay(Clock);

impl TimeProvider for TimeOfDay {
    fn current_time(&self) -> Option<UnixTime> {
        Some(UnixTime::since_unix_epoch(self.0.time_of_day()))
    }
}

impl Identity {
    /// From the files that the configuration names.
    pub fn load(tls: &Tls, cluster: &str, clock: Clock) -> Result<Identity, IdentityError> {
        let authority = Source::read("authority", &tls.authority, false)?;
        let certificate = Source::read("certificate", &tls.certificate, false)?;
        let key = Source::read("private key", &tls.key, true)?;
        Identity::build(&authority, &certificate, &key, cluster, clock)
    }

    /// From texts in PEM: the authority's certificate, the node's certificate, the node's private key.
    pub fn from_pem(authority: &str, certificate: &str, key: &str, cluster: &str) -> Result<Identity, IdentityError> {
        Identity::build(
            &Source::given("authority", authority),
            &Source::given("certificate", certificate),
            &Source::given("private key", key),
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
        let time = Arc::new(TimeOfDay(clock));
        let provider: Arc<CryptoProvider> = Arc::new(ring::default_provider());
        let mut roots = RootCertStore::empty();
        for certificate in authority.certificates()? {
            roots.add(certificate).map_err(|error| authority.error(Problem::Refused(error)))?;
        }
        let roots = Arc::new(roots);
        let chain = own.certificates()?;
        let secret = key.key()?;

        let mut client = ClientConfig::builder_with_details(provider.clone(), time.clone())
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| own.error(Problem::Refused(error)))?
            .with_root_certificates(roots.clone())
            .with_client_auth_cert(chain.clone(), secret.clone_key())
            .map_err(|error| key.error(Problem::Refused(error)))?;
        // A connection lasts, and a second one to the same member is rare: nothing to gain, so nothing to keep.
        client.resumption = Resumption::disabled();
        client.enable_early_data = false;
        // The one who is dialled has one certificate; who it is need not be told to listeners on the way.
        client.enable_sni = false;

        let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider.clone())
            .build()
            .map_err(|error| authority.error(Problem::NoVerifier(error)))?;
        let mut server = ServerConfig::builder_with_details(provider, time)
            .with_protocol_versions(&[&TLS13])
            .map_err(|error| own.error(Problem::Refused(error)))?
            .with_client_cert_verifier(verifier)
            .with_single_cert(chain, secret)
            .map_err(|error| key.error(Problem::Refused(error)))?;
        server.session_storage = Arc::new(NoServerSessionStorage {});
        server.send_tls13_tickets = 0;
        server.max_early_data_size = 0;
        Ok(Identity { cluster: cluster.to_owned(), client: Arc::new(client), server: Arc::new(server) })
    }

    /// The cluster it is for.
    pub fn cluster(&self) -> &str {
        &self.cluster
    }

    /// The side of a connection that dials a member: nobody else will be accepted at the other end.
    pub fn dial(&self, member: &Member) -> Result<Connection, rustls::Error> {
        let name = ServerName::try_from(dns_name(&self.cluster, member))
            .map_err(|_| rustls::Error::General("the member's name is no DNS label".to_owned()))?;
        Ok(ClientConnection::new(self.client.clone(), name)?.into())
    }

    /// The side of a connection that was dialled: anybody with a certificate of the cluster, [`is_member`] tells who.
    pub fn accept(&self) -> Result<Connection, rustls::Error> {
        Ok(ServerConnection::new(self.server.clone())?.into())
    }
}

/// Whether a certificate, known to be of the cluster's authority, is this member's.
pub fn is_member(certificate: &CertificateDer<'_>, cluster: &str, member: &Member) -> bool {
    let Ok(name) = ServerName::try_from(dns_name(cluster, member)) else { return false };
    webpki::EndEntityCert::try_from(certificate)
        .is_ok_and(|certificate| certificate.verify_is_valid_for_subject_name(&name).is_ok())
}

fn bounded(path: &Path, secret: bool) -> Result<Vec<u8>, Problem> {
    let file = File::open(path)?;
    #[cfg(unix)]
    if secret {
        use std::os::unix::fs::PermissionsExt;
        // Asked of the open file: the name may lead elsewhere a moment later.
        let mode = file.metadata()?.permissions().mode() & 0o777;
        if mode & 0o077 != 0 {
            return Err(Problem::Exposed(mode));
        }
    }
    let mut text = Vec::new();
    file.take(MAX_PEM_BYTES + 1).read_to_end(&mut text)?;
    if text.len() as u64 > MAX_PEM_BYTES {
        return Err(Problem::TooLong);
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use hustings_protocol::Id;
    use time::Duration;

    use super::super::{Authority, Issued};
    use super::*;
    use crate::member::Role;

    fn member(id: u64, name: &str) -> Member {
        Member { id: Id(id), name: name.to_owned(), address: String::new(), priority: 0, role: Role::Elector }
    }

    fn issued() -> (Issued, Issued) {
        let (authority, kept) = Authority::create("town", Duration::DAY).expect("an authority can be made");
        let own = authority.issue("town", &member(1, "anna"), Duration::DAY).expect("it can sign");
        (kept, own)
    }

    /// Writes the three files, and says what loading them says.
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
    fn what_the_authority_issued_can_be_loaded() {
        let (kept, own) = issued();
        let identity = load(kept.certificate.as_bytes(), own.certificate.as_bytes(), own.key.as_bytes(), 0o600);
        let identity = identity.expect("all is well");
        assert_eq!(identity.cluster(), "town");
        assert_eq!(format!("{identity:?}"), "Identity { cluster: \"town\", .. }");
    }

    #[test]
    fn a_key_that_others_may_read_is_refused() {
        let (kept, own) = issued();
        for mode in [0o640, 0o604, 0o660, 0o644, 0o610] {
            let said = refused(kept.certificate.as_bytes(), own.certificate.as_bytes(), own.key.as_bytes(), mode);
            assert!(said.contains("node.key") && said.contains(&format!("{mode:o}")), "{said}");
        }
    }

    #[test]
    fn errors_name_the_file_and_the_trouble() {
        let (kept, own) = issued();
        let (_, other) = issued();
        let [authority, certificate, key] = [&kept.certificate, &own.certificate, &own.key].map(|text| text.as_bytes());
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

    /// Whether two members get to know each other, if the one who dials has a wrong time of day.
    fn shake_hands(wrong_by: Duration) -> Result<(), rustls::Error> {
        let (authority, kept) = Authority::create("town", Duration::DAY).expect("an authority can be made");
        let identity = |id, name, clock| {
            let own = authority.issue("town", &member(id, name), Duration::DAY).expect("it can sign");
            let [kept, certificate, key] =
                [&kept.certificate, &own.certificate, &own.key].map(|text| Source::given("a text", text));
            Identity::build(&kept, &certificate, &key, "town", clock).expect("all is well")
        };
        let clock = Clock::new().with_wall_seconds(wrong_by.whole_seconds());
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
    fn a_time_of_day_that_is_wrong_by_weeks_refuses_nobody_who_is_valid() {
        assert_eq!(shake_hands(Duration::ZERO), Ok(()));
        assert_eq!(shake_hands(Duration::days(-20)), Ok(()));
        let said = shake_hands(Duration::days(-40)).expect_err("that is before the certificates began").to_string();
        assert!(said.contains("not valid yet"), "{said}");
        let said = shake_hands(Duration::days(2)).expect_err("that is after they ended").to_string();
        assert!(said.contains("expired"), "{said}");
    }

    #[test]
    fn a_certificate_is_that_of_one_member_of_one_cluster() {
        let (_, own) = issued();
        let shown = CertificateDer::from_pem_slice(own.certificate.as_bytes()).expect("it was issued as PEM");
        assert!(is_member(&shown, "town", &member(1, "anna")));
        assert!(!is_member(&shown, "town", &member(2, "anna")));
        assert!(!is_member(&shown, "town", &member(1, "bert")));
        assert!(!is_member(&shown, "city", &member(1, "anna")));
        assert!(!is_member(&shown, "town", &member(1, "not a label")));
        assert!(!is_member(&CertificateDer::from(vec![1, 2, 3]), "town", &member(1, "anna")));
    }
}
