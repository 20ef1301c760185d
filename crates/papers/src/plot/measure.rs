//! A column or a formula over columns, evaluated for rows.

use super::error::PlotError;
use crate::formula::{Formula, ValueError};
use crate::table::{Table, Values};

/// A short name for the column `nodes` in formulas, unless there is a column of that name.
const NODES: (&str, &str) = ("n", "nodes");

/// A quantity with a value for each row.
#[derive(Debug)]
pub(super) struct Measure<'a> {
    formula: Formula,
    /// The names in the formula and their columns.
    columns: Vec<(String, &'a str, &'a Values)>,
}

/// The column that a name in a formula refers to.
fn column_named<'a>(table: &'a Table, name: &str) -> Option<(&'a str, &'a Values)> {
    let find = |name: &str| table.columns().find(|(heading, _)| &*heading.name == name);
    let found = find(name).or_else(|| if name == NODES.0 { find(NODES.1) } else { None });
    found.map(|(heading, values)| (&*heading.name, values))
}

impl<'a> Measure<'a> {
    /// Parses the name of a column, or a formula.
    pub(super) fn new(table: &'a Table, part: &str, text: &str) -> Result<Self, PlotError> {
        // The name of a column may also be a valid formula.
        let is_column = table.column(text).is_some() && !text.contains('`');
        let quoted = format!("`{text}`");
        let parsed = Formula::parse(if is_column { &quoted } else { text });
        let formula = parsed.map_err(|error| PlotError::Formula { part: part.to_string(), error: Box::new(error) })?;
        let mut columns = Vec::new();
        for name in formula.names() {
            let found = column_named(table, name).ok_or_else(|| PlotError::no_column(part, name, table))?;
            if matches!(found.1, Values::Texts(_)) && found.1.has_values() {
                return Err(PlotError::NotNumbers { part: part.to_string(), name: found.0.to_string() });
            }
            columns.push((name.to_string(), found.0, found.1));
        }
        Ok(Measure { formula, columns })
    }

    /// Whether it is a condition. Its mean is then the proportion of rows in which it holds.
    pub(super) fn is_condition(&self) -> bool {
        let is_flag = |name: &str| {
            self.columns.iter().any(|(known, _, values)| known == name && matches!(values, Values::Bools(_)))
        };
        self.formula.is_condition(&is_flag)
    }

    /// The columns that it reads.
    pub(super) fn reads(&self) -> impl Iterator<Item = &'a str> {
        self.columns.iter().map(|(_, column, _)| *column)
    }

    /// The value in a row.
    pub(super) fn of_row(&self, row: usize) -> Result<f64, ValueError> {
        let value = |name: &str| {
            let (_, _, values) = self.columns.iter().find(|(known, _, _)| known == name)?;
            values.cell(row).number().filter(|number| number.is_finite())
        };
        self.formula.eval(&value)
    }

    /// The value if the only column it reads is `x`.
    pub(super) fn at(&self, x: f64) -> Option<f64> {
        self.formula.eval(&|_| Some(x)).ok()
    }
}
