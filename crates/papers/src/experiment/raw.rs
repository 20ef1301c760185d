//! The values of settings before formulas are evaluated.

use std::collections::BTreeSet;
use std::sync::Arc;

use hustings_elections::Catalogue;

use super::document::{Node, Source, Value};
use super::error::{Diagnostic, ExperimentError};
use super::key::Key;
use super::range;
use super::template::Template;

/// The maximum length of a setting: the ids of some thousand nodes.
const MAX_CHARACTERS: usize = 20_000;

/// A value as written in the file.
pub(super) struct Raw {
    pub(super) text: String,
    pub(super) line: usize,
    pub(super) value: RawValue,
}

/// A literal value, or a text with formulas.
pub(super) enum RawValue {
    Literal(Option<Arc<str>>),
    Template(Template),
}

/// The entries of `[vary]`, including those of its tables `p` and `let`.
pub(super) fn flat<'a>(source: Source<'_>, node: &'a Node) -> Result<Vec<&'a Node>, ExperimentError> {
    Ok(flat_entries(node.entries(source)?))
}

pub(super) fn flat_entries(entries: &[Node]) -> Vec<&Node> {
    let mut flat = Vec::new();
    for entry in entries {
        match &entry.value {
            Value::Table(inner) if matches!(entry.name(), "p" | "let") => flat.extend(inner),
            _ => flat.push(entry),
        }
    }
    flat
}

/// All values of a setting.
pub(super) fn raws(
    source: Source<'_>,
    key: &Key,
    node: &Node,
    catalogue: &Catalogue,
) -> Result<Vec<Raw>, ExperimentError> {
    let items = match &node.value {
        Value::List(items) => items.iter().collect(),
        _ => vec![node],
    };
    if items.is_empty() {
        return Err(source.at(node, Diagnostic::new("the list is empty", "one value or more")));
    }
    let mut raws: Vec<Raw> = Vec::new();
    for item in items {
        let mistake = |value: &str, diagnostic| source.error(item.line, &node.key, value, diagnostic);
        let text = match &item.value {
            Value::Text(text) if text.len() > MAX_CHARACTERS => {
                let diagnostic = Diagnostic::new("this is too long", format!("at most {MAX_CHARACTERS} characters"));
                return Err(mistake(text, diagnostic));
            }
            Value::Text(text) if key.is_number() && range::is_range(text) => {
                for number in range::expand(text).map_err(|diagnostic| mistake(text, diagnostic))? {
                    let value = key.canonical(&number, catalogue).map_err(|diagnostic| mistake(text, diagnostic))?;
                    raws.push(Raw { text: number, line: item.line, value: RawValue::Literal(value) });
                }
                continue;
            }
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.clone(),
            Value::Float(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::List(_) | Value::Table(_) | Value::Date(_) => {
                let diagnostic = Diagnostic::new(
                    "this is not a value of a setting",
                    "text, a number, true, false, or a list of these",
                );
                return Err(source.at(item, diagnostic));
            }
        };
        let value = match Template::parse(&text).map_err(|diagnostic| mistake(&text, diagnostic))? {
            Some(template) => RawValue::Template(template),
            None => {
                RawValue::Literal(key.canonical(&text, catalogue).map_err(|diagnostic| mistake(&text, diagnostic))?)
            }
        };
        raws.push(Raw { text, line: item.line, value });
    }
    check_duplicates(source, node, &raws)?;
    Ok(raws)
}

/// Rejects duplicate values.
fn check_duplicates(source: Source<'_>, node: &Node, raws: &[Raw]) -> Result<(), ExperimentError> {
    let mut seen = BTreeSet::new();
    for raw in raws {
        let RawValue::Literal(value) = &raw.value else { continue };
        if !seen.insert(value.clone()) {
            let diagnostic = Diagnostic::new("this value is given twice", "each value once");
            return Err(source.error(raw.line, &node.key, &raw.text, diagnostic));
        }
    }
    Ok(())
}
