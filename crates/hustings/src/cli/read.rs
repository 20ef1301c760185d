//! The bridge from the library's readers of option texts to the argument parser: one form of error for all options.

use std::ffi::OsStr;
use std::marker::PhantomData;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::error::ErrorKind;
use hustings_papers::plot::UnknownAxes;
use hustings_sim::parse::{ParseError, short};
use hustings_sim::topology::TopologyError;
use hustings_sim::trace::UnknownFormat;

/// Reads one option's text with a function of the library.
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

/// A reader for an option.
pub(crate) fn read<T, E: Explain>(read: fn(&str) -> Result<T, E>) -> Read<T, E> {
    Read { read, words: &[], marker: PhantomData }
}

/// A reader for an option that takes one of a few words, which completions offer.
pub(crate) fn one_of<T, E: Explain>(words: &'static [&'static str], read: fn(&str) -> Result<T, E>) -> Read<T, E> {
    Read { read, words, marker: PhantomData }
}

/// An error about an option's text.
pub(crate) trait Explain: Send + Sync + 'static {
    /// What is wrong and what is allowed; the nearest allowed text.
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

impl Explain for TopologyError {
    fn explain(&self) -> (String, Option<String>) {
        (self.to_string(), None)
    }
}

impl Explain for UnknownFormat {
    fn explain(&self) -> (String, Option<String>) {
        (self.to_string(), None)
    }
}

impl<T: Clone + Send + Sync + 'static, E: Explain> TypedValueParser for Read<T, E> {
    type Value = T;

    fn parse_ref(&self, _: &clap::Command, arg: Option<&clap::Arg>, value: &OsStr) -> Result<T, clap::Error> {
        let (problem, nearest) = match value.to_str() {
            Some(text) => match (self.read)(text) {
                Ok(value) => return Ok(value),
                Err(error) => error.explain(),
            },
            None => ("this is not UTF-8".to_string(), None),
        };
        let option = match arg {
            Some(arg) if arg.get_long().is_some() => format!("--{}", arg.get_long().unwrap_or_default()),
            Some(arg) => arg.get_id().to_string(),
            None => "this option".to_string(),
        };
        let mut message = format!("{option} {}: {problem}\n", short(&value.to_string_lossy()));
        if let Some(nearest) = nearest {
            message += &format!("help: the nearest is `{}`\n", short(&nearest));
        }
        Err(clap::Error::raw(ErrorKind::ValueValidation, message))
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        if self.words.is_empty() { None } else { Some(Box::new(self.words.iter().map(PossibleValue::new))) }
    }
}
