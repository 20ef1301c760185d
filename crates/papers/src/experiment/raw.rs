//! The values of settings as they were written.

use std::collections::BTreeSet;
use std::sync::Arc;

use hustings_elections::Catalogue;

use super::document::{Node, Source, Value};
use super::key::Key;
use super::mistake::{Mistake, Trouble};
use super::range;
use super::template::Template;

/// The longest text of a setting: ids of some thousand nodes.
const MAX_CHARACTERS: usize = 20_000;

/// A value as it was written.
pub(super) struct Raw {
    pub(super) text: String,
    pub(super) line: usize,
    pub(super) meaning: Meaning,
}

pub(super) enum Meaning {
    Plain(Option<Arc<str>>),
    Holes(Template),
}

/// The entries of `[vary]`, those of `p` and `let` among the others.
pub(super) fn flat<'a>(source: Source<'_>, node: &'a Node) -> Result<Vec<&'a Node>, Mistake> {
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
pub(super) fn raws(source: Source<'_>, key: &Key, node: &Node, catalogue: &Catalogue) -> Result<Vec<Raw>, Mistake> {
    let items = match &node.value {
        Value::List(items) => items.iter().collect(),
        _ => vec![node],
    };
    if items.is_empty() {
        return Err(source.at(node, Trouble::new("the list is empty", "one value or more")));
    }
    let mut raws: Vec<Raw> = Vec::new();
    for item in items {
        let mistake = |value: &str, trouble| source.mistake(item.line, &node.key, value, trouble);
        let text = match &item.value {
            Value::Text(text) if text.len() > MAX_CHARACTERS => {
                let trouble = Trouble::new("this is too long", format!("at most {MAX_CHARACTERS} characters"));
                return Err(mistake(text, trouble));
            }
            Value::Text(text) if key.is_number() && range::is_range(text) => {
                for number in range::expand(text).map_err(|trouble| mistake(text, trouble))? {
                    let value = key.canonical(&number, catalogue).map_err(|trouble| mistake(text, trouble))?;
                    raws.push(Raw { text: number, line: item.line, meaning: Meaning::Plain(value) });
                }
                continue;
            }
            Value::Text(text) => text.clone(),
            Value::Integer(number) => number.clone(),
            Value::Real(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
            Value::List(_) | Value::Table(_) | Value::Date(_) => {
                let trouble =
                    Trouble::new("this is no value of a setting", "text, a number, true, false, or a list of these");
                return Err(source.at(item, trouble));
            }
        };
        let meaning = match Template::parse(&text).map_err(|trouble| mistake(&text, trouble))? {
            Some(template) => Meaning::Holes(template),
            None => Meaning::Plain(key.canonical(&text, catalogue).map_err(|trouble| mistake(&text, trouble))?),
        };
        raws.push(Raw { text, line: item.line, meaning });
    }
    each_once(source, node, &raws)?;
    Ok(raws)
}

/// Fails at a value that is there already.
fn each_once(source: Source<'_>, node: &Node, raws: &[Raw]) -> Result<(), Mistake> {
    let mut seen = BTreeSet::new();
    for raw in raws {
        let Meaning::Plain(value) = &raw.meaning else { continue };
        if !seen.insert(value.clone()) {
            let trouble = Trouble::new("this value is given twice", "each value once");
            return Err(source.mistake(raw.line, &node.key, &raw.text, trouble));
        }
    }
    Ok(())
}
