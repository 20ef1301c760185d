//! Rows of results: which ones, and what a formula gives in them.

use super::StudyError;
use super::facts::Facts;
use super::laboratory::Results;
use crate::formula::Formula;
use crate::table::{Cell, Table};
use crate::texts::model::{Wanted, Where};

/// The text by which a wanted value is compared.
fn text(wanted: &Wanted) -> String {
    match wanted {
        Wanted::Integer(number) => number.to_string(),
        Wanted::Flag(flag) => flag.to_string(),
        Wanted::Text(text) => text.clone(),
    }
}

/// The rows in which every wanted column has its value; an error if there is none.
pub(super) fn select(results: &Results, wheres: &[&Where]) -> Result<Vec<usize>, StudyError> {
    let mut wanted: Vec<(&str, String)> = Vec::new();
    for (column, value) in wheres.iter().flat_map(|narrowed| narrowed.iter()) {
        if results.table.column(column).is_none() {
            return Err(StudyError::new(&results.name, format!("there is no column `{column}`")));
        }
        wanted.push((column, text(value)));
    }
    let table = &results.table;
    let fits = |row: &usize| wanted.iter().all(|(column, text)| table.cell(*row, column).to_string() == *text);
    let rows: Vec<usize> = (0..results.table.rows()).filter(fits).collect();
    if rows.is_empty() {
        return Err(StudyError::new(&results.name, format!("no row has {wanted:?}")));
    }
    Ok(rows)
}

/// A formula of a text's file.
pub(super) fn parse(text: &str) -> Result<Formula, StudyError> {
    Formula::parse(text).map_err(|error| StudyError::new(format!("`{text}`"), error))
}

/// What a formula may name in a row: its columns, `n` for `nodes`, and what is given beside.
pub(super) struct Scope<'a> {
    pub(super) table: &'a Table,
    pub(super) row: usize,
    pub(super) facts: Option<&'a Facts>,
    pub(super) beside: &'a [(&'a str, f64)],
}

impl Scope<'_> {
    fn lookup(&self, name: &str) -> Option<f64> {
        if let Some((_, value)) = self.beside.iter().find(|(known, _)| *known == name) {
            return Some(*value);
        }
        if let Some(fact) = name.strip_prefix("trace.") {
            return self.facts.and_then(|facts| facts.get(fact));
        }
        let column = if name == "n" { "nodes" } else { name };
        match self.table.cell(self.row, column) {
            // Kinds that occur in no run have no column.
            Cell::Missing if name.starts_with("messages.") => Some(0.0),
            Cell::Text(text) => text.parse().ok(),
            cell => cell.number(),
        }
    }

    /// What the formula gives here.
    pub(super) fn eval(&self, formula: &Formula) -> Result<f64, StudyError> {
        let value = formula.eval(&|name| self.lookup(name));
        value.map_err(|error| StudyError::new(format!("`{}`", formula.text()), error))
    }
}

/// What the formula gives in each of the rows.
pub(super) fn values(table: &Table, rows: &[usize], formula: &Formula) -> Result<Vec<f64>, StudyError> {
    rows.iter().map(|&row| Scope { table, row, facts: None, beside: &[] }.eval(formula)).collect()
}
