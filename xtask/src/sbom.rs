//! The software bill of materials: what the program is built from, in CycloneDX 1.5.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

use crate::package::output;

/// The package whose dependencies are listed.
const PACKAGE: &str = "hustings";

/// The bill of the program of this version, made at this time (RFC 3339).
pub(crate) fn bill(root: &Path, version: &str, timestamp: &str) -> Result<Value, String> {
    let metadata = output(cargo(root).args(["metadata", "--locked", "--format-version", "1"]))?;
    let metadata: Value = serde_json::from_str(&metadata).map_err(|error| format!("cargo metadata: {error}"))?;
    // What is linked into the program: without what only tests and build scripts need, for this host.
    let tree = ["tree", "--locked", "--package", PACKAGE, "--edges", "normal", "--prefix", "none", "--format", "{p}"];
    let used = used(&output(cargo(root).args(tree))?);
    let lock = std::fs::read_to_string(root.join("Cargo.lock")).map_err(|error| format!("Cargo.lock: {error}"))?;
    compose(&metadata, &used, &checksums(&lock)?, version, timestamp)
}

fn cargo(root: &Path) -> Command {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(root);
    cargo
}

/// Name and version of a package.
type Package = (String, String);

/// The packages that `cargo tree` prints, such as `serde v1.0.1 (*)`.
fn used(tree: &str) -> BTreeSet<Package> {
    let package = |line: &str| {
        let (name, rest) = line.split_once(" v")?;
        Some((name.to_string(), rest.split(' ').next()?.to_string()))
    };
    tree.lines().filter_map(package).collect()
}

/// The SHA-256 of each package from a registry.
fn checksums(lock: &str) -> Result<BTreeMap<Package, String>, String> {
    let lock: toml::Table = toml::from_str(lock).map_err(|error| format!("Cargo.lock: {error}"))?;
    let packages = lock.get("package").and_then(toml::Value::as_array).ok_or("Cargo.lock lists no packages")?;
    let text = |package: &toml::Value, key: &str| Some(package.get(key)?.as_str()?.to_string());
    let checksum =
        |package: &toml::Value| Some(((text(package, "name")?, text(package, "version")?), text(package, "checksum")?));
    Ok(packages.iter().filter_map(checksum).collect())
}

fn compose(
    metadata: &Value,
    used: &BTreeSet<Package>,
    checksums: &BTreeMap<Package, String>,
    version: &str,
    timestamp: &str,
) -> Result<Value, String> {
    let text = |value: &Value, key: &str| value[key].as_str().unwrap_or_default().to_string();
    let list = |value: &Value, key: &str| value[key].as_array().cloned().unwrap_or_default();
    let key = |package: &Value| (text(package, "name"), text(package, "version"));
    // Package ids of cargo, and the packages that they stand for.
    let all: BTreeMap<String, Value> =
        list(metadata, "packages").into_iter().map(|package| (text(&package, "id"), package)).collect();
    let reference = |package: &Value| format!("pkg:cargo/{}@{}", text(package, "name"), text(package, "version"));
    let mut components = BTreeMap::new();
    let mut program = None;
    for package in all.values().filter(|package| used.contains(&key(package))) {
        let mut component = json!({
            "type": "library", "bom-ref": reference(package), "name": package["name"],
            "version": package["version"], "purl": reference(package),
        });
        if let Some(licence) = package["license"].as_str() {
            // An older way to write it.
            component["licenses"] = json!([{ "expression": licence.replace('/', " OR ") }]);
        }
        if let Some(checksum) = checksums.get(&key(package)) {
            component["hashes"] = json!([{ "alg": "SHA-256", "content": checksum }]);
        }
        if text(package, "name") == PACKAGE {
            component["type"] = json!("application");
            program = Some(component);
        } else {
            components.insert(reference(package), component);
        }
    }
    let program = program.ok_or(format!("cargo does not know the package {PACKAGE}"))?;
    if program["version"] != version {
        return Err(format!("cargo says that the version of {PACKAGE} is {}, not {version}", program["version"]));
    }
    let missing = used.iter().filter(|(name, version)| {
        let reference = format!("pkg:cargo/{name}@{version}");
        name != PACKAGE && !components.contains_key(&reference)
    });
    if let Some((name, version)) = missing.into_iter().next() {
        return Err(format!("cargo metadata does not list {name} {version}"));
    }
    let mut dependencies = BTreeMap::new();
    for node in list(&metadata["resolve"], "nodes") {
        let Some(package) = all.get(&text(&node, "id")).filter(|package| used.contains(&key(package))) else {
            continue;
        };
        let is_normal = |dependency: &Value| list(dependency, "dep_kinds").iter().any(|kind| kind["kind"].is_null());
        let on: BTreeSet<String> = list(&node, "deps")
            .iter()
            .filter(|dependency| is_normal(dependency))
            .filter_map(|dependency| all.get(&text(dependency, "pkg")))
            .filter(|package| used.contains(&key(package)))
            .map(reference)
            .collect();
        dependencies.insert(reference(package), json!({ "ref": reference(package), "dependsOn": on }));
    }
    Ok(json!({
        "bomFormat": "CycloneDX", "specVersion": "1.5", "version": 1,
        "metadata": { "timestamp": timestamp, "component": program },
        "components": components.into_values().collect::<Vec<_>>(),
        "dependencies": dependencies.into_values().collect::<Vec<_>>(),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn metadata() -> Value {
        let package = |name: &str, version: &str, licence: &str| json!({ "id": name, "name": name, "version": version, "license": licence });
        let dependency = |name: &str, kind: Value| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        json!({
            "packages": [package("hustings", "0.1.0", "MIT"), package("used", "1.2.3", "MIT/Apache-2.0"),
                         package("tested", "2.0.0", "MIT")],
            "resolve": { "nodes": [
                { "id": "hustings", "deps": [dependency("used", json!(null)), dependency("tested", json!("dev"))] },
                { "id": "used", "deps": [] },
                { "id": "tested", "deps": [] },
            ] },
        })
    }

    fn bill(tree: &str, version: &str) -> Result<Value, String> {
        let lock = "[[package]]\nname = \"used\"\nversion = \"1.2.3\"\nchecksum = \"ab\"\n";
        compose(&metadata(), &used(tree), &checksums(lock).unwrap(), version, "2026-01-01T00:00:00Z")
    }

    #[test]
    fn a_bill_has_what_the_program_links_and_nothing_else() {
        let bill = bill("hustings v0.1.0 (/home)\nused v1.2.3\nused v1.2.3 (*)\n", "0.1.0").unwrap();
        assert_eq!(bill["metadata"]["component"]["purl"], "pkg:cargo/hustings@0.1.0");
        let components = bill["components"].as_array().unwrap();
        assert_eq!(components.len(), 1);
        assert_eq!(components[0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(components[0]["hashes"][0]["content"], "ab");
        assert_eq!(bill["dependencies"][0]["dependsOn"], json!(["pkg:cargo/used@1.2.3"]));
        assert_eq!(bill["dependencies"].as_array().unwrap().len(), 2);
    }

    #[test]
    fn a_bill_that_does_not_fit_is_refused() {
        assert!(bill("hustings v0.1.0\n", "0.2.0").is_err_and(|error| error.contains("0.2.0")));
        assert!(bill("used v1.2.3\n", "0.1.0").is_err());
        assert!(bill("hustings v0.1.0\nother v3.0.0\n", "0.1.0").is_err_and(|error| error.contains("other 3.0.0")));
    }
}
