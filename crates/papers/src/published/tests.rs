use std::collections::BTreeSet;

use super::*;
use crate::comparison::COMPUTED_TABLES;
use crate::experiment::Experiment;

#[test]
fn every_paper_parses_and_has_unique_item_ids() {
    for paper in all() {
        let mut ids = BTreeSet::new();
        for item in &paper.items {
            assert!(ids.insert(&item.id), "{}: two items `{}`", paper.name, item.id);
            assert!(item.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{}", item.id);
        }
        assert_eq!(find(&paper.name), Some(paper));
    }
    assert_eq!(
        all().iter().map(|paper| paper.name.as_str()).collect::<Vec<_>>(),
        PAPERS.iter().map(|file| file.name).collect::<Vec<_>>()
    );
}

#[test]
fn papers_use_exactly_the_experiments_that_exist() {
    let mut named = BTreeSet::new();
    for item in all().iter().flat_map(|paper| &paper.items) {
        for name in crate::comparison::experiments(item) {
            assert!(
                experiment(&name).is_some() || COMPUTED_TABLES.contains(&name.as_str()),
                "{}: no experiment `{name}`",
                item.id
            );
            named.insert(name);
        }
    }
    for name in experiments() {
        assert!(named.contains(name), "experiment `{name}` is in no paper");
    }
}

/// Includes the experiments that only `--large` runs.
#[test]
fn every_experiment_parses_and_every_figure_is_one_of_its_plots() {
    for name in experiments() {
        let (text, file) = experiment(name).expect("it is in the list");
        let read = Experiment::parse(&file, text).unwrap_or_else(|error| panic!("{error}"));
        assert_eq!(read.name, name);
    }
    for item in all().iter().flat_map(|paper| &paper.items) {
        for figure in &item.figures {
            let (name, plot) = figure.split_once('/').unwrap_or((item.experiment.as_deref().unwrap_or(""), figure));
            let (text, file) = experiment(name).unwrap_or_else(|| panic!("{}: no experiment `{name}`", item.id));
            let read = Experiment::parse(&file, text).unwrap_or_else(|error| panic!("{error}"));
            assert!(read.plots.iter().any(|spec| spec.name == plot), "{name} has no plot `{plot}`");
        }
    }
}

/// Whether bounds follow from the wording: an exact value, "at most", "at least" or "not more than" a computed one.
fn is_exact(test: &Test) -> bool {
    const FAR: f64 = 1e8;
    let (within, is_ratio) = match test {
        Test::Ratio { within, .. } => (within, true),
        Test::Mean { within, .. }
        | Test::Max { within, .. }
        | Test::Min { within, .. }
        | Test::Every { within, .. }
        | Test::Power { within, .. }
        | Test::Fit { within, .. } => (within, false),
        Test::Falls { .. } => return true,
    };
    match *within {
        [from, to] if from == to => true,
        [from, to] if from <= -FAR => to == 0.0,
        [from, to] if to >= FAR => from == 0.0 || is_ratio && from == 1.0,
        [from, to] => is_ratio && from == 0.0 && to == 1.0,
    }
}

/// A threshold that no paper gives is named as our choice, with its reason.
#[test]
fn thresholds_of_ours_are_named_as_choices() {
    for paper in all() {
        for (item, claim) in paper.items.iter().flat_map(|item| item.claims.iter().map(move |claim| (item, claim))) {
            let place = format!("{}, {}: {}", paper.name, item.id, claim.says);
            assert!(is_exact(&claim.test) || claim.choice.is_some(), "{place}: whose threshold is it?");
            assert!(!is_exact(&claim.test) || claim.choice.is_none(), "{place}: there is nothing to choose");
        }
    }
}

/// The record holds what a paper does not print, and nothing else; see `tests/papers.rs`, which writes it.
#[test]
fn every_record_is_of_a_paper() {
    for paper in all() {
        let record = record(paper).unwrap_or_else(|| panic!("{} has no record", paper.name));
        for id in record.keys() {
            assert!(paper.items.iter().any(|item| item.id == *id), "{}: no item `{id}`", paper.name);
        }
    }
}

/// The files of hashes are those of the texts in this folder, which is not part of the project. `HUSTINGS_REGENERATE=1`
/// writes them: `cargo xtask fix words`.
const TEXTS: &str = "HUSTINGS_TEXTS";

/// A text is that of a paper if it has the first words of its title.
const TITLE_WORDS: usize = 4;

#[test]
#[allow(clippy::print_stderr, reason = "a test that is skipped says so")]
fn the_words_are_those_of_the_texts() {
    let Some(folder) = std::env::var_os(TEXTS) else {
        eprintln!("SKIPPED: {TEXTS} names no folder with the texts of the papers");
        return;
    };
    let files = std::fs::read_dir(&folder).unwrap().map(|file| file.unwrap().path()).filter(|path| path.is_file());
    let texts: Vec<String> = files.map(|path| bounded(&path).unwrap()).collect();
    for paper in all() {
        let title = paper.title.split_whitespace().take(TITLE_WORDS).collect::<Vec<_>>().join(" ");
        let is_its = |text: &&String| Phrases::of(text).missing(&title).is_none();
        let found: Vec<&String> = texts.iter().filter(is_its).collect();
        let [text] = found[..] else { panic!("{}: {} texts begin with `{title}`", paper.name, found.len()) };
        let path = format!("{}/published/words/{}.txt", env!("CARGO_MANIFEST_DIR"), paper.name);
        let words = Phrases::of(text).file();
        if std::env::var_os("HUSTINGS_REGENERATE").is_some_and(|value| value == "1") {
            std::fs::write(&path, words).unwrap();
        } else {
            assert!(words == std::fs::read_to_string(&path).unwrap(), "{path}: HUSTINGS_REGENERATE=1 writes it");
        }
    }
}
