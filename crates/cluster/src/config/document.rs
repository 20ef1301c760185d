//! The configuration file as parsed from TOML, before its values are checked.

use std::fmt;

use serde::de::value::MapAccessDeserializer;
use serde::de::{self, Deserialize, Deserializer, MapAccess, Visitor};

use super::Mode;
use super::http::HttpDocument;
use crate::member::Role;

/// A value from the file or from an environment variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Text {
    pub(super) text: String,
    /// The environment variable that the value comes from, if any.
    pub(super) variable: Option<&'static str>,
}

impl<'de> Deserialize<'de> for Text {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(|text| Text { text, variable: None })
    }
}

impl Text {
    /// The name of the value's source in error messages.
    pub(super) fn place<'a>(&self, key: &'a str) -> &'a str {
        self.variable.unwrap_or(key)
    }
}

/// The whole file.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct Document {
    pub(super) cluster: Option<Text>,
    pub(super) node: Option<Text>,
    pub(super) listen: Option<Text>,
    pub(super) data: Option<Text>,
    pub(super) socket: Option<Text>,
    pub(super) socket_group: Option<Text>,
    pub(super) algorithm: Option<Text>,
    pub(super) params: Option<Vec<String>>,
    pub(super) arbiter: Option<Text>,
    #[serde(default)]
    pub(super) join: bool,
    pub(super) scheduling: Option<Text>,
    #[serde(default)]
    pub(super) tls: TlsDocument,
    #[serde(default)]
    pub(super) timing: TimingDocument,
    #[serde(default, rename = "member")]
    pub(super) members: Vec<MemberDocument>,
    #[serde(default)]
    pub(super) office_default: PolicyDocument,
    #[serde(default, rename = "office")]
    pub(super) offices: Vec<OfficeDocument>,
    pub(super) health: Option<HealthDocument>,
    #[serde(default)]
    pub(super) limits: LimitsDocument,
    pub(super) http: Option<HttpDocument>,
    #[serde(default)]
    pub(super) log: LogDocument,
}

/// `[tls]`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TlsDocument {
    pub(super) authority: Option<Text>,
    pub(super) certificate: Option<Text>,
    pub(super) key: Option<Text>,
}

/// `[timing]`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct TimingDocument {
    pub(super) heartbeat: Option<Text>,
    pub(super) silence_floor: Option<Text>,
    pub(super) silence_ceiling: Option<Text>,
    pub(super) lease: Option<Text>,
    pub(super) drift_ppm: Option<u32>,
    pub(super) stop: Option<Text>,
    pub(super) tick: Option<Text>,
    pub(super) settle: Option<Text>,
    pub(super) hand_over: Option<Text>,
}

/// `[[member]]`.
#[derive(Clone, Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct MemberDocument {
    pub(super) id: u64,
    pub(super) name: String,
    pub(super) address: String,
    #[serde(default)]
    pub(super) priority: u32,
    #[serde(default)]
    pub(super) role: Role,
}

/// `[office-default]`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PolicyDocument {
    pub(super) mode: Option<Mode>,
    pub(super) preempt: Option<PreemptDocument>,
    pub(super) lease: Option<Text>,
    pub(super) stop: Option<Text>,
}

/// `[[office]]`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct OfficeDocument {
    pub(super) name: String,
    pub(super) mode: Option<Mode>,
    pub(super) preempt: Option<PreemptDocument>,
    pub(super) lease: Option<Text>,
    pub(super) stop: Option<Text>,
}

/// `[health]`.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HealthDocument {
    pub(super) command: Option<Vec<String>>,
    pub(super) http: Option<String>,
    pub(super) every: Option<Text>,
    pub(super) timeout: Option<Text>,
    pub(super) threshold: Option<u8>,
}

/// `[log]`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LogDocument {
    pub(super) level: Option<Text>,
    pub(super) format: Option<Text>,
}

/// `[limits]`.
#[derive(Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields, rename_all = "kebab-case")]
pub(super) struct LimitsDocument {
    pub(super) connections: Option<u32>,
    pub(super) campaigns: Option<u32>,
    pub(super) watches: Option<u32>,
    pub(super) state: Option<Text>,
    pub(super) state_total: Option<Text>,
}

/// `preempt`: a keyword, or how long the higher-ranked member must have been up.
#[derive(Debug)]
pub(super) enum PreemptDocument {
    Never,
    Better,
    After(Text),
}

/// Written by hand, because the derived implementation cannot list all alternatives in its error.
impl<'de> Deserialize<'de> for PreemptDocument {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PreemptVisitor)
    }
}

struct PreemptVisitor;

impl<'de> Visitor<'de> for PreemptVisitor {
    type Value = PreemptDocument;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("\"never\", \"better\" or { better-after = \"30s\" }")
    }

    fn visit_str<E: de::Error>(self, word: &str) -> Result<Self::Value, E> {
        match word {
            "never" => Ok(PreemptDocument::Never),
            "better" => Ok(PreemptDocument::Better),
            _ => Err(E::unknown_variant(word, &["never", "better"])),
        }
    }

    fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Self::Value, A::Error> {
        #[derive(serde::Deserialize)]
        #[serde(deny_unknown_fields, rename_all = "kebab-case")]
        struct After {
            better_after: Text,
        }
        After::deserialize(MapAccessDeserializer::new(map)).map(|after| PreemptDocument::After(after.better_after))
    }
}
