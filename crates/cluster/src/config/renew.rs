//! New certificates for the members of a cluster, and a new authority in place of the old one.
//!
//! **Pairs.** A key and its certificate are two files, and no file system replaces two at once. So the certificate is
//! first written beside the old one, as `node.crt.new`; then the key is replaced, then the certificate. A node that
//! finds a key which does not fit `node.crt` uses `node.crt.new`. At every moment, one of the two fits.
//!
//! **Authorities.** A member trusts every authority in its `authority.crt`, and the cluster's folder may hold two:
//!
//! | step | signs | members trust | files |
//! |---|---|---|---|
//! | before | the old one | the old one | `authority.*` |
//! | begin | the old one | both | `authority.*`, `authority.next.*` |
//! | switch | the new one | both | `authority.*`, `authority.old.*` |
//! | finish | the new one | the new one | `authority.*` |
//!
//! The file that ends a step is written or removed last, so a step that was interrupted can be repeated.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;

use super::bootstrap::{BootstrapError, MAX_LIFETIME, certificate_lifetime, lock};
use super::disk::{file_error, keep_old, make_folder, read_pem, remove, replace, replace_keeping_rights, sync_folder};
use super::error::excerpt_of;
use super::record::Record;
use crate::identity::{Authority, CertifiedKey, fits, not_after, unfinished};
use crate::member::Member;

const RECORD: &str = "authority.toml";
const CERTIFICATE: &str = "authority.crt";
const KEY: &str = "authority.key";
const NEXT_CERTIFICATE: &str = "authority.next.crt";
const NEXT_KEY: &str = "authority.next.key";
const OLD_CERTIFICATE: &str = "authority.old.crt";
const OLD_KEY: &str = "authority.old.key";

/// A member with a new certificate.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Renewed {
    /// The member.
    pub member: Member,
    /// The folder with its new files.
    pub folder: PathBuf,
    /// Until when the certificate is valid.
    pub until: SystemTime,
}

/// A step of the rotation to a new authority. Between two steps, the members' files must reach their hosts, and every
/// node must have loaded them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum RotationStep {
    /// Creates the new authority. Members trust both; the old one still signs.
    Begin,
    /// The new authority signs from now on, and issues a certificate for every member.
    Switch,
    /// Members trust only the new authority. The old one is deleted.
    Finish,
}

/// Issues a new key and a new certificate for these members, or for all if none is named, into their folders within the
/// folder of the cluster's authority. `lifetime` is that of the record if absent.
pub fn renew_members(
    folder: &Path,
    names: &[String],
    lifetime: Option<Duration>,
) -> Result<Vec<Renewed>, BootstrapError> {
    let _lock = lock(folder)?;
    let record = Record::read(&folder.join(RECORD))?;
    let unknown = names.iter().find(|name| !record.members.iter().any(|member| member.name == **name));
    if let Some(name) = unknown {
        return Err(BootstrapError::UnknownMember(excerpt_of(name)));
    }
    renew(folder, &record, |member| names.is_empty() || names.contains(&member.name), lifetime)
}

/// Performs one step of the rotation to a new authority. `lifetime` is that of the new authority's certificate.
pub fn rotate_authority(folder: &Path, step: RotationStep, lifetime: Duration) -> Result<Vec<Renewed>, BootstrapError> {
    let _lock = lock(folder)?;
    let record = Record::read(&folder.join(RECORD))?;
    let has = |name: &str| folder.join(name).exists();
    match step {
        RotationStep::Begin if has(OLD_CERTIFICATE) => {
            Err(BootstrapError::Rotation("the last rotation is not over: continue it with `switch` or `finish`"))
        }
        RotationStep::Begin => {
            if !has(NEXT_CERTIFICATE) {
                check_lifetime(lifetime)?;
                if lifetime < record.lifetime {
                    return Err(BootstrapError::Lifetime { what: "the authority", lifetime });
                }
                let (_, next) = Authority::create(&record.cluster, certificate_lifetime(lifetime))?;
                replace(&folder.join(NEXT_KEY), &next.key)?;
                replace(&folder.join(NEXT_CERTIFICATE), &next.certificate)?;
            }
            write_trusted(folder, &record)?;
            Ok(Vec::new())
        }
        RotationStep::Switch if !has(NEXT_CERTIFICATE) && !has(OLD_CERTIFICATE) => {
            Err(BootstrapError::Rotation("there is no new authority: run `begin` first"))
        }
        RotationStep::Switch => {
            if has(NEXT_CERTIFICATE) {
                switch(folder)?;
            }
            write_trusted(folder, &record)?;
            // Time has passed since the authority was made, and the switch must not fail half-way.
            let left = authority_left(&signing_authority(folder, &record)?.1).as_secs().saturating_sub(1);
            renew(folder, &record, |_| true, Some(record.lifetime.min(Duration::from_secs(left))))
        }
        RotationStep::Finish if has(NEXT_CERTIFICATE) => {
            Err(BootstrapError::Rotation("the old authority still signs: run `switch` first"))
        }
        RotationStep::Finish if !has(OLD_CERTIFICATE) => {
            Err(BootstrapError::Rotation("there is no old authority: no rotation has begun"))
        }
        RotationStep::Finish => {
            let current = read_pem(&folder.join(CERTIFICATE))?;
            record.members.iter().try_for_each(|member| write_authority(folder, member, &current))?;
            remove(&folder.join(OLD_KEY))?;
            remove(&folder.join(OLD_CERTIFICATE))?;
            Ok(Vec::new())
        }
    }
}

/// Makes the next authority the one that signs. While the next certificate is there, it can be repeated.
fn switch(folder: &Path) -> Result<(), BootstrapError> {
    let rename = |from: &str, to: &str| {
        let (from, to) = (folder.join(from), folder.join(to));
        fs::rename(&from, &to).map_err(file_error(&to)).and_then(|()| sync_folder(folder))
    };
    if folder.join(NEXT_KEY).exists() {
        replace(&folder.join(OLD_KEY), &read_pem(&folder.join(KEY))?)?;
        replace(&folder.join(OLD_CERTIFICATE), &read_pem(&folder.join(CERTIFICATE))?)?;
        rename(NEXT_KEY, KEY)?;
    }
    rename(NEXT_CERTIFICATE, CERTIFICATE)
}

/// The authority that signs, with its certificate.
pub(super) fn signing_authority(folder: &Path, record: &Record) -> Result<(Authority, CertifiedKey), BootstrapError> {
    if folder.join(NEXT_CERTIFICATE).exists() && folder.join(OLD_CERTIFICATE).exists() {
        return Err(BootstrapError::Rotation("a `switch` was interrupted: repeat it"));
    }
    let pair = CertifiedKey { certificate: read_pem(&folder.join(CERTIFICATE))?, key: read_pem(&folder.join(KEY))? };
    Ok((Authority::open(&record.cluster, &pair)?, pair))
}

/// The certificates of all authorities that members trust, as PEM.
pub(super) fn trusted(folder: &Path) -> Result<String, BootstrapError> {
    let mut bundle = String::new();
    for name in [CERTIFICATE, NEXT_CERTIFICATE, OLD_CERTIFICATE] {
        let path = folder.join(name);
        if name == CERTIFICATE || path.exists() {
            bundle += &read_pem(&path)?;
        }
    }
    Ok(bundle)
}

fn write_trusted(folder: &Path, record: &Record) -> Result<(), BootstrapError> {
    let bundle = trusted(folder)?;
    record.members.iter().try_for_each(|member| write_authority(folder, member, &bundle))
}

fn write_authority(folder: &Path, member: &Member, bundle: &str) -> Result<(), BootstrapError> {
    let place = member_folder(folder, member)?;
    replace_keeping_rights(&place.join(CERTIFICATE), 0o644, bundle)
}

fn renew(
    folder: &Path,
    record: &Record,
    is_wanted: impl Fn(&Member) -> bool,
    lifetime: Option<Duration>,
) -> Result<Vec<Renewed>, BootstrapError> {
    let lifetime = lifetime.unwrap_or(record.lifetime);
    check_lifetime(lifetime)?;
    let (authority, pair) = signing_authority(folder, record)?;
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let left = authority_left(&pair);
    if lifetime > left {
        return Err(BootstrapError::OutlivesAuthority { lifetime, left: Duration::from_secs(left.as_secs()) });
    }
    let bundle = trusted(folder)?;
    let mut renewed = Vec::new();
    for member in record.members.iter().filter(|member| is_wanted(member)) {
        let issued = authority.issue(&record.cluster, member, certificate_lifetime(lifetime))?;
        let place = member_folder(folder, member)?;
        replace_keeping_rights(&place.join(CERTIFICATE), 0o644, &bundle)?;
        replace_pair(&place, &issued)?;
        let until = UNIX_EPOCH + Duration::from_secs((now + lifetime).as_secs());
        renewed.push(Renewed { member: member.clone(), folder: place, until });
    }
    Ok(renewed)
}

/// How long the certificate of an authority is still valid.
fn authority_left(pair: &CertifiedKey) -> Duration {
    let end = CertificateDer::from_pem_slice(pair.certificate.as_bytes()).ok().as_ref().and_then(not_after);
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    Duration::from_secs(end.unwrap_or(0)).saturating_sub(now)
}

/// Replaces key and certificate, which stay as `node.key.old` and `node.crt.old`.
fn replace_pair(place: &Path, issued: &CertifiedKey) -> Result<(), BootstrapError> {
    let (certificate, key) = (place.join("node.crt"), place.join("node.key"));
    let new = unfinished(&certificate);
    let rename = || fs::rename(&new, &certificate).map_err(file_error(&certificate)).and_then(|()| sync_folder(place));
    if new.exists() && key.exists() && fits(&read_pem(&new)?, &read_pem(&key)?) {
        // An earlier call was interrupted.
        rename()?;
    }
    keep_old(&key)?;
    keep_old(&certificate)?;
    replace_keeping_rights(&new, 0o644, &issued.certificate)?;
    replace_keeping_rights(&key, 0o600, &issued.key)?;
    rename()
}

/// The folder of a member's files. It is created again if it was moved to the member's host.
fn member_folder(folder: &Path, member: &Member) -> Result<PathBuf, BootstrapError> {
    let place = folder.join(&member.name);
    if !place.is_dir() {
        make_folder(&place)?;
        sync_folder(folder)?;
    }
    Ok(place)
}

/// Certificates for tests may be valid for a second.
fn check_lifetime(lifetime: Duration) -> Result<(), BootstrapError> {
    let fits = lifetime >= Duration::from_secs(1) && lifetime <= MAX_LIFETIME;
    if fits { Ok(()) } else { Err(BootstrapError::RenewedLifetime { lifetime }) }
}

#[cfg(test)]
mod tests;
