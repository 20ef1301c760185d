//! A TOML file whose every value knows its line.

use std::ops::Range;

use hustings_sim::parse::short;
use toml::de::{DeTable, DeValue};

use super::mistake::{Mistake, Trouble};

/// The longest experiment file, in bytes.
pub const MAX_BYTES: usize = 1 << 20;

/// A file's text and name, to tell places in it.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    file: &'a str,
    text: &'a str,
}

/// A value with its place.
#[derive(Clone, Debug)]
pub(super) struct Node {
    /// Its key, with its tables: `vary.p.k`.
    pub(super) key: String,
    pub(super) line: usize,
    /// Where the key stands in the file: tables keep no order.
    at: usize,
    pub(super) value: Value,
}

#[derive(Clone, Debug)]
pub(super) enum Value {
    Text(String),
    Integer(String),
    Real(f64),
    Flag(bool),
    List(Vec<Node>),
    Table(Vec<Node>),
    /// A date: nothing here takes one.
    Date(String),
}

impl<'a> Source<'a> {
    pub(super) fn new(file: &'a str, text: &'a str) -> Self {
        Source { file, text }
    }

    pub(super) fn mistake(self, line: usize, key: &str, value: &str, trouble: Trouble) -> Mistake {
        Mistake {
            file: self.file.to_string(),
            line,
            key: key.to_string(),
            value: value.to_string(),
            trouble: Box::new(trouble),
        }
    }

    /// A mistake about a whole node.
    pub(super) fn at(self, node: &Node, trouble: Trouble) -> Mistake {
        self.mistake(node.line, &node.key, &node.value.shown(), trouble)
    }

    /// The file as a table.
    pub(super) fn parse(self) -> Result<Node, Mistake> {
        if self.text.len() > MAX_BYTES {
            let problem = format!("the file has {} bytes", self.text.len());
            return Err(self.mistake(1, "", "", Trouble::new(problem, format!("at most {MAX_BYTES}"))));
        }
        let table = DeTable::parse(self.text).map_err(|error| {
            let line = error.span().map_or(1, |span| self.line(&span));
            let found =
                error.span().and_then(|span| self.text.get(span)).map(str::trim).filter(|text| !text.is_empty());
            let found = found.map_or_else(String::new, |text| format!(": `{}`", short(text)));
            self.mistake(line, "", "", Trouble::new(format!("this is no TOML: {}{found}", error.message()), ""))
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
                number.as_str().parse().map_or_else(|_| Value::Text(number.to_string()), Value::Real)
            }
            DeValue::Boolean(flag) => Value::Flag(*flag),
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
    /// For a message.
    pub(super) fn shown(&self) -> String {
        match self {
            Value::Text(text) => short(text),
            Value::Integer(number) => short(number),
            Value::Date(date) => date.clone(),
            Value::Real(number) => number.to_string(),
            Value::Flag(flag) => flag.to_string(),
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

    pub(super) fn entries(&self, source: Source<'_>) -> Result<&[Node], Mistake> {
        match &self.value {
            Value::Table(entries) => Ok(entries),
            _ => Err(source.at(self, Trouble::new("this is no table", format!("[{}] and keys below it", self.key)))),
        }
    }

    /// Each of the tables of `[[key]]`.
    pub(super) fn tables(&self, source: Source<'_>) -> Result<Vec<&[Node]>, Mistake> {
        match &self.value {
            Value::List(items) => items.iter().map(|item| item.entries(source)).collect(),
            _ => Err(source.at(self, Trouble::new("this is no list of tables", format!("[[{}]]", self.key)))),
        }
    }

    /// A text of limited length.
    pub(super) fn text(&self, source: Source<'_>, most: usize) -> Result<&str, Mistake> {
        match &self.value {
            Value::Text(text) if text.chars().count() <= most => Ok(text),
            Value::Text(_) => {
                Err(source.at(self, Trouble::new("this is too long", format!("at most {most} characters"))))
            }
            _ => Err(source.at(self, Trouble::new("this is no text", "text in quotes"))),
        }
    }

    /// A whole number within bounds.
    pub(super) fn whole(&self, source: Source<'_>, least: u64, most: u64) -> Result<u64, Mistake> {
        let number = match &self.value {
            Value::Integer(number) => number.parse::<u64>().ok(),
            _ => None,
        };
        number.filter(|number| (least..=most).contains(number)).ok_or_else(|| {
            source.at(self, Trouble::new("this is no such number", format!("a whole number from {least} to {most}")))
        })
    }

    /// One text, or a list of them.
    pub(super) fn texts(&self, source: Source<'_>, most: usize) -> Result<Vec<&str>, Mistake> {
        match &self.value {
            Value::List(items) => items.iter().map(|item| item.text(source, most)).collect(),
            _ => self.text(source, most).map(|text| vec![text]),
        }
    }
}
