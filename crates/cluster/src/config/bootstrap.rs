//! The files of a new cluster, and of one more member of it.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use hustings_protocol::Id;

use super::disk::{at, is_free, make_folder, put, read_pem, replace, sync_folder, write_file};
use super::error::{ConfigError, shown};
use super::read::check_members;
use super::record::Record;
use super::write::configuration;
use super::{ArbiterKind, Choice, Config, MAX_MEMBERS, Newcomer};
use crate::election::Algorithms;
use crate::identity::{Authority, IssueError, Issued};
use crate::member::Member;
use crate::timing::Timing;

const DAY: Duration = Duration::from_secs(24 * 3600);
/// Dates of certificates go up to the year 9999.
const MAX_LIFETIME: Duration = Duration::from_secs(100 * 365 * 24 * 3600);

/// A cluster that is to be.
#[derive(Clone, Debug)]
pub struct Plan {
    /// Its name: a DNS label.
    pub cluster: String,
    /// Who is in it from the beginning; they are numbered from 1, in this order.
    pub members: Vec<Newcomer>,
    /// The algorithm that decides who should lead.
    pub algorithm: Choice,
    /// The algorithms that its nodes know.
    pub algorithms: Algorithms,
    /// Who says who may lead.
    pub arbiter: ArbiterKind,
    /// All times.
    pub timing: Timing,
    /// For how long the certificate of the authority is good.
    pub authority_lifetime: Duration,
    /// For how long the certificates of members are good.
    pub node_lifetime: Duration,
}

impl Plan {
    /// A cluster of this name and these members, and everything else as usual.
    pub fn new(cluster: impl Into<String>, members: Vec<Newcomer>) -> Self {
        Plan {
            cluster: cluster.into(),
            members,
            algorithm: Choice::default(),
            algorithms: Algorithms::default(),
            arbiter: ArbiterKind::default(),
            timing: Timing::default(),
            authority_lifetime: DAY * 3650,
            node_lifetime: DAY * 825,
        }
    }
}

/// A cluster whose files are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Bootstrapped {
    /// The folder of it all; it holds the authority's key.
    pub folder: PathBuf,
    /// Every member, with its folder.
    pub members: Vec<(Member, PathBuf)>,
}

/// A member whose files are written.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Admitted {
    /// It, with its number.
    pub member: Member,
    /// The folder for its host.
    pub folder: PathBuf,
}

/// Why no files were written.
#[derive(Debug, thiserror::Error)]
pub enum BootstrapError {
    /// There is something already.
    #[error("{}: is there already and not empty; nothing was changed", .0.display())]
    Exists(PathBuf),
    /// A folder cannot be put in the place of the one that programs stand in.
    #[error("{}: is the working directory; name a new folder in it", .0.display())]
    WorkingDirectory(PathBuf),
    /// The members and choices do not make a cluster.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// A certificate that is good for too short or too long.
    #[error(
        "certificates of {what} would be good for {}: allowed are an hour to 100 years, and members no longer than the \
         authority", humantime::format_duration(*.lifetime)
    )]
    Lifetime {
        /// Whose.
        what: &'static str,
        /// For how long.
        lifetime: Duration,
    },
    /// There is a member of this name.
    #[error("there is a member `{0}` already")]
    Member(String),
    /// There is no member of this name.
    #[error("there is no member `{0}`")]
    NoMember(String),
    /// There are as many members as there may be.
    #[error("there are {MAX_MEMBERS} members already, and no cluster has more")]
    Full,
    /// No certificate could be signed.
    #[error(transparent)]
    Issue(#[from] IssueError),
    /// A file could not be written or read.
    #[error("{}: {error}", path.display())]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
}

/// Founds a cluster: `authority.crt`, `authority.key`, `authority.toml` and a folder for every member, in a folder that
/// is new or empty. It is there as a whole, or not at all.
pub fn found(folder: &Path, plan: &Plan) -> Result<Bootstrapped, BootstrapError> {
    lifetime("the authority", plan.authority_lifetime, MAX_LIFETIME)?;
    lifetime("members", plan.node_lifetime, plan.authority_lifetime)?;
    let members: Vec<Member> = plan.members.iter().zip(1..).map(|(newcomer, id)| newcomer.with_id(Id(id))).collect();
    let record = Record {
        cluster: plan.cluster.clone(),
        highest: Id(members.len() as u64),
        lifetime: plan.node_lifetime,
        algorithm: plan.algorithm.clone(),
        arbiter: plan.arbiter,
        timing: plan.timing,
        members,
    };
    for member in &record.members {
        // All of it is read back before any of it is written.
        let text = configuration(&record.agreement(), member, false);
        Config::parse_knowing(&text, Path::new(""), &|_| None, Some(&plan.algorithms))?;
    }
    if record.members.is_empty() {
        return Err(ConfigError::Missing { key: "member", need: "a cluster has at least one" }.into());
    }
    is_free(folder)?;
    let (authority, kept) = Authority::create(&record.cluster, length(plan.authority_lifetime))?;
    put(folder, |inside| {
        write_file(&inside.join("authority.crt"), 0o644, &kept.certificate)?;
        write_file(&inside.join("authority.key"), 0o600, &kept.key)?;
        write_file(&inside.join("authority.toml"), 0o600, &record.text())?;
        for member in &record.members {
            let place = inside.join(&member.name);
            make_folder(&place)?;
            write_member(&place, &authority, &kept.certificate, &record, member, false)?;
            sync_folder(&place)?;
        }
        Ok(())
    })?;
    let members = record.members.into_iter().map(|member| (member.clone(), folder.join(&member.name))).collect();
    Ok(Bootstrapped { folder: folder.to_path_buf(), members })
}

/// Admits one more member: issues its key and certificate and writes its folder, in the folder of the cluster's
/// authority. Its number is one that no member ever had.
pub fn admit(folder: &Path, newcomer: &Newcomer) -> Result<Admitted, BootstrapError> {
    // Whoever admits somebody at the same time waits until the end of this function, and sees the new number.
    let _lock = lock(folder)?;
    let path = folder.join("authority.toml");
    let mut record = Record::read(&path)?;
    lifetime("members", record.lifetime, MAX_LIFETIME)?;
    if record.members.iter().any(|member| member.name == newcomer.name) {
        return Err(BootstrapError::Member(newcomer.name.clone()));
    }
    if record.members.len() >= MAX_MEMBERS {
        return Err(BootstrapError::Full);
    }
    let before = record.clone();
    record.highest = Id(record.highest.0.saturating_add(1));
    let member = newcomer.with_id(record.highest);
    record.members.push(member.clone());
    // The algorithm was looked up when the cluster was made.
    let text = configuration(&record.agreement(), &member, true);
    Config::parse_knowing(&text, Path::new(""), &|_| None, None)?;
    let place = folder.join(&member.name);
    is_free(&place)?;
    let kept =
        Issued { certificate: read_pem(&folder.join("authority.crt"))?, key: read_pem(&folder.join("authority.key"))? };
    let authority = Authority::open(&kept)?;
    // First the number, so that nobody else ever gets it; last the name, so that a failure can be tried again.
    replace(&path, &Record { highest: record.highest, ..before }.text())?;
    put(&place, |inside| write_member(inside, &authority, &kept.certificate, &record, &member, true))?;
    replace(&path, &record.text())?;
    Ok(Admitted { member, folder: place })
}

/// Forgets a member that left for good, so that its name and address are free for another; its number is not. Its
/// folder stays.
pub fn dismiss(folder: &Path, name: &str) -> Result<Member, BootstrapError> {
    let _lock = lock(folder)?;
    let path = folder.join("authority.toml");
    let mut record = Record::read(&path)?;
    let index = record.members.iter().position(|member| member.name == name);
    let gone = record.members.remove(index.ok_or_else(|| BootstrapError::NoMember(shown(name)))?);
    check_members(&record.members)?;
    replace(&path, &record.text())?;
    Ok(gone)
}

/// Until it is dropped, nobody else changes the authority's record.
fn lock(folder: &Path) -> Result<File, BootstrapError> {
    let lock = File::open(folder).map_err(at(folder))?;
    lock.lock().map_err(at(folder))?;
    Ok(lock)
}

fn lifetime(what: &'static str, lifetime: Duration, longest: Duration) -> Result<(), BootstrapError> {
    let fits = lifetime >= Duration::from_secs(3600) && lifetime <= longest;
    if fits { Ok(()) } else { Err(BootstrapError::Lifetime { what, lifetime }) }
}

/// Of at most [`MAX_LIFETIME`].
fn length(lifetime: Duration) -> time::Duration {
    time::Duration::seconds(i64::try_from(lifetime.as_secs()).unwrap_or(i64::MAX))
}

fn write_member(
    place: &Path,
    authority: &Authority,
    authority_certificate: &str,
    record: &Record,
    member: &Member,
    join: bool,
) -> Result<(), BootstrapError> {
    let issued = authority.issue(&record.cluster, member, length(record.lifetime))?;
    write_file(&place.join("hustings.toml"), 0o644, &configuration(&record.agreement(), member, join))?;
    write_file(&place.join("authority.crt"), 0o644, authority_certificate)?;
    write_file(&place.join("node.crt"), 0o644, &issued.certificate)?;
    write_file(&place.join("node.key"), 0o600, &issued.key)
}

#[cfg(test)]
mod tests;
