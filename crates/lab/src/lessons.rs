//! Lessons: guided scenarios, each a file with a paragraph, a run and two questions with answers.
//!
//! ```toml
//! title = "[Eight](nodes) processes, the leader is down"
//! source = "Crete"
//! run = "a=bully&n=8&crash=7@0&initiators=3"
//! text = "It takes [29](messages) messages, and [7](highest: messages) if process [7](highest: leader) notices."
//!
//! [runs]                # other runs of which the text says something
//! highest = "a=bully&n=8&crash=7@0&initiators=6"
//!
//! [[question]]
//! ask = "Why …?"
//! answer = "…"
//! ```
//!
//! Claims stand where they are made: what is in brackets is shown, and what follows in parentheses says how it is
//! measured (`claim`). A command is a claim too: `[hustings check …](verdict = holds)`.

mod claim;
mod marked;
mod measure;
mod value;

use std::collections::BTreeMap;
use std::path::Path;

use hustings_elections::Catalogue;
use serde::{Deserialize, Serialize};

use self::claim::Claim;
use self::marked::Mark;
use crate::error::LabError;

/// A lesson. Its texts are without the marks of claims.
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
    /// Other runs that are claimed something of, by name.
    #[serde(default, skip_serializing)]
    runs: BTreeMap<String, String>,
    #[serde(skip)]
    claims: Vec<(String, Claim)>,
    /// Commands that the lesson shows.
    #[serde(skip)]
    pub commands: Vec<Command>,
    /// Numbers and commands that no claim covers, each with the part of the lesson in which it is.
    #[serde(skip)]
    pub unclaimed: Vec<String>,
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

/// A command that a lesson shows.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Command {
    /// The command, which begins with `hustings`.
    pub line: String,
    /// What the lesson says comes of it: names and values of its result.
    pub outcome: Vec<(String, String)>,
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

/// The lessons of a folder: its files `*.toml`, by name. What they claim of runs must be true.
pub fn in_folder(folder: &Path, catalogue: &Catalogue) -> Result<Vec<Lesson>, LabError> {
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
    let lessons: Vec<Lesson> = files.iter().map(|path| read(path)).collect::<Result<_, _>>()?;
    let mut differences = Vec::new();
    for lesson in &lessons {
        differences.extend(lesson.check(catalogue)?);
    }
    if differences.is_empty() { Ok(lessons) } else { Err(LabError::new("lessons", differences.join("\n"))) }
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
    let wrong = |problem: String| LabError::new("lessons", problem);
    let mut lesson: Lesson = toml::from_str(text).map_err(|error| wrong(error.to_string()))?;
    lesson.name = name.to_string();
    lesson.take_claims().map_err(wrong)?;
    Ok(lesson)
}

impl Lesson {
    /// Takes the marks out of all sentences.
    fn take_claims(&mut self) -> Result<(), String> {
        let mut parts = vec![("title", &mut self.title), ("text", &mut self.text)];
        parts.extend(self.tries.iter_mut().map(|text| ("try", text)));
        for Question { ask, answer } in &mut self.question {
            parts.extend([("ask", ask), ("answer", answer)]);
        }
        for (part, text) in parts {
            let marked = marked::read(text).map_err(|problem| format!("{part}: {problem}"))?;
            self.unclaimed.extend(marked.unclaimed.iter().map(|number| format!("`{number}` in {part}")));
            *text = marked.plain;
            for mark in marked.marks {
                if mark.shown.starts_with("hustings ") {
                    self.commands.push(Command::read(&mark)?);
                } else {
                    let claim = Claim::read(&mark).map_err(|problem| format!("{part}: {problem}"))?;
                    self.claims.push((format!("“{}” ({})", mark.shown, mark.claim), claim));
                }
            }
        }
        Ok(())
    }

    /// Measures what the lesson claims of runs. Returns what differs.
    fn check(&self, catalogue: &Catalogue) -> Result<Vec<String>, LabError> {
        let mut differences = Vec::new();
        for (claimed, claim) in &self.claims {
            let wrong = |problem: String| LabError::new("lessons", format!("{}: {claimed}: {problem}", self.name));
            let difference = claim.difference(&self.run, &self.runs, catalogue).map_err(wrong)?;
            differences.extend(difference.map(|difference| format!("{}: {claimed}: {difference}", self.name)));
        }
        Ok(differences)
    }
}

impl Command {
    fn read(mark: &Mark) -> Result<Self, String> {
        let pair = |part: &str| part.split_once(" = ").map(|(name, value)| (name.trim().into(), value.trim().into()));
        let outcome: Option<Vec<_>> = mark.claim.split(';').map(pair).collect();
        let wrong = || {
            let (line, claim) = (hustings_text::quote(&mark.shown), hustings_text::quote(&mark.claim));
            format!("`{line}`: `{claim}` does not say what comes of it; allowed: NAME = VALUE; NAME = VALUE")
        };
        Ok(Command { line: mark.shown.clone(), outcome: outcome.ok_or_else(wrong)? })
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
            assert!(!lesson.claims.is_empty(), "{} claims nothing that can be checked", lesson.name);
            match lesson.check(&catalogue) {
                Ok(differences) => wrong.extend(differences),
                Err(error) => wrong.push(error.message),
            }
        }
        assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    }

    #[test]
    fn every_number_and_command_of_a_lesson_is_claimed() {
        let unclaimed = built_in().into_iter().flat_map(|lesson| {
            let name = lesson.name;
            lesson.unclaimed.into_iter().map(move |number| format!("{name}: no claim covers {number}"))
        });
        let unclaimed: Vec<String> = unclaimed.collect();
        assert!(unclaimed.is_empty(), "{}", unclaimed.join("\n"));
    }

    fn lesson(run: &str, text: &str) -> Result<Lesson, LabError> {
        parse(
            "t",
            &format!("title = \"t\"\nrun = \"{run}\"\ntext = \"{text}\"\n[runs]\nhigh = \"{run}&initiators=3\"\n"),
        )
    }

    fn differences(run: &str, text: &str) -> Vec<String> {
        lesson(run, text).expect(text).check(&Catalogue::default()).expect(text)
    }

    #[test]
    fn claims_that_are_true_are_accepted_and_others_are_not() {
        let run = "a=bully&n=4";
        let true_ones = "[4](leader) [15](messages) [Four](agreed over sizes) [n²-1](messages) [n(n-1)/2](messages ok) \
                         [2 to 4](receivers election from 1) [nobody](leader at 2 = none) [1](starters) [3](high: messages) \
                         [16 - 1 = 15](messages) [all agree](agreement = yes) [nobody](in-flight = 0)";
        assert_eq!(differences(run, true_ones), Vec::<String>::new());
        for (claimed, differs) in [
            ("[3](leader)", "the lesson says 3, the run 4"),
            ("[14](messages)", "the lesson says 14, the run 15"),
            ("[n²](messages)", "the lesson says 9, the run 8 among 3 nodes"),
            ("[14 = 15](messages)", "the lesson says 14 = 15, the run 15"),
            ("[2 to 3](receivers election from 1)", "the lesson says 2, 3, the run 2, 3, 4"),
            ("[4](leader at 2)", "the lesson says 4, the run none"),
            ("[they agree](agreement at 3 = yes)", "the lesson says yes, the run no"),
            ("[4](high: messages)", "the lesson says 4, the run 3"),
            ("[1](in-flight at 1)", "the lesson says 1, the run 6"),
        ] {
            let found = differences(run, claimed);
            assert!(found.len() == 1 && found[0].ends_with(differs), "{claimed}: {found:?}");
        }
    }

    #[test]
    fn claims_about_many_runs_are_measured_in_all_of_them() {
        let run = "a=chang-roberts&n=3";
        assert_eq!(differences(run, "[5.5](mean messages candidate over orders)"), Vec::<String>::new());
        assert_eq!(differences(run, "[6](most messages candidate over orders)"), Vec::<String>::new());
        assert_eq!(differences(run, "[20 of 20](runs 1 leaders over seeds 20)"), Vec::<String>::new());
        let found = differences(run, "[5.4](mean messages candidate over orders)");
        assert!(found[0].ends_with("the lesson says 5.4, the run 5.5"), "{found:?}");
    }

    #[test]
    fn claims_that_cannot_be_read_are_errors_that_say_what_is_allowed() {
        for (text, part) in [
            ("[6](leader", "allowed: [SHOWN](CLAIM)"),
            ("[six or so](leader)", "`six or so` is no value"),
            ("[6](leader at noon)", "`noon` is no tick"),
            ("[6](messages over moons)", "there is no set `moons`"),
            ("[hustings check bully](it holds)", "does not say what comes of it"),
        ] {
            let error = lesson("a=bully&n=4", text).expect_err(text);
            assert!(error.message.contains(part), "{text}: {error}");
        }
        for (text, part) in [
            ("[6](mesages)", "`mesages` cannot be measured; allowed: nodes, live"),
            ("[6](low: messages)", "there is no run `low`; allowed: high"),
            ("[6](receivers election from 9)", "cannot be measured"),
        ] {
            let error = lesson("a=bully&n=4", text).expect(text).check(&Catalogue::default()).expect_err(text);
            assert!(error.message.contains(part), "{text}: {error}");
        }
    }

    #[test]
    fn the_page_gets_sentences_without_marks() {
        let lesson = lesson("a=bully&n=4", "It takes [15](messages), or 7.").expect("it is a lesson");
        assert_eq!(
            (lesson.text.as_str(), &lesson.unclaimed[..]),
            ("It takes 15, or 7.", &["`7` in text".to_string()][..])
        );
        let sent = serde_json::to_string(&lesson).expect("it can be written");
        assert!(!sent.contains("runs") && !sent.contains("messages"), "{sent}");
    }

    #[test]
    fn a_folder_of_lessons_is_read_and_errors_name_the_file() {
        let folder = tempfile::tempdir().expect("a folder");
        let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).expect("it is written");
        let in_folder = |path: &Path| in_folder(path, &Catalogue::default());
        assert!(in_folder(folder.path()).expect_err("it is empty").message.contains("has 0 lessons"));
        write("b.toml", "title = \"B\"\nrun = \"a=bully\"\ntext = \"x\"\n");
        write("a.toml", "title = \"A\"\nrun = \"a=bully\"\ntext = \"x\"\n");
        write("notes.txt", "not a lesson");
        let names: Vec<String> =
            in_folder(folder.path()).expect("they are lessons").into_iter().map(|lesson| lesson.name).collect();
        assert_eq!(names, ["a", "b"]);
        write("b.toml", "title = \"B\"\nrun = \"a=bully&n=4\"\ntext = \"[9](messages)\"\n");
        let error = in_folder(folder.path()).expect_err("one claims something else");
        assert_eq!(error.message, "b: “9” (messages): the lesson says 9, the run 15");
        write("c.toml", "titel = \"C\"\n");
        let error = in_folder(folder.path()).expect_err("one is wrong");
        assert!(error.message.contains("c.toml") && error.message.contains("titel"), "{error}");
    }
}
