//! A TOML file in which every value has its line number.

use std::ops::Range;

use hustings_text::quote;
use toml::de::{DeTable, DeValue};

use super::error::{Diagnostic, ExperimentError};

/// The maximum size of an experiment file, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// The text and the name of a file, for errors.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

/// A value with its position.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its key, with its tables: `vary.p.k`.
    pub(super) key: String,
    pub(super) line: usize,
    /// The offset of the key in the file, because parsed tables are unordered.
    at: usize,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Integer(String),
    Float(f64),
    Bool(bool),
    List(Vec<Node>),
    Table(Vec<Node>),
    /// A date, which no key accepts.
    Date(String),
}

impl<'a> Source<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Source { file, text }
    }

    pub(super) fn error(self, line: usize, key: &str, value: &str, diagnostic: Diagnostic) -> ExperimentError {
        ExperimentError {
            file: self.file.to_string(),
            line,
            key: key.to_string(),
            value: value.to_string(),
            diagnostic: Box::new(diagnostic),
        }
    }

    /// An error about a node.
    pub(super) fn at(self, node: &Node, diagnostic: Diagnostic) -> ExperimentError {
        self.error(node.line, &node.key, &node.value.shown(), diagnostic)
    }

    /// Parses the file.
    pub(super) fn parse(self) -> Result<Node, ExperimentError> {
        if self.text.len() > MAX_BYTES {
            let problem = format!("the file has {} bytes", self.text.len());
            return Err(self.error(1, "", "", Diagnostic::new(problem, format!("at most {MAX_BYTES}"))));
        }
        let table = DeTable::parse(self.text).map_err(|error| {
            let line = error.span().map_or(1, |span| self.line(&span));
            let found =
                error.span().and_then(|span| self.text.get(span)).map(str::trim).filter(|text| !text.is_empty());
            let found = found.map_or_else(String::new, |text| format!(": `{}`", quote(text)));
            self.error(line, "", "", Diagnostic::new(format!("this is not TOML: {}{found}", error.message()), ""))
        })?;
        let value = self.table("", table.get_ref());
        Ok(Node { key: String::new(), line: 1, at: 0, value })
    }

    fn line(self, span: &Range<usize>) -> usize {
        let before = self.text.get(..span.start).unwrap_or(self.text);
        1 + before.bytes().filter(|byte| *byte == b'\n').count()
    }

    /// A table's entries in the order of the file.
    fn table(self, key: &str, table: &DeTable<'_>) -> Value {
        let mut entries: Vec<Node> = table
            .iter()
            .map(|(name, value)| {
                let name_key =
                    if key.is_empty() { name.get_ref().to_string() } else { format!("{key}.{}", name.get_ref()) };
                let value = self.value(&name_key, value.get_ref());
                Node { line: self.line(&name.span()), at: name.span().start, key: name_key, value }
            })
            .collect();
        entries.sort_by_key(|entry| entry.at);
        Value::Table(entries)
    }

    fn value(self, key: &str, value: &DeValue<'_>) -> Value {
        match value {
            DeValue::String(text) => Value::Text(text.to_string()),
            DeValue::Integer(number) => {
                let read = i128::from_str_radix(number.as_str(), number.radix());
                Value::Integer(read.map_or_else(|_| number.as_str().to_string(), |number| number.to_string()))
            }
            DeValue::Float(number) => {
                number.as_str().parse().map_or_else(|_| Value::Text(number.to_string()), Value::Float)
            }
            DeValue::Boolean(flag) => Value::Bool(*flag),
            DeValue::Datetime(date) => Value::Date(date.to_string()),
            DeValue::Array(items) => Value::List(
                items
                    .iter()
                    .map(|item| Node {
                        key: key.to_string(),
                        line: self.line(&item.span()),
                        at: item.span().start,
                        value: self.value(key, item.get_ref()),
                    })
                    .collect(),
            ),
            DeValue::Table(table) => self.table(key, table),
        }
    }
}

impl Value {
    /// The value in an error message.
    pub(super) fn shown(&self) -> String {
        match self {
            Value::Text(text) => quote(text),
            Value::Integer(number) => quote(number),
            Value::Date(date) => date.clone(),
            Value::Float(number) => number.to_string(),
            Value::Bool(value) => value.to_string(),
            Value::List(_) => "[…]".to_string(),
            Value::Table(_) => "{…}".to_string(),
        }
    }
}

impl Node {
    /// The last part of its key.
    pub(super) fn name(&self) -> &str {
        self.key.rsplit('.').next().unwrap_or_default()
    }

    pub(super) fn entries(&self, source: Source<'_>) -> Result<&[Node], ExperimentError> {
        match &self.value {
            Value::Table(entries) => Ok(entries),
            _ => {
                Err(source
                    .at(self, Diagnostic::new("this is not a table", format!("[{}] and keys below it", self.key))))
            }
        }
    }

    /// Each of the tables of `[[key]]`.
    pub(super) fn tables(&self, source: Source<'_>) -> Result<Vec<&[Node]>, ExperimentError> {
        match &self.value {
            Value::List(items) => items.iter().map(|item| item.entries(source)).collect(),
            _ => Err(source.at(self, Diagnostic::new("this is not a list of tables", format!("[[{}]]", self.key)))),
        }
    }

    /// A text of limited length.
    pub(super) fn text(&self, source: Source<'_>, max: usize) -> Result<&str, ExperimentError> {
        match &self.value {
            Value::Text(text) if text.chars().count() <= max => Ok(text),
            Value::Text(_) => {
                Err(source.at(self, Diagnostic::new("this is too long", format!("at most {max} characters"))))
            }
            _ => Err(source.at(self, Diagnostic::new("this is not text", "text in quotes"))),
        }
    }

    /// An integer within bounds.
    pub(super) fn whole(&self, source: Source<'_>, min: u64, max: u64) -> Result<u64, ExperimentError> {
        let number = match &self.value {
            Value::Integer(number) => number.parse::<u64>().ok(),
            _ => None,
        };
        number.filter(|number| (min..=max).contains(number)).ok_or_else(|| {
            source.at(
                self,
                Diagnostic::new("this is not an allowed number", format!("a whole number from {min} to {max}")),
            )
        })
    }

    /// A text, or a list of texts.
    pub(super) fn texts(&self, source: Source<'_>, max: usize) -> Result<Vec<&str>, ExperimentError> {
        match &self.value {
            Value::List(items) => items.iter().map(|item| item.text(source, max)).collect(),
            _ => self.text(source, max).map(|text| vec![text]),
        }
    }
}
