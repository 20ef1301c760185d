//! Errors in experiment files, with their position.

use std::fmt;

use hustings_text::{nearest, quote};

/// An error in an experiment file.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ExperimentError {
    /// The file.
    pub file: String,
    /// The line, from 1.
    pub line: usize,
    /// The key with its table; empty if the error is not about a key.
    pub key: String,
    /// The value of the key; empty if it does not matter.
    pub value: String,
    /// The problem.
    pub diagnostic: Box<Diagnostic>,
}

/// A problem and what is allowed instead.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct Diagnostic {
    /// The problem.
    pub problem: String,
    /// What is allowed; empty if `problem` says it.
    pub allowed: String,
    /// The most similar allowed text.
    pub nearest: Option<String>,
}

impl Diagnostic {
    pub(crate) fn new(problem: impl Into<String>, allowed: impl Into<String>) -> Self {
        Diagnostic { problem: problem.into(), allowed: allowed.into(), nearest: None }
    }

    /// An unknown name.
    pub(crate) fn unknown(what: &str, name: &str, known: &[&str]) -> Self {
        Diagnostic {
            problem: format!("there is no {what} `{}`", quote(name)),
            allowed: known.join(", "),
            nearest: nearest(name, known.iter().copied()).map(str::to_string),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.problem)?;
        if self.allowed.is_empty() { Ok(()) } else { write!(out, "; allowed: {}", self.allowed) }
    }
}

impl fmt::Display for ExperimentError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}, line {}: ", self.file, self.line)?;
        match (self.key.as_str(), self.value.as_str()) {
            ("", _) => {}
            (key, "") => write!(out, "{key}: ")?,
            (key, value) => write!(out, "{key} = {}: ", quote(value))?,
        }
        self.diagnostic.fmt(out)
    }
}

impl std::error::Error for ExperimentError {}

impl ExperimentError {
    /// A suggestion.
    pub fn help(&self) -> Option<String> {
        self.diagnostic.nearest.as_ref().map(|near| format!("the nearest is `{}`", quote(near)))
    }
}

impl From<hustings_sim::simulate::ParseError> for Diagnostic {
    fn from(error: hustings_sim::simulate::ParseError) -> Self {
        Diagnostic { problem: error.problem.to_string(), allowed: error.allowed.to_string(), nearest: error.nearest }
    }
}

impl From<crate::formula::FormulaError> for Diagnostic {
    fn from(error: crate::formula::FormulaError) -> Self {
        let problem = format!("column {} of `{}`: {}", error.column, quote(&error.text), error.problem);
        Diagnostic { problem, allowed: error.allowed, nearest: error.nearest }
    }
}
