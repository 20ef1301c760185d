//! A column or a formula over columns, as numbers of rows.

use super::error::PlotError;
use crate::formula::{Formula, ValueError};
use crate::table::{Table, Values};

/// What stands for the column `nodes` in formulas, unless there is a column of that name.
const NODES: (&str, &str) = ("n", "nodes");

/// Numbers of rows.
#[derive(Debug)]
pub(super) struct Measure<'a> {
    formula: Formula,
    /// Its names, and the columns that they mean.
    columns: Vec<(String, &'a str, &'a Values)>,
}

/// The column that a name in a formula means.
fn meant<'a>(table: &'a Table, name: &str) -> Option<(&'a str, &'a Values)> {
    let find = |name: &str| table.columns().find(|(heading, _)| &*heading.name == name);
    let found = find(name).or_else(|| if name == NODES.0 { find(NODES.1) } else { None });
    found.map(|(heading, values)| (&*heading.name, values))
}

impl<'a> Measure<'a> {
    /// Reads a column's name or a formula.
    pub(super) fn new(table: &'a Table, part: &str, text: &str) -> Result<Self, PlotError> {
        // A column may have a name that would be something else as a formula.
        let is_column = table.column(text).is_some() && !text.contains('`');
        let quoted = format!("`{text}`");
        let parsed = Formula::parse(if is_column { &quoted } else { text });
        let formula = parsed.map_err(|error| PlotError::Formula { part: part.to_string(), error: Box::new(error) })?;
        let mut columns = Vec::new();
        for name in formula.names() {
            let found = meant(table, name).ok_or_else(|| PlotError::no_column(part, name, table))?;
            if matches!(found.1, Values::Texts(_)) && found.1.has_a_value() {
                return Err(PlotError::Words { part: part.to_string(), name: found.0.to_string() });
            }
            columns.push((name.to_string(), found.0, found.1));
        }
        Ok(Measure { formula, columns })
    }

    /// Whether it is an answer, not a number: its mean is then the part of rows in which it holds.
    pub(super) fn is_yes_or_no(&self) -> bool {
        let is_flag = |name: &str| {
            self.columns.iter().any(|(known, _, values)| known == name && matches!(values, Values::Flags(_)))
        };
        self.formula.is_yes_or_no(&is_flag)
    }

    /// The names of the columns that it reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = &'a str> {
        self.columns.iter().map(|(_, column, _)| *column)
    }

    /// Its value in a row.
    pub(super) fn of_row(&self, row: usize) -> Result<f64, ValueError> {
        let value = |name: &str| {
            let (_, _, values) = self.columns.iter().find(|(known, _, _)| known == name)?;
            values.cell(row).number().filter(|number| number.is_finite())
        };
        self.formula.eval(&value)
    }

    /// Its value where the only column that it reads has this one.
    pub(super) fn at(&self, x: f64) -> Option<f64> {
        self.formula.eval(&|_| Some(x)).ok()
    }
}
