//! Takes out one guard at a time, and checks that a test fails without it.
//!
//! The edits are listed in `crates/cluster/mutants.toml`, each with the tests that must notice it. They are made in a
//! copy of the sources. Before that, the same tests must pass there without any edit.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::Instant;

const LIST: &str = "crates/cluster/mutants.toml";
/// How much of a failed build is printed.
const SHOWN_LINES: usize = 20;

/// One edit.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mutant {
    /// The guard that it takes out.
    name: String,
    file: String,
    find: String,
    replace: String,
    test: Test,
}

/// The tests that must notice it.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Test {
    package: String,
    /// A test target, or `lib`.
    target: String,
    /// What the names of the tests contain.
    filter: String,
}

/// What became of a mutant.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Outcome {
    Caught,
    Survived,
    DoesNotBuild,
}

/// Runs the mutants whose names contain `only`.
pub(crate) fn run(root: &Path, only: Option<&str>) -> Result<(), String> {
    let text = fs::read_to_string(root.join(LIST)).map_err(|error| format!("{LIST}: {error}"))?;
    let mut mutants = parse(&text)?;
    mutants.retain(|mutant| only.is_none_or(|only| mutant.name.contains(only)));
    if mutants.is_empty() {
        return Err(format!("no name in {LIST} contains `{}`", only.unwrap_or_default()));
    }
    let tree = root.join("target/mutants/tree");
    copy_sources(root, &tree)?;
    // Edits that no longer apply are found before anything is built.
    mutants.iter().try_for_each(|mutant| mutated(&tree, mutant).map(drop))?;
    for test in mutants.iter().map(|mutant| &mutant.test).collect::<BTreeSet<_>>() {
        println!("without an edit: {}", test.describe());
        build(&tree, test).map_err(|output| format!("it does not build:\n{output}"))?;
        if !passes(&tree, test)? {
            return Err(format!("{} fails without any edit", test.describe()));
        }
    }
    let mut outcomes = Vec::new();
    for (number, mutant) in mutants.iter().enumerate() {
        let began = Instant::now();
        let outcome = try_one(&tree, mutant)?;
        let (of, seconds) = (mutants.len(), began.elapsed().as_secs());
        println!("{:>3}/{of} {:<14} {} ({seconds} s)", number + 1, format!("{outcome:?}"), mutant.name);
        outcomes.push(outcome);
    }
    let caught = outcomes.iter().filter(|outcome| **outcome == Outcome::Caught).count();
    println!("{caught} of {} were noticed", outcomes.len());
    if caught == outcomes.len() { Ok(()) } else { Err("a guard is not watched by its test".to_string()) }
}

fn parse(text: &str) -> Result<Vec<Mutant>, String> {
    let table: toml::Table = text.parse().map_err(|error| format!("{LIST}: {error}"))?;
    let list = table.get("mutant").and_then(toml::Value::as_array).ok_or(format!("{LIST} has no `[[mutant]]`"))?;
    let mutant = |value: &toml::Value| {
        let optional = |key: &str| value.get(key).and_then(toml::Value::as_str).map(str::to_string);
        let required =
            |key: &str| optional(key).ok_or_else(|| format!("{LIST}: a `[[mutant]]` has no `{key}`: {value:?}"));
        let test = required("test")?;
        let (target, filter) = test.split_once(' ').unwrap_or((&test, ""));
        Ok(Mutant {
            name: required("name")?,
            file: required("file")?,
            find: required("find")?,
            replace: required("replace")?,
            test: Test {
                package: optional("package").unwrap_or_else(|| "hustings-cluster".to_string()),
                target: target.to_string(),
                filter: filter.to_string(),
            },
        })
    };
    list.iter().map(mutant).collect()
}

impl Test {
    fn describe(&self) -> String {
        format!("{} {} {}", self.package, self.target, self.filter)
    }

    fn cargo(&self, tree: &Path) -> Command {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["test", "--locked", "--quiet", "--package", &self.package]).current_dir(tree);
        cargo.env("CARGO_TARGET_DIR", tree.with_file_name("build"));
        match self.target.as_str() {
            "lib" => cargo.arg("--lib"),
            target => cargo.args(["--test", target]),
        };
        cargo
    }
}

/// Copies what git knows of. Files that did not change keep their times, so that little is built again.
fn copy_sources(root: &Path, tree: &Path) -> Result<(), String> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output();
    let listed = listed.map_err(|error| format!("git cannot be run: {error}"))?.stdout;
    for name in String::from_utf8_lossy(&listed).split('\0').filter(|name| !name.is_empty()) {
        copy_file(&root.join(name), &tree.join(name)).map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    let contents = fs::read(from)?;
    if fs::read(to).is_ok_and(|present| present == contents) {
        return Ok(());
    }
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(to, contents)
}

/// The path, the original and the edited text of a mutant's file.
fn mutated(tree: &Path, mutant: &Mutant) -> Result<(PathBuf, String, String), String> {
    let path = tree.join(&mutant.file);
    let original = fs::read_to_string(&path).map_err(|error| format!("{}: {error}", mutant.file))?;
    match original.matches(&mutant.find).count() {
        1 => Ok((path, original.clone(), original.replacen(&mutant.find, &mutant.replace, 1))),
        count => Err(format!("`{}`: {} contains its `find` {count} times, not once", mutant.name, mutant.file)),
    }
}

fn try_one(tree: &Path, mutant: &Mutant) -> Result<Outcome, String> {
    let (path, original, edited) = mutated(tree, mutant)?;
    let write = |text: &str| fs::write(&path, text).map_err(|error| format!("{}: {error}", mutant.file));
    write(&edited)?;
    let outcome = match build(tree, &mutant.test) {
        Err(output) => {
            println!("{output}");
            Ok(Outcome::DoesNotBuild)
        }
        Ok(()) => passes(tree, &mutant.test).map(|passes| if passes { Outcome::Survived } else { Outcome::Caught }),
    };
    write(&original)?;
    outcome
}

fn build(tree: &Path, test: &Test) -> Result<(), String> {
    let output = test.cargo(tree).arg("--no-run").output().map_err(|error| error.to_string())?;
    if output.status.success() { Ok(()) } else { Err(last_lines(&output)) }
}

fn passes(tree: &Path, test: &Test) -> Result<bool, String> {
    let output = test.cargo(tree).args(["--", &test.filter]).output().map_err(|error| error.to_string())?;
    if String::from_utf8_lossy(&output.stdout).contains("running 0 tests") {
        return Err(format!("{}: there is no such test", test.describe()));
    }
    Ok(output.status.success())
}

fn last_lines(output: &Output) -> String {
    let text = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(SHOWN_LINES)..].join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_edit_applies_to_the_sources() {
        let root = crate::root();
        let mutants = parse(&fs::read_to_string(root.join(LIST)).expect("the list is there")).expect("it is valid");
        assert!(!mutants.is_empty());
        let problems: Vec<String> = mutants.iter().filter_map(|mutant| mutated(root, mutant).err()).collect();
        assert_eq!(problems, [] as [String; 0]);
    }

    #[test]
    fn a_test_is_named_by_its_target_and_a_part_of_its_name() {
        let text = "[[mutant]]\nname = 'n'\nfile = 'f'\nfind = 'a'\nreplace = 'b'\ntest = 'guards a_name'\n";
        let [mutant] = &parse(text).expect("it is valid")[..] else { panic!("one mutant") };
        assert_eq!((mutant.test.target.as_str(), mutant.test.filter.as_str()), ("guards", "a_name"));
        assert!(parse("[[mutant]]\nname = 'n'\n").expect_err("it has no test").contains("no `test`"));
    }
}
