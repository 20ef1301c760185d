//! Checks the dependencies against `deny.toml`: their licences, banned packages, and where they come from.

use std::path::Path;
use std::process::Command;

use serde_json::Value;

use crate::policy::Policy;
use crate::steps::{FUZZ, PROOF};

/// The registry that packages come from, as cargo names it.
const REGISTRY: &str = "registry+https://github.com/rust-lang/crates.io-index";

/// Checks the workspace and the packages outside of it.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let policy = Policy::read(root)?;
    let mut problems = Vec::new();
    for manifest in ["Cargo.toml", PROOF, FUZZ] {
        problems.extend(examine(&policy, &metadata(root, manifest)?));
    }
    problems.sort();
    problems.dedup();
    if problems.is_empty() { Ok(()) } else { Err(problems.join("\n")) }
}

fn metadata(root: &Path, manifest: &str) -> Result<Value, String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--locked", "--format-version", "1", "--manifest-path", manifest])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo metadata could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo metadata failed for {manifest}:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    serde_json::from_slice(&output.stdout).map_err(|error| format!("cargo metadata printed invalid JSON: {error}"))
}

/// What the policy forbids in a dependency graph.
fn examine(policy: &Policy, metadata: &Value) -> Vec<String> {
    let mut problems = Vec::new();
    for package in list(metadata, "packages") {
        let (name, version) = (text(package, "name"), text(package, "version"));
        let source = package["source"].as_str();
        if source.is_some_and(|source| source != REGISTRY) {
            problems.push(format!("{name} {version} comes from {}", source.unwrap_or_default()));
        }
        let licence = text(package, "license");
        let exceptions = policy.exceptions.iter().filter(|(package, _)| package == name);
        let allowed: Vec<&str> =
            policy.licences.iter().chain(exceptions.flat_map(|(_, licences)| licences)).map(String::as_str).collect();
        if !is_allowed(licence, &allowed) {
            problems.push(format!("{name} {version} has the licence `{licence}`, which deny.toml does not allow"));
        }
        // Only our own manifests: packages of the registry cannot have wildcards.
        if source.is_none() {
            let wildcards = list(package, "dependencies")
                .filter(|dependency| text(dependency, "req") == "*" && dependency["source"].is_string());
            problems.extend(
                wildcards.map(|dependency| format!("{name} depends on any version of {}", text(dependency, "name"))),
            );
        }
    }
    problems.extend(banned(policy, metadata));
    problems
}

/// Packages that depend on a banned one and are not its wrappers.
fn banned(policy: &Policy, metadata: &Value) -> Vec<String> {
    let names: std::collections::BTreeMap<&str, &str> =
        list(metadata, "packages").map(|package| (text(package, "id"), text(package, "name"))).collect();
    let name_of = |id: &str| names.get(id).copied().unwrap_or_default().to_string();
    let mut problems = Vec::new();
    for node in list(&metadata["resolve"], "nodes") {
        let user = name_of(text(node, "id"));
        for dependency in list(node, "deps").map(|dependency| name_of(text(dependency, "pkg"))) {
            let ban = policy.bans.iter().find(|ban| ban.package == dependency && !ban.wrappers.contains(&user));
            problems.extend(ban.map(|ban| format!("{user} depends on {dependency}, which is banned: {}", ban.reason)));
        }
    }
    problems
}

fn list<'a>(value: &'a Value, name: &str) -> impl Iterator<Item = &'a Value> {
    value[name].as_array().into_iter().flatten()
}

fn text<'a>(value: &'a Value, name: &str) -> &'a str {
    value[name].as_str().unwrap_or_default()
}

/// Whether an SPDX expression can be satisfied with allowed licences. An expression that cannot be parsed cannot.
fn is_allowed(expression: &str, allowed: &[&str]) -> bool {
    // Old packages separate alternatives with a slash.
    let spaced = expression.replace('(', " ( ").replace(')', " ) ").replace('/', " OR ");
    let words: Vec<&str> = spaced.split_whitespace().collect();
    let mut parser = Parser { words: &words, allowed };
    parser.alternatives() == Some(true) && parser.words.is_empty()
}

/// `alternatives = all (OR all)*`, `all = term (AND term)*`, `term = "(" alternatives ")" | LICENCE [WITH EXCEPTION]`
struct Parser<'a> {
    words: &'a [&'a str],
    allowed: &'a [&'a str],
}

impl<'a> Parser<'a> {
    fn alternatives(&mut self) -> Option<bool> {
        let mut any = self.all()?;
        while self.accept("OR") {
            any |= self.all()?;
        }
        Some(any)
    }

    fn all(&mut self) -> Option<bool> {
        let mut all = self.term()?;
        while self.accept("AND") {
            all &= self.term()?;
        }
        Some(all)
    }

    fn term(&mut self) -> Option<bool> {
        if self.accept("(") {
            let inner = self.alternatives()?;
            return self.accept(")").then_some(inner);
        }
        let licence = self.next()?;
        if self.accept("WITH") {
            let exception = self.next()?;
            return Some(self.allowed.contains(&format!("{licence} WITH {exception}").as_str()));
        }
        Some(self.allowed.contains(&licence))
    }

    fn accept(&mut self, word: &str) -> bool {
        let found = self.words.first() == Some(&word);
        self.words = &self.words[usize::from(found)..];
        found
    }

    fn next(&mut self) -> Option<&'a str> {
        let (first, rest) = self.words.split_first()?;
        self.words = rest;
        Some(first)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn evaluates_licence_expressions() {
        let allowed = ["MIT", "Apache-2.0 WITH LLVM-exception", "Unicode-3.0"];
        for good in [
            "MIT",
            "MIT OR GPL-3.0-only",
            "GPL-3.0-only/MIT",
            "(MIT OR Apache-2.0) AND Unicode-3.0",
            "Apache-2.0 WITH LLVM-exception",
        ] {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in [
            "",
            "GPL-3.0-only",
            "Apache-2.0",
            "MIT AND GPL-3.0-only",
            "MIT WITH LLVM-exception",
            "MIT OR",
            "(MIT",
            "MIT MIT",
        ] {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }

    fn policy() -> Policy {
        let text = "[licenses]\nallow = [\"MIT\"]\nexceptions = [{ crate = \"odd\", allow = [\"NCSA\"] }]\n\
                    [bans]\ndeny = [{ crate = \"old\", wrappers = [\"wrapper\"], reason = \"it is old\" }]";
        Policy::parse(text).expect("a valid policy")
    }

    fn package(name: &str, licence: &str, source: Option<&str>) -> Value {
        json!({"id": name, "name": name, "version": "1.0.0", "license": licence, "source": source, "dependencies": []})
    }

    fn uses(user: &str, used: &str) -> Value {
        json!({"id": user, "deps": [{"pkg": used}]})
    }

    #[test]
    fn reports_licences_sources_and_bans() {
        let registry = Some(REGISTRY);
        let mut own = package("own", "MIT", None);
        own["dependencies"] = json!([
            {"name": "any", "req": "*", "source": REGISTRY},
            {"name": "path", "req": "*", "source": null},
        ]);
        let metadata = json!({
            "packages": [
                own,
                package("odd", "NCSA", registry),
                package("old", "MIT", registry),
                package("wrapper", "MIT", registry),
                package("copyleft", "GPL-3.0-only", registry),
                package("foreign", "MIT", Some("git+https://example.org/foreign")),
            ],
            "resolve": {"nodes": [uses("wrapper", "old"), uses("own", "old"), uses("own", "odd")]},
        });
        assert_eq!(
            examine(&policy(), &metadata),
            [
                "own depends on any version of any",
                "copyleft 1.0.0 has the licence `GPL-3.0-only`, which deny.toml does not allow",
                "foreign 1.0.0 comes from git+https://example.org/foreign",
                "own depends on old, which is banned: it is old",
            ]
        );
    }
}
