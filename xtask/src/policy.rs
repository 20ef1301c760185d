//! The policy for dependencies: `deny.toml`, as far as these checks use it.

use std::fs;
use std::path::Path;

use toml::{Table, Value};

/// What `deny.toml` says.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub(crate) struct Policy {
    /// Licences that every package may have.
    pub(crate) licences: Vec<String>,
    /// Packages that may have other licences, and which.
    pub(crate) exceptions: Vec<(String, Vec<String>)>,
    /// Packages that must not be used.
    pub(crate) bans: Vec<Ban>,
    /// Advisories that do not concern this repository.
    pub(crate) ignored: Vec<Ignored>,
}

/// A package that must not be used, except by its wrappers.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ban {
    /// The package.
    pub(crate) package: String,
    /// Packages that may depend on it directly.
    pub(crate) wrappers: Vec<String>,
    /// Why it is banned.
    pub(crate) reason: String,
}

/// An advisory that does not concern this repository.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(crate) struct Ignored {
    /// The advisory, such as `RUSTSEC-2024-0437`.
    pub(crate) id: String,
    /// Why it does not concern this repository.
    pub(crate) reason: String,
}

/// The settings that the checks rely on. A change of one of them would have no effect, so it is refused.
const FIXED: [(&str, &str, &str); 5] = [
    ("bans", "multiple-versions", "allow"),
    ("bans", "wildcards", "deny"),
    ("bans", "allow-wildcard-paths", "true"),
    ("sources", "unknown-registry", "deny"),
    ("sources", "unknown-git", "deny"),
];
/// The lists that the checks read.
const LISTS: [(&str, &str); 4] =
    [("licenses", "allow"), ("licenses", "exceptions"), ("bans", "deny"), ("advisories", "ignore")];

impl Policy {
    /// Reads `deny.toml` at the top of the repository.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let text = fs::read_to_string(root.join("deny.toml")).map_err(|error| format!("deny.toml: {error}"))?;
        Self::parse(&text).map_err(|error| format!("deny.toml: {error}"))
    }

    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let document: Table = text.parse().map_err(|error| format!("{error}"))?;
        reject_unknown(&document)?;
        let list = |section: &str, name: &str| document.get(section).and_then(|section| section.get(name)).map(items);
        let mut policy = Policy {
            licences: list("licenses", "allow").unwrap_or_default().iter().map(text_of).collect::<Result<_, _>>()?,
            ..Policy::default()
        };
        for exception in list("licenses", "exceptions").unwrap_or_default() {
            policy.exceptions.push((field(&exception, "crate")?, texts(&exception, "allow")?));
        }
        for ban in list("bans", "deny").unwrap_or_default() {
            policy.bans.push(Ban {
                package: field(&ban, "crate")?,
                wrappers: texts(&ban, "wrappers")?,
                reason: field(&ban, "reason")?,
            });
        }
        for entry in list("advisories", "ignore").unwrap_or_default() {
            policy.ignored.push(Ignored { id: field(&entry, "id")?, reason: field(&entry, "reason")? });
        }
        Ok(policy)
    }
}

fn reject_unknown(document: &Table) -> Result<(), String> {
    for (section, settings) in document {
        let settings = settings.as_table().ok_or_else(|| format!("`{section}` is not a section"))?;
        for (name, value) in settings {
            let fixed = FIXED.iter().find(|(in_section, key, _)| in_section == section && key == name);
            match fixed {
                Some((.., wanted))
                    if value.as_str() == Some(wanted) || *wanted == "true" && value.as_bool() == Some(true) => {}
                Some((.., wanted)) => return Err(format!("{section}.{name} must be {wanted}")),
                None if LISTS.contains(&(section.as_str(), name.as_str())) => {}
                None => return Err(format!("no check implements {section}.{name}")),
            }
        }
    }
    Ok(())
}

fn items(value: &Value) -> Vec<Value> {
    value.as_array().cloned().unwrap_or_default()
}

fn text_of(value: &Value) -> Result<String, String> {
    value.as_str().map(str::to_string).ok_or_else(|| format!("{value:?} is not a text"))
}

/// A text that has to be there.
fn field(entry: &Value, name: &str) -> Result<String, String> {
    let value = entry.get(name).and_then(Value::as_str).filter(|text| !text.is_empty());
    value.map(str::to_string).ok_or_else(|| format!("{entry:?} has no `{name}`"))
}

/// A list of texts that may be missing.
fn texts(entry: &Value, name: &str) -> Result<Vec<String>, String> {
    entry.get(name).map(items).unwrap_or_default().iter().map(text_of).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_policy_of_this_repository() {
        let policy = Policy::read(crate::root()).expect("deny.toml is valid");
        assert!(policy.licences.iter().any(|licence| licence == "MIT"));
        assert!(policy.bans.iter().any(|ban| ban.package == "protobuf" && ban.wrappers.contains(&"raft".to_string())));
        let ignored: Vec<&str> = policy.ignored.iter().map(|entry| entry.id.as_str()).collect();
        assert_eq!(ignored, ["RUSTSEC-2024-0437", "RUSTSEC-2025-0057"]);
    }

    #[test]
    fn rejects_settings_that_no_check_implements() {
        for (text, expected) in [
            ("[bans]\nskip = []", "no check implements bans.skip"),
            ("[sources]\nunknown-git = \"allow\"", "sources.unknown-git must be deny"),
            ("[advisories]\nignore = [{ id = \"RUSTSEC-2024-0437\" }]", "has no `reason`"),
        ] {
            let error = Policy::parse(text).expect_err(text);
            assert!(error.contains(expected), "{error}");
        }
    }
}
