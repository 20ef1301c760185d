//! Checks that every feature of a package compiles alone, and the package without any.
//!
//! Builds of the whole workspace unite all features, so that code which lacks one of them is not noticed there.

use std::fs;
use std::path::Path;
use std::process::Command;

/// Checks each package that has features.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let folders = fs::read_dir(root.join("crates")).map_err(|error| format!("crates: {error}"))?;
    let mut manifests: Vec<_> = folders.flatten().map(|folder| folder.path().join("Cargo.toml")).collect();
    manifests.sort();
    for manifest in manifests {
        let text = fs::read_to_string(&manifest).map_err(|error| format!("{}: {error}", manifest.display()))?;
        for arguments in calls(&text).map_err(|error| format!("{}: {error}", manifest.display()))? {
            let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
            let clippy = Command::new(cargo).args(&arguments).args(["--", "-D", "warnings"]).current_dir(root).status();
            if !clippy.map_err(|error| format!("cargo could not be started: {error}"))?.success() {
                return Err(format!("`cargo {}` failed", arguments.join(" ")));
            }
        }
    }
    Ok(())
}

/// The arguments of cargo for each feature of a package, and for none. Empty if it has no features.
fn calls(manifest: &str) -> Result<Vec<Vec<String>>, String> {
    let manifest: toml::Table = manifest.parse().map_err(|error: toml::de::Error| error.to_string())?;
    let name = manifest.get("package").and_then(|package| package.get("name")).and_then(toml::Value::as_str);
    let name = name.ok_or("the package has no name")?;
    let Some(features) = manifest.get("features").and_then(toml::Value::as_table) else { return Ok(Vec::new()) };
    let call = |feature: Option<&str>| {
        let words = ["clippy", "--package", name, "--lib", "--no-default-features", "--locked", "--quiet"];
        let feature = feature.into_iter().flat_map(|feature| ["--features", feature]);
        words.into_iter().chain(feature).map(str::to_string).collect()
    };
    let names = features.keys().map(String::as_str).filter(|name| *name != "default");
    Ok([None].into_iter().chain(names.map(Some)).map(call).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_checked_alone_and_none() {
        let text = "[package]\nname = \"p\"\n[features]\ndefault = [\"a\"]\na = []\nb = [\"a\"]\n";
        let calls = calls(text).expect("it is a manifest");
        let ends: Vec<&str> = calls.iter().map(|call| call.last().expect("it has words").as_str()).collect();
        assert_eq!(ends, ["--quiet", "a", "b"]);
        assert!(calls.iter().all(|call| call.contains(&"--no-default-features".to_string())), "{calls:?}");
        assert_eq!(super::calls("[package]\nname = \"p\"\n"), Ok(Vec::new()));
        assert!(super::calls("[features]\na = []\n").is_err());
    }
}
