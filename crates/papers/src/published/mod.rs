//! The five published papers: their numbers, examples and claims, and how each is measured.
//!
//! Each paper is a file `crates/papers/published/NAME.toml` in the format of [`Paper`]. The code knows no paper: to add
//! one, add its file and the experiments that it names.

mod model;

use std::path::Path;
use std::sync::LazyLock;

use crate::comparison::CompareError;

pub(crate) use model::{
    Aggregate, Claim, Filter, FilterValue, Formulas, Grid, Line, PrintedValue, Side, Step, Test, Winners,
};
pub use model::{Item, Paper, ReasonKind};

/// A file that is compiled in.
struct File {
    name: &'static str,
    text: &'static str,
}

macro_rules! files {
    ($folder:literal: $($name:literal)*) => {
        &[$(File { name: $name, text: include_str!(concat!("../../", $folder, "/", $name, ".toml")) }),*]
    };
}

/// In the order of reports.
const PAPERS: &[File] = files!("published": "shirali" "adams" "datley" "mcmaster" "crete");

const EXPERIMENTS: &[File] = files!("experiments":
    "shirali-bully" "shirali-token" "shirali-token-detectors" "shirali-token-down" "shirali-sun" "shirali-sun-lengths"
    "shirali-sun-starters" "shirali-divided" "shirali-divided-backoff" "shirali-divided-parts"
    "shirali-divided-informer" "shirali-sun-divided"
    "shirali-down-ring" "shirali-down-sun" "shirali-down-divided" "shirali-down-sun-divided"
    "adams-startup" "adams-failover" "adams-topologies" "adams-complete" "adams-links" "adams-medium"
    "adams-partitions" "adams-correlated" "adams-state" "adams-large" "adams-clique" "adams-tree"
    "datley-best" "datley-worst" "datley-revival" "datley-example" "datley-campaigners-down"
    "mcmaster-chang-roberts" "mcmaster-chang-roberts-average" "mcmaster-rounds" "mcmaster-sorted"
    "mcmaster-worst-rings" "mcmaster-dkr-example" "mcmaster-franklin-example" "mcmaster-chang-roberts-example"
    "mcmaster-tree" "mcmaster-echo" "mcmaster-itai-rodeh" "mcmaster-itai-rodeh-order" "mcmaster-symmetry"
    "mcmaster-asymmetry" "mcmaster-ring-copies"
    "mcmaster-anonymous-echo" "mcmaster-anonymous-example" "mcmaster-ring-size" "mcmaster-ring-size-example"
    "crete-example" "crete-seven" "crete-detectors" "crete-revival" "crete-first-start" "crete-active"
    "crete-timeout" "crete-handling" "crete-prepare" "crete-notice" "crete-partition");

static ALL: LazyLock<Vec<Paper>> = LazyLock::new(|| {
    let read = |file: &File| {
        toml::from_str(file.text)
            .unwrap_or_else(|error| panic!("{}.toml, which is checked by a test: {error}", file.name))
    };
    PAPERS.iter().map(read).collect()
});

/// All papers, in the order of reports.
pub fn all() -> &'static [Paper] {
    &ALL
}

/// Reads a paper from a file of its own, in the format of those of this crate. The experiments that it names are beside
/// it: see [`ResultCache::with_folder`](crate::comparison::ResultCache::with_folder). It is kept until the program
/// ends.
pub fn read(path: &Path) -> Result<&'static Paper, CompareError> {
    let wrong = |problem: String| CompareError { place: path.display().to_string(), problem };
    let text = std::fs::read_to_string(path).map_err(|error| wrong(error.to_string()))?;
    let paper: Paper = toml::from_str(&text).map_err(|error| wrong(error.to_string()))?;
    let is_plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    let mut names = std::iter::once(&paper.name).chain(paper.items.iter().map(|item| &item.id));
    if let Some(name) = names.find(|name| !is_plain(name)) {
        return Err(wrong(format!("`{name}`: names of papers and items consist of letters, digits, `-` and `_`")));
    }
    Ok(Box::leak(Box::new(paper)))
}

/// The paper with this name.
pub fn find(name: &str) -> Option<&'static Paper> {
    all().iter().find(|paper| paper.name == name)
}

/// The contents of an experiment file, and its name for errors.
pub(crate) fn experiment(name: &str) -> Option<(&'static str, String)> {
    let file = EXPERIMENTS.iter().find(|file| file.name == name)?;
    Some((file.text, format!("experiments/{name}.toml")))
}

/// The names of all experiment files.
#[cfg(test)]
fn experiments() -> impl Iterator<Item = &'static str> {
    EXPERIMENTS.iter().map(|file| file.name)
}

#[cfg(test)]
mod tests;
