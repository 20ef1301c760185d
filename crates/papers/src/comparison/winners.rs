//! Tables of the best algorithm for each combination of two settings.

use std::collections::{BTreeMap, BTreeSet};

use super::rows::{Scope, parse, select};
use super::{CompareError, DisplayValue, Finding, ResultCache, Verdict, number};
use crate::published::{Item, Winners};
use crate::stats::Summary;

/// The best candidate for each row and column.
#[derive(Clone, PartialEq, Debug)]
pub struct WinnersTable {
    /// The compared quantity.
    pub title: String,
    /// The settings of the rows and the columns.
    pub axes: (String, String),
    /// The heads of the columns.
    pub columns: Vec<String>,
    /// The head of each row, and the winners with their value; empty if there is no candidate.
    pub rows: Vec<(String, Vec<String>)>,
}

pub(super) fn tables(item: &Item, cache: &ResultCache) -> Result<Vec<WinnersTable>, CompareError> {
    item.winners.iter().map(|winners| table(winners, item, cache)).collect()
}

impl WinnersTable {
    /// How findings name it.
    fn label(&self) -> String {
        format!("the table \"{}\"", self.title)
    }

    fn cells(&self) -> impl Iterator<Item = &str> {
        self.rows.iter().flat_map(|(_, cells)| cells).map(String::as_str)
    }

    /// Who wins how often, the most frequent winner first.
    fn wins(&self) -> String {
        let mut wins: Vec<(&str, usize)> = Vec::new();
        for cell in self.cells() {
            let winner = cell.rsplit_once(" (").map_or(cell, |(winner, _)| winner);
            match wins.iter_mut().find(|(known, _)| *known == winner) {
                Some((_, count)) => *count += 1,
                None => wins.push((winner, 1)),
            }
        }
        wins.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
        let times = |(winner, count): &(&str, usize)| format!("{winner}: {count}");
        let words: Vec<String> = wins.iter().map(times).collect();
        format!("best of {} times, {}", self.cells().count(), words.join("; "))
    }

    /// All of its cells in a few characters, for the record: what is shown of a table is less than all of it.
    pub(super) fn fingerprint(&self) -> String {
        let cells: Vec<&str> = self.cells().collect();
        format!("{} cells, checksum {:08x}", cells.len(), crc32fast::hash(cells.join("\n").as_bytes()))
    }
}

/// The table that a finding is about.
pub(super) fn table_of<'a>(tables: &'a [WinnersTable], finding: &Finding) -> Option<&'a WinnersTable> {
    tables.iter().find(|table| table.label() == finding.label)
}

/// A finding for each table, for the record.
pub(super) fn findings(tables: &[WinnersTable]) -> Vec<Finding> {
    let finding = |table: &WinnersTable| Finding {
        label: table.label(),
        published: None,
        test: None,
        formula: None,
        measured: Some(DisplayValue::text(table.wins())),
        verdict: Verdict::Shown,
        reasons: Vec::new(),
        choice: None,
        chance: None,
        quote: None,
        is_printed: false,
        sample: String::new(),
        command: None,
    };
    tables.iter().map(finding).collect()
}

/// The name of a setting in reports: `u` for `p.u`, `n` for `nodes`.
fn axis(setting: &str) -> String {
    let bare = setting.split_once('.').map_or(setting, |(_, bare)| bare);
    if bare == "nodes" { "n".to_string() } else { bare.to_string() }
}

/// The values of a candidate by row, and by column if it has that setting.
type Scores = BTreeMap<(u64, Option<u64>), f64>;

fn table(winners: &Winners, item: &Item, cache: &ResultCache) -> Result<WinnersTable, CompareError> {
    let formula = parse(&winners.y)?;
    let mut scores: Vec<(&str, Scores)> = Vec::new();
    for line in &winners.candidates {
        let Some(name) = line.experiment.as_ref().or(item.experiment.as_ref()) else {
            return Err(CompareError::new(&line.label, "no experiment is named"));
        };
        let results = cache.results(name)?;
        let mut all: BTreeMap<(u64, Option<u64>), Vec<f64>> = BTreeMap::new();
        for row in select(&results, &[&line.filter])? {
            let whole = |column: &str| results.table.cell(row, column).number().map(|number| number as u64);
            let Some(down) = whole(&winners.rows) else { continue };
            let value = Scope { table: &results.table, row, facts: None, extra: &[] }.eval(&formula)?;
            let value = cache.plant().cell(value);
            all.entry((down, whole(&winners.columns))).or_default().push(value);
        }
        let means = all.into_iter().filter_map(|(place, values)| Some((place, Summary::of(values)?.mean)));
        scores.push((&line.label, means.collect()));
    }
    let places = || scores.iter().flat_map(|(_, scores)| scores.keys());
    let columns: BTreeSet<u64> = places().filter_map(|(_, along)| *along).collect();
    // Rows in which no candidate depends on the column are left out.
    let rows: BTreeSet<u64> = places().filter(|(_, along)| along.is_some()).map(|(down, _)| *down).collect();
    let best = |down: u64, along: u64| {
        let score = |scores: &Scores| scores.get(&(down, Some(along))).or_else(|| scores.get(&(down, None))).copied();
        let mut best: Option<(Vec<&str>, f64)> = None;
        for (label, scores) in &scores {
            let Some(value) = score(scores) else { continue };
            match &mut best {
                Some((labels, least)) if (value - *least).abs() < 1e-9 => labels.push(label),
                Some((_, least)) if value > *least => {}
                _ => best = Some((vec![label], value)),
            }
        }
        best.map_or_else(String::new, |(labels, value)| format!("{} ({})", labels.join(", "), number(value)))
    };
    let row = |down: &u64| (down.to_string(), columns.iter().map(|along| best(*down, *along)).collect());
    Ok(WinnersTable {
        title: winners.title.clone(),
        axes: (axis(&winners.rows), axis(&winners.columns)),
        columns: columns.iter().map(u64::to_string).collect(),
        rows: rows.iter().map(row).collect(),
    })
}
