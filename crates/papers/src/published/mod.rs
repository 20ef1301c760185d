//! The five published papers: their numbers, examples and claims, and how each is measured.
//!
//! Each paper is a file `crates/papers/published/NAME.toml` in the format of [`Paper`]. The code knows no paper: to add
//! one, add its file, the experiments that it names, and the hashes of its words.

mod example;
mod model;
mod phrases;
mod place;
mod quotations;

use std::collections::BTreeMap;
use std::fs::File as OpenFile;
use std::io::Read;
use std::path::Path;
use std::sync::LazyLock;

use crate::comparison::CompareError;

pub(crate) use example::{Numbering, PictureSpec, Shape, Step};
pub(crate) use model::PaperFile;
pub(crate) use model::{
    Aggregate, Claim, Filter, FilterValue, Formulas, Grid, Line, PrintedValue, Reason, Side, Test, Winners,
};
pub use model::{Item, Paper, ReasonKind};
use phrases::Phrases;
pub(crate) use place::place;
pub(crate) use quotations::check as check_quotations;

/// A file that is compiled in.
struct File {
    name: &'static str,
    text: &'static str,
}

macro_rules! files {
    ($folder:literal: $($name:literal)*) => {
        files!($folder, ".toml": $($name)*)
    };
    ($folder:literal, $end:literal: $($name:literal)*) => {
        &[$(File { name: $name, text: include_str!(concat!("../../", $folder, "/", $name, $end)) }),*]
    };
}

/// In the order of reports.
const PAPERS: &[File] = files!("published": "shirali" "adams" "datley" "mcmaster" "crete");

const EXPERIMENTS: &[File] = files!("experiments":
    "shirali-bully" "shirali-token" "shirali-token-detectors" "shirali-token-down" "shirali-sun" "shirali-sun-lengths"
    "shirali-sun-starters" "shirali-divided" "shirali-divided-backoff" "shirali-divided-parts"
    "shirali-divided-informer" "shirali-sun-divided"
    "shirali-down-bully" "shirali-down-ring" "shirali-down-sun" "shirali-down-divided" "shirali-down-sun-divided"
    "shirali-sizes-bully" "shirali-sizes-ring" "shirali-sizes-sun" "shirali-sizes-divided"
    "shirali-points-bully" "shirali-points-ring" "shirali-points-sun" "shirali-points-divided" "shirali-figure-2"
    "adams-startup" "adams-failover" "adams-topologies" "adams-complete" "adams-links" "adams-medium"
    "adams-partitions" "adams-correlated" "adams-state" "adams-large" "adams-clique" "adams-tree"
    "adams-best" "adams-votes" "adams-cheat" "adams-noticing" "adams-sources" "adams-invitation"
    "datley-best" "datley-worst" "datley-revival" "datley-example" "datley-campaigners-down" "datley-some-down"
    "mcmaster-chang-roberts" "mcmaster-chang-roberts-average" "mcmaster-rounds" "mcmaster-sorted"
    "mcmaster-worst-rings" "mcmaster-dkr-example" "mcmaster-franklin-example" "mcmaster-chang-roberts-example"
    "mcmaster-tree" "mcmaster-echo" "mcmaster-itai-rodeh" "mcmaster-itai-rodeh-order" "mcmaster-symmetry"
    "mcmaster-asymmetry" "mcmaster-ring-copies" "mcmaster-follow-up" "mcmaster-follow-up-graph"
    "mcmaster-anonymous-echo" "mcmaster-anonymous-example" "mcmaster-ring-size" "mcmaster-ring-size-example"
    "crete-example" "crete-running" "crete-seven" "crete-detectors" "crete-revival" "crete-first-start" "crete-active"
    "crete-timeout" "crete-handling" "crete-prepare" "crete-notice" "crete-partition"
    "crete-join" "crete-retire" "crete-minimum" "crete-preferences" "crete-many");

/// The values that papers do not print, as measured by this version.
const RECORDS: &[File] = files!("published/recorded": "shirali" "adams" "datley" "mcmaster" "crete");

/// The hashes of the words of the papers' texts, against which quotations are checked.
const WORDS: &[File] = files!("published/words", ".txt": "shirali" "adams" "datley" "mcmaster" "crete");

/// Values by item and row.
pub(crate) type Record = BTreeMap<String, BTreeMap<String, String>>;

static ALL_RECORDS: LazyLock<BTreeMap<&'static str, Record>> = LazyLock::new(|| {
    let read = |file: &File| {
        let record = toml::from_str(file.text)
            .unwrap_or_else(|error| panic!("recorded/{}.toml, which is checked by a test: {error}", file.name));
        (file.name, record)
    };
    RECORDS.iter().map(read).collect()
});

/// The record of a built-in paper.
pub(crate) fn record(paper: &'static Paper) -> Option<&'static Record> {
    if find(&paper.name).is_some_and(|known| std::ptr::eq(known, paper)) {
        ALL_RECORDS.get(paper.name.as_str())
    } else {
        None
    }
}

static ALL: LazyLock<Vec<Paper>> = LazyLock::new(|| {
    let read = |file: &File| {
        let paper: Paper = toml::from_str(file.text)
            .unwrap_or_else(|error| panic!("{}.toml, which is checked by a test: {error}", file.name));
        let words = WORDS.iter().find(|words| words.name == file.name).map(|words| words.text.to_string());
        let path = format!("crates/papers/published/{}.toml", file.name);
        Paper { file: PaperFile { path, source: file.text.to_string(), words }, ..paper }
    };
    PAPERS.iter().map(read).collect()
});

/// All papers, in the order of reports.
pub fn all() -> &'static [Paper] {
    &ALL
}

/// The maximum length of a paper's file, and of its text.
const MAX_BYTES: u64 = 4 << 20;

/// Reads a paper from a file of its own, in the format of those of this crate. The text and the experiments that it
/// names are beside it: see [`ResultCache::with_folder`](crate::comparison::ResultCache::with_folder). It is kept until
/// the program ends.
pub fn read(path: &Path) -> Result<&'static Paper, CompareError> {
    let wrong = |problem: String| CompareError { place: path.display().to_string(), problem };
    let source = bounded(path)?;
    let paper: Paper = toml::from_str(&source).map_err(|error| wrong(error.to_string()))?;
    let is_plain = |name: &str| !name.is_empty() && name.chars().all(|c| c.is_alphanumeric() || c == '-' || c == '_');
    let mut names = std::iter::once(&paper.name).chain(paper.items.iter().map(|item| &item.id));
    if let Some(name) = names.find(|name| !is_plain(name)) {
        return Err(wrong(format!("`{name}`: names of papers and items consist of letters, digits, `-` and `_`")));
    }
    let words = match &paper.text {
        // A name is not a path.
        Some(name) if name.contains(['/', '\\']) || name.starts_with('.') || is_file_of_paper(name) => {
            return Err(wrong(format!("text = `{name}`; allowed: the name of a file beside this one, not FILE.toml")));
        }
        Some(name) => Some(bounded(&path.with_file_name(name))?),
        None => None,
    };
    let file = PaperFile { path: path.display().to_string(), source, words };
    Ok(Box::leak(Box::new(Paper { file, ..paper })))
}

/// Whether a file of this name would be a paper or an experiment.
fn is_file_of_paper(name: &str) -> bool {
    Path::new(name).extension().is_some_and(|extension| extension.eq_ignore_ascii_case("toml"))
}

/// The contents of a file that is not too long.
fn bounded(path: &Path) -> Result<String, CompareError> {
    let wrong = |problem: String| CompareError { place: path.display().to_string(), problem };
    let mut text = String::new();
    let read = OpenFile::open(path).and_then(|file| file.take(MAX_BYTES + 1).read_to_string(&mut text));
    let length = read.map_err(|error| wrong(error.to_string()))?;
    if length as u64 > MAX_BYTES {
        return Err(wrong(format!("the file is too long; allowed: {MAX_BYTES} bytes")));
    }
    Ok(text)
}

/// The text of a paper's file.
pub(crate) fn source(paper: &Paper) -> &str {
    &paper.file.source
}

/// The hashes of the words of a paper that names a file for them, and the name of that file.
pub(crate) fn words_file(paper: &Paper) -> Option<(&str, String)> {
    let words = Phrases::read(paper.file.words.as_deref()?).ok()?;
    Some((paper.text.as_deref()?, words.file()))
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
