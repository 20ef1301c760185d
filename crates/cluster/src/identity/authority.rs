//! The certificate authority of a cluster.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DistinguishedName, DnType, ExtendedKeyUsagePurpose, IsCa,
    Issuer, KeyPair, KeyUsagePurpose,
};
use rustls::crypto::ring;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use time::{Duration, OffsetDateTime};

use crate::member::Member;

/// A certificate and its private key, as PEM.
#[derive(Clone, PartialEq, Eq)]
pub(crate) struct CertifiedKey {
    /// The certificate.
    pub certificate: String,
    /// The private key, a secret.
    pub key: String,
}

/// Why a certificate could not be issued.
#[derive(Debug, thiserror::Error)]
#[error("cannot issue a certificate: {0}")]
pub(crate) struct IssueError(#[from] rcgen::Error);

/// Certificates are valid from this long before they are issued, so that a host whose clock is behind does not reject
/// every peer.
const BACKDATE: Duration = Duration::days(30);

/// Signs the certificates of one cluster.
pub(crate) struct Authority {
    issuer: Issuer<'static, KeyPair>,
}

/// The DNS name in a member's certificate. It contains everything that identifies a member: id, name and cluster.
pub(crate) fn dns_name(cluster: &str, member: &Member) -> String {
    format!("{}.{}.{cluster}.hustings.internal", member.id, member.name)
}

impl Authority {
    /// Creates an authority. Also returns its certificate and key, which must be stored.
    pub(crate) fn create(cluster: &str, lifetime: Duration) -> Result<(Self, CertifiedKey), IssueError> {
        let mut params = authority_params(cluster);
        (params.not_before, params.not_after) = validity(lifetime);
        let key = KeyPair::generate()?;
        let secret = key.serialize_pem();
        let issuer = CertifiedIssuer::self_signed(params, key)?;
        let authority_key = CertifiedKey { certificate: issuer.pem(), key: secret };
        Ok((Authority::open(cluster, &authority_key)?, authority_key))
    }

    /// Restores the authority of a cluster from its stored certificate and key.
    pub(crate) fn open(cluster: &str, authority_key: &CertifiedKey) -> Result<Self, IssueError> {
        // What an issuer takes from its certificate follows from the cluster's name. The certificate is only checked:
        // members could not use a damaged one.
        let certificate = CertificateDer::from_pem_slice(authority_key.certificate.as_bytes()).ok();
        if certificate.is_none_or(|certificate| webpki::anchor_from_trusted_cert(&certificate).is_err()) {
            return Err(IssueError(rcgen::Error::CouldNotParseCertificate));
        }
        let key = KeyPair::from_pem(&authority_key.key)?;
        Ok(Authority { issuer: Issuer::new(authority_params(cluster), key) })
    }

    /// Issues a key and a certificate for a member.
    pub(crate) fn issue(&self, cluster: &str, member: &Member, lifetime: Duration) -> Result<CertifiedKey, IssueError> {
        let mut params = CertificateParams::new(vec![dns_name(cluster, member)])?;
        params.distinguished_name = common_name(&member.name);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth, ExtendedKeyUsagePurpose::ClientAuth];
        params.key_usages = vec![KeyUsagePurpose::DigitalSignature];
        (params.not_before, params.not_after) = validity(lifetime);
        let key = KeyPair::generate()?;
        let certificate = params.signed_by(&key, &self.issuer)?;
        Ok(CertifiedKey { certificate: certificate.pem(), key: key.serialize_pem() })
    }
}

/// Whether a certificate and a private key, as PEM, belong together.
pub(crate) fn fits(certificate: &str, key: &str) -> bool {
    let (Ok(certificate), Ok(key)) =
        (CertificateDer::from_pem_slice(certificate.as_bytes()), PrivateKeyDer::from_pem_slice(key.as_bytes()))
    else {
        return false;
    };
    rustls::sign::CertifiedKey::from_der(vec![certificate], key, &ring::default_provider()).is_ok()
}

/// The authority's certificate, except for its validity.
fn authority_params(cluster: &str) -> CertificateParams {
    let mut params = CertificateParams::default();
    params.distinguished_name = common_name(&format!("{cluster} hustings authority"));
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
    params.key_usages = vec![KeyUsagePurpose::KeyCertSign, KeyUsagePurpose::CrlSign];
    params
}

fn common_name(name: &str) -> DistinguishedName {
    let mut full = DistinguishedName::new();
    full.push(DnType::CommonName, name);
    full
}

fn validity(lifetime: Duration) -> (OffsetDateTime, OffsetDateTime) {
    let now = OffsetDateTime::now_utc();
    (now - BACKDATE, now + lifetime)
}
