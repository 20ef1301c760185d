use super::*;
use std::collections::BTreeSet;

/// Names that are not experiment files: tables that are made by a search, or by a variant of an algorithm.
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
