//! The five texts: what each prints and claims, where it stands, and how it is measured.
//!
//! A text is a file of its own, `crates/papers/texts/NAME.toml`, in the form that [`model`] describes. Nothing about a
//! text is written in code: another one needs another file, and the experiments that it names.

pub mod model;

use std::sync::LazyLock;

pub use model::{Claim, Example, Grid, Item, Line, Print, Reason, ReasonKind, Side, Step, Take, Test, Text, Winners};

/// A file that is compiled in: its name and what it says.
struct File {
    name: &'static str,
    text: &'static str,
}

macro_rules! files {
    ($folder:literal: $($name:literal)*) => {
        &[$(File { name: $name, text: include_str!(concat!("../../", $folder, "/", $name, ".toml")) }),*]
    };
}

/// In the order in which reports show them.
const TEXTS: &[File] = files!("texts": "shirali" "adams" "datley" "mcmaster" "crete");

const EXPERIMENTS: &[File] = files!("experiments":
    "shirali-bully" "shirali-token" "shirali-token-detectors" "shirali-token-down" "shirali-sun" "shirali-sun-lengths"
    "shirali-sun-starters" "shirali-divided" "shirali-divided-backoff" "shirali-divided-parts"
    "shirali-divided-informer" "shirali-sun-divided"
    "adams-startup" "adams-failover" "adams-topologies" "adams-complete" "adams-links" "adams-medium"
    "adams-partitions" "adams-correlated" "adams-state" "adams-large" "adams-clique" "adams-tree"
    "datley-best" "datley-worst" "datley-revival" "datley-example" "datley-campaigners-down"
    "mcmaster-chang-roberts" "mcmaster-chang-roberts-average" "mcmaster-rounds" "mcmaster-sorted"
    "mcmaster-worst-rings" "mcmaster-dkr-example" "mcmaster-franklin-example" "mcmaster-chang-roberts-example"
    "mcmaster-tree" "mcmaster-echo" "mcmaster-itai-rodeh" "mcmaster-itai-rodeh-order" "mcmaster-symmetry"
    "mcmaster-anonymous-echo" "mcmaster-anonymous-example" "mcmaster-ring-size" "mcmaster-ring-size-example"
    "crete-example" "crete-seven" "crete-detectors" "crete-revival" "crete-first-start" "crete-active"
    "crete-timeout" "crete-handling" "crete-prepare" "crete-notice" "crete-partition");

static ALL: LazyLock<Vec<Text>> = LazyLock::new(|| {
    let read = |file: &File| {
        toml::from_str(file.text).unwrap_or_else(|error| panic!("{}.toml, which a test reads: {error}", file.name))
    };
    TEXTS.iter().map(read).collect()
});

/// All texts, in the order in which reports show them.
pub fn all() -> &'static [Text] {
    &ALL
}

/// The text of this name.
pub fn find(name: &str) -> Option<&'static Text> {
    all().iter().find(|text| text.name == name)
}

/// What the experiment file of this name says, and the name under which errors speak of it.
pub fn experiment(name: &str) -> Option<(&'static str, String)> {
    let file = EXPERIMENTS.iter().find(|file| file.name == name)?;
    Some((file.text, format!("experiments/{name}.toml")))
}

/// The names of all experiment files.
pub fn experiments() -> impl Iterator<Item = &'static str> {
    EXPERIMENTS.iter().map(|file| file.name)
}

#[cfg(test)]
mod tests;
