//! Rows of results: selecting them, and evaluating formulas in them.

use super::CompareError;
use super::result_cache::Results;
use super::trace_facts::TraceFacts;
use crate::formula::Formula;
use crate::published::{Filter, FilterValue};
use crate::table::{Cell, Table};

/// The text that a cell is compared with.
fn text(value: &FilterValue) -> String {
    match value {
        FilterValue::Integer(number) => number.to_string(),
        FilterValue::Bool(value) => value.to_string(),
        FilterValue::Text(text) => text.clone(),
    }
}

/// The rows that pass all filters; an error if there are none.
pub(super) fn select(results: &Results, filters: &[&Filter]) -> Result<Vec<usize>, CompareError> {
    let mut wanted: Vec<(&str, String)> = Vec::new();
    for (column, value) in filters.iter().flat_map(|filter| filter.iter()) {
        if results.table.column(column).is_none() {
            return Err(CompareError::new(&results.name, format!("there is no column `{column}`")));
        }
        wanted.push((column, text(value)));
    }
    let table = &results.table;
    let fits = |row: &usize| wanted.iter().all(|(column, text)| table.cell(*row, column).to_string() == *text);
    let rows: Vec<usize> = (0..results.table.rows()).filter(fits).collect();
    if rows.is_empty() {
        return Err(CompareError::new(&results.name, format!("no row has {wanted:?}")));
    }
    Ok(rows)
}

/// Parses a formula of a paper's file.
pub(super) fn parse(text: &str) -> Result<Formula, CompareError> {
    Formula::parse(text).map_err(|error| CompareError::new(format!("`{text}`"), error))
}

/// The names that a formula may use in a row: its columns, `n` for `nodes`, and additional values.
pub(super) struct Scope<'a> {
    pub(super) table: &'a Table,
    pub(super) row: usize,
    pub(super) facts: Option<&'a TraceFacts>,
    pub(super) extra: &'a [(&'a str, f64)],
}

impl Scope<'_> {
    /// The value of a name in this row.
    pub(super) fn lookup(&self, name: &str) -> Option<f64> {
        if let Some((_, value)) = self.extra.iter().find(|(known, _)| *known == name) {
            return Some(*value);
        }
        if let Some(fact) = name.strip_prefix("trace.") {
            return self.facts.and_then(|facts| facts.get(fact));
        }
        let column = if name == "n" { "nodes" } else { name };
        match self.table.cell(self.row, column) {
            // A kind of message that no run sends has no column.
            Cell::Missing if name.starts_with("messages.") => Some(0.0),
            Cell::Text(text) => text.parse().ok(),
            cell => cell.number(),
        }
    }

    /// The value of a formula in this row.
    pub(super) fn eval(&self, formula: &Formula) -> Result<f64, CompareError> {
        let value = formula.eval(&|name| self.lookup(name));
        value.map_err(|error| CompareError::new(format!("`{}`", formula.text()), error))
    }
}
