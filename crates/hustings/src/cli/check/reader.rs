//! Parses the parts of a value, with errors like those of the simulator's own fields.

use hustings_sim::simulate::{ParseError, Problem};
use hustings_text::nearest;

/// Parses the parts of a text, and makes errors that carry the whole text.
#[derive(Clone, Copy)]
pub(super) struct Reader<'a> {
    text: &'a str,
    allowed: &'static str,
}

impl<'a> Reader<'a> {
    /// A reader of a text; `allowed` says what errors suggest.
    pub(super) fn new(text: &'a str, allowed: &'static str) -> Self {
        Reader { text, allowed }
    }

    /// The error about a problem.
    pub(super) fn wrong(self, problem: Problem, nearest: Option<String>) -> ParseError {
        ParseError { text: self.text.to_string(), problem, allowed: self.allowed, nearest }
    }

    /// The error about an unknown word.
    pub(super) fn unknown(self, word: &str, known: &[&str]) -> ParseError {
        if word.is_empty() {
            return self.wrong(Problem::Empty, None);
        }
        self.wrong(Problem::Unknown(word.to_string()), nearest(word, known.iter().copied()).map(str::to_string))
    }

    /// A whole number within bounds.
    pub(super) fn whole(self, piece: &str, min: u64, max: u64) -> Result<u64, ParseError> {
        let suggestion = |bound: &str| (piece == self.text).then(|| bound.to_string());
        let too_small = || {
            let min = min.to_string();
            self.wrong(Problem::TooSmall { piece: piece.to_string(), min: min.clone() }, suggestion(&min))
        };
        let too_great = || {
            let max = max.to_string();
            self.wrong(Problem::TooGreat { piece: piece.to_string(), max: max.clone() }, suggestion(&max))
        };
        match piece.parse::<u64>() {
            _ if piece.is_empty() => Err(self.wrong(Problem::Empty, None)),
            Ok(number) if number < min => Err(too_small()),
            Ok(number) if number > max => Err(too_great()),
            Ok(number) => Ok(number),
            // Only digits, and yet not a number: it does not fit.
            Err(_) if piece.bytes().all(|byte| byte.is_ascii_digit()) => Err(too_great()),
            Err(_) if piece.strip_prefix('-').is_some_and(|rest| rest.parse::<u64>().is_ok()) => Err(too_small()),
            Err(_) => Err(self.wrong(Problem::NotWhole(piece.to_string()), None)),
        }
    }
}
