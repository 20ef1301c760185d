//! House rules that neither the formatter nor clippy knows.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};

use crate::lexer::{self, Class, Line};
use crate::vocabulary;

/// No file of a crate is longer.
const MAX_LINES: usize = 600;
/// Longer ones cause a warning.
const WARN_LINES: usize = 400;
/// No line of code or comment is wider. Strings may be: tables and expected texts read better whole.
const MAX_WIDTH: usize = 120;

/// What must not be left in code, and why.
const LEFTOVERS: &[(&str, &str)] = &[
    ("todo!", "finish it or leave it out"),
    ("unimplemented!", "finish it or leave it out"),
    ("dbg!", "remove it"),
    ("#[ignore", "a test runs or goes"),
];
/// What must not be left in comments.
const LEFTOVER_NOTE: &str = "FIXME";

/// First folders of absolute paths that exist on one machine only.
const MACHINE_FOLDERS: &[&str] = &["home", "root", "Users"];

/// Something that breaks a rule, and where.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord, Debug)]
struct Problem {
    file: String,
    line: usize,
    what: String,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}", self.file, self.line, self.what)
    }
}

/// Checks the whole repository; warns on standard output.
pub(crate) fn check(root: &Path) -> Result<(), String> {
    let mut files = Vec::new();
    collect(root, root, &mut files).map_err(|error| format!("the files cannot be listed: {error}"))?;
    files.sort();
    let mut problems = Vec::new();
    for file in &files {
        let Ok(content) = fs::read_to_string(root.join(file)) else { continue }; // not text
        let name = file.to_string_lossy().replace('\\', "/");
        problems.extend(examine(&name, &content));
        if let Some(warning) = long(&name, &content) {
            println!("warning: {warning}");
        }
    }
    if problems.is_empty() {
        return Ok(());
    }
    problems.sort();
    Err(problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
}

/// All files but those that are built, fetched or somebody else's.
pub(crate) fn collect(root: &Path, folder: &Path, files: &mut Vec<PathBuf>) -> std::io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let (path, kind) = entry.map(|entry| (entry.path(), entry.file_type()))?;
        // `.git` may be a file as well as a folder.
        if path.file_name().is_some_and(|name| name == "target" || name == ".git") {
            continue;
        }
        if kind?.is_dir() {
            collect(root, &path, files)?;
        } else if let Ok(inside) = path.strip_prefix(root) {
            files.push(inside.to_path_buf());
        }
    }
    Ok(())
}

/// What is wrong with a file.
fn examine(file: &str, content: &str) -> Vec<Problem> {
    let mut problems = Vec::new();
    let mut report = |line: usize, what: String| problems.push(Problem { file: file.to_string(), line, what });
    for (index, line) in content.lines().enumerate() {
        for path in machine_paths(line) {
            report(index + 1, format!("a path of one machine: {path}"));
        }
    }
    // Advisories are texts of others.
    if file.ends_with(".md") && !file.starts_with("deny/") {
        for (index, line) in content.lines().enumerate() {
            for (word, instead) in vocabulary::retired(line).chain(vocabulary::retired_phrases(line)) {
                report(index + 1, format!("`{word}` is retired: write {instead}"));
            }
        }
    }
    if file.ends_with("Cargo.toml") && is_member(file) && !inherits_lints(content) {
        report(1, "the package does not inherit the workspace's lints ([lints] workspace = true)".to_string());
    }
    if file.ends_with(".rs") {
        let lines = lexer::lines(content);
        if file.starts_with("crates/") && lines.len() > MAX_LINES {
            report(1, format!("{} lines are too many, at most {MAX_LINES}: split it", lines.len()));
        }
        let mut tests = file.contains("/tests/");
        for (index, line) in lines.iter().enumerate() {
            tests |= line.only(Class::Code).contains("#[cfg(test)]");
            source_line(line, tests, &mut |what| report(index + 1, what));
        }
    }
    problems
}

fn source_line(line: &Line, tests: bool, report: &mut dyn FnMut(String)) {
    let (code, comment) = (line.only(Class::Code), line.only(Class::Comment));
    for (leftover, advice) in LEFTOVERS {
        if has_word(&code, leftover) {
            report(format!("`{leftover}` is left: {advice}"));
        }
    }
    if comment.contains(LEFTOVER_NOTE) {
        report(format!("`{LEFTOVER_NOTE}` is left: fix it or open an issue"));
    }
    let words = vocabulary::retired(&code).chain(vocabulary::retired(&comment));
    for (word, instead) in words.chain(vocabulary::retired_phrases(&comment)) {
        report(format!("`{word}` is retired: write {instead}"));
    }
    if tests && has_word(&code, "sleep(") {
        report("a test sleeps: wait for what it waits for".to_string());
    }
    if line.text.contains(&'\t') {
        report("a tab: use spaces (in strings, `\\t`)".to_string());
    }
    // Expected texts in strings may end in spaces.
    let ends_in_string = line.classes.last() == Some(&Class::Literal);
    if line.text.last().is_some_and(|c| c.is_whitespace()) && !ends_in_string {
        report("space at the end of the line".to_string());
    }
    if line.text.len() > MAX_WIDTH && !line.has_literal() {
        report(format!("{} characters are too wide, at most {MAX_WIDTH}", line.text.len()));
    }
}

/// Whether the pattern stands there and is not the end of a longer name.
fn has_word(code: &str, pattern: &str) -> bool {
    code.match_indices(pattern)
        .any(|(at, _)| !code[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || c == '_'))
}

/// The absolute paths in a line that exist on one machine only.
fn machine_paths(line: &str) -> impl Iterator<Item = String> {
    MACHINE_FOLDERS.iter().map(|folder| format!("/{folder}/")).filter(move |path| {
        // `https://example.org/home/x` and `src/root/x` are no such paths.
        line.match_indices(path.as_str())
            .any(|(at, _)| !line[..at].chars().next_back().is_some_and(|c| c.is_alphanumeric() || ".-_}".contains(c)))
    })
}

fn is_member(manifest: &str) -> bool {
    ["crates/", "xtask/"].iter().any(|folder| manifest.starts_with(folder))
}

fn inherits_lints(manifest: &str) -> bool {
    let mut lines = manifest.lines().map(str::trim).skip_while(|line| *line != "[lints]").skip(1);
    lines.by_ref().take_while(|line| !line.starts_with('[')).any(|line| line.replace(' ', "") == "workspace=true")
}

/// A word about a file that grows long.
fn long(file: &str, content: &str) -> Option<String> {
    let lines = content.lines().count();
    let many = file.starts_with("crates/") && file.ends_with(".rs") && (WARN_LINES + 1..=MAX_LINES).contains(&lines);
    many.then(|| format!("{file} has {lines} lines; think of splitting it above {WARN_LINES}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(file: &str, content: &str) -> Vec<(usize, String)> {
        examine(file, content).into_iter().map(|problem| (problem.line, problem.what)).collect()
    }

    fn one(file: &str, content: &str) -> String {
        match found(file, content).as_slice() {
            [(_, what)] => what.clone(),
            other => panic!("expected one problem, found {other:?}"),
        }
    }

    #[test]
    fn leftovers_are_found_in_code_only() {
        assert_eq!(one("a.rs", "fn f() { todo!() }\n"), "`todo!` is left: finish it or leave it out");
        assert_eq!(one("a.rs", "fn f() { dbg!(1); }\n"), "`dbg!` is left: remove it");
        assert_eq!(one("a.rs", "#[ignore = \"slow\"]\n"), "`#[ignore` is left: a test runs or goes");
        assert_eq!(one("a.rs", "fn f() { unimplemented!() }\n"), "`unimplemented!` is left: finish it or leave it out");
        assert_eq!(one("a.rs", "// FIXME: later\n"), "`FIXME` is left: fix it or open an issue");
        assert_eq!(found("a.rs", "//! Never write `todo!`.\nlet s = \"dbg! FIXME\"; my_dbg!(1);\n"), []);
    }

    #[test]
    fn white_space_and_width() {
        assert_eq!(one("a.rs", "\tlet a = 1;\n"), "a tab: use spaces (in strings, `\\t`)");
        assert_eq!(one("a.rs", "let a = 1; \n"), "space at the end of the line");
        assert_eq!(one("a.rs", &format!("// {}\n", "x".repeat(118))), "121 characters are too wide, at most 120");
        assert_eq!(found("a.rs", &format!("// {}\n", "ä".repeat(117))), [], "characters count, not bytes");
        assert_eq!(found("a.rs", &format!("let a = \"{}\";\n", "x".repeat(200))), []);
        assert_eq!(found("a.rs", &format!("let a = \"\nx  \n{}\n\";\n", "x".repeat(200))), []);
        assert_eq!(found("a.md", "a\tb \n"), [], "other files have other rules");
    }

    #[test]
    fn long_files_are_refused_in_crates_and_named_before() {
        let lines = |count| "// x\n".repeat(count);
        assert_eq!(one("crates/a/src/b.rs", &lines(601)), "601 lines are too many, at most 600: split it");
        assert_eq!(found("crates/a/src/b.rs", &lines(600)), []);
        assert_eq!(found("xtask/src/b.rs", &lines(601)), []);
        assert!(long("crates/a/src/b.rs", &lines(401)).is_some());
        assert_eq!(long("crates/a/src/b.rs", &lines(400)), None);
        assert_eq!(long("crates/a/src/b.rs", &lines(601)), None, "it is a problem already");
    }

    #[test]
    fn tests_do_not_sleep() {
        let wait = "fn f() { std::thread::sleep(d) }\n";
        assert_eq!(one("crates/a/tests/b.rs", wait), "a test sleeps: wait for what it waits for");
        assert_eq!(found("crates/a/src/b.rs", wait), []);
        assert_eq!(found("crates/a/src/b.rs", &format!("{wait}#[cfg(test)]\n{wait}"))[0].0, 3);
    }

    #[test]
    fn machine_paths_are_found_in_any_file() {
        let home = MACHINE_FOLDERS.iter().map(|folder| format!("see /{folder}/me/x\n"));
        for (line, folder) in home.zip(MACHINE_FOLDERS) {
            assert_eq!(one("README.md", &line), format!("a path of one machine: /{folder}/"));
            assert_eq!(found("README.md", &line.replace("see ", "https://example.org")), []);
        }
    }

    #[test]
    fn retired_words_are_found_in_code_comments_and_pages() {
        assert_eq!(one("a.rs", "const MOST_NODES: u32 = 3;\n"), "`most` is retired: write MAX_");
        assert_eq!(one("a.rs", "// The council decides.\n"), "`council` is retired: write consensus");
        assert_eq!(one("docs/a.md", "The council decides.\n"), "`council` is retired: write consensus");
        assert_eq!(one("docs/a.md", "It waits for ever.\n"), "`for ever` is retired: write forever");
        assert_eq!(found("a.rs", "let text = \"the council\";\n"), [], "what users typed is not ours to name");
    }

    #[test]
    fn members_inherit_the_lints() {
        let without = "[package]\nname = \"a\"\n\n[lints]\n\n[other]\nworkspace = true\n";
        assert!(one("crates/a/Cargo.toml", without).contains("does not inherit"));
        assert_eq!(found("crates/a/Cargo.toml", "[package]\n[lints]\nworkspace = true\n"), []);
        assert_eq!(found("proofs/no-std/Cargo.toml", without), [], "a workspace of its own");
    }
}
