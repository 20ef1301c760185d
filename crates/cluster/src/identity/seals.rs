//! Seals: signatures with the key of a member's certificate. They show who sent a message that others pass on.

use rustls::SignatureScheme;
use rustls::crypto::ring;
use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage};

use super::tls::{Identity, is_certificate_of};
use crate::member::Member;
use crate::wire::Seal;

/// The schemes with which keys may sign, the best first. A key knows one or two of them.
const SCHEMES: [SignatureScheme; 6] = [
    SignatureScheme::ECDSA_NISTP256_SHA256,
    SignatureScheme::ECDSA_NISTP384_SHA384,
    SignatureScheme::ED25519,
    SignatureScheme::RSA_PSS_SHA256,
    SignatureScheme::RSA_PSS_SHA384,
    SignatureScheme::RSA_PSS_SHA512,
];

/// Why a seal proves nothing.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
pub(crate) enum SealError {
    /// There is none.
    #[error("it is not sealed")]
    Missing,
    /// The sender is no member, as far as this node knows.
    #[error("its sender is not known")]
    UnknownSender,
    /// The certificate was not issued by the cluster's authority, or is not valid now.
    #[error("the certificate of its seal is not valid")]
    Certificate,
    /// The certificate is another member's.
    #[error("the certificate of its seal is not its sender's")]
    OtherMember,
    /// The signature does not fit the message.
    #[error("the signature of its seal is wrong")]
    Signature,
    /// It came on the way of another one whose seal was wrong a moment ago.
    #[error("it came where a wrong seal came from a moment ago")]
    Suspected,
}

impl Identity {
    /// Signs bytes as this member. `None` if its key or its certificates cannot be used for that.
    pub(crate) fn seal(&self, bytes: &[u8]) -> Option<Seal> {
        let signer = self.key.choose_scheme(&SCHEMES)?;
        let (scheme, signature) = (u16::from(signer.scheme()), signer.sign(bytes).ok()?);
        let chain = self.chain.iter().map(|certificate| certificate.to_vec()).collect();
        Some(Seal { scheme, signature, chain }).filter(Seal::is_bounded)
    }

    /// Checks that the certificate of a seal is this member's, and valid now.
    pub(crate) fn check_sealer(&self, seal: &Seal, member: &Member) -> Result<(), SealError> {
        let chain: Vec<CertificateDer<'_>> = seal.chain.iter().map(|bytes| CertificateDer::from(&bytes[..])).collect();
        let (own, intermediates) = chain.split_first().ok_or(SealError::Certificate)?;
        let certificate = EndEntityCert::try_from(own).map_err(|_| SealError::Certificate)?;
        let time = UnixTime::since_unix_epoch(self.clock.wall_time());
        let (anchors, usage) = (&self.roots.roots, KeyUsage::client_auth());
        certificate
            .verify_for_usage(ALL_VERIFICATION_ALGS, anchors, intermediates, time, usage, None, None)
            .map_err(|_| SealError::Certificate)?;
        if is_certificate_of(own, self.cluster(), member) { Ok(()) } else { Err(SealError::OtherMember) }
    }
}

/// Checks the signature of a seal, but not whose it is.
pub(crate) fn check_signature(seal: &Seal, bytes: &[u8]) -> Result<(), SealError> {
    let scheme = SignatureScheme::from(seal.scheme);
    let own = CertificateDer::from(seal.chain.first().ok_or(SealError::Certificate)?.as_slice());
    let certificate = EndEntityCert::try_from(&own).map_err(|_| SealError::Certificate)?;
    let known = ring::default_provider().signature_verification_algorithms.mapping;
    let mut algorithms = known
        .iter()
        .filter(|(known, _)| *known == scheme && SCHEMES.contains(known))
        .flat_map(|(_, algorithms)| *algorithms);
    let is_right = algorithms.any(|algorithm| certificate.verify_signature(*algorithm, bytes, &seal.signature).is_ok());
    if is_right { Ok(()) } else { Err(SealError::Signature) }
}
