//! `cargo xtask mutants --laboratory`: small errors in the algorithms' rules, made from their syntax and not by choice.
//!
//! Tests must notice each one, or `crates/algorithms/mutants.toml` lists it: with an argument why it changes nothing
//! that a test could see, or as not yet argued. A run tells which are missing there, and which are noticed by now.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use super::syntax::{self, Edit};
use super::{SWITCH, Test, copy_sources, on_all_cores};

const SURVIVORS: &str = "crates/algorithms/mutants.toml";
const ROOT_FILE: &str = "crates/algorithms/src/lib.rs";
/// The folders with the algorithms' rules.
const RULES: &[&str] = &["anonymous", "complete", "graph", "hierarchy", "ring", "runs"];
/// Files in them that are formulas, against which the rules are tested, or tests.
const NO_RULES: &[&str] = &["oracle.rs", "layout_tests.rs"];
/// The tests that judge, the quickest first. The first that fails ends the judgement.
const JUDGES: &[(&str, &str)] = &[
    ("hustings-algorithms", "lib"),
    ("hustings-algorithms", "all"),
    ("hustings-check", "all"),
    ("hustings-sim", "all"),
];
/// How much longer tests may take with an edit than without one: an edit can make them run forever.
const PATIENCE: (u32, Duration) = (8, Duration::from_secs(20));
/// The address space that tests may have, in kilobytes: an edit can make them fill the memory.
const MAX_MEMORY: u64 = 8 << 20;

/// An edit with its name.
struct Mutant {
    name: String,
    edit: Edit,
}

/// An edit that no test notices.
#[derive(PartialEq, Eq, Debug)]
struct Survivor {
    mutant: String,
    /// Why no test could.
    argument: Option<String>,
}

/// A program of tests, and how long it takes without an edit.
struct Judge {
    name: String,
    program: PathBuf,
    folder: PathBuf,
    limit: Duration,
}

/// What the tests say.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Judgement {
    Passed,
    Failed,
    /// They were ended, or ended in another way: they went on forever, or filled the memory.
    Ended,
}

/// Tries the mutants whose names contain `only`.
pub(crate) fn run(root: &Path, only: Option<&str>) -> Result<(), String> {
    let files = files(root)?;
    let mutants: Vec<&Mutant> = files.iter().flat_map(|(_, _, mutants)| mutants).collect();
    let listed =
        survivors(&fs::read_to_string(root.join(SURVIVORS)).map_err(|error| format!("{SURVIVORS}: {error}"))?)?;
    let is_chosen = |mutant: &Mutant| only.is_none_or(|only| mutant.name.contains(only));
    let chosen: Vec<usize> = (0..mutants.len()).filter(|&at| is_chosen(mutants[at])).collect();
    if chosen.is_empty() {
        return Err(format!("none of {} mutants contains `{}`", mutants.len(), only.unwrap_or_default()));
    }
    println!("{} of {} mutants", chosen.len(), mutants.len());
    let tree = root.join("target/mutants/laboratory");
    copy_sources(root, &tree, &switched_files(root, &files)?)?;
    let judges = JUDGES.iter().map(|&judge| Judge::build(&tree, judge)).collect::<Result<Vec<Judge>, String>>()?;
    let began = Instant::now();
    let survived = Mutex::new(BTreeSet::new());
    on_all_cores(&chosen, |&at| {
        let (mutant, tried) = (mutants[at], Instant::now());
        let noticed = judges.iter().find_map(|judge| match judge.try_with(Some(at + 1)) {
            Ok(Judgement::Passed) => None,
            Ok(Judgement::Failed) => Some(Ok(format!("noticed by {}", judge.name))),
            Ok(Judgement::Ended) => Some(Ok(format!("ends {}", judge.name))),
            Err(error) => Some(Err(error)),
        });
        let outcome = noticed.transpose()?;
        if outcome.is_none() {
            survived.lock().unwrap_or_else(PoisonError::into_inner).insert(at);
        }
        let (seconds, total) = (tried.elapsed().as_secs_f32(), began.elapsed().as_secs());
        println!(
            "{:>4} {} ({seconds:.1} s, {total} s in all): {}",
            at + 1,
            outcome.as_deref().unwrap_or("SURVIVED"),
            mutant.name
        );
        Ok(())
    })?;
    let survived: BTreeSet<&str> =
        survived.into_inner().unwrap_or_default().into_iter().map(|at| mutants[at].name.as_str()).collect();
    let tried = chosen.iter().map(|&at| mutants[at].name.as_str()).collect();
    println!("{} of {} survived, after {} s", survived.len(), chosen.len(), began.elapsed().as_secs());
    compare(&listed, &survived, &tried)
}

/// Compares the survivors with the list.
fn compare(listed: &[Survivor], survived: &BTreeSet<&str>, tried: &BTreeSet<&str>) -> Result<(), String> {
    let known: BTreeSet<&str> = listed.iter().map(|one| one.mutant.as_str()).collect();
    let mut wrong = String::new();
    for mutant in survived.difference(&known) {
        wrong += &format!("no test notices, and {SURVIVORS} does not list: {mutant}\n");
    }
    for mutant in known.intersection(tried).filter(|mutant| !survived.contains(**mutant)) {
        wrong += &format!("{SURVIVORS} lists what a test notices: {mutant}\n");
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong.trim_end().to_string()) }
}

/// The files with rules, each with its text and its mutants, by name.
fn files(root: &Path) -> Result<Vec<(String, String, Vec<Mutant>)>, String> {
    let mut names = Vec::new();
    for folder in RULES {
        sources(&root.join("crates/algorithms/src").join(folder), &mut names)?;
    }
    names.sort_unstable();
    let file = |path: PathBuf| {
        let name = path.strip_prefix(root).unwrap_or(&path).to_string_lossy().into_owned();
        let text = fs::read_to_string(&path).map_err(|error| format!("{name}: {error}"))?;
        let edits = syntax::edits(&text).map_err(|error| format!("{name}: {error}"))?;
        let short = name.trim_start_matches("crates/algorithms/src/");
        let names = syntax::names(short, &text, &edits);
        let mutants = names.into_iter().zip(edits).map(|(name, edit)| Mutant { name, edit }).collect();
        Ok((name, text, mutants))
    };
    names.into_iter().map(file).collect()
}

fn sources(folder: &Path, names: &mut Vec<PathBuf>) -> Result<(), String> {
    let error = |error| format!("{}: {error}", folder.display());
    for entry in fs::read_dir(folder).map_err(error)? {
        let path = entry.map_err(error)?.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        if path.is_dir() {
            sources(&path, names)?;
        } else if name.ends_with(".rs") && !NO_RULES.contains(&name.as_str()) {
            names.push(path);
        }
    }
    Ok(())
}

/// The files with all edits behind switches, and the crate's root with the switch itself. The crate has no std, but its
/// copy may.
fn switched_files(root: &Path, files: &[(String, String, Vec<Mutant>)]) -> Result<BTreeMap<String, String>, String> {
    let mut number = 0;
    let mut switched = BTreeMap::new();
    for (name, text, mutants) in files {
        let numbered: Vec<(usize, &Edit)> = (number + 1..).zip(mutants.iter().map(|mutant| &mutant.edit)).collect();
        number += mutants.len();
        let is_selected = |number: usize| format!("crate::is_selected({number})");
        switched.insert(name.clone(), syntax::switched(text, &numbered, &is_selected));
    }
    let text = fs::read_to_string(root.join(ROOT_FILE)).map_err(|error| format!("{ROOT_FILE}: {error}"))?;
    let read = format!("std::env::var(\"{SWITCH}\").ok().and_then(|number| number.parse().ok()).unwrap_or(0)");
    let selected = format!("static SELECTED: std::sync::LazyLock<u32> = std::sync::LazyLock::new(|| {read});");
    let switch = format!("pub(crate) fn is_selected(number: u32) -> bool {{ {selected} *SELECTED == number }}");
    switched.insert(ROOT_FILE.to_string(), format!("{text}\nextern crate std;\n#[inline]\n{switch}\n"));
    Ok(switched)
}

fn survivors(text: &str) -> Result<Vec<Survivor>, String> {
    let table: toml::Table = text.parse().map_err(|error| format!("{SURVIVORS}: {error}"))?;
    let empty = Vec::new();
    let list = table.get("survivor").and_then(toml::Value::as_array).unwrap_or(&empty);
    let survivor = |value: &toml::Value| {
        let text = |key: &str| value.get(key).and_then(toml::Value::as_str).map(str::to_string);
        let mutant =
            text("mutant").ok_or_else(|| format!("{SURVIVORS}: a `[[survivor]]` has no `mutant`: {value:?}"))?;
        Ok(Survivor { mutant, argument: text("argument") })
    };
    list.iter().map(survivor).collect()
}

impl Judge {
    fn build(tree: &Path, (package, target): (&str, &str)) -> Result<Judge, String> {
        let test = Test { package: package.to_string(), target: target.to_string(), filter: String::new() };
        let began = Instant::now();
        let program = test.build(tree)?;
        let built = began.elapsed().as_secs();
        let folder = test.folder(tree);
        let mut judge =
            Judge { name: format!("{package} {target}"), program, folder, limit: Duration::from_secs(3600) };
        let began = Instant::now();
        if judge.try_with(None)? != Judgement::Passed {
            return Err(format!("{} fails without any edit", judge.name));
        }
        println!("without an edit: {} (built in {built} s, takes {:.1} s)", judge.name, began.elapsed().as_secs_f32());
        judge.limit = began.elapsed() * PATIENCE.0 + PATIENCE.1;
        Ok(judge)
    }

    /// What the tests say with this edit, or without any.
    fn try_with(&self, mutant: Option<usize>) -> Result<Judgement, String> {
        let error = |error: std::io::Error| format!("{}: {error}", self.program.display());
        // The shell replaces itself by the program, so that the program is what is ended.
        let mut command = Command::new("sh");
        command.args(["-c", &format!("ulimit -v {MAX_MEMORY}; exec \"$0\" --test-threads=1")]).arg(&self.program);
        command.current_dir(&self.folder).env_remove(SWITCH);
        mutant.iter().for_each(|number| _ = command.env(SWITCH, number.to_string()));
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().map_err(error)?;
        let judgement = self.judgement(&mut child);
        // It may have ended already.
        let _ = child.kill();
        let status = child.wait().map_err(error)?;
        Ok(match judgement {
            Some(judgement) => judgement,
            None if status.success() => Judgement::Passed,
            None => Judgement::Ended,
        })
    }

    /// Reads what the tests say, up to the first that fails, or until the time is up.
    fn judgement(&self, child: &mut Child) -> Option<Judgement> {
        let stdout = child.stdout.take().expect("it is piped");
        let (said, lines) = mpsc::channel();
        // It ends with the program.
        thread::spawn(move || {
            BufReader::new(stdout).lines().map_while(Result::ok).try_for_each(|line| said.send(line))
        });
        let deadline = Instant::now() + self.limit;
        loop {
            match lines.recv_timeout(deadline.saturating_duration_since(Instant::now())) {
                Ok(line) if line.starts_with("test ") && line.ends_with("FAILED") => return Some(Judgement::Failed),
                Ok(_) => {}
                Err(RecvTimeoutError::Timeout) => return Some(Judgement::Ended),
                Err(RecvTimeoutError::Disconnected) => return None,
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How many survivors have no argument yet. It may only fall.
    const NOT_YET_ARGUED: usize = 0;

    #[test]
    fn the_list_names_mutants_that_exist_and_argues_for_all_but_a_few() {
        let root = crate::root();
        let text = fs::read_to_string(root.join(SURVIVORS)).expect("the list is there");
        let listed = survivors(&text).expect("it is valid");
        let files = files(root).expect("the sources are Rust");
        let all: BTreeSet<&str> =
            files.iter().flat_map(|(_, _, mutants)| mutants).map(|mutant| mutant.name.as_str()).collect();
        assert_eq!(all.len(), files.iter().map(|(_, _, mutants)| mutants.len()).sum::<usize>(), "names are unique");
        for survivor in &listed {
            assert!(all.contains(survivor.mutant.as_str()), "there is no mutant `{}`", survivor.mutant);
        }
        let names: BTreeSet<&str> = listed.iter().map(|one| one.mutant.as_str()).collect();
        assert_eq!(names.len(), listed.len(), "each is listed once");
        assert_eq!(listed.iter().filter(|one| one.argument.is_none()).count(), NOT_YET_ARGUED);
    }

    #[test]
    fn every_mutant_has_a_switch() {
        let root = crate::root();
        let files = files(root).expect("the sources are Rust");
        let switched = switched_files(root, &files).expect("the root is there");
        let switches: usize = switched.values().map(|text| text.matches("crate::is_selected(").count()).sum();
        assert_eq!(switches, files.iter().map(|(_, _, mutants)| mutants.len()).sum::<usize>());
        assert!(switches > 500, "{switches}");
    }

    #[test]
    fn survivors_and_the_list_must_agree() {
        let listed =
            survivors("[[survivor]]\nmutant = 'a'\nargument = 'x'\n[[survivor]]\nmutant = 'b'\n").expect("valid");
        assert_eq!(listed[1], Survivor { mutant: "b".to_string(), argument: None });
        let set = |names: &[&'static str]| names.iter().copied().collect::<BTreeSet<&str>>();
        assert_eq!(compare(&listed, &set(&["a", "b"]), &set(&["a", "b", "c"])), Ok(()));
        assert_eq!(compare(&listed, &set(&[]), &set(&["c"])), Ok(()), "the others were not tried");
        let missing = compare(&listed, &set(&["a", "c"]), &set(&["a", "c"])).expect_err("c is not listed");
        assert!(missing.contains("does not list: c"), "{missing}");
        let noticed = compare(&listed, &set(&["a"]), &set(&["a", "b"])).expect_err("b is noticed");
        assert!(noticed.contains("lists what a test notices: b"), "{noticed}");
        assert!(survivors("[[survivor]]\n").is_err());
    }
}
