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
