//! The authority of a cluster: it signs the certificate of every member.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use time::{Duration, OffsetDateTime};

use crate::member::Member;

/// A certificate and its private key, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub struct Issued {
    /// The certificate.
    pub certificate: String,
    /// The private key: a secret.
    pub key: String,
}

/// Something that could not be signed.
#[derive(Debug, thiserror::Error)]
#[error("cannot issue a certificate: {0}")]
pub struct IssueError(#[from] rcgen::Error);

/// Certificates are valid from so long ago: a host whose time of day is behind is no reason to refuse everybody.
const BACKDATED: Duration = Duration::days(30);

/// Signs certificates for one cluster.
pub struct Authority {
    issuer: Issuer<'static, KeyPair>,
}

/// The name in a member's certificate. It holds all that makes a member: its id, its name and its cluster.
pub fn dns_name(cluster: &str, member: &Member) -> String {
    format!("{}.{}.{cluster}.hustings.internal", member.id, member.name)
}

impl Authority {
    /// A new authority, and what must be kept of it.
    pub fn create(cluster: &str, lifetime: Duration) -> Result<(Self, Issued), IssueError> {
        let mut params = CertificateParams::default();
        params.distinguished_name = named(&format!("{cluster} hustings authority"));
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
        (params.not_before, params.not_after) = valid(lifetime);
        let key = KeyPair::generate()?;
        let secret = key.serialize_pem();
        let issuer = CertifiedIssuer::self_signed(params, key)?;
        let kept = Issued { certificate: issuer.pem(), key: secret };
        Ok((Authority::open(&kept)?, kept))
    }

    /// The authority that was kept.
    pub fn open(kept: &Issued) -> Result<Self, IssueError> {
        let key = KeyPair::from_pem(&kept.key)?;
        Ok(Authority { issuer: Issuer::from_ca_cert_pem(&kept.certificate, key)? })
    }

    /// A key and a certificate for a member.
    pub fn issue(&self, cluster: &str, member: &Member, lifetime: Duration) -> Result<Issued, IssueError> {
        let mut params = CertificateParams::new(vec![dns_name(cluster, member)])?;
        params.distinguished_name = named(&member.name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        (params.not_before, params.not_after) = valid(lifetime);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(Issued { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

fn named(name: &str) -> DistinguishedName {
    let mut full = DistinguishedName::new();
    full.push(DnType::CommonName, name);
    full
}

fn valid(lifetime: Duration) -> (OffsetDateTime, OffsetDateTime) {
    let now = OffsetDateTime::now_utc();
    (now - BACKDATED, now + lifetime)
}
