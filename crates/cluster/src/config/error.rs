//! What can be wrong with a configuration, and how it is told.

use std::io;
use std::path::{Path, PathBuf};

use super::MAX_BYTES;
use crate::timing::TimingError;

/// A configuration that cannot be used. The text says where, what, and what is allowed instead.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// Something is wrong in this file.
    #[error("{}: {error}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// What is wrong.
        error: Box<ConfigError>,
    },
    /// The file could not be read.
    #[error("cannot be read: {0}")]
    Unreadable(#[source] io::Error),
    /// The file is longer than any configuration.
    #[error("longer than {MAX_BYTES} bytes, which no configuration is")]
    TooLong,
    /// The file is not text.
    #[error("byte {0} is not UTF-8: a configuration is text")]
    NotText(usize),
    /// Not TOML, or not the keys and types of a configuration.
    #[error("line {line}, column {column}: {problem}\n  {excerpt}")]
    Toml {
        /// From 1.
        line: usize,
        /// From 1, in characters.
        column: usize,
        /// What is wrong, and what is allowed.
        problem: String,
        /// What the line says.
        excerpt: String,
    },
    /// A key that must be there is not.
    #[error("`{key}` is missing: {need}")]
    Missing {
        /// The key.
        key: &'static str,
        /// What it would say.
        need: &'static str,
    },
    /// A value that is not allowed.
    #[error("`{place}` is `{value}`: {problem}")]
    Wrong {
        /// The key, or the variable.
        place: String,
        /// The value, shortened if it is long.
        value: String,
        /// What is wrong, and what is allowed.
        problem: String,
    },
    /// Times that do not go together.
    #[error(transparent)]
    Timing(#[from] TimingError),
}

impl ConfigError {
    /// The same, with the name of the file.
    pub(super) fn of(self, path: &Path) -> Self {
        ConfigError::File { path: path.to_path_buf(), error: Box::new(self) }
    }
}

/// A value that is not allowed.
pub(super) fn wrong(place: impl Into<String>, value: &str, problem: impl Into<String>) -> ConfigError {
    ConfigError::Wrong { place: place.into(), value: shown(value), problem: problem.into() }
}

/// A text from outside, made fit for one line of a message.
pub(super) fn shown(text: &str) -> String {
    const MOST: usize = 80;
    let mut shown: String = text.chars().take(MOST).flat_map(printable).collect();
    if text.chars().nth(MOST).is_some() {
        shown.push('…');
    }
    shown
}

fn printable(character: char) -> impl Iterator<Item = char> {
    let (plain, escaped) =
        if character.is_control() { (None, Some(character.escape_default())) } else { (Some(character), None) };
    plain.into_iter().chain(escaped.into_iter().flatten())
}

/// The name that was probably meant: it differs by a slip or two.
pub(super) fn nearest<'a>(word: &str, names: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    // The distance costs the product of the lengths.
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

/// What the TOML reader found, with its place in the text, and the name that was meant by one that is unknown.
pub(super) fn toml_error(text: &str, error: &toml::de::Error) -> ConfigError {
    let start = error.span().map_or(0, |span| span.start).min(text.len());
    // Spans end between characters; a broken one is better told a little off than not at all.
    let before = text.get(..start).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |at| at + 1);
    let excerpt = text[line_start..].lines().next().unwrap_or_default();
    let mut problem: String = error.message().chars().take(600).flat_map(printable).collect();
    if let Some(meant) = meant(error.message()) {
        problem += &format!("; the nearest is `{meant}`");
    }
    ConfigError::Toml {
        line: 1 + before.matches('\n').count(),
        column: 1 + before[line_start..].chars().count(),
        problem,
        excerpt: shown(excerpt.trim()),
    }
}

/// Messages on unknown names have the form: unknown field `x`, expected one of `a`, `b`.
fn meant(message: &str) -> Option<&str> {
    let mut quoted = message.strip_prefix("unknown ")?.split('`').skip(1).step_by(2);
    let word = quoted.next()?;
    nearest(word, quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_shown_fits_on_a_line() {
        assert_eq!(shown("a\nb\u{7f}"), "a\\nb\\u{7f}");
        assert_eq!(shown(&"ä".repeat(81)), format!("{}…", "ä".repeat(80)));
        assert_eq!(shown(&"ä".repeat(80)), "ä".repeat(80));
    }

    #[test]
    fn slips_are_understood_and_nonsense_is_not() {
        assert_eq!(nearest("lisen", ["listen", "lease"]), Some("listen"));
        assert_eq!(nearest("zzzzzz", ["listen", "lease"]), None);
        assert_eq!(nearest(&"x".repeat(1_000_000), ["listen"]), None);
        assert_eq!(meant("unknown field `noda`, expected one of `node`, `data`"), Some("node"));
        assert_eq!(meant("invalid type: `node`"), None);
    }
}
