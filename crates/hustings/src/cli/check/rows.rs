//! What `hustings check --all` checks: a command line for each row of the table. They come from the descriptions of the
//! algorithms.

use clap::Parser;
use hustings_algorithms::{About, CheckCase};

use super::args::CheckArgs;
use crate::cli::failure::Failure;

/// A row of the table.
#[derive(Clone, Debug)]
pub(super) struct Row {
    /// What is typed after `hustings check`.
    pub(super) line: String,
    /// Whether `--quick` includes it.
    pub(super) is_quick: bool,
}

/// A row as a command line of its own.
#[derive(Parser, Debug)]
#[command(name = "hustings check")]
struct Line {
    #[command(flatten)]
    args: CheckArgs,
}

impl Row {
    /// All rows of an algorithm; at least one.
    pub(super) fn all(about: &About) -> Vec<Row> {
        let name = about.name;
        if about.checks.is_empty() {
            return vec![Row { line: format!("{name} -n {}", about.min_nodes.max(3)), is_quick: true }];
        }
        let row = |case: &CheckCase| Row { line: format!("{name} {}", case.options), is_quick: case.is_quick };
        about.checks.iter().map(row).collect()
    }

    /// The row that says what `hustings check ALGORITHM` takes where neither size nor parameters are given.
    pub(super) fn first(about: &About) -> Row {
        Row::all(about).swap_remove(0)
    }

    /// Its options. Fails if the description of the algorithm has options that there are not.
    pub(super) fn args(&self) -> Result<CheckArgs, Failure> {
        let words = std::iter::once("hustings check").chain(self.line.split(' '));
        Line::try_parse_from(words).map(|line| line.args).map_err(Failure::Arguments)
    }
}

#[cfg(test)]
mod tests {
    use hustings_algorithms::NetworkKind;
    use hustings_algorithms::catalogue::ENTRIES;

    use super::*;

    #[test]
    fn every_row_can_be_parsed_and_every_algorithm_has_a_quick_one() {
        for entry in ENTRIES {
            let rows = Row::all(&entry.about);
            for row in &rows {
                let args = row.args().unwrap_or_else(|failure| panic!("{}: {failure}", row.line));
                assert!(args.election.spec.nodes.is_some(), "{}", row.line);
            }
            assert!(rows.iter().any(|row| row.is_quick), "{}", entry.about.name);
        }
    }

    #[test]
    fn an_algorithm_without_cases_is_checked_with_the_fewest_nodes_that_show_something() {
        let own = About { name: "own", ..About::on(NetworkKind::Ring) };
        assert_eq!(Row::first(&own).line, "own -n 3");
        assert_eq!(Row::first(&About { min_nodes: 5, ..own }).line, "own -n 5");
    }

    #[test]
    fn a_case_with_an_unknown_option_is_an_error() {
        const OWN: About =
            About { name: "own", checks: &[CheckCase::quick("--nodez 3")], ..About::on(NetworkKind::Ring) };
        assert!(Row::first(&OWN).args().is_err_and(|failure| failure.to_string().contains("--nodez")));
    }
}
