//! When certificates are valid.

use std::time::Duration;

use rustls::pki_types::{CertificateDer, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, KeyUsage, anchor_from_trusted_cert};
use yasna::{ASN1Result, BERReader, BERReaderSeq, parse_der, tags};

use crate::api::CertificateStatus;

/// When the certificates of a node are valid, in seconds since 1970.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Expiry {
    /// From when on all of them are.
    pub(crate) begin: u64,
    /// The node's own certificate.
    pub(crate) own: u64,
    /// The certificate of the authority that signed it.
    pub(crate) authority: u64,
}

impl From<Expiry> for CertificateStatus {
    fn from(Expiry { begin: _, own, authority }: Expiry) -> Self {
        CertificateStatus { not_after_unix_s: own, authority_not_after_unix_s: authority }
    }
}

impl Expiry {
    /// The expiry of a chain, which begins with the node's certificate. `None` if none of the authorities signed it.
    pub(super) fn of(chain: &[CertificateDer<'_>], authorities: &[CertificateDer<'_>]) -> Option<Expiry> {
        let (begin, own) = validity(chain.first()?)?;
        let signed = authorities.iter().filter(|authority| is_signed_by(chain, authority, own));
        let (began, authority) = signed.filter_map(validity).max_by_key(|(_, end)| *end)?;
        Some(Expiry { begin: begin.max(began), own, authority })
    }
}

/// Whether a chain leads to this authority. `time` is one at which the certificates of the chain are valid.
fn is_signed_by(chain: &[CertificateDer<'_>], authority: &CertificateDer<'_>, time: u64) -> bool {
    let Some((own, intermediates)) = chain.split_first() else { return false };
    let (Ok(own), Ok(anchor)) = (EndEntityCert::try_from(own), anchor_from_trusted_cert(authority)) else {
        return false;
    };
    let time = UnixTime::since_unix_epoch(Duration::from_secs(time));
    let (anchors, usage) = ([anchor], KeyUsage::client_auth());
    own.verify_for_usage(ALL_VERIFICATION_ALGS, &anchors, intermediates, time, usage, None, None).is_ok()
}

/// The end of a certificate's validity, in seconds since 1970; `None` if it is not a certificate of X.509 version 3.
pub(crate) fn not_after(certificate: &CertificateDer<'_>) -> Option<u64> {
    validity(certificate).map(|(_, end)| end)
}

/// Its beginning and its end.
fn validity(certificate: &CertificateDer<'_>) -> Option<(u64, u64)> {
    let seconds = parse_der(certificate, |certificate| {
        certificate.read_sequence(|parts| {
            let both = parts.next().read_sequence(|fields| {
                for _ in ["version", "serial number", "signature algorithm", "issuer"] {
                    fields.next().read_tagged_der()?;
                }
                let both =
                    fields.next().read_sequence(|validity| Ok((time(validity.next())?, time(validity.next())?)))?;
                skip_rest(fields).map(|()| both)
            })?;
            skip_rest(parts).map(|()| both)
        })
    });
    let (begin, end) = seconds.ok()?;
    Some((begin.try_into().unwrap_or(0), end.try_into().ok()?))
}

/// Years before 2050 are written in one form, later ones in another.
fn time(reader: BERReader<'_, '_>) -> ASN1Result<i64> {
    let time = match reader.lookahead_tag()? {
        tag if tag == tags::TAG_UTCTIME => *reader.read_utctime()?.datetime(),
        _ => *reader.read_generalized_time()?.datetime(),
    };
    Ok(time.unix_timestamp())
}

fn skip_rest(fields: &mut BERReaderSeq<'_, '_>) -> ASN1Result<()> {
    while fields.read_optional(|field| field.read_tagged_der())?.is_some() {}
    Ok(())
}

#[cfg(test)]
mod tests {
    use hustings_protocol::Id;
    use proptest::prelude::*;
    use rustls::pki_types::pem::PemObject;
    use time::{Duration, OffsetDateTime};

    use super::super::{Authority, CertifiedKey};
    use super::*;
    use crate::member::{Member, Role};

    fn der(pem: &str) -> CertificateDer<'static> {
        CertificateDer::from_pem_slice(pem.as_bytes()).expect("it was issued as PEM")
    }

    fn issued(lifetime: Duration) -> (CertifiedKey, CertifiedKey) {
        let member =
            Member { id: Id(1), name: "anna".into(), address: String::new(), priority: 0, role: Role::Elector };
        let (authority, authority_key) = Authority::create("shop", Duration::days(40_000)).expect("it can be made");
        (authority_key, authority.issue("shop", &member, lifetime).expect("it can sign"))
    }

    #[test]
    fn reads_the_end_before_and_after_2050() {
        for days in [1, 825, 20_000] {
            let expected = (OffsetDateTime::now_utc() + Duration::days(days)).unix_timestamp() as u64;
            let end = not_after(&der(&issued(Duration::days(days)).1.certificate)).expect("it is a certificate");
            assert!(end.abs_diff(expected) < 60, "{days} days: {end}, not {expected}");
        }
    }

    #[test]
    fn names_the_authority_that_signed() {
        let (old, own) = issued(Duration::DAY);
        let (new, _) = issued(Duration::DAY);
        let (old, new, own) = (der(&old.certificate), der(&new.certificate), der(&own.certificate));
        let expiry = Expiry::of(std::slice::from_ref(&own), &[new.clone(), old.clone()]).expect("one of them signed");
        let ends = (not_after(&own), not_after(&old));
        assert_eq!((Some(expiry.own), Some(expiry.authority)), ends);
        let now = OffsetDateTime::now_utc().unix_timestamp() as u64;
        assert!(expiry.begin < now && expiry.begin + 40 * 86_400 > now, "certificates are dated back by a month");
        assert_eq!(Expiry::of(&[own], &[new]), None);
        assert_eq!(Expiry::of(&[], &[old]), None);
    }

    proptest! {
        #[test]
        fn no_bytes_panic(bytes in proptest::collection::vec(any::<u8>(), 0..400), cut in 0_usize..400) {
            let _ = not_after(&CertificateDer::from(bytes.clone()));
            let mut damaged = der(&issued(Duration::DAY).1.certificate).to_vec();
            let cut = cut.min(damaged.len());
            damaged.splice(cut..cut.saturating_add(bytes.len().min(3)).min(damaged.len()), bytes.into_iter().take(3));
            let _ = not_after(&CertificateDer::from(damaged));
        }
    }
}
