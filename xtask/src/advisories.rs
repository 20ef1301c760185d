//! Checks the lock files against a copy of the RustSec advisories that name one of our packages.
//!
//! The copy is in `deny/advisories`, because the check runs without a network. `cargo xtask advisories refresh`
//! rewrites it from a checkout of the advisory database.

mod copy;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::Path;

use semver::{Version, VersionReq};
use toml::{Table, Value};

use crate::policy::{Ignored, Policy};
use copy::Copy;
pub(crate) use copy::refresh;

/// The lock files that are checked.
const LOCKS: [&str; 3] = ["Cargo.lock", "fuzz/Cargo.lock", "proofs/no-std/Cargo.lock"];
/// A copy that is older than this may lack advisories that matter.
const MAX_AGE_DAYS: i64 = 90;

/// All versions of each package in the lock files.
type Packages = BTreeMap<String, BTreeSet<Version>>;

/// Checks the lock files; warns on standard output.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let (policy, copy) = (Policy::read(root)?, Copy::read(root)?);
    let packages = packages(root)?;
    for warning in warnings(&copy, &packages, copy::today()) {
        println!("\n!!!!!!!! WARNING: {warning}\n");
    }
    let problems = examine(&packages, &copy.advisories, &policy.ignored);
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

/// What makes the copy unreliable.
fn warnings(copy: &Copy, packages: &Packages, today: i64) -> Vec<String> {
    let mut warnings = Vec::new();
    let age = today - copy.day;
    if age > MAX_AGE_DAYS {
        warnings.push(format!(
            "the copy of the advisories is {age} days old, more than {MAX_AGE_DAYS}; `cargo xtask advisories refresh --from \
             DIR` rewrites it from a checkout of the RustSec advisory database"
        ));
    }
    let unknown: Vec<&str> =
        packages.keys().filter(|name| !copy.packages.contains(*name)).map(String::as_str).collect();
    if !unknown.is_empty() {
        warnings.push(format!(
            "the copy of the advisories was made before these packages were used, and says nothing about them: {}",
            unknown.join(", ")
        ));
    }
    warnings
}

/// Advisories that concern a version in use, and ignored ones that do not.
fn examine(packages: &Packages, advisories: &[Advisory], ignored: &[Ignored]) -> Vec<String> {
    let mut problems = Vec::new();
    let mut used = BTreeSet::new();
    for advisory in advisories {
        for version in
            packages.get(&advisory.package).into_iter().flatten().filter(|version| advisory.concerns(version))
        {
            if ignored.iter().any(|entry| entry.id == advisory.id) {
                used.insert(advisory.id.as_str());
                continue;
            }
            let (id, package, title) = (&advisory.id, &advisory.package, &advisory.title);
            problems.push(format!("{id}: {package} {version}: {title}; {}", advisory.remedy()));
        }
    }
    for Ignored { id, reason } in ignored.iter().filter(|entry| !used.contains(entry.id.as_str())) {
        problems.push(format!("{id} is ignored in deny.toml but concerns no version in use: remove it ({reason})"));
    }
    problems
}

/// One advisory.
#[derive(Clone, Debug)]
struct Advisory {
    id: String,
    package: String,
    title: String,
    /// Whether it was withdrawn.
    is_withdrawn: bool,
    /// Versions that it does not concern: fixed ones and those that never had the problem.
    patched: Vec<VersionReq>,
    unaffected: Vec<VersionReq>,
}

impl Advisory {
    /// Reads an advisory: TOML between fences, then Markdown that begins with a title.
    fn parse(text: &str) -> Result<Self, String> {
        let (front, body) = text
            .strip_prefix("```toml")
            .and_then(|rest| rest.split_once("\n```"))
            .ok_or("the TOML front matter is missing")?;
        let document: Table = front.parse().map_err(|error| format!("{error}"))?;
        let about = document.get("advisory").ok_or("`[advisory]` is missing")?;
        let field = |name: &str| about.get(name).and_then(Value::as_str).map(str::to_string);
        let versions = |name: &str| -> Result<Vec<VersionReq>, String> {
            let list = document.get("versions").and_then(|versions| versions.get(name)).and_then(Value::as_array);
            list.into_iter().flatten().map(requirement).collect()
        };
        let title = body.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or("no title");
        Ok(Advisory {
            id: field("id").ok_or("`id` is missing")?,
            package: field("package").ok_or("`package` is missing")?,
            title: title.trim().to_string(),
            is_withdrawn: about.get("withdrawn").is_some(),
            patched: versions("patched")?,
            unaffected: versions("unaffected")?,
        })
    }

    /// Whether a version has the problem.
    fn concerns(&self, version: &Version) -> bool {
        !self.is_withdrawn && !self.patched.iter().chain(&self.unaffected).any(|range| range.matches(version))
    }

    fn remedy(&self) -> String {
        if self.patched.is_empty() {
            return "there is no fixed version".to_string();
        }
        let ranges: Vec<String> = self.patched.iter().map(ToString::to_string).collect();
        format!("fixed in {}", ranges.join(" or "))
    }
}

fn requirement(value: &Value) -> Result<VersionReq, String> {
    let text = value.as_str().ok_or_else(|| format!("{value:?} is not a version"))?;
    VersionReq::parse(text).map_err(|error| format!("`{text}`: {error}"))
}

/// The packages of all lock files.
fn packages(root: &Path) -> Result<Packages, String> {
    let mut packages = Packages::new();
    for lock in LOCKS {
        let text = fs::read_to_string(root.join(lock)).map_err(|error| format!("{lock}: {error}"))?;
        add_packages(&text, &mut packages).map_err(|error| format!("{lock}: {error}"))?;
    }
    Ok(packages)
}

fn add_packages(lock: &str, packages: &mut Packages) -> Result<(), String> {
    let document: Table = lock.parse().map_err(|error| format!("{error}"))?;
    let entries = document.get("package").and_then(Value::as_array).ok_or("no packages")?;
    // Our own packages have no source, and may be called like one of the registry.
    for entry in entries.iter().filter(|entry| entry.get("source").is_some()) {
        let field =
            |name: &str| entry.get(name).and_then(Value::as_str).ok_or_else(|| format!("{entry:?} has no {name}"));
        let version = Version::parse(field("version")?).map_err(|error| format!("{entry:?}: {error}"))?;
        packages.entry(field("name")?.to_string()).or_default().insert(version);
    }
    Ok(())
}

#[cfg(test)]
mod tests;
