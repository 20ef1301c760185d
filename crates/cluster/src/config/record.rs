//! `authority.toml`: what the authority of a cluster must know to admit one more member.

use std::path::Path;
use std::time::Duration;

use humantime::format_duration;
use hustings_protocol::Id;

use super::document::{MemberDocument, Text, TimingDocument};
use super::error::{ConfigError, toml_error, wrong};
use super::read::{members, read_text, timing};
use super::values::{duration, word};
use super::write::{self, Agreement, quoted};
use super::{ArbiterKind, Choice};
use crate::member::Member;
use crate::timing::Timing;

/// What is kept next to the key of the authority.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub(super) cluster: String,
    /// The highest number that a member ever had.
    pub(super) highest: Id,
    /// For how long certificates of members are good.
    pub(super) lifetime: Duration,
    pub(super) algorithm: Choice,
    pub(super) arbiter: ArbiterKind,
    pub(super) timing: Timing,
    pub(super) members: Vec<Member>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RecordDocument {
    cluster: String,
    highest_id: u64,
    node_lifetime: Text,
    algorithm: String,
    params: Vec<String>,
    arbiter: String,
    timing: TimingDocument,
    #[serde(rename = "member")]
    members: Vec<MemberDocument>,
}

/// In days, as people give it, unless that would not be exact.
fn days(lifetime: Duration) -> String {
    const DAY: u128 = 24 * 3600 * 1_000_000_000;
    match lifetime.as_nanos() {
        whole if whole % DAY == 0 => format!("{}days", whole / DAY),
        _ => format_duration(lifetime).to_string(),
    }
}

impl Record {
    pub(super) fn read(path: &Path) -> Result<Record, ConfigError> {
        read_text(path).and_then(|text| Record::parse(&text)).map_err(|error| error.of(path))
    }

    fn parse(text: &str) -> Result<Record, ConfigError> {
        let file: RecordDocument = toml::from_str(text).map_err(|error| toml_error(text, &error))?;
        let members = members(&file.members)?;
        let highest = Id(file.highest_id);
        if members.iter().any(|member| member.id > highest) {
            let problem = "a member has a higher id; this is the highest that there ever was";
            return Err(wrong("highest-id", &highest.to_string(), problem));
        }
        Ok(Record {
            cluster: file.cluster,
            highest,
            lifetime: duration("node-lifetime", &file.node_lifetime)?,
            algorithm: Choice::unresolved(&file.algorithm, file.params),
            arbiter: word("arbiter", &file.arbiter)?,
            timing: timing(&file.timing)?,
            members,
        })
    }

    pub(super) fn text(&self) -> String {
        format!(
            "# Hustings: what is needed to admit another member. Keep it with authority.key, off the cluster's hosts.\n\
             cluster = {}\n\
             highest-id = {}  # that a member ever had: numbers are never used again\n\
             node-lifetime = {}\n\n\
             # What a new member is told. Whoever changes it on the hosts changes it here too.\n\
             {}\n{}{}",
            quoted(&self.cluster),
            self.highest,
            quoted(&days(self.lifetime)),
            write::election(&self.algorithm, self.arbiter),
            write::timing(&self.timing),
            write::members(&self.members),
        )
    }

    /// What the members agree on.
    pub(super) fn agreement(&self) -> Agreement<'_> {
        Agreement {
            cluster: &self.cluster,
            members: &self.members,
            algorithm: &self.algorithm,
            arbiter: self.arbiter,
            timing: &self.timing,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_told_in_days_and_lose_nothing() {
        for (seconds, told) in [(825 * 86_400, "825days"), (3600, "1h"), (86_401, "1day 1s")] {
            let lifetime = Duration::from_secs(seconds);
            assert_eq!(days(lifetime), told);
            assert_eq!(humantime::parse_duration(told), Ok(lifetime));
        }
    }
}
