//! The page made from the catalogue is up to date.

mod common;

#[test]
fn the_table_of_algorithms_is_made_from_the_catalogue() {
    common::compare_with_file(&common::repository().join("docs/algorithms.md"), &hustings::cli::docs::markdown());
}

#[test]
fn the_readme_s_picture_is_a_real_trace() {
    let drawn = common::inside(&["sim", "chang-roberts", "--ids", "3,7,1,5,2,6", "--trace", "svg"].map(str::to_string));
    common::compare_with_file(&common::repository().join("docs/images/chang-roberts.svg"), &drawn.out);
}
