//! From text to the parts of a scenario: what the command line and experiment files share.
//!
//! Every reader takes one option's text and gives a value or a [`ParseError`] that names the piece that is wrong, what
//! is wrong with it, what is allowed and, where there is one, the nearest allowed text. Nothing here touches files, and
//! every number and list is bounded.

mod cheats;
mod faults;
mod ids;
mod nearest;
mod settings;
mod starts;

use std::fmt;
use std::str::FromStr;

pub use cheats::CheatAt;
pub use faults::{Healing, LinkAt, NodeAt, Split};
pub use ids::{Ids, Values, Votes, numbers_in_file, values_in_file};
pub use nearest::nearest;
pub use settings::{bandwidth, best, node_count, probability, seed, thread_count, tick};
pub use starts::Starts;

/// The most nodes a scenario may have.
pub const MAX_NODES: u64 = 100_000_000;

/// The last tick that can be named.
pub const MAX_TICK: u64 = 1_000_000_000_000;

/// The longest delay that can be asked for, in ticks.
pub const MAX_DELAY: u64 = 1_000_000_000;

/// Text that is not what the option takes.
#[derive(Clone, PartialEq, Eq, Debug, thiserror::Error)]
#[error("{problem}; allowed: {allowed}")]
pub struct ParseError {
    /// The whole text of the option.
    pub text: String,
    /// What is wrong with it.
    pub problem: Problem,
    /// What may be given.
    pub allowed: &'static str,
    /// The allowed text that comes nearest.
    pub nearest: Option<String>,
}

/// What is wrong with a text.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Problem {
    /// There is nothing where something is needed.
    Empty,
    /// A word that means nothing here.
    Unknown(String),
    /// A piece that is no whole number.
    NotWhole(String),
    /// A piece that is no finite number.
    NotFinite(String),
    /// A number below the least.
    TooSmall {
        /// The number.
        piece: String,
        /// The least that is allowed.
        least: String,
    },
    /// A number above the greatest.
    TooGreat {
        /// The number.
        piece: String,
        /// The greatest that is allowed.
        most: String,
    },
    /// A piece without its second half.
    Lacks {
        /// The piece.
        piece: String,
        /// What should follow.
        what: &'static str,
    },
    /// A piece that is given twice.
    Twice(String),
    /// A range that ends before it begins.
    Backwards(String),
    /// A link from a node to itself.
    OwnLink(String),
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Problem::Empty => write!(f, "there is nothing where something is needed"),
            Problem::Unknown(word) => write!(f, "`{}` is not known here", short(word)),
            Problem::NotWhole(piece) => write!(f, "`{}` is not a whole number", short(piece)),
            Problem::NotFinite(piece) => write!(f, "`{}` is not a finite number", short(piece)),
            Problem::TooSmall { piece, least } => write!(f, "`{}` is less than {least}", short(piece)),
            Problem::TooGreat { piece, most } => write!(f, "`{}` is more than {most}", short(piece)),
            Problem::Lacks { piece, what } => write!(f, "`{}` lacks {what}", short(piece)),
            Problem::Twice(piece) => write!(f, "`{}` is given twice", short(piece)),
            Problem::Backwards(piece) => write!(f, "the range `{}` ends before it begins", short(piece)),
            Problem::OwnLink(piece) => write!(f, "`{}` leads from a node to itself", short(piece)),
        }
    }
}

/// Text for a message: at most 40 characters of it, control characters made visible.
pub fn short(text: &str) -> String {
    let mut shown: String = text.chars().take(40).flat_map(char::escape_debug).collect();
    if text.chars().nth(40).is_some() {
        shown.push('…');
    }
    shown
}

/// One option's text on its way to a value: makes the errors.
#[derive(Clone, Copy)]
struct Reader<'a> {
    text: &'a str,
    allowed: &'static str,
}

impl<'a> Reader<'a> {
    fn new(text: &'a str, allowed: &'static str) -> Self {
        Reader { text, allowed }
    }

    fn wrong(self, problem: Problem, nearest: Option<String>) -> ParseError {
        ParseError { text: self.text.to_string(), problem, allowed: self.allowed, nearest }
    }

    /// A word that is none of those known.
    fn unknown(self, word: &str, known: &[&str]) -> ParseError {
        if word.is_empty() {
            return self.wrong(Problem::Empty, None);
        }
        self.wrong(Problem::Unknown(word.to_string()), nearest(word, known.iter().copied()).map(str::to_string))
    }

    /// A word with something after a colon, where the word is none of those known. What follows is kept if it will do.
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
    fn whole(self, piece: &str, least: u64, most: u64) -> Result<u64, ParseError> {
        if piece.is_empty() {
            return Err(self.wrong(Problem::Empty, None));
        }
        let digits = piece.bytes().all(|byte| byte.is_ascii_digit());
        match piece.parse::<u64>() {
            Ok(number) if number < least => Err(self.too_small(piece, &least)),
            Ok(number) if number > most => Err(self.too_great(piece, &most)),
            Ok(number) => Ok(number),
            // All digits and yet no number: it does not fit.
            Err(_) if digits => Err(self.too_great(piece, &most)),
            Err(_) if piece.strip_prefix('-').is_some_and(|rest| rest.parse::<u64>().is_ok()) => {
                Err(self.too_small(piece, &least))
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

    /// Two halves around a sign, the second of which must be there.
    fn halves(self, piece: &'a str, sign: char, what: &'static str) -> Result<(&'a str, &'a str), ParseError> {
        if piece.is_empty() {
            return Err(self.wrong(Problem::Empty, None));
        }
        piece.split_once(sign).ok_or_else(|| self.wrong(Problem::Lacks { piece: piece.to_string(), what }, None))
    }

    fn too_small(self, piece: &str, least: &impl ToString) -> ParseError {
        let least = least.to_string();
        let nearest = (piece == self.text).then(|| least.clone());
        self.wrong(Problem::TooSmall { piece: piece.to_string(), least }, nearest)
    }

    fn too_great(self, piece: &str, most: &impl ToString) -> ParseError {
        let most = most.to_string();
        let nearest = (piece == self.text).then(|| most.clone());
        self.wrong(Problem::TooGreat { piece: piece.to_string(), most }, nearest)
    }
}

#[cfg(test)]
mod tests;
