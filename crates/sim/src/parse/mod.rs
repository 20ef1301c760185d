//! Parses the values of fields from text, as command lines and experiment files contain them.
//!
//! Every function returns a value or a [`ParseError`] that names the wrong part of the text, the problem, what is
//! allowed and, where there is one, the closest text that is allowed. Nothing here reads files, and all numbers and
//! lists are bounded.

mod cheat;
mod faults;
pub(crate) mod ids;
mod intervention;
mod settings;
pub(crate) mod starts;

use std::fmt;
use std::str::FromStr;

use hustings_text::{nearest, quote};

pub(crate) use cheat::{cheat, cheat_text};
pub(crate) use faults::{LinkFault, NodeFault, Partition, Repair};
pub(crate) use ids::{numbers_in_file, values_in_file, votes};
pub(crate) use intervention::{Intervention, InterventionAction};
pub(crate) use settings::{bandwidth, best, flag, node_count, probability, seed, thread_count, tick};

/// The maximum number of nodes of a scenario.
pub(crate) const MAX_NODES: u64 = 100_000_000;

/// The maximum tick.
pub(crate) const MAX_TICK: u64 = 1_000_000_000_000;

/// The maximum delay, in ticks.
pub(crate) const MAX_DELAY: u64 = 1_000_000_000;

/// Text that is not a value of the field.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{problem}; allowed: {allowed}")]
pub struct ParseError {
    /// The whole text.
    pub text: String,
    /// What is wrong with it.
    pub problem: Problem,
    /// What is allowed.
    pub allowed: &'static str,
    /// The closest text that is allowed.
    pub nearest: Option<String>,
}

/// What is wrong with a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// A part that must not be empty.
    Empty,
    /// An unknown word.
    Unknown(String),
    /// A part that is not a whole number.
    NotWhole(String),
    /// A part that is not a finite number.
    NotFinite(String),
    /// A number below the minimum.
    TooSmall {
        /// The number.
        piece: String,
        /// The minimum.
        min: String,
    },
    /// A number above the maximum.
    TooGreat {
        /// The number.
        piece: String,
        /// The maximum.
        max: String,
    },
    /// A part without its second half.
    Lacks {
        /// The part.
        piece: String,
        /// What should follow.
        what: &'static str,
    },
    /// A part that is given twice.
    Twice(String),
    /// A range that ends before it begins.
    Backwards(String),
    /// A link from a node to itself.
    OwnLink(String),
    /// Anything else, described.
    Invalid(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Empty => write!(f, "there is nothing where something is needed"),
            Problem::Unknown(word) => write!(f, "`{}` is not known here", quote(word)),
            Problem::NotWhole(piece) => write!(f, "`{}` is not a whole number", quote(piece)),
            Problem::NotFinite(piece) => write!(f, "`{}` is not a finite number", quote(piece)),
            Problem::TooSmall { piece, min } => write!(f, "`{}` is less than {min}", quote(piece)),
            Problem::TooGreat { piece, max } => write!(f, "`{}` is more than {max}", quote(piece)),
            Problem::Lacks { piece, what } => write!(f, "`{}` lacks {what}", quote(piece)),
            Problem::Twice(piece) => write!(f, "`{}` is given twice", quote(piece)),
            Problem::Backwards(piece) => write!(f, "the range `{}` ends before it begins", quote(piece)),
            Problem::OwnLink(piece) => write!(f, "`{}` leads from a node to itself", quote(piece)),
            Problem::Invalid(problem) => f.write_str(problem),
        }
    }
}

/// Parses the parts of a text, and makes errors that carry the whole text.
#[derive(Clone, Copy)]
pub struct Reader<'a> {
    text: &'a str,
    allowed: &'static str,
}

impl<'a> Reader<'a> {
    /// A reader of a text; `allowed` says what errors suggest.
    pub fn new(text: &'a str, allowed: &'static str) -> Self {
        Reader { text, allowed }
    }

    /// The error about a problem.
    pub fn wrong(self, problem: Problem, nearest: Option<String>) -> ParseError {
        ParseError { text: self.text.to_string(), problem, allowed: self.allowed, nearest }
    }

    /// The error about an unknown word.
    pub fn unknown(self, word: &str, known: &[&str]) -> ParseError {
        if word.is_empty() {
            return self.wrong(Problem::Empty, None);
        }
        self.wrong(Problem::Unknown(word.to_string()), nearest(word, known.iter().copied()).map(str::to_string))
    }

    /// The error about an unknown word before a colon. The suggestion keeps what follows the colon if that is valid.
    fn unknown_with<T: FromStr>(self, word: &str, rest: Option<&str>, examples: &[&'static str]) -> ParseError {
        if self.text.is_empty() {
            return self.wrong(Problem::Empty, None);
        }
        let word_of = |example: &'static str| example.split(':').next().unwrap_or(example);
        let near = nearest(word, examples.iter().map(|example| word_of(example))).map(|near| {
            let kept = rest.map(|rest| format!("{near}:{rest}")).filter(|text| text.parse::<T>().is_ok());
            let example = examples.iter().find(|example| word_of(example) == near).unwrap_or(&near);
            kept.unwrap_or_else(|| (*example).to_string())
        });
        self.wrong(Problem::Unknown(self.text.to_string()), near)
    }

    /// A whole number within bounds.
    pub fn whole(self, piece: &str, min: u64, max: u64) -> Result<u64, ParseError> {
        if piece.is_empty() {
            return Err(self.wrong(Problem::Empty, None));
        }
        let digits = piece.bytes().all(|byte| byte.is_ascii_digit());
        match piece.parse::<u64>() {
            Ok(number) if number < min => Err(self.too_small(piece, &min)),
            Ok(number) if number > max => Err(self.too_great(piece, &max)),
            Ok(number) => Ok(number),
            // Only digits, and yet not a number: it does not fit.
            Err(_) if digits => Err(self.too_great(piece, &max)),
            Err(_) if piece.strip_prefix('-').is_some_and(|rest| rest.parse::<u64>().is_ok()) => {
                Err(self.too_small(piece, &min))
            }
            Err(_) => Err(self.wrong(Problem::NotWhole(piece.to_string()), None)),
        }
    }

    /// A position.
    fn position(self, piece: &str) -> Result<u32, ParseError> {
        self.whole(piece, 0, MAX_NODES - 1).map(|number| number as u32)
    }

    /// A tick.
    fn tick(self, piece: &str) -> Result<u64, ParseError> {
        self.whole(piece, 0, MAX_TICK)
    }

    /// A finite number.
    fn finite(self, piece: &str) -> Result<f64, ParseError> {
        match piece.parse::<f64>() {
            _ if piece.is_empty() => Err(self.wrong(Problem::Empty, None)),
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(self.wrong(Problem::NotFinite(piece.to_string()), None)),
        }
    }

    /// Splits a part at a sign, which must be there.
    fn halves(self, piece: &'a str, sign: char, what: &'static str) -> Result<(&'a str, &'a str), ParseError> {
        if piece.is_empty() {
            return Err(self.wrong(Problem::Empty, None));
        }
        piece.split_once(sign).ok_or_else(|| self.wrong(Problem::Lacks { piece: piece.to_string(), what }, None))
    }

    fn too_small(self, piece: &str, min: &impl ToString) -> ParseError {
        let min = min.to_string();
        let nearest = (piece == self.text).then(|| min.clone());
        self.wrong(Problem::TooSmall { piece: piece.to_string(), min }, nearest)
    }

    fn too_great(self, piece: &str, max: &impl ToString) -> ParseError {
        let max = max.to_string();
        let nearest = (piece == self.text).then(|| max.clone());
        self.wrong(Problem::TooGreat { piece: piece.to_string(), max }, nearest)
    }
}

#[cfg(test)]
mod tests;
