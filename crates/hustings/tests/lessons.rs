//! The commands that lessons of the page show are run, and what the lesson says of them is compared.

use hustings_lab::lessons::{Command, built_in};
use serde_json::Value;

use crate::common;

/// Runs the command for its result as an object; the page is not opened.
fn result(line: &str) -> Result<Value, String> {
    let words: Vec<&str> = line.split_whitespace().skip(1).filter(|word| *word != "--open").collect();
    let ran = common::inside(&[&words[..], &["--format", "json"]].concat());
    if ran.code > 1 {
        return Err(ran.err);
    }
    serde_json::from_str(&ran.out).map_err(|error| format!("{error}: {}", ran.err))
}

/// What the result says under a name: the verdict on a property, a lasso, or a member of the object.
fn said(result: &Value, name: &str) -> Option<String> {
    let properties = result["properties"].as_array().into_iter().flatten();
    let verdict = || properties.clone().find(|one| one["name"] == name).map(|one| &one["verdict"]);
    match name {
        "lasso" => Some(if result["counterexample"]["repeats_from"].is_null() { "no" } else { "yes" }.to_string()),
        _ => verdict().or_else(|| result.get(name)).map(|value| match value {
            Value::String(text) => text.clone(),
            other => other.to_string(),
        }),
    }
}

/// What is not as the lesson says.
fn differences(Command { line, outcome }: &Command) -> Vec<String> {
    let result = match result(line) {
        Ok(result) => result,
        Err(error) => return vec![format!("`{line}`: {error}")],
    };
    let differs = |(name, wanted): &(String, String)| {
        let found = said(&result, name).unwrap_or_else(|| "nothing".to_string());
        (found != *wanted).then(|| format!("`{line}`: {name}: the lesson says {wanted}, the command {found}"))
    };
    outcome.iter().filter_map(differs).collect()
}

#[test]
fn every_command_of_a_lesson_does_what_the_lesson_says() {
    let mut wrong = Vec::new();
    let mut tried = 0;
    for lesson in built_in() {
        tried += lesson.commands.len();
        let differing = lesson.commands.iter().flat_map(differences);
        wrong.extend(differing.map(|difference| format!("{}: {difference}", lesson.name)));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(tried >= 4, "{tried}");
}

#[test]
fn a_command_that_does_something_else_is_noticed() {
    let command = |line: &str, outcome: &[(&str, &str)]| Command {
        line: line.to_string(),
        outcome: outcome.iter().map(|(name, value)| ((*name).to_string(), (*value).to_string())).collect(),
    };
    let found = |line: &str, outcome: &[(&str, &str)]| differences(&command(line, outcome)).join("\n");
    let bully = "hustings sim bully -n 4";
    assert_eq!(found(bully, &[("nodes", "4"), ("agreement", "true")]), "");
    assert!(found(bully, &[("nodes", "5")]).ends_with("nodes: the lesson says 5, the command 4"));
    assert!(found("hustings sim buly", &[("nodes", "5")]).contains("no algorithm `buly`"));
    let symmetric = "hustings check itai-rodeh -n 2 -p ids=1 --open";
    assert_eq!(found(symmetric, &[("termination", "violated"), ("lasso", "yes")]), "");
    assert!(found(symmetric, &[("termination", "holds")]).ends_with("the lesson says holds, the command violated"));
    let ends = "hustings check itai-rodeh -n 2";
    assert!(found(ends, &[("lasso", "yes")]).ends_with("lasso: the lesson says yes, the command no"));
}
