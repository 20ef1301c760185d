//! Takes out one guard at a time, and checks that a test fails without it.
//!
//! The edits are listed in `crates/cluster/mutants.toml`, each with the tests that must notice it. All of them are made
//! at once, in a copy of the sources, each behind a switch: the environment variable `MUTANT` selects the one
//! that takes effect. So the copy is built once, not once for every edit. Without the variable, the same tests must
//! pass there.

pub(crate) mod laboratory;
mod syntax;

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::thread;
use std::time::{Duration, Instant};

const LIST: &str = "crates/cluster/mutants.toml";
/// Selects an edit by its number in the list, counted from 1.
/// Not `HUSTINGS_…`: tests start programs without those.
const SWITCH: &str = "MUTANT";
/// How long the tests of one mutant may take without an edit.
const LONGEST_TEST: Duration = Duration::from_mins(15);
/// With an edit they may take this many times as long, and a bit: they may wait for what never comes.
const PATIENCE: u32 = 4;
const SLACK: Duration = Duration::from_mins(1);
/// How much of a failed build is printed.
const SHOWN_LINES: usize = 40;

/// One edit.
#[derive(Clone, PartialEq, Eq, Debug)]
struct Mutant {
    number: usize,
    /// The guard that it takes out.
    name: String,
    file: String,
    /// An anchor, which occurs once in the file. The edit is after it. Empty if `find` itself occurs only once.
    after: String,
    /// An expression, or statements.
    find: String,
    /// What is evaluated instead: an expression of the same type, or other statements.
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

/// Runs the mutants of which the name or the test contains one of these words, or all.
pub(crate) fn run(root: &Path, words: &[String]) -> Result<(), String> {
    let text = fs::read_to_string(root.join(LIST)).map_err(|error| format!("{LIST}: {error}"))?;
    let mut mutants = parse(&text)?;
    let is_in = |mutant: &Mutant, word: &str| mutant.name.contains(word) || mutant.test.describe().contains(word);
    if let Some(word) = words.iter().find(|word| !mutants.iter().any(|mutant| is_in(mutant, word))) {
        return Err(format!("no name or test in {LIST} contains `{word}`"));
    }
    mutants.retain(|mutant| words.is_empty() || words.iter().any(|word| is_in(mutant, word)));
    let tree = root.join("target/mutants/tree");
    copy_sources(root, &tree, &switched_files(root, &mutants)?)?;
    let mut programs: BTreeMap<(&str, &str), PathBuf> = BTreeMap::new();
    let (mut broken, mut limits) = (BTreeSet::new(), BTreeMap::new());
    for test in mutants.iter().map(|mutant| &mutant.test).collect::<BTreeSet<_>>() {
        println!("without an edit: {}", test.describe());
        let program = match programs.entry((&test.package, &test.target)) {
            Entry::Occupied(built) => built.into_mut(),
            Entry::Vacant(new) => new.insert(test.build(&tree)?),
        };
        let began = Instant::now();
        if !test.passes(&tree, program, None, LONGEST_TEST)? {
            println!("    FAILS without any edit, so it cannot judge one");
            broken.insert(test);
        }
        limits.insert(test, PATIENCE * began.elapsed() + SLACK);
    }
    let (judged, unjudged): (Vec<&Mutant>, Vec<&Mutant>) =
        mutants.iter().partition(|mutant| !broken.contains(&mutant.test));
    let survived = try_all(&judged, |mutant| {
        let began = Instant::now();
        let program = &programs[&(mutant.test.package.as_str(), mutant.test.target.as_str())];
        let passes = mutant.test.passes(&tree, program, Some(mutant.number), limits[&mutant.test])?;
        let outcome = if passes { "SURVIVED" } else { "noticed" };
        println!("{:>3} {outcome:<8} {} ({} s)", mutant.number, mutant.name, began.elapsed().as_secs());
        Ok(passes)
    })?;
    println!("{} of {} were noticed", judged.len() - survived, mutants.len());
    match (survived, unjudged.len()) {
        (0, 0) => Ok(()),
        (0, unjudged) => Err(format!("{unjudged} could not be judged, because their tests fail without an edit")),
        _ => Err("a guard is not watched by its test".to_string()),
    }
}

/// How many mutants survive. Those of unit tests are tried on all cores, and those of real processes one by one,
/// because a busy host could be what makes their tests fail.
fn try_all(mutants: &[&Mutant], survives: impl Fn(&Mutant) -> Result<bool, String> + Sync) -> Result<usize, String> {
    let (units, others): (Vec<&Mutant>, Vec<&Mutant>) =
        mutants.iter().copied().partition(|mutant| mutant.test.target == "lib");
    let survived = AtomicUsize::new(0);
    let count = |mutant: &&Mutant| {
        survived.fetch_add(usize::from(survives(mutant)?), Ordering::Relaxed);
        Ok(())
    };
    on_all_cores(&units, count)?;
    others.iter().try_for_each(count)?;
    Ok(survived.into_inner())
}

/// Does something with each item, one on each core at a time, up to the first error.
fn on_all_cores<T: Sync>(items: &[T], work: impl Fn(&T) -> Result<(), String> + Sync) -> Result<(), String> {
    let (next, has_failed) = (AtomicUsize::new(0), AtomicBool::new(false));
    let work = || -> Result<(), String> {
        while let Some(item) = items.get(next.fetch_add(1, Ordering::Relaxed))
            && !has_failed.load(Ordering::Relaxed)
        {
            work(item).inspect_err(|_| has_failed.store(true, Ordering::Relaxed))?;
        }
        Ok(())
    };
    let cores = thread::available_parallelism().map_or(1, usize::from);
    thread::scope(|scope| {
        let workers: Vec<_> = (0..cores).map(|_| scope.spawn(work)).collect();
        workers.into_iter().try_for_each(|worker| worker.join().expect("it does not panic"))
    })
}

fn parse(text: &str) -> Result<Vec<Mutant>, String> {
    let table: toml::Table = text.parse().map_err(|error| format!("{LIST}: {error}"))?;
    let list = table.get("mutant").and_then(toml::Value::as_array).ok_or(format!("{LIST} has no `[[mutant]]`"))?;
    let mutant = |(index, value): (usize, &toml::Value)| {
        let optional = |key: &str| value.get(key).and_then(toml::Value::as_str).map(str::to_string);
        let required =
            |key: &str| optional(key).ok_or_else(|| format!("{LIST}: a `[[mutant]]` has no `{key}`: {value:?}"));
        let test = required("test")?;
        let (target, filter) = test.split_once(' ').unwrap_or((&test, ""));
        Ok(Mutant {
            number: index + 1,
            name: required("name")?,
            file: required("file")?,
            after: optional("after").unwrap_or_default(),
            find: required("find")?,
            replace: required("replace")?,
            test: Test {
                package: optional("package").unwrap_or_else(|| "hustings-cluster".to_string()),
                target: target.to_string(),
                filter: filter.to_string(),
            },
        })
    };
    list.iter().enumerate().map(mutant).collect()
}

impl Mutant {
    /// Where its `find` begins in the text of its file.
    fn position(&self, text: &str) -> Result<usize, String> {
        let (name, file) = (&self.name, &self.file);
        let unique = if self.after.is_empty() { &self.find } else { &self.after };
        let count = text.matches(unique.as_str()).count();
        let at = text.find(unique.as_str()).filter(|_| count == 1);
        let at = at.ok_or_else(|| format!("`{name}`: {file} contains `{unique}` {count} times, not once"))?;
        let from = at + self.after.len();
        let found = text[from..].find(&self.find).map(|offset| from + offset);
        found.ok_or_else(|| format!("`{name}`: {file} does not contain `{}` after its anchor", self.find))
    }
}

/// The text of a file with these edits behind switches. Several edits may replace the same part of it.
fn switched(text: &str, mutants: &[&Mutant]) -> Result<String, String> {
    let mut edits: BTreeMap<usize, Vec<&Mutant>> = BTreeMap::new();
    for mutant in mutants {
        edits.entry(mutant.position(text)?).or_default().push(mutant);
    }
    let (mut switched, mut end) = (String::new(), 0);
    for (at, mutants) in edits {
        let find = &mutants[0].find;
        if at < end || mutants.iter().any(|mutant| mutant.find != *find) {
            return Err(format!("`{}` overlaps another edit", mutants[0].name));
        }
        switched.push_str(&text[end..at]);
        // Where an expression ends in a line, so does what replaces it. Statements stay statements.
        let is_expression = !find.trim_end().ends_with([';', '}']);
        switched.push_str(if is_expression { "(" } else { "" });
        for Mutant { number, replace, .. } in mutants {
            switched.push_str(&format!("if {} {{ {replace} }} else ", is_selected(*number)));
        }
        switched.push_str(&format!("{{ {find} }}"));
        switched.push_str(if is_expression { ")" } else { "" });
        end = at + find.len();
    }
    switched.push_str(&text[end..]);
    Ok(switched)
}

/// An expression: whether an edit was selected. It asks the environment only once.
fn is_selected(number: usize) -> String {
    let asked = format!("std::env::var_os(\"{SWITCH}\").is_some_and(|number| number == \"{number}\")");
    format!("{{ static IT: std::sync::LazyLock<bool> = std::sync::LazyLock::new(|| {asked}); *IT }}")
}

/// The files with edits, by their names.
fn switched_files(root: &Path, mutants: &[Mutant]) -> Result<BTreeMap<String, String>, String> {
    let mut by_file: BTreeMap<&str, Vec<&Mutant>> = BTreeMap::new();
    mutants.iter().for_each(|mutant| by_file.entry(&mutant.file).or_default().push(mutant));
    let switched = by_file.into_iter().map(|(file, mutants)| {
        let text = fs::read_to_string(root.join(file)).map_err(|error| format!("{file}: {error}"))?;
        Ok((file.to_string(), switched(&text, &mutants)?))
    });
    switched.collect()
}

impl Test {
    fn describe(&self) -> String {
        format!("{} {} {}", self.package, self.target, self.filter)
    }

    /// Builds the test program. Returns its path.
    fn build(&self, tree: &Path) -> Result<PathBuf, String> {
        let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
        cargo.args(["test", "--locked", "--quiet", "--no-run", "--message-format=json-render-diagnostics"]);
        cargo.args(["--package", &self.package]).current_dir(tree);
        cargo.env("CARGO_TARGET_DIR", tree.with_file_name("build")).env_remove(SWITCH);
        match self.target.as_str() {
            "lib" => cargo.arg("--lib"),
            target => cargo.args(["--test", target]),
        };
        let output = cargo.output().map_err(|error| error.to_string())?;
        if !output.status.success() {
            return Err(format!("{} does not build:\n{}", self.describe(), last_lines(&output)));
        }
        executable(&String::from_utf8_lossy(&output.stdout))
            .ok_or_else(|| format!("cargo does not say where the program of {} is", self.describe()))
    }

    /// The folder of its package.
    fn folder(&self, tree: &Path) -> PathBuf {
        tree.join("crates").join(self.package.strip_prefix("hustings-").unwrap_or(&self.package))
    }

    /// Whether the tests pass with this edit, or without any. Tests that do not end within the limit do not pass.
    fn passes(&self, tree: &Path, program: &Path, mutant: Option<usize>, limit: Duration) -> Result<bool, String> {
        let end = Instant::now() + limit;
        let mut command = Command::new(program);
        command.arg(&self.filter).current_dir(self.folder(tree)).env_remove(SWITCH);
        mutant.iter().for_each(|number| _ = command.env(SWITCH, number.to_string()));
        let error = |error| format!("{}: {error}", program.display());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(error)?;
        let stdout = child.stdout.take().expect("it is piped");
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || BufReader::new(stdout).lines().try_for_each(|line| sender.send(line)));
        loop {
            let line = match lines.recv_timeout(end.saturating_duration_since(Instant::now())) {
                Ok(line) => line.map_err(error)?,
                Err(RecvTimeoutError::Disconnected) => break,
                Err(RecvTimeoutError::Timeout) => {
                    child.kill().and_then(|()| child.wait()).map_err(error)?;
                    println!("    did not end within {} s", limit.as_secs());
                    return Ok(false);
                }
            };
            if line == "running 0 tests" {
                return Err(format!("{}: there is no such test", self.describe()));
            }
            // One test is enough.
            if line.starts_with("test ") && line.ends_with(" FAILED") {
                child.kill().and_then(|()| child.wait()).map_err(error)?;
                return Ok(false);
            }
        }
        Ok(child.wait().map_err(error)?.success())
    }
}

/// The test program among the messages of a build.
fn executable(messages: &str) -> Option<PathBuf> {
    let mut paths = messages.lines().filter_map(|line| line.split_once("\"executable\":\"")?.1.split_once('"'));
    paths.next_back().map(|(path, _)| PathBuf::from(path))
}

/// Copies what git knows of, with some files replaced. Files keep their times, so that little is built again.
fn copy_sources(root: &Path, tree: &Path, replaced: &BTreeMap<String, String>) -> Result<(), String> {
    let listed = Command::new("git").args(["ls-files", "-z"]).current_dir(root).output();
    let listed = listed.map_err(|error| format!("git cannot be run: {error}"))?.stdout;
    for name in String::from_utf8_lossy(&listed).split('\0').filter(|name| !name.is_empty()) {
        let copied = copy_file(&root.join(name), &tree.join(name), replaced.get(name).map(String::as_str));
        copied.map_err(|error| format!("{name}: {error}"))?;
    }
    Ok(())
}

fn copy_file(from: &Path, to: &Path, replaced: Option<&str>) -> std::io::Result<()> {
    let contents = replaced.map_or_else(|| fs::read(from), |text| Ok(text.as_bytes().to_vec()))?;
    if fs::read(to).is_ok_and(|present| present == contents) {
        return Ok(());
    }
    to.parent().map_or(Ok(()), fs::create_dir_all)?;
    fs::write(to, contents)?;
    match replaced {
        Some(_) => Ok(()),
        None => fs::File::options().write(true).open(to)?.set_modified(fs::metadata(from)?.modified()?),
    }
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
        let files = switched_files(root, &mutants).expect("every edit applies");
        let switches: usize = files.values().map(|text| text.matches(SWITCH).count()).sum();
        assert_eq!(switches, mutants.len());
    }

    fn mutant(number: usize, after: &str, find: &str, replace: &str) -> Mutant {
        let [package, target, filter] = ["p", "lib", ""].map(str::to_string);
        let [name, file, after, find, replace] = ["n", "f", after, find, replace].map(str::to_string);
        Mutant { number, name, file, after, find, replace, test: Test { package, target, filter } }
    }

    #[test]
    fn edits_are_made_behind_switches() {
        let text = "if a > b {\n    work();\n}\nlet c = b;\n";
        let edits = [mutant(1, "", "a > b", "true"), mutant(2, "", "work();", ""), mutant(3, "let c = ", "b", "a")];
        let switched = switched(text, &edits.iter().collect::<Vec<_>>()).expect("the edits apply");
        let expected = format!(
            "if (if {} {{ true }} else {{ a > b }}) {{\n    if {} {{  }} else {{ work(); }}\n}}\nlet c = (if {} {{ a }} \
             else {{ b }});\n",
            is_selected(1),
            is_selected(2),
            is_selected(3)
        );
        assert_eq!(switched, expected);
    }

    #[test]
    fn several_edits_may_replace_the_same_part_and_others_may_not_overlap() {
        let one = mutant(1, "", "a > b", "true");
        let same = switched("if a > b {}", &[&one, &mutant(2, "", "a > b", "false")]).expect("the edits apply");
        assert!(same.contains("{ true } else if ") && same.contains("{ false } else { a > b }"), "{same}");
        let overlap = switched("if a > b {}", &[&one, &mutant(2, "", "> b", "< b")]).expect_err("they overlap");
        assert!(overlap.contains("overlaps"), "{overlap}");
        let twice = switched("b; b;", &[&mutant(1, "", "b", "a")]).expect_err("it occurs twice");
        assert!(twice.contains("2 times"), "{twice}");
    }

    #[test]
    fn the_program_is_the_last_one_that_a_build_names() {
        let messages = "{\"reason\":\"compiler-artifact\",\"executable\":null,\"fresh\":true}\n\
                        {\"executable\":\"/t/a-1\",\"fresh\":true}\n{\"reason\":\"build-finished\"}\n";
        assert_eq!(executable(messages), Some(PathBuf::from("/t/a-1")));
        assert_eq!(executable(""), None);
    }

    #[test]
    fn a_test_is_named_by_its_target_and_a_part_of_its_name() {
        let text = "[[mutant]]\nname = 'n'\nfile = 'f'\nfind = 'a'\nreplace = 'b'\ntest = 'guards a_name'\n";
        let [mutant] = &parse(text).expect("it is valid")[..] else { panic!("one mutant") };
        assert_eq!((mutant.test.target.as_str(), mutant.test.filter.as_str()), ("guards", "a_name"));
        assert!(parse("[[mutant]]\nname = 'n'\n").expect_err("it has no test").contains("no `test`"));
    }
}
