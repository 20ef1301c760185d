//! Lessons: guided scenarios, each a file with a paragraph, a run and two questions with answers.
//!
//! ```toml
//! title = "Eight processes, the leader is down"
//! source = "Crete"
//! run = "a=bully&n=8&crash=7@0&initiators=3"
//! text = "…"
//!
//! [[question]]
//! ask = "Why …?"
//! answer = "…"
//!
//! [expect]              # what the text claims; a test runs the lesson and compares
//! leader = "7"
//! messages = 29
//! ```

use std::path::Path;

use hustings_elections::Catalogue;
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::request::Bounds;
use crate::run::{Finished, run};

/// A lesson.
#[derive(Clone, PartialEq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Lesson {
    /// Its name in the address: that of its file, without the ending.
    #[serde(default)]
    pub name: String,
    /// The title.
    pub title: String,
    /// The text it is taken from.
    #[serde(default)]
    pub source: String,
    /// The run.
    pub run: String,
    /// The paragraphs, with an empty line between them.
    pub text: String,
    /// What to try.
    #[serde(default, rename = "try")]
    pub tries: Vec<String>,
    /// The questions.
    #[serde(default)]
    pub question: Vec<Question>,
    /// What the text claims of the run.
    #[serde(default, skip_serializing)]
    pub expect: Expect,
}

/// A question with its answer.
#[derive(Clone, PartialEq, Eq, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct Question {
    /// The question.
    pub ask: String,
    /// The answer.
    pub answer: String,
}

/// What a lesson claims of its run.
#[derive(Clone, PartialEq, Eq, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expect {
    /// The label of the leader; empty if there is none.
    leader: Option<String>,
    /// The number of live leaders.
    leaders: Option<usize>,
    /// Whether all live nodes name it.
    agreement: Option<bool>,
    /// The number of messages.
    messages: Option<u64>,
    /// The number of messages by kind.
    #[serde(default)]
    kinds: std::collections::BTreeMap<String, u64>,
    /// The tick of agreement.
    agreed: Option<u64>,
    /// The estimate of the number of nodes.
    estimate: Option<u64>,
}

/// The lessons that come with the program, in the order of teaching.
const BUILT_IN: &[(&str, &str)] = &[
    ("bully-eight", include_str!("../lessons/bully-eight.toml")),
    ("bully-two-detectors", include_str!("../lessons/bully-two-detectors.toml")),
    ("bully-revival", include_str!("../lessons/bully-revival.toml")),
    ("bully-square", include_str!("../lessons/bully-square.toml")),
    ("campaigner-twelve", include_str!("../lessons/campaigner-twelve.toml")),
    ("chang-roberts-worst", include_str!("../lessons/chang-roberts-worst.toml")),
    ("chang-roberts-best", include_str!("../lessons/chang-roberts-best.toml")),
    ("franklin-rounds", include_str!("../lessons/franklin-rounds.toml")),
    ("anonymous-coins", include_str!("../lessons/anonymous-coins.toml")),
    ("itai-rodeh-no-rounds", include_str!("../lessons/itai-rodeh-no-rounds.toml")),
    ("livelock", include_str!("../lessons/livelock.toml")),
    ("ring-size", include_str!("../lessons/ring-size.toml")),
    ("sun-levels", include_str!("../lessons/sun-levels.toml")),
    ("divided-informer", include_str!("../lessons/divided-informer.toml")),
    ("aefa-tree", include_str!("../lessons/aefa-tree.toml")),
    ("two-tier-failover", include_str!("../lessons/two-tier-failover.toml")),
];

/// The maximum size of a lesson's file, and the maximum number of lessons in a folder.
const MAX_BYTES: u64 = 64 * 1024;
const MAX_LESSONS: usize = 200;

/// The lessons that come with the program.
pub fn built_in() -> Vec<Lesson> {
    let read = |&(name, text): &(&str, &str)| parse(name, text).expect("the built-in lessons are valid");
    BUILT_IN.iter().map(read).collect()
}

/// The lessons of a folder: its files `*.toml`, by name.
pub fn in_folder(folder: &Path) -> Result<Vec<Lesson>, LabError> {
    let shown = folder.display();
    let unreadable = |error: std::io::Error| LabError::new("lessons", format!("cannot read `{shown}`: {error}"));
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(unreadable)? {
        let path = entry.map_err(unreadable)?.path();
        if path.extension().is_some_and(|ending| ending == "toml") {
            files.push(path);
        }
    }
    files.sort();
    if files.is_empty() || files.len() > MAX_LESSONS {
        let problem = format!("`{shown}` has {} lessons; allowed: 1 to {MAX_LESSONS} files NAME.toml", files.len());
        return Err(LabError::new("lessons", problem));
    }
    files.iter().map(|path| read(path)).collect()
}

fn read(path: &Path) -> Result<Lesson, LabError> {
    let wrong = |problem: String| LabError::new("lessons", format!("`{}`: {problem}", path.display()));
    let size = std::fs::metadata(path).map_err(|error| wrong(error.to_string()))?.len();
    if size > MAX_BYTES {
        return Err(wrong(format!("a lesson has at most {MAX_BYTES} bytes, not {size}")));
    }
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let name = path.file_stem().map(|name| name.to_string_lossy().to_string()).unwrap_or_default();
    parse(&name, &text).map_err(|error| wrong(error.message))
}

fn parse(name: &str, text: &str) -> Result<Lesson, LabError> {
    let lesson: Lesson = toml::from_str(text).map_err(|error| LabError::new("lessons", error.to_string()))?;
    Ok(Lesson { name: name.to_string(), ..lesson })
}

impl Lesson {
    /// Runs the lesson, and compares the run with what the lesson claims of it. Returns what differs.
    pub fn check(&self, catalogue: &Catalogue) -> Result<Vec<String>, LabError> {
        let finished = run(&self.run, catalogue, &Bounds::OWN)?;
        Ok(self.expect.differences(&finished))
    }
}

impl Expect {
    fn differences(&self, finished: &Finished) -> Vec<String> {
        let (request, outcome) = (&finished.request, &finished.outcome);
        let labels = crate::timeline::labels(&*request.election, &request.built.scenario);
        let leader = outcome.leader.map(|at| labels[at as usize].clone()).unwrap_or_default();
        let mut differences = Vec::new();
        let mut compare = |what: &str, wanted: Option<String>, found: String| {
            if let Some(wanted) = wanted.filter(|wanted| *wanted != found) {
                differences.push(format!("{what}: the lesson says {wanted}, the run {found}"));
            }
        };
        let text = |number: Option<u64>| number.map_or_else(|| "none".to_string(), |number| number.to_string());
        compare("leader", self.leader.clone(), leader);
        compare("leaders", self.leaders.map(|count| count.to_string()), outcome.leaders.len().to_string());
        compare("agreement", self.agreement.map(|is| is.to_string()), outcome.agreement.to_string());
        compare("messages", self.messages.map(|count| count.to_string()), outcome.total().to_string());
        compare("agreed", self.agreed.map(|tick| tick.to_string()), text(outcome.time.agreed));
        compare("estimate", self.estimate.map(|size| size.to_string()), text(outcome.estimate));
        let kinds = request.election.kinds(request.built.scenario.runs);
        for (kind, wanted) in &self.kinds {
            let found = kinds.iter().position(|name| name == kind).and_then(|place| outcome.by_kind.get(place));
            compare(kind, Some(wanted.to_string()), text(found.copied()));
        }
        differences
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_lesson_is_true() {
        let catalogue = Catalogue::default();
        let lessons = built_in();
        assert!(lessons.len() >= 12, "there are {} lessons", lessons.len());
        let mut wrong = Vec::new();
        for lesson in lessons {
            assert_eq!(lesson.question.len(), 2, "{}", lesson.name);
            assert_ne!(lesson.expect, Expect::default(), "{} claims nothing that can be checked", lesson.name);
            match lesson.check(&catalogue) {
                Ok(differences) => wrong.extend(differences.iter().map(|one| format!("{}: {one}", lesson.name))),
                Err(error) => wrong.push(format!("{}: {error}", lesson.name)),
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn a_lesson_that_claims_something_else_is_noticed() {
        let text = "title = \"t\"\nrun = \"a=bully&n=4\"\ntext = \"x\"\n[expect]\nleader = \"3\"\nmessages = 1\n";
        let lesson = parse("t", text).expect("it is a lesson");
        let found = lesson.check(&Catalogue::default()).expect("it runs");
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("leader: the lesson says 3, the run 4"), "{found:?}");
    }

    #[test]
    fn a_folder_of_lessons_is_read_and_errors_name_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it is written");
        assert!(in_folder(folder.path()).expect_err("it is empty").message.contains("has 0 lessons"));
        write("b.toml", "title = \"B\"\nrun = \"a=bully\"\ntext = \"x\"\n");
        write("a.toml", "title = \"A\"\nrun = \"a=bully\"\ntext = \"x\"\n");
        write("notes.txt", "not a lesson");
        let names: Vec<String> =
            in_folder(folder.path()).expect("they are lessons").into_iter().map(|lesson| lesson.name).collect();
        assert_eq!(names, ["a", "b"]);
        write("c.toml", "titel = \"C\"\n");
        let error = in_folder(folder.path()).expect_err("one is wrong");
        assert!(error.message.contains("c.toml") && error.message.contains("titel"), "{error}");
    }
}
