//! Every file in `testdata/` contains command lines, each followed by the output that it must have.
//!
//! A block is comments (`# …`), a command line (`$ hustings …`), a line `----`, and all its output: standard output,
//! then errors with `! ` before each line, then `[exit N]` unless N is 0. `HUSTINGS_REGENERATE=1` rewrites the output;
//! read the diff.

use crate::common;

use std::fmt::Write;
use std::fs;

/// The file with the current output of its command lines.
fn renewed(text: &str) -> String {
    let mut new = String::new();
    let mut old_output = false;
    for line in text.lines() {
        if let Some(command) = line.strip_prefix("$ hustings") {
            let args: Vec<&str> = command.split_whitespace().collect();
            let ran = common::inside(&args);
            write!(new, "{line}\n----\n{}", ran.out).expect("a string takes all");
            ran.err.lines().for_each(|line| writeln!(new, "! {line}").expect("a string takes all"));
            if ran.code != 0 {
                writeln!(new, "[exit {}]", ran.code).expect("a string takes all");
            }
            new.push('\n');
            old_output = true;
        } else if line.starts_with("# ") {
            new += line;
            new.push('\n');
            old_output = false;
        } else {
            assert!(old_output || line.is_empty(), "this is no comment, command or output: {line}");
        }
    }
    new
}

#[test]
fn every_scenario_prints_its_recorded_output() {
    let folder = common::repository().join("testdata");
    let mut files: Vec<_> = fs::read_dir(&folder)
        .expect("the folder is there")
        .map(|entry| entry.expect("the folder can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "txt"))
        .collect();
    files.sort();
    assert!(!files.is_empty(), "there are scenarios");
    for path in files {
        let text = fs::read_to_string(&path).expect("the file can be read");
        assert!(text.contains("$ hustings"), "{} holds no command line", path.display());
        common::compare_with_file(&path, &renewed(&text));
    }
}
