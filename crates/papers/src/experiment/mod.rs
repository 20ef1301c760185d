//! Experiments: a file that describes a set of elections, and the points of the resulting grid.
//!
//! ```toml
//! version = 1
//! name = "candidates"          # also the name of the result's files
//! title = "Chang–Roberts on random rings"
//! seed = 1979                  # decides the seed of every run
//! repetitions = 100            # of each point
//! pair = ["algorithm"]         # optional: points that differ only in these have the same seeds
//!
//! [vary]                       # options of `hustings sim`; a list is an axis
//! algorithm = ["chang-roberts", "franklin"]
//! nodes = "2^3..2^10"          # or "10..100 step 10", or [3, 5, 8]
//! ids = "random"
//! crash = ["none", "leader@quiet+1"]
//! let.u = [2, 4]               # a variable for formulas in braces
//! initiators = "random:{n/u}"
//!
//! [[skip]]                     # leaves out points that match all of this
//! algorithm = "franklin"
//! when = "n > 500 and u == 4"
//!
//! [[plot]]                     # what to draw from the results
//! name = "messages"
//! x = "nodes"
//! y = "messages / n"
//! by = ["algorithm"]
//! formula = [{ label = "H(n)", y = "H(n)" }]
//! ```
//!
//! - "none" leaves an option out (for `initiators`, where "none" is a value: "default"). `runs` and `unordered` are
//!   true or false.
//! - A parameter applies to the algorithms that have it. Equal points are run once.
//! - Faults and later starters may name `leader`, `other` (the lowest position that does not lead) and `quiet` of a run
//!   without them: `crash = "leader@quiet+1"`. See [`crate::sweep`] for what is measured then.
//! - Seeds depend on the sorted list of a point's settings, not on its position in the grid. Adding points therefore
//!   does not change the seeds of others.

mod command;
mod document;
mod error;
mod grid;
mod key;
pub(crate) mod phase;
mod plots;
mod range;
mod raw;
mod read;
mod request;
mod resolve;
mod template;

use std::sync::Arc;

use hustings_elections::Catalogue;
use hustings_protocol::SplitMix64;

use crate::plot::PlotSpec;

pub use document::MAX_BYTES;
pub use error::{Diagnostic, ExperimentError};
pub(crate) use key::{Key, Kind};
pub(crate) use request::Prepared;

/// The maximum number of points of an experiment.
const MAX_POINTS: usize = 100_000;

/// The maximum number of runs of an experiment: the results must fit in memory.
const MAX_RUNS: u64 = 5_000_000;

/// A valid experiment with all its points.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// The file it was read from.
    pub file: String,
    /// The name, which is valid in a file name.
    pub name: String,
    /// The title.
    pub title: String,
    /// A description.
    pub about: String,
    /// The seed that all others are derived from.
    pub seed: u64,
    /// The number of runs of each point.
    pub repetitions: u32,
    /// The plots of its results.
    pub plots: Vec<PlotSpec>,
    /// The settings, in the order of the file.
    settings: Vec<Setting>,
    points: Vec<Point>,
    /// Where its algorithms come from.
    catalogue: Catalogue,
}

/// One key of `[vary]`.
#[derive(Clone, Debug)]
struct Setting {
    key: Key,
    /// Whether points that differ only in it have the same seeds.
    paired: bool,
    /// The line in the file.
    line: usize,
}

/// One combination of settings.
#[derive(Clone, Debug)]
pub struct Point {
    /// The value of each setting; `None` for an option that is absent.
    values: Vec<Option<Arc<str>>>,
    /// The hash of its settings.
    hash: u64,
    /// The hash that its seeds are derived from.
    seed_key: u64,
}

impl Experiment {
    /// Parses an experiment with built-in algorithms. Nothing is run, and no other file is opened.
    pub fn parse(file: &str, text: &str) -> Result<Experiment, ExperimentError> {
        Experiment::parse_with(file, text, &Catalogue::default())
    }

    /// Parses an experiment with the algorithms of this catalogue.
    pub fn parse_with(file: &str, text: &str, catalogue: &Catalogue) -> Result<Experiment, ExperimentError> {
        read::experiment(file, text, catalogue)
    }

    /// All keys, in the order of the file.
    pub(crate) fn keys(&self) -> impl ExactSizeIterator<Item = &Key> {
        self.settings.iter().map(|setting| &setting.key)
    }

    /// All points, in the order of the grid: the last key of the file varies fastest.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// The number of runs.
    pub fn runs(&self) -> u64 {
        self.points.len() as u64 * u64::from(self.repetitions)
    }

    /// The value of a key at a point.
    pub(crate) fn value<'a>(&self, point: &'a Point, key: &str) -> Option<&'a Arc<str>> {
        let index = self.settings.iter().position(|setting| &**setting.key.name() == key)?;
        point.values[index].as_ref()
    }

    /// Describes a point by the settings in which it differs from others.
    pub(crate) fn describe(&self, point: &Point) -> String {
        let varies = |index: &usize| self.points.iter().any(|other| other.values[*index] != point.values[*index]);
        let each = (0..self.settings.len()).filter(varies).map(|index| {
            let value = point.values[index].as_deref().unwrap_or("none");
            format!("{} = {value}", self.settings[index].key.name())
        });
        each.collect::<Vec<_>>().join(", ")
    }

    /// A hash that changes whenever a result would, to tell logs of different experiments apart.
    pub(crate) fn fingerprint(&self) -> u64 {
        let start = SplitMix64::hash(self.seed, u64::from(self.repetitions), self.points.len() as u64);
        self.points.iter().fold(start, |sum, point| SplitMix64::hash(sum, point.hash, point.seed_key))
    }
}

impl Point {
    /// The hash of its settings.
    #[cfg(test)]
    pub(crate) fn hash(&self) -> u64 {
        self.hash
    }

    /// The hash as it is written to results.
    pub(crate) fn name(&self) -> String {
        format!("{:016x}", self.hash)
    }

    /// The values of all keys of the experiment, in their order.
    pub(crate) fn values(&self) -> &[Option<Arc<str>>] {
        &self.values
    }

    /// The seed of a run. It has at most 53 bits, so that no program that reads the results rounds it.
    pub(crate) fn seed(&self, repetition: u32) -> u64 {
        SplitMix64::hash(self.seed_key, u64::from(repetition), SEEDS) >> 11
    }

    fn new(values: Vec<Option<Arc<str>>>, settings: &[Setting], master: u64) -> Self {
        let identity = |with: &dyn Fn(&Setting) -> bool| {
            let each = settings.iter().zip(&values).filter(|(setting, _)| with(setting));
            let mut lines: Vec<String> = each
                .filter_map(|(setting, value)| Some(format!("{}={}\n", setting.key.name(), value.as_ref()?)))
                .collect();
            lines.sort_unstable();
            lines.concat()
        };
        let hash = text_hash(0, &identity(&|_| true));
        let seed_key = text_hash(master, &identity(&|setting| !setting.paired));
        Point { values, hash, seed_key }
    }
}

/// Separates seeds from other uses of the hash.
const SEEDS: u64 = 0x7365_6564;

/// A hash of a text. It must never change, because seeds in published results depend on it.
fn text_hash(start: u64, text: &str) -> u64 {
    let words = text.as_bytes().chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    let sum = words.zip(1..).fold(start, |sum, (word, place)| SplitMix64::hash(sum, word, place));
    SplitMix64::hash(sum, text.len() as u64, 0)
}

#[cfg(test)]
mod tests;
