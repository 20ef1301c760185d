//! `authority.toml`: what the authority must remember to add another member.

use std::path::Path;
use std::time::Duration;

use humantime::format_duration;
use hustings_protocol::Id;

use super::document::{MemberDocument, Text};
use super::error::{ConfigError, invalid, toml_error};
use super::read::{members, read_text};
use super::values::duration;
use super::write::{self, quoted};
use crate::member::Member;

/// The record kept beside the authority's key.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Record {
    pub(super) cluster: String,
    /// The highest id that a member ever had.
    pub(super) highest: Id,
    /// How long the members' certificates are valid.
    pub(super) lifetime: Duration,
    pub(super) members: Vec<Member>,
}

#[derive(serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
struct RecordDocument {
    cluster: String,
    highest_id: u64,
    node_lifetime: Text,
    #[serde(rename = "member")]
    members: Vec<MemberDocument>,
}

/// The lifetime in days, or exactly if it is not a whole number of days.
fn days(lifetime: Duration) -> String {
    const DAY: u128 = 24 * 3600 * 1_000_000_000;
    match lifetime.as_nanos() {
        whole if whole % DAY == 0 => format!("{}days", whole / DAY),
        _ => format_duration(lifetime).to_string(),
    }
}

impl Record {
    pub(super) fn read(path: &Path) -> Result<Record, ConfigError> {
        read_text(path).and_then(|text| Record::parse(&text)).map_err(|error| error.in_file(path))
    }

    fn parse(text: &str) -> Result<Record, ConfigError> {
        let file: RecordDocument = toml::from_str(text).map_err(|error| toml_error(text, &error))?;
        let members = members(&file.members)?;
        let highest = Id(file.highest_id);
        if members.iter().any(|member| member.id > highest) {
            let problem = "a member has a higher id, but this must be the highest id that was ever used";
            return Err(invalid("highest-id", &highest.to_string(), problem));
        }
        Ok(Record {
            cluster: file.cluster,
            highest,
            lifetime: duration("node-lifetime", &file.node_lifetime)?,
            members,
        })
    }

    pub(super) fn text(&self) -> String {
        format!(
            "# Hustings: the record that is needed to add another member. Keep it with authority.key, off the cluster's hosts.\n\
             cluster = {}\n\
             highest-id = {}  # the highest id that was ever used: ids are never reused\n\
             node-lifetime = {}\n\
             {}",
            quoted(&self.cluster),
            self.highest,
            quoted(&days(self.lifetime)),
            write::members(&self.members),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_are_written_in_days_without_loss() {
        for (seconds, text) in [(825 * 86_400, "825days"), (3600, "1h"), (86_401, "1day 1s")] {
            let lifetime = Duration::from_secs(seconds);
            assert_eq!(days(lifetime), text);
            assert_eq!(humantime::parse_duration(text), Ok(lifetime));
        }
    }
}
