//! The page made from the catalogue is up to date.

mod common;

#[test]
fn the_table_of_algorithms_is_made_from_the_catalogue() {
    common::compare_with_file(&common::repository().join("docs/algorithms.md"), &hustings::cli::docs::markdown());
}
