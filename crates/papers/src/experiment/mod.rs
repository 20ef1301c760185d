//! Experiments: a file that says which elections to hold, and the points that it comes to.
//!
//! ```toml
//! version = 1
//! name = "candidates"          # also the name of the result's files
//! title = "Chang–Roberts on random rings"
//! seed = 1979                  # decides the seed of every run
//! repetitions = 100            # of each point
//! pair = ["algorithm"]         # optional: points that differ in these only have the same seeds
//!
//! [vary]                       # options of `hustings sim`; a list is an axis
//! algorithm = ["chang-roberts", "franklin"]
//! nodes = "2^3..2^10"          # or "10..100 step 10", or [3, 5, 8]
//! ids = "random"
//! crash = ["none", "leader@quiet+1"]
//! let.u = [2, 4]               # a variable for formulas in braces
//! initiators = "random:{n/u}"
//!
//! [[skip]]                     # leave out what all of this holds for
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
//! - "none" (for `initiators`, where that is a word: "default") leaves an option out. `runs` and `unordered` take true
//!   or false.
//! - A parameter applies to the algorithms that have it. Points that come to the same are run once.
//! - Faults and later starters may name `leader`, `other` (the lowest position that does not lead) and `quiet` of a run
//!   without them: `crash = "leader@quiet+1"`. See [`crate::sweep`] for what is measured then.
//! - A point's identity is the sorted list of its settings, not its place in the grid; seeds come from it. So another
//!   point changes no seed.

mod document;
mod grid;
mod key;
mod mistake;
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
use hustings_sim::rng;

use crate::plot::PlotSpec;

pub use document::MAX_BYTES;
pub use key::Key;
pub(crate) use key::Kind;
pub use mistake::{Mistake, Trouble};
pub(crate) use request::Prepared;

/// The most points of an experiment.
pub const MAX_POINTS: usize = 100_000;

/// The most runs of an experiment: the results must fit in memory.
pub const MAX_RUNS: u64 = 5_000_000;

/// An experiment: checked, all its points worked out.
#[derive(Clone, Debug)]
pub struct Experiment {
    /// Where it was read from.
    pub file: String,
    /// Its name: safe in a file name.
    pub name: String,
    /// What it is about, in one line.
    pub title: String,
    /// More about it.
    pub about: String,
    /// Decides the seeds of all runs.
    pub seed: u64,
    /// How often each point is run.
    pub repetitions: u32,
    /// What to draw from its results.
    pub plots: Vec<PlotSpec>,
    /// What it sets, in the order of the file.
    settings: Vec<Setting>,
    points: Vec<Point>,
    /// Where its algorithms come from.
    catalogue: Catalogue,
}

/// One key of `[vary]`.
#[derive(Clone, Debug)]
struct Setting {
    key: Key,
    /// Whether points that differ in it only have the same seeds.
    paired: bool,
    /// Where it stands.
    line: usize,
}

/// One combination of settings.
#[derive(Clone, Debug)]
pub struct Point {
    /// The value of each setting; `None` for an option that is absent.
    values: Vec<Option<Arc<str>>>,
    /// From its identity.
    hash: u64,
    /// What its seeds come from.
    seed_key: u64,
}

impl Experiment {
    /// Reads an experiment with built-in algorithms. Nothing is run, no other file is opened.
    pub fn parse(file: &str, text: &str) -> Result<Experiment, Mistake> {
        Experiment::parse_with(file, text, &Catalogue::default())
    }

    /// Reads an experiment with the algorithms of this catalogue.
    pub fn parse_with(file: &str, text: &str, catalogue: &Catalogue) -> Result<Experiment, Mistake> {
        read::experiment(file, text, catalogue)
    }

    /// All keys that it sets, in the order of the file.
    pub fn keys(&self) -> impl ExactSizeIterator<Item = &Key> {
        self.settings.iter().map(|setting| &setting.key)
    }

    /// All points, in the order of the grid: the last key of the file varies fastest.
    pub fn points(&self) -> &[Point] {
        &self.points
    }

    /// How many runs there are.
    pub fn runs(&self) -> u64 {
        self.points.len() as u64 * u64::from(self.repetitions)
    }

    /// The value of a key at a point.
    pub fn value<'a>(&self, point: &'a Point, key: &str) -> Option<&'a Arc<str>> {
        let index = self.settings.iter().position(|setting| &**setting.key.name() == key)?;
        point.values[index].as_ref()
    }

    /// A point in a few words: what it has in contrast to others.
    pub fn shown(&self, point: &Point) -> String {
        let varies = |index: &usize| self.points.iter().any(|other| other.values[*index] != point.values[*index]);
        let each = (0..self.settings.len()).filter(varies).map(|index| {
            let value = point.values[index].as_deref().unwrap_or("none");
            format!("{} = {value}", self.settings[index].key.name())
        });
        each.collect::<Vec<_>>().join(", ")
    }

    /// A number that changes whenever some result would: for telling one experiment's log from another's.
    pub fn fingerprint(&self) -> u64 {
        let start = rng::hash(self.seed, u64::from(self.repetitions), self.points.len() as u64);
        self.points.iter().fold(start, |sum, point| rng::hash(sum, point.hash, point.seed_key))
    }
}

impl Point {
    /// The hash of its identity.
    pub fn hash(&self) -> u64 {
        self.hash
    }

    /// That hash as results show it.
    pub fn name(&self) -> String {
        format!("{:016x}", self.hash)
    }

    /// The values of all keys of the experiment, in their order.
    pub fn values(&self) -> &[Option<Arc<str>>] {
        &self.values
    }

    /// The seed of a run. At most 53 bits, so that no tool that reads the results rounds it.
    pub fn seed(&self, repetition: u32) -> u64 {
        rng::hash(self.seed_key, u64::from(repetition), SEEDS) >> 11
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

/// Keeps seeds apart from other uses of the hash.
const SEEDS: u64 = 0x7365_6564;

/// A hash of a text that never changes: seeds in published results depend on it.
fn text_hash(start: u64, text: &str) -> u64 {
    let words = text.as_bytes().chunks(8).map(|chunk| {
        let mut word = [0; 8];
        word[..chunk.len()].copy_from_slice(chunk);
        u64::from_le_bytes(word)
    });
    let sum = words.zip(1..).fold(start, |sum, (word, place)| rng::hash(sum, word, place));
    rng::hash(sum, text.len() as u64, 0)
}

#[cfg(test)]
mod tests;
