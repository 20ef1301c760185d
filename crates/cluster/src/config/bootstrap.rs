//! Creates the files of a new cluster, or of one more member.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hustings_protocol::Id;

use super::disk::{check_free, create_folder_atomically, file_error, make_folder, replace, sync_folder, write_file};
use super::error::{ConfigError, excerpt_of};
use super::read::check_members;
use super::record::Record;
use super::renew::{signing_authority, trusted};
use super::write::{Settings, configuration};
use super::{AlgorithmConfig, ArbiterKind, Config, MAX_MEMBERS, MemberSpec, Policy};
use crate::election::Algorithms;
use crate::identity::{Authority, IssueError};
use crate::member::Member;
use crate::timing::Timing;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// The longest validity: the dates of certificates end with the year 9999.
pub(super) const MAX_LIFETIME: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// The specification of a new cluster.
#[derive(Clone, Debug)]
pub struct ClusterSpec {
    /// The name of the cluster, a DNS label.
    pub cluster: String,
    /// The initial members; their ids are 1, 2, 3, … in this order.
    pub members: Vec<MemberSpec>,
    /// The election algorithm.
    pub algorithm: AlgorithmConfig,
    /// The algorithms that the nodes of the cluster know.
    pub algorithms: Algorithms,
    /// The arbiter.
    pub arbiter: ArbiterKind,
    /// Timeouts and leases.
    pub timing: Timing,
    /// How long the authority's certificate is valid.
    pub authority_lifetime: Duration,
    /// How long the members' certificates are valid.
    pub node_lifetime: Duration,
}

impl ClusterSpec {
    /// A cluster with this name and these members, and defaults for everything else.
    pub fn new(cluster: impl Into<String>, members: Vec<MemberSpec>) -> Self {
        ClusterSpec {
            cluster: cluster.into(),
            members,
            algorithm: AlgorithmConfig::default(),
            algorithms: Algorithms::default(),
            arbiter: ArbiterKind::default(),
            timing: Timing::default(),
            authority_lifetime: DAY * 3650,
            node_lifetime: DAY * 825,
        }
    }
}

/// The files of a new member.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct AddedMember {
    /// The member, with its id.
    pub member: Member,
    /// The folder to copy to its host.
    pub folder: PathBuf,
}

/// Why the files could not be created.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// The folder exists and is not empty.
    #[error("{}: the folder exists and is not empty; nothing was changed", .0.display())]
    Exists(PathBuf),
    /// The folder of a new member has files, perhaps those of a former member of this name.
    #[error(
        "{folder}: the folder exists and is not empty; nothing was changed. If it is left over from a member of this name \
         that was removed, delete it first: rm -r {folder}", folder = .0.display()
    )]
    LeftOver(PathBuf),
    /// The folder is the working directory, which cannot be replaced.
    #[error("{}: this is the working directory; name a new folder inside it", .0.display())]
    WorkingDirectory(PathBuf),
    /// The specification is not a valid cluster.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A certificate's validity is out of range.
    #[error(
        "certificates of {what} cannot be valid for {}: expected an hour to 100 years, and for members no longer than for \
         the authority", humantime::format_duration(*.lifetime)
    )]
    Lifetime {
        /// Whose certificate.
        what: &'static str,
        /// The requested validity.
        lifetime: Duration,
    },
    /// The validity of a renewed certificate is out of range.
    #[error("certificates cannot be valid for {}: expected a second to 100 years", humantime::format_duration(*.lifetime))]
    RenewedLifetime {
        /// The requested validity.
        lifetime: Duration,
    },
    /// A certificate would be valid for longer than that of its authority.
    #[error(
        "a certificate cannot be valid for {}: that of the authority ends in {}. Rotate the authority first \
         (`hustings members rotate-authority`), or choose a shorter --lifetime",
        humantime::format_duration(*.lifetime), humantime::format_duration(*.left)
    )]
    OutlivesAuthority {
        /// The requested validity.
        lifetime: Duration,
        /// How long the authority's certificate is still valid.
        left: Duration,
    },
    /// The steps of a rotation are in the wrong order.
    #[error("{0}")]
    Rotation(&'static str),
    /// A member with this name exists already.
    #[error("there is a member `{0}` already")]
    MemberExists(String),
    /// The member was added before, with other properties.
    #[error("{}: `{name}` was added before with another address, priority or role", path.display())]
    OtherMember {
        /// The member.
        name: String,
        /// Its configuration.
        path: PathBuf,
    },
    /// No member has this name.
    #[error("there is no member `{0}`")]
    UnknownMember(String),
    /// The cluster has the largest possible number of members.
    #[error("the cluster has {MAX_MEMBERS} members already, which is the maximum")]
    Full,
    /// A certificate could not be issued.
    #[error(transparent)]
    Issue(Box<dyn std::error::Error + Send + Sync>),
    /// A file could not be read or written.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error of the operating system.
        error: io::Error,
    },
}

impl From<IssueError> for BootstrapError {
    fn from(error: IssueError) -> Self {
        BootstrapError::Issue(error.into())
    }
}

/// Creates the files of a new cluster: `authority.crt`, `authority.key`, `authority.toml` and one folder per member, in
/// a folder that is new or empty. Either all files are created or none. Returns every member with its folder.
pub fn bootstrap(folder: &Path, spec: &ClusterSpec) -> Result<Vec<AddedMember>, BootstrapError> {
    check_lifetime("the authority", spec.authority_lifetime, MAX_LIFETIME)?;
    check_lifetime("members", spec.node_lifetime, spec.authority_lifetime)?;
    let members: Vec<Member> = spec.members.iter().zip(1..).map(|(spec, id)| spec.with_id(Id(id))).collect();
    let record = Record {
        cluster: spec.cluster.clone(),
        highest: Id(members.len() as u64),
        lifetime: spec.node_lifetime,
        members,
    };
    let ClusterSpec { algorithm, arbiter, timing, .. } = spec;
    let settings =
        Settings { algorithm, arbiter: *arbiter, timing, default_policy: Policy::default(), offices: &[] }.text();
    for member in &record.members {
        // Check that every file can be read back before writing any.
        let text = configuration(&record.cluster, member, false, &settings, &record.members);
        Config::parse_knowing(&text, Path::new(""), &|_| None, Some(&spec.algorithms))?;
    }
    if record.members.is_empty() {
        return Err(ConfigError::Missing { key: "member", need: "a cluster has at least one member" }.into());
    }
    check_free(folder)?;
    let (authority, authority_key) = Authority::create(&record.cluster, certificate_lifetime(spec.authority_lifetime))?;
    create_folder_atomically(folder, |inside| -> Result<(), BootstrapError> {
        write_file(&inside.join("authority.crt"), 0o644, &authority_key.certificate)?;
        write_file(&inside.join("authority.key"), 0o600, &authority_key.key)?;
        write_file(&inside.join("authority.toml"), 0o600, &record.text())?;
        for member in &record.members {
            let place = inside.join(&member.name);
            make_folder(&place)?;
            let text = configuration(&record.cluster, member, false, &settings, &record.members);
            write_member(&place, &authority, &authority_key.certificate, &record, member, &text)?;
            sync_folder(&place)?;
        }
        Ok(())
    })?;
    let files = |member: Member| AddedMember { folder: folder.join(&member.name), member };
    Ok(record.members.into_iter().map(files).collect())
}

/// Creates the files of one more member, in the folder of the cluster's authority: its key, its certificate and its
/// configuration, with the settings of the cluster as one of its nodes has told them. Its id is one that no member ever
/// had. If the same member was added before, its files are reused.
pub fn add_member(folder: &Path, spec: &MemberSpec, settings: &str) -> Result<AddedMember, BootstrapError> {
    // A concurrent call waits for this lock, and then sees the new id.
    let _lock = lock(folder)?;
    let path = folder.join("authority.toml");
    let mut record = Record::read(&path)?;
    check_lifetime("members", record.lifetime, MAX_LIFETIME)?;
    if record.members.iter().any(|member| member.name == spec.name) {
        return added_before(folder, spec);
    }
    if record.members.len() >= MAX_MEMBERS {
        return Err(BootstrapError::Full);
    }
    let before = record.clone();
    record.highest = Id(record.highest.0.saturating_add(1));
    let member = spec.with_id(record.highest);
    record.members.push(member.clone());
    // The nodes of the cluster know the algorithm.
    let text = configuration(&record.cluster, &member, true, settings, &record.members);
    Config::parse_knowing(&text, Path::new(""), &|_| None, None)?;
    let place = folder.join(&member.name);
    check_free(&place).map_err(|error| match error {
        BootstrapError::Exists(place) => BootstrapError::LeftOver(place),
        other => other,
    })?;
    let (authority, _) = signing_authority(folder, &record)?;
    let trusted = trusted(folder)?;
    // The id is recorded first, so that it is never used again; the name last, so that a failed call can be repeated.
    replace(&path, &Record { highest: record.highest, ..before }.text())?;
    create_folder_atomically(&place, |inside| write_member(inside, &authority, &trusted, &record, &member, &text))?;
    replace(&path, &record.text())?;
    Ok(AddedMember { member, folder: place })
}

/// The files of a member that an earlier call has created.
fn added_before(folder: &Path, spec: &MemberSpec) -> Result<AddedMember, BootstrapError> {
    let folder = folder.join(&spec.name);
    let path = folder.join("hustings.toml");
    // The environment of this process does not concern another member.
    let config = Config::read_as_client_with(&path, &|_| None)?;
    match config.own() {
        Some(member) if config.join && *member == spec.with_id(member.id) => {
            Ok(AddedMember { member: member.clone(), folder })
        }
        _ => Err(BootstrapError::OtherMember { name: spec.name.clone(), path }),
    }
}

/// Removes a member from the authority's record, so that its name and address can be used again. Its id cannot. Its
/// folder stays.
pub fn remove_member(folder: &Path, name: &str) -> Result<Member, BootstrapError> {
    let _lock = lock(folder)?;
    let path = folder.join("authority.toml");
    let mut record = Record::read(&path)?;
    let index = record.members.iter().position(|member| member.name == name);
    let removed = record.members.remove(index.ok_or_else(|| BootstrapError::UnknownMember(excerpt_of(name)))?);
    check_members(&record.members)?;
    replace(&path, &record.text())?;
    Ok(removed)
}

/// Locks the authority's record until the file is dropped.
pub(super) fn lock(folder: &Path) -> Result<File, BootstrapError> {
    let lock = File::open(folder).map_err(file_error(folder))?;
    lock.lock().map_err(file_error(folder))?;
    Ok(lock)
}

fn check_lifetime(what: &'static str, lifetime: Duration, max: Duration) -> Result<(), BootstrapError> {
    let fits = lifetime >= Duration::from_secs(3600) && lifetime <= max;
    if fits { Ok(()) } else { Err(BootstrapError::Lifetime { what, lifetime }) }
}

/// Converts a lifetime of at most [`MAX_LIFETIME`].
pub(super) fn certificate_lifetime(lifetime: Duration) -> time::Duration {
    time::Duration::seconds(i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX))
}

fn write_member(
    place: &Path,
    authority: &Authority,
    authority_certificate: &str,
    record: &Record,
    member: &Member,
    configuration: &str,
) -> Result<(), BootstrapError> {
    let issued = authority.issue(&record.cluster, member, certificate_lifetime(record.lifetime))?;
    write_file(&place.join("hustings.toml"), 0o644, configuration)?;
    write_file(&place.join("authority.crt"), 0o644, authority_certificate)?;
    write_file(&place.join("node.crt"), 0o644, &issued.certificate)?;
    write_file(&place.join("node.key"), 0o600, &issued.key)
}

#[cfg(test)]
mod tests;
