//! Errors of plots.

use hustings_text::nearest;

use crate::formula::{FormulaError, ValueError};
use crate::table::Table;

/// Why a table cannot be plotted.
#[derive(Clone, PartialEq, Debug, thiserror::Error)]
pub enum PlotError {
    /// A column does not exist.
    #[error("{part}: there is no column `{name}`{}", hint(nearest.as_deref(), known))]
    NoColumn {
        /// The part of the specification.
        part: String,
        /// The name.
        name: String,
        /// The most similar column.
        nearest: Option<String>,
        /// The existing columns.
        known: Vec<String>,
    },
    /// A column is text where numbers are required.
    #[error("{part}: column `{name}` is text; allowed: columns of numbers, and formulas over them")]
    NotNumbers {
        /// The part of the specification.
        part: String,
        /// The column.
        name: String,
    },
    /// The logarithmic axis is text.
    #[error("log: column `{name}` is text, so x cannot be logarithmic; allowed here: y, or nothing")]
    LogOfText {
        /// The column.
        name: String,
    },
    /// A text is not a formula.
    #[error("{part}: `{}`: {error}", .error.text)]
    Formula {
        /// The part of the specification.
        part: String,
        /// The problem.
        error: Box<FormulaError>,
    },
    /// A formula has no value in any row.
    #[error("{part}: `{text}` has no value that can be drawn in any row{}", because(.error.as_ref()))]
    NoValue {
        /// The part of the specification.
        part: String,
        /// The formula.
        text: String,
        /// The problem in the first row, unless the value is merely outside of the drawable range.
        error: Option<ValueError>,
    },
    /// No row passes a filter.
    #[error("where: no row has {column} = {expected}; there are: {present}")]
    NoRow {
        /// The column.
        column: String,
        /// The values of the filter.
        expected: String,
        /// The existing values.
        present: String,
    },
    /// No row passes all filters.
    #[error("where: no row passes all the conditions together")]
    NoRows,
    /// The table has no rows.
    #[error("there are no rows")]
    Empty,
    /// No row has both coordinates.
    #[error(
        "nothing can be drawn: of {rows} rows, {no_x} have no number for x (`{x}`) and {no_y} have none for y (`{y}`); \
         logarithmic axes require numbers above 0"
    )]
    Nothing {
        /// The number of selected rows.
        rows: usize,
        /// The horizontal column.
        x: String,
        /// The number of rows without x.
        no_x: usize,
        /// The vertical column or formula.
        y: String,
        /// The number of rows without y.
        no_y: usize,
    },
    /// The chart exceeds a limit.
    #[error("{part}: {found} {what} are too many, at most {max}; select some with `where`")]
    TooMany {
        /// The part of the specification.
        part: &'static str,
        /// The number.
        found: usize,
        /// What is counted.
        what: &'static str,
        /// The maximum.
        max: usize,
    },
}

impl PlotError {
    pub(super) fn no_column(part: &str, name: &str, table: &Table) -> Self {
        let names = || table.columns().map(|(heading, _)| &*heading.name);
        PlotError::NoColumn {
            part: part.to_string(),
            name: name.to_string(),
            nearest: nearest(name, names()).map(str::to_string),
            known: names().map(str::to_string).collect(),
        }
    }
}

fn hint(nearest: Option<&str>, known: &[String]) -> String {
    let nearest = nearest.map(|nearest| format!("; the nearest is `{nearest}`")).unwrap_or_default();
    format!("{nearest}; there are: {}", listed(known, known.len()))
}

/// A list of names, shortened.
pub(super) fn listed(words: &[String], count: usize) -> String {
    const MAX_NAMES: usize = 30;
    let mut text = words.iter().take(MAX_NAMES).map(String::as_str).collect::<Vec<_>>().join(", ");
    if count > words.len().min(MAX_NAMES) {
        text += &format!(", … ({count} in all)");
    }
    text
}

fn because(error: Option<&ValueError>) -> String {
    error.map(|error| format!(": {error}")).unwrap_or_default()
}
