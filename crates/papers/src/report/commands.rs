//! The commands that reproduce what a report shows.

use crate::comparison::{Finding, ItemComparison, PaperComparison, is_computed};
use crate::published::{self, Item, Paper};

/// Where the file of a paper that is not part of the program is in a report, with its experiments beside it.
pub(super) fn file_of(paper: &Paper) -> Option<String> {
    let is_built_in = published::all().iter().any(|known| std::ptr::eq(known, paper));
    (!is_built_in).then(|| format!("data/paper-{}.toml", paper.name))
}

/// Makes the whole report again, typed in its folder.
pub(super) fn of_report(comparisons: &[PaperComparison]) -> String {
    let what = match comparisons {
        [one] => file_of(one.paper).unwrap_or_else(|| one.paper.name.clone()),
        _ => "--all".to_string(),
    };
    format!("hustings papers {what} --out DIR")
}

/// Compares one item of a paper again, typed in the folder of the report.
pub(super) fn of_item(paper: &Paper, item: &Item) -> String {
    let large = if item.large { " --large" } else { "" };
    format!("hustings papers {} --item {}{large}", file_of(paper).as_ref().unwrap_or(&paper.name), item.id)
}

/// Makes all runs of an experiment again; `None` for a table that is computed.
pub(super) fn of_experiment(name: &str) -> Option<String> {
    (!is_computed(name)).then(|| format!("hustings sweep data/{name}.toml --out runs"))
}

/// Repeats the run of a row, or compares its item again if it rests on several runs.
pub(super) fn of_row(paper: &Paper, item: &Item, finding: &Finding) -> String {
    finding.command.clone().unwrap_or_else(|| of_item(paper, item))
}

/// The different commands for single runs of an item, in the order of its rows.
pub(super) fn of_runs(compared: &ItemComparison) -> Vec<&str> {
    let mut all: Vec<&str> = Vec::new();
    for command in compared.findings.iter().filter_map(|finding| finding.command.as_deref()) {
        if !all.contains(&command) {
            all.push(command);
        }
    }
    all
}
