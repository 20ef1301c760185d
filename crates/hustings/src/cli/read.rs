//! Connects the library's parsers to the argument parser, with one form of error for all options.

use std::ffi::OsStr;
use std::marker::PhantomData;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use hustings_papers::plot::UnknownAxes;
use hustings_sim::simulate::{ElectionSpec, Field, ParseError};
use hustings_text::quote;

/// Parses the value of an option with a function of the library.
pub(crate) struct Read<T, E> {
    read: fn(&str) -> Result<T, E>,
    words: &'static [&'static str],
    marker: PhantomData<T>,
}

impl<T, E> Clone for Read<T, E> {
    fn clone(&self) -> Self {
        Read { read: self.read, words: self.words, marker: PhantomData }
    }
}

/// A parser for an option.
pub(crate) fn read<T, E: Explain>(read: fn(&str) -> Result<T, E>) -> Read<T, E> {
    Read { read, words: &[], marker: PhantomData }
}

/// A parser for an option that takes one of a few words, which completions offer.
pub(crate) fn one_of<T, E: Explain>(words: &'static [&'static str], read: fn(&str) -> Result<T, E>) -> Read<T, E> {
    Read { read, words, marker: PhantomData }
}

/// A number of threads, as for `hustings sim`.
pub(crate) fn thread_count(text: &str) -> Result<usize, ParseError> {
    let mut spec = ElectionSpec::default();
    spec.set(Field::Threads, text)?;
    Ok(spec.threads)
}

/// An error about the value of an option.
pub(crate) trait Explain: Send + Sync + 'static {
    /// The problem and what is allowed, and the closest text that is allowed.
    fn explain(&self) -> (String, Option<String>);
}

impl Explain for ParseError {
    fn explain(&self) -> (String, Option<String>) {
        (self.to_string(), self.nearest.clone())
    }
}

impl Explain for UnknownAxes {
    fn explain(&self) -> (String, Option<String>) {
        (self.to_string(), None)
    }
}

/// Parses the value of an option; the error names the option, its value and the problem.
pub(crate) fn parse_with<T>(
    arg: Option<&clap::Arg>,
    value: &OsStr,
    parse: impl FnOnce(&str) -> Result<T, (String, Option<String>)>,
) -> Result<T, clap::Error> {
    let not_utf8 = || ("this is not UTF-8".to_string(), None);
    let (problem, nearest) = match value.to_str().ok_or_else(not_utf8).and_then(parse) {
        Ok(value) => return Ok(value),
        Err(explained) => explained,
    };
    let option = match arg {
        Some(arg) if arg.get_long().is_some() => format!("--{}", arg.get_long().unwrap_or_default()),
        Some(arg) => arg.get_id().to_string(),
        None => "this option".to_string(),
    };
    let mut message = format!("{option} {}: {problem}\n", quote(&value.to_string_lossy()));
    if let Some(nearest) = nearest {
        message += &format!("help: the nearest is `{}`\n", quote(&nearest));
    }
    Err(clap::Error::raw(ErrorKind::ValueValidation, message))
}

impl<T: Clone + Send + Sync + 'static, E: Explain> TypedValueParser for Read<T, E> {
    type Value = T;

    fn parse_ref(&self, _: &clap::Command, arg: Option<&clap::Arg>, value: &OsStr) -> Result<T, clap::Error> {
        parse_with(arg, value, |text| (self.read)(text).map_err(|error| error.explain()))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        if self.words.is_empty() { None } else { Some(Box::new(self.words.iter().map(PossibleValue::new))) }
    }
}
