//! Checks that the program which users build has nothing in it that only tests need.

use std::path::Path;
use std::process::Command;

/// What must not be in the default build, as `cargo tree` shows it.
const FORBIDDEN: [&str; 3] = ["feature \"fault-injection\"", "feature \"testkit\"", "hustings-testkit v"];

/// Checks the features and packages of the default build, as `cargo build --release` in the README selects them.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["tree", "--edges", "normal,build,features", "--prefix", "none", "--locked"])
        .current_dir(root)
        .output()
        .map_err(|error| format!("cargo tree could not be started: {error}"))?;
    if !output.status.success() {
        return Err(format!("cargo tree failed:\n{}", String::from_utf8_lossy(&output.stderr)));
    }
    examine(&String::from_utf8_lossy(&output.stdout))
}

fn examine(tree: &str) -> Result<(), String> {
    if !tree.lines().any(|line| line.starts_with("hustings-cluster v")) {
        return Err("the default build does not contain the cluster: is `default-members` still the program?".into());
    }
    let found: Vec<&str> = tree.lines().filter(|line| FORBIDDEN.iter().any(|part| line.contains(part))).collect();
    match found.as_slice() {
        [] => Ok(()),
        found => Err(format!("only tests need this, but it is in the default build:\n{}", found.join("\n"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_what_only_tests_need() {
        let clean =
            "hustings v0.1.0 (/testkit/crates/hustings)\nhustings feature \"cli\"\nhustings-cluster v0.1.0 (/x)\n";
        assert_eq!(examine(clean), Ok(()));
        for line in ["hustings-cluster feature \"fault-injection\"", "hustings-testkit v0.1.0 (/crates/testkit)"] {
            let error = examine(&format!("{clean}{line}\n")).expect_err(line);
            assert!(error.ends_with(line), "{error}");
        }
        assert!(examine("hustings-sim v0.1.0\n").is_err(), "another program");
    }
}
