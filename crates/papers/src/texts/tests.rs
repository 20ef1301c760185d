use std::collections::BTreeSet;

use super::*;
use crate::experiment::Experiment;
use crate::findings::MADE;

#[test]
fn every_text_is_read_and_its_items_have_names_of_their_own() {
    for text in all() {
        let mut ids = BTreeSet::new();
        for item in &text.items {
            assert!(ids.insert(&item.id), "{}: two items `{}`", text.name, item.id);
            assert!(item.id.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'-'), "{}", item.id);
        }
        assert_eq!(find(&text.name), Some(text));
    }
    assert_eq!(
        all().iter().map(|text| text.name.as_str()).collect::<Vec<_>>(),
        TEXTS.iter().map(|file| file.name).collect::<Vec<_>>()
    );
}

#[test]
fn every_experiment_that_is_named_is_there_and_every_one_there_is_named() {
    let mut named = BTreeSet::new();
    for item in all().iter().flat_map(|text| &text.items) {
        for name in crate::findings::experiments(item) {
            assert!(
                experiment(&name).is_some() || MADE.contains(&name.as_str()),
                "{}: no experiment `{name}`",
                item.id
            );
            named.insert(name);
        }
    }
    for name in experiments() {
        assert!(named.contains(name), "experiment `{name}` is in no text");
    }
}

/// Also those that only `--large` runs.
#[test]
fn every_experiment_is_read_and_every_figure_is_a_plot_of_one() {
    for name in experiments() {
        let (text, file) = experiment(name).expect("it is in the list");
        let read = Experiment::parse(&file, text).unwrap_or_else(|mistake| panic!("{mistake}"));
        assert_eq!(read.name, name);
    }
    for item in all().iter().flat_map(|text| &text.items) {
        for figure in &item.figures {
            let (name, plot) = figure.split_once('/').unwrap_or((item.experiment.as_deref().unwrap_or(""), figure));
            let (text, file) = experiment(name).unwrap_or_else(|| panic!("{}: no experiment `{name}`", item.id));
            let read = Experiment::parse(&file, text).unwrap_or_else(|mistake| panic!("{mistake}"));
            assert!(read.plots.iter().any(|spec| spec.name == plot), "{name} has no plot `{plot}`");
        }
    }
}
