//! What is wrong with an experiment file, and where.

use std::fmt;

use hustings_sim::parse::{nearest, short};

/// Something in an experiment file that cannot be meant.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Mistake {
    /// Which file.
    pub file: String,
    /// Which line of it, from 1.
    pub line: usize,
    /// Which key, with its table; empty where there is none.
    pub key: String,
    /// What it was given; empty where that does not matter.
    pub value: String,
    /// What is wrong.
    pub trouble: Box<Trouble>,
}

/// What is wrong with a text, wherever it stands.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Trouble {
    /// What is wrong.
    pub problem: String,
    /// What may be given; empty where `problem` says it.
    pub allowed: String,
    /// The allowed text that comes nearest.
    pub nearest: Option<String>,
}

impl Trouble {
    pub(crate) fn new(problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        Trouble { problem: problem.into(), allowed: allowed.into(), nearest: None }
    }

    /// A word that is none of those known.
    pub(crate) fn unknown(what: &str, word: &str, known: &[&str]) -> Self {
        Trouble {
            problem: format!("there is no {what} `{}`", short(word)),
            allowed: known.join(", "),
            nearest: nearest(word, known.iter().copied()).map(str::to_string),
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.problem)?;
        if self.allowed.is_empty() { Ok(()) } else { write!(out, "; allowed: {}", self.allowed) }
    }
}

impl fmt::Display for Mistake {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, line {}: ", self.file, self.line)?;
        match (self.key.as_str(), self.value.as_str()) {
            ("", _) => {}
            (key, "") => write!(out, "{key}: ")?,
            (key, value) => write!(out, "{key} = {}: ", short(value))?,
        }
        self.trouble.fmt(out)
    }
}

impl std::error::Error for Mistake {}

impl Mistake {
    /// What could be written instead.
    pub fn help(&self) -> Option<String> {
        self.trouble.nearest.as_ref().map(|near| format!("the nearest is `{}`", short(near)))
    }
}

impl From<hustings_sim::parse::ParseError> for Trouble {
    fn from(error: hustings_sim::parse::ParseError) -> Self {
        Trouble { problem: error.problem.to_string(), allowed: error.allowed.to_string(), nearest: error.nearest }
    }
}

impl From<hustings_sim::topology::TopologyError> for Trouble {
    fn from(error: hustings_sim::topology::TopologyError) -> Self {
        // Its text says what is allowed.
        Trouble::new(error.to_string(), "")
    }
}

impl From<crate::formula::FormulaError> for Trouble {
    fn from(error: crate::formula::FormulaError) -> Self {
        let problem = format!("column {} of `{}`: {}", error.column, short(&error.text), error.problem);
        Trouble { problem, allowed: error.allowed, nearest: error.nearest }
    }
}
