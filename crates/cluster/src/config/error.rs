//! Errors of a configuration.

use std::io;
use std::path::{Path, PathBuf};

use super::MAX_BYTES;
use crate::timing::TimingError;

/// Why a configuration is invalid. The text names the place, the value and what is allowed.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// The error is in this file.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The error.
        error: Box<ConfigError>,
    },
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// The file is too long.
    #[error("the file is longer than {MAX_BYTES} bytes, the maximum for a configuration")]
    TooLong,
    /// The file is not UTF-8.
    #[error("byte {0} is not UTF-8; a configuration must be UTF-8 text")]
    NotUtf8(usize),
    /// The file is not TOML, or has a wrong key or type.
    #[error("line {line}, column {column}: {problem}\n  {excerpt}")]
    Toml {
        /// The line, from 1.
        line: usize,
        /// The column, from 1, in characters.
        column: usize,
        /// What is wrong, and what is allowed.
        problem: String,
        /// The text of the line.
        excerpt: String,
    },
    /// A required key is missing.
    #[error("`{key}` is missing: {need}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What to set it to.
        need: &'static str,
    },
    /// A value is invalid.
    #[error("`{place}` is `{value}`: {problem}")]
    Invalid {
        /// The key, or the environment variable.
        place: String,
        /// The value, shortened if it is long.
        value: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// The timing values contradict each other.
    #[error(transparent)]
    Timing(#[from] TimingError),
}

impl ConfigError {
    /// Adds the name of the file.
    pub(super) fn in_file(self, path: &Path) -> Self {
        ConfigError::File { path: path.to_path_buf(), error: Box::new(self) }
    }
}

/// A value that is invalid.
pub(super) fn invalid(place: impl Into<String>, value: &str, problem: impl Into<String>) -> ConfigError {
    ConfigError::Invalid { place: place.into(), value: excerpt_of(value), problem: problem.into() }
}

/// Shortens and escapes a foreign text so that it fits on one line.
pub(super) fn excerpt_of(text: &str) -> String {
    const MAX_CHARS: usize = 80;
    let mut excerpt: String = text.chars().take(MAX_CHARS).flat_map(printable).collect();
    if text.chars().nth(MAX_CHARS).is_some() {
        excerpt.push('…');
    }
    excerpt
}

fn printable(character: char) -> impl Iterator<Item = char> {
    let (plain, escaped) =
        if character.is_control() { (None, Some(character.escape_default())) } else { (Some(character), None) };
    plain.into_iter().chain(escaped.into_iter().flatten())
}

/// The most similar name, if it differs only by a typo or two.
pub(super) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The cost of the distance is the product of the lengths.
    if word.len() > 64 {
        return None;
    }
    names
        .into_iter()
        .map(|name| (strsim::damerau_levenshtein(word, name), name))
        .filter(|(distance, name)| *distance <= 1 + name.len() / 4)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// Turns a TOML error into one with line, column and a suggestion for unknown names.
pub(super) fn toml_error(text: &str, error: &toml::de::Error) -> ConfigError {
    let start = error.span().map_or(0, |span| span.start).min(text.len());
    // A span that does not end between characters is reported imprecisely rather than with a panic.
    let before = text.get(..start).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let excerpt = text[line_start..].lines().next().unwrap_or_default();
    let mut problem: String = error.message().chars().take(600).flat_map(printable).collect();
    if let Some(suggestion) = suggestion(error.message()) {
        problem += &format!("; did you mean `{suggestion}`?");
    }
    ConfigError::Toml {
        line: 1 + before.matches('\n').count(),
        column: 1 + before[line_start..].chars().count(),
        problem,
        excerpt: excerpt_of(excerpt.trim()),
    }
}

/// Messages on unknown names have the form: unknown field `x`, expected one of `a`, `b`.
fn suggestion(message: &str) -> Option<&str> {
    let mut quoted = message.strip_prefix("unknown ")?.split('`').skip(1).step_by(2);
    let word = quoted.next()?;
    nearest(word, quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn excerpts_fit_on_one_line() {
        assert_eq!(excerpt_of("a\nb\u{7f}"), "a\\nb\\u{7f}");
        assert_eq!(excerpt_of(&"ä".repeat(81)), format!("{}…", "ä".repeat(80)));
        assert_eq!(excerpt_of(&"ä".repeat(80)), "ä".repeat(80));
    }

    #[test]
    fn suggests_names_for_typos_only() {
        assert_eq!(nearest("lisen", ["listen", "lease"]), Some("listen"));
        assert_eq!(nearest("zzzzzz", ["listen", "lease"]), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), ["listen"]), None);
        assert_eq!(suggestion("unknown field `noda`, expected one of `node`, `data`"), Some("node"));
        assert_eq!(suggestion("invalid type: `node`"), None);
    }
}
