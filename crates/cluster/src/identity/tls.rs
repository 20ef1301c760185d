//! The TLS configuration of a node: TLS 1.3, with certificates of the cluster's authority on both sides.

use std::ffi::OsString;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, UNIX_EPOCH};

use hustings_protocol::Id;
use rustls::client::Resumption;
use rustls::crypto::{CryptoProvider, ring};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::{NoServerSessionStorage, WebPkiClientVerifier};
use rustls::sign::SigningKey;
use rustls::time_provider::TimeProvider;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, Connection, RootCertStore, ServerConfig, ServerConnection};

use super::dns_name;
use super::files::{FileProblem, IdentityError, Source};
use super::validity::Expiry;
use crate::clock::Clock;
use crate::config::Tls;
use crate::member::Member;

/// The TLS identity of a node: its certificate and key, and the authorities that it trusts.
#[derive(Clone)]
pub(crate) struct Identity {
    cluster: String,
    /// `None` if no trusted authority signed the certificate. Tests have such identities.
    expiry: Option<Expiry>,
    own: CertificateDer<'static>,
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    /// For seals.
    pub(super) key: Arc<dyn SigningKey>,
    pub(super) chain: Arc<[CertificateDer<'static>]>,
    pub(super) roots: Arc<RootCertStore>,
    pub(super) clock: Clock,
}

/// Prints only the cluster's name: a key must never reach a log.
impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").field("cluster", &self.cluster).finish_non_exhaustive()
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
    /// Loads the identity of a member from the configured files, and checks that others will recognise the member by
    /// it. It may have expired.
    pub(crate) fn load(tls: &Tls, cluster: &str, member: &Member, clock: Clock) -> Result<Identity, IdentityError> {
        let authority = Source::read("authority", &tls.authority, false)?;
        let key = Source::read("private key", &tls.key, true)?;
        let own = Source::read("certificate", &tls.certificate, false)?;
        let build = |own: &Source<'_>| Identity::build(&authority, own, &key, cluster, clock);
        // Two files cannot be replaced at once. Between the two, the certificate of a new key has this name.
        let new = unfinished(&tls.certificate);
        let (identity, source) = match build(&own) {
            Err(mismatch) if is_mismatch(&mismatch) => {
                let finished = Source::read("certificate", &new, false).and_then(|new| Ok((build(&new)?, new)));
                finished.map_err(|_| mismatch)?
            }
            identity => (identity?, own),
        };
        identity.check_issue(&source, &tls.authority, member)?;
        Ok(identity)
    }

    /// Checks that the certificate was issued for this member, by an authority that it trusts.
    fn check_issue(&self, source: &Source<'_>, authority: &Path, member: &Member) -> Result<(), IdentityError> {
        if !is_certificate_of(&self.own, &self.cluster, member) {
            return Err(source.error(FileProblem::OtherMember(dns_name(&self.cluster, member))));
        }
        match self.expiry {
            Some(_) => Ok(()),
            None => Err(source.error(FileProblem::Untrusted(authority.to_owned()))),
        }
    }

    /// Fails if the certificate has expired, or is not valid yet.
    pub(crate) fn check_time(&self, tls: &Tls, clock: Clock) -> Result<(), IdentityError> {
        let Some(Expiry { begin, own: end, .. }) = self.expiry else { return Ok(()) };
        let now = clock.wall_time().as_secs();
        let date = |seconds| humantime::format_rfc3339_seconds(UNIX_EPOCH + Duration::from_secs(seconds)).to_string();
        let problem = match now {
            _ if now < begin => FileProblem::NotYetValid { begin: date(begin), now: date(now) },
            _ if now > end => FileProblem::Expired(date(end)),
            _ => return Ok(()),
        };
        Err(IdentityError { what: "certificate", file: tls.certificate.clone(), problem })
    }

    /// Until when the certificates are valid.
    pub(crate) fn expiry(&self) -> Option<Expiry> {
        self.expiry
    }

    /// Builds the identity from PEM texts: the authority's certificate, the node's certificate, the node's private key.
    #[cfg(test)]
    pub(crate) fn from_pem(
        authority: &str,
        certificate: &str,
        key: &str,
        cluster: &str,
    ) -> Result<Identity, IdentityError> {
        Identity::from_pem_with(Clock::new(), authority, certificate, key, cluster)
    }

    /// The same, with a clock that may be wrong.
    #[cfg(test)]
    pub(crate) fn from_pem_with(
        clock: Clock,
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
            clock,
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
        let authorities = authority.certificates()?;
        let mut roots = RootCertStore::empty();
        for certificate in &authorities {
            roots.add(certificate.clone()).map_err(|error| authority.error(FileProblem::Refused(error)))?;
        }
        let roots = Arc::new(roots);
        let chain = own.certificates()?;
        let secret = key.key()?;
        let (expiry, leaf) = (Expiry::of(&chain, &authorities), chain[0].clone());
        let signing_key = provider.key_provider.load_private_key(secret.clone_key());
        let signing_key = signing_key.map_err(|error| key.error(FileProblem::Refused(error)))?;
        let sealed_chain = chain.clone().into();

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

        let verifier = WebPkiClientVerifier::builder_with_provider(roots.clone(), provider.clone())
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
        let (client, server) = (Arc::new(client), Arc::new(server));
        let (cluster, key, chain) = (cluster.to_owned(), signing_key, sealed_chain);
        Ok(Identity { cluster, expiry, own: leaf, client, server, key, chain, roots, clock })
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

/// The name of a certificate that is about to replace `path`.
pub(crate) fn unfinished(path: &Path) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(".new");
    PathBuf::from(name)
}

/// Whether the key does not belong to the certificate.
fn is_mismatch(error: &IdentityError) -> bool {
    matches!(error.problem, FileProblem::Refused(rustls::Error::InconsistentKeys(_)))
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

#[cfg(test)]
mod tests {
    use std::fs::{self, Permissions};
    use std::os::unix::fs::PermissionsExt;

    use hustings_host::input_file::MAX_PEM_BYTES;
    use hustings_protocol::Id;
    use rustls::pki_types::pem::PemObject;
    use time::Duration;

    use super::super::{Authority, CertifiedKey};
    use super::{CertificateDer, Clock, Identity, Member, Source, Tls, is_certificate_of};
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
        Identity::load(&tls, "town", &member(1, "anna"), Clock::new()).map_err(|error| error.to_string())
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
    fn a_certificate_for_another_member_or_of_another_authority_is_refused() {
        let (authority, authority_key) = Authority::create("town", Duration::DAY).expect("an authority can be made");
        let other = authority.issue("town", &member(2, "bert"), Duration::DAY).expect("it can sign");
        let (stranger, own) = issued();
        let load = |authority: &CertifiedKey, own: &CertifiedKey| {
            refused(authority.certificate.as_bytes(), own.certificate.as_bytes(), own.key.as_bytes(), 0o600)
        };
        let said = load(&authority_key, &other);
        assert!(said.contains("not issued for this member") && said.contains("1.anna.town"), "{said}");
        let said = load(&authority_key, &own);
        assert!(said.contains("no authority in") && said.contains("authority.pem has signed it"), "{said}");
        let both = format!("{}{}", authority_key.certificate, stranger.certificate);
        let identity = super::tests::load(both.as_bytes(), own.certificate.as_bytes(), own.key.as_bytes(), 0o600);
        assert!(identity.is_ok_and(|identity| identity.expiry().is_some()), "one of two authorities is enough");
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
        let said = Identity::load(&nowhere, "town", &member(1, "anna"), Clock::new())
            .expect_err("there is no such file")
            .to_string();
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
